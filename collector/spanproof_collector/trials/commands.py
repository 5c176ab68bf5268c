"""What a command line or an SQL statement may change, told by its programs and verbs.

A tool that runs commands changes whatever its command changes: its own name tells nothing. Programs that are not known
here go by the verbs of their names, as tools do; what has no verb either stays ``unclassified``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from spanproof_collector.model.trials import EffectClass
from spanproof_collector.trials.shell import Simple, UnreadableError, parse, simple_commands


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READING: Final = _words(
    """cat ls ll dir head tail less more grep egrep fgrep rg ag ack wc sort uniq cut tr nl tac rev column comm join
    paste fold awk gawk jq yq xmllint echo printf pwd cd pushd popd which whereis type stat file du df tree diff cmp
    md5sum sha1sum sha256sum cksum od xxd hexdump strings base64 basename dirname realpath readlink date cal whoami id
    groups hostname uname uptime free ps top pgrep lsof ss netstat ping dig nslookup host printenv locale test [ [[ true
    false : sleep wait seq expr bc man help history tput clear find fd locate man exit return set export unset source
    ."""
)
_WRITING: Final = _words(
    """touch mkdir cp mv ln chmod chown chgrp tee install patch tar unzip zip gzip gunzip rsync scp sftp wget crontab
    systemctl service useradd usermod passwd mount umount ed vi vim nano apply_patch apt apt-get yum dnf brew mail
    sendmail"""
)
_DESTROYING: Final = _words("rm rmdir unlink shred mkfs dd truncate kill pkill killall userdel dropdb shutdown reboot")
_WRAPPING: Final = _words("sudo doas env time nohup nice ionice stdbuf exec builtin timeout xargs command setsid")
_SHELLS: Final = _words("sh bash zsh dash ksh fish")
_INTERPRETING: Final = _words("python python3 node ruby perl php deno bun npx uv uvx pipx")
_BY_VERB: Final = {
    "git": (
        _words(
            "status log diff show blame grep describe rev-parse ls-files ls-remote shortlog cat-file reflog fetch help"
        ),
        _words("clean"),
    ),
    "docker": (_words("ps images logs inspect version info stats top port"), _words("rm rmi prune kill")),
    "podman": (_words("ps images logs inspect version info stats top port"), _words("rm rmi prune kill")),
    "kubectl": (_words("get describe logs top explain version api-resources cluster-info"), _words("delete drain")),
    "pip": (_words("list show freeze check index search download help"), _words("uninstall")),
    "npm": (_words("ls list view info outdated search help"), _words("uninstall rm")),
    "gh": (_words("status browse search"), _words("delete")),
    "terraform": (_words("plan show output validate state version"), _words("destroy")),
}
"""Programs whose first word says what they do: what only reads, and what destroys. Any other word writes."""

_BARE_LISTS: Final = _words("branch tag remote stash config")
"""Words of git that only list where nothing but options follows."""

_ASSIGNMENT: Final = re.compile(r"^[A-Za-z_]\w*=")
_LONGEST: Final = 4_000
"""Characters of a command line that is read by its words alone."""

_MOST: Final = 50
"""Substitutions of one program that are read."""

_DEEPEST: Final = 8
"""Shells, wrappers and substitutions within one another that are read."""

_STRENGTH: Final[tuple[EffectClass, ...]] = ("read", "unclassified", "write", "destructive")
_SQL: Final[tuple[tuple[EffectClass, frozenset[str]], ...]] = (
    ("read", _words("select show describe desc explain with pragma values use")),
    ("write", _words("insert update replace merge upsert create alter grant revoke call copy load set begin commit")),
    ("destructive", _words("delete drop truncate")),
)

Infer = Callable[[str], EffectClass]
"""The class that the name of something suggests."""


def strongest(found: Iterable[EffectClass]) -> EffectClass:
    """Return what outweighs the rest: something unknown outweighs a read, a write outweighs something unknown."""
    return max(found, key=_STRENGTH.index, default="unclassified")


def of_sql(statement: str) -> EffectClass:
    """Return what SQL statements may change, by their first words."""
    found: list[EffectClass] = []
    for part in statement.split(";"):
        first = re.match(r"[\s(]*(?:--[^\n]*\n\s*)*(\w+)", part)
        if first is None:
            continue
        verb = first.group(1).lower()
        # a common table expression may stand before a change as well
        if verb == "with" and (change := re.search(r"\b(insert|update|delete|merge)\b", part, re.IGNORECASE)):
            verb = change.group(1).lower()
        found.append(next((kind for kind, verbs in _SQL if verb in verbs), "unclassified"))
    return strongest(found)


def of_shell(command: str | Sequence[str], infer: Infer, *, deep: int = 0) -> EffectClass:
    """Return what a command line may change.

    Args:
        command: as text, or as the list of its words.
        infer: tells the class of a program that is not known here from its name.
        deep: in how many shells or substitutions it stands.
    """
    if not isinstance(command, str):
        return _simple(Simple(tuple(word for word in command if isinstance(word, str))), infer, deep)
    try:
        script = parse(command)
    except UnreadableError:  # an open quote: nobody knows where the words end
        return _simple(Simple(tuple(command[:_LONGEST].split())), infer, deep)
    return strongest(_simple(one, infer, deep) for one in simple_commands(script))


def _simple(command: Simple, infer: Infer, deep: int) -> EffectClass:
    writes = any(
        ">" in operator and not (target.isdigit() or target in ("", "-", "/dev/null", "/dev/stderr", "/dev/stdout"))
        for operator, target in command.redirections
    )
    found: list[EffectClass] = [_program(command.words, infer, deep) if command.words else "read"]
    if deep < _DEEPEST:
        found += [of_shell(inner, infer, deep=deep + 1) for inner in command.inner[:_MOST]]
    return strongest([*found, "write"] if writes else found)


def _program(words: Sequence[str], infer: Infer, deep: int) -> EffectClass:
    at = 0
    while at < len(words) and (
        _ASSIGNMENT.match(words[at]) or words[at] in ("!", "{", "}", "then", "do", "else", "if")
    ):
        at += 1
    if at == len(words):
        return "read"
    name, arguments = words[at].rsplit("/", 1)[-1], list(words[at + 1 :])
    if name in _WRAPPING:
        while arguments and (arguments[0].startswith("-") or arguments[0][0:1].isdigit()):
            arguments.pop(0)
        return _program(arguments, infer, deep + 1) if arguments and deep < _DEEPEST else "read"
    if name in _SHELLS:
        return _shell(arguments, infer, deep)
    if name in _DESTROYING or "-delete" in arguments:
        return "destructive"
    if name in _BY_VERB or name.rstrip("3") == "pip":
        return _by_verb(name.rstrip("3") if name.startswith("pip") else name, arguments)
    if name in ("curl", "http", "https", "httpie"):
        return _request(arguments)
    if name in ("sed", "perl") and any(re.match(r"-\w*i|--in-place", word) for word in arguments):
        return "write"
    if name == "sed":
        return "read"
    if name in ("psql", "mysql", "sqlite3", "clickhouse-client"):
        return strongest(map(of_sql, [word for word in arguments if " " in word]))
    if name == "find" and {"-exec", "-execdir", "-ok"} & set(arguments):
        start = next(i for i, word in enumerate(arguments) if word in ("-exec", "-execdir", "-ok"))
        return _program(arguments[start + 1 :], infer, deep)
    if name in _READING:
        return "read"
    if name in _WRITING:
        return "write"
    if name in _INTERPRETING:
        script = next((word for word in arguments if not word.startswith("-")), "")
        inline = any(word in ("-c", "-e", "-m") for word in arguments)
        return "unclassified" if inline or not script else _by_name(script.rsplit("/", 1)[-1], infer)
    return _by_name(name, infer)


def _by_name(name: str, infer: Infer) -> EffectClass:
    return infer(name.rsplit(".", 1)[0] if "." in name[1:] else name)


def _shell(arguments: Sequence[str], infer: Infer, deep: int) -> EffectClass:
    for index, word in enumerate(arguments):
        if re.match(r"-\w*c$", word):
            known = index + 1 < len(arguments) and deep < _DEEPEST
            return of_shell(arguments[index + 1], infer, deep=deep + 1) if known else "unclassified"
        if not word.startswith("-"):
            return _by_name(word.rsplit("/", 1)[-1], infer)
    return "unclassified"


def _by_verb(name: str, arguments: Sequence[str]) -> EffectClass:
    plain = [word for word in arguments if not word.startswith("-")]
    reading, destroying = _BY_VERB[name]
    if not plain:
        return "read"
    verb, rest = plain[0], plain[1:]
    if verb in destroying or (rest and rest[0] in destroying) or (verb == "reset" and "--hard" in arguments):
        return "destructive"
    if verb in reading or (name == "git" and verb in _BARE_LISTS and not rest):
        return "read"
    if name == "gh" and rest and rest[0] in ("list", "view", "status", "diff", "checks"):
        return "read"
    return "write"


def _request(arguments: Sequence[str]) -> EffectClass:
    method = ""
    for index, word in enumerate(arguments):
        if word in ("-X", "--request"):
            method = arguments[index + 1].upper() if index + 1 < len(arguments) else ""
        elif word.startswith("-X"):
            method = word[2:].upper()
        elif word.startswith("--request="):
            method = word.partition("=")[2].upper()
        elif word in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            method = word
    if method == "DELETE":
        return "destructive"
    sends = ("-d", "--data", "--json", "-F", "--form", "-T", "--upload-file", "-o", "-O", "--output", "--remote-name")
    if method in ("POST", "PUT", "PATCH") or any(word in sends or word.startswith("--data") for word in arguments):
        return "read" if method in ("GET", "HEAD") else "write"
    return "read"
