"""What differs between two states, as JSON pointers (RFC 6901) with the value before and after."""

import hashlib
from collections.abc import Iterator, Sequence

from spanproof_evaluators.model.canonical import CANONICAL, Plain, written


def changes(before: Plain, after: Plain) -> list[dict[str, Plain]]:
    """Return the differences in value: 1 and 1.0 are one value.

    An absent value is ``null``; a list that grew or shrank at its end differs there only.
    """
    return list(_between("", before, after))


def _between(path: str, before: Plain, after: Plain) -> Iterator[dict[str, Plain]]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            place = f"{path}/{_escaped(key)}"
            yield from _between(place, before.get(key), after.get(key))
        return
    if isinstance(before, list) and isinstance(after, list) and _comparable(before, after):
        for number in range(max(len(before), len(after))):
            yield from _between(f"{path}/{number}", _at(before, number), _at(after, number))
        return
    yield {"path": path, "before": before, "after": after}


def text_of(state: Plain) -> str:
    """Return the one text of a state: two states are the same JSON where their texts are, 1 and 1.0 being two."""
    return written(state, CANONICAL)


def hash_of(state: Plain) -> str:
    """Return the SHA-256 of the text of a state, in hex."""
    return hashlib.sha256(text_of(state).encode("ascii")).hexdigest()


def _comparable(before: Sequence[Plain], after: Sequence[Plain]) -> bool:
    """Return whether items keep their places: the lists are as long, or one begins with the other."""
    shorter = min(len(before), len(after))
    return len(before) == len(after) or before[:shorter] == after[:shorter]


def _at(items: Sequence[Plain], place: int) -> Plain:
    return items[place] if place < len(items) else None


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
