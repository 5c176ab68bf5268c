"""Recordings of our own making into a store, and the trials that come out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spanproof_collector.importers import Imported, import_paths
from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials


@dataclass(frozen=True, kw_only=True)
class Told:
    """What an import found, and every trial of the store in the order of their files."""

    imported: Imported
    trials: list[Trial]

    @property
    def trial(self) -> Trial:
        """The one trial."""
        (only,) = self.trials
        return only


def tell_folder(store: Store, folder: Path, contents: dict[str, object]) -> Told:
    """Import a folder of files by their places in it."""
    for place, content in contents.items():
        file = folder / "recorded" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    imported = import_paths(store, [folder / "recorded"])
    return Told(imported=imported, trials=sorted(read_trials(store), key=_order))


def _order(trial: Trial) -> tuple[str, int, str]:
    return (trial.path or "", trial.attempt or 0, trial.task_id or "")


def tell(store: Store, folder: Path, *contents: object) -> Told:
    """Import files without a telling name: bytes as they are, anything else as JSON."""
    return tell_folder(store, folder, {f"{number:03}": content for number, content in enumerate(contents)})


def lines(*values: object) -> bytes:
    """Return JSON lines."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def called(calls: Sequence[ToolCall]) -> list[tuple[str, str | None, str]]:
    """Return name, id and whether it ran, of each call."""
    return [(call.name, call.call_id, call.executed) for call in calls]


def foreign(trial: Trial) -> dict[str, tuple[float | None, str | None]]:
    """Return score and label of each result of others, by name."""
    return {result.name: (result.score, result.label) for result in trial.foreign_results}


def kinds(trial: Trial) -> str:
    """Return the kinds of steps, a letter each: a(gent), m(odel), t(ool), h(andoff), o(ther)."""
    return "".join(step.kind[0] for step in trial.steps)
