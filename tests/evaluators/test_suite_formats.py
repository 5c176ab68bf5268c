"""Tasks in the shapes of the founding texts: taken as they stand there, or refused with what was meant."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanproof_evaluators.cli import suite_schema
from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.harness.judging import Bench
from spanproof_evaluators.harness.worlds import Starts
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suite_formats import FORMATS
from spanproof_evaluators.model.suites import Suite, parse_suite, read_suite
from spanproof_evaluators.runner.python_suites import OpenSuite, Task, of_tasks, open_suite
from spanproof_evaluators.verifiers import AnswerCheck, CommandCheck, GitCheck, PythonCheck

POLISH: dict[str, Plain] = {
    "id": "Z7",
    "kategoria": "poprawna_odmowa",
    "pytanie": "When is invoice 17 due?",
    "oczekiwane": {
        "zawiera": ["2026-04-14"],
        "nie_zawiera": ["no idea"],
        "wymaga_cytatu": True,
        "zrodlo": "faktury/17.txt",
    },
    "trajektoria": {"max_krokow": 4, "wymagane_narzedzia": ["znajdz"], "zakazane_narzedzia": ["powloka"]},
    "przebiegow": 3,
}
ENGLISH: dict[str, Plain] = {
    "id": "Z7",
    "category": "poprawna_odmowa",
    "question": "When is invoice 17 due?",
    "expected": {
        "contains": ["2026-04-14"],
        "not_contains": ["no idea"],
        "citation_required": True,
        "source": "faktury/17.txt",
    },
    "trajectory": {"max_steps": 4, "required_tools": ["znajdz"], "forbidden_tools": ["powloka"]},
    "runs": 3,
}
REPO = """\
id: add-pages
repo_ref: 3f2c1ab
prompt: |
  Add pages.
check:
  - pytest tests/test_pages.py
  - mypy app/
limits:
  max_changed_files: 6
