"""Imports recorded files and folders into the store, each format by its importer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from spanproof_collector.errors import CollectorError
from spanproof_collector.importers._beside import END_STATES, TASKS, EndStates, Tasks, beside
from spanproof_collector.importers._counts import Distinct
from spanproof_collector.importers._files import Folder, ReadableFile
from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._importer import Found, Importer
from spanproof_collector.importers._session import Session
from spanproof_collector.importers._spans import request_of
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.otlp import Batch, Origin
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_instrumentation import semconv

_SUFFIXES: Final = frozenset({".pb", ".bin", ".binpb", ".otlp", ".json", ".jsonl", ".ndjson", ".gz", ".traj", ".eval"})
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


class Progress(Protocol):
    """Is told how far an import is: bytes of all files, and which file is being read."""

    def __call__(self, done: int, total: int, file: str) -> None:
        """Take the news."""
        ...


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

    loose: frozenset[str] = frozenset()
    """The ids of the log records that name no trace."""

    whole_files: int = 0
    """Files of a known format that were read without damage."""

    @property
    def usable(self) -> bool:
        """True when anything was stored, or a file of a known format is whole and holds nothing to store."""
        return bool(self.spans or self.log_records or self.skipped or self.whole_files)


def import_with(
    store: Store,
    paths: Sequence[Path],
    importers: Sequence[Importer],
    format_name: str | None,
    progress: Progress | None = None,
) -> Imported:
    """Store what the files hold, folders walked in sorted order; durable on return.

    Args:
        store: the open store.
        paths: files and folders.
        importers: the formats to try, in order.
        format_name: tries only the importer of this name.
        progress: is told how far the import is.

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
    files = [each for path in paths for each in _files(path)]
    run = _Run(store, chosen, progress, sum(_size(each.path) for each in files))
    for each in run.without_definitions(files):
        run.read(each)
    return run.finish()


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: Path
    shown: str
    """Relative to the folder that was named, or as it was named."""

    folder: Folder | None
    """The folder that was walked to find it; ``None`` where it was named itself."""


def _files(path: Path) -> Iterator[_File]:
    """Yield the files of a path. What is hidden in a folder is passed over: an embedded store may lie there."""
    if path.is_file():
        yield _File(path=path, shown=str(path), folder=None)
        return
    folder = Folder(path)
    for file in sorted(path.rglob("*")):
        inside = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield _File(path=file, shown=inside.as_posix(), folder=folder)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


class _Run:
    """One import: what was found so far."""

    def __init__(self, store: Store, importers: Sequence[Importer], progress: Progress | None, total: int) -> None:
        self._importers = importers
        self._writer = Writer(store)
        self._progress = progress
        self._total = total
        self._done = 0
        self._end_states: list[EndStates] = []
        self._tasks: dict[Path, Tasks] = {}
        self._rejected: list[Rejection] = []
        self._formats: Counter[str] = Counter()
        self._whole = 0
        self._skipped: Counter[str] = Counter()
        # a recorded file is often kept in two forms, and a run may hold millions of spans
        self._spans = Distinct()
        self._log_records = Distinct()
        self._traces: set[tuple[str, str]] = set()
        self._loose: set[str] = set()
        self._damaged: set[str] = set()

    def without_definitions(self, files: Sequence[_File]) -> list[_File]:
        """Take what stands beside sessions in folders, and return the other files."""
        rest: list[_File] = []
        for file in files:
            if file.folder is not None and self._is_beside(file):
                self._done += _size(file.path)
            else:
                rest.append(file)
        return rest

    def _is_beside(self, file: _File) -> bool:
        inside = Path(file.shown).parts
        try:
            if file.path.name == END_STATES:
                found = EndStates(file.path)
                self._end_states.append(found)
                for damage in found.damage:
                    self._reject(file, damage.reason, damage.line)
                if found.without_changes:
                    self._skipped["sessions without recorded changes"] += found.without_changes
                return True
            if TASKS not in inside[:-1]:
                return False
            # sessions may lie in a folder of this name too
            if any(importer.read(ReadableFile(file.path)) is not None for importer in self._importers):
                return False
            folder = file.path.parents[len(inside) - 2 - inside.index(TASKS)].parent
            return self._tasks.setdefault(folder, Tasks(folder)).add(file.path)
        except OSError:
            return False  # it is named when it is read

    def read(self, file: _File) -> None:
        """Store what the file holds, if any importer reads it."""
        size = _size(file.path)
        readable = ReadableFile(file.path, lambda at: self._tell(min(at, size), file), folder=file.folder)
        rejected = len(self._rejected)
        try:
            for importer in self._importers:
                found = importer.read(readable)
                if found is None:
                    continue
                self._formats[importer.name] += 1
                for each in self._with_what_is_beside(found, file):
                    self._take(each, importer.name, file)
                self._whole += len(self._rejected) == rejected
                return
        except OSError as error:
            self._reject(file, f"cannot be read: {error.strerror}")
            return
        finally:
            self._done += size
            self._tell(0, file)
        if file.folder is None or file.path.suffix in _SUFFIXES:
            self._reject(file, "no known format recognizes it")

    def _with_what_is_beside(self, found: Iterator[Found], file: _File) -> Iterator[Found]:
        """Yield what was found, sessions with what is recorded beside them."""
        tasks = list(self._tasks.values())
        first: Session | None = None
        sessions = 0
        for each in found:
            if not isinstance(each, Session):
                yield each
                continue
            sessions += 1
            if first is not None:
                yield from beside(first, file.path, self._end_states, tasks, alone=False)
                first = None
            if sessions == 1:
                first = each  # whether it is the only one, the rest of the file tells
            else:
                yield from beside(each, file.path, self._end_states, tasks, alone=False)
        if first is not None:
            yield from beside(first, file.path, self._end_states, tasks, alone=True)

    def _take(self, found: Found, format_name: str, file: _File) -> None:
        origin = Origin(f"import:{format_name}", file.shown)
        match found:
            case Session() as session:
                request = request_of(session, format_name)
                self._count(self._writer.add(request, request.SerializeToString(), origin), file)
            case Recorded(request=request, data=data, refused=refused):
                self._count(self._writer.add(request, data, origin, refused), file)
            case Damage(reason=reason, line=line, trace_ids=trace_ids):
                self._damaged |= trace_ids
                self._reject(file, reason, line)
            case Skipped(what=what):
                self._skipped[what] += 1

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
            loose=frozenset(self._loose),
            whole_files=self._whole,
        )

    def _reject(self, file: _File, reason: str, line: int | None = None) -> None:
        self._rejected.append(Rejection(path=file.shown, line=line, reason=reason))

    def _tell(self, at: int, file: _File) -> None:
        if self._progress is not None:
            self._progress(self._done + at, self._total, file.shown)

    def _count(self, batch: Batch, file: _File) -> None:
        spans, logs = batch.spans, batch.log_records
        if spans:
            self._spans.update(zip(spans["project"], spans["trace_id"], spans["span_id"], strict=True))
        if logs:
            self._log_records.update(zip(logs["project"], logs["record_id"], strict=True))
            ids = zip(logs["record_id"], logs["trace_id"], strict=True)
            self._loose.update(str(record_id) for record_id, trace_id in ids if not trace_id)
        for columns in (spans, logs):
            if columns:
                self._traces.update(zip(columns["project"], columns["trace_id"], strict=True))  # type: ignore[arg-type]
        for each in batch.rejected:
            self._reject(file, each.reason)


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
