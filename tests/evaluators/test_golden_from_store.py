"""Golden cases that are about trials, all the way: spans into a store, the rules, the verdicts read back."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.suites import parse_suite
from spanproof_evaluators.runner import assess, evaluate, measure
from spanproof_instrumentation import semconv
from tests.evaluators.stats.golden import golden
from tests.factories import event, span, traces
from tests.shared import needs_golden
from tests.storing import put


def called(trial: str, at: int, name: str, arguments: object, result: object, labels: dict[str, object]) -> object:
    """Return a tool span of a trial."""
    return span(
        f"execute_tool {name}",
        {
            **labels,
            semconv.OPERATION: "execute_tool",
            semconv.TOOL_NAME: name,
            semconv.TOOL_CALL_ID: f"{trial}-{at}",
            semconv.TOOL_ARGUMENTS: json.dumps(arguments),
            semconv.TOOL_RESULT: json.dumps(result),
        },
        trace=trial,
        key=f"{trial}-{at}",
        parent=f"{trial}-run",
        at=at + 1,
        seconds=0.5,
    )


def session(trial: str, task: str, calls: Sequence[tuple[str, object, object]]) -> ExportTraceServiceRequest:
    """Return the spans of a trial: a run, its calls by name, arguments and result, an answer."""
    labels: dict[str, object] = {semconv.TRIAL_ID: trial, semconv.TASK_ID: task}
    run = span(
        "invoke_agent a", {**labels, semconv.OPERATION: "invoke_agent"}, trace=trial, key=f"{trial}-run", seconds=99
    )
    tools: list[Any] = [called(trial, at, *one, labels) for at, one in enumerate(calls)]
    words = [{"role": "assistant", "parts": [{"type": "text", "content": "That is all."}], "finish_reason": "stop"}]
    said = {**labels, semconv.OPERATION: "chat", semconv.OUTPUT_MESSAGES: json.dumps(words)}
    answer = span("chat m", said, trace=trial, key=f"{trial}-answer", parent=f"{trial}-run", at=len(calls) + 2)
    return traces(run, *tools, answer)


def judged(
    store: Store, tasks: Sequence[dict[str, object]], requests: Sequence[ExportTraceServiceRequest]
) -> list[Assessment]:
    """Store, evaluate, and read back what was said."""
    together = ExportTraceServiceRequest()
    for request in requests:
        together.MergeFrom(request)
    put(store, together)
    suite = parse_suite(json.dumps({"id": "golden", "tasks": tasks}), name="golden.json")
    list(evaluate(store, Filter(), suite))
    return list(assess(store, Filter(), suite))


def test_the_founding_trajectory(store: Store) -> None:
    # Golden case G21; the spans' own steps and the run's are told apart by the limit on calls.
    calls: list[tuple[str, object, object]] = [
        ("znajdz", {"q": "a"}, "ok"),
        ("znajdz", {"q": "a"}, "ok"),
        ("czytaj", {"p": "f"}, "Error: 1"),
        ("znajdz", {"q": "a"}, "ok"),
        ("powloka", {"c": "ls"}, "ok"),
    ]
    task: dict[str, object] = {
        "id": "t",
        "limits": {"max_tool_calls": 4},
        "required_tools": ["znajdz_dokumenty"],
        "forbidden_tools": ["powloka"],
    }
    (one,) = judged(store, [task], [session("g21", "t", calls)])
    assert [call.name for call in one.trial.tool_calls] == ["znajdz", "znajdz", "czytaj", "znajdz", "powloka"]
    assert sum(call.error is not None for call in one.trial.tool_calls) == 1
    found = {result.evaluator: result for result in one.results}
    assert (found["repeats"].state, found["repeats"].score) == ("fail", 2.0)
    assert (found["budgets"].state, found["budgets"].explanation) == ("fail", "tool calls 5 > 4")
    assert found["forbidden_tools"].state == found["required_tools"].state == "fail"


@needs_golden
def test_the_effect_ledger_against_the_verified_reward_of_tau_bench(store: Store) -> None:
    # Golden case G27: 200 trials, calls hashed to name#id; an erroneous call is answered with an error.
    case = golden("G27")
    trials = case["inputs"]["trials"]
    writes = set(case["inputs"]["write_tools"])
    expected: dict[int, list[dict[str, object]]] = {}
    requests = []
    for told in trials:
        wanted = [one.split("#") for one in told["ref"] if one.split("#")[0] in writes]
        expected[told["task"]] = [{"tool": name, "arguments": {"call": number}} for name, number in wanted]
        calls: list[tuple[str, object, object]] = []
        for one, failed in zip(told["pred"], told["pred_error"], strict=True):
            name, number = one.split("#")
            calls.append((name, {"call": number}, "Error: it is not so" if failed else "done"))
        requests.append(session(f"{told['task']}.{told['trial']}", f"{told['task']}", calls))
    tasks: list[dict[str, object]] = [
        {"id": str(task), "expected_effects": wanted} for task, wanted in expected.items()
    ]
    reward = {f"{told['task']}.{told['trial']}": bool(told["ok"]) for told in trials}
    table: Counter[str] = Counter()
    for one in judged(store, tasks, requests):
        said = one.result("effect_ledger")
        assert said is not None
        assert said.state in ("pass", "fail"), said.explanation
        solved = reward[one.trial.trial_id]
        table[("tp" if solved else "fp") if said.state == "pass" else ("fn" if solved else "tn")] += 1
    metric = case["expected"]["metrics_as_predictors_of_verified_success"]["effective_effect_multiset_equal"]
    assert table == {name: metric[name] for name in ("tp", "fp", "fn", "tn")}


def test_windows_of_work_and_waits(store: Store) -> None:
    # Golden case G30: 2 of 3 active windows, one wait and one stale collector left out.
    labels: dict[str, object] = {semconv.TRIAL_ID: "g30", semconv.TASK_ID: "t"}
    wait = {
        semconv.WAIT_OWNER: "approver",
        semconv.WAIT_DECISION: "approve",
        semconv.WAIT_DEADLINE: 2_000_000_000_000_000_000,
        semconv.WAIT_RESUMABLE: True,
    }
    windows = [("active", 1.0), ("active", 1.0), ("waiting", 0.0), ("active", 0.0), ("stale_collector", 0.0)]
    events = [event(semconv.EVENT_WAIT, wait, at=2.5)]
    for at, (window, delta) in enumerate(windows, start=1):
        told = {semconv.PROGRESS_KEY: "k", semconv.PROGRESS_DELTA: delta, semconv.PROGRESS_WINDOW: window}
        events.append(event(semconv.EVENT_PROGRESS, told, at=at))
    run = span("invoke_agent a", {**labels, semconv.OPERATION: "invoke_agent"}, trace="g30", seconds=9, events=events)
    found = measure(judged(store, [{"id": "t"}], [traces(run)]))["useful_progress"]
    assert (found.numerator, found.denominator, found.excluded) == (2, 3, {"waiting": 1, "stale_collector": 1})
