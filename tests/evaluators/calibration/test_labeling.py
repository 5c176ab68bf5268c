"""Labeling: what raters are shown, what is kept of what they say, and how answers are drawn."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import LabelsError
from spanproof_evaluators.judges.rubrics import shipped
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.model.labels import Item, Rater, Sheet, read_labels, state_of
from spanproof_evaluators.model.rubrics import Answer, Rubric, parse_rubric
from spanproof_evaluators.runner.labeling import Candidate, LabelBook, draw
from tests.evaluators.calibration.graded import ADA, NOW
from tests.evaluators.calibration.known_items import RUBRIC

BO = Rater(kind="human", name="bo")


def begin(
    path: Path, count: int = 3, *, size: int | None = None, rubric: Rubric = RUBRIC, answer: str = "Answer {}."
) -> LabelBook:
    """Return a new file of labels on answers that were drawn of so many."""
    found = [
        Candidate(
            given=JudgeInput(task="Which?", criteria=asked(rubric), source="The source.", answer=answer.format(number)),
            trial_ids=(f"trial-{number}",),
            stratum=f"s{number % 3 and 1}",
        )
        for number in range(count)
    ]
    lines = draw(found, rubric, size=size, seed=1, by=None, described="", suite=None, at=NOW)
    return LabelBook.begin(path, lines)


class Terminal:
    """A program in a real pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spanproof_evaluators", *arguments], stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self._ready = select.poll()
        self._ready.register(self._master, select.POLLIN)
        self.screen = ""
        self._read = 0

    def until(self, text: str, seconds: float = 60) -> str:
        """Return what came up to a text, since the last time."""
        ends = time.monotonic() + seconds
        while text not in self.screen[self._read :]:
            left = ends - time.monotonic()
            assert self._ready.poll(max(left, 0) * 1000), (
                f"{text!r} did not come; there was {self.screen[self._read :]!r}"
            )
            try:
                self.screen += os.read(self._master, 65536).decode("utf-8", "replace")
            except OSError as error:  # the program ended
                raise AssertionError(f"{text!r} did not come; there was {self.screen[self._read :]!r}") from error
        end = self.screen.index(text, self._read) + len(text)
        found, self._read = self.screen[self._read : end], end
        return found

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._master, f"{text}\n".encode())

    def close(self) -> None:
        """Kill what still runs."""
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    """Give a program in a terminal."""
    made = Terminal(*arguments)
    try:
        yield made
    finally:
        made.close()


def test_people_label_in_a_terminal_take_back_skip_and_go_on_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with begin(path, answer="Answer {}.\x1b[2J\x1b]0;gone\x07"):
        pass
    items = list(read_labels(path).items)
    with terminal("judge", "label", str(path), "--rater", "ada") as shown:
        first = shown.until("q quit]")
        assert "Which?" in first
        assert "The source." in first
        assert RUBRIC.criteria[0].question in first
        assert "\\u001b[2J" in first  # an answer does not draw on the terminal
        assert "\x1b[2J" not in first
        shown.type("maybe")
        shown.until("q quit]")  # asked again
        shown.type("y")
        shown.until("=== 2 of 3 ===")
        shown.until("q quit]")
        shown.type("n")
        shown.until("=== 3 of 3 ===")
        shown.until("q quit]")
        shown.type("u")
        shown.until("taken back")
        shown.until("=== 2 of 3 ===")
        shown.until("q quit]")
        shown.type("?")
        shown.until("=== 3 of 3 ===")
        shown.until("q quit]")
        shown.process.send_signal(signal.SIGKILL)
        shown.process.wait()
    with path.open("a") as file:
        file.write('{"kind": "label", "input_ha')  # a kill in the middle of a write
    assert [read_labels(path).of(item)[0].state for item in items[:2]] == ["pass", "unsure"]
    with terminal("judge", "label", str(path), "--rater", "ada") as shown:
        shown.until("=== 3 of 3 ===")
        shown.until("q quit]")
        shown.type("s")
        shown.until("3 of 3 labeled by ada")
        assert shown.process.wait() == 0
    found = read_labels(path)
    assert [found.of(item)[0].state for item in items] == ["pass", "unsure", "skipped"]
    assert {one.rater.kind for one in found.standing.values()} == {"human"}
    assert len(found.left(BO)) == 3  # another rater begins at the beginning
    assert path.stat().st_mode & 0o077 == 0


def test_two_do_not_label_in_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with begin(path), pytest.raises(LabelsError, match="somebody is labeling in it"):
        LabelBook(path)
    with LabelBook(path):
        pass


GROUNDED: dict[str, Answer] = {
    "consistent": "yes",
    "complete": "yes",
    "quote_verbatim": "not_applicable",
    "fabricated": "no",
}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "pass"),
        ({"fabricated": "yes"}, "fail"),
        ({"complete": "partially"}, "fail"),
        ({"complete": "unsure"}, "unsure"),
        ({"complete": "unsure", "fabricated": "yes"}, "fail"),
        ({"complete": "unsure", "consistent": "partially"}, "unsure"),
    ],
)
def test_what_answers_of_a_person_come_to(changes: dict[str, Answer], state: str) -> None:
    assert state_of(shipped()["grounded"], GROUNDED | changes) == state


