"""With which code a program ended, as far as the recording tells."""

import re
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.rules.coding.outputs import output_of
from spanproof_evaluators.rules.coding.work import Ran

_MARKING: Final = ("claude_code", "pi", "openclaw", "gemini_cli")
"""Agents that mark a command which ended with another code than 0 as failed: one that is not marked ended with 0."""


def exit_code_of(one: Ran, trial: Trial) -> int | None:
    """Return the exit code of a program, ``None`` where the recording does not tell it.

    The code of a whole command line is that of a program in it only where nothing hides it. A code that the command
    line prints itself (``echo "exit: $?"``) counts too.
    """
    if one.run.status:
        printed = re.findall(one.run.status, output_of(one.call) or "")
        return int(printed[-1]) if printed else None
    code = one.call.exit_code
    if code is None and one.call.error is None and one.call.result_source is not None and _marks(trial):
        code = 0
    if code == 0:
        return 0 if one.run.told else None
    if code is None and one.call.error is not None and _marks(trial):
        code = 1
    return code if code is not None and one.alone else None


def _marks(trial: Trial) -> bool:
    names = {trial.source.removeprefix("import:"), *trial.dialects}
    return any(name.startswith(_MARKING) for name in names)
