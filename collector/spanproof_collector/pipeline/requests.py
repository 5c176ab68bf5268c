"""One Export request on its way through the pipeline, and what its sender is told.

The boundary at which whatever goes wrong with one request becomes its answer is ``_convert``.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import Form, Sent
from spanproof_collector.pipeline.converting import Converted, convert_body
from spanproof_collector.pipeline.measured import kind_of

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a request: everything is durable but what was rejected, with the reasons."""

    rejected: int = 0
    message: str = ""


class Request:
    """A request on its way; it leaves when its future is done and no thread works on it."""

    __slots__ = ("body", "done", "encoding", "form", "peer", "rows", "signal")

    def __init__(self, peer: str, signal: Literal["traces", "logs"], body: bytes, form: Form, encoding: str) -> None:
        self.peer = peer
        self.signal = signal
        self.body = body
        self.form = form
        self.encoding = encoding
        self.done: asyncio.Future[Converted] = asyncio.get_running_loop().create_future()
        self.rows = 0
        """Spans and log records; none before it was read."""


def accepted(converted: Converted) -> Accepted:
    """Return what the sender is told once this is durable."""
    batch = converted.batch
    rejected = len(batch.rejected)
    if not rejected:
        return Accepted(message=converted.warning)
    # The exporters of Python never read a partial success, so it must be seen here.
    reasons = Counter(each.reason for each in batch.rejected)
    message = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(5))
    kinds = Counter(kind_of(each.reason) for each in batch.rejected)
    told = "; ".join(f"{kind} ({count})" for kind, count in kinds.most_common(5))
    what = "log records" if batch.rejected[0].signal == "logs" else "spans"
    _logger.warning("rejected %d of %d %s: %s", rejected, rejected + converted.rows, what, told)
    return Accepted(rejected=rejected, message=message)


def convert_all(requests: Sequence[Request], sent: Sent) -> list[Converted | Exception]:
    """Read the requests; return of each the rows or why there are none."""
    return [_convert(request, sent) for request in requests]


def _convert(request: Request, sent: Sent) -> Converted | Exception:
    try:
        return convert_body(request.signal, request.body, request.form, request.encoding, sent)
    except DecodeError as error:
        return error
    except Exception as error:
        _logger.exception("a request cannot be read, for a reason that nobody foresaw")
        return error
