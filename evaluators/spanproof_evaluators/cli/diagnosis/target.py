"""Where the server is supposed to be, and with what it is asked."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_HTTP: Final = "http://localhost:4318"
_GRPC_PORT: Final = 4317


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An address, taken apart. ``path`` has no slash at its end."""

    host: str
    port: int
    secure: bool
    path: str = ""

    def __str__(self) -> str:
        """Return the address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, the tokens for it, and the files for TLS."""

    http: Place
    grpc: Place
    token: str | None = None
    read_token: str | None = None
    authority: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None


def place_of(address: str, default_port: int) -> Place:
    """Return the parts of an address such as ``https://host:4318``.

    Raises:
        ValueError: it is none.
    """
    if "://" not in address:
        address = f"http://{address}"
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{address!r} is no address: give one as {_HTTP}")
    return Place(
        host=parts.hostname,
        port=parts.port or default_port,
        secure=parts.scheme == "https",
        path=parts.path.rstrip("/").removesuffix("/v1/traces"),
    )


def places(http: str | None, grpc: str | None) -> tuple[Place, Place]:
    """Return both addresses; what is not given comes from ``OTEL_EXPORTER_OTLP_ENDPOINT``, else from the other one.

    Raises:
        ValueError: one of them is no address.
    """
    environment = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    if http is None and environment:
        found = place_of(environment, 4318)
        if found.port == _GRPC_PORT or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc":
            grpc = grpc or environment
        else:
            http = environment
    if http is None and grpc is not None:
        other = place_of(grpc, _GRPC_PORT)
        return Place(host=other.host, port=4318, secure=other.secure), other
    base = place_of(http or _HTTP, 4318)
    if grpc is None:
        return base, Place(host=base.host, port=_GRPC_PORT, secure=base.secure)
    return base, place_of(grpc, _GRPC_PORT)


def token_in_environment() -> str | None:
    """Return the bearer token that exporters would send: the one in ``OTEL_EXPORTER_OTLP_HEADERS``."""
    for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","):
        name, _, value = pair.partition("=")
        scheme, _, token = unquote(value).strip().partition(" ")
        if name.strip().lower() == "authorization" and scheme.lower() == "bearer" and token:
            return token.strip()
    return None
