"""Where a store is: a folder of our own, or a ClickHouse server."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from spanproof_collector.errors import StoreAddressError


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderAddress:
    """An embedded store, in a folder. ``path`` is absolute."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A ClickHouse server, or something that speaks its HTTP protocol."""

    host: str
    port: int
    user: str = "default"
    password: str = ""
    database: str = "default"
    secure: bool = False


def parse_address(address: str) -> FolderAddress | ServerAddress:
    """Return what the address names. A relative folder starts at the working folder of this moment.

    Raises:
        StoreAddressError: it is no address of a store.
    """
    if address.startswith("chdb://"):
        return _folder(address)
    if address.startswith("clickhouse://"):
        return _server(address)
    raise StoreAddressError(address, "it starts with neither chdb:// nor clickhouse://")


def _folder(address: str) -> FolderAddress:
    name = address.removeprefix("chdb://")
    if not name:
        raise StoreAddressError(address, "it names no folder")
    if "?" in name or "\0" in name:
        # The engine takes what follows a question mark in its path for options.
        raise StoreAddressError(address, "the folder's name may not contain '?'")
    return FolderAddress(path=Path(name).expanduser().absolute())


def _server(address: str) -> ServerAddress:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise StoreAddressError(address, str(error)) from error
    if not host:
        raise StoreAddressError(address, "it names no host")
    database = unquote(parts.path.removeprefix("/")) or "default"
    if "/" in database:
        raise StoreAddressError(address, "a database's name may not contain '/'")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    secure = options.pop("secure", "0")
    if options:
        raise StoreAddressError(address, f"the option {next(iter(options))!r} is unknown, only secure=1 is known")
    if secure not in ("0", "1", "true", "false"):
        raise StoreAddressError(address, "secure is 0 or 1")
    encrypted = secure in ("1", "true")
    return ServerAddress(
        host=host,
        port=port if port is not None else (8443 if encrypted else 8123),
        user=unquote(parts.username or "default"),
        password=unquote(parts.password or ""),
        database=database,
        secure=encrypted,
    )


def without_password(address: str) -> str:
    """Return the address for messages: a password does not belong in them."""
    scheme, separator, rest = address.partition("://")
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user}:***@{place}" if at and colon else address
