"""The journal: kill the run wherever it writes and start again; no verdict is paid twice, and none is lost."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.cassettes import judges_of, read_cassette, replay
from spanproof_evaluators.judges.journal import Attempt, Journal, Recorded
from spanproof_evaluators.judges.prompt import HASH
from spanproof_evaluators.model.judgements import JudgeUsage
from tests.evaluators.judges.asked import GROUNDED, KILLED_AT, judge, run, work
from tests.evaluators.judges.model_server import Answer, ModelServer, Seen, says, serving

Runner = Callable[..., int]
ANSWERS = ["first answer", "second answer"]


@pytest.fixture(scope="module")
def start() -> Iterator[Runner]:
    """Return a function that runs judges in a process of their own, killed where it is told; it gives the exit code."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.evaluators.judges.killed_run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        stdin, stdout = program.stdin, program.stdout

        def runner(journal: Path, server: ModelServer, *, number: int = 0, how: str = "", jobs: int = 1) -> int:
            told = {"journal": str(journal), "url": server.url, "number": number, "how": how, "jobs": jobs}
            stdin.write(json.dumps(told | {"answers": ANSWERS}) + "\n")
            stdin.flush()
            return int(stdout.readline())

        yield runner
        stdin.close()


@pytest.mark.parametrize(("how", "jobs"), [*((how, 1) for how in KILLED_AT), ("torn", 2)])
def test_a_run_that_is_killed_at_any_write_goes_on_where_it_was(
    how: str, jobs: int, start: Runner, tmp_path: Path
) -> None:
    with serving() as server:
        for number in (1, 2, 3):  # the first intent, and then what an intent and a verdict have before them
            journal = tmp_path / f"{number}.jsonl"
            server.seen.clear()
            assert start(journal, server, number=number, how=how, jobs=jobs) == -9
            kept = {one.input_hash for one in Recorded(journal).verdicts()}
            before = len(server.seen)
            assert start(journal, server, jobs=jobs) == 0
            found = {one.input_hash: one for one in Recorded(journal).verdicts()}
            wanted = {answer: work(answer).given.hash for answer in ANSWERS}
            assert {found[wanted[answer]].state for answer in ANSWERS} == {"pass"}
            requests = Counter(answer for seen in server.seen for answer in ANSWERS if answer in seen.user)
            later = Counter(answer for seen in server.seen[before:] for answer in ANSWERS if answer in seen.user)
            for answer, input_hash in wanted.items():
                if input_hash in kept:
                    assert (requests[answer], later[answer]) == (1, 0)  # paid once
                keys = {seen.headers["idempotency-key"] for seen in server.seen if answer in seen.user}
                assert len(keys) == 1  # a provider that knows such keys bills what was under way once, too
                assert requests[answer] <= 2


def test_a_request_under_way_is_known_and_sent_again(start: Runner, tmp_path: Path) -> None:
    journal = tmp_path / "j"
    with serving() as server:
        start(journal, server, number=2, how="before")  # answered, and killed before the verdict was written
        assert Recorded(journal).unanswered() == 1
        start(journal, server)
        assert Recorded(journal).unanswered() == 0


def test_what_was_answered_before_a_kill_is_counted_after_it(tmp_path: Path) -> None:
    wanted = work("a")
    with Journal(tmp_path / "j") as journal:
        number, _ = journal.announce(wanted.key, wanted.given)
        usage = JudgeUsage(input_tokens=1000, output_tokens=1)
        journal.failed(wanted.key, Attempt(number=number, failed="malformed", usage=usage), "no JSON")
    with serving() as server:
        (verdict,) = run([wanted], tmp_path / "j", server.url).verdicts.values()
    assert (verdict.attempts, verdict.usage.input_tokens, verdict.usage.output_tokens) == (2, 1100, 21)


def test_what_a_kill_cut_off_is_no_line(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    with serving() as server:
        run([work("a")], journal, server.url)
        whole = journal.read_bytes()
        journal.write_bytes(whole + b'{"kind": "verdict", "judge_')
        assert len(list(Recorded(journal).verdicts())) == 1
        run([work("a")], journal, server.url)
        assert (len(server.seen), journal.read_bytes()) == (1, whole)


def test_a_line_in_the_middle_that_is_none_is_named(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    with serving() as server:
        run([work("a")], journal, server.url)
    lines = journal.read_text().splitlines(keepends=True)
    for wrong in (
        "no JSON\n",
        "[]\n",
        '{"kind": "verdict"}\n',
        '{"kind": "other", "judge_hash": "", "input_hash": ""}\n',
    ):
        journal.write_text("".join([lines[0], wrong, *lines[1:]]))
        with pytest.raises(JudgeSetupError, match="line 2"):
            Journal(journal)


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(JudgeSetupError, match="another run"):
        Journal(tmp_path / "j")
    Journal(tmp_path / "j").close()


def test_what_judges_saw_is_in_the_journal_once_and_hashes_to_what_they_judged(tmp_path: Path) -> None:
    works = [work("a"), work("\ud800 b"), work("a", judge("mistral-judge"))]
    with serving() as server:
        run(works, tmp_path / "j", server.url)
    found = Recorded(tmp_path / "j")
    assert [one.answer for one in found.inputs()] == ["a", "\ud800 b"]
    assert {one.hash for one in found.inputs()} == {one.input_hash for one in found.verdicts()}
    assert (tmp_path / "j").stat().st_mode & 0o077 == 0


def test_a_verdict_is_never_replaced_by_none(tmp_path: Path) -> None:
    with serving() as server:
        run([work("a")], tmp_path / "j", server.url)
    with Journal(tmp_path / "j") as journal:
        verdict = next(journal.verdicts())
        journal.judged(replace(verdict, state="unavailable", reason="malformed", criteria=()))
        assert journal.verdict(verdict.key) == verdict
    assert list(Recorded(tmp_path / "j").verdicts()) == [verdict]


def test_a_cassette_replays_offline_and_what_it_lacks_is_unavailable(tmp_path: Path) -> None:
    def script(number: int, seen: Seen) -> Answer:
        return says(seen, fabricated="yes")

    with serving(script) as server:
        run([work("a")], tmp_path / "j", server.url)
    cassette = read_cassette(tmp_path / "j")
    assert judges_of(cassette, GROUNDED, HASH) == [judge()]
    found = replay([work("a"), work("b")], cassette)
    assert [(one.state, one.reason) for one in found.verdicts.values()] == [
        ("fail", "criterion_failed"),
        ("unavailable", "not_in_cassette"),
    ]
    with pytest.raises(JudgeSetupError, match="grounded by openai:qwen-judge"):
        judges_of(cassette, GROUNDED, "another prompt")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('"state":"fail"', '"state":"pass"'),
        ('"answer":"yes","criterion":"fabricated"', '"answer":"no","criterion":"fabricated"'),
        ('"seed":1', '"seed":2'),
    ],
)
def test_a_cassette_that_was_changed_by_hand_is_refused(was: str, becomes: str, tmp_path: Path) -> None:
    wanted = work("a", judge(seed=1))
    with serving(lambda number, seen: says(seen, fabricated="yes")) as server:
        run([wanted], tmp_path / "j", server.url)
    text = (tmp_path / "j").read_text()
    assert was in text
    (tmp_path / "j").write_text(text.replace(was, becomes))
    with pytest.raises(JudgeSetupError):
        replay([wanted], read_cassette(tmp_path / "j"))