def test_nobody_is_called_human_who_did_not_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rows = tmp_path / "labels.jsonl", tmp_path / "rows.jsonl"
    with begin(path):
        pass
    rows.write_text('{"trial_id": "trial-0", "state": "pass"}\n')
    label = ("judge", "label", str(path), "--from", str(rows))
    assert main([*label, "--rater", "big-model"]) == 2
    assert "--rater-kind" in capsys.readouterr().err
    assert main([*label, "--rater", "big-model", "--rater-kind", "model", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["raters"] == [
        {"kind": "model", "name": "big-model", "pass": 1, "fail": 0, "unsure": 0, "skipped": 0, "left": 2}
    ]
    assert main([*label, "--rater", "big-model", "--rater-kind", "model"]) == 0  # the same again adds nothing
    assert path.read_text().count('"kind": "label"') == 1
    assert main(["judge", "label", str(path), "--rater", "ada"]) == 2
    assert "in a terminal" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "states"),
    [
        ("a.csv", "trial_id,supported,rater,rater_kind\ntrial-0,yes,ada,human\ntrial-1,no,ada,human\n", "pass fail"),
        ("a.csv", "\ufefftrial_id,state,rater,rater_kind\r\ntrial-1,unsure,ada,human\r\n", "unsure"),
        ("a.jsonl", '{"trial_id":"trial-0","answers":{"supported":"no"},"rater":"a","rater_kind":"human"}\n\n', "fail"),
        ("a.csv", "trial_id,supported,rater,rater_kind\ntrial-0,yes,ada,human\ntrial-1,perhaps,ada,human\n", None),
        ("a.csv", "trial_id,state,supported,rater,rater_kind\ntrial-0,fail,yes,ada,human\n", None),
        ("a.jsonl", '{"trial_id":"trial-9","state":"pass","rater":"a","rater_kind":"human"}\n', None),
        ("a.jsonl", '{"trial_id":"trial-1","state":"passed","rater":"a","rater_kind":"human"}\n', None),
        ("a.jsonl", '{"trial_id":"trial-1","state":"pass","rater":"a","rater_kind":"robot"}\n', None),
        ("a.jsonl", "not JSON\n", None),
    ],
)
def test_labels_of_a_file_are_all_taken_or_none(tmp_path: Path, name: str, text: str, states: str | None) -> None:
    path, rows = tmp_path / "labels.jsonl", tmp_path / name
    with begin(path):
        pass
    before = path.read_bytes()
    rows.write_text(text, newline="")
    code = main(["judge", "label", str(path), "--from", str(rows)])
    if states is None:
        assert (code, path.read_bytes()) == (2, before)
        return
    assert code == 0
    assert [one.state for one in read_labels(path).standing.values()] == states.split()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Answer 1.", "Answer 7."),
        (RUBRIC.criteria[0].question, "Is it?"),
        ('"state": "fail"', '"state": "pass"'),
        ('"kind": "label"', '"kind": "labels"'),
    ],
)
def test_a_file_of_labels_that_was_changed_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "labels.jsonl"
    with begin(path) as book:
        book.label(next(iter(book.labels.items.values())), ADA, {"supported": "no"}, "fail")
    read_labels(path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(LabelsError):
        read_labels(path)


def _drawn(count: int, size: int, *, seed: int = 1, by: str | None = None) -> tuple[Sheet, list[Item]]:
    found = [
        Candidate(
            given=JudgeInput(task="t", criteria=asked(RUBRIC), source="s", answer=str(number)),
            stratum="many" if by and number % 4 else "few" if by else "",
        )
        for number in range(count)
    ]
    sheet, *items = draw(
        found, RUBRIC, size=size, seed=seed, by="variant" if by else None, described="", suite=None, at=NOW
    )
    assert isinstance(sheet, Sheet)
    return sheet, [one for one in items if isinstance(one, Item)]


def test_answers_are_drawn_by_a_seed_each_with_the_same_chance() -> None:
    sheet, items = _drawn(200, 50)
    assert (sheet.sampling.method, sheet.population.size) == ("random", 200)
    assert {one.probability for one in items} == {0.25}
    assert items == _drawn(200, 50)[1]
    assert _drawn(200, 200)[0].sampling.method == "all"
    drawn = Counter(one.answer for seed in range(160) for one in _drawn(8, 2, seed=seed)[1])
    # each of eight is drawn in a quarter of 160 draws: 40, give or take five standard deviations of 5.5
    assert len(drawn) == 8
    assert all(abs(count - 40) < 5 * (160 * 0.25 * 0.75) ** 0.5 for count in drawn.values())


def test_strata_are_drawn_from_in_proportion() -> None:
    sheet, items = _drawn(100, 10, by="variant")
    assert sheet.sampling.method == "stratified"
    assert Counter(one.stratum for one in items) == {"many": 7, "few": 3}
    assert {one.stratum: one.probability for one in items} == {
        "many": pytest.approx(7 / 75),
        "few": pytest.approx(3 / 25),
    }


def test_labels_go_with_the_questions_that_were_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "labels.jsonl"
    with begin(path):
        pass
    other = RUBRIC.model_dump(mode="json")
    other["criteria"][0]["question"] = "Another question?"
    (tmp_path / "other.json").write_text(json.dumps(other))
    assert parse_rubric(json.dumps(other), name="other").hash != RUBRIC.hash
    assert main(["judge", "label", str(path), "--rubric", str(tmp_path / "other.json"), "--json"]) == 2
    assert "another version of a rubric" in capsys.readouterr().err
