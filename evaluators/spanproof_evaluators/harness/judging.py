"""Judging a try: a copy of its world, hidden files laid over it, what was tampered with, and the checks' word.

Nothing here runs while an agent lives. The agent's world itself is never judged: a copy is, in a folder that it does
not know, and the same checks judge a copy of the start state with the same hidden files.
"""

import shutil
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from spanproof_evaluators.harness.snapshots import snapshot
from spanproof_evaluators.harness.worlds import Starts, WorldError, copy_tree, fingerprints
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.checks import CheckSpec, FilesCheck, GitCheck, PythonCheck
from spanproof_evaluators.model.end_states import EndState, Place
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.placeholders import Values
from spanproof_evaluators.model.starts import DATABASE, WORLD
from spanproof_evaluators.model.suites import Suite, Task
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.runner.checking import filled_in
from spanproof_evaluators.verifiers import Verifier, checked, judge
from spanproof_evaluators.verifiers._globs import matches

TAMPERING: Final = "tampering"
"""The kind of check that says whether what judges the work was left alone."""

HOOKS: Final = (
    "**/conftest.py",
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "**/*.pth",
    "**/pytest.ini",
    "**/.pytest.ini",
    "**/tox.ini",
    "**/setup.cfg",
    "**/pytest.py",
    "**/jest.config.*",
    "**/vitest.config.*",
)
"""What can turn hidden tests round without touching one."""


_MAY_PASS: Final = frozenset(
    {"timeout", "output_limit", "killed_by_signal", "check_could_not_run", "variable_not_set", "command_not_started"}
)
"""Why a check could not look that may have to do with this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The word on one try, and the world's two states as they are recorded."""

    outcome: Outcome
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """A start state as it is judged."""

    bare: Path
    """A copy."""

    laid: Path
    """A copy with the hidden files over it; the same one where there are none."""

    text: str
    """As it is recorded, without them."""

    prints: Mapping[str, str]
    """Its files' fingerprints, without them."""


