"""Refuses a request of too many parts before it is read: it would take a hundred times the memory of its bytes.

A part is anything that becomes an object of its own: a span, an attribute, a value in a list. Two bytes are enough for
one, so that a body of 64 MiB, or a far smaller one that was packed, could hold 32 million.
"""

from typing import Final, Literal

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp.decode import Form

MAX_PARTS: Final = 2_000_000
"""In 64 MiB that is 33 bytes a part; of traffic of agents, a part has 70 and more."""

_BYTES: Final = 2
_FIXED: Final = {1: 8, 5: 4}

_DEEPEST: Final = 400
"""Protobuf itself reads no deeper than 100 messages."""


class _Fields(dict[int, "_Fields"]):
    """What lies in which field of a message; whatever else there is, is no part."""


_VALUE: Final = _Fields()
_PAIR: Final = _Fields({2: _VALUE})
_VALUE.update({5: _Fields({1: _VALUE}), 6: _Fields({1: _PAIR})})
_SPAN: Final = _Fields({9: _PAIR, 11: _Fields({3: _PAIR}), 13: _Fields({4: _PAIR})})
_LOG_RECORD: Final = _Fields({5: _VALUE, 6: _PAIR})


def _request_of(item: _Fields) -> _Fields:
    scope = _Fields({1: _Fields({3: _PAIR}), 2: item})
    return _Fields({1: _Fields({1: _Fields({1: _PAIR}), 2: scope})})


_REQUESTS: Final = {"traces": _request_of(_SPAN), "logs": _request_of(_LOG_RECORD)}


class TooManyPartsError(DecodeError):
    """A request of more parts than we take."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the request has more than {limit:,} spans, attributes and values. Send smaller batches")
        self.limit = limit


def refuse_too_many_parts(signal: Literal["traces", "logs"], body: bytes, form: Form, limit: int = MAX_PARTS) -> None:
    """Return where the unpacked body has at most so many parts.

    Raises:
        TooManyPartsError: it has more.
    """
    if len(body) <= 2 * limit:
        return
    count = body.count(b"{") if form == "json" else _count(body, 0, len(body), _REQUESTS[signal], limit, 0)
    if count > limit:
        raise TooManyPartsError(limit)


def _count(body: bytes, at: int, end: int, fields: _Fields, limit: int, depth: int) -> int:
    """Return how many parts lie in a message; no more are counted once there are too many."""
    count = 0
    while at < end and count <= limit:
        tag = body[at]
        at += 1
        if tag >= 0x80:  # a field past 15, of which none is ours
            tag, at = _varint(body, at - 1, end)
        kind = tag & 7
        if kind == _BYTES:
            length = body[at] if at < end else 0
            at += 1
            if length >= 0x80:
                length, at = _varint(body, at - 1, end)
            inner = fields.get(tag >> 3)
            if inner is not None:
                count += 1
                if length and depth < _DEEPEST:
                    count += _count(body, at, min(at + length, end), inner, limit - count, depth + 1)
            at += length
        elif kind == 0:
            _, at = _varint(body, at, end)
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            break  # no protobuf, as the decoder will say
    return count


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    number = shift = 0
    while at < end and shift < 70:  # longer ones are none
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return number, at
