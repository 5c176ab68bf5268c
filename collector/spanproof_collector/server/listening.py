"""Hosts and ports: what can be reached by whom, and a socket that says what is wrong with it."""

import ipaddress
import socket
from dataclasses import dataclass

from spanproof_collector.errors import ServeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a server listens."""

    host: str
    grpc_port: int
    http_port: int
    store: str
    tls: bool = False
    tokens: bool = False
    """Whether senders need one."""

    @property
    def grpc(self) -> str:
        """What ``OTEL_EXPORTER_OTLP_ENDPOINT`` takes for gRPC."""
        return f"{self._scheme}://{bracketed(self.host)}:{self.grpc_port}"

    @property
    def http(self) -> str:
        """What ``OTEL_EXPORTER_OTLP_ENDPOINT`` takes for HTTP."""
        return f"{self._scheme}://{bracketed(self.host)}:{self.http_port}"

    @property
    def _scheme(self) -> str:
        return "https" if self.tls else "http"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket for OTLP over HTTP.

    Raises:
        ServeError: the port is taken, or the host is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ServeError(
            f"cannot listen on {bracketed(host)}:{port} for OTLP over HTTP: {error.strerror}. Is another collector "
            "running? Choose another port: --http-port"
        ) from error
    # asyncio sets this only on sockets that name their protocol; without it an answer waits for 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bracketed(host: str) -> str:
    """Return the host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
