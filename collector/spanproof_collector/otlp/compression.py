"""Unpacks gzip, deflate and zstd bodies, and stops while unpacking when they grow past the limit."""

import sys
from typing import Final

from zlib_ng import zlib_ng as zlib

from spanproof_collector.errors import DecodeError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_BYTES: Final = 64 * 1024 * 1024
"""What OTLP asks receivers to take at least, and all that we take: after unpacking."""

_CHUNK: Final = 1024 * 1024
_AUTO: Final = 32 + zlib.MAX_WBITS  # gzip or zlib, by the header
_RAW: Final = -zlib.MAX_WBITS  # "deflate" as some senders understand it
_GZIP_MAGIC: Final = b"\x1f\x8b"

_ZSTD_WINDOW_LOG: Final = 26
"""Frames that look back further than 64 MiB would make us keep as much."""

SUPPORTED: Final = "gzip, deflate, zstd or none"
ENCODINGS: Final = ("", "identity", "none", "gzip", "x-gzip", "deflate", "zlib", "zstd")


class TooLargeError(DecodeError):
    """A body past the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the request is larger than {limit} bytes after unpacking. Send smaller batches")
        self.limit = limit


def unpack(body: bytes, encoding: str, limit: int = MAX_BYTES) -> bytes:
    """Return the body without its content encoding.

    Raises:
        DecodeError: The encoding is unknown, or the bytes are not what it says.
        TooLargeError: The body is larger than ``limit``.
    """
    match encoding.strip().lower():
        case "" | "identity" | "none":
            if len(body) > limit:
                raise TooLargeError(limit)
            return body
        case "gzip" | "x-gzip":
            return _inflate(body, "gzip", _AUTO, limit)
        case "deflate" | "zlib":
            zlib_header = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
            return _inflate(body, "deflate", _AUTO if zlib_header else _RAW, limit)
        case "zstd":
            return _unpack_zstd(body, limit)
        case other:
            raise DecodeError(f"content encoding {other[:40]!r} is not supported: send {SUPPORTED}")


def _inflate(body: bytes, name: str, window: int, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = body
    while True:
        member = zlib.decompressobj(window)
        while not member.eof:
            try:
                part = member.decompress(rest, _CHUNK)
            except zlib.error as error:  # type: ignore[misc]  # its stub takes the class for an instance
                raise DecodeError(f"the body is not {name}, as its content encoding says: {error}") from error
            rest = member.unconsumed_tail
            size += len(part)
            if size > limit:
                raise TooLargeError(limit)
            parts.append(part)
            if not part and not rest and not member.eof:
                raise DecodeError(f"the {name} body is cut off after {size} bytes")
        rest = member.unused_data
        if not rest.startswith(_GZIP_MAGIC):
            return b"".join(parts)


def _unpack_zstd(body: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = body
    while True:
        frame = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})
        while not frame.eof:
            try:
                part = frame.decompress(rest, _CHUNK)
            except zstd.ZstdError as error:
                raise DecodeError(f"the body is not zstd, as its content encoding says: {error}") from error
            rest = b""
            size += len(part)
            if size > limit:
                raise TooLargeError(limit)
            parts.append(part)
            if not part and frame.needs_input and not frame.eof:
                raise DecodeError(f"the zstd body is cut off after {size} bytes")
        rest = frame.unused_data
        if not rest:
            return b"".join(parts)
