"""The projection is derived: it can be lost and made again."""

import pytest

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
