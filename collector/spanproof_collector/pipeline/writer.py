"""The synchronous way into the store, for importers: the same walk, blocks of the same size."""

from collections.abc import Sequence
from typing import Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.otlp import Batch, Origin, Refused, Sent
from spanproof_collector.pipeline.committing import commit
from spanproof_collector.pipeline.converting import Converted, convert
from spanproof_collector.pipeline.writing import BLOCK_ROWS
from spanproof_collector.store import Store

_BLOCK_BYTES: Final = 32 * 1024**2
"""A block of long contents is written before it has its rows: what waits is held in memory."""


class Writer:
    """Collects requests into blocks and writes those. Nothing is promised before ``flush`` returns."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sent = Sent(deletions=store.deletions, stems=0)
        self._waiting: list[Converted] = []
        self._rows = self._bytes = 0

    def add(
        self,
        request: ExportTraceServiceRequest | ExportLogsServiceRequest,
        data: bytes,
        origin: Origin,
        refused: Sequence[Refused] = (),
    ) -> Batch:
        """Take a request; ``data`` is what it was decoded from, ``refused`` what of it was not read. Return its rows.

        Raises:
            StoreError: a block that became full could not be written.
        """
        converted = convert(request, data, self._sent, origin, refused)
        self._waiting.append(converted)
        self._rows += converted.rows
        self._bytes += converted.size
        if self._rows >= BLOCK_ROWS or self._bytes >= _BLOCK_BYTES:
            self.flush()
        return converted.batch

    def flush(self) -> None:
        """Write what waits; durable on return.

        Raises:
            StoreError: it could not be written.
        """
        waiting, self._waiting = self._waiting, []
        self._rows = self._bytes = 0
        if waiting:
            commit(self._store, waiting, self._sent)
