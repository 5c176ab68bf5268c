"""OTLP over gRPC: raw bytes in, parsed off the loop, acknowledged after the commit; and gRPC's own health service."""

from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import grpc
import grpc.aio
from grpc.aio import ServicerContext
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from spanproof_collector.errors import CollectorError, ServeError
from spanproof_collector.otlp import MAX_BYTES, Signal
from spanproof_collector.server.answers import Failure, response
from spanproof_collector.server.exporting import Body, Exporting
from spanproof_collector.server.readiness import Readiness
from spanproof_collector.server.tls import Tls

_SERVICE: Final = "opentelemetry.proto.collector.{0}.v1.{1}Service"
_SERVICES: Final[dict[Signal, str]] = {
    "traces": _SERVICE.format("trace", "Trace"),
    "logs": _SERVICE.format("logs", "Logs"),
    "metrics": _SERVICE.format("metrics", "Metrics"),
}
_SIGNALS: Final = {service: signal for signal, service in _SERVICES.items()}
_OPTIONS: Final = (
    # It holds for the message as it comes, and stops its unpacking.
    ("grpc.max_receive_message_length", MAX_BYTES),
    # Two servers on one port would share its connections, and each would see half of the spans.
    ("grpc.so_reuseport", 0),
)
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


def build_server(
    exporting: Exporting, health_service: "Health", host: str, port: int, tls: Tls | None = None
) -> tuple[grpc.aio.Server, int]:
    """Return the server, bound and not yet started, and its port.

    Raises:
        ServeError: the port is taken.
    """
    server = grpc.aio.server(options=_OPTIONS, interceptors=(_Admission(exporting),))
    server.add_generic_rpc_handlers(
        tuple(
            grpc.method_handlers_generic_handler(
                service, {"Export": grpc.unary_unary_rpc_method_handler(_method(exporting, signal))}
            )
            for signal, service in _SERVICES.items()
        )
    )
    health_pb2_grpc.add_HealthServicer_to_server(health_service, server)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = (
            server.add_insecure_port(address)
            if tls is None
            else server.add_secure_port(address, tls.grpc_credentials())
        )
    except RuntimeError:
        bound = 0
    if not bound:
        raise ServeError(
            f"cannot listen on {address} for OTLP over gRPC. Is another collector running? Choose another port: "
            "--grpc-port"
        )
    return server, bound


def _method(exporting: Exporting, signal: Signal) -> Callable[[bytes, ServicerContext], Awaitable[bytes]]:
    """Return the method of one service. Without a deserializer it gets the bytes as they came."""

    async def export(content: bytes, context: ServicerContext) -> bytes:
        async def body() -> Body:
            return content, "protobuf", ""

        answer = await exporting.export("grpc", signal, _token(context.invocation_metadata()), context.peer(), body)
        if isinstance(answer, Failure):
            await _abort(context, answer)
        return response(signal, answer)

    return export


class _Admission(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Turns away who may not send, before anything of the message is read."""

    def __init__(self, exporting: Exporting) -> None:
        self._exporting = exporting

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        signal = _SIGNALS.get(handler_call_details.method.rpartition("/")[0].removeprefix("/"))
        if signal is not None:
            try:
                await self._exporting.access.check(_token(handler_call_details.invocation_metadata), "ingest")
            except CollectorError as error:
                failure = Failure(error)
                self._exporting.turned_away("grpc", signal, failure.name, failure.message)
                return _turned_away(failure)
        return await continuation(handler_call_details)


def _turned_away(failure: Failure) -> grpc.RpcMethodHandler:
    async def refuse(messages: object, context: ServicerContext) -> bytes:
        await _abort(context, failure)

    # To the sender it is the same method; here a stream is not read unless it is asked for.
    return grpc.stream_unary_rpc_method_handler(refuse)


async def _abort(context: ServicerContext, failure: Failure) -> NoReturn:
    trailers = [("grpc-status-details-bin", failure.status.SerializeToString())]
    if (info := failure.retry_info) is not None:
        trailers.append(("google.rpc.retryinfo-bin", info.SerializeToString()))
    await context.abort(_CODES[failure.code], failure.message, tuple(trailers))
    raise AssertionError("abort raises")


def _token(metadata: object) -> str | None:
    pairs = metadata if isinstance(metadata, tuple | list | grpc.aio.Metadata) else ()
    for key, value in pairs:
        if key == "authorization":
            return value if isinstance(value, str) else None
    return None


class Health(health.aio.HealthServicer):  # type: ignore[misc]  # grpc has no types
    """``grpc.health.v1.Health``: serving while requests are taken, asked anew for each ``Check``."""

    def __init__(self, readiness: Readiness) -> None:
        super().__init__()
        self._readiness = readiness

    async def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        """Answer for one service, or for all where none is named."""
        await self.look()
        found: health_pb2.HealthCheckResponse = await super().Check(request, context)
        return found

    async def look(self) -> None:
        """Find out how things are, and tell who watches."""
        serving = not await self._readiness.obstacle()
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", *_SERVICES.values()):
            await self.set(service, status)
