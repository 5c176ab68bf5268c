"""Looks for text on the disk of an embedded store, in files that are compressed as ClickHouse does it."""

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import lz4.block  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_HEADER = struct.Struct("<BII")
_CHECKSUM = 16
_NONE, _LZ4, _ZSTD, _MULTIPLE = 0x02, 0x82, 0x90, 0x91


def files_with(folder: Path, text: str) -> list[str]:
    """Return the files under the folder that hold the text, plain or compressed."""
    wanted = text.encode()
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(wanted in piece for piece in _pieces(path.read_bytes()))
    ]


def _pieces(data: bytes) -> Iterator[bytes]:
    yield data
    yield b"".join(_blocks(data))


def _blocks(data: bytes) -> Iterator[bytes]:
    at = _CHECKSUM
    while at + _HEADER.size <= len(data):
        method, packed, _ = _HEADER.unpack_from(data, at)
        if method not in (_NONE, _LZ4, _ZSTD, _MULTIPLE, 0x92, 0x93) or at + packed > len(data):
            return  # no file of blocks
        yield _unpack(data[at : at + packed])
        at += packed + _CHECKSUM


def _unpack(block: bytes) -> bytes:
    method, _, size = _HEADER.unpack_from(block)
    body = block[_HEADER.size :]
    if method == _LZ4:
        unpacked: bytes = lz4.block.decompress(body, uncompressed_size=size)
        return unpacked
    if method == _ZSTD:
        return zstd.decompress(body)
    if method == _MULTIPLE:
        # The codecs by number, then the block of the last one; those before hold numbers and no text.
        return _unpack(body[1 + body[0] :])
    return body
