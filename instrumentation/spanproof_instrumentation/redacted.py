"""Copies of spans and log records from which redaction took what must not leave."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status
from opentelemetry.util.types import Attributes

from spanproof_instrumentation.redaction import Redaction

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord


class _RedactedSpan(ReadableSpan):
    """A span that still says how much the SDK itself had dropped."""

    dropped: tuple[int, int, int] = (0, 0, 0)

    @property
    def dropped_attributes(self) -> int:
        return self.dropped[0]

    @property
    def dropped_events(self) -> int:
        return self.dropped[1]

    @property
    def dropped_links(self) -> int:
        return self.dropped[2]


class _RedactedEvent(Event):
    dropped: int = 0

    @property
    def dropped_attributes(self) -> int:
        return self.dropped


class _RedactedLink(Link):
    dropped: int = 0

    @property
    def dropped_attributes(self) -> int:
        return self.dropped


class Copies:
    """Makes redacted copies; remembers the resource, which is the same for all."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._resource: tuple[Resource, Resource] | None = None

    def span(self, span: ReadableSpan) -> ReadableSpan:
        """Return a copy of a span."""
        redaction = self._redaction
        made = _RedactedSpan(
            name=redaction.text("span.name", span.name) or "",
            context=span.get_span_context(),
            parent=span.parent,
            resource=self._redacted_resource(span.resource),
            attributes=_attributes(redaction, span.attributes),
            events=[self._event(event) for event in span.events],
            links=[self._link(link) for link in span.links],
            kind=span.kind,
            status=Status(span.status.status_code, redaction.text("status.message", span.status.description)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )
        made.dropped = (span.dropped_attributes, span.dropped_events, span.dropped_links)
        return made

    def record(self, record: "ReadableLogRecord") -> "ReadableLogRecord":
        """Return a copy of a log record."""
        made = copy.copy(record)
        inner = copy.copy(record.log_record)
        inner.body = cast("str | None", self._redaction.value("log.body", inner.body))
        inner.attributes = _attributes(self._redaction, inner.attributes)
        # A record of the SDK is frozen only on paper, and its constructor differs between versions.
        object.__setattr__(made, "log_record", inner)
        object.__setattr__(made, "resource", self._redacted_resource(record.resource))
        return made

    def _event(self, event: Event) -> Event:
        made = _RedactedEvent(
            self._redaction.text("event.name", event.name) or "",
            _attributes(self._redaction, event.attributes),
            event.timestamp,
        )
        made.dropped = event.dropped_attributes
        return made

    def _link(self, link: Link) -> Link:
        made = _RedactedLink(link.context, _attributes(self._redaction, link.attributes))
        made.dropped = link.dropped_attributes
        return made

    def _redacted_resource(self, resource: Resource) -> Resource:
        if self._resource is None or self._resource[0] is not resource:
            made = Resource(_attributes(self._redaction, resource.attributes) or {}, resource.schema_url)
            self._resource = (resource, made)
        return self._resource[1]


def redacted_spans(redaction: Redaction, spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    """Return copies that may leave."""
    copies = Copies(redaction)
    return [copies.span(span) for span in spans]


def redacted_records(redaction: Redaction, records: "Sequence[ReadableLogRecord]") -> "list[ReadableLogRecord]":
    """Return copies that may leave."""
    copies = Copies(redaction)
    return [copies.record(record) for record in records]


def _attributes(redaction: Redaction, attributes: object) -> Attributes:
    return cast("Attributes", redaction.attributes(cast("dict[str, object] | None", attributes)))
