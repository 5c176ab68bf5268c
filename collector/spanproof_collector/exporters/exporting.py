"""Writes trials into one file that ``import`` reads back to equal trials."""

import contextlib
import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

from spanproof_collector.errors import CollectorError
from spanproof_collector.exporters.otlp_json import logs_line, traces_line
from spanproof_collector.exporters.parquet import ParquetWriter
from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store, WholeLog, WholeSpan, read_loose_whole, read_whole
from spanproof_collector.trials import Member, TraceKey, Unit, read_components

Format = Literal["otlp", "parquet"]
Progress = Callable[[int, int], None]
T = TypeVar("T")

_SUFFIXES: Final[dict[str, Format]] = {".jsonl": "otlp", ".json": "otlp", ".ndjson": "otlp", ".parquet": "parquet"}
_ROWS_A_PART: Final = 500
"""Spans of one trace in one line, or in one row group of Parquet at least."""


class ExportError(CollectorError):
    """The file cannot be written as it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What a file holds."""

    path: str
    format: Format
    trials: int
    """Trials that were asked for. A trace goes whole, so a part of another may be there too."""

    traces: int
    spans: int
    log_records: int
    bytes: int
    lost_values: int
    """Values that were sent and that the store cannot give back: they are empty in the file."""


class _Writer(Protocol):
    """A file in one format."""

    def spans(self, spans: Sequence[WholeSpan]) -> None:
        """Add spans of one trace."""

    def logs(self, records: Sequence[WholeLog]) -> None:
        """Add log records."""

    def close(self) -> None:
        """Write the end of the file."""


class _JsonLines:
    """One Export request a line, packed where the name ends in .gz."""

    def __init__(self, path: Path, *, packed: bool) -> None:
        self._file = gzip.GzipFile(path, "wb", compresslevel=6) if packed else path.open("wb")

    def spans(self, spans: Sequence[WholeSpan]) -> None:
        self._file.write(traces_line(spans) + b"\n")

    def logs(self, records: Sequence[WholeLog]) -> None:
        self._file.write(logs_line(records) + b"\n")

    def close(self) -> None:
        self._file.close()


def format_of(path: Path) -> Format:
    """Return the format that the name asks for.

    Raises:
        ExportError: it asks for none.
    """
    packed = _packed(path)
    found = _SUFFIXES.get(Path(path.stem if packed else path.name).suffix.lower())
    if found is None or (packed and found == "parquet"):
        raise ExportError(
            f"{path}: name it .jsonl or .jsonl.gz for OTLP JSON lines or .parquet for Parquet, or say which: --format"
        )
    return found


def _packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def export(
    store: Store,
    wanted: Filter,
    path: Path,
    *,
    unit: Unit = "session",
    format_name: Format | None = None,
    force: bool = False,
    progress: Progress = lambda done, of: None,
) -> Exported:
    """Write the trials that are asked for, whole, with every span and log record of their traces.

    The file appears under its name when it is complete, never in part, and not where no trial is asked for. In memory
    lie the traces of some components at a time, never all.

    Args:
        store: where the spans are.
        wanted: which trials.
        path: the file.
        unit: ``trace`` splits sessions by trace.
        format_name: the format; ``None`` goes by the name of the file.
        force: write over a file that is there.
        progress: told how many traces of how many were looked at.

    Raises:
        ExportError: the file is there, or cannot be written.
        StoreError: the store failed; no file was written.
    """
    chosen = format_name or format_of(path)
    if path.exists() and not force:
        raise ExportError(f"{path} is there already. Name another file, or write over it: --force")
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        writer: _Writer = ParquetWriter(draft) if chosen == "parquet" else _JsonLines(draft, packed=_packed(path))
        run = _Run(store, writer)
        try:
            for component in read_components(store, wanted, unit=unit, progress=progress):
                run.add(component.wanted)
        finally:
            writer.close()
        with draft.open("rb") as file:
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        if path.exists() and not force:
            raise ExportError(f"{path} came to be there meanwhile. Name another file, or write over it: --force")
        if run.trials:
            draft.replace(path)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return Exported(
        path=str(path),
        format=chosen,
        trials=run.trials,
        traces=len(run.traces),
        spans=run.spans,
        log_records=run.log_records,
        bytes=size,
        lost_values=run.lost,
    )


class _Run:
    """One export: what was written so far."""

    def __init__(self, store: Store, writer: _Writer) -> None:
        self._store = store
        self._writer = writer
        self._loose: set[tuple[str, str]] = set()
        self.trials = 0
        self.traces: set[TraceKey] = set()
        self.spans = 0
        self.log_records = 0
        self.lost = 0

    def add(self, members: Sequence[Member]) -> None:
        """Write trials of one component, each trace once."""
        self.trials += len(members)
        traces = {key: None for member in members for key in member.traces if key not in self.traces}
        for whole in read_whole(self._store, list(traces)):
            self.traces.add((whole.project, whole.trace_id))
            for some in _parts(whole.spans):
                self._writer.spans(some)
            for records in _parts(whole.logs):
                self._writer.logs(records)
            self.spans += len(whole.spans)
            self.log_records += len(whole.logs)
            self.lost += whole.lost
        for member in members:
            self._add_loose(member.trial.project, member.loose)

    def _add_loose(self, project: str, record_ids: Sequence[str]) -> None:
        """Write the log records of a trial that name no trace."""
        found = [record_id for record_id in record_ids if (project, record_id) not in self._loose]
        for some in _parts(found):
            records = read_loose_whole(self._store, project, some)
            self._writer.logs(records)
            self.log_records += len(records)
        self._loose.update((project, record_id) for record_id in found)


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), _ROWS_A_PART):
        yield items[first : first + _ROWS_A_PART]
