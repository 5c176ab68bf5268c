"""A run of a suite whose tasks each try one promise of the harness, with agents that keep to nothing."""

import os
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from spanproof_evaluators.harness import Options, RunResult, run_suite
from spanproof_evaluators.harness.isolation import namespaces_work
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import Plain
from tests.collector_process import Collecting

MARKER = "the-answer-is-4711"
SECRET = "sk-not-for-agents"

AGENT = r"""
case "$SPANPROOF_TASK" in
  plain)     cat > out.txt; echo "$HOME $TMPDIR $PWD" > places.txt; env > env.txt; echo "I wrote it." ;;
  repo)      git log --all --oneline | wc -l > log.txt; echo fixed > code.txt ;;
  rows)      python3 -S -c "import sqlite3
with sqlite3.connect('shop.db') as shop: shop.execute('insert into refunds values (7)')" ;;
  search)    echo 42 > answer.txt
             cd "${TMPDIR%/*/tmp}"
             grep -rls the-answer-is . "$SUITE_FOLDER" "$STORE_FOLDER" /proc/[0-9]*/cwd/ \
               > "$SPANPROOF_WORLD/found.txt" || true ;;
  hooks)     echo 'import os; os._exit(0)' > conftest.py ;;
  protected) echo 'exit 0' > check.sh ;;
  slow)      echo right > out.txt; sleep 60 ;;
  loud)      echo right > out.txt; yes ;;
  many)      echo right > out.txt; for i in 1 2 3 4 5 6; do sleep 60 & done; wait ;;
  large)     echo right > out.txt; head -c 300000 /dev/zero > a; head -c 300000 /dev/zero > b; sleep 60 ;;
  strays)    echo right > out.txt
             setsid sh -c 'trap "" TERM; sleep 1; echo late >> "$SPANPROOF_WORLD/out.txt"; sleep 66.6' & ;;
  destroys)  rm shop.db ;;
  crashes)   echo right > out.txt; exit 3 ;;
  beside)    until test -f from-user.txt; do sleep 0.02; done; cat from-user.txt > out.txt; touch ready.txt
             until test -f closed.txt; do sleep 0.02; done ;;
  *)         true ;;
esac
"""


def write_suite(folder: Path) -> Path:
    """Write a suite and all that it begins with; return its file."""
    (folder / "start").mkdir(parents=True)
    (folder / "start" / "state.txt").write_text("open\n")
    (folder / "start" / "check.sh").write_text("exit 1\n")
    (folder / "hidden").mkdir()
    (folder / "hidden" / "judge.sh").write_text(f'# {MARKER}\ntest "$(cat answer.txt)" = 42\n')
    git = ["git", "-C", str(folder / "repo"), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    (folder / "repo").mkdir()
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    commits = []
    for text in ("broken", "the fix that comes later"):
        (folder / "repo" / "code.txt").write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", text], check=True)
        commits.append(
            subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        )
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("CREATE TABLE refunds (id INTEGER)")
    right = [{"kind": "files", "destination": "world", "glob": "out.txt", "equals": "right\n"}]
    start: Plain = {"folder": "start"}

    def task(name: str, **more: object) -> dict[str, object]:
        return {"id": name, "category": "c", "prompt": f"do {name}", "start": start, "checks": right, **more}

    tasks = [
        task("plain", checks=[{"kind": "files", "glob": "out.txt", "equals": "do plain"}]),
        task(
            "repo",
            start={"git": {"repo": "repo", "commit": commits[0]}},
            checks=[
                {
                    "kind": "git",
                    "destination": "world",
                    "base": commits[0],
                    "changed": ["code.txt"],
                    "head": commits[0],
                },
                {"kind": "files", "destination": "world", "glob": "log.txt", "equals": "1\n"},
            ],
        ),
        task(
            "rows",
            start={"sqlite": "shop.db"},
            checks=[
                {"kind": "sql", "destination": "database", "query": "select id from refunds", "rows": [{"id": 7}]},
                {"kind": "rows", "table": "refunds", "exactly": 1},
            ],
        ),
        task(
            "search",
            hidden={"folder": "hidden"},
            checks=[{"kind": "command", "destination": "world", "run": "sh judge.sh"}],
        ),
        task("hooks", hidden={"files": {"tests/test_a.py": MARKER}}, checks=[{"kind": "files", "glob": "state.txt"}]),
        task(
            "protected",
            protected=["check.sh"],
            checks=[{"kind": "command", "destination": "world", "run": "sh check.sh"}],
        ),
        task("slow", limits={"max_seconds": 0.5}),
        task("loud", limits={"max_output_bytes": 1000}),
        task("many", limits={"max_processes": 4}),
        task("large", limits={"max_disk_bytes": 400_000}),
        task("strays"),
        task("crashes"),
        task(
            "beside",
            user={"run": "echo right > from-user.txt; sleep 60"},
            changes=[
                {"after": {"file_appears": "ready.txt"}, "run": "touch closed.txt", "by": "user", "name": "close"}
            ],
        ),
        task(
            "destroys",
            start={"sqlite": "shop.db"},
            checks=[{"kind": "sql", "destination": "database", "query": "select id from refunds", "exactly": 1}],
        ),
        task("unasked", checks=[]),
        task("unbuildable", start={"folder": "nowhere"}),
        task("unjudgeable", checks=[{"kind": "command", "destination": "world", "run": "no-such-program"}]),
    ]
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump({"id": "promises", "tasks": tasks}))
    return file


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run, and the worlds that it left."""

    result: RunResult
    kept: Path

    def trial(self, task: str) -> Assessment:
        """Return the last try at a task."""
        assert self.result.report is not None
        return next(one for one in reversed(self.result.report.assessments) if one.trial.task_id == task)

    def text(self, task: str, name: str) -> str:
        """Return what a file of a task's world holds."""
        (world,) = [one for one in self.kept.iterdir() if f".{task}." in one.name]
        return (world / name).read_text()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, server: Collecting) -> Ran:
    folder = tmp_path_factory.mktemp("promises")
    file = write_suite(folder / "suite")
    (folder / "agent.sh").write_text(AGENT)
    os.environ |= {
        "OPENAI_API_KEY": SECRET,
        "SUITE_FOLDER": str(folder / "suite"),
        "STORE_FOLDER": server.store.removeprefix("chdb://"),
    }
    try:
        result = run_suite(
            file,
            f"sh {folder / 'agent.sh'}",
            options=Options(
                attempts=1, jobs=4, retries=1, named=("SUITE_FOLDER", "STORE_FOLDER"), keep=folder / "kept", variant="v"
            ),
            store=server.store,
            runs=folder / "runs",
        )
    finally:
        for name in ("OPENAI_API_KEY", "SUITE_FOLDER", "STORE_FOLDER"):
            del os.environ[name]
    return Ran(result=result, kept=folder / "kept")


