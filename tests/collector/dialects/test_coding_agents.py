"""Coding agents: spans and log, or the log alone, give one trial in which each step is told once."""

import json
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials, reindex
from spanproof_evaluators.cli.group import cli
from tests import coding_agents as made
from tests.factories import log_record, logs, span, traces
from tests.storing import put, trial_of, trials_of

TOOLS = {"claude": ["Read", "Bash"], "codex": ["exec_command"] * 2, "gemini": ["read_file", "run_shell_command"]}
SPANS = {"claude": "com.anthropic.claude_code.tracing", "codex": "codex_exec", "gemini": "gemini-cli"}
LOGS = {"claude": made.CLAUDE, "codex": "codex_otel.log_only", "gemini": "gemini-cli"}


def _trial(store: Store, agent: str, spans: Sequence[Span], records: Sequence[LogRecord]) -> Trial:
    return trial_of(
        store,
        *([traces(*spans, scope=SPANS[agent])] if spans else []),
        *([logs(*records, scope=LOGS[agent])] if records else []),
    )


def _kinds(trial: Trial) -> list[str]:
    return [step.kind for step in trial.steps if step.kind in ("model_call", "agent_call")]


WHOLE: dict[str, tuple[list[Span], list[LogRecord]]] = {
    "claude": (made.claude_spans(), made.claude_logs()),
    "codex": (made.codex_spans(), made.codex_logs()),
    "gemini": (made.gemini_spans(), made.gemini_logs()),
}


@pytest.mark.parametrize("agent", WHOLE)
def test_spans_and_log_tell_of_each_step_once(agent: str, store: Store) -> None:
    trial = _trial(store, agent, *WHOLE[agent])
    assert (trial.joined_by, trial.status, trial.completeness.unclaimed_spans) == ("session", "complete", 0)
    assert _kinds(trial).count("model_call") == 3
    read, change = trial.tool_calls
    assert [read.name, change.name] == TOOLS[agent]
    assert (read.executed, read.effect.effect_class, read.effect.state) == ("yes", "read", "none")
    assert (change.executed, change.effect.effect_class, change.effect.state) == ("yes", "write", "reported")
    expected = {"cmd": "./publish_plan.sh 7"} if agent == "codex" else made.CHANGE
    assert (read.result, change.arguments, change.result) == (made.TEXT, expected, made.OUTPUT)
    if agent == "codex":  # its answers are nowhere in what it sends
        assert (trial.final_answer, trial.claim.state) == (None, "unavailable")
    else:
        assert (trial.final_answer, trial.claim.state) == (made.ANSWER, "success")


@pytest.mark.parametrize(
    ("agent", "records"),
    [
        ("claude", made.claude_logs(traced=False)),
        ("codex", made.codex_logs()),
        ("gemini", made.gemini_logs(traced=False)),
    ],
)
def test_the_log_alone_gives_a_trial(agent: str, records: list[LogRecord], store: Store) -> None:
    trial = _trial(store, agent, [], records)
    assert (trial.joined_by, trial.status, trial.completeness.root_missing) == ("session", "complete", False)
    assert _kinds(trial).count("model_call") == 3
    read, change = trial.tool_calls
    assert [read.name, change.name] == TOOLS[agent]
    assert (read.executed, change.executed, change.effect.state) == ("yes", "yes", "reported")
    assert trial.final_answer == (None if agent == "codex" else made.ANSWER)
    assert trial.usage.input_tokens == {"claude": 3306, "codex": 600, "gemini": 600}[agent]


@pytest.mark.parametrize("agent", WHOLE)
def test_the_order_of_arrival_changes_nothing(agent: str, store: Store) -> None:
    spans, records = WHOLE[agent]
    expected = _trial(store, agent, spans, records)
    for seed in range(3):
        mixed: list[Span | LogRecord] = [*spans, *records]
        random.Random(seed).shuffle(mixed)
        project = {"spanproof.project": f"p{seed}"}
        for item in mixed:
            if isinstance(item, Span):
                put(store, traces(item, scope=SPANS[agent], resource=project))
            else:
                request = logs(item, scope=LOGS[agent])
                attribute = request.resource_logs[0].resource.attributes.add()
                attribute.key, attribute.value.string_value = "spanproof.project", f"p{seed}"
                put(store, request)
    found = trials_of(store)
    assert len(found) == 4
    for trial in found:
        assert [(c.name, c.arguments, c.result, c.executed, c.effect.state) for c in trial.tool_calls] == [
            (c.name, c.arguments, c.result, c.executed, c.effect.state) for c in expected.tool_calls
        ]
        assert (trial.final_answer, trial.usage, trial.cost.usd) == (
            expected.final_answer,
            expected.usage,
            expected.cost.usd,
        )


