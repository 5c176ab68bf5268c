"""The journal of failures: what people said of failed trials, one line each, the last word standing."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from spanproof_evaluators.errors import JournalError
from spanproof_evaluators.model.result_files.journals import LAYERS, Layer, layer_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """A person's word on a failure."""

    trial: str
    layer: Layer
    at: str
    """ISO 8601, UTC."""

    suggested: str | None = None
    """What the rules had suggested; ``None``: nothing."""

    @classmethod
    def of(cls, *, trial: str, layer: str, at: str, suggested: str | None) -> "Confirmed":
        """Return a word on a layer that is named in any of the known ways.

        Raises:
            ValueError: the name is none of the five layers'.
        """
        found = layer_of(layer)
        if found is None:
            raise ValueError(f"{layer!r} is none of {', '.join(LAYERS)}")
        return cls(trial=trial, layer=found, at=at, suggested=suggested)


def path_of(address: str) -> Path:
    """Return the file of the journal that belongs to a store: beside it; of a server's, in the working folder."""
    if address.startswith("chdb://"):
        store = Path(address.removeprefix("chdb://")).expanduser()
        if store.name:
            return store.with_name(f"{store.name}-journal.jsonl")
    return Path(".spanproof-journal.jsonl")


def read_confirmed(path: Path) -> dict[str, Confirmed]:
    """Return what is confirmed, by trial; nothing where there is no file.

    Raises:
        JournalError: a line is none of a journal.
    """
    if not path.is_file():
        return {}
    found: dict[str, Confirmed] = {}
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                one = Confirmed(**json.loads(line))
                if one.layer not in LAYERS:
                    raise JournalError(str(path), f"line {number}", f"{one.layer!r} is none of {', '.join(LAYERS)}")
                found[one.trial] = one
    except (OSError, ValueError, TypeError) as error:
        raise JournalError(str(path), "", f"is no journal: {error}") from error
    return found


def confirm(path: Path, one: Confirmed) -> None:
    """Write a word down.

    Raises:
        JournalError: the file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(one)) + "\n")
    except OSError as error:
        raise JournalError(str(path), "", f"cannot be written: {error.strerror}") from error
