"""What an importer is: one format of recorded sessions, read as sessions or as OTLP requests."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias

from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._session import Session

Found: TypeAlias = Session | Recorded | Damage | Skipped


class Importer(Protocol):
    """Reads files of one format. Formats are told apart by content, never by name."""

    @property
    def name(self) -> str:
        """The name of the format: ``--format`` takes it, and ``source`` says ``import:<name>``."""
        ...

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return what the file holds, piece by piece, or ``None`` where it is of another format.

        A format of sessions yields ``Session``; what makes spans of it is the same for all.

        Raises:
            OSError: the file cannot be read.
        """
        ...