def state(one: Assessment) -> tuple[str, str | None, bool | None]:
    """What is known: of agents that nobody recorded, not that they did nothing twice, so not that they are solved."""
    return one.outcome.state, one.outcome.effect_of_trial, one.solved


@pytest.mark.parametrize("task", ["plain", "repo", "rows", "search"])
def test_what_an_agent_brought_about_in_its_world_is_verified(ran: Ran, task: str) -> None:
    assert state(ran.trial(task)) == ("verified", "caused", None), ran.trial(task).solved_reason


def test_an_agent_gets_its_prompt_a_home_of_its_own_and_no_secret(ran: Ran) -> None:
    home, temporary, world = ran.text("plain", "places.txt").split()
    assert len({home, temporary, world}) == 3
    assert Path(home).parent == Path(world).parent
    environment = ran.text("plain", "env.txt")
    assert SECRET not in environment
    assert "SPANPROOF_TASK=plain\n" in environment


def test_every_trial_carries_its_labels_and_says_how_the_agent_was_shut_in(ran: Ran) -> None:
    for one in ran.result.report.assessments if ran.result.report else ():
        trial = one.trial
        assert (trial.suite, trial.variant, trial.attempt) == ("promises", "v", 0)
        assert trial.labels["suite_run"] == ran.result.run
        assert trial.labels["isolation"] == ("namespace" if namespaces_work() else "process")


def test_what_an_agent_prints_is_its_answer_where_nothing_else_tells_of_it(ran: Ran) -> None:
    assert ran.trial("plain").trial.final_answer == "I wrote it."


@pytest.mark.skipif(not namespaces_work(), reason="the system gives no namespaces")
def test_an_agent_that_searches_for_hidden_checks_finds_none(ran: Ran) -> None:
    assert ran.text("search", "found.txt") == ""


@pytest.mark.parametrize(("task", "seen"), [("hooks", "conftest.py"), ("protected", "check.sh")])
def test_tampering_fails_a_trial_whatever_its_checks_say(ran: Ran, task: str, seen: str) -> None:
    one = ran.trial(task)
    assert (one.outcome.state, one.solved) == ("failed", False)
    assert one.outcome.details["tampering"] == [f"changed: {seen}"]


@pytest.mark.parametrize("task", ["slow", "loud", "many", "large"])
def test_an_agent_that_exhausts_its_budget_is_aborted_and_unsolved_though_all_is_as_it_should_be(
    ran: Ran, task: str
) -> None:
    one = ran.trial(task)
    assert (one.trial.status, one.trial.status_reason) == ("aborted", "budget_exhausted")
    assert (one.outcome.state, one.solved, one.aborted) == ("verified", False, True)


def test_nothing_that_an_agent_started_outlives_it(ran: Ran) -> None:
    assert state(ran.trial("strays")) == ("verified", "caused", None)
    assert ran.text("strays", "out.txt") == "right\n"
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x0066.6" in _read(path)]
    assert not left


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_an_agent_that_ends_with_an_error_did_not_finish(ran: Ran) -> None:
    one = ran.trial("crashes")
    assert (one.trial.status, one.trial.status_reason, one.solved) == ("error", "exit_code_3", False)


def test_a_user_works_in_the_world_too_and_what_it_does_is_its_own(ran: Ran) -> None:
    one = ran.trial("beside")
    assert state(one) == ("verified", "caused", None), one.solved_reason
    assert [call.name for call in one.trial.user_calls] == ["close"]
    assert not one.trial.tool_calls


def test_an_agent_that_destroys_what_is_judged_has_failed(ran: Ran) -> None:
    one = ran.trial("destroys")
    assert (one.outcome.state, one.left_out) == ("failed", None)
    assert "cannot be now" in one.outcome.reason


def test_a_task_that_nothing_is_asked_of_has_no_verdict_and_is_no_broken_infrastructure(ran: Ran) -> None:
    one = ran.trial("unasked")
    assert (one.outcome.state, one.outcome.reason, one.left_out) == ("unavailable", "no_verifier", None)
    assert ("unasked", 0) not in ran.result.missing


@pytest.mark.parametrize("task", ["unbuildable", "unjudgeable"])
def test_what_the_infrastructure_broke_is_no_attempt_and_counted(ran: Ran, task: str) -> None:
    one = ran.trial(task)
    assert (one.outcome.state, one.left_out, one.solved) == ("unavailable", "infrastructure", None)
    assert (task, 0) in ran.result.missing
    tries = [
        other for other in (ran.result.report.assessments if ran.result.report else ()) if other.trial.task_id == task
    ]
    assert len(tries) == (2 if task == "unbuildable" else 1)
