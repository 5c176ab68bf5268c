"""Parquet that ``spanproof export`` wrote. Parquet of any other columns is of no format that is known here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from spanproof_collector.errors import DecodeError
from spanproof_collector.exporters.otlp_json import logs_line, traces_line
from spanproof_collector.exporters.parquet import is_ours
from spanproof_collector.exporters.parquet_rows import logs_of, spans_of
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Recorded
from spanproof_collector.importers._importer import Found
from spanproof_collector.otlp import decode_logs, decode_traces

_MAGIC: Final = b"PAR1"
_ROWS_AT_ONCE: Final = 500


@dataclass(frozen=True)
class Parquet:
    """Our own export: a row a span or log record, read back as the requests that it came in."""

    name: str = "parquet"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return what the file holds, or ``None`` where it is no Parquet, or of other columns.

        Raises:
            OSError: the file cannot be read.
        """
        if not file.head.startswith(_MAGIC):
            return None
        try:
            opened = pq.ParquetFile(file.path)
            if not is_ours(opened.schema_arrow):
                return None
        except (pa.ArrowException, DecodeError) as error:
            return iter([Damage(reason=f"the Parquet cannot be read: {error}")])
        return _found(opened)


def _found(opened: pq.ParquetFile) -> Iterator[Found]:
    with opened:
        try:
            for batch in opened.iter_batches(batch_size=_ROWS_AT_ONCE):
                rows = batch.to_pylist()
                if spans := spans_of(rows):
                    line = traces_line(spans)
                    traces = decode_traces(line, "json")
                    yield Recorded(request=traces.request, data=line, refused=traces.refused)
                if records := logs_of(rows):
                    line = logs_line(records)
                    logs = decode_logs(line, "json")
                    yield Recorded(request=logs.request, data=line, refused=logs.refused)
        except (pa.ArrowException, KeyError, ValueError) as error:
            yield Damage(reason=f"the Parquet cannot be read to its end: {error}")