"""
FALL: dict[str, Plain] = {"id": "boka", "uppgift": "Boka.", "starttillstand": "f.py:bygg", "verifiera": "f.py:bokad"}
CASE: dict[str, Plain] = {"name": "make", "prompt": "Make output.txt.", "check": "f.py:there"}


def written(folder: Path, name: str, *items: Plain) -> Suite:
    file = folder / name
    file.write_text("\n".join(json.dumps(one) for one in items), encoding="utf-8")
    return read_suite(file)


@pytest.mark.parametrize("item", [POLISH, ENGLISH])
def test_a_golden_item_becomes_a_task_by_either_language_of_keys(item: dict[str, Plain], tmp_path: Path) -> None:
    (tmp_path / "faktury").mkdir()
    (tmp_path / "faktury" / "17.txt").write_text("The payment is due on 2026-04-14.", encoding="utf-8")
    (tmp_path / "testy").mkdir()
    suite = written(tmp_path / "testy", "zbior-zloty.jsonl", item, {**item, "id": "Z8"})
    task = suite.tasks[0]
    (check,) = task.checks
    assert isinstance(check, AnswerCheck)
    assert (suite.id, [one.id for one in suite.tasks]) == ("zbior-zloty", ["Z7", "Z8"])
    assert (task.category, task.runs, task.refusal) == ("poprawna_odmowa", 3, True)
    assert (task.prompt, task.source) == ("When is invoice 17 due?", "The payment is due on 2026-04-14.")
    assert (check.contains, check.not_contains) == (("2026-04-14",), ("no idea",))
    assert check.quote is not None
    assert (check.quote.source, suite.destinations["sources"].folder) == ("faktury/17.txt", "..")
    assert (task.expected_calls, task.limits.max_tool_calls) == (4, None)  # a detour fails nothing
    assert (task.required_tools, task.forbidden_tools) == (("znajdz",), ("powloka",))


def test_an_item_that_says_no_number_of_runs_is_run_once(tmp_path: Path) -> None:
    short = {key: value for key, value in POLISH.items() if key not in ("przebiegow", "trajektoria")}
    assert written(tmp_path, "z.jsonl", short).tasks[0].runs == 1


def test_a_task_in_a_repository_is_commands_and_limits_of_the_change(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "a.yaml").write_text(REPO, encoding="utf-8")
    (tmp_path / "evals" / "b.yaml").write_text(REPO.replace("add-pages", "other"), encoding="utf-8")
    suite = read_suite(tmp_path / "evals")
    first, second, change = suite.tasks[0].checks
    start = suite.tasks[0].start
    assert (suite.id, [one.id for one in suite.tasks]) == ("evals", ["add-pages", "other"])
    assert start is not None
    assert start.git is not None
    assert (start.git.repo, start.git.commit) == ("..", "3f2c1ab")
    assert isinstance(first, CommandCheck)
    assert isinstance(second, CommandCheck)
    assert isinstance(change, GitCheck)
    assert (first.run, second.run) == ("pytest tests/test_pages.py", "mypy app/")
    assert (change.base, change.max_changed_files) == ("3f2c1ab", 6)


def test_cases_written_down_name_their_functions(tmp_path: Path) -> None:
    suite = written(tmp_path, "cases.jsonl", FALL, CASE)
    (fall, case) = suite.tasks
    (check,) = case.checks
    assert fall.start is not None
    assert (fall.id, fall.prompt, fall.start.python) == ("boka", "Boka.", "f.py:bygg")
    assert isinstance(check, PythonCheck)
    assert (case.id, check.function, check.given) == ("make", "f.py:there", "folder")
    assert (case.limits.max_turns, case.limits.max_tokens) == (20, 50_000)


@pytest.mark.parametrize(
    ("item", "key", "meant"),
    [
        ({**POLISH, "trajektorja": {}}, "trajektorja", "Did you mean 'trajektoria'?"),
        ({**POLISH, "oczekiwane": {"zawierra": ["x"]}}, "oczekiwane.zawierra", "Did you mean 'zawiera'?"),
        ({**ENGLISH, "expected": {"contain": ["x"]}}, "expected.contain", "Did you mean 'contains'?"),
        ({**FALL, "verifera": "f.py:x"}, "verifera", "Did you mean 'verifiera'?"),
        ({**CASE, "max_turn": 3}, "max_turn", "Did you mean 'max_turns'?"),
        ({**CASE, "max_turns": "3"}, "max_turns", "valid integer"),
        (
            {"id": "a", "repo_ref": "3f2c1ab", "prompt": "p", "check": ["true"], "limits": {"max_changed_file": 1}},
            "limits.max_changed_file",
            "Did you mean 'max_changed_files'?",
        ),
        ({"id": "a", "repo_ref": "main", "prompt": "p", "check": ["true"]}, "repo_ref", "pattern"),
        ({**POLISH, "oczekiwane": {"wymaga_cytatu": True}}, "", "wymaga_cytatu is true and no zrodlo is named"),
        ({"id": "a", "prompt": "p", "check": [{"kind": "answer"}]}, "tasks.0.check", "Did you mean 'checks'?"),
        ({"id": "a", "prompt": "p", "fill_in": ["checks"]}, "tasks.0.fill_in", "is a draft. Write checks"),
    ],
)
def test_what_is_misspelled_is_refused_with_what_was_meant(item: dict[str, Plain], key: str, meant: str) -> None:
    with pytest.raises(SuiteError) as found:
        parse_suite(json.dumps([item]), name="x.json")
    assert found.value.key == key
    assert meant in found.value.why


def test_every_format_has_a_schema_that_refuses_unknown_keys() -> None:
    assert set(suite_schema.FORMATS) == FORMATS.keys()
    for name in ("suite", *FORMATS):
        result = CliRunner().invoke(cli, ["suite", "schema", "--of", name])
        told = json.loads(result.stdout)
        assert (told["additionalProperties"], told["$schema"][-14:]) == (False, "2020-12/schema")


def bench(opened: OpenSuite, folder: Path) -> Bench:
    suite = opened.suite
    base = suite.base or folder
    starts = Starts(suite=suite, base=base, folder=folder / "starts", builders=opened.starts)
    made = Bench(suite=suite, base=base, starts=starts, folder=folder / "judged", verifiers=opened.verifiers)
    made.seal()
    return made


def judged(
    opened: OpenSuite, folder: Path, files: dict[str, str], *, place: int = 0, answer: str | None = None
) -> Outcome:
    """Return the word on a world that has these files beside its start state."""
    task = opened.suite.tasks[place]
    made = bench(opened, folder)
    world = folder / f"world-{place}-{len(files)}"
    world.mkdir(parents=True)
    made.starts.copy(task, world)
    for name, text in files.items():
        (world / name).write_text(text, encoding="utf-8")
    return made.judge(task, world, answer=answer, values={}).outcome


PYTHON = """
from dataclasses import dataclass
from typing import Callable
from pathlib import Path
import os, tempfile

@dataclass
class EvalResult:
    passed: bool
    score: float
    details: str

@dataclass
class EvalCase:
    name: str
    prompt: str
    check: Callable
    max_turns: int = 20
    max_tokens: int = 50000

@dataclass
class AgentFall:
    id: str
    uppgift: str
    starttillstand: Callable
    verifiera: Callable

def there(workspace):
    if os.path.exists(os.path.join(workspace, "output.txt")):
        return EvalResult(True, 1.0, "File created")
    return EvalResult(False, 0.0, "File missing")

def bygg():
    folder = tempfile.mkdtemp()
    Path(folder, "kalender.txt").write_text("09:00 frukost")
    return folder

