"""Operational telemetry in OpenTelemetry's terms: it explains load and efficiency, and no gate can name it (R034).

Every amount is of what was recorded: a trial, an inference or a call without it is counted as unavailable.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from spanproof_collector.model.trials import Step, StepKind, Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure, Unit
from spanproof_evaluators.model.telemetry import (
    inference_calls,
    seconds,
    steps_of,
    tool_calls,
    tool_steps,
    total_tokens,
    trial_seconds,
)
from spanproof_evaluators.runner.measuring._amounts import Amount, amounts
from spanproof_evaluators.runner.measuring._rates import Trials, task_key
from spanproof_evaluators.runner.measuring.failing import mttr_seconds

TOKENS: Final = "gen_ai.client.token.usage"
TOOL_CALLS: Final = "gen_ai.invoke_agent.tool_calls"


def telemetry(trials: Trials) -> dict[str, Measure]:
    """Return every number of these trials by OpenTelemetry's name of it, in the order in which they are read."""
    return {name: function(trials) for name, function in TELEMETRY.items()}


def _each_trial(unit: Unit, read: Callable[[Trial], int | None]) -> Callable[[Trials], Measure]:
    def measured(trials: Trials) -> Measure:
        found = [
            Amount(cluster=task_key(one), value=count, id=one.trial.trial_id)
            for one in trials
            if (count := read(one.trial)) is not None
        ]
        return amounts(found, unit=unit, per="trial", empty="no trial", unavailable=len(trials) - len(found))

    return measured


def _tokens(name: str) -> Callable[[Trials], Measure]:
    def read(trial: Trial) -> int | None:
        count: int | None = getattr(trial.usage, name)
        return None if trial.completeness.unmetered_calls else count

    return _each_trial("token", read)


def _each_step(kind: StepKind, per: str, empty: str) -> Callable[[Trials], Measure]:
    def measured(trials: Trials) -> Measure:
        return _timed([(one, step) for one in trials for step in steps_of(one.trial, kind)], per, empty)

    return measured


def _each_tool_call(trials: Trials) -> Measure:
    return _timed([(one, step) for one in trials for step in tool_steps(one.trial)], "tool call", "no tool call")


def _timed(steps: Sequence[tuple[Assessment, Step | None]], per: str, empty: str) -> Measure:
    found = [
        Amount(cluster=task_key(one), value=time, id=step.span_id)
        for one, step in steps
        if step is not None and (time := seconds(step)) is not None
    ]
    return amounts(found, unit="second", per=per, empty=empty, unavailable=len(steps) - len(found))


def _each_task(trials: Trials) -> Measure:
    """Return the time a task: the mean over its trials."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for one in trials:
        if (time := trial_seconds(one.trial)) is not None:
            by_task[task_key(one)].append(time)
    found = [Amount(cluster=task, value=sum(times) / len(times), id=task) for task, times in by_task.items()]
    untimed = {task_key(one) for one in trials} - by_task.keys()
    return amounts(found, unit="second", per="task", empty="no task", unavailable=len(untimed))


TELEMETRY: Final[Mapping[str, Callable[[Trials], Measure]]] = {
    TOKENS: _each_trial("token", total_tokens),
    f"{TOKENS}.input": _tokens("input_tokens"),
    f"{TOKENS}.output": _tokens("output_tokens"),
    f"{TOKENS}.cache_read": _tokens("cache_read_tokens"),
    f"{TOKENS}.cache_creation": _tokens("cache_write_tokens"),
    f"{TOKENS}.reasoning": _tokens("reasoning_tokens"),
    "gen_ai.client.operation.duration": _each_step("model_call", "inference", "no inference"),
    "gen_ai.invoke_agent.duration": _each_step("agent_call", "agent run", "no run of an agent"),
    "gen_ai.invoke_agent.inference_calls": _each_trial("call", inference_calls),
    TOOL_CALLS: _each_trial("call", tool_calls),
    "gen_ai.execute_tool.duration": _each_tool_call,
    "task.duration": _each_task,
    "mttr_seconds": mttr_seconds,
}
"""Every number by name: OpenTelemetry's metric, and the token type where it has one. The last two are ours.

Two runs that do the same take other times: whatever is a time is here, and nowhere among the measures.
"""
