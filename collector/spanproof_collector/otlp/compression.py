"""Unpacks gzip and deflate bodies, and stops while unpacking when they grow past the limit."""

import zlib
from typing import Final

from spanproof_collector.errors import DecodeError

MAX_BYTES: Final = 64 * 1024 * 1024
"""What OTLP asks receivers to take at least, and all that we take: after unpacking."""

_CHUNK: Final = 1024 * 1024
_AUTO: Final = 32 + zlib.MAX_WBITS  # gzip or zlib, by the header
_RAW: Final = -zlib.MAX_WBITS  # "deflate" as some senders understand it
_GZIP_MAGIC: Final = b"\x1f\x8b"

ENCODINGS: Final = ("", "identity", "gzip", "deflate")


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
        case "" | "identity":
            if len(body) > limit:
                raise TooLargeError(limit)
            return body
        case "gzip":
            return _inflate(body, "gzip", _AUTO, limit)
        case "deflate":
            zlib_header = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
            return _inflate(body, "deflate", _AUTO if zlib_header else _RAW, limit)
        case other:
            raise DecodeError(f"content encoding {other!r} is not supported: send gzip, deflate or none")


def _inflate(body: bytes, name: str, window: int, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = body
    while True:
        member = zlib.decompressobj(window)
        while not member.eof:
            try:
                part = member.decompress(rest, _CHUNK)
            except zlib.error as error:
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
