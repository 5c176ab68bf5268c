"""Raw requests, as senders without an SDK make them."""

import http.client
from collections.abc import Mapping
from dataclasses import dataclass

from spanproof_collector.server.serve import Addresses

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(
    to: Addresses, path: str, body: bytes = b"", headers: Mapping[str, str] = PROTOBUF, method: str = "POST"
) -> Answer:
    """Send one request over a connection of its own."""
    connection = http.client.HTTPConnection(to.host, to.http_port, timeout=20)
    try:
        connection.request(method, path, body, dict(headers))
        got = connection.getresponse()
        return Answer(
            status=got.status, headers={key.lower(): value for key, value in got.getheaders()}, body=got.read()
        )
    finally:
        connection.close()
