"""Replaying: the recorded calls of a trial into a fresh world, what came of each, and the verdict on where it ended."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from spanproof_evaluators.environments import (
    Answer,
    Call,
    Environment,
    Judging,
    MissingExtraError,
    NoWorldError,
    Recording,
    Snapshotting,
    TellingMore,
    World,
    changes,
    hash_of,
    same,
)
from spanproof_evaluators.model.canonical import Plain, digest, plain
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.verifiers import declared

VERSION: Final = "1"

Done = Literal["applied", "not_executed", "dry_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What came of one recorded call."""

    call: Call
    done: Done
    """``not_executed``: it never ran in the recording, so it does not run here."""

    answer: Answer | None = None
    same: bool | None = None
    """Whether the answer is the recorded one; ``None`` where either is not known."""

    changed: bool | None = None
    """Whether it changed the world; ``None`` where it was not made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A trial that was replayed, or why it could not be."""

    environment: str | None
    version: str | None = None
    steps: tuple[Step, ...] = ()
    start: str | None = None
    """The hash of the start state, as that of the end state."""

    end: str | None = None
    changes: tuple[Plain, ...] = ()
    """What differs between start and end: JSON pointer, value before and after."""

    outcome: Outcome
    beside: dict[str, Plain] = field(default_factory=dict)
    """What else the world tells of its end."""

    @property
    def divergence(self) -> int | None:
        """The place of the first call whose answer is not the recorded one; ``None`` where all are as recorded."""
        return next((place for place, step in enumerate(self.steps) if step.same is False), None)


def replay(
    recording: Recording,
    environment: Environment,
    *,
    task: Task | None = None,
    calls: Sequence[Call] | None = None,
    allowed: Collection[str] = (),
) -> Replay:
    """Return what comes of a recording's calls in a fresh world, and the verdict on its end.

    Args:
        recording: what was recorded.
        environment: makes the worlds.
        task: the task of a suite: its checks judge a world that knows no criteria itself.
        calls: other calls than the recorded ones, to see whether the verdict notices. What was said stays.
        allowed: irreversible tools that may be called all the same.

    Raises:
        MissingExtraError: a package of the environment is not installed.
    """
    made = recording if calls is None else replace(recording, calls=tuple(calls))
    name = _verifier(environment, recording)
    try:
        whole = _run(made, environment, task, allowed, name)
        doubtful = tuple(call for call in made.calls if not _ran(call))
        if not doubtful or all(step.changed is False for step in whole.steps if not _ran(step.call)):
            return whole
        # nobody knows whether these ran: the verdict stands only where it does not depend on them
        without = replace(made, calls=tuple(replace(c, executed="no") if not _ran(c) else c for c in made.calls))
        other = _run(without, environment, task, allowed, name)
        if other.outcome.state == whole.outcome.state:
            return whole
        return replace(whole, outcome=replace(whole.outcome, state="unavailable", reason="execution_unknown"))
    except NoWorldError as error:
        return _failed(environment, name, f"{error.reason}: {error}")
    except MissingExtraError:
        raise
    except Exception as error:  # whatever the world raises is its own failure, and no verdict on the trial
        return _failed(environment, name, f"environment_failed: {type(error).__name__}: {error}")


def dry(recording: Recording, environment: Environment, allowed: Collection[str] = ()) -> Replay:
    """Return what would be replayed; nothing is called and no world is made."""
    steps = tuple(
        Step(call=call, done="dry_run" if _withheld(call, environment, allowed) else "applied")
        if call.executed != "no"
        else Step(call=call, done="not_executed")
        for call in recording.calls
    )
    outcome = Outcome.unavailable("dry_run", verifier=_verifier(environment, recording))
    return Replay(environment=environment.name, version=environment.version, steps=steps, outcome=outcome)


