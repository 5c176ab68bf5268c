"""What holds for every format: folders, what lies beside sessions, damage, progress, memory."""

import gzip
import json
import random
import tracemalloc
from pathlib import Path

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.importers._counts import Distinct
from spanproof_collector.store import Store
from tests.collector.importers.recording import lines, tell, tell_folder


def conversation(words: str, **labels: object) -> dict[str, object]:
    asked = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    return {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
            {"role": "assistant", "content": words},
        ]
    } | labels


def pi(words: str) -> bytes:
    head = {"type": "session", "id": words, "timestamp": "2026-02-03T04:05:00.000Z", "cwd": "/w"}
    message = {"role": "assistant", "content": [{"type": "text", "text": words}]}
    return lines(head, {"type": "message", "timestamp": "2026-02-03T04:05:01.000Z", "message": message})


def test_a_folder_may_mix_formats_and_names_tell_nothing(store: Store, tmp_path: Path) -> None:
    told = tell_folder(
        store,
        tmp_path,
        {
            "a.pb": conversation("one"),
            "b.json": pi("two"),
            "deep/er/c.traj": gzip.compress(lines(conversation("three"))),
            "d.jsonl": b"not json\n",
            "readme.md": b"# not a session\n",
            ".hidden/e.json": conversation("four"),
        },
    )
    found = told.imported
    assert found.formats == {"openai_messages": 2, "pi": 1}
    assert [(each.path, each.reason) for each in found.rejected] == [("d.jsonl", "no known format recognizes it")]
    assert {(trial.source, trial.path, trial.final_answer) for trial in told.trials} == {
        ("import:openai_messages", "a.pb", "one"),
        ("import:pi", "b.json", "two"),
        ("import:openai_messages", "deep/er/c.traj", "three"),
    }


def test_importing_again_and_from_another_place_stores_nothing_again(store: Store, tmp_path: Path) -> None:
    first = tell_folder(store, tmp_path / "one", {"a": conversation("x"), "b": pi("y")})
    again = tell_folder(store, tmp_path / "two", {"renamed": pi("y"), "c/d": conversation("x")})
    assert again.imported.spans == first.imported.spans
    assert [trial.steps for trial in again.trials] == [trial.steps for trial in first.trials]


CHANGES = [{"path": "/orders/7", "before": None, "after": {"paid": True}}]


def test_recorded_changes_come_with_the_session_of_that_file_and_are_no_verdict(store: Store, tmp_path: Path) -> None:
    told = tell_folder(
        store,
        tmp_path,
        {
            "endstate.jsonl": lines(
                {"id": "a", "actual_changes": CHANGES, "gold_changes": [], "calls": [{"call": 0, "changed": True}]},
                {"id": "b", "actual_changes": [], "replay_success": True, "method": "replay", "write_calls": []},
                {"id": "c", "error": "not replayed"},
                {"actual_changes": []},
            ),
            "sessions/a.json": conversation("a"),
            "sessions/b.traj.json": conversation("b"),
            "sessions/c.json": conversation("c"),
            "sessions/d.json": conversation("d"),
        },
    )
    by_answer = {str(trial.final_answer): trial for trial in told.trials}
    (own,) = by_answer["a"].recorded_changes
    assert (own.actual, own.gold, own.calls) == (CHANGES, [], [{"call": 0, "changed": True}])
    assert own.by == "endstate.jsonl"
    (other,) = by_answer["b"].recorded_changes
    # whatever else stands in the line, nobody reads it
    assert (other.actual, other.gold, other.calls, other.by) == ([], None, None, "endstate.jsonl")
    assert [by_answer[name].recorded_changes for name in "cd"] == [(), ()]
    assert all(trial.foreign_results == () and trial.end_states == () for trial in told.trials)
    assert told.imported.skipped == {"sessions without recorded changes": 1}
    assert [(each.path, each.line) for each in told.imported.rejected] == [("endstate.jsonl", 4)]


def test_recorded_changes_are_for_a_file_of_one_session(store: Store, tmp_path: Path) -> None:
    two = lines(conversation("a"), conversation("b"))
    told = tell_folder(store, tmp_path, {"endstate.jsonl": lines({"id": "x", "actual_changes": []}), "x.jsonl": two})
    assert [trial.recorded_changes for trial in told.trials] == [(), ()]
    assert told.imported.skipped == {"recorded changes of a file with several sessions": 2}


