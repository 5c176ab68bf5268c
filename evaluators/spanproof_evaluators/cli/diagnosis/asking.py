"""Asks a server over HTTP, and says in words why there is no answer."""

import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spanproof_evaluators.cli.diagnosis.findings import TroubleError
from spanproof_evaluators.cli.diagnosis.target import Place, Target

_SECONDS: Final = 10.0
_START: Final = "Start it with 'spanproof serve', or say where it is with --endpoint and --grpc-endpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def member(self, name: str) -> object:
        """Return a member of the JSON object in the body, ``None`` where there is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return None
        return found.get(name) if isinstance(found, dict) else None


def ask(target: Target, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """Send one request.

    Raises:
        TroubleError: there is no answer over HTTP.
    """
    place = target.http
    with explained(place):
        connection = (
            http.client.HTTPSConnection(place.host, place.port, timeout=_SECONDS, context=_context(target))
            if place.secure
            else http.client.HTTPConnection(place.host, place.port, timeout=_SECONDS)
        )
        with contextlib.closing(connection):
            connection.request(method, path, body or None, dict(headers))
            got = connection.getresponse()
            return Answer(
                status=got.status, headers={key.lower(): value for key, value in got.getheaders()}, body=got.read()
            )


def _context(target: Target) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=target.authority)
        if target.client_certificate is not None:
            context.load_cert_chain(target.client_certificate, target.client_key)
    except (OSError, ssl.SSLError) as error:
        raise TroubleError(
            f"a certificate file cannot be used: {error}", "Check --ca, --client-cert and --client-key"
        ) from error
    return context


@contextlib.contextmanager
def explained(place: Place) -> Iterator[None]:
    """Turn what goes wrong with a connection into words.

    Raises:
        TroubleError: something went wrong.
    """
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise TroubleError(
            f"the certificate of {place} is not trusted: {error.verify_message}",
            "Name the authority that signed it with --ca FILE, and give agents OTEL_EXPORTER_OTLP_CERTIFICATE. If the "
            "name does not match, use the host's name that is in the certificate",
        ) from error
    except ssl.SSLError as error:
        raise TroubleError(_of_tls(place, error), _tls_advice(error)) from error
    except ConnectionRefusedError as error:
        raise TroubleError(f"nothing listens at {place}: the connection is refused", _START) from error
    except socket.gaierror as error:
        raise TroubleError(f"the host {place.host!r} has no address", "Check its spelling") from error
    except TimeoutError as error:
        raise TroubleError(
            f"{place} does not answer within {_SECONDS:g} s",
            "Look whether a firewall drops the connection, and whether the server is overloaded",
        ) from error
    except http.client.RemoteDisconnected as error:
        if place.secure:
            raise TroubleError(
                f"{place} closed the connection once TLS had begun: perhaps it demands a certificate of the client",
                "Give one with --client-cert FILE and --client-key FILE. Else look at the server's log",
            ) from error
        raise TroubleError(
            f"{place} closed the connection without an answer, as a server with TLS does",
            "Try https://. Else look at the server's log",
        ) from error
    except http.client.BadStatusLine as error:
        # A server of gRPC begins with a frame of HTTP/2.
        raise TroubleError(
            f"what listens at {place} speaks another protocol than HTTP/1.1, perhaps gRPC",
            "gRPC has a port of its own, 4317 by default; HTTP has 4318: --endpoint",
        ) from error
    except OSError as error:
        raise TroubleError(
            f"the connection to {place} broke: {error.strerror or error}",
            "Perhaps the server speaks TLS there: try https://. Else look at its log",
        ) from error


def _of_tls(place: Place, error: ssl.SSLError) -> str:
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        return f"what listens at {place} does not speak TLS"
    if "CERTIFICATE_REQUIRED" in str(error) or "HANDSHAKE_FAILURE" in str(error):
        return f"{place} demands a certificate of the client"
    return f"TLS with {place} failed: {error.reason or error}"


def _tls_advice(error: ssl.SSLError) -> str:
    if "CERTIFICATE_REQUIRED" in str(error) or "HANDSHAKE_FAILURE" in str(error):
        return "Give one with --client-cert FILE and --client-key FILE"
    return "Use http:// for a server without --tls-cert"
