"""Reads a file in plain or gzip, and keeps what could be read of one that is damaged."""

import codecs
import json
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from zlib_ng import zlib_ng as zlib

from spanproof_collector.importers._found import Damage
from spanproof_collector.model.values import Json

T = TypeVar("T")

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

_OPENING: Final = 16 * 1024**2
"""How much of a file they may take."""


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


class Folder:
    """A folder that is being imported. What importers learn of it is learned once an import."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._learned: dict[Callable[[Path], object], object] = {}

    def learned(self, learn: Callable[[Path], T]) -> T:
        """Return what ``learn`` finds in the folder."""
        if learn not in self._learned:
            self._learned[learn] = learn(self.path)
        return self._learned[learn]  # type: ignore[return-value]


class ReadableFile:
    """One file. ``damage`` says, after reading, why it could not be read to the end."""

    def __init__(
        self, path: Path, progress: Callable[[int], None] | None = None, *, folder: Folder | None = None
    ) -> None:
        self.path = path
        self.folder = folder
        """The folder that was named, where the file was found in one: what lies beside it may tell more."""

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

    def start(self, length: int) -> bytes:
        """Return the first bytes of the content."""
        parts: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size >= length:
                break
        return b"".join(parts)[:length]

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of the content."""
        return self.start(_HEAD)

    def larger_than(self, length: int) -> bool:
        """True where the content, unpacked, has more bytes than this."""
        size = 0
        for chunk in self.chunks():
            size += len(chunk)
            if size > length:
                return True
        return False

    def first_line(self, longest: int) -> bytes | None:
        """Return the first line that is not empty; ``None`` where it is longer than this, or there is none."""
        parts: list[bytes] = []
        for chunk in self.chunks():
            parts.append(chunk)
            if b"\n" not in chunk and sum(map(len, parts)) <= longest:
                continue
            first = next((line for line in b"".join(parts).split(b"\n")[:-1] if line.strip()), None)
            if first is not None or sum(map(len, parts)) > longest:
                return first
        return next((line for line in b"".join(parts).split(b"\n") if line.strip()), None)

    def lines(self, most: int | None = None) -> Iterator[bytes]:
        """Yield the content line by line; a line that is cut off too. ``most`` is after how many bytes to stop."""
        parts: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            size += len(chunk)
            if most is not None and size > most:
                return
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
        if not self._is_json or self.head.removeprefix(_BOM).lstrip().startswith(b"["):
            return ()
        texts = (line.removeprefix(_BOM).strip() for line in self.lines(_OPENING))
        found = [_parsed(text) for text in islice(filter(None, texts), _LOOKED_AT)]
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
                except zlib.error as error:  # type: ignore[misc]  # its stub takes the class for an instance
                    self.damage = f"the gzip is damaged: {error}"
                    return
                if part:
                    yield part
                rest = member.unused_data if member.eof else member.unconsumed_tail
                if not rest and len(part) < _CHUNK:
                    break
        if not member.eof:
            self.damage = "the gzip is cut off"


def _parsed(text: bytes) -> Json:
    try:
        return parse(text)
    except NotJsonError:
        return None
