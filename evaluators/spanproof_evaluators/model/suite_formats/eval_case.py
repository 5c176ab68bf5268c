"""The smallest shape that people write: a name, a prompt, a check of the workspace, limits on turns and tokens.

    {"name": "refactor", "prompt": "…", "check": "checks.py:check_refactor", "max_turns": 20, "max_tokens": 50000}

``check`` is given the path of the workspace and returns a result with ``passed``, ``score`` and ``details``.
"""

from pathlib import Path
from typing import Final

from pydantic import Field

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suite_formats._format import Converted, Format
from spanproof_evaluators.model.written import Written

FUNCTION: Final = r"^[^:]+:[A-Za-z_][A-Za-z0-9_.]*$"
MAX_TURNS: Final = 20
MAX_TOKENS: Final = 50_000
"""Where nothing is said, as in the shape's own definition (R016)."""


class EvalCase(Written):
    """A case."""

    name: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    check: str = Field(pattern=FUNCTION)
    """``module:function`` or ``path/to/file.py:function``."""

    max_turns: int = Field(default=MAX_TURNS, ge=0)
    max_tokens: int = Field(default=MAX_TOKENS, ge=0)


def workspace_check(function: str) -> dict[str, Plain]:
    """Return the check that calls a function with the path of the world."""
    return {"kind": "python", "function": function, "given": "folder", "uses": ["world"]}


def _convert(found: Written, base: Path | None) -> Converted:
    assert isinstance(found, EvalCase)
    task: dict[str, Plain] = {
        "id": found.name,
        "prompt": found.prompt,
        "limits": {"max_turns": found.max_turns, "max_tokens": found.max_tokens},
        "checks": [workspace_check(found.check)],
    }
    return Converted(task=task, destinations={})


EVAL_CASE: Final = Format(
    name="eval_case", model=EvalCase, convert=_convert, fits=lambda item: not isinstance(item.get("check"), list)
)
