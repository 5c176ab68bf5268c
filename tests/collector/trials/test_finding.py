"""What is found of some trials is what the list of everything says of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Query, Store, open_store
from spanproof_collector.store.migrating import known_migrations
from spanproof_collector.trials import Unit, finding, list_components, read_components, read_trials
from spanproof_collector.trials.finding import find_components
from spanproof_collector.trials.matching import may_match
from tests.factories import agent, asked, chat, log_record, logs, said, span, told, tool, trace_id, traces
from tests.storing import Request, put

ASK, PAY = said("user", "Refund O-1"), asked("pay", {"n": 1}, "call-1")
PAID, DONE = told("paid", "call-1"), said("assistant", "Done.")


def _label(name: str) -> dict[str, object]:
    return {"spanproof.trial.id": name}


def _session(name: str) -> dict[str, object]:
    return {"session.id": name}


def _many_ways() -> Iterable[Request]:
    # one label over two traces, of which one has a session that a third trace has too
    yield traces(span("run", agent(**_label("t-1")), trace="l1"))
    yield traces(span("pay", tool("pay", **_label("t-1"), **_session("s-1")), trace="l2", at=1))
    yield traces(span("talk", agent(**_session("s-1")), trace="l3", at=2))
    # two labels in one trace
    yield traces(
        span("one", agent(**_label("t-2")), trace="m", key="m1", at=10),
        span("two", agent(**_label("t-3")), trace="m", key="m2", at=11),
    )
    # nothing in common with anything
    yield traces(span("alone", agent(), trace="alone", at=20))
    # equal conversations, twice: which goes on from which depends on both
    for name, at in (("h", 30), ("i", 40)):
        yield traces(span("chat", chat([ASK], [PAY]), trace=f"{name}1", key=f"{name}1", at=at))
        yield traces(span("chat", chat([ASK, PAY, PAID], [DONE]), trace=f"{name}2", key=f"{name}2", at=at + 2))
    # a session that a trace without one goes on from; what it tells, only log records tell
    yield traces(
        span("chat", chat([said("user", "x")], [asked("mail", {}, "c-9")], **_session("s-2")), trace="n1", at=50)
    )
    more = chat([said("user", "x"), asked("mail", {}, "c-9"), told("sent", "c-9")], [DONE])
    yield logs(log_record("gen_ai.client.inference.operation.details", more, trace="n2", of="n2", at=52))
    # log records without a trace: of a session, of a label, of both
    for told_by in (_session("s-1"), _label("t-2"), _session("s-3") | _label("t-4")):
        yield logs(log_record("gen_ai.evaluation.result", told_by, trace=None, at=55))
    yield traces(span("of both", agent(**_label("t-4")), trace="o", at=54))


def _of_protocol() -> Iterable[Request]:
    """A notification of MCP during one run, and one during two."""
    for name, at, seconds in (("p", 0, 10), ("q", 100, 10), ("r", 101, 8)):
        yield traces(span("run", agent(**_session(name)), trace=name, key=name, at=at, seconds=seconds))
    for name, at in (("x", 3), ("y", 103)):
        note = {"mcp.method.name": "notifications/initialized"}
        yield traces(span("notify", note, trace=name, key=name, at=at, seconds=0.5))


def _names(store: Store) -> set[str]:
    every = [trace for group in list_components(store).components for trace in group]
    return {name for t in every for name in (*t.sessions, *t.labels, *(() if t.loose else (t.trace_id,)))}


@pytest.mark.parametrize("unit", ["session", "trace"])
def test_each_trial_is_found_as_it_is_listed(store: Store, unit: Unit) -> None:
    put(store, *_many_ways())
    listing = list_components(store, unit=unit)
    trials = list(read_trials(store, unit=unit))
    assert len(trials) >= 9

    for name in _names(store):
        for wanted in (Filter(trials=(name,)), Filter(sessions=(name,))):
            found = find_components(store, wanted, None, unit=unit)
            assert found is not None
            assert len(found.components) < len(listing.components)
            expected = [group for group in listing.components if may_match(group, wanted)]
            assert [group for group in found.components if may_match(group, wanted)] == expected
        assert list(read_trials(store, Filter(trials=(name,)), unit=unit)) == [
            trial for trial in trials if trial.trial_id == name
        ]


def test_traces_are_found_with_what_they_are_read_with(store: Store) -> None:
    put(store, *_many_ways())
    asked_for = ("default", trace_id("i2").hex())

    (component,) = read_components(store, traces=[asked_for])

    assert {trace.trace_id for trace in component.traces} == {trace_id("i1").hex(), trace_id("i2").hex()}


def test_whose_a_protocols_own_trace_is_only_the_list_of_everything_tells(store: Store) -> None:
    put(store, *_of_protocol())
    trials = {trial.trial_id: trial for trial in read_trials(store)}
    assert len(trials["p"].trace_ids) == 2
    assert len(trials) == 4

    for name, trial in trials.items():
        assert find_components(store, Filter(trials=(name,)), None) is None
        assert list(read_trials(store, Filter(trials=(name,)))) == [trial]


def test_where_too_much_belongs_together_everything_is_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, *_many_ways())
    (whole,) = read_trials(store, Filter(trials=("t-1",)))
    monkeypatch.setattr(finding, "_MOST_TRACES", 3)

    assert find_components(store, Filter(trials=("t-1",)), None) is None
    assert list(read_trials(store, Filter(trials=("t-1",)))) == [whole]


def test_a_filter_that_names_no_trial_lists_everything(store: Store) -> None:
    assert find_components(store, Filter(tasks=("refund",)), None) is None


def test_a_store_of_before_is_searched_and_its_rows_get_their_filters(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with pytest.MonkeyPatch.context() as patch:
        before = [each for each in known_migrations() if each.version < 4]
        patch.setattr("spanproof_collector.store.migrating.known_migrations", lambda: before)
        with open_store(address) as store:
            put(store, *_many_ways())
            (old,) = read_trials(store, Filter(trials=("t-1",)))

    with open_store(address) as store:
        assert list(read_trials(store, Filter(trials=("t-1",)))) == [old]
        with store._connection() as connection:
            for table, index in (("steps", "trials"), ("spans", "traces")):
                connection.client.command(f"ALTER TABLE {table} MATERIALIZE INDEX {index} SETTINGS mutations_sync = 2")
                sql = "SELECT min(secondary_indices_compressed_bytes) FROM system.parts WHERE active"
                sql += f" AND table = '{table}'"
                assert connection.client.query(sql).result_rows[0][0] > 0


def test_what_goes_on_from_a_trial_is_looked_for_only_where_something_has_no_session(store: Store) -> None:
    put(store, traces(span("pay", tool("pay", **_session("s-1")), trace="l2", at=1)))
    asked_for = {"values": ["holds:call-1"], "limit": 10}

    plan = [
        line for (line,) in store.select("plan", f"EXPLAIN indexes = 1 {Query.FIND_BARE_TRACES_BY_KEY.sql}", asked_for)
    ]

    used = [str(line).strip() for line in plan]
    assert {"Name: trials", "Name: sessions"} <= set(used), used
    assert "Granules: 0/1" in used, used


def test_a_part_that_has_nothing_of_a_trace_is_not_opened_for_it(store: Store) -> None:
    names = sorted("abcde", key=trace_id)
    # each part holds ids below and above the one that is asked for
    for part in ((0, 4), (1, 3), (2,)):
        put(store, traces(*(span("run", agent(), trace=names[place], key=names[place]) for place in part)))
    one = trace_id(names[2]).hex()
    asked_for = {"project": "default", "projects": ["default"], "traces": [one]}

    for query in (Query.READ_SPANS, Query.LIST_SOME_TRACES):
        plan = [str(line).strip() for (line,) in store.select("plan", f"EXPLAIN indexes = 1 {query.sql}", asked_for)]
        of_filter = plan[plan.index("Name: traces") :]
        assert next(line for line in of_filter if line.startswith("Parts:")) == "Parts: 1/3", plan


def _told(monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """Return what the store will be asked, as it is asked."""
    asked_for: list[Query] = []
    rows = Store.rows

    def told(store: Store, query: Query, parameters: Mapping[str, object] | None = None) -> list[tuple[object, ...]]:
        asked_for.append(query)
        return rows(store, query, parameters)

    monkeypatch.setattr(Store, "rows", told)
    return asked_for


def test_log_records_are_looked_for_only_where_there_are_some(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, *_many_ways())
    every = list(read_trials(store))
    asked_for = _told(monkeypatch)

    assert len(list(read_trials(store, Filter(trials=("t-2",))))) == 1
    assert Query.READ_LOG_RECORDS not in asked_for
    (of_history,) = read_trials(store, Filter(trials=("s-2",)))
    assert Query.READ_LOG_RECORDS in asked_for
    assert of_history in every


def test_the_sessions_of_what_was_found_and_the_one_asked_for_are_one_question(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"gen_ai.conversation.id": "s-9", "spanproof.trial.id": "t-9"}
    put(store, *_many_ways(), traces(span("run", agent(**both), trace="l9", key="l9", at=900)))
    asked_for = _told(monkeypatch)

    (found,) = read_trials(store, Filter(trials=("t-9",)))

    assert (found.trial_id, found.session_id) == ("t-9", "s-9")
    assert asked_for.count(Query.FIND_TRACES_OF_SESSIONS) == 1
