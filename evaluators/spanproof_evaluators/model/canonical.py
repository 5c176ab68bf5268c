"""One text for one value: what hashes and certificates are taken of."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import TypeAlias

import msgspec

Plain: TypeAlias = "str | bool | int | float | list[Plain] | dict[str, Plain] | None"
"""What JSON can hold."""


def plain(value: object) -> Plain:
    """Return a value as JSON values: records by field, decimals as text, tuples as lists, sets sorted."""
    match value:
        case None | str() | bool() | int() | float():
            return value
        case Decimal():
            return format(value, "f")
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=repr)
        case _ if is_dataclass(value):
            return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        case msgspec.Struct():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case _:
            raise TypeError(f"{type(value).__name__} has no canonical form")


def canonical(value: object) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, ASCII."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical text, in hex."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
