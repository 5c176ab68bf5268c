"""Which files a coding agent changed: by edit tools, by patches, and by commands that write."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall
from spanproof_collector.model.values import Json
from spanproof_collector.trials.effects.names import words_of
from spanproof_collector.trials.shell import Run


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHANGING: Final = _words(
    """edit write create replace insert patch update append overwrite multiedit delete remove rename move save
    modify apply"""
)
_OF_FILES: Final = _words("""file files notebook editor text str code patch diff path document content""")
_PATHS: Final = (
    "file_path",
    "filepath",
    "filePath",
    "path",
    "target_file",
    "notebook_path",
    "absolute_path",
    "file",
    "filename",
    "fileName",
    "relative_workspace_path",
    "old_path",
    "new_path",
)
_READING_WORDS: Final = frozenset(
    {"view", "read", "open", "list", "search", "find", "goto", "scroll_down", "scroll_up"}
)
_PATCHED: Final = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$|^\+\+\+ (?:b/)?([^\s]+)", re.MULTILINE
)
_OPENED: Final = re.compile(
    r"\bopen\(\s*[rfb]?['\"]([^'\"\n]{1,300})['\"]\s*,\s*['\"][wax+]|\bPath\(\s*['\"]([^'\"\n]{1,300})"
)
_WRITES: Final = re.compile(
    r"\bopen\([^)\n]{0,300}['\"][wax]b?\+?['\"]|\.write_text\(|\.write_bytes\(|\bwriteFile(?:Sync)?\(|\bfs\.write"
    r"|\bos\.(?:remove|rename|unlink)\(|\bshutil\.(?:copy|move|rmtree)|\bFile\.write\("
)
_IN_PLACE: Final = {
    "black": ("--check", "--diff"),
    "isort": ("--check", "--check-only", "-c", "--diff"),
    "autopep8": (),
    "gofmt": (),
    "rustfmt": ("--check",),
}
_FIXING: Final = ("--fix", "--write", "-w", "-i", "--in-place", "--apply", "--unsafe-fixes", "--fix-dry-run")
_GIT_CHANGES: Final = _words(
    """apply am restore stash reset merge pull rebase cherry-pick revert clean mv rm switch checkout"""
)
UNKNOWN: Final = "?"
"""The path of a change whose file is not told."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file that was changed, or ``UNKNOWN``."""

    path: str
    text: str = ""
    """What was written, as far as it is told."""


def edits_of_tool(call: ToolCall) -> list[Edit]:
    """Return what an edit tool changed; empty for a tool that is none, that only read or that did not run."""
    if call.executed == "no" or call.error is not None or call.effect.state in ("refused", "failed"):
        return []
    words = words_of(call.name)
    if not isinstance(call.arguments, dict):
        patch = call.arguments if isinstance(call.arguments, str) else ""
        paths = _patched(patch)
        return [Edit(path, patch) for path in paths] if paths and _CHANGING & set(words) else []
    verb = next((call.arguments[key] for key in ("command", "action", "operation") if key in call.arguments), None)
    if isinstance(verb, str) and verb in _READING_WORDS:
        return []
    changing = bool(_CHANGING & set(words)) or (
        isinstance(verb, str) and bool(_CHANGING & set(re.split(r"[_\W]+", verb)))
    )
    patch = next((value for value in call.arguments.values() if isinstance(value, str) and "***" in value[:40]), "")
    patch = patch or next(
        (value for key in ("patch", "diff", "input") if isinstance(value := call.arguments.get(key), str)), ""
    )
    paths = [value for key in _PATHS if isinstance(value := call.arguments.get(key), str) and value] or _patched(patch)
    text = "\n".join(_strings(call.arguments))
    if changing and paths:
        return [Edit(path, text) for path in paths]
    named = any(key == "id" or key.endswith(("_id", "Id")) for key in call.arguments)
    return [Edit(UNKNOWN, text)] if changing and _OF_FILES & set(words) and not named else []


def _patched(patch: str) -> list[str]:
    return [next(group for group in match.groups() if group) for match in _PATCHED.finditer(patch)]


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str(text):
            yield text
        case list(items):
            for item in items:
                yield from _strings(item)
        case dict(members):
            for member in members.values():
                yield from _strings(member)
        case _:
            pass


