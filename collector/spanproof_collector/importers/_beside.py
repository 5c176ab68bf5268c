"""What stands beside recorded sessions: ``endstate.jsonl`` with recorded state changes, ``tasks/`` with definitions."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from spanproof_collector.importers._fields import ident, obj
from spanproof_collector.importers._files import NotJsonError, ReadableFile, parse
from spanproof_collector.importers._found import Damage, Skipped
from spanproof_collector.importers._session import Changes, Session
from spanproof_collector.model.values import Json

END_STATES: Final = "endstate.jsonl"
TASKS: Final = "tasks"

_LONGEST_TASK: Final = 1024**2


class EndStates:
    """Recorded state changes of the sessions in one folder, found by the name of a session's file without its ending.

    Only where each line stands is held: a line is read when its session comes.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.folder = file.parent
        self.damage: list[Damage] = []
        self.without_changes = 0
        self._places: dict[str, tuple[int, int]] = {}
        at = 0
        for number, line in enumerate(ReadableFile(file).lines(), 1):
            self._index(line, number, at)
            at += len(line) + 1

    def _index(self, line: bytes, number: int, at: int) -> None:
        if not line.strip():
            return
        try:
            told = obj(parse(line))
        except NotJsonError as error:
            self.damage.append(Damage(reason=str(error), line=number))
            return
        name = ident(told.get("id"))
        if name is None:
            self.damage.append(Damage(reason="it names no session: there is no id", line=number))
        elif told.get("actual_changes") is None:
            self.without_changes += 1
        else:
            self._places[name] = (at, len(line))

    def of(self, file: Path) -> Changes | None:
        """Return what is recorded of the session in a file: its changes, and nothing else of its line."""
        place = next((self._places[name] for name in _stems(file) if name in self._places), None)
        if place is None:
            return None
        with self.file.open("rb") as opened:
            opened.seek(place[0])
            told = obj(parse(opened.read(place[1])))
        return Changes(
            actual=told["actual_changes"], gold=told.get("gold_changes"), calls=told.get("calls"), by=END_STATES
        )


def _stems(file: Path) -> Iterator[str]:
    """Yield the name of a file without its ending, then without the one before, and so on."""
    name = file.name
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    file: Path
    value: dict[str, Json]


@dataclass(slots=True)
class Tasks:
    """Task definitions of one folder, by the id that each states."""

    folder: Path
    _by_id: dict[str, list[_Definition]] = field(default_factory=lambda: defaultdict(list))

    def add(self, file: Path) -> bool:
        """Take a definition; False where the file is none: no small JSON object with an id."""
        if file.stat().st_size > _LONGEST_TASK:
            return False
        value = obj(ReadableFile(file).document)
        task_id = ident(value.get("id"))
        if task_id is None:
            return False
        self._by_id[task_id].append(_Definition(file=file, value=value))
        return True

    def of(self, session: Session, file: Path) -> Json:
        """Return the definition of a session's task; ``None`` where there is none, or no telling which.

        Definitions in a folder within ``tasks`` are for sessions whose own folder has the same name. Of several with
        the id that one stands whose file is named after the session's domain or suite.
        """
        found = self._by_id.get(session.labels.task_id or "", [])
        alike = [each for each in found if each.file.parent.name in (TASKS, file.parent.name)]
        if len(alike) > 1:
            names = [str(name) for name in (session.labels.facts.get("domain"), session.labels.suite) if name]
            alike = [each for each in alike if any(each.file.stem.startswith(name) for name in names)]
        return alike[0].value if len(alike) == 1 else None


def beside(
    session: Session, file: Path, end_states: Sequence[EndStates], tasks: Sequence[Tasks], *, alone: bool
) -> Iterator[Session | Skipped]:
    """Yield the session with what is recorded beside it. State changes are for a file of one session alone."""
    for each in tasks:
        if each.folder in file.parents and (definition := each.of(session, file)) is not None:
            session = replace(session, task=definition)
    nearest = sorted((each for each in end_states if each.folder in file.parents), key=lambda e: -len(e.folder.parts))
    changes = next((found for each in nearest if (found := each.of(file)) is not None), None)
    if changes is not None and alone:
        session = replace(session, changes=changes)
    elif changes is not None:
        yield Skipped(what="recorded changes of a file with several sessions")
    yield session
