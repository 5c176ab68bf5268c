"""The projection is derived: it can be lost and made again."""

import pytest

from spanproof_collector.store import Query, Store
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


def _steps(store: Store) -> list[tuple[object, ...]]:
    return store.rows(Query.LIST_TRACES) + store.rows(Query.LIST_JOIN_KEYS)


@pytest.fixture
def filled(store: Store) -> Store:
    put(store, *REQUESTS)
    return store


def test_a_projection_that_was_lost_is_made_again(filled: Store) -> None:
    trials, steps = list(read_trials(filled)), sorted(map(repr, _steps(filled)))
    for statement in _EMPTY:
        filled._run(statement)
    assert list(read_trials(filled)) == []
    assert reindex(filled) == Reindexed(spans=3, log_records=1)
    assert list(read_trials(filled)) == trials
    assert sorted(map(repr, _steps(filled))) == steps


def test_reindexing_twice_changes_nothing(filled: Store) -> None:
    trials = list(read_trials(filled))
    reindex(filled)
    reindex(filled)
    assert list(read_trials(filled)) == trials
