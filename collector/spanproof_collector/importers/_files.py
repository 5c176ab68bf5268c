"""Reads a file in plain or gzip, and keeps what could be read of one that is damaged."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_GZIP: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_CHUNK: Final = 1024 * 1024
_MAX_WHOLE: Final = 2 * 1024**3


class ReadableFile:
    """One file. ``damage`` says, after reading, why it could not be read to the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None

    def chunks(self) -> Iterator[bytes]:
        """Yield the content, unpacked, as far as it is whole."""
        self.damage = None
        with self.path.open("rb") as file:
            start = file.read(len(_GZIP))
            file.seek(0)
            raw = iter(lambda: file.read(_CHUNK), b"")
            yield from self._unpacked(raw) if start == _GZIP else raw

    def head(self, length: int) -> bytes:
        """Return the first bytes of the content."""
        taken = b""
        for chunk in self.chunks():
            taken += chunk
            if len(taken) >= length:
                break
        return taken[:length]

    def lines(self) -> Iterator[bytes]:
        """Yield the content line by line; a line that is cut off too."""
        rest = b""
        for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
        if rest:
            yield rest

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
