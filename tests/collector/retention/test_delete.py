"""What is deleted is gone: from every table, from the disk, and from what writers remember."""

import asyncio
import json
import urllib.request
from pathlib import Path

import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.results import ResultRow
from spanproof_collector.pipeline import Pipeline
from spanproof_collector.retention import delete, delete_sessions, delete_user
from spanproof_collector.store import Counted, Deletion, Part, Query, Store, purge
from spanproof_collector.store.deleting import TABLES
from spanproof_collector.trials import read_trials
from spanproof_evaluators.__main__ import main
from tests.collector.retention.disk import files_with
from tests.collector_process import collecting
from tests.factories import agent, chat, event, log_record, logs, said, span, tool, trace_id, traces
from tests.storing import Request, put

SECRET = "zebra-7f3a91c2"
SESSION = f"session-{SECRET}"
USER = f"user-{SECRET}"
LONG = f"{SECRET} " * 200


def one_session(session: str, *, trace: str, text: str, user: str = "") -> list[Request]:
    """A run with long and short texts in every place that has any."""
    named = {"gen_ai.conversation.id": session}
    root = span(f"run {text[:30]}", agent(**named), trace=trace, key=f"{trace}-root", events=[event("e", {"k": text})])
    root.links.append(Span.Link(trace_id=trace_id("x"), span_id=b"12345678", attributes=chat_pairs(text)))
    model = span("chat", chat([said("user", text)], [said("assistant", text)]), trace=trace, parent=f"{trace}-root")
    call = span("pay", tool("pay", {"n": text[:40]}, text[:40]), trace=trace, parent=f"{trace}-root", at=1)
    resource = {"service.name": "s"} | ({"user.id": user} if user else {})
    return [
        traces(root, model, call, resource=resource),
        logs(
            log_record("said", {"k": text}, body=text, trace=trace, of=f"{trace}-root"),
            log_record("loose", {"session.id": session, "k": text[:40]}, body=text[:60], trace=None),
        ),
    ]


def chat_pairs(text: str) -> list[KeyValue]:
    return list(span("x", {"k": text}).attributes)


def broken(session: str, trace: str, text: str = SECRET) -> Request:
    """A span that is rejected: its id is too short."""
    one = span("broken", {"gen_ai.conversation.id": session, "k": text}, trace=trace)
    one.span_id = b"short"
    return traces(one)


def results(store: Store, *trial_ids: str, text: str = SECRET) -> None:
    store.write_results(
        [
            ResultRow(trial_id=each, evaluator="budgets", kind="rule", state="pass", explanation=text, evaluated_at=1)
            for each in trial_ids
        ]
    )
    store.insert(
        "trials",
        {"project": ["default"] * len(trial_ids), "unit": ["session"] * len(trial_ids), "trial": list(trial_ids)},
        f"trials {trial_ids}",
    )
    store.insert(
        "trial_traces",
        {
            "project": ["default"] * len(trial_ids),
            "unit": ["session"] * len(trial_ids),
            "trace_id": [f"\0{each}\0" for each in trial_ids],
            "trials": [[each] for each in trial_ids],
        },
        f"traces {trial_ids}",
    )


def counts(store: Store) -> dict[str, int]:
    with store._connection() as connection:
        return {name: connection.client.query(f"SELECT count() FROM {name} FINAL").result_rows[0][0] for name in TABLES}


def test_nothing_of_a_session_is_left_in_any_table_or_file(store: Store) -> None:
    put(store, *one_session("other", trace="other", text="kept " * 200), broken("other", "other", "kept"))
    results(store, "session:other", text="kept")
    before = counts(store)
    put(store, *one_session(SESSION, trace="secret", text=LONG, user=USER), broken(SESSION, "secret"))
    results(store, f"session:{SESSION}")
    assert store.embedded_path is not None
    # Otherwise this would prove nothing: it is found while it is there, in long texts and in short ones.
    assert len(files_with(store.embedded_path, SECRET)) > len(TABLES)

    gone = delete_sessions(store, [SESSION])

    assert (gone.trials, gone.old_parts) == (1, 0)
    assert gone.counted == Counted(
        spans=3,
        log_records=2,
        content_rows=gone.counted.content_rows,
        results=1,
        dead_letters=1,
        bytes=gone.counted.bytes,
    )
    assert gone.counted.content_rows >= 3
    assert gone.counted.bytes > len(LONG)
    assert files_with(store.embedded_path, SECRET) == []
    assert counts(store) == before
    assert [trial.session_id for trial in read_trials(store)] == ["other"]
    assert delete_sessions(store, [SESSION]).counted == Counted()


def test_a_dry_run_counts_the_same_and_deletes_nothing(store: Store) -> None:
    put(store, *one_session(SESSION, trace="secret", text=LONG), broken(SESSION, "secret"))
    results(store, f"session:{SESSION}")
    before = counts(store)
    would = delete_sessions(store, [SESSION], dry_run=True)
    assert counts(store) == before
    gone = delete_sessions(store, [SESSION])
    assert (would.trials, would.counted) == (gone.trials, gone.counted)
    assert (would.dry_run, gone.dry_run) == (True, False)


