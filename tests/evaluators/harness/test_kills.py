"""Whoever is killed while a suite runs, no verdict is wrong: there is none, and going on brings it.

Six kills in an order and at moments that the seed decides: four of an agent, one of the runner, one of the collector.
More seeds: ``SPANPROOF_KILL_SEEDS=20 pytest tests/evaluators/harness/test_kills.py``.
"""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from spanproof_collector.store.holding import find_serving

SEEDS: Final = range(int(os.environ.get("SPANPROOF_KILL_SEEDS", "1")))
KILLS: Final = ["agent", "agent", "agent", "agent", "runner", "collector"]
SECONDS: Final = 60.0

FORKING = """
import os, sys
import spanproof_evaluators.cli.suite_run, spanproof_evaluators.harness.running, spanproof_evaluators.reports.machine
import spanproof_evaluators.reports.terminal
from spanproof_evaluators.__main__ import main

for line in sys.stdin:
    out, *arguments = line.rstrip("\\n").split("\\t")
    if (pid := os.fork()) == 0:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open(out + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = main(arguments)
        sys.stdout.flush()
        os._exit(code)
    print(pid, flush=True)
    _, status = os.waitpid(pid, 0)
    print(status, flush=True)
"""
"""Runners without their imports: one process that has them, and forks."""

AGENT = """
case "$SPANPROOF_TASK" in
  *right*) cp wanted.txt made.txt ;;
  *wrong*) echo something else > made.txt ;;
esac
sleep 0.2
"""
RIGHT: Final = {
    **dict.fromkeys(("right-1", "right-2"), "verified"),
    **dict.fromkeys(("wrong-1", "wrong-2"), "failed"),
}
ATTEMPTS: Final = 1


class Runner:
    """A suite that runs, goes on, and is killed."""

    def __init__(self, folder: Path, forking: "subprocess.Popen[str]") -> None:
        self.folder, self.forking = folder, forking
        self.pid = 0

    def begin(self, *more: str) -> None:
        """Start the runner, or go on."""
        out = str(self.folder / "out.json")
        agent = f"sh {self.folder / 'agent.sh'}"
        words = [
            "suite",
            "run",
            str(self.folder / "suite.yaml"),
            "--agent",
            agent,
            "-n",
            str(ATTEMPTS),
            "-j",
            "2",
            "--json",
        ]
        words += ["--store", f"chdb://{self.folder / 'store'}", "--retries", "3", *more]
        assert self.forking.stdin is not None
        assert self.forking.stdout is not None
        self.forking.stdin.write("\t".join([out, *words]) + "\n")
        self.forking.stdin.flush()
        self.pid = int(self.forking.stdout.readline())

    def over(self) -> bool:
        """Return whether it ended by itself: with every verdict, or where all tries of an attempt were killed."""
        assert self.forking.stdout is not None
        said = select.poll()
        said.register(self.forking.stdout, select.POLLIN)
        return bool(said.poll(0))

    def ended(self) -> int:
        """Wait until it ends, and return how."""
        assert self.forking.stdout is not None
        self.pid = 0
        return int(self.forking.stdout.readline())

    def lines(self) -> list[dict[str, object]]:
        """Return the whole lines of the journal."""
        found = list((self.folder / ".spanproof-runs").glob("*/journal.jsonl"))
        text = found[0].read_text() if found else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def verdicts(self) -> dict[str, str]:
        """Return the verdicts that the journal holds, by trial."""
        return {str(one["verdict"]): json.dumps(one["outcome"]) for one in self.lines() if "verdict" in one}

    def whole(self) -> bool:
        """Return whether every attempt has one."""
        return len(self.verdicts()) == ATTEMPTS * len(RIGHT)

    def kill(self, victim: str) -> None:
        """Kill somebody."""
        if victim == "runner":
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            return
        look = self.an_agent if victim == "agent" else self.collector
        pid = until(lambda: 0 if self.over() else look())
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def an_agent(self) -> int | None:
        """Return an agent of this run that lives."""
        mark = f"SPANPROOF_WORLD={self.folder / 'tmp'}/".encode()
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (place / "cmdline").read_bytes()
                if command.startswith(b"sh\0") and mark in (place / "environ").read_bytes():
                    return int(place.name)
        return None

    def collector(self) -> int | None:
        """Return the collector of this run."""
        serving = find_serving(self.folder / "store")
        return serving.pid if serving is not None and Path(f"/proc/{serving.pid}").exists() else None


def until(found: Callable[[], int | None]) -> int:
    """Wait until something is there."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if (one := found()) is not None:
            return one
        time.sleep(0.02)
    raise TimeoutError(f"{found} found nothing")


@contextmanager
def running(folder: Path) -> Iterator[Runner]:
    """Give a suite that can be run in a folder."""
    (folder / "start").mkdir()
    (folder / "tmp").mkdir()
    (folder / "start" / "wanted.txt").write_text("what is wanted")
    (folder / "agent.sh").write_text(AGENT)
    check = {"kind": "files", "destination": "world", "glob": "made.txt", "equals": "what is wanted"}
    tasks = [{"id": name, "prompt": "make it", "start": {"folder": "start"}, "checks": [check]} for name in RIGHT]
    (folder / "suite.yaml").write_text(yaml.safe_dump({"id": "kills", "tasks": tasks}))
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with subprocess.Popen(
        [sys.executable, "-c", FORKING],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forking:
        runner = Runner(folder, forking)
        try:
            yield runner
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(runner.pid or forking.pid, signal.SIGKILL)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_kill_yields_a_wrong_verdict_and_going_on_completes_the_set(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    kills = chance.sample(KILLS, len(KILLS))
    with running(tmp_path) as runner:
        runner.begin()
        seen = 1
        for victim in kills:
            wanted = seen + chance.randint(1, 2)
            until(lambda at=wanted: 1 if len(runner.lines()) >= at or runner.over() else None)  # type: ignore[misc]
            if runner.over():
                runner.ended()
                if runner.whole():
                    break
                runner.begin("--resume")
            time.sleep(chance.random() * 0.3)  # the moment is what is tried here
            before = runner.verdicts()
            runner.kill(victim)
            if victim == "runner":
                runner.ended()
                runner.begin("--resume")
            seen = len(runner.lines())
            assert before.items() <= runner.verdicts().items()
        if runner.pid:
            runner.ended()
        for _ in range(3):
            if not runner.whole():
                runner.begin("--resume")
                runner.ended()
        told = json.loads((tmp_path / "out.json").read_text())
    assert not list((tmp_path / "tmp").glob("spanproof-run-*"))
    judged: Counter[tuple[object, object]] = Counter()
    for one in runner.lines():
        if "verdict" in one:
            judged[one["task"], one["attempt"]] += 1
            assert one["outcome"]["state"] == RIGHT[str(one["task"])], one  # type: ignore[index]
    assert judged == {(task, attempt): 1 for task in RIGHT for attempt in range(ATTEMPTS)}
    assert told["missing"] == []
    verdicts = {one["trial_id"]: one["outcome"]["state"] for one in told["report"]["trials"]}
    assert Counter(verdicts.values())["verified"] == 2
    assert Counter(verdicts.values())["failed"] == 2
