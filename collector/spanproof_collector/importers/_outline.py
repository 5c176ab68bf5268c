"""What a JSON file looks like from its beginning, for telling its format."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Literal

from spanproof_collector.importers._files import NotJsonError, ReadableFile, parse
from spanproof_collector.importers._json_reader import BrokenError, CutError, JsonReader, pairs
from spanproof_collector.model.values import Json

_OUTLINED: Final = 16 * 1024 * 1024
"""How much of a file is looked at to tell its format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a JSON file looks like, for telling its format. Texts keep 64 characters, lists two elements."""

    kind: Literal["object", "array", "other"]
    """What the file begins with."""

    values: tuple[Json, ...] = ()
    """The first two elements of the array; the first two top-level objects otherwise."""

    @property
    def first(self) -> dict[str, Json]:
        """The first object of the file, or the first element of its array; empty where that is no object."""
        return self.values[0] if self.values and isinstance(self.values[0], dict) else {}

    def within(self, *names: str) -> dict[str, Json]:
        """The object under these names of the first one, the first element where an array stands; else empty."""
        at: Json = self.first
        for name in names:
            at = at.get(name) if isinstance(at, dict) else None
            if isinstance(at, list):
                at = at[0] if at else None
        return at if isinstance(at, dict) else {}


_TEXT: Final = 64
_ITEMS: Final = 2
_DEPTH: Final = 5


def outline(path: Path) -> Outline:
    """Return the outline of a file, plain or gzip. Reads no more than 16 MB of it, once for all who ask in a row.

    Raises:
        OSError: the file cannot be read.
    """
    known = path.stat()
    return _outline(path, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=1)
def _outline(path: Path, _changed: int, _size: int) -> Outline:
    reader = JsonReader(ReadableFile(path), _OUTLINED)
    found: list[Json] = []
    kind: Literal["object", "array", "other"] = "other"
    try:
        start = reader.peek()
        if start == b"[":
            kind = "array"
            reader.skip(b"[")
            while reader.peek() != b"]" and len(found) < _ITEMS:
                _sketch(reader, 0, found.append)
                if reader.peek() != b"]":
                    reader.skip(b",")
        while start == b"{" == reader.peek() and len(found) < _ITEMS:
            kind = "object"
            _sketch(reader, 0, found.append)
    except (CutError, BrokenError):
        pass  # what came before tells the format
    return Outline(kind=kind, values=tuple(found))


def _sketch(reader: JsonReader, depth: int, put: Callable[[Json], None]) -> None:
    """Put the next value, cut short. Each part is put before what is in it: a file that breaks off loses no more."""
    start = reader.peek()
    if start == b"{" and depth < _DEPTH:
        members: dict[str, Json] = {}
        put(members)
        for name in pairs(reader):
            members[name] = None
            _sketch(reader, depth + 1, partial(members.__setitem__, name))
    elif start == b"[" and depth < _DEPTH:
        items: list[Json] = []
        put(items)
        reader.skip(b"[")
        while reader.peek() != b"]":
            if len(items) < _ITEMS:
                _sketch(reader, depth + 1, items.append)
            else:
                reader.raw()
            if reader.peek() != b"]":
                reader.skip(b",")
        reader.skip(b"]")
    else:
        raw = reader.raw()
        try:
            value = parse(raw.data)
        except NotJsonError:
            value = None
        put(value[:_TEXT] if isinstance(value, str) else value)
