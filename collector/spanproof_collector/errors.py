"""What can go wrong in the collector.

SpanproofError                     (in spanproof_instrumentation.errors)
└── CollectorError
    ├── StoreError
    │   ├── StoreAddressError      the address is not one we understand
    │   ├── StoreLockedError       another process holds the embedded store and does not answer
    │   ├── StoreUnreachableError  nothing answers at the address
    │   │   ├── StoreFullError     there is no space left for what is to be stored
    │   │   └── StoreDamagedError  what is on the disk is not what was written
    │   ├── StoreTooNewError       a newer spanproof wrote this store
    │   └── NoSuchLetterError      no dead letter has such an id             (in store)
    ├── DecodeError                bytes that are no OTLP
    │   ├── TooLargeError          a request of more bytes than we take      (in otlp)
    │   └── TooManyPartsError      a request of more parts than we take      (in otlp)
    ├── BusyError                  more is in flight than we take on         (in pipeline)
    ├── ServeError                 the server cannot start
    ├── UnauthenticatedError       no token, or none that is known           (in server)
    ├── ForbiddenError             a token for something else                (in server)
    ├── ExportError                the file of an export cannot be written   (in exporters)
    ├── RetentionError             a time to keep things for that is none    (in retention)
    ├── CatalogueError             a tool catalogue that cannot be read as one
    ├── NoSuchFileError            a path to import that does not exist      (in importers)
    └── UnknownFormatError         a format that no importer reads           (in importers)
"""

from spanproof_instrumentation.errors import SpanproofError


class CollectorError(SpanproofError):
    """Anything that the collector refuses on purpose."""


class StoreError(CollectorError):
    """The store cannot do what was asked."""


class StoreAddressError(StoreError):
    """The address names no store."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(
            f"{address!r} is no store address: {why}. Use chdb:///absolute/path, chdb://relative/path or "
            "clickhouse://user:password@host:8123/database"
        )
        self.address = address


class StoreLockedError(StoreError):
    """Another process holds the embedded store and does not answer."""

    def __init__(self, path: str, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(
            f"{path} is held by {holder}, which does not answer. Wait until it is done, stop it, or run both against "
            "a ClickHouse server: --store clickhouse://localhost"
        )
        self.path = path
        self.pid = pid


class StoreUnreachableError(StoreError):
    """Nothing answers at the address, or it stopped answering."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"the store {address} does not answer: {why}. Is it running, and is the address right?")
        self.address = address


class StoreFullError(StoreUnreachableError):
    """There is no space left for what is to be stored. Nothing of it is; the same may be tried again."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.args = (
            f"the disk under the store {address} is full, and nothing more is stored: {why}. Make some space; senders "
            "keep what was not acknowledged and send it again",
        )


class StoreDamagedError(StoreUnreachableError):
    """What is on the disk is not what was written."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.args = (
            f"a part of the store {address} is damaged: {why}. 'spanproof serve' sets damaged parts aside when it "
            "starts and says which, so that the rest can be read",
        )


class StoreTooNewError(StoreError):
    """A newer spanproof wrote this store."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the store has schema version {found}, this spanproof knows up to {known}. Install the newer spanproof "
            "that wrote it, or use another store"
        )
        self.found = found
        self.known = known


class DecodeError(CollectorError):
    """Bytes that are no OTLP, with what they seem to be instead."""


class ServeError(CollectorError):
    """The server cannot start."""


class CatalogueError(CollectorError):
    """A tool catalogue that cannot be read as one."""

    def __init__(self, path: str, where: str, why: str) -> None:
        super().__init__(f"{path}: {where}: {why}" if where else f"{path}: {why}")
        self.path = path
        self.where = where
        self.why = why
