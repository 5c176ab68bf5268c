"""What is older than its project is kept for goes, trial by trial, and never a part of one."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from spanproof_collector.errors import StoreUnreachableError
from spanproof_collector.exporters import export
from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.retention import EVERY_OTHER, RetentionError, apply_retention, keep_retention, set_policy
from spanproof_collector.server.collector import Collector
from spanproof_collector.store import Counted, Store, open_store
from spanproof_collector.trials import read_trials
from spanproof_evaluators.__main__ import main
from tests.factories import SECOND, T0, agent, chat, log_record, logs, said, span, traces
from tests.storing import Request, put

DAY = 86_400
NOW = T0 + 100 * DAY * SECOND
"""A hundred days after the first span of every test."""


def run(name: str, *days: float, project: str = "default", trial: str = "", session: str = "") -> Request:
    """A trial with a span on each of these days, counted from the first."""
    labels = {"gen_ai.conversation.id": session or name} | ({"spanproof.trial.id": trial} if trial else {})
    spans = [span("run", agent(**labels), trace=f"{name}{day}", key=f"{name}{day}", at=day * DAY) for day in days]
    return traces(*spans, resource={"service.name": "s", "spanproof.project": project})


def left(store: Store) -> set[tuple[str, str]]:
    return {(trial.project, trial.trial_id) for trial in read_trials(store)}


def test_by_default_everything_is_kept(store: Store) -> None:
    put(store, run("old", 0))
    assert apply_retention(store, now=NOW * 5).counted == Counted()
    assert left(store) == {("default", "old")}


def test_a_trial_goes_when_its_newest_span_is_too_old(store: Store) -> None:
    put(store, run("old", 0, 5), run("resumed", 0, 80), run("new", 95))
    set_policy(store, "default", 30)
    gone = apply_retention(store, now=NOW)
    assert (gone.trials, gone.counted.spans) == (1, 2)
    assert left(store) == {("default", "resumed"), ("default", "new")}
    assert [len(trial.steps) for trial in read_trials(store)] == [2, 1]
    assert apply_retention(store, now=NOW).counted == Counted()


def test_the_limit_is_days_after_the_end_of_the_newest_span(store: Store) -> None:
    put(store, run("old", 0))  # it ends a second after T0
    set_policy(store, "default", 10)
    moment = T0 + SECOND + 10 * DAY * SECOND
    assert apply_retention(store, now=moment).trials == 0
    assert apply_retention(store, now=moment + 1).trials == 1


def test_each_project_has_its_own_limit_and_the_rest_a_common_one(store: Store) -> None:
    for project in ("short", "long", "forever", "other"):
        put(store, run("a", 0, project=project), run("b", 60, project=project))
    for name, days in (("short", 10), ("long", 70), ("forever", None), (EVERY_OTHER, 200), (EVERY_OTHER, 90)):
        set_policy(store, name, days)
    apply_retention(store, now=NOW)
    assert left(store) == {("long", "b"), ("forever", "a"), ("forever", "b"), ("other", "b")}


def test_of_trials_in_one_session_each_has_its_own_age(store: Store) -> None:
    put(store, run("a", 0, trial="t-old", session="s"), run("b", 95, trial="t-new", session="s"))
    put(store, logs(log_record("loose", {"session.id": "s"}, trace=None, at=0)))
    set_policy(store, "default", 30)
    gone = apply_retention(store, now=NOW)
    assert (gone.trials, gone.counted.spans, gone.counted.log_records) == (1, 1, 1)
    assert left(store) == {("default", "t-new")}


def test_records_of_a_session_without_any_trace_age_too(store: Store) -> None:
    put(store, logs(log_record("loose", {"session.id": "s"}, trace=None, at=0)))
    put(store, logs(log_record("loose", {"session.id": "n"}, trace=None, at=95 * DAY)))
    set_policy(store, "default", 30)
    assert apply_retention(store, now=NOW).counted.log_records == 1
    assert {trial.session_id for trial in read_trials(store)} == {"n"}


def test_a_span_whose_clock_was_wrong_is_as_old_as_its_arrival(store: Store) -> None:
    one = span("run", agent())
    one.start_time_unix_nano = one.end_time_unix_nano = 0
    put(store, traces(one))
    set_policy(store, "default", 30)
    assert apply_retention(store).trials == 0
    assert apply_retention(store, now=time.time_ns() + 31 * DAY * SECOND).trials == 1


def test_a_dry_run_deletes_nothing(store: Store) -> None:
    put(store, run("old", 0))
    set_policy(store, "default", 30)
    would = apply_retention(store, now=NOW, dry_run=True)
    assert (would.trials, would.counted.spans, would.dry_run) == (1, 1, True)
    assert len(left(store)) == 1


@pytest.mark.parametrize("days", [0, -1])
def test_less_than_a_day_is_refused(store: Store, days: int) -> None:
    with pytest.raises(RetentionError):
        set_policy(store, "default", days)


def test_months_of_backfill_are_exported_deleted_and_imported_again(store: Store, tmp_path: Path) -> None:
    """A session every fourth day of four hundred, in one batch: fourteen partitions."""
    spans = []
    for day in range(0, 400, 4):
        text = [said("user", f"{day} " * 400)]
        session = {"gen_ai.conversation.id": f"{day}"}
        spans.append(span("chat", chat(text, text, **session), trace=f"{day}", key=f"{day}", at=day * DAY))
    put(store, traces(*spans))
    before = list(read_trials(store))
    export(store, Filter(), tmp_path / "all.jsonl.gz")
    set_policy(store, "default", 100)
    gone = apply_retention(store, now=T0 + 400 * DAY * SECOND)
    assert (gone.trials, gone.counted.spans, gone.counted.content_rows) == (75, 75, 75)
    assert [trial.trial_id for trial in read_trials(store)] == [f"{day}" for day in range(300, 400, 4)]
    import_paths(store, [tmp_path / "all.jsonl.gz"])
    again = list(read_trials(store))
    assert [trial.trial_id for trial in again] == [trial.trial_id for trial in before]
    assert [trial.final_answer for trial in again] == [trial.final_answer for trial in before]


async def test_a_server_applies_it_when_it_starts(store: Store) -> None:
    put(store, run("old", 0))
    set_policy(store, "default", 30)
    collector = Collector(store, "127.0.0.1", 0, 0)
    await collector.start()
    try:
        async with asyncio.timeout(30):
            while await asyncio.to_thread(left, store):
                await asyncio.sleep(0.05)
    finally:
        await collector.stop()


async def test_a_turn_that_fails_is_tried_again(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, run("old", 0))
    set_policy(store, "default", 30)
    apply, failing = apply_retention, [True]

    def fail_once(asked: Store) -> object:
        if failing:
            failing.clear()
            raise StoreUnreachableError("chdb://here", "it is gone")
        return apply(asked)

    monkeypatch.setattr("spanproof_collector.retention.periodic.apply_retention", fail_once)
    task = asyncio.create_task(keep_retention(store, every=0.01))
    async with asyncio.timeout(30):
        while await asyncio.to_thread(left, store):
            await asyncio.sleep(0.05)
    task.cancel()
    assert "retention could not be applied" in caplog.text


def test_the_command_line_sets_lists_and_applies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"chdb://{tmp_path}/store"
    assert main(["retention", "set", "--project", "shop", "--days", "30", "--store", address]) == 0
    assert main(["retention", "set", "--keep", "--store", address]) == 0
    with open_store(address) as store:
        put(store, run("old", 0, project="shop"), run("old", 0))
    capsys.readouterr()
    assert main(["retention", "list", "--json", "--store", address]) == 0
    assert json.loads(capsys.readouterr().out) == [{"project": None, "days": None}, {"project": "shop", "days": 30}]
    assert main(["retention", "apply", "--dry-run", "--store", address]) == 0
    assert capsys.readouterr().out.startswith("would go: 1 trial, 1 span")
    assert main(["retention", "apply", "--json", "--store", address]) == 0
    assert json.loads(capsys.readouterr().out)["trials"] == 1
    with open_store(address) as store:
        assert left(store) == {("default", "old")}
    assert main(["retention", "set", "--store", address]) == 2
