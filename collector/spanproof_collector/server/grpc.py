"""OTLP over gRPC: raw bytes in, parsed off the loop, acknowledged after the commit.

The boundary at which an error becomes a gRPC status is ``_Services._export``.
"""

from typing import Final, Literal

import grpc
import grpc.aio

from spanproof_collector.errors import CollectorError, ServeError
from spanproof_collector.otlp import MAX_BYTES
from spanproof_collector.pipeline import Accepted, Pipeline
from spanproof_collector.server.answers import Failure, response

_SERVICE: Final = "opentelemetry.proto.collector.{0}.v1.{1}Service"
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_BYTES),
    # Two servers on one port would share its connections, and each would see half of the spans.
    ("grpc.so_reuseport", 0),
)
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


def build_server(pipeline: Pipeline, host: str, port: int) -> tuple[grpc.aio.Server, int]:
    """Return the server, bound and not yet started, and its port.

    Raises:
        ServeError: the port is taken.
    """
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers(_Services(pipeline).handlers())
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError:
        bound = 0
    if not bound:
        raise ServeError(
            f"cannot listen on {address} for OTLP over gRPC. Is another collector running? Choose another port: "
            "--grpc-port"
        )
    return server, bound


class _Services:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        """Return the three services. Without a deserializer the handler gets the bytes as they came."""
        return tuple(
            grpc.method_handlers_generic_handler(
                _SERVICE.format(package, name), {"Export": grpc.unary_unary_rpc_method_handler(method)}
            )
            for package, name, method in (
                ("trace", "Trace", self._traces),
                ("logs", "Logs", self._logs),
                ("metrics", "Metrics", self._metrics),
            )
        )

    async def _traces(self, body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return await self._export("traces", body, context)

    async def _logs(self, body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return await self._export("logs", body, context)

    async def _metrics(self, body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        self._pipeline.counts["metrics_dropped"] += 1
        return response("metrics", Accepted())

    async def _export(self, signal: Literal["traces", "logs"], body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            accepted = await self._pipeline.accept(signal, body)
        except CollectorError as error:
            failure = Failure(error)
            trailers = [("grpc-status-details-bin", failure.status.SerializeToString())]
            if (info := failure.retry_info) is not None:
                trailers.append(("google.rpc.retryinfo-bin", info.SerializeToString()))
            await context.abort(_CODES[failure.code], failure.message, tuple(trailers))
            raise AssertionError("abort raises") from error
        return response(signal, accepted)
