"""How much a verdict notices: one effect of a verified trial dropped, doubled or altered, and judged again (B17)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from spanproof_evaluators.environments import Call, Environment, Recording
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.runner.replaying import Replay, replay

Kind = Literal["drop", "double", "alter"]

_MOST: Final = 24
"""How many arguments of a call are altered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A list of calls in which one that changed the world is another."""

    kind: Kind
    place: int
    """Of the call, in the recording."""

    argument: str | None
    """The JSON pointer of the argument that was altered."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of a mutant."""

    mutant: Mutant
    state: Literal["killed", "survived", "equivalent", "unavailable"]
    """``equivalent``: its world came out as the original's, so there is nothing to notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationScore:
    """How many mutants the verdict noticed."""

    judged: tuple[Judged, ...] = ()

    @property
    def killed(self) -> int:
        """Mutants that the verdict fails."""
        return sum(one.state == "killed" for one in self.judged)

    @property
    def total(self) -> int:
        """Mutants whose world came out otherwise, and that were judged."""
        return sum(one.state in ("killed", "survived") for one in self.judged)

    @property
    def value(self) -> float | None:
        """The share; ``None`` where there is no mutant to notice."""
        return self.killed / self.total if self.total else None


def mutants(recording: Recording, found: Replay) -> Iterator[Mutant]:
    """Yield the mutants of a replayed recording: of each call that changed the world, one by one."""
    calls = recording.calls
    for place, step in enumerate(found.steps):
        if not step.changed:
            continue
        before, one, after = calls[:place], calls[place], calls[place + 1 :]
        yield Mutant(kind="drop", place=place, argument=None, calls=(*before, *after))
        yield Mutant(kind="double", place=place, argument=None, calls=(*before, one, one, *after))
        for pointer, arguments in islice(_altered("", one.arguments), _MOST):
            other = replace(one, arguments=arguments)
            yield Mutant(kind="alter", place=place, argument=pointer, calls=(*before, other, *after))


def mutation_score(
    recording: Recording,
    environment: Environment,
    found: Replay,
    *,
    task: Task | None = None,
    allowed: Collection[str] = (),
) -> MutationScore:
    """Return how many mutants of a verified replay the verdict notices; none where it was not verified.

    Raises:
        MissingExtraError: a package of the environment is not installed.
    """
    if found.outcome.state != "verified":
        return MutationScore()
    judged = []
    for mutant in mutants(recording, found):
        came = replay(recording, environment, task=task, calls=mutant.calls, allowed=allowed)
        judged.append(Judged(mutant=mutant, state=_state(came, found)))
    return MutationScore(judged=tuple(judged))


def _state(came: Replay, original: Replay) -> Literal["killed", "survived", "equivalent", "unavailable"]:
    if came.outcome.state == "unavailable":
        return "unavailable"
    if came.end == original.end:
        return "equivalent"
    return "killed" if came.outcome.state == "failed" else "survived"


def _altered(pointer: str, value: Plain) -> Iterator[tuple[str, Plain]]:
    """Yield the value with one of its leaves altered: a number is one more, a text has a letter more."""
    match value:
        case dict():
            for key, item in value.items():
                for place, other in _altered(f"{pointer}/{key}", item):
                    yield place, {**value, key: other}
        case list():
            for number, item in enumerate(value):
                for place, other in _altered(f"{pointer}/{number}", item):
                    yield place, [*value[:number], other, *value[number + 1 :]]
        case bool():
            yield pointer, not value
        case int() | float():
            yield pointer, value + 1
        case str():
            yield pointer, f"{value}x"
        case None:
            return
