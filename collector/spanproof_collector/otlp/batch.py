"""What one Export request or file becomes: columns for the tables of the store, and what was rejected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from spanproof_collector.otlp.content import Rows, Trace
from spanproof_collector.otlp.decode import Signal

Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A span or log record that cannot be stored: why, and its bytes, protobuf or JSON as they came."""

    signal: Signal
    reason: str
    body: bytes
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Columns by name for each table. A table without rows has no columns."""

    spans: Columns = field(default_factory=dict)
    log_records: Columns = field(default_factory=dict)
    steps: Columns = field(default_factory=dict)
    log_steps: Columns = field(default_factory=dict)
    content: Rows = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()

    @property
    def span_count(self) -> int:
        """How many spans are stored."""
        return len(self.spans.get("span_id", ()))

    @property
    def log_count(self) -> int:
        """How many log records are stored."""
        return len(self.log_records.get("record_id", ()))


def merge(batches: Sequence[Batch]) -> Batch:
    """Return one batch with the rows of all, in order."""
    if len(batches) == 1:
        return batches[0]
    content: dict[Trace, dict[str, bytes]] = {}
    for batch in batches:
        for trace, texts in batch.content.items():
            content.setdefault(trace, {}).update(texts)
    return Batch(
        spans=_merge_columns(batch.spans for batch in batches),
        log_records=_merge_columns(batch.log_records for batch in batches),
        steps=_merge_columns(batch.steps for batch in batches),
        log_steps=_merge_columns(batch.log_steps for batch in batches),
        content=content,
        rejected=tuple(chain.from_iterable(batch.rejected for batch in batches)),
    )


def _merge_columns(tables: Iterable[Columns]) -> Columns:
    filled = [table for table in tables if table]
    if len(filled) <= 1:
        return filled[0] if filled else {}
    return {name: list(chain.from_iterable(table[name] for table in filled)) for name in filled[0]}
