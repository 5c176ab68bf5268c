"""Reads a file in plain or gzip, and keeps what could be read of one that is damaged."""

import codecs
import json
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from spanproof_collector.importers._found import Damage
from spanproof_collector.model.values import Json

_BOM: Final = codecs.BOM_UTF8
_GZIP: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_CHUNK: Final = 1024 * 1024
_HEAD: Final = 64 * 1024
_MAX_WHOLE: Final = 2 * 1024**3
_MAX_DOCUMENT: Final = 128 * 1024**2
"""Larger than this a JSON text is read piece by piece or not at all."""

_LOOKED_AT: Final = 50
"""Lines by which a format is told."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(")|\\?\Z)|[\[\]{},:]', re.DOTALL)


class NotJsonError(Exception):
    """A text that is no JSON, and why."""


def parse(text: bytes) -> Json:
    """Return what a JSON text holds; what Python writes and JSON does not know (NaN, half a character) too.

    Raises:
        NotJsonError: it is no JSON.
    """
    try:
        decoded: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            decoded = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NotJsonError(f"no JSON: {error}") from error
    return decoded


class ReadableFile:
    """One file. ``damage`` says, after reading, why it could not be read to the end."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.damage: str | None = None
        self._progress = progress

    def chunks(self) -> Iterator[bytes]:
        """Yield the content, unpacked, as far as it is whole."""
        self.damage = None
        with self.path.open("rb") as file:
            start = file.read(len(_GZIP))
            file.seek(0)

            def read() -> bytes:
                chunk = file.read(_CHUNK)
                if self._progress is not None:
                    self._progress(file.tell())
                return chunk

            raw = iter(read, b"")
            yield from self._unpacked(raw) if start == _GZIP else raw

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of the content."""
        taken = b""
        for chunk in self.chunks():
            taken += chunk
            if len(taken) >= _HEAD:
                break
        return taken[:_HEAD]

    def lines(self) -> Iterator[bytes]:
        """Yield the content line by line; a line that is cut off too."""
        parts: list[bytes] = []
        for chunk in self.chunks():
            first, *more = chunk.split(b"\n")
            parts.append(first)
            for line in more:
                yield b"".join(parts)
                parts = [line]
        rest = b"".join(parts)
        if rest:
            yield rest

    def json_lines(self) -> "Iterator[tuple[int, Json | Damage]]":
        """Yield each line that is not empty, with its number from 1: the value that it holds, or why it holds none."""
        for number, line in enumerate(self.lines(), 1):
            text = line.removeprefix(_BOM).strip()
            if not text:
                continue
            try:
                yield number, parse(text)
            except NotJsonError as error:
                yield number, Damage(reason=str(error), line=number)

    @cached_property
    def opening(self) -> tuple[dict[str, Json], ...]:
        """The objects in the first 50 lines; empty where this is not one JSON object a line.

        The first or the last line may be damaged. A single line that is one object is an opening of one, and a
        ``document`` too.
        """
        if not self._is_json:
            return ()
        found = [value for _, value in islice(self.json_lines(), _LOOKED_AT)]
        objects = tuple(value for value in found if isinstance(value, dict))
        return objects if len(objects) * 2 >= len(found) else ()

    @cached_property
    def document(self) -> Json:
        """The content as one JSON value; ``None`` where it is none, and where it is larger than 128 MiB."""
        if not self._is_json:
            return None
        parts: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            size += len(chunk)
            if size > _MAX_DOCUMENT:
                return None
            parts.append(chunk)
        try:
            return parse(b"".join(parts).removeprefix(_BOM))
        except NotJsonError:
            return None

    def items(self, key: str | None = None) -> "Iterator[Json | Damage]":
        """Yield the elements of an array piece by piece, however large the file is.

        The array is the content itself, or what the content's outermost object has under ``key``. What is cut off or
        no JSON is yielded as damage. Nothing is yielded where there is no such array.
        """
        for text in elements(self.chunks(), key):
            if isinstance(text, Damage):
                yield text
                continue
            try:
                yield parse(text)
            except NotJsonError as error:
                yield Damage(reason=str(error))

    def everything(self) -> bytes:
        """Return the content at once."""
        parts: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            size += len(chunk)
            if size > _MAX_WHOLE:
                self.damage = f"it is larger than {_MAX_WHOLE} bytes, and not one request a line"
                break
            parts.append(chunk)
        return b"".join(parts)

    @property
    def _is_json(self) -> bool:
        return self.head.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")

    def _unpacked(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(_GZIP_WINDOW)
        for packed in raw:
            rest = packed
            while True:
                if member.eof:
                    rest = rest.lstrip(b"\0")  # padding, as archives leave it
                    if not rest:
                        break
                    member = zlib.decompressobj(_GZIP_WINDOW)
                try:
                    part = member.decompress(rest, _CHUNK)
                except zlib.error as error:
                    self.damage = f"the gzip is damaged: {error}"
                    return
                if part:
                    yield part
                rest = member.unused_data if member.eof else member.unconsumed_tail
                if not rest and len(part) < _CHUNK:
                    break
        if not member.eof:
            self.damage = "the gzip is cut off"


def elements(chunks: Iterator[bytes], key: str | None = None) -> Iterator[bytes | Damage]:
    """Yield the text of each element of the array that the content is, or that its object has under ``key``."""
    found = _Elements(None if key is None else json.dumps(key).encode())
    for chunk in chunks:
        yield from found.feed(chunk)
        if found.done:
            return
    if found.inside:
        yield Damage(reason="the JSON is cut off")


class _Elements:
    """Finds the elements of one array in a text that comes in pieces."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._text = bytearray()
        self._depth = 0
        self._wanted = 1 if key is None else 2
        """The depth inside of the array."""

        self._named = key is None
        self._token = b""
        self._start = 0
        self._from = 0
        self.inside = False
        self.done = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take the next piece and yield the elements that it ends."""
        self._text += chunk
        at = self._from
        text = bytes(self._text)
        for match in _TOKEN.finditer(text, at):
            token = match.group()
            if token[:1] == b'"':
                if match.group(1) is None:
                    break  # the string goes on in the next piece
                if self._depth == 1 and not self.inside:
                    self._token = token
                at = match.end()
                continue
            at = match.end()
            if token in b"[{":
                self._depth += 1
                if token == b"[" and self._depth == self._wanted and self._named and not self.inside:
                    self.inside, self._start = True, at
            elif token in b"]}":
                if self.inside and self._depth == self._wanted:
                    last = text[self._start : match.start()].strip()
                    self.inside, self.done = False, True
                    if last:
                        yield last
                    return
                self._depth -= 1
            elif token == b"," and self._depth == self._wanted and self.inside:
                yield text[self._start : match.start()].strip()
                self._start = at
            elif token == b":" and self._depth == 1 and self._key is not None:
                self._named = self._token == self._key
            elif token == b"," and self._depth == 1 and self._key is not None:
                self._named = False
        keep = self._start if self.inside else at
        self._text = bytearray(text[keep:])
        self._from, self._start = at - keep, self._start - keep if self.inside else 0
