"""Panels: several judges on the same inputs. Where they differ nobody wins by vote: the input goes to people."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from spanproof_evaluators.model.judgements import Judgement, State

DISAGREEMENT: Final = "disagreement"
"""The label of a verdict that another judge of the panel contradicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelVerdict:
    """What the judges of a panel say of one input."""

    input_hash: str
    judgements: tuple[Judgement, ...]
    state: State
    """The state that all share; ``unavailable`` where they differ, or one of them gave no verdict."""

    reason: str | None
    """``disagreement``, ``incomplete_panel``; for a shared ``fail`` the reason of the first; ``None`` for ``pass``."""

    criteria: tuple[str, ...]
    """The criteria whose meaning differs between judges, in the rubric's order."""

    @property
    def disagrees(self) -> bool:
        """Whether it goes to people."""
        return self.reason == DISAGREEMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often judges say the same: counts, so that nobody has to trust a share."""

    inputs: int
    """Inputs on which every judge gave a verdict."""

    unanimous: int
    pairs: int
    """Pairs of judges, over all these inputs."""

    agreeing: int
    incomplete: int
    """Inputs on which at least one judge gave none: in no count above."""


def panel(judgements: Iterable[Judgement]) -> list[PanelVerdict]:
    """Return what panels say, input by input, in the order in which inputs first come."""
    by_input: defaultdict[str, list[Judgement]] = defaultdict(list)
    for one in judgements:
        by_input[one.input_hash].append(one)
    return [_together(input_hash, several) for input_hash, several in by_input.items()]


def agreement(verdicts: Sequence[PanelVerdict]) -> Agreement:
    """Return how often the judges of panels agree on pass or fail."""
    whole = [[one.state for one in verdict.judgements] for verdict in verdicts if verdict.reason != "incomplete_panel"]
    pairs = [pair for states in whole for pair in combinations(states, 2)]
    return Agreement(
        inputs=len(whole),
        unanimous=sum(len(set(states)) == 1 for states in whole),
        pairs=len(pairs),
        agreeing=sum(first == second for first, second in pairs),
        incomplete=len(verdicts) - len(whole),
    )


def _together(input_hash: str, several: Sequence[Judgement]) -> PanelVerdict:
    states = {one.state for one in several}
    state: State = "unavailable"
    reason: str | None = "incomplete_panel"
    if "unavailable" not in states:
        reason = DISAGREEMENT
        if len(states) == 1:
            state, reason = several[0].state, several[0].reason
    names = dict.fromkeys(one.criterion for judgement in several for one in judgement.criteria)
    differing = [
        name for name in names if len({found.means for one in several if (found := one.answer(name)) is not None}) > 1
    ]
    return PanelVerdict(
        input_hash=input_hash, judgements=tuple(several), state=state, reason=reason, criteria=tuple(differing)
    )
