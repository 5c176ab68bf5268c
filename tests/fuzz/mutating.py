"""Changes a case a little: in its protobuf message, in its JSON, in its bytes, or in its packing."""

import ast
import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector import dialects
from spanproof_instrumentation import semconv
from tests.fuzz.cases import Case, pack, unpack_case

Mutate = Callable[[bytes, int], bytes]
"""Changes bytes without knowing what they are: data and the greatest size of the answer."""

_MOST: Final = 65_536
_NUMBERS: Final = (
    0,
    1,
    2,
    3,
    5,
    24,
    127,
    128,
    255,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_DOUBLES: Final = (0.0, -0.0, 1.0, 1.5, 1e19, -1e300, 5e-324, float("inf"), float("-inf"), float("nan"))
_TEXTS: Final = (
    "",
    "0",
    "-1",
    "7",
    "1e400",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    '""',
    "[[",
    '{"a"',
    "\0",
    "é",
    "\U0001f600",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    '"\\ud83d"',
    '[{"role": "assistant", "parts": [{"type": "tool_call", "id": 1, "name": null, "arguments": "{"}]}]',
    '[{"role": "tool", "parts": [{"type": "tool_call_response", "id": [], "response": {"a": 1e999}}]}]',
    '{"role": "user", "content": [{"type": "text", "text": {}}]}',
    '[{"type":"function","function":{"name":"f","arguments":{"a":[1,2]}}}]',
    "[" * 70 + "]" * 70,
    "[" * 2000,
    "1" * 400,
    "x" * 513,
    '["' + "y" * 300 + '", "' + "z" * 300 + '"]',
)


def _words() -> tuple[str, ...]:
    """Return the keys and values that dialects look for: they stand in their source."""
    found = {value for value in vars(semconv).values() if isinstance(value, str) and not value.startswith("_")}
    for path in sorted(Path(dialects.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60:
                found.add(node.value)
    return tuple(sorted(found))


_WORDS: Final = _words()


def mutate(data: bytes, most: int, seed: int, blindly: Mutate) -> bytes:
    """Return the case changed; the same arguments give the same case.

    Args:
        data: the case.
        most: the greatest size of the answer.
        seed: says what is changed.
        blindly: changes bytes without knowing what they are.
    """
    source = random.Random(seed)
    case = unpack_case(data)
    if source.random() < 0.02:
        return blindly(data, most)
    if source.random() < 0.1:  # says one thing and is another
        return pack(replace(case, body=blindly(case.body, most - 1)))
    inner = _unpacked(case)
    changed = blindly(inner, _MOST) if source.random() < 0.2 else _changed(case, inner, source)
    return pack(replace(case, body=_packed(case.encoding, changed)))[:most]


def _unpacked(case: Case) -> bytes:
    try:
        match case.encoding:
            case "gzip" | "deflate":
                return zlib.decompressobj(32 + zlib.MAX_WBITS).decompress(case.body, _MOST)
            case _:
                return case.body
    except zlib.error:
        return case.body


def _packed(encoding: str, body: bytes) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(body, 1, mtime=0)
        case "deflate":
            return zlib.compress(body, 1)
        case _:
            return body


def _changed(case: Case, body: bytes, source: random.Random) -> bytes:
    if case.form == "json":
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return body
        for _ in range(source.randint(1, 3)):
            document = _change_json(document, source)
        try:
            return json.dumps(document, ensure_ascii=source.random() < 0.5).encode("utf-8", "surrogatepass")
        except RecursionError:
            return body
    kind = ExportTraceServiceRequest if case.signal == "traces" else ExportLogsServiceRequest
    request: Message = kind()
    try:
        request.MergeFromString(body)
    except DecodeError:
        return body
    for _ in range(source.randint(1, 4)):
        _change_message(request, source)
    return request.SerializeToString()


# --- protobuf ------------------------------------------------------------------------------------------------------


def _change_message(root: Message, source: random.Random) -> None:
    held = list(_messages(root, 300))
    # By kind first: most messages are values of attributes, and a span's own fields would hardly ever be met.
    kind = source.choice(sorted({each.DESCRIPTOR.full_name for each in held}))
    chosen = source.choice([each for each in held if each.DESCRIPTOR.full_name == kind])
    field = source.choice(_fields_of(chosen))
    if not field.is_repeated:
        if source.random() < 0.15:
            chosen.ClearField(field.name)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            _fill(getattr(chosen, field.name), held, source)
        else:
            setattr(chosen, field.name, _scalar(field, source))
        return
    items = getattr(chosen, field.name)
    at = source.randrange(len(items)) if items else 0
    match source.randrange(4):
        case 0 if items:
            del items[at]
        case 1 if items:
            items.append(items[at])
        case 2 if len(items) > 1:
            other = source.randrange(len(items))
            keep = type(items[at])()
            keep.CopyFrom(items[at])
            items[at].CopyFrom(items[other])
            items[other].CopyFrom(keep)
        case _:
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                _fill(items.add(), held, source)


def _fill(message: Message, held: list[Message], source: random.Random) -> None:
    """Make the message another one: a copy of one of its kind, or one with a field set."""
    alike = [each for each in held if each.DESCRIPTOR is message.DESCRIPTOR and each is not message]
    if alike and source.random() < 0.6:
        copied = type(message)()
        copied.CopyFrom(source.choice(alike))
        if copied.ByteSize() < _MOST // 2:
            message.CopyFrom(copied)
        return
    message.SetInParent()
    field = source.choice(_fields_of(message))
    if field.type != FieldDescriptor.TYPE_MESSAGE and not field.is_repeated:
        setattr(message, field.name, _scalar(field, source))


def _messages(message: Message, most: int) -> Iterator[Message]:
    """Yield the message and those in it, at most so many."""
    queue = [message]
    while queue and most:
        most -= 1
        found = queue.pop()
        yield found
        for field, value in _fields(found):
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                queue.extend(value if field.is_repeated else (value,))


def _fields(message: Message) -> "Iterable[tuple[FieldDescriptor, Any]]":
    return message.ListFields()


def _fields_of(message: Message) -> "list[FieldDescriptor]":
    return cast("list[FieldDescriptor]", message.DESCRIPTOR.fields)


def _scalar(field: FieldDescriptor, source: random.Random) -> object:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return source.randbytes(source.choice((0, 1, 7, 8, 8, 8, 16, 16, 16, 17, 600)))
        case FieldDescriptor.CPPTYPE_STRING:
            return source.choice(_WORDS if source.random() < 0.5 else _TEXTS)
        case FieldDescriptor.CPPTYPE_BOOL:
            return source.random() < 0.5
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return source.choice(_DOUBLES)
        case FieldDescriptor.CPPTYPE_UINT64 | FieldDescriptor.CPPTYPE_INT64:
            bits = 64
        case _:
            bits = 32
    signed = field.cpp_type not in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
    number = source.choice(_NUMBERS) % 2**bits
    return number - 2**bits if signed and number >= 2 ** (bits - 1) else number


# --- JSON ----------------------------------------------------------------------------------------------------------


def _change_json(document: object, source: random.Random) -> object:
    places: list[tuple[dict[object, object], object]] = []
    queue: list[object] = [document]
    while queue and len(places) < 500:
        found = queue.pop()
        if isinstance(found, list | dict):
            holder = cast("dict[object, object]", found)  # a list is one whose keys are places
            keys: list[object] = [*range(len(found))] if isinstance(found, list) else [*found]
            places += ((holder, key) for key in keys)
            queue += (holder[key] for key in keys)
    if not places:
        return document
    holder, key = source.choice(places)
    other, other_key = source.choice(places)
    match source.randrange(6):
        case 0:
            del holder[key]
        case 1 | 2 if isinstance(key, str):
            holder[source.choice(_WORDS)] = holder[key]
        case 1 | 2:
            cast("list[object]", holder).append(holder[key])
        case 3 if len(copied := json.dumps(other[other_key])) < 4096:
            holder[key] = json.loads(copied)
        case 4:
            holder[key] = [holder[key]]
        case _:
            holder[key] = _odd_json(source)
    return document


def _odd_json(source: random.Random) -> object:
    number = source.choice((*_NUMBERS, *_DOUBLES))
    text = source.choice(_WORDS if source.random() < 0.5 else (*_TEXTS, "\ud83d"))
    return source.choice((None, True, number, str(number), -number, text, text, [], {}, [text], {text: number}))