def edits_of_run(run: Run, command: str) -> list[Edit]:
    """Return what a program of a command line changed.

    Args:
        run: the program.
        command: the whole command line: here-documents and scripts stand there.
    """
    paths = [*run.written, *_by_program(run.words[0], list(run.words[1:]), command)]
    return [Edit(path, command) for path in paths]


def _by_program(name: str, arguments: Sequence[str], command: str) -> list[str]:
    plain = [word for word in arguments if word and not word.startswith("-")]
    if name == "tee":
        return plain
    if name in ("sed", "perl", "ruby") and any(re.match(r"-\w*i|--in-place", word) for word in arguments):
        return plain[1:] or [UNKNOWN]
    if name in ("cp", "mv", "install", "ln"):
        return [*plain[-1:], *(plain[:-1] if name == "mv" else [])]
    if name in ("rm", "touch", "truncate", "unlink", "shred"):
        return plain
    if name in ("patch", "apply_patch", "applypatch"):
        return _patched(command) or [UNKNOWN]
    if name == "str_replace_editor":
        return plain[1:2] if plain[:1] not in (["view"], []) else []
    if name == "git":
        return _by_git(plain, arguments, command)
    if name in _IN_PLACE:
        checked = any(word in arguments for word in _IN_PLACE[name])
        writes = name in ("black", "isort", "rustfmt") or any(word in arguments for word in _FIXING)
        return [] if checked or not writes else [UNKNOWN]
    if name in ("ruff", "eslint", "prettier", "biome", "stylelint", "rubocop", "clang-format", "autoflake", "npx"):
        formats = (
            name == "ruff" and plain[:1] == ["format"] and "--check" not in arguments and "--diff" not in arguments
        )
        return [UNKNOWN] if formats or any(word in _FIXING for word in arguments) else []
    if name == "cargo" and plain[:1] in (["fmt"], ["fix"]) and "--check" not in arguments:
        return [UNKNOWN]
    if re.fullmatch(r"(python|pypy|node|ruby|perl|php|deno|bun)[\d.]*", name):
        inline = not plain or any(word in ("-c", "-e", "-") for word in arguments)
        if inline and _WRITES.search(command):
            return [one or other for one, other in _OPENED.findall(command)] or [UNKNOWN]
    return []


def _by_git(plain: Sequence[str], arguments: Sequence[str], command: str) -> list[str]:
    verb = plain[0] if plain else ""
    if verb not in _GIT_CHANGES:
        return []
    if (verb in ("checkout", "switch") and any(word in ("-b", "-c", "-B", "-C") for word in arguments)) or (
        verb == "stash" and plain[1:2] in (["list"], ["show"])
    ):
        return []
    if verb in ("rm", "mv"):
        return list(plain[1:])
    if verb == "restore" or (verb == "checkout" and "--" in arguments):
        after = list(arguments[arguments.index("--") + 1 :]) if "--" in arguments else list(plain[1:])
        return after or [UNKNOWN]
    return _patched(command) or [UNKNOWN]


_NO_CODE: Final = re.compile(
    r"\.(md|mdx|rst|txt|adoc|log|out|tmp|png|jpe?g|gif|svg|pdf|ico|html?\.report|diff|patch|pid|ipynb_checkpoints)$"
    r"|(^|/)(license|licence|changelog|readme|authors|notice|todo|plan|notes?)(\.\w+)?$",
    re.IGNORECASE,
)
_CODE_ALL_THE_SAME: Final = re.compile(
    r"(^|/)(requirements[\w.-]*|CMakeLists|constraints[\w.-]*|robots)\.txt$", re.IGNORECASE
)
_ELSEWHERE: Final = re.compile(r"^(/tmp/|/var/tmp/|/dev/|/proc/|\$\{?TMP|~/|\$HOME|/var/folders/|/private/tmp/)")


def matters(path: str) -> bool:
    """Return whether a change of this file may change what a check finds; one whose file is not told may."""
    path = path[-500:] if len(path) > 500 else path
    if _ELSEWHERE.search(path):
        return False
    return bool(_CODE_ALL_THE_SAME.search(path)) or not _NO_CODE.search(path)
