"""Finds where the values of a JSON text begin and end, in the memory of one value.

The end is told by brackets alone, so that a value which is broken inside is still stepped over.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from spanproof_collector.importers._files import NotJsonError, ReadableFile, parse

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
# Before 3.11.5 Python takes possessive repeats of what may backtrack wrongly: of a choice, or of what may fail late.
_TO_BRACKET: Final = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+){0,1000}', re.DOTALL)
"""Everything up to the next bracket outside of texts, or up to a text that does not end; a thousand texts at most."""

_DEEPER: Final = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR: Final = re.compile(rb"[^,\]}\s]*")
_START: Final = re.compile(rb"\n(?=[{\[])")
_LARGEST: Final = 2 * 1024**3


class CutError(Exception):
    """The file ends inside a value."""


class BrokenError(Exception):
    """Something stands where no JSON can."""


class RawValue(NamedTuple):
    data: bytes
    line: int


class JsonReader:
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
            raise BrokenError(f"a value is larger than {_LARGEST} bytes")
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
            CutError: the file ends.
            BrokenError: another byte stands there.
        """
        found = self.peek()
        if found != one:
            raise (
                CutError if not found else BrokenError(f"{found.decode('latin-1')!r} where {one.decode()!r} belongs")
            )
        self._at += 1

    def raw(self) -> RawValue:
        """Return the bytes of the next value, and its line. On an error the place stays where the value begins.

        Raises:
            CutError: the file ends inside it.
            BrokenError: no value begins here.
        """
        first, line = self.peek(), self.line
        if not first:
            raise CutError
        if first in b"]},:":
            raise BrokenError(f"{first.decode('latin-1')!r} where a value belongs")
        if first not in b'{["':
            while True:
                found = _SCALAR.match(self._data, self._at)
                end = found.end() if found else self._at
                if end < len(self._data) or not self._more():
                    return RawValue(self._take(end), line)
        depth, at = 0, 0
        while True:
            if first == b'"':
                found = _TEXT.match(self._data, self._at)
                if found is not None:
                    return RawValue(self._take(found.end()), line)
            else:
                start = at
                found = _TO_BRACKET.match(self._data, self._at + at)
                at = (found.end() if found else len(self._data)) - self._at
                bracket = self._data[self._at + at : self._at + at + 1]
                if bracket in _DEEPER:
                    at += 1
                    depth += _DEEPER[bracket]
                    if depth <= 0:
                        return RawValue(self._take(self._at + at), line)
                    continue
                if at > start:  # a thousand texts, and there may be more
                    continue
            if not self._more():
                raise CutError

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


def pairs(reader: JsonReader) -> Iterator[str]:
    """Yield each name of an object, the reader standing before its value, which the caller must take."""
    reader.skip(b"{")
    while reader.peek() != b"}":
        raw = reader.raw()
        try:
            name = parse(raw.data)
        except NotJsonError:
            name = None
        if not isinstance(name, str):
            raise BrokenError("an object's name is no string")
        reader.skip(b":")
        yield name
        if reader.peek() != b"}":
            reader.skip(b",")
    reader.skip(b"}")
