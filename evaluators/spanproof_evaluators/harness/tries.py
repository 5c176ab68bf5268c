"""The tries of a run: each attempt until it has a verdict, some at a time, and all verdicts into the store."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final

from spanproof_collector.model.filters import Filter
from spanproof_evaluators.harness.attempts import BrokenError, InterruptedRunError, Surroundings, Tried, Try
from spanproof_evaluators.harness.journal import Journal
from spanproof_evaluators.harness.options import ATTEMPTS, Options, Progress, RunResult
from spanproof_evaluators.harness.telling import Telling
from spanproof_evaluators.harness.verdicts import RunVerdicts
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.runner import assess, evaluate, report
from spanproof_evaluators.runner.judging import RUN_LABEL
from spanproof_instrumentation import semconv

_PAUSE: Final = 0.2


@dataclass(kw_only=True)
class Tries:
    """Every attempt of a run."""

    around: Surroundings
    journal: Journal
    options: Options
    tasks: Sequence[Task]
    told: Callable[[Progress], None]
    say: Callable[[str], None]
    _done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def wanted(self) -> list[tuple[Task, int]]:
        """Every attempt: first the first of each task, then the second ones."""
        each = {task.id: self.options.attempts or task.runs or ATTEMPTS for task in self.tasks}
        most = max(each.values(), default=0)
        return [(task, attempt) for attempt in range(most) for task in self.tasks if attempt < each[task.id]]

    @property
    def open(self) -> list[tuple[Task, int]]:
        """The attempts that have no verdict."""
        verdicts = self.journal.known.verdicts
        return [one for one in self.wanted if (one[0].id, one[1]) not in verdicts]

    def close_abandoned(self) -> None:
        """Tell of the tries that an earlier process left behind that nobody will finish them."""
        for trial, (task, attempt) in list(self.journal.known.open.items()):
            self._tell_broken(trial, task, attempt, "the runner died")

    def all(self) -> None:
        """Try every attempt that has no verdict, some at a time."""
        left = self.open
        self._done = len(self.wanted) - len(left)
        waiting = iter(left)
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(self.options.jobs, thread_name_prefix="spanproof-try") as pool:
            while True:
                while len(running) < self.options.jobs and not self.around.abort.is_set():
                    following = next(waiting, None)
                    if following is None:
                        break
                    running.add(pool.submit(self._attempt, *following))
                if not running:
                    return
                ended, running = wait(running, timeout=_PAUSE, return_when=FIRST_COMPLETED)
                try:
                    for one in ended:
                        one.result()
                except BaseException:
                    self.around.abort.set()
                    raise

    def result(self, *, interrupted: bool) -> RunResult:
        """Write every verdict into the store, and report."""
        verdicts = self.journal.known.verdicts
        missing = tuple((task.id, attempt) for task, attempt in self.open)
        made: Report | None = None
        self.around.collecting.revive()
        ids = (*(trial for trial, _ in verdicts.values()), *self.journal.known.broken)
        if ids:
            known = RunVerdicts(
                suite=self.around.suite, verdicts=dict(verdicts.values()), broken=self.journal.known.broken
            )
            wanted = Filter(trials=ids)
            with self.around.collecting.opened() as store:
                for _ in evaluate(store, wanted, self.around.suite, sources=(known,)):
                    pass
                found = list(assess(store, wanted, self.around.suite))
            described = f"run {self.journal.header.run} of suite {self.around.suite.id}"
            made = report(found, self.around.suite, described=described) if found else None
        return RunResult(
            run=self.journal.header.run,
            folder=self.journal.folder,
            store=self.around.collecting.address,
            report=made,
            verdicts=len(verdicts),
            missing=missing,
            interrupted=interrupted,
        )

    def _attempt(self, task: Task, attempt: int) -> None:
        """Try one attempt until it has a verdict, or as often as it may be tried."""
        for left in range(self.options.retries, -1, -1):
            if self.around.abort.is_set():
                return
            number = self.journal.known.tries[task.id, attempt]
            trial = f"{self.around.run}.{self.options.variant}.{task.id}.{attempt}" + (f".r{number}" if number else "")
            self.journal.began(trial, task.id, attempt)
            tried = Try(
                around=self.around,
                task=task,
                attempt=attempt,
                trial_id=trial,
                seed=seed_of(self.options.seed, self.around.suite.id, task.id, attempt),
            )
            try:
                found = tried.make()
            except InterruptedRunError:
                self.journal.broken(trial, task.id, attempt, "the run was stopped")
                return
            except BrokenError as error:
                self.journal.broken(trial, task.id, attempt, str(error))
                self._say(task, attempt, f"unavailable: {error}" + ("; tried again" if left else ""), finished=not left)
                if not self.around.collecting.revive():
                    self.say("the collector cannot be started again")
                continue
            if found.ended == "infrastructure":
                self.journal.broken(trial, task.id, attempt, found.why)
                self._say(task, attempt, f"unavailable: {found.why}", finished=True)
                return
            self.journal.verdict(trial, task.id, attempt, found.outcome)
            self._say(task, attempt, _words(found), finished=True)
            return

    def _tell_broken(self, trial: str, task: str, attempt: int, why: str) -> None:
        """Tell the store that a trial has no verdict and will have none."""
        labels: dict[str, str | int] = {
            semconv.SUITE: self.around.suite.id,
            semconv.TASK_ID: task,
            semconv.TRIAL_ID: trial,
            semconv.ATTEMPT: attempt,
            semconv.VARIANT: self.options.variant,
            f"{semconv.LABEL_PREFIX}{RUN_LABEL}": self.around.run,
        }
        telling = Telling(labels=labels)
        root = telling.root(prompt="", agent=None, answer=None, failed="")
        self.around.intake.send("traces", telling.request(root, telling.ended("infrastructure", why)))
        self.journal.broken(trial, task, attempt, why)

    def _say(self, task: Task, attempt: int, said: str, *, finished: bool) -> None:
        with self._lock:
            self._done += finished
            self.told(
                Progress(
                    done=self._done,
                    of=len(self.wanted),
                    task=task.id,
                    attempt=attempt,
                    said=said,
                    finished=finished,
                )
            )


def seed_of(seed: int, suite: str, task: str, attempt: int) -> int:
    """Return the seed that an agent is given: the same in every run of one ``--seed``. 31 bits."""
    text = f"{seed}/{suite}/{task}/{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) & 0x7FFFFFFF


def _words(found: Tried) -> str:
    """Return what is said of a try that came to its end."""
    outcome = found.outcome
    vacuous = ", vacuous" if outcome.effect_of_trial == "vacuous" else ""
    why = f", {found.why}" if found.why else "" if outcome.state == "verified" else f": {outcome.reason}"
    return outcome.state + vacuous + why