cases = [EvalCase("make", "Make output.txt.", there)]
fall = [AgentFall("boka", "Boka.", bygg, lambda world: "10:00" in Path(world, "kalender.txt").read_text())]
"""


def test_cases_of_python_are_told_by_their_fields_and_judged_in_worlds(tmp_path: Path) -> None:
    file = tmp_path / "cases.py"
    file.write_text(PYTHON, encoding="utf-8")
    opened = open_suite(file)
    assert [(task.id, task.limits.max_turns) for task in opened.suite.tasks] == [("make", 20), ("boka", None)]
    made = judged(opened, tmp_path / "a", {"output.txt": "x"})
    assert (made.state, made.effect_of_trial, made.score) == ("verified", "caused", 1.0)
    missing = judged(opened, tmp_path / "b", {})
    assert (missing.state, missing.reason) == ("failed", "there says so: File missing")
    booked = judged(opened, tmp_path / "c", {"kalender.txt": "10:00 möte"}, place=1)
    assert (booked.state, booked.effect_of_trial) == ("verified", "caused")
    assert judged(opened, tmp_path / "d", {}, place=1).effect_of_trial == "unchanged"
    before = opened.suite.hash
    file.write_text(PYTHON.replace("output.txt", "out.txt"), encoding="utf-8")
    assert open_suite(file).suite.hash != before  # the checks are part of what the suite is


def test_a_case_in_a_file_is_judged_by_the_function_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("from pathlib import Path\ndef there(w): return Path(w, 'output.txt').exists()\n")
    opened = OpenSuite(suite=written(tmp_path, "cases.jsonl", CASE))
    assert judged(opened, tmp_path / "a", {"output.txt": "x"}).effect_of_trial == "caused"
    assert judged(opened, tmp_path / "b", {}).effect_of_trial == "unchanged"


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_task_in_a_repository_is_judged_by_its_commands_and_its_limit(tmp_path: Path) -> None:
    repo = tmp_path / "shop"
    (repo / "evals").mkdir(parents=True)
    (repo / "pages.py").write_text("LIMIT = 10\n", encoding="utf-8")
    git(repo, "init", "-q")
    git(repo, "add", "pages.py")
    git(repo, "commit", "-qm", "one")
    text = REPO.replace("3f2c1ab", git(repo, "rev-parse", "HEAD")).replace(
        "pytest tests/test_pages.py", "grep -q 100 pages.py"
    )
    text = text.replace("  - mypy app/\n", "").replace("max_changed_files: 6", "max_changed_files: 1")
    (repo / "evals" / "add-pages.yaml").write_text(text, encoding="utf-8")
    opened = OpenSuite(suite=read_suite(repo / "evals" / "add-pages.yaml"))
    good = {"pages.py": "LIMIT = 100\n"}
    assert judged(opened, tmp_path / "a", good).effect_of_trial == "caused"
    assert judged(opened, tmp_path / "b", {}).effect_of_trial == "unchanged"
    wide = judged(opened, tmp_path / "c", {**good, "other.py": ""})
    assert wide.state == "failed"
    assert "at most 1 files changed" in wide.reason


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ('It says "payment is due on 2026-04-14".', "verified"),
        ("Due on 2026-04-14.", "failed"),  # nothing is quoted
        ('It says "payment was made on 2026-04-14".', "failed"),  # and this is not in the source
        ('I have no idea, "payment is due on 2026-04-14".', "failed"),
        (None, "failed"),
    ],
)
def test_an_answer_with_a_citation_is_held_against_the_source_beside_the_suite(
    answer: str | None, state: str, tmp_path: Path
) -> None:
    (tmp_path / "faktury").mkdir()
    (tmp_path / "faktury" / "17.txt").write_text("The payment is due on 2026-04-14.", encoding="utf-8")
    opened = OpenSuite(suite=written(tmp_path, "golden.jsonl", POLISH))
    found = judged(opened, tmp_path / "x", {"faktury-17.txt": "The payment was made on 2026-04-14."}, answer=answer)
    assert (found.state, found.pre_state) == (state, "failed")


def test_a_task_of_functions_has_start_state_and_verifiers(tmp_path: Path) -> None:
    def shop(world: Path) -> None:
        (world / "orders.csv").write_text("7,open", encoding="utf-8")

    def closed(world: Path) -> None:
        assert (world / "orders.csv").read_text(encoding="utf-8") == "7,closed"

    def broken(before: object, after: object) -> bool:
        raise OSError("the disk is full")

    def opened(*verifiers: object) -> OpenSuite:
        functions = [one for one in verifiers if callable(one)]
        task = Task("close", "Close 7.", start_state=shop, verifiers=functions, category="edit", runs=3)
        return of_tasks([task], suite_id="s", base=tmp_path)

    assert judged(opened(closed), tmp_path / "a", {"orders.csv": "7,closed"}).effect_of_trial == "caused"
    assert judged(opened(closed), tmp_path / "b", {}).state == "failed"
    gone = judged(opened(closed, broken), tmp_path / "c", {"orders.csv": "7,closed"})
    assert (gone.state, gone.reason) == ("unavailable", "python_raised")  # a verifier that broke judges nobody
    with pytest.raises(SuiteError, match="max_repeat"):
        Task("close", "Close 7.", max_repeat=1)


def test_a_start_state_that_is_no_folder_is_said_to_need_its_own_process(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("from types import SimpleNamespace as N\nfall = [N(id='a', uppgift='b', starttillstand=dict, ")
    with file.open("a") as more:
        more.write("verifiera=bool)]\n")
    made = bench(open_suite(file), tmp_path / "x")
    world = tmp_path / "w"
    world.mkdir()
    with pytest.raises(Exception, match="no path of a folder"):
        made.starts.copy(made.suite.tasks[0], world)
