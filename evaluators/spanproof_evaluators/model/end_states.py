"""An end state: the world before or after a trial, as somebody who is not the agent recorded it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.canonical import Plain, deeper_than

Row: TypeAlias = Mapping[str, Plain]

_MOST_LEVELS: Final = 200
"""Deeper than any world nests, and no deeper than Python compares."""


PlaceKind: TypeAlias = Literal["folder", "sql", "http", "git"]


class UnreadableEndStateError(EvaluatorError):
    """A recorded text that is no end state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a destination is: an absolute path, the address of a database, or of a service."""

    kind: PlaceKind
    location: str
    """Secrets are references to the environment, ``${NAME}``: only whoever looks fills them in."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to a service; with references, too."""

    problem: str | None = None
    """Why nobody can say where it is: a word for machines. Then ``location`` is as it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndState:
    """What a verifier is given. It has no transcript, so there is none to be persuaded by."""

    tables: Mapping[str, tuple[Row, ...]] | None = None
    """Rows by table. ``None``: the snapshot holds no tables, which is not the same as none being there."""

    files: Mapping[str, str] | None = None
    """Texts by path. ``None``: the snapshot holds no files."""

    answer: str | None = None
    """The submitted answer, an artifact of the end state. ``None``: there is none."""

    answer_recorded: bool = True
    """False where the bytes do not hold what was answered: then ``answer`` says nothing."""

    places: Mapping[str, Place] = field(default_factory=dict)
    """The destinations by name, as they are after the trial; or where they are kept as they were before it."""

    missing: str | None = None
    """Why there are neither tables nor files: a word for machines."""

    time: int | None = None
    """When tables and files were recorded, in Unix nanoseconds."""

    @classmethod
    def parse(
        cls, text: str, *, answer: str | None = None, answer_recorded: bool = True, time: int | None = None
    ) -> "EndState":
        """Return the end state that a recorded JSON text holds.

        The text's shape is ``{"tables": {name: [row]}, "files": {path: text}}``, both keys optional, a row an object.

        Raises:
            UnreadableEndStateError: the text is no such JSON.
        """
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableEndStateError(f"the recorded end state is no JSON: {error}") from error
        if deeper_than(found, _MOST_LEVELS):
            raise UnreadableEndStateError(f"the recorded end state nests deeper than {_MOST_LEVELS} levels")
        if not isinstance(found, dict):
            raise UnreadableEndStateError("the recorded end state is no JSON object")
        return cls(
            tables=_tables(found["tables"]) if "tables" in found else None,
            files=_files(found["files"]) if "files" in found else None,
            answer=answer,
            answer_recorded=answer_recorded,
            time=time,
        )


def _tables(found: object) -> dict[str, tuple[Row, ...]]:
    """Return rows by table."""
    if not isinstance(found, dict):
        raise UnreadableEndStateError('"tables" of the recorded end state is no object of tables')
    tables: dict[str, tuple[Row, ...]] = {}
    for name, rows in found.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UnreadableEndStateError(f"table {name!r} of the recorded end state is no list of objects")
        tables[name] = tuple(rows)
    return tables


def _files(found: object) -> dict[str, str]:
    """Return texts by path."""
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise UnreadableEndStateError('"files" of the recorded end state is no object of texts')
    return dict(found)
