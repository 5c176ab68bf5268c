"""Which programs a command line runs, and whether its exit code tells how each of them ended.

Wrappers are taken off: ``sudo``, ``timeout 60``, ``env A=1``, ``uv run``, ``poetry run``, ``npx``, ``xargs``,
``bash -lc '…'``, ``docker compose exec web …``. A program whose exit code is lost on the way is not ``told``: behind a
pipe without ``pipefail``, before ``;`` or ``||``, in the background, in a loop or a branch.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.trials.shell.tree import Command, Compound, Group, Pipeline, Script, Simple, Statement, parse
from spanproof_collector.trials.shell.words import UnreadableError

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_PREFIX_WORDS: Final = """sudo doas env time nohup nice ionice stdbuf exec builtin timeout gtimeout xargs command setsid
    caffeinate"""
_PREFIXES: Final = frozenset(_PREFIX_WORDS.split())
_WITH_VALUE: Final = {
    "sudo": ("-u", "-g", "-C", "-h", "-p", "-U"),
    "timeout": ("-s", "-k", "--signal", "--kill-after"),
    "gtimeout": ("-s", "-k"),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "env": ("-u", "-C", "-S"),
    "xargs": ("-n", "-P", "-I", "-L", "-d", "-a", "-s"),
    "stdbuf": ("-i", "-o", "-e"),
}
_RUNNERS: Final = {
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "pixi": ("run",),
    "conda": ("run",),
    "mamba": ("run",),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "npm": ("exec",),
    "bundle": ("exec",),
    "direnv": ("exec",),
    "mise": ("exec", "x"),
    "nix": ("develop",),
}
_RUNNER_VALUES: Final = (
    "--with",
    "--python",
    "-p",
    "--group",
    "--extra",
    "--package",
    "-n",
    "--project",
    "--directory",
    "-C",
)
_EXECUTORS: Final = frozenset({"npx", "bunx", "uvx", "pipx"})
_CONTAINERS: Final = frozenset({"docker", "podman", "docker-compose"})
_CONTAINER_VALUES: Final = (
    "-e",
    "--env",
    "-v",
    "--volume",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--name",
    "--entrypoint",
    "-f",
    "-p",
)
_QUIET: Final = frozenset({"/dev/null", "NUL"})
_NEVER_ZERO: Final = frozenset({"false"})
_DEEPEST: Final = 8
"""Shells within shells that are read."""


@dataclass(frozen=True, slots=True)
class Run:
    """One program that a command line runs."""

    words: tuple[str, ...]
    """Its name without its folder, and its arguments."""

    told: bool
    """Exit code 0 of the whole line says that it ran and ended with 0."""

    hidden: bool = False
    """What it puts out goes to a file or nowhere."""

    written: tuple[str, ...] = ()
    """Files that its output is redirected to."""

    status: str = ""
    """A pattern for the line by which its exit code is printed (``echo "exit: $?"``); group 1 is the code."""


def runs_of(command: str | Sequence[str]) -> list[Run]:
    """Return the programs that a command line runs, in order; given as text or as the list of its words.

    What cannot be read (an open quote) gives its words as one program that is not ``told``.
    """
    if not isinstance(command, str):
        words = tuple(word for word in command if isinstance(word, str))
        return list(_simple(Simple(words), told=True, deep=0)) if words else []
    return _of_text(command, deep=0)


def _of_text(text: str, *, deep: int, errexit: bool = False, pipefail: bool = False) -> list[Run]:
    try:
        script = parse(text)
    except UnreadableError:
        words = tuple(text[:4_000].split())
        return [Run(words, told=False)] if words else []
    return list(_Reading(errexit=errexit, pipefail=pipefail, deep=deep).script(script, told=True))


class _Reading:
    """The options of one shell while its script is read."""

    def __init__(self, *, errexit: bool, pipefail: bool, deep: int) -> None:
        self._errexit = errexit
        self._pipefail = pipefail
        self._deep = deep

    def script(self, script: Script, *, told: bool) -> Iterator[Run]:
        """Yield the runs of statements. The last one decides; with ``set -e`` those before it do too."""
        for index, statement in enumerate(script.statements):
            rest = script.statements[index + 1 :]
            last = not any(_counts(one) for one in rest)
            self._options(statement)
            single = len(statement.chain) == 1
            tells = told and not statement.background and (last or (self._errexit and single))
            found = list(self._statement(statement, told=tells))
            status = _printed_status(rest[0]) if rest and found and not tells and not statement.background else ""
            if status:
                found[-1] = replace(found[-1], status=status)
            yield from found

    def _statement(self, statement: Statement, *, told: bool) -> Iterator[Run]:
        chain = statement.chain
        for index, (_, pipeline) in enumerate(chain):
            excused = any(operator == "||" and _may_end_well(later) for operator, later in chain[index + 1 :])
            alternative = any(operator == "||" for operator, _ in chain[1 : index + 1])
            yield from self._pipeline(pipeline, told=told and not excused and not alternative)

    def _pipeline(self, pipeline: Pipeline, *, told: bool) -> Iterator[Run]:
        for index, command in enumerate(pipeline.commands):
            last = index == len(pipeline.commands) - 1
            yield from self._command(command, told=told and not pipeline.negated and (last or self._pipefail))

    def _command(self, command: Command, *, told: bool) -> Iterator[Run]:
        match command:
            case Simple():
                yield from _simple(command, told=told, deep=self._deep)
            case Group(body, redirections):
                hidden, written = _output(redirections)
                for run in self.script(body, told=told):
                    yield replace(run, hidden=run.hidden or hidden, written=(*run.written, *written))
            case Compound(body):
                yield from self.script(body, told=False)

    def _options(self, statement: Statement) -> None:
        for _, pipeline in statement.chain:
            for command in pipeline.commands:
                if isinstance(command, Simple) and command.words[:1] == ("set",):
                    for before, word in zip(command.words, command.words[1:], strict=False):
                        on = word.startswith("-")
                        if word[:1] in ("-", "+") and "e" in word[1:].lstrip("-"):
                            self._errexit = on
                        if word in ("pipefail", "errexit"):
                            setting = before.startswith("-")
                            self._pipefail = setting if word == "pipefail" else self._pipefail
                            self._errexit = setting if word == "errexit" else self._errexit


def _counts(statement: Statement) -> bool:
    """False for ``exit`` and ``exit $?``: they end as what stands before them did."""
    if len(statement.chain) != 1 or len(statement.chain[0][1].commands) != 1:
        return True
    command = statement.chain[0][1].commands[0]
    return not (isinstance(command, Simple) and command.words in (("exit",), ("exit", "$?"), ("wait",)))


def _may_end_well(pipeline: Pipeline) -> bool:
    """False where what follows ``||`` never ends with 0: ``exit 1``, ``false``, a group that ends so."""
    command = pipeline.commands[-1]
    if isinstance(command, Group) and command.body.statements:
        return _may_end_well(command.body.statements[-1].chain[-1][1])
    if not isinstance(command, Simple) or not command.words:
        return True
    if command.words[0] in ("exit", "return"):
        code = command.words[1] if len(command.words) > 1 else "$?"
        return code.isdigit() and int(code) % 256 == 0
    return command.words[0] not in _NEVER_ZERO


def _printed_status(statement: Statement) -> str:
    """Return the pattern of a line that prints the exit code of what ran just before; empty where none is printed."""
    command = statement.chain[0][1].commands[0]
    if not isinstance(command, Simple) or command.words[:1] not in (("echo",), ("printf",)):
        return ""
    said = " ".join(word for word in command.words[1:] if word not in ("-e", "-n"))
    before, found, _ = said.partition("$?")
    if not found:
        before, found, _ = said.partition("${?}")
    return re.escape(before.split("\\n")[-1]) + r"(\d{1,3})\b" if found else ""


def _output(redirections: Sequence[tuple[str, str]]) -> tuple[bool, list[str]]:
    """Return whether standard output goes out of sight, and the files that anything is written to."""
    hidden = False
    written = []
    for operator, target in redirections:
        stream = operator.rstrip("<>&|")
        if operator.endswith(">&") and (target.isdigit() or target == "-"):
            hidden = hidden or (stream in ("", "1") and target == "-")
            continue
        if ">" in operator:
            if target not in _QUIET and not target.startswith("/dev/"):
                written.append(target)
            if stream in ("", "1") or operator.startswith("&"):
                hidden = target not in ("/dev/stdout", "/dev/stderr", "/dev/tty")
    return hidden, written


def _simple(command: Simple, *, told: bool, deep: int) -> Iterator[Run]:
    hidden, written = _output(command.redirections)
    words = list(command.words)
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    if not words:
        if written:
            yield Run((":",), told, hidden, tuple(written))
        return
    for run in _unwrapped(words, told=told, deep=deep):
        yield replace(run, hidden=run.hidden or hidden, written=(*run.written, *written))


def _unwrapped(words: Sequence[str], *, told: bool, deep: int) -> Iterator[Run]:
    left = list(words)
    for _ in range(_DEEPEST):
        name = left[0].rsplit("/", 1)[-1]
        rest = _behind(name, left[1:])
        if rest is None or not rest:
            break
        while rest and _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        if not rest:
            break
        left = rest
    name, arguments = left[0].rsplit("/", 1)[-1], left[1:]
    inner = _inner_script(name, arguments)
    if inner is None or deep >= _DEEPEST:
        yield Run((name, *arguments), told)
        return
    errexit = any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in arguments) and name in _SHELLS
    for run in _of_text(inner, deep=deep + 1, errexit=errexit, pipefail="pipefail" in arguments):
        yield replace(run, told=run.told and told)


def _inner_script(name: str, arguments: Sequence[str]) -> str | None:
    """Return the script that a shell is given on its command line."""
    if name == "eval":
        return " ".join(arguments)
    if name not in _SHELLS:
        return None
    for index, word in enumerate(arguments):
        if re.fullmatch(r"-[a-z]*c[a-z]*", word) and index + 1 < len(arguments):
            at = index + 1
            while at < len(arguments) - 1 and arguments[at].startswith("-"):
                at += 2 if arguments[at] == "-o" else 1
            return arguments[at]
        if not word.startswith("-") and not (index and re.fullmatch(r"[-+][a-z]*[oO]", arguments[index - 1])):
            return None
    return None


def _behind(name: str, arguments: Sequence[str]) -> list[str] | None:
    """Return the command that a wrapper runs, ``None`` where this is no wrapper."""
    if name in _PREFIXES:
        rest = _past_options(arguments, _WITH_VALUE.get(name, ()))
        return rest[1:] if name in ("timeout", "gtimeout") and rest[:1] else rest
    if name in _EXECUTORS:
        rest = _past_options(arguments, ("-p", "--package", "--from", "--with", "--python"))
        if rest[:1] == ["run"] and name == "pipx":
            rest = rest[1:]
        return [rest[0].split("@")[0] or rest[0], *rest[1:]] if rest else None
    if name in _RUNNERS:
        rest = _past_options(arguments, _RUNNER_VALUES)
        if rest and rest[0] in _RUNNERS[name]:
            return _past_options(rest[1:], _RUNNER_VALUES)
        return None
    if name in _CONTAINERS:
        return _in_container(name, arguments)
    if name.startswith("python") and _module(arguments) is not None:
        return _module(arguments)
    if name == "coverage" and arguments[:1] == ["run"]:
        rest = list(arguments[1:])
        return _module(rest) or _past_options(rest, ("--source", "--omit", "--include", "--rcfile", "--context"))
    return None


def _module(arguments: Sequence[str]) -> list[str] | None:
    """Return the module and its arguments of ``python -m module …``."""
    for index, word in enumerate(arguments):
        if word == "-m":
            return list(arguments[index + 1 :]) or None
        if not word.startswith("-"):
            return None
    return None


def _in_container(name: str, arguments: Sequence[str]) -> list[str] | None:
    rest = _past_options(arguments, _CONTAINER_VALUES)
    if rest[:1] == ["compose"]:
        rest = _past_options(rest[1:], _CONTAINER_VALUES)
    if rest[:1] not in (["exec"], ["run"]):
        return None
    rest = _past_options(rest[1:], _CONTAINER_VALUES)
    return rest[1:] or None  # the container, service or image, then what runs in it


def _past_options(arguments: Sequence[str], with_value: Sequence[str]) -> list[str]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] == "--":
            at += 1
            break
        at += 2 if arguments[at] in with_value else 1
    return list(arguments[at:])
