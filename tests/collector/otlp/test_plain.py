"""What is read from a request as it was sent is what is read from the messages in it, or it is left to those."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.traffic import requests
from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import Batch, Sent, convert_plain_traces, convert_traces, decode_traces
from spanproof_collector.otlp.wire import alone, spelled, varint
from tests.collector.otlp.requests import trace_requests
from tests.factories import event, span, trace_id, traces

_IDS = spelled(1, trace_id("a")) + spelled(2, b"span-one")


def _rows(batch: Batch) -> dict[str, object]:
    tables = {"spans": batch.spans, "steps": batch.steps}
    found: dict[str, object] = {
        f"{table}.{name}": list(column)
        for table, columns in tables.items()
        for name, column in columns.items()
        if name != "ingested_at"
    }
    return found | {"content": list(batch.content.items()), "rejected": batch.rejected}


def _agrees(body: bytes) -> bool:
    """Return whether the bytes were read as sent; then the messages must have said the same.

    Versions go by the bytes of a span, so they are the same where protobuf spells the request in these bytes.
    """
    plain = convert_plain_traces(body, Sent())
    if plain is None:
        return False
    decoded = decode_traces(body)
    assert not decoded.refused
    assert not decoded.warning
    found, expected = _rows(plain), _rows(convert_traces(decoded.request, Sent()))
    if decoded.request.SerializeToString(deterministic=True) != body:
        for table in ("spans", "steps"):
            del found[f"{table}.version"], expected[f"{table}.version"]
    assert found == expected
    return True


def _with_attribute(body: bytes) -> bytes:
    return alone(_IDS + spelled(9, body))


def _pair(value: bytes, key: bytes = b"key") -> bytes:
    return _with_attribute(spelled(1, key) + spelled(2, value))


def _nested(levels: int) -> bytes:
    value = spelled(1, b"deep")
    for _ in range(levels):
        value = spelled(5, spelled(1, value))
    return value


@pytest.mark.parametrize("size", [0, 1, 59, 115, 116, 117, 118, 119, 120, 127, 128, 129, 600, 16_370, 16_384, 70_000])
def test_a_text_of_any_size_is_read_as_sent(size: int) -> None:
    assert _agrees(_pair(spelled(1, b"x" * size)))
    assert _agrees(_pair(spelled(1, "é".encode() * size), key=b"k" * min(size + 1, 127)))


@pytest.mark.parametrize("key", [1, 26, 115, 120, 121, 122, 125, 126, 127, 128])
def test_a_text_is_read_as_sent_under_a_key_of_any_size(key: int) -> None:
    for size in (0, 1, 2, 5, 90, 120, *range(124, 132)):
        assert _agrees(_pair(spelled(1, b"x" * size), key=b"k" * key))


@pytest.mark.parametrize(
    "value",
    [b"", b"\x10\x01", b"\x18\x07", b"\x21" + bytes(8), spelled(7, b"\xff"), _nested(3), spelled(6, b""), b"\x08\x07"],
    ids=["empty", "bool", "int", "double", "bytes", "list", "pairs", "of a wrong wire type"],
)
def test_every_kind_of_value_is_read_as_sent(value: bytes) -> None:
    assert _agrees(_pair(value))


def test_usual_traffic_is_read_as_sent() -> None:
    sent, other = Sent(), Sent()
    for body in requests(300, 60):
        plain = convert_plain_traces(body, sent)
        whole = convert_traces(decode_traces(body).request, other)
        assert plain is not None
        assert _rows(plain) == _rows(whole)
        sent.add(plain.content)
        other.add(whole.content)


@pytest.mark.parametrize(("count", "size"), [(31, 1), (32, 1), (33, 1), (65, 1), (5, 100_000)])
def test_spans_are_read_as_sent_however_many_come_together(count: int, size: int) -> None:
    spans = [span(f"{number}", {"text": "x" * size, "n": number}) for number in range(count)]
    spans[count // 2].events.append(event("e", {"k": "v"}))
    assert _agrees(traces(*spans).SerializeToString())


_LONG = varint(3)[:-1] + b"\x83\x00"
"""Three, in more bytes than it needs."""

_UNKNOWN = b"\xfa\x01\x01?"
"""A field that no message has."""

_ODD = {
    "the key after the value": _with_attribute(spelled(2, spelled(1, b"x")) + spelled(1, b"key")),
    "the key twice": _with_attribute(spelled(1, b"old") + spelled(1, b"key") + spelled(2, spelled(1, b"x"))),
    "the value twice": _with_attribute(
        spelled(1, b"key") + spelled(2, spelled(1, b"x")) + spelled(2, spelled(1, b"y"))
    ),
    "two values in one": _pair(spelled(1, b"x") + b"\x18\x07"),
    "a length too long": _with_attribute(b"\x0a" + _LONG + b"key" + spelled(2, spelled(1, b"x"))),
    "a number too long": _pair(b"\x18" + _LONG),
    "an empty key that is spelled": _with_attribute(b"\x0a\x00" + spelled(2, spelled(1, b"x"))),
    "a field nobody knows before the value": _with_attribute(spelled(1, b"key") + _UNKNOWN + b"\x12\x00"),
    "a field nobody knows before the ids": alone(_UNKNOWN + _IDS),
    "the name before the ids": alone(spelled(5, b"name") + _IDS),
    "the name twice": alone(_IDS + spelled(5, b"one") + spelled(5, b"two")),
    "a zero that is spelled": alone(_IDS + b"\x30\x00"),
    "an event out of order": alone(_IDS + spelled(11, spelled(2, b"name") + b"\x09" + bytes(7) + b"\x01")),
    "a trace state and what was dropped": alone(_IDS + spelled(3, b"k=v") + b"\x50\x01\x60\x02\x70\x03"),
    "a link out of order": alone(_IDS + spelled(13, spelled(2, b"span-two") + spelled(1, trace_id("b")))),
}
_BROKEN = {
    "a text that is not UTF-8": _pair(spelled(1, b"\xff\xfe")),
    "a long text that is not UTF-8": _pair(spelled(1, b"x" * 300 + b"\xff")),
    "half of a pair of surrogates": _pair(spelled(1, b"\xed\xa0\x80")),
    "a key that is not UTF-8": _pair(spelled(1, b"x"), key=b"\xff"),
    "a name that is not UTF-8": alone(_IDS + spelled(5, b"\xff")),
    "a trace state that is not UTF-8": alone(_IDS + spelled(3, b"\xff")),
    "a byte too many after a text of two bytes' length": _with_attribute(
        spelled(1, b"key") + b"\x12" + varint(16_383) + b"\x0a" + varint(16_379) + b"x" * 16_381
    ),
    "nesting that nobody reads": _pair(_nested(60)),
    "nesting in an event that nobody reads": alone(
        _IDS + spelled(11, spelled(3, spelled(1, b"k") + spelled(2, _nested(60))))
    ),
    "an attribute that is cut off": _with_attribute(b"\x0a\x03key\x12\x09\x0a\x07x"),
    "a request that is cut off": traces(span("a", {"k": "v" * 40})).SerializeToString()[:-3],
    "a short trace id": alone(spelled(1, b"short") + spelled(2, b"span-one")),
    "no spans": b"",
}


@pytest.mark.parametrize("body", _ODD.values(), ids=_ODD)
def test_what_is_spelled_oddly_is_read_as_sent_the_first_time_and_again(body: bytes) -> None:
    for _ in range(3):
        assert _agrees(body)


@pytest.mark.parametrize("body", _BROKEN.values(), ids=_BROKEN)
def test_what_cannot_be_read_is_left_to_the_messages(body: bytes) -> None:
    assert convert_plain_traces(body, Sent()) is None


def test_the_version_of_a_span_goes_by_its_bytes_as_sent() -> None:
    versions = []
    for body in (_IDS, _IDS + b"\x30\x00", b"\x30\x00" + _IDS):
        found = convert_plain_traces(alone(body), Sent())
        assert found is not None
        (version,) = found.spans["version"]
        assert isinstance(version, int)
        assert version >> 24 == len(body)
        versions.append(version)
    assert len(set(versions)) == 3


@pytest.mark.parametrize("field", [9, 11])
def test_nesting_ends_where_it_ends_for_the_messages(field: int) -> None:
    read = []
    for levels in range(40, 55):
        pair = spelled(1, b"key") + spelled(2, _nested(levels))
        body = alone(_IDS + spelled(field, pair if field == 9 else spelled(3, pair)))
        read.append(_agrees(body))
        assert read[-1] is not bool(decode_traces(body).refused)
    assert len(set(read)) == 2


def test_one_span_that_is_rejected_leaves_the_whole_request_to_the_messages() -> None:
    body = requests(16, 16)[0]
    assert _agrees(body)
    assert _agrees(body + _ODD["the name twice"])
    assert not _agrees(body + _BROKEN["a short trace id"])


@settings(max_examples=10, deadline=None)
@given(trace_requests())
def test_any_request_that_protobuf_spelled_is_read_as_sent(request: ExportTraceServiceRequest) -> None:
    assert _agrees(request.SerializeToString(deterministic=True))


_SEED = traces(
    span("a", {"text": "x" * 200, "n": 7, "list": ["a", 1, None], "pairs": {"a": {"b": 1}}, "short": "s"}),
    span("b", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": "[]"}, events=[event("e", {"k": [1]})]),
).SerializeToString()


def _changed(change: Callable[[bytearray, int, int], None]) -> st.SearchStrategy[bytes]:
    def apply(at: int, number: int) -> bytes:
        body = bytearray(_SEED)
        change(body, at, number)
        return bytes(body)

    return st.builds(apply, st.integers(0, len(_SEED) - 1), st.integers(0, 255))


def _set(body: bytearray, at: int, number: int) -> None:
    body[at] = number


def _insert(body: bytearray, at: int, number: int) -> None:
    body.insert(at, number)


def _cut(body: bytearray, at: int, number: int) -> None:
    del body[at : at + 1 + number % 4]


@settings(max_examples=150, deadline=None)
@given(st.one_of(_changed(_set), _changed(_insert), _changed(_cut)))
def test_whatever_bytes_are_changed_both_ways_agree(body: bytes) -> None:
    try:
        decode_traces(body)
    except DecodeError:
        assert convert_plain_traces(body, Sent()) is None
    else:
        _agrees(body)