def test_reading_all_that_is_stored_anew_changes_nothing(store: Store) -> None:
    records = made.gemini_logs(traced=False)
    before = _trial(store, "gemini", [], records)
    assert reindex(store).log_records == len(records)
    assert list(read_trials(store)) == [before]


# --- Claude Code ------------------------------------------------------------------------------------------------------


def test_a_failure_within_claude_codes_tool_span_leaves_the_effect_unknown(store: Store) -> None:
    trial = _trial(store, "claude", made.claude_spans(failed=True), made.claude_logs(failed=True))
    change = trial.tool_calls[1]
    assert (change.executed, change.effect.state, change.error) == ("unknown", "unknown", "Shell command failed")
    assert trial.status == "complete"


@pytest.mark.parametrize("source", ["spans", "log"])
def test_what_the_user_did_not_allow_did_not_run(source: str, store: Store) -> None:
    spans = made.claude_spans(decision="reject") if source == "spans" else []
    records = made.claude_logs(decision="reject", traced=False) if source == "log" else []
    change = _trial(store, "claude", spans, records).tool_calls[1]
    assert (change.name, change.effect.effect_class) == ("Bash", "write")
    assert (change.executed, change.effect.state) == ("no", "refused")


def test_anthropics_input_tokens_include_what_came_from_the_cache_and_the_bill_is_kept(store: Store) -> None:
    trial = _trial(store, "claude", *WHOLE["claude"])
    assert (trial.usage.input_tokens, trial.usage.cache_read_tokens, trial.usage.cache_write_tokens) == (
        3306,
        3000,
        300,
    )
    assert (trial.cost.usd, trial.cost.covered, trial.cost.source) == (Decimal("0.003"), True, "bill")


def test_prompts_that_were_not_to_be_logged_are_no_content(store: Store) -> None:
    records = [r for r in made.claude_logs(traced=False) if "assistant_response" not in str(r.body)]
    for record in records:
        for pair in record.attributes:
            if pair.key == "prompt":
                pair.value.string_value = "<REDACTED>"
    trial = _trial(store, "claude", [], records)
    assert (trial.final_answer, trial.claim.state) == (None, "unavailable")


# --- Codex CLI --------------------------------------------------------------------------------------------------------


def test_a_command_that_codex_says_succeeded_and_that_exited_with_an_error_ran(store: Store) -> None:
    change = _trial(store, "codex", made.codex_spans(), made.codex_logs(code=1)).tool_calls[1]
    assert (change.executed, change.exit_code) == ("yes", 1)
    assert (change.effect.state, change.effect.reason) == ("unknown", "exit_code")


def test_codex_calls_that_were_denied_did_not_run(store: Store) -> None:
    trial = _trial(store, "codex", made.codex_spans(), made.codex_logs(decision="denied"))
    change = trial.tool_calls[1]
    assert (change.executed, change.effect.state) == ("no", "refused")


@pytest.mark.parametrize("number", [4, "4"])
def test_a_threads_number_is_no_session(number: object, store: Store) -> None:
    one, other = (
        traces(span("works", {"thread.id": number}, key=name, trace=name), scope="codex_exec") for name in ("x", "y")
    )
    assert [trial.session_id for trial in trials_of(store, one, other)] == [None, None]


def test_an_inference_whose_span_was_lost_is_not_taken_for_its_neighbour(store: Store) -> None:
    about = {"conversation.id": "c", "event.name": "codex.sse_event", "event.kind": "response.completed"}
    used = {"input_token_count": 7, "output_token_count": 1, "model": "gpt-4o"}
    inference = span("handle_responses", {"gen_ai.usage.input_tokens": 7, "conversation.id": "c"}, at=1)
    records = [log_record(f"x{at}", about | used, trace=None, at=at) for at in (1.9, 2.1)]
    trial = _trial(store, "codex", [inference], records)
    assert (_kinds(trial), trial.usage.input_tokens) == (["model_call", "model_call"], 14)


# --- Gemini CLI -------------------------------------------------------------------------------------------------------


def test_a_tools_name_before_an_id_is_no_part_of_it(store: Store) -> None:
    assert [call.call_id for call in _trial(store, "gemini", *WHOLE["gemini"]).tool_calls] == ["g1", "g2"]


