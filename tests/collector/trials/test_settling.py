"""A trial is settled when no more of it is to be expected, and open again when something comes."""

import time
from dataclasses import replace

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.otlp import Origin
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_collector.trials import Settling, read_trials
from spanproof_instrumentation import semconv
from tests.factories import SECOND, agent, chat, event, log_record, logs, said, span, tool, traces
from tests.storing import Request, put, trial_of

RULE = Settling(settle_seconds=60, idle_seconds=600)
FILE = Origin("import:otlp", "run.pb")


def after(trial: Trial, seconds: float) -> int:
    """Return the moment so long after the last of a trial came."""
    assert trial.received_at is not None
    return trial.received_at + round(seconds * SECOND)


def ended() -> Request:
    return traces(span("run", agent(), key="root"), span("pay", tool("pay"), parent="root"))


def rootless() -> Request:
    return traces(span("pay", tool("pay"), parent="root"))


def put_file(store: Store, request: Request) -> None:
    writer = Writer(store)
    writer.add(request, request.SerializeToString(), FILE)
    writer.flush()


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the moment at which everything arrives from now on, in Unix nanoseconds; tests move it."""
    moment = [1_800_000_000 * SECOND]
    monkeypatch.setattr("spanproof_collector.otlp.columns.time.time_ns", lambda: moment[0])
    return moment


def test_the_moment_of_the_last_arrival_is_known(store: Store) -> None:
    before = time.time_ns() // 1_000_000 * 1_000_000
    trial = trial_of(store, ended())
    assert trial.received_at is not None
    assert before <= trial.received_at <= time.time_ns()


def test_a_trial_whose_root_ended_is_settled_when_nothing_came_for_a_while(store: Store) -> None:
    trial = trial_of(store, ended())
    assert not RULE.settled(trial, after(trial, 59.9))
    assert RULE.settled(trial, after(trial, 60))


def test_a_trial_without_a_root_is_settled_later_incomplete_and_scorable(store: Store) -> None:
    trial = trial_of(store, rootless())
    assert not RULE.settled(trial, after(trial, 599))
    assert RULE.settled(trial, after(trial, 600))
    assert (trial.status, trial.completeness.root_missing) == ("incomplete", True)
    assert [call.name for call in trial.tool_calls] == ["pay"]


def test_a_root_that_was_never_ended_is_waited_for_like_one_that_is_missing(store: Store) -> None:
    root = span("run", agent(**{semconv.UNFINISHED: True}))
    trial = trial_of(store, traces(root))
    assert trial.status_reason == "unfinished"
    assert not RULE.settled(trial, after(trial, 60))
    assert RULE.settled(trial, after(trial, 600))


@pytest.mark.parametrize("seconds", [0.0, 5.0, 1000.0])
def test_the_times_are_configurable(store: Store, seconds: float) -> None:
    ended_trial, open_trial = trial_of(store, ended()), replace(trial_of(store), received_at=1)
    rule = Settling(settle_seconds=seconds, idle_seconds=seconds * 2)
    assert rule.settled(ended_trial, after(ended_trial, seconds))
    assert seconds == 0 or not rule.settled(ended_trial, after(ended_trial, seconds - 1))
    assert open_trial == ended_trial  # when it came is no part of what is known


def test_no_trial_is_idle_sooner_than_it_is_settled(store: Store) -> None:
    trial = trial_of(store, rootless())
    assert not Settling(settle_seconds=100, idle_seconds=1).settled(trial, after(trial, 99))


def test_what_was_imported_is_settled_at_once_because_a_file_does_not_grow(store: Store) -> None:
    put_file(store, rootless())
    (trial,) = read_trials(store)
    assert trial.received_at is None
    assert RULE.settled(trial, time.time_ns())


def test_what_is_sent_to_an_imported_trial_opens_it_again(store: Store) -> None:
    put_file(store, rootless())
    put(store, traces(span("run", agent(), key="root")))
    (trial,) = read_trials(store)
    assert not RULE.settled(trial, after(trial, 1))
    assert RULE.settled(trial, after(trial, 60))


def test_a_trial_is_settled_when_its_world_was_recorded_after_it(store: Store) -> None:
    state = event(semconv.EVENT_END_STATE, {semconv.END_STATE_PHASE: "after", semconv.END_STATE_STATE: "{}"})
    trial = trial_of(store, traces(span("run", agent(), events=[state])))
    assert RULE.settled(trial, after(trial, 0))


@pytest.mark.parametrize(
    "late",
    [
        traces(span("look", tool("look"), parent="root", at=2)),
        traces(span("run", agent(**{"more": "said"}), key="root")),
        logs(log_record("said", {"k": "v"}, of="root")),
    ],
    ids=["a child", "a richer root", "a log record"],
)
def test_whatever_comes_late_opens_a_trial_again(store: Store, slow_clock: list[int], late: Request) -> None:
    put(store, ended())
    (trial,) = read_trials(store)
    slow_clock[0] += 3600 * SECOND
    assert RULE.settled(trial, slow_clock[0])
    put(store, late)
    (again,) = read_trials(store)
    assert again.received_at == slow_clock[0]
    assert not RULE.settled(again, slow_clock[0] + 59 * SECOND)
    assert RULE.settled(again, slow_clock[0] + 60 * SECOND)


def test_a_session_that_is_resumed_opens_the_whole_trial(store: Store, slow_clock: list[int]) -> None:
    session = {"gen_ai.conversation.id": "s"}
    put(store, traces(span("run", agent(**session), trace="1")))
    slow_clock[0] += 3600 * SECOND
    put(store, traces(span("run", agent(**session), trace="2", at=3600)))
    (trial,) = read_trials(store)
    assert (len(trial.trace_ids), trial.received_at) == (2, slow_clock[0])


def test_a_conversation_that_goes_on_opens_the_whole_trial(store: Store, slow_clock: list[int]) -> None:
    user, answer = said("user", "Refund O-1 and tell me"), said("assistant", "Which account was it?")
    put(store, traces(span("chat", chat([user], [answer]), trace="1", key="1")))
    slow_clock[0] += 3600 * SECOND
    more = chat([user, answer, said("user", "The blue one")], [said("assistant", "Done.")])
    put(store, traces(span("chat", more, trace="2", key="2", at=60)))
    (trial,) = read_trials(store)
    assert (trial.joined_by, trial.received_at) == ("history", slow_clock[0])


def test_a_trial_of_another_session_is_not_opened(store: Store, slow_clock: list[int]) -> None:
    for session in ("a", "b"):
        put(store, traces(span("run", agent(**{"gen_ai.conversation.id": session}), trace=session)))
        slow_clock[0] += 3600 * SECOND
    (first,) = read_trials(store, Filter(sessions=("a",)))
    assert RULE.settled(first, slow_clock[0])
    assert first.received_at == slow_clock[0] - 7200 * SECOND
