"""Trajectories against a reference: the metrics of Vertex AI and the modes of agentevals, over multisets of calls.

A call is one text (tool and arguments, compared by value) where order and number count, and tool with arguments where
modes compare those in other ways. Sources: the definitions in Google's ``evaluating_adk_agent`` notebook; langchain-ai
agentevals 0.0.9, whose greedy matching is replaced by a bipartite one, so that the order of a reference never matters.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.expected_effects import differing
from spanproof_evaluators.stats.matching import cheapest_pairs

Call: TypeAlias = tuple[str, Plain]
"""Tool and arguments."""

Mode = Literal["strict", "unordered", "subset", "superset"]
ArgumentMode = Literal["exact", "ignore", "subset", "superset"]


def exact_match(predicted: Sequence[str], reference: Sequence[str]) -> bool:
    """Return whether both have the same calls in the same order."""
    return list(predicted) == list(reference)


def in_order_match(predicted: Sequence[str], reference: Sequence[str]) -> bool:
    """Return whether the reference's calls are made in their order, others between them or not."""
    rest = iter(predicted)
    return all(any(call == made for made in rest) for call in reference)


def any_order_match(predicted: Sequence[str], reference: Sequence[str]) -> bool:
    """Return whether the reference's calls are made as often as it has them, in any order."""
    return not Counter(reference) - Counter(predicted)


def any_order_match_of_sets(predicted: Sequence[str], reference: Sequence[str]) -> bool:
    """Return whether each of the reference's calls is made at all: blind to one that should come twice."""
    return set(reference) <= set(predicted)


def precision(predicted: Sequence[str], reference: Sequence[str]) -> float | None:
    """Return the share of calls made that the reference has, each as often as it does; ``None`` where none was made."""
    return _shared(predicted, reference) / len(predicted) if predicted else None


def recall(predicted: Sequence[str], reference: Sequence[str]) -> float | None:
    """Return the share of the reference's calls that were made; ``None`` where it has none."""
    return _shared(predicted, reference) / len(reference) if reference else None


def precision_by_membership(predicted: Sequence[str], reference: Sequence[str]) -> float | None:
    """Return the share of calls made that are in the reference at all: a call made twice counts twice."""
    return sum(call in set(reference) for call in predicted) / len(predicted) if predicted else None


def recall_by_membership(predicted: Sequence[str], reference: Sequence[str]) -> float | None:
    """Return the share of the reference's calls that were made at all."""
    return sum(call in set(predicted) for call in reference) / len(reference) if reference else None


def single_tool_use(predicted: Sequence[Call], tool: str) -> bool:
    """Return whether a tool was called."""
    return any(name == tool for name, _ in predicted)


def _shared(predicted: Sequence[str], reference: Sequence[str]) -> int:
    return (Counter(predicted) & Counter(reference)).total()


def matches(
    predicted: Sequence[Sequence[Call]], reference: Sequence[Sequence[Call]], mode: Mode, arguments: ArgumentMode
) -> bool:
    """Return whether a trajectory matches a reference, both as messages of calls.

    Args:
        predicted: what was done, message by message.
        reference: what was expected.
        mode: ``strict`` compares message by message; ``superset``: every expected call was made; ``subset``: every call
            made was expected; ``unordered``: both.
        arguments: how those of two calls of one tool compare. ``superset``: the calls of the side that is to hold the
            other have at least its arguments, ``subset``: at most.
    """
    if mode == "strict":
        return len(predicted) == len(reference) and all(
            len(made) == len(wanted) and _covers(made, wanted, arguments)
            for made, wanted in zip(predicted, reference, strict=True)
        )
    done = [call for message in predicted for call in message]
    asked = [call for message in reference for call in message]
    if mode == "superset":
        return _covers(done, asked, arguments)
    if mode == "subset":
        return _covers(asked, done, arguments)
    return _covers(done, asked, arguments) and _covers(asked, done, arguments)


def _covers(holding: Sequence[Call], held: Sequence[Call], arguments: ArgumentMode) -> bool:
    """Return whether each held call has a holding one of its own."""
    if len(holding) < len(held):
        return False
    fits = _ARGUMENTS[arguments]
    costs = [[0.0 if name == tool and fits(theirs, ours) else 1.0 for name, theirs in holding] for tool, ours in held]
    return all(costs[row][column] == 0.0 for row, column in cheapest_pairs(costs))


def _within(smaller: Plain, larger: Plain) -> bool:
    if not isinstance(smaller, Mapping) or not isinstance(larger, Mapping):
        return not differing(smaller, larger)
    return all(name in larger and not differing([value], [larger[name]]) for name, value in smaller.items())


_ARGUMENTS: Final[Mapping[ArgumentMode, Callable[[Plain, Plain], bool]]] = {
    "exact": lambda holding, held: not differing(holding, held),
    "ignore": lambda holding, held: True,
    "subset": lambda holding, held: _within(holding, held),
    "superset": lambda holding, held: _within(held, holding),
}
