"""A case with a start state that is built and an end state that is inspected, by functions.

    {"id": "boka", "uppgift": "…", "starttillstand": "fall.py:bygg", "verifiera": "fall.py:bokad"}

``starttillstand`` is given the path of the empty world; ``verifiera`` that of the world as the agent left it, and
returns a bool.
"""

from pathlib import Path
from typing import Final

from pydantic import Field

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suite_formats._format import Converted, Format
from spanproof_evaluators.model.suite_formats.eval_case import FUNCTION, workspace_check
from spanproof_evaluators.model.written import Written


class AgentFall(Written):
    """A case."""

    id: str = Field(min_length=1)
    uppgift: str = Field(min_length=1)
    starttillstand: str = Field(pattern=FUNCTION)
    verifiera: str = Field(pattern=FUNCTION)


def _convert(found: Written, base: Path | None) -> Converted:
    assert isinstance(found, AgentFall)
    task: dict[str, Plain] = {
        "id": found.id,
        "prompt": found.uppgift,
        "start": {"python": found.starttillstand},
        "checks": [workspace_check(found.verifiera)],
    }
    return Converted(task=task, destinations={})


AGENT_FALL: Final = Format(name="agent_fall", model=AgentFall, convert=_convert)
