"""Compresses answers piece by piece, and unpacks what clients send."""

import gzip
import importlib.util
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final, Protocol, cast

from spanproof_collector.server.clickhouse.failures import CANNOT_DECOMPRESS, NOT_IMPLEMENTED
from spanproof_collector.server.clickhouse.statements import RefusedError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class Compressor(Protocol):
    """A way to compress an answer piece by piece."""

    name: str

    def compress(self, block: bytes) -> bytes:
        """Return what is ready."""

    def finish(self) -> bytes:
        """Return the rest."""


class _Lz4:
    name = "lz4"

    def __init__(self) -> None:
        import lz4.frame  # type: ignore[import-untyped]

        self._compressor = lz4.frame.LZ4FrameCompressor()
        self._head = self._compressor.begin()

    def compress(self, block: bytes) -> bytes:
        head, self._head = self._head, b""
        return cast(bytes, head + self._compressor.compress(block))

    def finish(self) -> bytes:
        return cast(bytes, self._head + self._compressor.flush())


class _Zlib:
    def __init__(self, name: str, window: int) -> None:
        self.name = name
        self._compressor = zlib.compressobj(level=1, wbits=window)

    def compress(self, block: bytes) -> bytes:
        return self._compressor.compress(block)

    def finish(self) -> bytes:
        return self._compressor.flush()


class _Zstd:
    name = "zstd"

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor()

    def compress(self, block: bytes) -> bytes:
        return self._compressor.compress(block)

    def finish(self) -> bytes:
        return self._compressor.flush()


# From Python 3.14 on zstd is Python's own, and the driver does not bring lz4 any more.
COMPRESSORS: Final[Mapping[str, Callable[[], Compressor]]] = {
    **({"lz4": _Lz4} if importlib.util.find_spec("lz4") else {}),
    "zstd": _Zstd,
    "gzip": lambda: _Zlib("gzip", 31),
    "deflate": lambda: _Zlib("deflate", 15),
}


async def compressed(blocks: AsyncIterator[bytes], compressor: Compressor) -> AsyncIterator[bytes]:
    """Yield the blocks compressed."""
    async for block in blocks:
        piece = compressor.compress(block)
        if piece:
            yield piece
    yield compressor.finish()


def decompressed(encoding: str, body: bytes) -> bytes:
    """Return the body in plain. The driver compresses every block of an insert into a frame of its own."""
    match encoding:
        case "gzip":
            return gzip.decompress(body)
        case "deflate":
            return b"".join(_frames(zlib.decompressobj, body))
        case "lz4" if "lz4" in COMPRESSORS:
            import lz4.frame

            return b"".join(_frames(lz4.frame.LZ4FrameDecompressor, body))
        case "zstd":
            return zstd.decompress(body)
        case _:
            raise RefusedError(NOT_IMPLEMENTED, f"The content encoding {encoding[:20]!r} is not supported")


class _Decompressor(Protocol):
    """What decompresses one frame."""

    @property
    def eof(self) -> bool:
        """Whether the frame is whole."""

    @property
    def unused_data(self) -> bytes | None:
        """What follows the frame."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return the frame's content."""


def _frames(decompressor: Callable[[], _Decompressor], body: bytes) -> Iterator[bytes]:
    rest: bytes | None = body
    while rest:
        frame = decompressor()
        yield frame.decompress(rest)
        if not frame.eof:
            raise RefusedError(CANNOT_DECOMPRESS, "The body ends in the middle of a compressed frame")
        rest = frame.unused_data
