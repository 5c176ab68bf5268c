"""How often each text rule was right on labeled messages, to be shown wherever a claim that it read is shown.

Measured on 160 final messages of AgentDojo runs, labeled by hand (golden case G22, dev split). A rule is right when it
says ``success`` for a message labeled as a claim, and anything else for one that is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LABELED_SET: Final = "G22 dev: 160 final messages labeled by hand"


@dataclass(frozen=True, slots=True)
class Measured:
    """Of how many labeled messages a rule read the claim, and of how many rightly."""

    read: int
    right: int


MEASURED: Final[Mapping[str, Measured]] = {
    "done": Measured(67, 67),
    "implicit_answer": Measured(36, 35),
    "done_and_not_done": Measured(4, 4),
    "not_done": Measured(22, 22),
    "question": Measured(19, 19),
    "plan": Measured(9, 9),
    "no_substantive_text": Measured(3, 3),
}
"""By rule. A rule that read none of the messages is not in it: its error is not known."""


def measured(rule: str) -> Measured | None:
    """Return how a rule did on the labeled messages, ``None`` where it was not measured."""
    return MEASURED.get(rule)
