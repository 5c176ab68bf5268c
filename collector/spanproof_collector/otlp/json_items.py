"""Finds the spans or log records in OTLP/JSON by its brackets alone, whatever they hold."""

import re
from collections.abc import Iterator
from typing import Final

_BRACKETS_AND_STRINGS: Final = re.compile(rb'[{}\[\]]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_AROUND_ITEMS: Final = b"{[{[{["  # of groups, of scopes in them, of spans or records in those
_BRACE: Final = ord("{")


def items(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each span or record begins and ends."""
    open_brackets = bytearray()
    start = 0
    for token in _BRACKETS_AND_STRINGS.finditer(body):
        match token[0]:
            case b"{" | b"[":
                if token[0] == b"{" and open_brackets == _AROUND_ITEMS:
                    start = token.start()
                open_brackets += token[0]
            case b"}" | b"]" if open_brackets:
                opened = open_brackets.pop()
                if opened == _BRACE and open_brackets == _AROUND_ITEMS:
                    yield start, token.end()
            case _:
                pass


def items_of_group(group: bytes) -> list[bytes]:
    """Return each span or record of one resource group."""
    around = b"{[" + group
    return [around[start:end] for start, end in items(around)]


def whole_part(body: bytes) -> bytes | None:
    """Return the request with the spans or records before the place where the JSON is cut off, or ``None``."""
    ends = [end for _, end in items(body)]
    return body[: ends[-1]] + b"]}]}]}" if ends else None


class Numbered:
    """The same JSON with a number in the place of each span or record, so that none of them can spoil the rest."""

    def __init__(self, body: bytes) -> None:
        self._found: list[bytes] = []
        parts: list[bytes] = []
        end = 0
        for start, stop in items(body):
            parts += (body[end:start], b'{"item":%d}' % len(self._found))
            self._found.append(body[start:stop])
            end = stop
        self.text = b"".join((*parts, body[end:]))

    def item(self, place: bytes) -> bytes:
        """Return what stood in a place. Every object there is one of ours; anything else is no item, and itself."""
        return self._found[int(place[place.index(b":") + 1 : -1])] if place[:1] == b"{" else place
