"""Exit codes: a command that ran and ended with another code than 0 did run (decision 22).

Who runs commands tells the code in a field of its answer, or in words around the output. The words count only of a tool
that runs commands: elsewhere they are content.
"""

import re
from typing import Final

from spanproof_collector.model.readings import Recorded

_KEYS: Final = ("exit_code", "exitCode", "returncode", "return_code", "returnCode", "exit_status", "exitStatus")
_AROUND: Final = ("metadata", "meta", "_meta")
_CODE: Final = r"(-?\d{1,10})"
_TOLD: Final = (
    # before the output
    re.compile(rf"^\s*(?:exit code|exitcode|exit status)\s*[:=]?\s*{_CODE}\b", re.IGNORECASE),
    re.compile(rf"^(?:\s*chunk id: \S+\s*\n)?(?:\s*wall time: [^\n]*\n)?\s*process exited with code {_CODE}\b", re.I),
    re.compile(rf"^\s*<(?:returncode|exit_code)>\s*{_CODE}\s*</"),
    # among the lines that stand around it
    re.compile(rf"\A\s*(?:<untrusted_context>\s*)?(?:Command|Output): .*^Exit Code: {_CODE}\s*$", re.DOTALL | re.M),
    # after it
    re.compile(
        rf"(?:^|\n)\s*\[?(?:the )?(?:command|process) "
        r"(?:(?:completed|finished|exited|failed) with (?:exit )?(?:code|status)|returned non-zero exit status)"
        rf" {_CODE}[.\]]*\s*$",
        re.IGNORECASE,
    ),
    re.compile(rf"\bthen exited with (?:unix )?exit code: {_CODE}\s*$", re.IGNORECASE),
    re.compile(rf"\[The command completed with exit code {_CODE}\.\]"),
)
_LOOKED_AT: Final = 2_000
"""How much of the beginning and of the end of a text is looked at."""


def exit_code_of(told: Recorded, *, runs_commands: bool) -> int | None:
    """Return the exit code that an answer tells; ``None`` where it tells none."""
    if isinstance(told, dict):
        for holder in (told, *(told[key] for key in _AROUND if key in told)):
            if isinstance(holder, dict):
                for key in _KEYS:
                    code = holder.get(key)
                    if isinstance(code, int) and not isinstance(code, bool):
                        return code
        return None
    if isinstance(told, list):
        first = told[0] if told else None
        words = first.get("text") if isinstance(first, dict) and first.get("type") == "text" else None
        return exit_code_of(words, runs_commands=runs_commands) if isinstance(words, str) else None
    if not isinstance(told, str) or not runs_commands:
        return None
    parts = (told,) if len(told) <= 2 * _LOOKED_AT else (told[:_LOOKED_AT], "\n" + told[-_LOOKED_AT:])
    for pattern in _TOLD:
        for part in parts:
            found = pattern.search(part)
            if found is not None:
                return int(found[1])
    return None