def test_geminis_thoughts_are_part_of_the_output_and_come_from_the_log(store: Store) -> None:
    with_log = _trial(store, "gemini", *WHOLE["gemini"])
    assert (with_log.usage.output_tokens, with_log.usage.reasoning_tokens, with_log.usage.cache_read_tokens) == (
        45,
        15,
        192,
    )


def test_a_command_that_failed_is_told_by_its_exit_code_although_the_tool_succeeded(store: Store) -> None:
    change = _trial(store, "gemini", made.gemini_spans(code=1), made.gemini_logs()).tool_calls[1]
    assert (change.executed, change.exit_code) == ("yes", 1)
    assert (change.effect.state, change.effect.reason) == ("unknown", "exit_code")


def test_a_tool_call_that_was_cancelled_by_the_user_did_not_run(store: Store) -> None:
    change = _trial(store, "gemini", made.gemini_spans(status="cancelled"), [])
    found = change.tool_calls[1]
    assert (found.executed, found.effect.state) == ("no", "refused")


def test_an_output_that_was_cut_is_counted_and_its_status_still_read(store: Store) -> None:
    spans = [item for item in made.gemini_spans(cut=True) if item.name == "tool_call"]
    trial = _trial(store, "gemini", spans, [])
    assert trial.completeness.truncated_values == 1
    assert (trial.tool_calls[1].executed, trial.tool_calls[1].result) == ("yes", None)


# --- records without a trace ------------------------------------------------------------------------------------------


def test_a_record_without_trace_or_session_is_nobodys(store: Store) -> None:
    record = log_record("codex.user_prompt", {"event.name": "codex.user_prompt", "prompt": "x"}, trace=None)
    assert trials_of(store, logs(record, scope="codex_otel")) == []


def test_records_without_a_trace_go_to_what_their_session_did_at_that_time(store: Store) -> None:
    def run(name: str, at: float) -> Span:
        label = {"session.id": "g-1", "spanproof.trial.id": name, "gen_ai.operation.name": "agent_call"}
        return span("run", label, key=name, trace=name, at=at, seconds=10)

    def answer(at: float, tokens: int) -> LogRecord:
        about = {"session.id": "g-1", "event.name": "gemini_cli.api_response", "model": "gemini-2.5-pro"}
        return log_record("", about | {"input_token_count": tokens, "output_token_count": 1}, trace=None, at=at)

    found = trials_of(
        store,
        traces(run("first", 0), run("second", 100), scope="gemini-cli"),
        logs(answer(5, 10), answer(30, 1), answer(105, 200), scope="gemini-cli"),
    )
    assert {trial.trial_id: trial.usage.input_tokens for trial in found} == {"first": 11, "second": 200}


def test_a_trace_unit_takes_the_records_of_its_time(store: Store) -> None:
    put(
        store,
        traces(*WHOLE["gemini"][0], scope="gemini-cli"),
        logs(*made.gemini_logs(traced=False), scope="gemini-cli"),
    )
    found = trials_of(store, unit="trace")
    assert len(found) == 5
    assert [len([s for s in trial.steps if s.kind == "model_call"]) for trial in found] == [1, 0, 1, 0, 1]


def test_long_texts_of_records_without_a_trace_come_back_whole(store: Store) -> None:
    long = "word " * 1000
    record = log_record(
        "", {"session.id": "s-9", "event.name": "user_prompt", "prompt": long, "prompt.id": "p"}, trace=None
    )
    answer = log_record(
        "",
        {"session.id": "s-9", "event.name": "assistant_response", "response": long, "request_id": "r"},
        trace=None,
        at=2,
    )
    request = log_record(
        "",
        {"session.id": "s-9", "event.name": "api_request", "input_tokens": 1, "output_tokens": 1, "request_id": "r"},
        trace=None,
        at=1,
    )
    assert trial_of(store, logs(record, answer, request, scope=made.CLAUDE)).final_answer == long


def test_an_import_counts_trials_of_which_only_records_without_a_trace_came(tmp_path: Path) -> None:
    store = f"chdb://{tmp_path}/store"
    for name, session in (("one", "g-1"), ("two", "g-2")):
        request = logs(*made.gemini_logs(traced=False), scope="gemini-cli").SerializeToString()
        (tmp_path / f"{name}-logs.pb").write_bytes(request.replace(b"g-1", session.encode()))
        found = CliRunner().invoke(cli, ["import", "--store", store, "--json", str(tmp_path / f"{name}-logs.pb")])
        assert json.loads(found.stdout)["trials"] == 1
