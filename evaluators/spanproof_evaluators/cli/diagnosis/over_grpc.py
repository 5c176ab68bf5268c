"""The step over gRPC."""

from typing import Final

import grpc

from spanproof_evaluators.cli.diagnosis.findings import Finding, TroubleError
from spanproof_evaluators.cli.diagnosis.over_http import bearer, token_advice
from spanproof_evaluators.cli.diagnosis.probe import Probe
from spanproof_evaluators.cli.diagnosis.target import Target

_EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_SECONDS: Final = 10.0


def send(target: Target, probe: Probe) -> Finding:
    """Send a span.

    Raises:
        TroubleError: it was not taken.
    """
    place = target.grpc
    address = f"[{place.host}]:{place.port}" if ":" in place.host else f"{place.host}:{place.port}"
    channel = grpc.secure_channel(address, _credentials(target)) if place.secure else grpc.insecure_channel(address)
    metadata = tuple((key.lower(), value) for key, value in bearer(target.token).items())
    with channel:
        call = channel.unary_unary(_EXPORT).future(probe.body, timeout=_SECONDS, metadata=metadata)
        code, details = call.code(), str(call.details())
    if code is not grpc.StatusCode.OK:
        raise _explained(target, code, details)
    return Finding(step="send over gRPC", state="ok", explanation=f"a span was acknowledged at {place}")


def _credentials(target: Target) -> grpc.ChannelCredentials:
    files = (target.authority, target.client_key, target.client_certificate)
    try:
        return grpc.ssl_channel_credentials(*(None if file is None else file.read_bytes() for file in files))
    except OSError as error:
        raise TroubleError(
            f"a certificate file cannot be used: {error}", "Check --ca, --client-cert and --client-key"
        ) from error


def _explained(target: Target, code: grpc.StatusCode, details: str) -> TroubleError:
    place = target.grpc
    said = f"{code.name}: {details}"
    match code:
        case grpc.StatusCode.UNAUTHENTICATED | grpc.StatusCode.PERMISSION_DENIED:
            return TroubleError(f"the span was not taken, {said}", token_advice(target))
        case grpc.StatusCode.UNIMPLEMENTED:
            return TroubleError(f"what listens at {place} is no OTLP server", "Say where it is: --grpc-endpoint")
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return TroubleError(
                f"{place} does not answer within {_SECONDS:g} s",
                "Look whether a firewall drops the connection, and whether the server is overloaded",
            )
        case _:
            return _of_transport(target, details, said)


def _of_transport(target: Target, details: str, said: str) -> TroubleError:
    place, lower = target.grpc, details.lower()
    if "dns" in lower or "name resolution" in lower or "hostname lookup" in lower or "domain name" in lower:
        return TroubleError(f"the host {place.host!r} has no address", "Check its spelling")
    if "connection refused" in lower:
        return TroubleError(
            f"nothing listens at {place}: the connection is refused",
            "Start the server with 'spanproof serve', or say where it takes gRPC with --grpc-endpoint",
        )
    if "http1" in lower or "http/1" in lower:
        return TroubleError(
            f"what listens at {place} speaks HTTP/1.1", "gRPC has a port of its own, 4317 by default: --grpc-endpoint"
        )
    if "certificate_verify_failed" in lower or "hostname verification" in lower:
        return TroubleError(
            f"the certificate of {place} is not trusted",
            "Name the authority that signed it with --ca FILE, and give agents OTEL_EXPORTER_OTLP_CERTIFICATE",
        )
    if "wrong_version_number" in lower:
        return TroubleError(
            f"what listens at {place} does not speak TLS", "Use http:// for a server without --tls-cert"
        )
    if "certificate_required" in lower or "handshake_failure" in lower:
        return TroubleError(
            f"{place} demands a certificate of the client", "Give --client-cert FILE and --client-key FILE"
        )
    if "socket closed" in lower or "connection reset" in lower:
        return TroubleError(
            f"{place} closed the connection", "Perhaps the server speaks TLS there: try https://. Else look at its log"
        )
    return TroubleError(
        f"the span was not taken, {said}", "Senders keep their spans. Look at /readyz and the server's log"
    )
