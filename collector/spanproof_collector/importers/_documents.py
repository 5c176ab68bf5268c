"""Reads JSON files value by value, in the memory of one value: a document, an array or mapping of them, or JSON lines.

Where a value ends is told by its brackets, so one that is broken inside is named and the next is still found.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from spanproof_collector.importers._files import NotJsonError, ReadableFile, parse
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._session import Session
from spanproof_collector.model.values import Json

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)
_SCALAR: Final = re.compile(rb"[^,\]}\s]*")
_START: Final = re.compile(rb"\n(?=[{\[])")
_LARGEST: Final = 2 * 1024**3
_OUTLINED: Final = 16 * 1024 * 1024
"""How much of a file is looked at to tell its format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One value of a file."""

    value: Json
    line: int
    """The line on which it begins, counted from 1."""

    key: str | None = None
    """Its name, where it is a member of a mapping of documents."""

    outer: dict[str, Json] = field(default_factory=dict)
    """What stands beside the list that it is in, as far as it was read before."""


Read: TypeAlias = Document | Damage


class _CutError(Exception):
    """The file ends inside a value."""


class _BrokenError(Exception):
    """Something stands where no JSON can."""


class _Raw(NamedTuple):
    data: bytes
    line: int


class _Reader:
    """A place in a file, and the bytes from there on that were read so far."""

    def __init__(self, file: ReadableFile, most: int | None = None) -> None:
        self._chunks = file.chunks()
        self._left = most
        self._data = b""
        self._at = 0
        self.line = 1
        if self._more(3) and self._data.startswith(_BOM):
            self._at = len(_BOM)

    def _more(self, wanted: int = 1) -> bool:
        """Read on; False at the end of the file. Takes in as much again as is held, so that long values stay linear."""
        parts, size = [], 0
        wanted = max(wanted, len(self._data) - self._at)
        while size < wanted and (self._left is None or self._left > 0):
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            size += len(chunk)
            if self._left is not None:
                self._left -= len(chunk)
        if not parts:
            return False
        self._data = b"".join((self._data[self._at :], *parts))
        self._at = 0
        if len(self._data) > _LARGEST:
            raise _BrokenError(f"a value is larger than {_LARGEST} bytes")
        return True

    def _take(self, end: int) -> bytes:
        taken = self._data[self._at : end]
        self.line += taken.count(b"\n")
        self._at = end
        return taken

    def peek(self) -> bytes:
        """Return the next byte that is no space, ``b""`` at the end of the file."""
        while True:
            found = _SPACE.match(self._data, self._at)
            self._take(found.end() if found else self._at)
            if self._at < len(self._data):
                return self._data[self._at : self._at + 1]
            if not self._more():
                return b""

    def skip(self, one: bytes) -> None:
        """Step over this byte.

        Raises:
            _CutError: the file ends.
            _BrokenError: another byte stands there.
        """
        found = self.peek()
        if found != one:
            raise (
                _CutError if not found else _BrokenError(f"{found.decode('latin-1')!r} where {one.decode()!r} belongs")
            )
        self._at += 1

    def raw(self) -> _Raw:
        """Return the bytes of the next value, and its line. On an error the place stays where the value begins.

        Raises:
            _CutError: the file ends inside it.
            _BrokenError: no value begins here.
        """
        first, line = self.peek(), self.line
        if not first:
            raise _CutError
        if first in b"]},:":
            raise _BrokenError(f"{first.decode('latin-1')!r} where a value belongs")
        if first not in b'{["':
            while True:
                found = _SCALAR.match(self._data, self._at)
                end = found.end() if found else self._at
                if end < len(self._data) or not self._more():
                    return _Raw(self._take(end), line)
        depth, at = 0, 0
        while True:
            token = _TOKEN.search(self._data, self._at + at)
            if token is None or (token[0][:1] == b'"' and not token[1]):
                at = (token.start() if token else len(self._data)) - self._at
                if not self._more():
                    raise _CutError
                continue
            at = token.end() - self._at
            depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
            if depth <= 0:
                return _Raw(self._take(self._at + at), line)

    def next_start(self) -> bool:
        """Go to the next line that begins with a document; False where there is none."""
        while True:
            found = _START.search(self._data, self._at + 1)
            if found is not None:
                self._take(found.end())
                return True
            self._take(max(self._at, len(self._data) - 1))
            if not self._more():
                return False


def documents(file: ReadableFile, inside: Collection[str] = (), *, mapping: bool = False) -> Iterator[Read]:
    """Yield the documents of a file: each top-level value, or the elements of one that is an array.

    Args:
        file: plain or gzip.
        inside: of a top-level object, the members whose elements are the documents.
        mapping: a top-level object maps names to documents.
    """
    reader = _Reader(file)
    while reader.peek():
        line = reader.line
        try:
            if reader.peek() == b"[":
                yield from _elements(reader, {})
            elif reader.peek() == b"{" and (inside or mapping):
                yield from _members(reader, frozenset(inside), mapping=mapping)
            else:
                yield _document(reader.raw())
        except _CutError:
            yield Damage(reason="the file ends inside this value", line=line)
        except _BrokenError as error:
            yield Damage(reason=f"no JSON: {error}", line=reader.line)
        else:
            continue
        if not reader.next_start():
            return


def _document(raw: _Raw, key: str | None = None, outer: dict[str, Json] | None = None) -> Read:
    try:
        value = parse(raw.data)
    except NotJsonError as error:
        return Damage(reason=str(error), line=raw.line)
    return Document(value=value, line=raw.line, key=key, outer=outer or {})


def _elements(reader: _Reader, outer: dict[str, Json]) -> Iterator[Read]:
    reader.skip(b"[")
    while reader.peek() != b"]":
        yield _document(reader.raw(), outer=outer)
        if reader.peek() != b"]":
            reader.skip(b",")
    reader.skip(b"]")


def _pairs(reader: _Reader) -> Iterator[str]:
    """Yield each name of an object, the reader standing before its value, which the caller must take."""
    reader.skip(b"{")
    while reader.peek() != b"}":
        raw = reader.raw()
        try:
            name = parse(raw.data)
        except NotJsonError:
            name = None
        if not isinstance(name, str):
            raise _BrokenError("an object's name is no string")
        reader.skip(b":")
        yield name
        if reader.peek() != b"}":
            reader.skip(b",")
    reader.skip(b"}")


def _members(reader: _Reader, inside: frozenset[str], *, mapping: bool) -> Iterator[Read]:
    line = reader.line
    outer: dict[str, Json] = {}
    found = False
    for name in _pairs(reader):
        if mapping:
            yield _document(reader.raw(), key=name)
        elif name in inside and reader.peek() == b"[":
            found = True
            yield from _elements(reader, outer)
        elif name in inside and reader.peek() == b"{":
            found = True
            for key in _pairs(reader):
                yield _document(reader.raw(), key=key, outer=outer)
        else:
            raw = reader.raw()
            read = _document(raw)
            if isinstance(read, Damage):
                yield read
            else:
                outer[name] = read.value
    if not found and not mapping:
        yield Document(value=dict(outer), line=line)


def sessions(
    file: ReadableFile,
    of: Callable[[Document], Iterable[Session | Damage]],
    inside: Collection[str] = (),
    *,
    mapping: bool = False,
) -> Iterator[Session | Damage]:
    """Yield the sessions of each document of a file, and what of the file is damaged. Arguments as of ``documents``."""
    for read in documents(file, inside, mapping=mapping):
        if isinstance(read, Damage):
            yield read
        else:
            yield from of(read)
    if file.damage is not None:
        yield Damage(reason=file.damage)


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
    reader = _Reader(ReadableFile(path), _OUTLINED)
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
    except (_CutError, _BrokenError):
        pass  # what came before tells the format
    return Outline(kind=kind, values=tuple(found))


def _sketch(reader: _Reader, depth: int, put: Callable[[Json], None]) -> None:
    """Put the next value, cut short. Each part is put before what is in it: a file that breaks off loses no more."""
    start = reader.peek()
    if start == b"{" and depth < _DEPTH:
        members: dict[str, Json] = {}
        put(members)
        for name in _pairs(reader):
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
