"""Imports recorded files and folders into the store, each format by its importer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from spanproof_collector.errors import CollectorError
from spanproof_collector.importers._files import Folder, ReadableFile
from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._importer import Importer
from spanproof_collector.importers._session import Session
from spanproof_collector.importers._spans import request_of
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.otlp import Batch, Origin
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_instrumentation import semconv

_SUFFIXES: Final = frozenset({".pb", ".bin", ".binpb", ".otlp", ".json", ".jsonl", ".ndjson", ".gz", ".parquet"})
"""A file of such a name in a folder is named when no format recognizes it; others are passed over."""


class NoSuchFileError(CollectorError):
    """A path to import that does not exist."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} does not exist: name a file or a folder of recorded sessions")
        self.path = path


class UnknownFormatError(CollectorError):
    """A format that no importer reads."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{name!r} is no known format. Known: {', '.join(known)}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A file, a line of it or a span in it that is not stored, and why."""

    path: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What was found. Spans and log records are counted once, however many files hold them."""

    files: int
    """Files of a known format, those that hold nothing to keep included."""

    spans: int
    log_records: int
    rejected: tuple[Rejection, ...]
    formats: dict[str, int]
    """Files by format."""

    skipped: dict[str, int] = field(default_factory=dict)
    """What was recognized and is not kept, such as ``metrics``, by name."""

    traces: frozenset[tuple[str, str]] = frozenset()
    """The traces that the files tell of, each (project, trace id)."""

    @property
    def usable(self) -> bool:
        """True when any file was of a known format."""
        return self.files > 0


def import_with(
    store: Store, paths: Sequence[Path], importers: Sequence[Importer], format_name: str | None
) -> Imported:
    """Store what the files hold, folders walked in sorted order; durable on return.

    Args:
        store: the open store.
        paths: files and folders.
        importers: the formats to try, in order.
        format_name: tries only the importer of this name.

    Raises:
        NoSuchFileError: one of the paths does not exist; nothing was imported.
        UnknownFormatError: ``format_name`` is no importer's name.
        StoreError: the store failed; what was stored before stays, and importing again stores nothing twice.
    """
    chosen = [each for each in importers if format_name in (None, each.name)]
    if not chosen:
        raise UnknownFormatError(format_name or "", [each.name for each in importers])
    for path in paths:
        if not path.exists():
            raise NoSuchFileError(path)
    run = _Run(store, chosen)
    for path in paths:
        folder = Folder(path) if path.is_dir() else None
        for file, shown in _files(path):
            run.read(file, shown, folder)
    return run.finish()


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file and how its path is shown.

    What is hidden in a folder is passed over: an embedded store may lie there.
    """
    if path.is_file():
        yield path, str(path)
        return
    for file in sorted(path.rglob("*")):
        inside = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield file, inside.as_posix()


class _Run:
    """One import: what was found so far."""

    def __init__(self, store: Store, importers: Sequence[Importer]) -> None:
        self._importers = importers
        self._writer = Writer(store)
        self._rejected: list[Rejection] = []
        self._formats: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        # Hashes of ids: a recorded file is often kept in two forms, and a run may hold millions of spans.
        self._spans: set[int] = set()
        self._log_records: set[int] = set()
        self._traces: set[tuple[str, str]] = set()
        self._damaged: set[str] = set()

    def read(self, file: Path, shown: str, folder: Folder | None) -> None:
        """Store what the file holds, if any importer reads it. ``folder`` is the one that was walked to find it."""
        readable = ReadableFile(file, folder=folder)
        try:
            for importer in self._importers:
                found = importer.read(readable)
                if found is None:
                    continue
                self._formats[importer.name] += 1
                for each in found:
                    match each:
                        case Recorded(request=request, data=data, refused=refused):
                            origin = Origin(f"import:{importer.name}", shown)
                            self._count(self._writer.add(request, data, origin, refused), shown)
                        case Session() as session:
                            request = request_of(session, importer.name)
                            origin = Origin(f"import:{importer.name}", shown)
                            self._count(self._writer.add(request, request.SerializeToString(), origin), shown)
                        case Damage(reason=reason, line=line, trace_ids=trace_ids):
                            self._damaged |= trace_ids
                            self._rejected.append(Rejection(path=shown, line=line, reason=reason))
                        case Skipped(what=what):
                            self._skipped[what] += 1
                return
        except OSError as error:
            self._rejected.append(Rejection(path=shown, line=None, reason=f"cannot be read: {error.strerror}"))
            return
        if folder is None or file.suffix in _SUFFIXES:
            self._rejected.append(Rejection(path=shown, line=None, reason="no known format recognizes it"))

    def finish(self) -> Imported:
        """Write what waits, and return what was found."""
        for project, trace_id in sorted(self._traces):
            if trace_id in self._damaged:
                mark = _mark(project, trace_id)
                self._writer.add(mark, mark.SerializeToString(), Origin("import:damage", ""))
        self._writer.flush()
        return Imported(
            files=self._formats.total(),
            spans=len(self._spans),
            log_records=len(self._log_records),
            rejected=tuple(self._rejected),
            formats=dict(self._formats),
            skipped=dict(self._skipped),
            traces=frozenset(self._traces),
        )

    def _count(self, batch: Batch, shown: str) -> None:
        spans, logs = batch.spans, batch.log_records
        if spans:
            self._spans.update(map(hash, zip(spans["project"], spans["trace_id"], spans["span_id"], strict=True)))
        if logs:
            self._log_records.update(map(hash, zip(logs["project"], logs["record_id"], strict=True)))
        for columns in (spans, logs):
            if columns:
                self._traces.update(zip(columns["project"], columns["trace_id"], strict=True))  # type: ignore[arg-type]
        self._rejected += [Rejection(path=shown, line=None, reason=each.reason) for each in batch.rejected]


def _mark(project: str, trace_id: str) -> ExportLogsServiceRequest:
    """Return the record that says of a stored trace that spans of it could not be read."""
    own = KeyValue(key=semconv.PROJECT, value=AnyValue(string_value=project))
    record = LogRecord(trace_id=bytes.fromhex(trace_id), event_name=semconv.EVENT_RECORDING_DAMAGED)
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(
                resource=Resource(attributes=[own]),
                scope_logs=[ScopeLogs(scope=InstrumentationScope(name=IMPORTED), log_records=[record])],
            )
        ]
    )
