"""One text for one value: what hashes and certificates are taken of.

Values come out of traces and nest as deep as somebody cared to write them: nothing here recurses into one.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

import msgspec

Plain: TypeAlias = "str | bool | int | float | list[Plain] | dict[str, Plain] | None"
"""What JSON can hold."""


def plain(value: object) -> Plain:
    """Return a value as JSON values: records by field, decimals as text, tuples as lists, sets sorted.

    A number that JSON does not have is its name, ``"NaN"`` or ``"Infinity"``, as in the JSON of protobuf.
    """
    lists: list[tuple[list[Plain], Iterable[object]]] = []
    dicts: list[tuple[dict[str, Plain], Iterable[tuple[object, object]]]] = []

    def shallow(item: object) -> Plain:
        """Return an item; one that holds others is empty, and filled when its turn comes."""
        match item:
            case None | str() | bool() | int():
                return item
            case float():
                return item if math.isfinite(item) else _name(item)
            case Decimal():
                return format(item, "f")
            case set() | frozenset():
                return sorted((plain(one) for one in item), key=repr)
            case list() | tuple():
                array: list[Plain] = []
                lists.append((array, item))
                return array
        made: dict[str, Plain] = {}
        dicts.append((made, _pairs(item)))
        return made

    found = shallow(value)
    while lists or dicts:
        if lists:
            array, items = lists.pop()
            array.extend(shallow(item) for item in items)
        else:
            made, pairs = dicts.pop()
            made.update((str(key), shallow(item)) for key, item in pairs)
    return found


def _pairs(value: object) -> Iterable[tuple[object, object]]:
    """Return the fields of a record, the items of a mapping."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, msgspec.Struct):
        return ((name, getattr(value, name)) for name in value.__struct_fields__)
    if is_dataclass(value):
        return ((one.name, getattr(value, one.name)) for one in fields(value))
    raise TypeError(f"{type(value).__name__} has no canonical form")


def _name(number: float) -> str:
    """Return what protobuf's JSON calls a number that JSON does not have."""
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def deeper_than(value: Plain, levels: int) -> bool:
    """Return whether lists and objects nest deeper in a value than so many levels."""
    level = [value]
    for _ in range(levels + 1):
        level = [
            item
            for holder in level
            if isinstance(holder, list | dict)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
    return bool(level)


class Layout(NamedTuple):
    """How JSON is written."""

    sort_keys: bool = False
    ensure_ascii: bool = True
    separators: tuple[str, str] = (", ", ": ")


CANONICAL: Final = Layout(sort_keys=True, separators=(",", ":"))


def written(value: Plain, layout: Layout) -> str:
    """Return a value as JSON.

    Raises:
        ValueError: it holds a number that JSON does not have.
    """
    try:
        return _dumps(value, layout)
    except RecursionError:
        return "".join(_pieces(value, layout))


def _dumps(value: Plain, layout: Layout) -> str:
    return json.dumps(value, allow_nan=False, **layout._asdict())


class _Text(NamedTuple):
    """A piece that is written already."""

    text: str


def _pieces(value: Plain, layout: Layout) -> Iterator[str]:
    """Yield the text that ``json.dumps`` would give, at any depth."""
    comma, colon = layout.separators
    left: list[Plain | _Text] = [value]
    while left:
        match left.pop():
            case _Text(text):
                yield text
            case list(items) if items:
                left.append(_Text("]"))
                for item in reversed(items):
                    left += (item, _Text(comma))
                left[-1] = _Text("[")
            case dict(members) if members:
                left.append(_Text("}"))
                for key in reversed(sorted(members) if layout.sort_keys else list(members)):
                    left += (members[key], _Text(_dumps(key, layout) + colon), _Text(comma))
                left[-1] = _Text("{")
            case scalar:
                yield _dumps(scalar, layout)


def canonical(value: object) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, ASCII."""
    return written(plain(value), CANONICAL)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical text, in hex."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