@pytest.mark.parametrize(
    "requests",
    [
        [traces(span("run", agent(**{"user.id": USER}), key="root"), span("chat", chat(None, None), parent="root"))],
        [traces(span("run", agent(), key="root"), span("look", {"enduser.id": USER}, parent="root"))],
        [traces(span("run", agent()), resource={"user.id": USER})],
        [traces(span("run", agent(), events=[event("signed_in", {"user.id": USER})]))],
        [traces(span("run", agent(), key="root")), logs(log_record("said", {"user.id": USER}, of="root"))],
        [
            traces(span("run", agent(**{"ai.telemetry.metadata.userId": USER}))),
            logs(log_record("by", {"user.id": USER})),
        ],
    ],
)
def test_a_user_is_found_wherever_senders_name_one(store: Store, requests: list[Request]) -> None:
    bystander = traces(span("run", agent(**{"user.id": "someone", "note": USER}), trace="bystander"))
    put(store, *requests, bystander)
    assert delete_user(store, USER).trials == 1
    assert [trial.trace_ids for trial in read_trials(store)] == [(trace_id("bystander").hex(),)]


def test_a_user_with_a_number_for_a_name_is_that_number_and_no_part_of_one(store: Store) -> None:
    put(
        store,
        traces(span("run", agent(**{"user.id": 7}), trace="7"), resource={"service.name": "s"}),
        traces(span("run", agent(), trace="r7"), resource={"user.id": 7}),
        traces(span("run", agent(**{"user.id": "77"}), trace="77"), resource={"user.id": "17"}),
    )
    assert delete_user(store, "7").trials == 2
    assert len(list(read_trials(store))) == 1


def test_log_records_of_no_trial_that_name_the_user_go_too(store: Store) -> None:
    put(store, logs(log_record("said", {"user.id": USER}, trace=None), log_record("said", {"k": "v"}, trace=None)))
    gone = delete_user(store, USER)
    assert (gone.trials, gone.counted.log_records) == (0, 1)
    assert counts(store)["log_records"] == counts(store)["log_steps"] == 1


def test_of_a_trace_that_two_trials_share_only_the_one_goes(store: Store) -> None:
    shared = "shared " * 200
    first = [span("a", chat([said("user", LONG)], [said("user", shared)], **{"spanproof.trial.id": "a"}), trace="t")]
    second = [span("b", chat([said("user", shared)], None, **{"spanproof.trial.id": "b"}), trace="t", at=1)]
    put(store, traces(*second))
    alone = counts(store)
    put(store, traces(*first), logs(log_record("said", {"k": LONG}, of="a", trace="t")))
    results(store, "label:a", "label:b")
    assert {trial.trial_id for trial in read_trials(store)} == {"a", "b"}

    gone = delete(store, Filter(trials=("a",)))

    assert (gone.trials, gone.counted.spans, gone.counted.log_records, gone.counted.results) == (1, 1, 1, 1)
    assert counts(store) == alone | {"results": 1, "trials": 1, "trial_traces": 1}
    assert store.embedded_path is not None
    assert files_with(store.embedded_path, LONG[:40]) == []
    (records,) = store.read_traces([("default", trace_id("t").hex())]).values()
    assert ([each.name for each in records.spans], records.lost) == (["b"], ())


def test_only_the_project_that_is_named_is_touched(store: Store) -> None:
    for project in ("one", "two"):
        session = agent(**{"gen_ai.conversation.id": "s"})
        put(store, traces(span("run", session), resource={"spanproof.project": project, "user.id": "u"}))
    assert delete_sessions(store, ["s"], projects=["one"]).trials == 1
    assert [trial.project for trial in read_trials(store)] == ["two"]
    assert delete_user(store, "u", projects=["one"]).trials == 0


def test_it_is_kept_that_something_went_but_not_what(store: Store) -> None:
    put(store, *one_session(SESSION, trace="secret", text=LONG))
    delete_sessions(store, [SESSION])
    with store._connection() as connection:
        sql = "SELECT event, reason, trials, spans FROM deletions WHERE event = 'done'"
        assert connection.client.query(sql).result_rows == [("done", "session", 1, 3)]


async def test_what_a_server_takes_after_a_deletion_by_another_process_is_whole(
    store: Store, store_over_http: Store
) -> None:
    """The pipeline remembers content that it has stored, and the engine the tokens of blocks: both are void then."""
    bodies = [
        ("traces" if hasattr(each, "resource_spans") else "logs", each.SerializeToString())
        for each in one_session(SESSION, trace="secret", text=LONG)
    ]
    pipeline = Pipeline(store)
    pipeline.start()
    try:
        for signal, body in bodies:
            await pipeline.accept(signal, body)  # type: ignore[arg-type]  # a signal
        whole = list(read_trials(store))
        stored = counts(store)
        gone = await asyncio.to_thread(delete_sessions, store_over_http, [SESSION])
        assert (gone.trials, sum(counts(store).values())) == (1, 0)
        for signal, body in bodies:
            await pipeline.accept(signal, body)  # type: ignore[arg-type]  # a signal
        assert counts(store) == stored
        assert list(read_trials(store)) == whole
        assert [found.lost for found in store.read_traces([("default", trace_id("secret").hex())]).values()] == [()]
    finally:
        await pipeline.stop()


