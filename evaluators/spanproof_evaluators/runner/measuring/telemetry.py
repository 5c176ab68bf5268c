"""Operational telemetry in OpenTelemetry's terms: it explains load and efficiency, and no gate can name it (R034).

Every amount is of what was recorded: a trial, an inference or a call without it is counted as unavailable.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from spanproof_collector.model.readings import Usage
from spanproof_collector.model.trials import Step, StepKind, Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._amounts import Amount, amounts
from spanproof_evaluators.runner.measuring._rates import Trials, task_key
from spanproof_evaluators.runner.measuring.failing import mttr_seconds

_SECOND: Final = 1_000_000_000
TOKENS: Final = "gen_ai.client.token.usage"
TOOL_CALLS: Final = "gen_ai.invoke_agent.tool_calls"


def telemetry(trials: Trials) -> dict[str, Measure]:
    """Return every number of these trials by OpenTelemetry's name of it, in the order in which they are read."""
    return {name: function(trials) for name, function in TELEMETRY.items()}


def _tokens(read: Callable[[Usage], int | None], of: str) -> Callable[[Trials], Measure]:
    def measured(trials: Trials) -> Measure:
        found = [
            Amount(cluster=task_key(one), value=count, id=one.trial.trial_id)
            for one in trials
            if (count := read(one.trial.usage)) is not None and not one.trial.completeness.unmetered_calls
        ]
        return amounts(
            found, unit="token", per="trial", empty=f"no trial with {of} tokens", unavailable=len(trials) - len(found)
        )

    return measured


def _inferences(trials: Trials) -> Measure:
    """Return inferences a trial. A trial without one was not recorded whole: an agent asks a model at least once."""
    return _counts(trials, lambda trial: sum(step.kind == "model_call" for step in trial.steps) or None)


def _tool_calls(trials: Trials) -> Measure:
    return _counts(trials, lambda trial: len(trial.tool_calls) if trial.completeness.calls_whole else None)


def _counts(trials: Trials, read: Callable[[Trial], int | None]) -> Measure:
    found = [
        Amount(cluster=task_key(one), value=count, id=one.trial.trial_id)
        for one in trials
        if one.trial.understood and not one.trial.completeness.root_missing and (count := read(one.trial)) is not None
    ]
    return amounts(found, unit="call", per="trial", empty="no trial", unavailable=len(trials) - len(found))


def _durations(kind: StepKind, per: str, empty: str) -> Callable[[Trials], Measure]:
    def measured(trials: Trials) -> Measure:
        steps = [(one, step) for one in trials for step in one.trial.steps if step.kind == kind]
        return _timed(steps, per, empty)

    return measured


def _tool_durations(trials: Trials) -> Measure:
    """Return the time of each call that has a span of its own, once: by the first of its spans."""
    steps: list[tuple[Assessment, Step | None]] = []
    for one in trials:
        spans = {step.span_id: step for step in one.trial.steps if step.kind in ("tool_call", "handoff")}
        for call in one.trial.tool_calls:
            steps.append((one, next((spans[span] for span in call.span_ids if span in spans), None)))
    return _timed(steps, "tool call", "no tool call")


def _timed(
    steps: "list[tuple[Assessment, Step]] | list[tuple[Assessment, Step | None]]", per: str, empty: str
) -> Measure:
    """Return durations; a step without a beginning and a later end that somebody recorded has none."""
    found = [
        Amount(cluster=task_key(one), value=(step.ended_at - step.started_at) / _SECOND, id=step.span_id)
        for one, step in steps
        if step is not None and step.timed and step.ended_at > step.started_at > 0
    ]
    return amounts(found, unit="second", per=per, empty=empty, unavailable=len(steps) - len(found))


def _task_durations(trials: Trials) -> Measure:
    """Return the time a task: the mean over its trials from their first span to the end of their last."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    gaps = set()
    for one in trials:
        trial = one.trial
        if trial.timed and trial.ended_at > trial.started_at > 0:
            by_task[task_key(one)].append((trial.ended_at - trial.started_at) / _SECOND)
        else:
            gaps.add(task_key(one))
    found = [Amount(cluster=task, value=sum(spans) / len(spans), id=task) for task, spans in by_task.items()]
    return amounts(found, unit="second", per="task", empty="no task", unavailable=len(gaps - by_task.keys()))


def _both(usage: Usage) -> int | None:
    """Return input and output tokens together; ``None`` where one direction was not recorded."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


TELEMETRY: Final[Mapping[str, Callable[[Trials], Measure]]] = {
    TOKENS: _tokens(_both, "input and output"),
    "gen_ai.client.token.usage.input": _tokens(lambda usage: usage.input_tokens, "input"),
    "gen_ai.client.token.usage.output": _tokens(lambda usage: usage.output_tokens, "output"),
    "gen_ai.client.token.usage.cache_read": _tokens(lambda usage: usage.cache_read_tokens, "cached"),
    "gen_ai.client.token.usage.reasoning": _tokens(lambda usage: usage.reasoning_tokens, "reasoning"),
    "gen_ai.client.operation.duration": _durations("model_call", "inference", "no inference"),
    "gen_ai.invoke_agent.duration": _durations("agent_call", "agent run", "no run of an agent"),
    "gen_ai.invoke_agent.inference_calls": _inferences,
    TOOL_CALLS: _tool_calls,
    "gen_ai.execute_tool.duration": _tool_durations,
    "task.duration": _task_durations,
    "mttr_seconds": mttr_seconds,
}
"""Every number by name: OpenTelemetry's metric, and the token type where it has one. The last two are ours.

Two runs that do the same take other times: whatever is a time is here, and nowhere among the measures.
"""
