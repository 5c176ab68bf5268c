"""Operational telemetry and conduct: amounts with their totals, nothing made up where nobody recorded it, no gate."""

import csv
import io
from dataclasses import replace

import pytest

from spanproof_collector.model.readings import Usage
from spanproof_collector.model.trials import Step
from spanproof_evaluators.errors import MeasureError, PolicyError
from spanproof_evaluators.gates import find_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.policies import LimitGate
from spanproof_evaluators.model.results import Result, State
from spanproof_evaluators.reports.files import report_csv
from spanproof_evaluators.reports.wording import headline, interval
from spanproof_evaluators.runner import gate, measure, report
from spanproof_evaluators.runner.measuring import telemetry
from spanproof_evaluators.runner.measuring._amounts import spread
from tests.evaluators.factories import SECOND, START, assessed, call, step, trial


def lasting(kind: str, *seconds: float, timed: bool = True) -> list[Step]:
    return [
        replace(step(kind), span_id=f"{kind}{at}", ended_at=START + int(each * SECOND), timed=timed)  # type: ignore[arg-type]
        for at, each in enumerate(seconds)
    ]


def test_tokens_are_of_the_trials_whose_every_inference_told_them() -> None:
    told = [assessed(trial(f"t{n}", usage=Usage(input_tokens=1000 * n, output_tokens=n))) for n in (1, 2, 6)]
    blank = assessed(trial("blank"))
    partly = assessed(trial("partly", usage=Usage(input_tokens=5, output_tokens=5), unmetered_calls=1))
    found = telemetry([*told, blank, partly])
    given = found["gen_ai.client.token.usage.input"]
    assert (given.value, given.numerator, given.denominator, given.unavailable) == (3000.0, 9000, 3, 2)
    assert given.figures == {"p50": 2000, "p90": 6000, "max": 6000}
    assert headline(given, 40) == "3,000 (9,000 / 3 trials)"
    assert interval(given) == "median 2,000, p90 6,000, max 6,000"
    assert found["gen_ai.client.token.usage"].numerator == 9009
    cached = found["gen_ai.client.token.usage.cache_read"]
    assert (cached.value, cached.unavailable, cached.reason) == (None, 5, "none of 5 was recorded")


def test_durations_are_of_steps_that_somebody_timed() -> None:
    steps = [*lasting("model_call", 1, 3), *lasting("model_call", 9, timed=False), *lasting("model_call", 0)]
    found = telemetry([assessed(trial(steps=[*steps, *lasting("agent_call", 7.5)]))])
    inference = found["gen_ai.client.operation.duration"]
    assert (inference.value, inference.numerator, inference.denominator, inference.unavailable) == (2.0, 4, 2, 2)
    assert found["gen_ai.invoke_agent.duration"].value == 7.5
    assert found["gen_ai.invoke_agent.inference_calls"].value == 4


def test_a_tool_call_is_timed_once_by_the_first_of_its_spans() -> None:
    calls = [replace(call(), span_ids=("tool_call0", "tool_call1")), replace(call(), span_ids=("elsewhere",))]
    steps = [*lasting("model_call", 1), *lasting("tool_call", 2, 1)]
    found = telemetry([assessed(trial(calls=calls, steps=steps))])
    tool = found["gen_ai.execute_tool.duration"]
    assert (tool.value, tool.denominator, tool.unavailable) == (2.0, 1, 1)
    assert found["gen_ai.invoke_agent.tool_calls"].value == 2


def test_counts_that_may_not_be_whole_are_unavailable() -> None:
    unseen = assessed(trial("a", calls_whole=False))
    torn = assessed(trial("b", root_missing=True))
    silent = assessed(trial("c", steps=[step("tool_call")]))
    found = telemetry([unseen, torn, silent])
    assert found["gen_ai.invoke_agent.tool_calls"].unavailable == 2
    assert (
        found["gen_ai.invoke_agent.inference_calls"].value,
        found["gen_ai.invoke_agent.inference_calls"].unavailable,
    ) == (1, 2)


def test_the_time_a_task_is_the_mean_of_its_trials() -> None:
    long = replace(trial("b"), ended_at=START + 180 * SECOND)
    untimed = replace(trial("c", task_id="other"), timed=False)
    found = telemetry([assessed(trial("a")), assessed(long), assessed(untimed)])["task.duration"]
    assert (found.value, found.denominator, found.unavailable) == (120.0, 1, 1)


def test_percentiles_are_values_that_were_seen() -> None:
    assert spread([]) == {}
    assert spread([float(at) for at in range(1, 11)]) == {"p50": 5.5, "p90": 9.0, "max": 10.0}
    assert spread([4.0]) == {"p50": 4.0, "p90": 4.0, "max": 4.0}


def test_no_gate_can_name_telemetry() -> None:
    spec = LimitGate(id="fast", kind="limit", measure="gen_ai.client.token.usage", at_most="1")  # type: ignore[arg-type]
    policy = find_policy("recommended").model_copy(update={"gates": (spec,)})
    with pytest.raises(PolicyError, match="no measure"):
        gate([assessed(trial())], policy, name="a")


