"""A trial's work in order: commands that check something, and changes of files."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_collector.trials.effects.names import words_of
from spanproof_collector.trials.shell import Run, runs_of
from spanproof_evaluators.rules.coding.edits import UNKNOWN, Edit, edits_of_run, edits_of_tool
from spanproof_evaluators.rules.coding.programs import Check, check_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMAND_KEYS: Final = ("command", "cmd", "commands", "script", "keystrokes", "bash_command", "shell_command", "code")
_SHELL_WORDS: Final = _words("bash shell sh terminal exec execute run command cmd console powershell zsh")
_TRIVIAL: Final = _words(
    "cd echo export set source . true : mkdir pwd ls cat unset printf pushd popd which test [ [[ exit wait"
)
_LINES: Final = re.compile(r"\d+:\d+")
"""What the editor of SWE-agent is told to replace in the file that was opened last."""

_PYTHON: Final = re.compile(
    r"(?:\s|#[^\n]*\n){0,500}(?:import \w|from [\w.]+ import\b|def \w+\(|class \w+[(:]|print\(|with open\(|\w+ = )"
)
_VERBS: Final = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that a call ran, and what it checks."""

    place: tuple[int, int]
    """Which call of the trial, which program of its command line."""

    call: ToolCall
    run: Run
    check: Check | None
    alone: bool
    """No other program of the command line can have decided its exit code."""

    command: str

    @property
    def span_id(self) -> str | None:
        """The call's span."""
        return next(iter(self.call.span_ids), None)


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a file."""

    place: tuple[int, int]
    call: ToolCall
    edit: Edit


@dataclass(frozen=True, slots=True)
class Work:
    """What a trial ran and changed."""

    ran: tuple[Ran, ...]
    changed: tuple[Changed, ...]
    shells: int
    """Calls that ran a command line or may have."""

    unread: int
    """Those of them whose command was not recorded, and edits whose arguments were not."""


def work_of(trial: Trial) -> Work:
    """Return what a trial ran and changed, in the order in which it was asked for; what did not run is left out."""
    ran: list[Ran] = []
    changed: list[Changed] = []
    opened = UNKNOWN
    shells = unread = 0
    for index, call in enumerate(trial.tool_calls):
        if call.executed == "no" or call.effect.state == "refused":
            continue
        command = command_of(call)
        shell = command is not None or bool(_SHELL_WORDS & set(words_of(call.name)))
        shells += shell
        if call.arguments_source is None:
            unread += shell or call.effect.effect_class in ("write", "destructive", "unclassified")
            continue
        if command is None:
            changed += [Changed((index, 0), call, edit) for edit in edits_of_tool(call)]
            continue
        for one in _programs(index, call, command):
            ran.append(one)
            changed += [Changed(one.place, call, edit) for edit in edits_of_run(one.run, one.command)]
            program, first = one.run.words[0], one.run.words[1:2]
            if program in ("open", "create") and first:
                opened = first[0]
            if (program == "edit" and first and _LINES.fullmatch(first[0])) or (program == "create" and first):
                changed.append(Changed(one.place, call, Edit(opened, one.command)))
    return Work(tuple(ran), tuple(changed), shells, unread)


def command_of(call: ToolCall) -> str | Sequence[str] | None:
    """Return the command line that a call ran, ``None`` where it ran none: an editor's ``view`` is no command line."""
    words = set(words_of(call.name))
    if isinstance(call.arguments, str):
        return call.arguments if words & _SHELL_WORDS else None
    if not isinstance(call.arguments, dict):
        return None
    for key in _COMMAND_KEYS:
        value = call.arguments.get(key)
        if isinstance(value, str) and value.strip():
            if value in _VERBS or (key in ("code", "script", "keystrokes") and not words & _SHELL_WORDS):
                continue
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return [word for word in value if isinstance(word, str)]
    return None


def _programs(index: int, call: ToolCall, command: str | Sequence[str]) -> Iterator[Ran]:
    text = command if isinstance(command, str) else "\n".join(command)
    if isinstance(command, str) or not any("\n" in word for word in command):
        runs = [Run(("python", "-"), told=True)] if _PYTHON.match(text) else runs_of(command)
    else:  # several scripts, not the words of one command
        scripts = [[Run(("python", "-"), told=False)] if _PYTHON.match(one) else runs_of(one) for one in command]
        runs = [run for script in scripts for run in script]
    for number, run in enumerate(runs):
        others = [one for one in runs if one is not run and one.told and one.words[0] not in _TRIVIAL]
        yield Ran((index, number), call, run, check_of(run.words), run.told and not others, text)
