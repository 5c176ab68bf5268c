"""One task's checks, tried on everything of which the right word is known."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from spanproof_evaluators.harness.judging import TAMPERING, Bench
from spanproof_evaluators.harness.trust.impossible import impossible
from spanproof_evaluators.harness.trust.mutants import mutants
from spanproof_evaluators.harness.trust.worlds import change_world, copied, database_of, dumped, solve, tamper
from spanproof_evaluators.harness.worlds import WorldError, fingerprints
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite, Task
from spanproof_evaluators.model.trust_cards import TaskTrust
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner.python_suites import OpenSuite


@dataclass(kw_only=True)
class _Card:
    """A task's card while it is filled in."""

    said: dict[str, object] = field(default_factory=dict)
    untried: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Note why a part could not be tried."""
        try:
            yield
        except (WorldError, OSError, sqlite3.Error) as error:
            self.untried[name] = str(error)

    def word(self, name: str, outcome: Outcome) -> Verdict:
        """Note the word on a part."""
        self.said[name] = outcome.state
        if outcome.state == "unavailable":
            self.untried[name] = outcome.reason
        return outcome.state


@dataclass(kw_only=True)
class Trying:
    """Tries tasks; from several threads, too."""

    opened: OpenSuite
    bench: Bench
    folder: Path
    most: int
    """Mutants a task, at most."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _count: int = 0

    def task(self, task: Task) -> TaskTrust:
        """Return what comes of a task's checks."""
        card = _Card()
        if task.start is not None and task.start.image is not None:
            why = "its world is in a container: no world of it can be made here"
            return TaskTrust(task=task.id, untried={"all": why})
        if not task.checks and task.id not in self.opened.verifiers:
            return TaskTrust(task=task.id, untried={"all": "the task has no check"})
        with card.part("all"):
            start = self._fresh(task)
            self._null(task, start, card)
            self._tampered(task, start, card)
            self._solved(task, start, card)
        return TaskTrust.model_validate({"task": task.id, **card.said, "untried": card.untried})

    def _null(self, task: Task, start: Path, card: _Card) -> None:
        card.word("null", self._judged(task, start, None))
        with card.part("dump"):
            answer = dumped(self.opened.suite, task, start, self.bench.base)
            card.word("dump", self._judged(task, start, answer))

    def _tampered(self, task: Task, start: Path, card: _Card) -> None:
        if card.said.get("null") == "verified":
            card.untried["tampering"] = "doing nothing passes, so nothing is learned from tampering"
            return
        with card.part("tampering"):
            world = copied(start, self._place())
            tamper(task, world, self.bench.hidden_paths(task))
            outcome = self._judged(task, world, "Done. All tests pass.")
            seen = [one.seen for one in outcome.checks if one.kind == TAMPERING and one.passed is False]
            if outcome.state == "unavailable":
                card.untried["tampering"] = outcome.reason
                return
            card.said["tampering"] = "seen" if seen else "unseen" if outcome.state == "verified" else "harmless"
            card.said["tampered"] = "; ".join(seen) or (
                "hooks in test runners and interpreters" if outcome.state == "verified" else ""
            )

    def _solved(self, task: Task, start: Path, card: _Card) -> None:
        if task.reference is None:
            why = "no reference solution is written: say 'reference'"
            card.untried |= {"reference": why, "mutants": why, "impossible": why}
            return
        with card.part("reference"):
            world = copied(start, self._place())
            change_world(task, world, self.bench.base)
            changed = copied(world, self._place())
            answer = solve(task, world, self.bench.base)
            if card.word("reference", self._judged(task, world, answer)) != "verified":
                card.untried["mutants"] = "the reference solution is not verified"
                return
            self._impossible(task, world, answer, card)
            self._mutated(task, changed, world, answer, card)

    def _impossible(self, task: Task, world: Path, answer: str | None, card: _Card) -> None:
        other = None if task.id in self.opened.verifiers else impossible(task)
        if other is None:
            card.untried["impossible"] = "its checks are code, in which no expectation can be altered"
            return
        suite = self.opened.suite
        altered = Suite.model_construct(
            id=suite.id, destinations=suite.destinations, shares={}, tasks=(other,), _base=suite.base
        )
        bench = Bench(suite=altered, base=self.bench.base, starts=self.bench.starts, folder=self._place(), verifiers={})
        with card.part("impossible"):
            bench.seal()
            card.word("impossible", bench.judge(other, world, answer=answer, values=self._values(task)).outcome)

    def _mutated(self, task: Task, start: Path, solved: Path, answer: str | None, card: _Card) -> None:
        killed = total = 0
        survivors: list[str] = []
        original = fingerprints(solved)
        with card.part("mutants"):
            for mutant in islice(mutants(start, solved, database_of(task), answer), self.most):
                world = copied(solved, self._place())
                try:
                    mutant.alter(world)
                except sqlite3.Error:
                    continue  # the database does not allow it: there is no such world
                if mutant.answer == answer and fingerprints(world) == original:
                    continue
                state = self._judged(task, world, mutant.answer).state
                if state == "unavailable":
                    continue
                total += 1
                killed += state == "failed"
                if state == "verified":
                    survivors.append(mutant.says)
        card.said |= {"killed": killed, "mutants": total, "survivors": survivors}
        if not total:
            card.untried.setdefault("mutants", "the reference solution changes and answers nothing that can be altered")

    def _judged(self, task: Task, world: Path, answer: str | None) -> Outcome:
        return self.bench.judge(task, world, answer=answer, values=self._values(task)).outcome

    def _values(self, task: Task) -> dict[str, str]:
        return {
            "trial_id": f"trust/{task.id}",
            "task_id": task.id,
            "suite": self.opened.suite.id,
            "variant": "trust",
            "attempt": "0",
        }

    def _fresh(self, task: Task) -> Path:
        place = self._place()
        place.mkdir(parents=True)
        self.bench.starts.copy(task, place)
        return place

    def _place(self) -> Path:
        with self._lock:
            self._count += 1
            return self.folder / f"world-{self._count}"
