"""Trials as recordings, the environment that each was recorded from, and replay as a source of outcomes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.environments import (
    Answer,
    Call,
    Environment,
    MissingExtraError,
    Recording,
    Words,
    known,
)
from spanproof_evaluators.model.canonical import plain
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite, Task
from spanproof_evaluators.runner.judging import left_out
from spanproof_evaluators.runner.replaying import Replay, dry, replay

NAME: Final = "replay"
_PART: Final = "reward."
"""How importers name the parts of a foreign reward."""

_SEEN: Final = {"recorded_change": True, "no_recorded_change": False}
"""Reasons of an effect that say what an environment showed of the call."""


def recording_of(trial: Trial) -> Recording:
    """Return a trial as environments see it: agent's and user's calls in the order in which they ran."""
    own = [(call, _call(call, "agent")) for call in trial.tool_calls]
    users = [(call, _call(call, "user")) for call in trial.user_calls]
    return Recording(
        source=trial.source,
        suite=trial.suite,
        task_id=trial.task_id,
        task=plain(trial.task_definition),
        calls=tuple(call for _, call in sorted([*own, *users], key=lambda pair: pair[0].started_at)),
        words=tuple(Words(text=each.text, with_calls=each.with_calls) for each in trial.spoken),
        words_whole=trial.completeness.content == "captured",
        answer=trial.final_answer,
        labels=trial.labels,
        judged={
            each.name.removeprefix(_PART): each.score >= 1
            for each in trial.foreign_results
            if each.name.startswith(_PART) and each.score is not None
        },
    )


def _call(call: ToolCall, by: Literal["agent", "user"]) -> Call:
    answered = call.error is not None or call.result_source is not None
    return Call(
        name=call.name,
        arguments=plain(call.arguments),
        by=by,
        executed=call.executed,
        effect_class=call.effect.effect_class,
        recorded=Answer(result=plain(call.result), error=call.error) if answered else None,
        changed=_SEEN.get(call.effect.reason),
    )


@dataclass(slots=True)
class Replaying:
    """Replays trials: a source of outcomes, and of what came of each call."""

    environment: Environment | None = None
    """``None``: the one that each trial was recorded from."""

    suite: Suite | None = None
    allowed: Collection[str] = ()
    only_dry: bool = False
    told: Callable[[Trial, Replay], None] = lambda trial, found: None
    """Told of each replay."""

    among: Sequence[Environment] = field(default_factory=lambda: tuple(known()))
    """From which a trial's own is chosen."""

    @property
    def name(self) -> str:
        """The beginning of what the outcome names as its verifier."""
        return NAME

    @property
    def declared(self) -> bool:
        """False: the world's criteria are the benchmark's; a suite's checks on recorded states come first."""
        return False

    def outcome(self, trial: Trial) -> Outcome:
        """Return the verdict on the world after the trial's calls."""
        return self.replay(trial).outcome

    def replay(self, trial: Trial) -> Replay:
        """Replay one trial.

        Raises:
            MissingExtraError: the environment that was asked for needs a package that is not installed.
        """
        found = self._replayed(trial)
        self.told(trial, found)
        return found

    def fitting(self, recording: Recording) -> Environment | None:
        """Return the environment that was asked for, else the one that a recording is from."""
        return self.environment or next((one for one in self.among if one.fits(recording)), None)

    def task(self, trial: Trial) -> Task | None:
        """Return the suite's task of a trial."""
        return self.suite.task(trial.task_id) if self.suite is not None else None

    def _replayed(self, trial: Trial) -> Replay:
        recording = recording_of(trial)
        fitting = self.fitting(recording)
        if fitting is None:
            return _not(f"no_environment: none is made for {trial.source}: name one, or a file that defines one")
        reason = left_out(trial)
        if reason in ("infrastructure", "waiting"):
            return _not(reason)
        if not trial.completeness.calls_whole:
            return _not("calls_not_captured")
        if any(call.arguments_source is None and call.executed != "no" for call in trial.tool_calls):
            return _not("arguments_not_captured")
        if self.only_dry:
            return dry(recording, fitting, self.allowed)
        try:
            return replay(recording, fitting, task=self.task(trial), allowed=self.allowed)
        except MissingExtraError as error:
            if self.environment is not None:
                raise
            return _not(f"extra_missing: {error}", fitting.name)


def _not(reason: str, environment: str | None = None) -> Replay:
    return Replay(environment=environment, outcome=Outcome.unavailable(reason, verifier=NAME))