def test_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(MeasureError, match="add up"):
        Measure(value=0.5, unit="trial", numerator=1, denominator=2, n_units=2, n_clusters=2, parts={"over_budget": 2})


def test_a_figure_without_a_name_of_its_own_is_refused() -> None:
    with pytest.raises(MeasureError, match="no figure called score"):
        Measure(value=0.5, unit="trial", numerator=1, denominator=2, n_units=2, n_clusters=2, figures={"score": 0.7})  # type: ignore[dict-item]


def test_aborted_trials_are_told_by_reason() -> None:
    ended = [
        ("aborted", "budget_exhausted"),
        ("aborted", "budget_exhausted"),
        ("aborted", "cancelled"),
        ("complete", None),
    ]
    trials = [
        assessed(trial(f"t{at}", status=status, status_reason=why), "failed")  # type: ignore[arg-type]
        for at, (status, why) in enumerate(ended)
    ]
    found = measure(trials)["aborted_rate"]
    assert (found.numerator, found.denominator, found.parts) == (3, 4, {"budget_exhausted": 2, "cancelled": 1})


# --- conduct ------------------------------------------------------------------------------------------------------


def with_words(name: str, **states: State) -> Assessment:
    results = tuple(
        Result(evaluator=rule, state=state, reason="not_captured", explanation="") for rule, state in states.items()
    )
    return replace(assessed(trial(name, task_id=name)), results=results)


def test_a_trajectory_is_clean_where_nothing_was_found_and_open_where_a_rule_could_not_say() -> None:
    trials = [
        with_words("clean", repeats="pass", budgets="pass"),
        with_words("again", repeats="fail", forbidden_tools="unavailable"),
        with_words("forbidden", repeats="pass", forbidden_tools="fail"),
        with_words("open", repeats="unavailable"),
        replace(assessed(trial("new"), "unavailable", reason="not_evaluated")),
    ]
    found = measure(trials)
    clean = found["clean_trajectories"]
    assert (clean.numerator, clean.denominator, clean.unavailable, clean.evidence_ids) == (1, 3, 2, ("clean",))
    again = found["trials_with_repeats"]
    assert (again.numerator, again.denominator, again.unavailable) == (1, 3, 2)
    forbidden = found["trials_with_forbidden_tools"]
    assert (forbidden.numerator, forbidden.denominator, forbidden.unavailable) == (1, 3, 2)


# --- tasks that were done before ----------------------------------------------------------------------------------


def judged(name: str, task: str, before: str, after: str) -> Assessment:
    one = assessed(trial(name, task_id=task), after)  # type: ignore[arg-type]
    return replace(one, outcome=replace(one.outcome, pre_state=before))  # type: ignore[arg-type]


def test_a_vacuous_task_leaves_with_the_trials_that_spoiled_it() -> None:
    trials = [
        judged("kept", "v", "verified", "verified"),
        judged("spoiled", "v", "verified", "failed"),
        judged("unseen", "v", "unavailable", "verified"),
        judged("done", "t", "failed", "verified"),
        judged("not done", "t", "failed", "failed"),
        judged("unknown", "u", "unavailable", "failed"),
    ]
    found = measure(trials)["solve_rate_without_vacuous"]
    assert (found.numerator, found.denominator, found.excluded) == (1, 3, {"vacuous": 3})
    assert found.note == "of 1 nobody judged the state before"
    assert measure(trials)["cost_per_verified_outcome_without_vacuous"].denominator == 1
    assert measure(trials)["aborted_rate_without_vacuous"].denominator == 3


def test_rows_of_trials_add_up_to_the_report() -> None:
    steps = [*lasting("model_call", 1, 3), *lasting("tool_call", 2)]
    calls = [replace(call(), span_ids=("tool_call0",))]
    usage = Usage(input_tokens=1000, output_tokens=20)
    trials = [assessed(trial(f"t{at}", steps=steps, calls=calls, usage=usage)) for at in range(3)]
    trials.append(assessed(trial("blank", steps=lasting("model_call", 5, timed=False), calls_whole=False)))
    made = report(trials, None, described="")
    rows = list(csv.DictReader(io.StringIO(report_csv(made))))
    found = made.variants[0].telemetry
    for column, name in (
        ("total_tokens", "gen_ai.client.token.usage"),
        ("inference_calls", "gen_ai.invoke_agent.inference_calls"),
        ("operation_seconds", "gen_ai.client.operation.duration"),
        ("tool_seconds", "gen_ai.execute_tool.duration"),
    ):
        told = [row[f"telemetry.{column}"] for row in rows]
        assert sum(float(cell) for cell in told if cell) == found[name].numerator, column
    (blank,) = [row for row in rows if row["trial_id"] == "blank"]
    assert (
        blank["telemetry.total_tokens"] == blank["telemetry.operation_seconds"] == blank["telemetry.tool_seconds"] == ""
    )
