"""Spans and log records, verbatim: what a sender said, in OpenTelemetry's words."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from spanproof_collector.model.values import Attributes, Value

SpanKind = Literal["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
SPAN_KINDS: tuple[SpanKind, ...] = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""OTLP's SpanKind numbers are indexes of this tuple."""

StatusCode = Literal["UNSET", "OK", "ERROR"]
STATUS_CODES: tuple[StatusCode, ...] = ("UNSET", "OK", "ERROR")
"""OTLP's StatusCode numbers are indexes of this tuple."""

IMPORTED = "spanproof.importers"
"""The scope of spans that our importers make of recorded sessions."""

Pairs = tuple[tuple[str, Value], ...]
"""Attributes in the order sent, duplicate keys kept."""


def labels_in(pairs: Pairs) -> dict[str, Value]:
    """Return what of a resource's attributes is in our namespace."""
    return {key: value for key, value in pairs if key.startswith("spanproof.")}


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Who sent it."""

    attributes: Pairs = ()
    dropped_attributes: int = 0
    schema_url: str = ""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The instrumentation library that wrote it."""

    name: str = ""
    version: str = ""
    attributes: Pairs = ()
    dropped_attributes: int = 0
    schema_url: str = ""


@dataclass(frozen=True, kw_only=True)
class SpanEvent:
    """A moment inside a span. Time in Unix nanoseconds."""

    time: int
    name: str
    pairs: Pairs = ()
    dropped_attributes: int = 0

    @property
    def attributes(self) -> Attributes:
        """The attributes by key; of duplicate keys the last one."""
        return dict(self.pairs)


@dataclass(frozen=True, kw_only=True)
class SpanLink:
    """A reference to another span."""

    trace_id: str
    span_id: str
    trace_state: str = ""
    pairs: Pairs = ()
    dropped_attributes: int = 0
    flags: int = 0


@dataclass(frozen=True, kw_only=True)
class Span:
    """One span as it was sent. Ids are lower-case hex; an absent parent is ``""``; times are Unix nanoseconds."""

    project: str = "default"
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    trace_state: str = ""
    flags: int = 0
    name: str = ""
    kind: SpanKind = "UNSPECIFIED"
    start: int = 0
    end: int = 0
    status: StatusCode = "UNSET"
    status_message: str = ""
    pairs: Pairs = ()
    dropped_attributes: int = 0
    events: tuple[SpanEvent, ...] = ()
    dropped_events: int = 0
    links: tuple[SpanLink, ...] = ()
    dropped_links: int = 0
    resource: Resource = Resource()
    scope: Scope = Scope()
    version: int = 0
    """Of two spans with one id the greater version is the richer one and stands."""

    @cached_property
    def attributes(self) -> Attributes:
        """The attributes by key; of duplicate keys the last one."""
        return dict(self.pairs)

    @cached_property
    def labeled(self) -> Attributes:
        """The attributes with the labels of the resource beneath them: agents of any language set those."""
        return {**labels_in(self.resource.attributes), **self.attributes}


@dataclass(frozen=True, kw_only=True)
class LogRecord:
    """One log record as it was sent. ``event_name`` is the field, else the older attribute ``event.name``."""

    project: str = "default"
    trace_id: str = ""
    span_id: str = ""
    time: int = 0
    observed_time: int = 0
    severity: int = 0
    severity_text: str = ""
    event_name: str = ""
    body: Value = None
    pairs: Pairs = ()
    dropped_attributes: int = 0
    flags: int = 0
    resource: Resource = Resource()
    scope: Scope = Scope()
    record_id: str = ""
    """Hash of the whole record: a record sent twice has one id."""

    @cached_property
    def attributes(self) -> Attributes:
        """The attributes by key; of duplicate keys the last one."""
        return dict(self.pairs)

    @cached_property
    def labeled(self) -> Attributes:
        """The attributes with the labels of the resource beneath them: agents of any language set those."""
        return {**labels_in(self.resource.attributes), **self.attributes}
