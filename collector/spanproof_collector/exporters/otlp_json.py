"""Spans and log records as OTLP/JSON: one Export request a line, in the spelling that the protocol prescribes.

Ids are lower-case hex, 64-bit numbers are strings, bytes base64, enums numbers, names in lowerCamelCase; what has its
default is left out, but for the value of an attribute, which may be the empty one.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from spanproof_collector.otlp import decode_logs
from spanproof_collector.otlp.identity import group_bytes, record_id
from spanproof_collector.store import WholeLog, WholeSpan
from spanproof_collector.store.values import EMPTY, STRING
from spanproof_collector.store.whole import Attribute, Attributes, WholeResource, WholeScope

_encode = msgspec.json.Encoder().encode
_Object: TypeAlias = dict[str, object]
_NON_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_EVENT_NAME: Final = "event.name"


def traces_line(spans: Sequence[WholeSpan]) -> bytes:
    """Return one ExportTraceServiceRequest with these spans, without a line break."""
    groups: dict[WholeResource, dict[WholeScope, list[_Object]]] = defaultdict(lambda: defaultdict(list))
    for span in spans:
        groups[span.resource][span.scope].append(_span(span))
    return _encode({"resourceSpans": [_group(each, scopes, "scopeSpans", "spans") for each, scopes in groups.items()]})


def logs_line(records: Sequence[WholeLog]) -> bytes:
    """Return one ExportLogsServiceRequest with these log records, without a line break."""
    groups: dict[WholeResource, dict[WholeScope, list[_Object]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record.resource][record.scope].append(_log(record))
    return _encode(
        {"resourceLogs": [_group(each, scopes, "scopeLogs", "logRecords") for each, scopes in groups.items()]}
    )


def _group(resource: WholeResource, scopes: dict[WholeScope, list[_Object]], name: str, items: str) -> _Object:
    spelled = [
        _without_defaults({"scope": _scope(scope), items: found, "schemaUrl": scope.schema_url})
        for scope, found in scopes.items()
    ]
    return _without_defaults(
        {
            "resource": _without_defaults(
                {
                    "attributes": _pairs(resource.attributes),
                    "droppedAttributesCount": resource.dropped_attributes,
                }
            ),
            name: spelled,
            "schemaUrl": resource.schema_url,
        }
    )


def _scope(scope: WholeScope) -> _Object:
    return _without_defaults(
        {
            "name": scope.name,
            "version": scope.version,
            "attributes": _pairs(scope.attributes),
            "droppedAttributesCount": scope.dropped_attributes,
        }
    )


def _span(span: WholeSpan) -> _Object:
    return _without_defaults(
        {
            "traceId": span.trace_id,
            "spanId": span.span_id,
            "traceState": span.trace_state,
            "parentSpanId": span.parent_span_id,
            "flags": span.flags,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": _number(span.start),
            "endTimeUnixNano": _number(span.end),
            "attributes": _pairs(span.attributes),
            "droppedAttributesCount": span.dropped_attributes,
            "events": [
                _without_defaults(
                    {
                        "timeUnixNano": _number(event.time),
                        "name": event.name,
                        "attributes": _pairs(event.attributes),
                        "droppedAttributesCount": event.dropped_attributes,
                    }
                )
                for event in span.events
            ],
            "droppedEventsCount": span.dropped_events,
            "links": [
                _without_defaults(
                    {
                        "traceId": link.trace_id,
                        "spanId": link.span_id,
                        "traceState": link.trace_state,
                        "attributes": _pairs(link.attributes),
                        "droppedAttributesCount": link.dropped_attributes,
                        "flags": link.flags,
                    }
                )
                for link in span.links
            ],
            "droppedLinksCount": span.dropped_links,
        }
    ) | {"status": _without_defaults({"message": span.status_message, "code": span.status})}


def _log(record: WholeLog) -> _Object:
    """Return the record as it was sent.

    The store keeps one event name, from the field or from the older attribute, and an empty body like none. Where that
    leaves a choice, the record's id tells, which is a hash of what was sent.
    """
    names = (True, False) if _named_by_attribute(record) else (True,)
    bodies = (False, True) if record.body.kind == EMPTY else (True,)
    spellings = [_spelled(record, with_name=name, with_body=body) for name in names for body in bodies]
    if len(spellings) == 1:
        return spellings[0]
    return next((each for each in spellings if _id_of(record, each) == record.record_id), spellings[0])


def _spelled(record: WholeLog, *, with_name: bool, with_body: bool) -> _Object:
    head = {
        "timeUnixNano": _number(record.time),
        "observedTimeUnixNano": _number(record.observed_time),
        "severityNumber": record.severity,
        "severityText": record.severity_text,
    }
    body = {"body": _value(record.body)} if with_body else {}
    rest = {
        "attributes": _pairs(record.attributes),
        "droppedAttributesCount": record.dropped_attributes,
        "flags": record.flags,
        "traceId": record.trace_id,
        "spanId": record.span_id,
        "eventName": record.event_name if with_name else "",
    }
    return _without_defaults(head) | body | _without_defaults(rest)


def _named_by_attribute(record: WholeLog) -> bool:
    last = next((each for each in reversed(record.attributes) if each.key == _EVENT_NAME), None)
    return last is not None and last.kind == STRING and last.text == record.event_name


def _id_of(record: WholeLog, spelled: _Object) -> str:
    """Return the id of a record that was spelled so."""
    line = _encode({"resourceLogs": [_group(record.resource, {record.scope: [spelled]}, "scopeLogs", "logRecords")]})
    (group,) = decode_logs(line, "json").request.resource_logs
    (scope,) = group.scope_logs
    shared = group_bytes(group.resource, group.schema_url, scope.scope, scope.schema_url)
    return record_id(scope.log_records[0].SerializeToString(deterministic=True), shared)


def _pairs(attributes: Attributes) -> list[_Object]:
    return [{"key": each.key, "value": _value(each)} for each in attributes]


def _value(value: Attribute) -> _Object:
    text = value.text
    match value.kind:
        case 1:  # STRING
            return {"stringValue": text}
        case 2:  # BOOL
            return {"boolValue": text == "true"}
        case 3:  # INT
            return {"intValue": text}
        case 4:  # DOUBLE
            return {"doubleValue": text if text in _NON_FINITE else msgspec.Raw(text.encode())}
        case 5:  # ARRAY, stored as OTLP/JSON spells it
            return {"arrayValue": {"values": msgspec.Raw(text.encode())}}
        case 6:  # KVLIST, likewise
            return {"kvlistValue": {"values": msgspec.Raw(text.encode())}}
        case 7:  # BYTES
            return {"bytesValue": text}
        case _:  # EMPTY
            return {}


def _number(value: int) -> str:
    return str(value) if value else ""


def _without_defaults(fields: _Object) -> _Object:
    return {name: value for name, value in fields.items() if value or (value == {} and name in ("resource", "scope"))}
