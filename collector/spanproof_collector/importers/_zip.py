"""Members of ZIP archives with the compressions that logs use, also of an archive that is cut off."""

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from spanproof_collector.errors import DecodeError
from spanproof_collector.importers._found import Damage
from spanproof_collector.otlp.compression import unpack

MAGIC: Final = b"PK\x03\x04"
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_ENCODINGS: Final = {0: "identity", 8: "deflate", 93: "zstd", 20: "zstd"}
"""What the archive calls a compression: 20 is what Zstandard had before its number 93."""

_LARGEST: Final = 1024**3
_MAX_UINT: Final = 0xFFFFFFFF


class Member(NamedTuple):
    """One file of an archive: its name, and what tells where its bytes lie."""

    name: str
    method: int
    start: int
    """Where its local header begins."""

    size: int | None
    """Bytes as packed; ``None`` where only what follows them would tell."""


def members(file: BinaryIO) -> tuple[list[Member], Damage | None]:
    """Return the members of an archive in its order; those found by their headers where it has no directory."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = [Member(i.filename, i.compress_type, i.header_offset, i.compress_size) for i in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        return list(_scan(file)), Damage(reason=f"the archive has no directory: {error}")
    # of two members of one name the later one stands
    return list({member.name: member for member in found}.values()), None


def _scan(file: BinaryIO) -> Iterator[Member]:
    """Walk from header to header as far as sizes are told."""
    at = 0
    while True:
        file.seek(at)
        raw = file.read(_LOCAL.size)
        if len(raw) < _LOCAL.size or raw[:4] != MAGIC:
            return
        _, _, flags, method, _, _, _, packed, _, name_length, extra_length = _LOCAL.unpack(raw)
        name = file.read(name_length).decode("utf-8", "replace")
        told = not flags & 0x08 and packed != _MAX_UINT
        yield Member(name, method, at, packed if told else None)
        if not told:
            return
        at += _LOCAL.size + name_length + extra_length + packed


def content(file: BinaryIO, member: Member) -> bytes | Damage:
    """Return the bytes of a member, or why they cannot be read."""
    file.seek(member.start)
    raw = file.read(_LOCAL.size)
    if len(raw) < _LOCAL.size or raw[:4] != MAGIC:
        return Damage(reason=f"{member.name}: no member begins where the archive says")
    name_length, extra_length = _LOCAL.unpack(raw)[9:11]
    file.seek(member.start + _LOCAL.size + name_length + extra_length)
    packed = file.read(-1 if member.size is None else member.size)
    if member.size is not None and len(packed) < member.size:
        return Damage(reason=f"{member.name}: the archive ends inside of it")
    encoding = _ENCODINGS.get(member.method)
    if encoding is None:
        return Damage(reason=f"{member.name}: packed by method {member.method}, which is none of stored, deflate, zstd")
    try:
        return unpack(packed, encoding, _LARGEST)
    except DecodeError as error:
        return Damage(reason=f"{member.name}: cannot be unpacked: {error}")


def names(path: Path) -> list[str]:
    """Return the names of an archive's members; none where the file is no archive."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return []
        return [member.name for member in members(file)[0]]
