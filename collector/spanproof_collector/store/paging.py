"""Steps of a trace page by page, from the projection alone: no payload is read, however long the trace is."""

from dataclasses import dataclass
from typing import NamedTuple, cast

from spanproof_collector.store.queries import Query
from spanproof_collector.store.store import Store

PAGE = 1000


class StepCursor(NamedTuple):
    """Where a page ended: the start of its last step, in Unix nanoseconds, and that step's span."""

    start: int
    span_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One span as the projection has it. Times in Unix nanoseconds; ``kind`` is that of a trial's step."""

    trace_id: str
    span_id: str
    parent_span_id: str
    start: int
    end: int
    kind: str
    name: str
    failed: bool

    @property
    def cursor(self) -> StepCursor:
        """What the next page comes after."""
        return StepCursor(self.start, self.span_id)


def read_steps(
    store: Store, project: str, trace_id: str, *, after: StepCursor | None = None, limit: int = PAGE
) -> list[StepRow]:
    """Return the steps of a trace after a cursor, by start and span id, no more than ``limit``."""
    start, span_id = after or (0, "")
    asked = {"project": project, "trace": trace_id, "start": start, "span": span_id, "limit": limit}
    return [
        StepRow(
            trace_id=trace_id,
            span_id=cast(str, row[0]),
            parent_span_id=cast(str, row[1]),
            start=cast(int, row[2]),
            end=cast(int, row[3]),
            kind=cast(str, row[4]),
            name=cast(str, row[5]),
            failed=bool(row[6]),
        )
        for row in store.rows(Query.READ_STEPS, asked)
    ]