@dataclass(kw_only=True)
class Bench:
    """Where the tries of a run are judged."""

    suite: Suite
    base: Path
    starts: Starts
    folder: Path
    """A folder that no agent sees."""

    verifiers: Mapping[str, Verifier] = field(default_factory=dict)
    """By task, verifiers of this process, in place of the task's checks."""

    _hidden: dict[str, dict[str, bytes]] = field(default_factory=dict)
    _sealed: dict[Path, bytes] = field(default_factory=dict)
    _before: dict[str, "_Before"] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _count: int = 0

    def seal(self) -> None:
        """Take hidden files and the suite's own code into memory, as they are before any agent runs.

        Raises:
            WorldError: a file is not there.
        """
        try:
            for task in self.suite.tasks:
                self._hidden[task.id] = self._hidden_of(task)
                for check in task.checks:
                    where = check.function.rpartition(":")[0] if isinstance(check, PythonCheck) else ""
                    if where.endswith(".py"):
                        for file in (self.base / where).parent.glob("*.py"):
                            self._sealed[file] = file.read_bytes()
        except OSError as error:
            raise WorldError(f"the suite's own files cannot be read: {error}") from error

    def secrets(self) -> tuple[Path, ...]:
        """Return the files and folders of the suite that would tell an agent what it is judged by."""
        found: list[Path] = []
        for task in self.suite.tasks:
            if task.hidden is not None and task.hidden.folder is not None:
                found.append(self.base / task.hidden.folder)
            if task.reference is not None and task.reference.folder is not None:
                found.append(self.base / task.reference.folder)
            for check in task.checks:
                where = check.function.rpartition(":")[0] if isinstance(check, PythonCheck) else ""
                if where.endswith(".py"):
                    found.append(self.base / where)
        return tuple(dict.fromkeys(path.resolve() for path in found))

    def hidden_paths(self, task: Task) -> frozenset[str]:
        """Return where the hidden files of a task are laid over its world."""
        return frozenset(self._hidden.get(task.id, {}))

    def judge(self, task: Task, world: Path, *, answer: str | None, values: Values) -> Judged:
        """Return the word on a world whose agent is dead.

        Args:
            task: what was asked.
            world: the agent's world.
            answer: what it answered; ``None``: nothing.
            values: what stands for the placeholders of the checks.

        Raises:
            WorldError: the world cannot be copied.
        """
        with self._lock:
            self._count += 1
            place = self.folder / f"judged-{self._count}"
        try:
            return self._judge(task, world, place, answer, values)
        except OSError as error:
            raise WorldError(f"the world of {task.id} cannot be copied: {error}") from error
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _judge(self, task: Task, world: Path, place: Path, answer: str | None, values: Values) -> Judged:
        database = _database(task)
        start = self._start(task)
        after = place / "after"
        after.mkdir(parents=True)
        copy_tree(world, after)
        if database is not None:
            _settle(after / database)
        after_text = snapshot(after, database)
        touched = self._tampering(task, start.prints, after)
        laid = self._laid(task, after, place / "laid")
        base = self._sealed_base(place)
        elsewhere = {name: one.place(values, self.base) for name, one in self.suite.destinations.items()}
        earlier = {
            name: found
            for name, one in self.suite.destinations.items()
            if (found := one.place_before(values, self.base)) is not None
        }
        before_state = replace(EndState.parse(start.text), places={**earlier, **_places(start.laid, database)})
        after_state = replace(
            EndState.parse(after_text, answer=answer), places={**elsewhere, **_places(laid, database)}
        )
        checks = [filled_in(check, values) for check in task.checks]
        verifier = self.verifiers.get(task.id) or _verifier(
            checks, task.pass_score, base, {start.laid: start.bare, laid: after}
        )
        outcome = judge(verifier, before_state, after_state, name=f"{self.suite.id}/{task.id}")
        return Judged(outcome=_with(outcome, touched), before=start.text, after=after_text)

    def _start(self, task: Task) -> _Before:
        """Return the start state of a task as it is judged."""
        with self._lock:
            if task.id not in self._before:
                place = self.folder / f"before-{len(self._before)}"
                place.mkdir(parents=True)
                self.starts.copy(task, place)
                text, prints = snapshot(place, _database(task)), fingerprints(place)
                laid = self._laid(task, place, place.with_name(f"{place.name}-laid"))
                self._before[task.id] = _Before(bare=place, laid=laid, text=text, prints=prints)
            return self._before[task.id]

    def _hidden_of(self, task: Task) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        if task.hidden is None:
            return found
        if task.hidden.folder is not None:
            root = self.base / task.hidden.folder
            if not root.is_dir():
                raise WorldError(f"task {task.id}: there is no folder {root}")
            found |= {
                file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()
            }
        return found | {path: text.encode("utf-8") for path, text in task.hidden.files.items()}

    def _laid(self, task: Task, bare: Path, place: Path) -> Path:
        """Return a copy with the hidden files over it. What stands in their way, a link say, goes."""
        if not self._hidden.get(task.id):
            return bare
        place.mkdir()
        copy_tree(bare, place)
        for path, content in self._hidden.get(task.id, {}).items():
            at = place
            for part in path.split("/")[:-1]:
                at = at / part
                if at.is_symlink() or (at.exists() and not at.is_dir()):
                    at.unlink()
                at.mkdir(exist_ok=True)
            file = place / path
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file)
            elif file.is_symlink() or file.exists():
                file.unlink()
            file.write_bytes(content)
        return place

    def _sealed_base(self, place: Path) -> Path:
        """Return the folder that the suite's code is run from: as it was when the run began."""
        if not self._sealed:
            return self.base
        base = place / "suite"
        for file, content in self._sealed.items():
            copy = base / file.relative_to(self.base) if file.is_relative_to(self.base) else base / file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        return base

    def _tampering(self, task: Task, old: Mapping[str, str], after: Path) -> list[Check]:
        """Return what was done to what judges the work."""
        hidden = self._hidden.get(task.id, {})
        patterns = task.protected if task.protected is not None else (HOOKS if hidden else ())
        new = fingerprints(after)
        changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        judging = sorted(
            path for path in changed if path in hidden or any(matches(path, pattern) for pattern in patterns)
        )
        found: list[Check] = []
        if patterns or hidden:
            found.append(
                Check(
                    name="what judges the work was left alone",
                    kind=TAMPERING,
                    passed=not judging,
                    seen=f"changed: {', '.join(judging[:20])}" if judging else f"protected: {', '.join(patterns)}",
                )
            )
        outside = [str(file) for file, content in self._sealed.items() if _read(file) != content]
        if self.starts.touched(task):
            outside.append("the start state that every attempt begins with")
        if outside:
            found.append(
                Check(
                    name="the runner's own files were left alone",
                    kind=TAMPERING,
                    passed=False,
                    required=False,
                    seen=f"changed while this trial ran, and not used: {', '.join(outside[:20])}",
                )
            )
        return found


