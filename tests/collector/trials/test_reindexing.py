"""The projection is derived: it can be lost and made again."""

import pytest

from spanproof_collector import dialects
from spanproof_collector.dialects._registry import Registry
from spanproof_collector.store import Store
from spanproof_collector.trials import Reindexed, read_trials, reindex
from tests.factories import agent, asked, chat, log_record, logs, said, span, told, tool, traces
from tests.storing import Request, put

_EMPTY = ("TRUNCATE TABLE steps", "TRUNCATE TABLE log_steps")
PAY = asked("pay", {"n": 1}, "c1")
REQUESTS: list[Request] = [
    traces(
        span("run", agent() | {"gen_ai.conversation.id": "c-1"}, seconds=9),
        span("pay", tool("pay", {"n": 1}, "paid", "c1"), parent="run", at=1, error="late"),
    ),
    traces(span("chat", chat([said("user", "x"), PAY, told("paid", "c1")], []), trace="b", key="m2", at=4)),
    logs(log_record("gen_ai.client.inference.operation.details", chat([said("user", "x")], [PAY]), of="run")),
]


def _projection(store: Store) -> list[object]:
    """Every column of the projection but the time of writing, which is the only thing that is not derived."""
    with store._connect() as client:
        return [
            client.query(f"SELECT * EXCEPT ingested_at FROM {table} FINAL ORDER BY ALL").result_rows
            for table in ("steps", "log_steps")
        ]


@pytest.fixture
def filled(store: Store) -> Store:
    put(store, *REQUESTS)
    return store


def test_a_projection_that_was_lost_is_made_again(filled: Store) -> None:
    trials, projection = list(read_trials(filled)), _projection(filled)
    for statement in _EMPTY:
        filled._run(statement)
    assert list(read_trials(filled)) == []
    assert reindex(filled) == Reindexed(spans=3, log_records=1)
    assert list(read_trials(filled)) == trials
    assert _projection(filled) == projection


def test_reindexing_twice_changes_nothing(filled: Store) -> None:
    trials = list(read_trials(filled))
    reindex(filled)
    reindex(filled)
    assert list(read_trials(filled)) == trials


def test_a_dialect_that_came_later_reads_what_was_stored_before_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one version of spanproof stored without understanding it, a later one reads in full."""
    inference = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m-1",
        "llm.token_count.prompt": 12,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "x",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "pay",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"n": 1}',
    }
    later = {key: value for key, value in inference.items() if "output" not in key} | {
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "pay",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": '{"n": 1}',
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": "c1",
        "llm.input_messages.2.message.content": "paid",
        "llm.output_messages.0.message.content": "Paid.",
    }
    requests = [traces(span("m", inference, trace="a")), traces(span("m", later, trace="b", key="m2", at=5))]
    older = tuple(dialect for dialect in dialects.DIALECTS if dialect.name != "openinference")
    with monkeypatch.context() as version:
        version.setattr(dialects, "_registry", Registry(older))
        put(store, *requests)
        before = list(read_trials(store))
    assert [(trial.dialects, trial.completeness.unclaimed_spans) for trial in before] == [((), 1), ((), 1)]
    # the dialect reads spans at once; what joins traces is in the projection, which is still the older version's
    assert [trial.joined_by for trial in read_trials(store)] == ["trace", "trace"]
    assert reindex(store) == Reindexed(spans=2, log_records=0)
    (trial,) = read_trials(store)
    assert (trial.dialects, trial.joined_by, trial.usage.input_tokens) == (("openinference",), "history", 24)
    assert [(call.name, call.arguments, call.result) for call in trial.tool_calls] == [("pay", {"n": 1}, "paid")]
    assert (trial.final_answer, trial.completeness.unclaimed_spans) == ("Paid.", 0)
    with store._connect() as client:
        kinds = client.query("SELECT dialect, kind, model FROM steps FINAL").result_rows
    assert kinds == [("openinference", "model_call", "m-1")] * 2
