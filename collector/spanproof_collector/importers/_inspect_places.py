"""Runs of an Inspect sample while their events are being brought together."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from spanproof_collector.importers._session import Call, Inference, Run, Said, Turn


@dataclass(slots=True, kw_only=True, eq=False)
class Answer:
    """An inference whose calls are still being answered."""

    inference: Inference
    calls: "list[Asked]" = field(default_factory=list)


@dataclass(slots=True, kw_only=True, eq=False)
class Asked:
    """A call that waits for its answer."""

    call: Call
    answered: bool = False
    runs: "list[Place]" = field(default_factory=list)


@dataclass(slots=True, kw_only=True, eq=False)
class Place:
    """The turns of one run, in the order of its own events."""

    name: str | None = None
    key: str | None = None
    kind: str = ""
    turns: "list[Said | Answer | Asked | Place]" = field(default_factory=list)
    heard: set[str] = field(default_factory=set)

    def open(self, call_id: str | None) -> Asked | None:
        """Return the call that an answer with this id is for: the earliest one that has none."""
        for turn in self.turns:
            for asked in turn.calls if isinstance(turn, Answer) else [turn] if isinstance(turn, Asked) else []:
                if not asked.answered and call_id is not None and asked.call.call_id == call_id:
                    return asked
        return None


def settled(place: Place) -> Iterator[Turn]:
    """Yield the turns of a run, calls answered, empty runs left out."""
    for turn in place.turns:
        match turn:
            case Answer():
                yield replace(turn.inference, calls=tuple(_called(asked) for asked in turn.calls))
            case Asked():
                yield _called(turn)
            case Place():
                if turn.turns:
                    yield _run(turn)
            case _:
                yield turn


def _called(asked: Asked) -> Call:
    return replace(asked.call, runs=tuple(_run(place) for place in asked.runs if place.turns))


def _run(place: Place) -> Run:
    return Run(agent=place.name, key=place.key, turns=tuple(settled(place)))
