"""What one trial took, in OpenTelemetry's terms; ``None`` where nobody recorded it."""

from collections.abc import Sequence
from typing import Final

from spanproof_collector.model.trials import Step, StepKind, Trial

_SECOND: Final = 1_000_000_000


def inference_calls(trial: Trial) -> int | None:
    """Return how many inferences it made. A trial without one was not recorded whole: an agent asks at least once."""
    if trial.completeness.root_missing:
        return None
    return sum(step.kind == "model_call" for step in trial.steps) or None


def tool_calls(trial: Trial) -> int | None:
    """Return how many tools it called, each call once; ``None`` where there may be more."""
    gaps = trial.completeness
    whole = trial.understood and gaps.calls_whole and not gaps.root_missing
    return len(trial.tool_calls) if whole else None


def total_tokens(trial: Trial) -> int | None:
    """Return input and output tokens together; ``None`` where a direction or an inference was not counted."""
    usage = trial.usage
    if usage.input_tokens is None or usage.output_tokens is None or trial.completeness.unmetered_calls:
        return None
    return usage.input_tokens + usage.output_tokens


def seconds(step: Step | None) -> float | None:
    """Return how long a step took. One that ends when it begins is told by an event that knows no duration."""
    if step is None or not step.timed or not step.ended_at > step.started_at > 0:
        return None
    return (step.ended_at - step.started_at) / _SECOND


def steps_of(trial: Trial, kind: StepKind) -> list[Step]:
    """Return the steps of a kind."""
    return [step for step in trial.steps if step.kind == kind]


def tool_steps(trial: Trial) -> list[Step | None]:
    """Return the first span of each call that has one, so that no call counts twice."""
    spans = {step.span_id: step for step in trial.steps if step.kind in ("tool_call", "handoff")}
    return [next((spans[span] for span in call.span_ids if span in spans), None) for call in trial.tool_calls]


def total_seconds(steps: Sequence[Step | None]) -> float | None:
    """Return the time of all of them; ``None`` without any, and where one of them was not timed."""
    times = [seconds(step) for step in steps]
    known = [time for time in times if time is not None]
    return sum(known) if known and len(known) == len(times) else None


def trial_seconds(trial: Trial) -> float | None:
    """Return the time from its first span to the end of its last."""
    if not trial.timed or not trial.ended_at > trial.started_at > 0:
        return None
    return (trial.ended_at - trial.started_at) / _SECOND
