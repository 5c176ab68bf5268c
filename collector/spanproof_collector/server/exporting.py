"""One export request, over whichever protocol: who may send, what becomes of it, what is counted and logged.

The boundary at which any error becomes an answer is ``Exporting.export``: what nobody foresaw is called unavailable, so
that senders keep their spans and come again.
"""

import logging
import time
from collections.abc import Awaitable, Callable

from spanproof_collector.errors import CollectorError
from spanproof_collector.otlp import Form, Signal
from spanproof_collector.pipeline import Accepted, BusyError, Pipeline
from spanproof_collector.pipeline.measured import kind_of
from spanproof_collector.server.access import Access
from spanproof_collector.server.answers import Failure
from spanproof_collector.server.metrics import Metrics
from spanproof_collector.server.seldom import Seldom

_logger = logging.getLogger(__name__)
Body = tuple[bytes, Form, str]
"""The bytes as they came, their form, and their content encoding."""


class Exporting:
    """What gRPC and HTTP share."""

    def __init__(self, pipeline: Pipeline, access: Access, metrics: Metrics) -> None:
        self.access = access
        self.arriving = pipeline.arriving
        """Counts a body while it comes in."""

        self._pipeline = pipeline
        self._metrics = metrics
        self._seldom = Seldom(_logger)

    async def export(
        self, transport: str, signal: Signal, token: str | None, peer: str, body: Callable[[], Awaitable[Body]]
    ) -> Accepted | Failure:
        """Store a request and return what became of it.

        Args:
            transport: ``grpc`` or ``http``.
            signal: what the request holds, by its path.
            token: what came as ``Authorization``.
            peer: who sends, by address and port.
            body: gives the body; nothing is read of a sender who may not send.
        """
        began = time.monotonic()
        answer: Accepted | Failure
        try:
            await self.access.check(token, "ingest")
            content, form, encoding = await body()
            answer = await self._accept(signal, content, form, encoding, peer)
        except CollectorError as error:
            answer = Failure(error)
            self._tell(transport, signal, answer.name, answer.message)
            if isinstance(error, BusyError):
                self._metrics.refused.inc()
        except Exception as error:
            _logger.exception("a %s request over %s failed for a reason that nobody foresaw", signal, transport)
            answer = Failure(error)
        code = answer.name if isinstance(answer, Failure) else "OK"
        self._metrics.answered(transport, signal, code, time.monotonic() - began)
        return answer

    async def _accept(self, signal: Signal, content: bytes, form: Form, encoding: str, peer: str) -> Accepted:
        if signal == "metrics":
            self._pipeline.counts["metrics_dropped"] += 1
            return Accepted()
        return await self._pipeline.accept(signal, content, form, encoding, peer)

    def turned_away(self, transport: str, signal: Signal, code: str, why: str) -> None:
        """Count and tell of a request that was answered before it was read."""
        self._tell(transport, signal, code, why)
        self._metrics.answered(transport, signal, code, 0.0)

    def _tell(self, transport: str, signal: Signal, code: str, why: str) -> None:
        # The whole message goes to the sender alone: it can quote what was sent.
        kind = kind_of(why)
        self._seldom.warn(
            f"{transport} {signal} {code} {kind}", f"refused a {signal} request over {transport}, {code}: {kind}"
        )