def test_a_task_is_attached_where_it_is_clear_which(store: Store, tmp_path: Path) -> None:
    def definition(task_id: str, goal: str) -> dict[str, object]:
        return {"id": task_id, "goal": goal}

    told = tell_folder(
        store,
        tmp_path,
        {
            "tasks/1.json": definition("1", "flat"),
            "tasks/shop/retail-2.json": definition("2", "retail"),
            "tasks/shop/airline-2.json": definition("2", "airline"),
            "tasks/other/3.json": definition("3", "of another folder"),
            "tasks/session.json": conversation("a session in a folder of this name"),
            "sessions/shop/a.json": conversation("1", task_id="1"),
            "sessions/shop/b.json": conversation("2", task_id="2", suite="airline"),
            "sessions/shop/c.json": conversation("2?", task_id="2"),
            "sessions/shop/d.json": conversation("3", task_id="3"),
        },
    )
    found = {str(trial.final_answer): trial.task_definition for trial in told.trials}
    assert found == {
        "1": definition("1", "flat"),
        "2": definition("2", "airline"),
        "2?": None,
        "3": None,
        "a session in a folder of this name": None,
    }
    assert told.imported.rejected == ()


def test_nothing_is_usable_where_nothing_is_whole(store: Store, tmp_path: Path) -> None:
    assert not tell(store, tmp_path / "a", b"\x00\x01").imported.usable
    assert not tell(store, tmp_path / "b", b'{"messages": [{"role": "user"}, {"ro').imported.usable
    empty = tell(store, tmp_path / "c", b'{"type":"summary","summary":"s","leafUuid":"u"}\n').imported
    assert (empty.usable, empty.spans) == (True, 1)


def test_progress_grows_to_the_size_of_all_files(store: Store, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(lines(*(conversation(f"{name}{n}") for n in range(50))))
    seen: list[tuple[int, int, str]] = []
    import_paths(store, [tmp_path], progress=lambda done, total, file: seen.append((done, total, file)))
    size = sum((tmp_path / name).stat().st_size for name in "ab")
    assert {total for _, total, _ in seen} == {size}
    assert (seen[-1], max(done for done, _, _ in seen)) == ((size, size, "b"), size)
    assert {file for _, _, file in seen} == {"a", "b"}


def test_a_file_of_many_sessions_takes_the_memory_of_a_few(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the sessions take no more memory, whether a line each or all in one array."""
    monkeypatch.setattr("spanproof_collector.pipeline.writer._BLOCK_BYTES", 512 * 1024)

    def peak(count: int, form: str) -> int:
        file = tmp_path / f"{count} {form}"
        filler = "x" * 40_000
        told = [conversation(f"{n} {filler}") for n in range(count)]
        file.write_bytes(lines(*told) if form == "lines" else json.dumps(told).encode())
        del told
        tracemalloc.start()
        import_paths(store, [file])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    for form in ("lines", "array"):
        peak(5, form)  # what is loaded once
        few, many = peak(40, form), peak(160, form)
        assert many < few * 1.3, (form, few, many)


def test_different_things_are_counted_once() -> None:
    numbers = random.Random(3).choices(range(5000), k=20_000)
    counted = Distinct()
    for first in range(0, len(numbers), 777):
        counted.update(("project", f"{n:032x}") for n in numbers[first : first + 777])
    assert len(counted) == len(set(numbers))


@pytest.mark.parametrize("spelling", ["BOM", "CRLF", "blank lines", "gzip"])
def test_spellings_of_lines_do_not_matter(store: Store, tmp_path: Path, spelling: str) -> None:
    plain = lines(conversation("a"), conversation("b"))
    spelled = {
        "BOM": b"\xef\xbb\xbf" + plain,
        "CRLF": plain.replace(b"\n", b"\r\n"),
        "blank lines": b"\n\n" + plain.replace(b"\n", b"\n\n"),
        "gzip": gzip.compress(plain),
    }[spelling]
    told = tell(store, tmp_path, spelled)
    assert (sorted(str(trial.final_answer) for trial in told.trials), told.imported.rejected) == (["a", "b"], ())


def test_a_gzip_that_is_cut_off_gives_what_was_unpacked_and_says_so(store: Store, tmp_path: Path) -> None:
    noise = random.Random(5)
    told_lines = lines(*(conversation(f"{n} {noise.getrandbits(4000)}") for n in range(50)))
    told = tell(store, tmp_path, gzip.compress(told_lines)[:20_000])
    assert 0 < len(told.trials) < 50
    assert any("gzip is cut off" in each.reason for each in told.imported.rejected)