async def test_what_comes_while_something_is_deleted_is_acknowledged_after_that_and_whole(store: Store) -> None:
    first = traces(span("a", chat([said("user", LONG)], None)))
    late = traces(span("b", chat([said("user", LONG)], None)))
    pipeline = Pipeline(store)
    pipeline.start()
    try:
        await pipeline.accept("traces", first.SerializeToString())
        with Deletion(store, "filter")._step():
            accepting = asyncio.create_task(pipeline.accept("traces", late.SerializeToString()))
            while counts(store)["spans"] < 2:
                await asyncio.sleep(0.01)
            # The late span refers to the text of the first, which the pipeline believes to be there.
            gone = {"project": "default", "traces": [trace_id("a").hex()], "hashes": []}
            store.command(Query.DELETE_CONTENT, gone)
            await asyncio.sleep(0.1)
            assert not accepting.done()
        await accepting
        (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
        assert ({each.name for each in records.spans}, records.lost) == ({"a", "b"}, ())
    finally:
        await pipeline.stop()


def test_a_deletion_that_was_killed_holds_nobody_up_for_more_than_a_minute(store: Store) -> None:
    begun: dict[str, list[object]] = {"event": ["begun"], "reason": ["age"]}
    store.insert("deletions", {**begun, "deletion_id": ["d"], "at": [1_700_000_000_000]}, "d")
    assert not store.read_deletions().running
    store.insert("deletions", {**begun, "deletion_id": ["e"]}, "e")
    assert store.read_deletions().running


def test_a_store_that_is_opened_knows_that_nobody_else_deletes_from_it(tmp_path: Path) -> None:
    from spanproof_collector.store import open_store

    with open_store(f"chdb://{tmp_path}/store") as opened:
        opened.insert("deletions", {"deletion_id": ["e"], "event": ["begun"], "reason": ["age"]}, "e")
    with open_store(f"chdb://{tmp_path}/store") as opened:
        assert not opened.read_deletions().running


def test_an_importer_that_runs_on_stores_what_was_deleted_meanwhile(store: Store) -> None:
    """Its own memory of content is void too."""
    from spanproof_collector.otlp import WIRE
    from spanproof_collector.pipeline import Writer

    request = traces(span("a", chat([said("user", LONG)], None)))
    writer = Writer(store)
    writer.add(request, request.SerializeToString(), WIRE)
    writer.flush()
    delete(store, Filter(since=0))
    assert list(read_trials(store)) == []
    writer.add(request, request.SerializeToString(), WIRE)
    writer.flush()
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert records.lost == ()


def test_a_block_that_was_deleted_is_stored_again_before_its_files_are_gone(store: Store) -> None:
    """The engine knows the tokens of the blocks that it has seen, whatever became of their rows."""
    request = traces(span("a", chat([said("user", LONG)], None)))
    put(store, request)
    whole = counts(store)
    Deletion(store, "filter").delete(Part(project="default", traces=(trace_id("a").hex(),)))
    assert sum(counts(store).values()) == 0
    put(store, request)
    assert counts(store) == whole


def test_parts_that_somebody_reads_are_told_of(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, *one_session(SESSION, trace="secret", text=LONG))
    monkeypatch.setattr("spanproof_collector.store.deleting._PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr("spanproof_collector.store.deleting._inactive", lambda store: {"content all_1_1_0"})
    assert purge(store) == 1


def test_through_a_running_server_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with collecting(tmp_path / "store") as server:
        request, _ = one_session(SESSION, trace="secret", text=LONG)
        post = urllib.request.Request(
            f"{server.addresses.http}/v1/traces",
            request.SerializeToString(),
            {"Content-Type": "application/x-protobuf"},
        )
        with urllib.request.urlopen(post):
            pass
        asked = ["delete", "--session", SESSION, "--store", server.store]
        assert main(asked) == 2  # nobody can be asked
        assert "would go: 1 trial" in capsys.readouterr().err
        assert files_with(tmp_path / "store", SECRET)
        assert main([*asked, "--yes", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["trials"], told["spans"], told["old_parts"]) == (1, 3, 0)
        assert files_with(tmp_path / "store", SECRET) == []
        with urllib.request.urlopen(post):
            pass
        assert main(["trials", "--json", "--store", server.store]) == 0
        (trial,) = map(json.loads, capsys.readouterr().out.splitlines())
        assert trial["completeness"]["truncated_values"] == 0
        assert main([*asked, "--yes"]) == 0
        assert capsys.readouterr().out.startswith("deleted: 1 trial, 3 spans, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to delete"),
        (["--user", "u", "--session", "s"], "--user goes with --project"),
    ],
)
def test_what_is_too_much_or_unclear_is_not_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "store").mkdir()
    assert main(["delete", "--yes", *arguments, "--store", f"chdb://{tmp_path}/store"]) == 2
    assert message in capsys.readouterr().err