def _verifier(
    checks: Sequence[CheckSpec | Check], pass_score: float | None, base: Path, bare: Mapping[Path, Path]
) -> Verifier:
    """Return the verifier that checks declare. What asks which files changed sees a world without the hidden ones.

    Args:
        checks: what is asked.
        pass_score: the part of the weights that has to pass.
        base: the folder that the suite's code is run from.
        bare: by a world with hidden files, the same without them.
    """
    weighted = pass_score is not None or any(check.weight is not None for check in checks)
    looked: set[int] = set()
    """The checks that could look at the start state."""

    def without(state: EndState | None) -> EndState | None:
        if state is None:
            return None
        own = state.places[WORLD]
        place = replace(own, location=str(bare.get(Path(own.location), Path(own.location))))
        return replace(state, places={**state.places, WORLD: place})

    def verify(before: EndState | None, after: EndState) -> Verification:
        found: list[Check] = []
        for place, spec in enumerate(checks):
            if isinstance(spec, Check):
                found.append(spec)
                continue
            changes = isinstance(spec, GitCheck) or (isinstance(spec, FilesCheck) and spec.changed_within is not None)
            earlier, later = (without(before), without(after)) if changes else (before, after)
            told = checked(spec, earlier, later or after, base, weighted=weighted)
            if before is after and all(check.passed is not None for check in told):
                looked.add(place)
            found += [_spoiled(check) if place in looked else check for check in told]
        return Verification.of(found, pass_score=pass_score)

    return verify


def _spoiled(check: Check) -> Check:
    """Return a check that could look at the start state: where it cannot look at what the agent left, that fails it.

    Else an agent that deletes the database would have no verdict, and be left out. What may pass by itself stays open.
    """
    if check.passed is not None or check.reason in _MAY_PASS or check.destination not in (WORLD, DATABASE):
        return check
    seen = f"could be looked at as it was before the agent, and cannot be now: {check.reason}: {check.seen}"
    return replace(check, passed=False, reason=None, seen=seen)


def tampering_of(outcome: Outcome) -> list[Plain]:
    """Return what was tampered with, in words."""
    return [check.seen for check in outcome.checks if check.kind == TAMPERING and check.passed is False]


def _with(outcome: Outcome, found: Sequence[Check]) -> Outcome:
    """Return an outcome with what was found of tampering: it fails a trial whatever its checks say."""
    whole = replace(outcome, checks=(*outcome.checks, *found))
    broken = [check for check in found if check.required and check.passed is False]
    if not broken:
        return whole
    effect = {"verified": "damaged", "failed": "unchanged"}.get(outcome.pre_state)
    why = "; ".join(f"{check.name}: {check.seen}" for check in broken)
    reason = f"{why}; {outcome.reason}" if outcome.state == "failed" else why
    return replace(whole, state="failed", effect_of_trial=effect, reason=reason)  # type: ignore[arg-type]


def _places(root: Path, database: str | None) -> dict[str, Place]:
    found = {WORLD: Place(kind="folder", location=str(root))}
    if database is not None:
        found[DATABASE] = Place(kind="sql", location=f"sqlite:///{root / database}")
    return found


def _database(task: Task) -> str | None:
    return Path(task.start.sqlite).name if task.start is not None and task.start.sqlite is not None else None


def _settle(file: Path) -> None:
    """Bring what stands in a journal beside a copied database into it."""
    if not file.is_symlink() and file.is_file():
        try:
            with closing(sqlite3.connect(file, timeout=1)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            return  # it is no database any more: the checks say so


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
