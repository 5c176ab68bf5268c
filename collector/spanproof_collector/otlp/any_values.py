"""Reads one protobuf AnyValue: its type number and text for the store, and the plain value."""

from base64 import b64encode
from collections.abc import Iterable
from math import isinf, isnan

import msgspec
from opentelemetry.proto.common.v1 import common_pb2

from spanproof_collector.model.values import Value
from spanproof_collector.store.values import ARRAY, BOOL, BYTES, DOUBLE, EMPTY, INT, KVLIST, STRING

_encode = msgspec.json.Encoder().encode
_Spelled = dict[str, object]


def read(value: common_pb2.AnyValue) -> tuple[int, str, Value]:
    """Return the store's type number and text (see ``store.values``), and the value as Python has it."""
    # Getters of the frequent types first: asking which of the seven it is costs as much as two of them.
    if text := value.string_value:
        return STRING, text, text
    if number := value.int_value:
        return INT, str(number), number
    match value.WhichOneof("value"):
        case "bool_value":
            truth = value.bool_value
            return BOOL, "true" if truth else "false", truth
        case "double_value":
            double = value.double_value
            return DOUBLE, _spell_double(double), double
        case "int_value":
            return INT, "0", 0
        case "string_value":
            return STRING, "", ""
        case "array_value":
            elements = value.array_value.values
            spelled = _encode([_spell(element) for element in elements]).decode()
            return ARRAY, spelled, [plain(element) for element in elements]
        case "kvlist_value":
            return KVLIST, _encode(_spell_pairs(value.kvlist_value.values)).decode(), plain(value)
        case "bytes_value":
            data = value.bytes_value
            return BYTES, b64encode(data).decode(), data
        case _:
            return EMPTY, "", None


def plain(value: common_pb2.AnyValue) -> Value:
    """Return the value as Python has it; of duplicate keys in a list of pairs the last one."""
    match value.WhichOneof("value"):
        case None | "string_value_strindex":
            return None
        case "array_value":
            return [plain(element) for element in value.array_value.values]
        case "kvlist_value":
            return {pair.key: plain(pair.value) for pair in value.kvlist_value.values}
        case which:
            scalar: Value = getattr(value, which)
            return scalar


def _spell_double(double: float) -> str:
    if isnan(double):
        return "NaN"
    if isinf(double):
        return "Infinity" if double > 0 else "-Infinity"
    return repr(double)


def _spell(value: common_pb2.AnyValue) -> _Spelled:
    """Return the value as OTLP/JSON spells it."""
    match value.WhichOneof("value"):
        case "string_value":
            return {"stringValue": value.string_value}
        case "bool_value":
            return {"boolValue": value.bool_value}
        case "int_value":
            return {"intValue": str(value.int_value)}
        case "double_value":
            double = value.double_value
            return {"doubleValue": _spell_double(double) if isnan(double) or isinf(double) else double}
        case "array_value":
            return {"arrayValue": {"values": [_spell(element) for element in value.array_value.values]}}
        case "kvlist_value":
            return {"kvlistValue": {"values": _spell_pairs(value.kvlist_value.values)}}
        case "bytes_value":
            return {"bytesValue": b64encode(value.bytes_value).decode()}
        case _:
            return {}


def _spell_pairs(pairs: Iterable[common_pb2.KeyValue]) -> list[_Spelled]:
    return [{"key": pair.key, "value": _spell(pair.value)} for pair in pairs]