def _run(
    recording: Recording, environment: Environment, task: Task | None, allowed: Collection[str], name: str
) -> Replay:
    with _world(environment, recording) as world:
        untouched = world.end_state() if isinstance(world, Snapshotting) else None
        before = _judged(world, recording.untouched(), task, untouched)
        start = state = world.state()
        steps: list[Step] = []
        for call in recording.calls:
            if call.executed == "no":
                steps.append(Step(call=call, done="not_executed"))
            elif _withheld(call, environment, allowed):
                steps.append(Step(call=call, done="dry_run"))
            else:
                answer = world.apply(call)
                was, state = state, world.state()
                steps.append(_step(call, answer, changed=was != state))
        after = _judged(world, recording, task, untouched)
        beside = world.beside(recording) if isinstance(world, TellingMore) else {}
    outcome = Outcome.of(before, after, verifier=name, version=VERSION)
    withheld = [step.call.name for step in steps if step.done == "dry_run" and step.call.changed is not False]
    if withheld:
        reason = f"dry_run: {', '.join(dict.fromkeys(withheld))}"
        outcome = replace(outcome, state="unavailable", reason=reason, effect_of_trial=None)
    found = Replay(
        environment=environment.name,
        version=environment.version,
        steps=tuple(steps),
        start=hash_of(start),
        end=hash_of(state),
        changes=tuple(changes(start, state)),
        outcome=outcome,
        beside=beside,
    )
    return replace(found, outcome=replace(outcome, details=_details(found, recording)))


@contextmanager
def _world(environment: Environment, recording: Recording) -> Iterator[World]:
    world = environment.start(recording)
    try:
        yield world
    finally:
        world.close()


def _step(call: Call, answer: Answer, *, changed: bool) -> Step:
    known = call.recorded is not None and answer.comparable
    agrees = same(call.recorded, answer) if known and call.recorded is not None else None
    return Step(call=call, done="applied", answer=answer, same=agrees, changed=changed)


def _judged(world: World, done: Recording, task: Task | None, before: EndState | None) -> Verification:
    """Return what the world says of its own task, else what the checks of a suite say of its state."""
    own: Sequence[Check] = world.verify(done) if isinstance(world, Judging) else ()
    if own:
        return Verification.of(own)
    if task is None or not task.checks or not isinstance(world, Snapshotting):
        return Verification(state="unavailable", reason="no_verifier")
    now = replace(world.end_state(), answer=done.answer)
    return declared(task.checks)(before or now, now)


def _withheld(call: Call, environment: Environment, allowed: Collection[str]) -> bool:
    """Return whether a call is irreversible and nobody allowed it by name."""
    if call.name in allowed:
        return False
    return call.name in environment.irreversible or (call.effect_class == "destructive" and not environment.simulated)


def _ran(call: Call) -> bool:
    """Return whether it is known that a call ran, or that it did not."""
    return call.executed != "unknown" or call.recorded is not None


def _verifier(environment: Environment, recording: Recording) -> str:
    """Return ``replay:<environment>/<suite>/<task>``, what is not known left out."""
    named = recording.task_id or ""
    suite = recording.suite or ""
    parts = [environment.name, *([suite] if suite and not named.startswith(f"{suite}/") else []), named]
    return "replay:" + "/".join(part for part in parts if part)


def _failed(environment: Environment, name: str, reason: str) -> Replay:
    told: dict[str, Plain] = {"environment": environment.name, "version": environment.version}
    outcome = replace(Outcome.unavailable(reason, verifier=name), details=told)
    return Replay(environment=environment.name, version=environment.version, outcome=outcome)


def _details(found: Replay, recording: Recording) -> dict[str, Plain]:
    """Return what is kept beside the verdict."""
    return {
        "environment": found.environment,
        "version": found.version,
        "task": digest(recording.task),
        "start": found.start,
        "end": found.end,
        "changes": list(found.changes),
        "calls": [
            {
                "call": place,
                "tool": step.call.name,
                "by": step.call.by,
                "done": step.done,
                "same": step.same,
                "changed": step.changed,
                "error": None if step.answer is None else step.answer.error is not None,
            }
            for place, step in enumerate(found.steps)
        ],
        "divergence": divergence_of(found),
        **found.beside,
    }


def divergence_of(found: Replay) -> Plain:
    """Return the first call whose answer is another than the recorded one: what was recorded, what came."""
    place = found.divergence
    if place is None:
        return None
    step = found.steps[place]
    return {
        "call": place,
        "tool": step.call.name,
        "arguments": step.call.arguments,
        "recorded": plain(step.call.recorded),
        "came": plain(step.answer),
    }
