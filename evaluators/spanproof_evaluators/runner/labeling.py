"""Labeling: which answers are drawn for raters, and a file of labels that is only added to and outlives a kill."""

import csv
import fcntl
import hashlib
import io
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self, cast

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import Unit, read_trials
from spanproof_evaluators.errors import LabelsError
from spanproof_evaluators.judges.families import families
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.judge_inputs import JudgeInput
from spanproof_evaluators.model.judge_sources import JudgeSources
from spanproof_evaluators.model.labels import (
    Item,
    Label,
    Labels,
    LabelState,
    Line,
    Population,
    Rater,
    RaterKind,
    Sampling,
    Sheet,
    Undone,
    as_lines,
    read_labels,
    state_of,
)
from spanproof_evaluators.model.rubrics import Answer, Rubric
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.judge_inputs import judge_input

Strata = Literal["variant", "agent", "task", "category"]
STATES: Final[tuple[LabelState, ...]] = ("pass", "fail", "unsure", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One input that could be drawn."""

    given: JudgeInput
    trial_ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    stratum: str = ""


def candidates(
    store: Store,
    wanted: Filter,
    rubric: Rubric,
    *,
    suite: Suite | None = None,
    declared: JudgeSources | None = None,
    by: Strata | None = None,
    unit: Unit = "session",
    catalogue: ToolCatalogue = EMPTY,
) -> list[Candidate]:
    """Return the distinct inputs that trials come to; what a judge would be told nothing of is none."""
    found: dict[str, tuple[JudgeInput, list[Trial]]] = {}
    for trial in read_trials(store, wanted, unit=unit, catalogue=catalogue):
        given = judge_input(trial, rubric, suite, declared)
        if isinstance(given, JudgeInput):
            found.setdefault(given.hash, (given, []))[1].append(trial)
    return [
        Candidate(
            given=given,
            trial_ids=tuple(dict.fromkeys(one.trial_id for one in trials)),
            families=tuple(sorted({name for one in trials for name in families(one.models) if name})),
            stratum=_stratum(trials[0], by, suite) if by is not None else "",
        )
        for given, trials in found.values()
    ]


def draw(
    found: Sequence[Candidate],
    rubric: Rubric,
    *,
    size: int | None,
    seed: int,
    by: Strata | None,
    described: str,
    suite: Suite | None,
    at: int,
) -> list[Line]:
    """Return the first lines of a file of labels: the sheet, and the items in the order in which they are labeled.

    The order is that of a hash of seed and input: a beginning of it is a random sample too. Strata get shares in
    proportion to their size; the chance with which an item was drawn stands beside it.
    """
    order = sorted(found, key=lambda one: hashlib.sha256(f"{seed}:{one.given.hash}".encode()).digest())
    groups: defaultdict[str, list[Candidate]] = defaultdict(list)
    for one in order:
        groups[one.stratum].append(one)
    wanted = len(found) if size is None else min(size, len(found))
    shares = _shares({name: len(members) for name, members in groups.items()}, wanted)
    drawn = {one.given.hash for name, members in groups.items() for one in members[: shares[name]]}
    method: Literal["all", "random", "stratified"] = (
        "all" if len(drawn) == len(found) else "random" if by is None else "stratified"
    )
    sheet = Sheet(
        rubric=rubric,
        rubric_hash=rubric.hash,
        population=Population.of(
            (one.given.hash for one in found),
            described=described,
            suite=suite.id if suite else None,
            suite_hash=suite.hash if suite else None,
        ),
        sampling=Sampling(method=method, seed=seed, size=len(drawn), by=by),
        at=str(at),
    )
    items = [
        Item(
            input_hash=one.given.hash,
            task=one.given.task,
            source=one.given.source,
            answer=one.given.answer,
            looks_at=one.given.looks_at,
            stratum=one.stratum,
            probability=shares[one.stratum] / len(groups[one.stratum]),
            trial_ids=one.trial_ids,
            families=one.families,
        )
        for one in order
        if one.given.hash in drawn
    ]
    return [sheet, *items]


def _shares(sizes: Mapping[str, int], wanted: int) -> dict[str, int]:
    """Return how many of each stratum are drawn: in proportion, what is left over by the largest remainder."""
    total = sum(sizes.values())
    exact = {name: wanted * size / total for name, size in sizes.items()} if total else {}
    found = {name: int(share) for name, share in exact.items()}
    over = sorted(exact, key=lambda name: (found[name] - exact[name], name))
    for name in over[: wanted - sum(found.values())]:
        found[name] += 1
    return found


def _stratum(trial: Trial, by: Strata, suite: Suite | None) -> str:
    match by:
        case "variant":
            return trial.variant or ""
        case "agent":
            return trial.agent_name or ""
        case "task":
            return trial.task_id or ""
        case "category":
            task = suite.task(trial.task_id) if suite is not None else None
            return (task.category if task is not None else None) or ""


class LabelBook:
    """A file of labels that this process writes. Every line is on the disk before the next one is asked for."""

    def __init__(self, path: Path) -> None:
        """Open a file of labels that is there. A last line that a kill cut off is taken away.

        Raises:
            LabelsError: another process writes it, it cannot be opened, or a line of it is none.
        """
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise LabelsError(str(path), "", f"cannot be opened: {error.strerror}") from error
        try:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise LabelsError(str(path), "", "somebody is labeling in it. Wait, or label in a copy") from error
            end = path.read_bytes().rfind(b"\n") + 1
            if end != os.fstat(self._descriptor).st_size:
                os.ftruncate(self._descriptor, end)
            self.labels = read_labels(path)
        except BaseException:
            os.close(self._descriptor)
            raise

    @classmethod
    def begin(cls, path: Path, lines: Sequence[Line]) -> Self:
        """Write the sheet and its items to a new file, whole or not at all, and open it.

        Raises:
            LabelsError: it cannot be written.
        """
        beside = path.with_name(f"{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(as_lines(lines))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise LabelsError(str(path), "", f"cannot be written: {error.strerror}") from error
        return cls(path)

    def add(self, lines: Sequence[Label | Undone]) -> None:
        """Add lines and wait until they are on the disk.

        Raises:
            LabelsError: they cannot be written, or do not fit.
        """
        try:
            for line in lines:
                self.labels.take(line)
            data = as_lines(lines).encode("utf-8")
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except (OSError, ValueError) as error:
            raise LabelsError(str(self.path), "", f"cannot be added to: {error}") from error

    def label(self, item: Item, rater: Rater, answers: dict[str, Answer], state: LabelState) -> None:
        """Add one label, given now."""
        self.add([_label(item.input_hash, self.labels, rater, answers, state)])

    def undo(self, rater: Rater) -> Label | None:
        """Take the last label of a rater back and return it; ``None`` where there is none."""
        last = self.labels.last(rater)
        if last is not None:
            self.add([Undone(input_hash=last.input_hash, rater=rater, at=str(time.time_ns()))])
        return last

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def imported(path: Path, labels: Labels, rater: Rater | None, kind: RaterKind | None) -> list[Label]:
    """Return the labels of a JSONL or CSV file that the sheet does not have yet, each checked before any is taken.

    A row names its item by ``input_hash`` or ``trial_id``, and says ``state`` (pass, fail, unsure, skipped) or an
    answer to every criterion: ``answers`` in JSON, a column each in CSV. ``rater`` and ``rater_kind`` of a row outrank
    what is given here.

    Args:
        path: the file; CSV where its name ends so.
        labels: the sheet with its items.
        rater: who is meant where a row does not say.
        kind: what kind of rater, where a row does not say.

    Raises:
        LabelsError: the file cannot be read, or a row of it is none.
    """
    by_trial = {trial: one.input_hash for one in labels.items.values() for trial in one.trial_ids}
    found = []
    for number, row in enumerate(_rows(path), 1):
        try:
            one = _row(row, labels, by_trial, rater, kind)
        except ValueError as error:
            raise LabelsError(str(path), f"row {number}", str(error)) from error
        standing = labels.standing.get((one.input_hash, one.rater.kind, one.rater.name))
        if standing is None or (standing.answers, standing.state) != (one.answers, one.state):
            found.append(one)
    return found


def _row(
    row: Mapping[str, Plain], labels: Labels, by_trial: Mapping[str, str], rater: Rater | None, kind: RaterKind | None
) -> Label:
    """Return the label of a row.

    Raises:
        ValueError: it holds none.
    """
    named = row.get("input_hash") or by_trial.get(str(row.get("trial_id") or ""))
    if named not in labels.items:
        raise ValueError(
            f"input_hash {row.get('input_hash')!r}, trial_id {row.get('trial_id')!r}: no item that was drawn"
        )
    who, of = row.get("rater") or (rater.name if rater else None), row.get("rater_kind") or kind
    if not who or of is None:
        raise ValueError("nobody says who gave it: give --rater and --rater-kind, or columns rater and rater_kind")
    if of not in ("human", "model", "construction"):
        raise ValueError(f"rater_kind {of!r} is none: give human, model or construction")
    rubric, told = labels.sheet.rubric, row.get("answers")
    answers = (
        dict(told) if isinstance(told, dict) else {one.id: row[one.id] for one in rubric.criteria if row.get(one.id)}
    )
    state = row.get("state")
    if answers:
        clean = cast("dict[str, Answer]", {name: str(answer) for name, answer in answers.items()})
        found = state_of(rubric, clean)
        if state not in (None, "", found):
            raise ValueError(f"state {state!r} is not what the answers come to, which is {found!r}")
        return _label(str(named), labels, Rater(kind=cast("RaterKind", of), name=str(who)), clean, found)
    if state not in STATES:
        raise ValueError(f"state {state!r} is none: give {', '.join(STATES)}, or an answer to every criterion")
    return _label(str(named), labels, Rater(kind=cast("RaterKind", of), name=str(who)), {}, state)


def _label(input_hash: str, labels: Labels, rater: Rater, answers: dict[str, Answer], state: LabelState) -> Label:
    return Label(
        input_hash=input_hash,
        rubric_hash=labels.sheet.rubric_hash,
        rater=rater,
        answers=answers,
        state=state,
        at=str(time.time_ns()),
    )


def _rows(path: Path) -> Iterable[Mapping[str, Plain]]:
    """Return the rows of a file.

    Raises:
        LabelsError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsError(str(path), "", f"cannot be read: {error}") from error
    if path.suffix.lower() == ".csv":
        return [dict(row) for row in csv.DictReader(io.StringIO(text))]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LabelsError(str(path), f"line {number}", f"no JSON: {error}") from error
        if not isinstance(row, dict):
            raise LabelsError(str(path), f"line {number}", "no JSON object")
        found.append(row)
    return found
