"""What an importer is: one format of recorded sessions, read as OTLP requests."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.otlp import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A request out of a file, the bytes that it was read from, and what of them could not be read."""

    request: ExportTraceServiceRequest | ExportLogsServiceRequest
    data: bytes
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A part of a file that could not be read. ``line`` counts from 1; ``None`` where the file has no lines."""

    reason: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part that is whole, understood and not kept, such as metrics."""

    what: str


Found: TypeAlias = Recorded | Damage | Skipped


class Importer(Protocol):
    """Reads files of one format. Formats are told apart by content, never by name."""

    @property
    def name(self) -> str:
        """The name of the format: ``--format`` takes it, and ``source`` says ``import:<name>``."""
        ...

    def read(self, path: Path) -> Iterator[Found] | None:
        """Return what the file holds, piece by piece, or ``None`` where it is of another format.

        Raises:
            OSError: the file cannot be read.
        """
        ...
