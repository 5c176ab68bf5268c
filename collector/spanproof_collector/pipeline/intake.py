"""Takes Export requests from the servers and acknowledges each after its rows are durable.

Senders are served in turn. One thread converts, a block ahead of the other, which commits; requests that wait together
are one block. So what is held is bounded: bodies as they came, by ``max_bytes``; what one request unpacks to while it
is read; and the rows of a few blocks. The boundaries at which whatever goes wrong becomes an answer are
``requests._convert`` for one request and ``Pipeline._commit`` for a block.
"""

import asyncio
import logging
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Final, Literal

from spanproof_collector.errors import StoreError, StoreUnreachableError
from spanproof_collector.otlp import Form, Sent, Signal
from spanproof_collector.pipeline.blocks import Waiting
from spanproof_collector.pipeline.committing import commit
from spanproof_collector.pipeline.converting import Converted
from spanproof_collector.pipeline.measured import Durations, Load, kind_of
from spanproof_collector.pipeline.requests import Accepted, Request, accepted, convert_all
from spanproof_collector.pipeline.turns import Arriving, BusyError, Shares, Turns
from spanproof_collector.store import Store

_logger = logging.getLogger(__name__)

MAX_BYTES_IN_FLIGHT: Final = 256 * 1024 * 1024
MAX_REQUESTS_IN_FLIGHT: Final = 8192
DRAIN_SECONDS: Final = 10.0
"""How long a server that is stopping lets the store take what was taken."""

_BYTES_PER_HOP: Final = 256 * 1024
_REQUESTS_PER_HOP: Final = 64
"""Small requests go to the converting thread together: going there costs as much as reading one of them."""

_FAILURE_SECONDS: Final = 10.0


class Pipeline:
    """The way from the wire into the store. Start it and use it on one event loop."""

    def __init__(
        self,
        store: Store,
        *,
        max_bytes: int = MAX_BYTES_IN_FLIGHT,
        max_requests: int = MAX_REQUESTS_IN_FLIGHT,
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Since the start: requests, spans, log_records, rejected, refused, failed, metrics_dropped."""

        self.rejections: Counter[tuple[Signal, str]] = Counter()
        """Rejected since the start, by signal and kind of reason."""

        self.commits = Durations()

        self._store = store
        self._shares = Shares(max_bytes, max_requests)
        self._sent = Sent(deletions=store.deletions)
        self._open: set[Request] = set()
        self._turns: Turns[Request] = Turns()
        self._waiting = Waiting()
        self._rows = 0
        self._to_convert = asyncio.Event()
        self._to_commit = asyncio.Event()
        self._stopping = False
        self._all_converted = False
        self._store_answers = True
        self._commit_ended = 0.0
        self._commit_seconds = 0.0
        self._converter = ThreadPoolExecutor(1, thread_name_prefix="spanproof-convert")
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="spanproof-commit")
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def ready(self) -> bool:
        """True while requests are taken and the last commit did not fail."""
        return not self.obstacle

    @property
    def obstacle(self) -> str:
        """Why no request is taken, or none lately was stored; empty where all is well."""
        if self._stopping:
            return "the server is stopping"
        if not self._tasks:
            return "the server is starting"
        # What failed some time ago may be well again, and only another request would tell.
        if not self._store_answers and time.monotonic() - self._commit_ended < _FAILURE_SECONDS:
            return "the store did not take the last spans"
        return ""

    @property
    def load(self) -> Load:
        """What is in the pipeline now."""
        return Load(requests=self._shares.requests, rows=self._rows, bytes=self._shares.bytes)

    def start(self) -> None:
        """Begin to convert and to commit."""
        loop = asyncio.get_running_loop()
        self._tasks = (loop.create_task(self._convert_forever()), loop.create_task(self._commit_forever()))
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def stop(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Take nothing more, commit what was taken, and return when the last request has its answer.

        Returns False where the store has not taken everything within so many seconds; senders keep the rest.
        """
        self._stopping = True
        self._to_convert.set()
        self._to_commit.set()
        self._waiting.hurry()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
            self._fail_all(BusyError("the server is stopping"))
            if late:
                _logger.error("the store did not take everything within %g s: senders keep the rest", seconds)
                self._converter.shutdown(wait=False, cancel_futures=True)
                self._committer.shutdown(wait=False, cancel_futures=True)
                return False
        self._converter.shutdown()
        self._committer.shutdown()
        return True

    def arriving(self, peer: str = "") -> AbstractContextManager[Arriving]:
        """Count a body while it comes in, so that those on their way are bounded too.

        Raises:
            BusyError: too much is in flight.
        """
        if self._stopping:
            raise BusyError("the server is stopping")
        return self._shares.arriving(peer)

    async def accept(
        self,
        signal: Literal["traces", "logs"],
        body: bytes,
        form: Form = "protobuf",
        encoding: str = "",
        peer: str = "",
    ) -> Accepted:
        """Store a request and return once it is durable.

        Args:
            signal: what it holds.
            body: the bytes as they came.
            form: how they spell it.
            encoding: how they are packed.
            peer: who sends; senders are served in turn.

        Raises:
            DecodeError: the bytes are no such request; sending them again will not help.
            BusyError: too much is in flight.
            StoreUnreachableError: the store failed; nothing is promised, the sender keeps the request.
        """
        if self._stopping:
            raise BusyError("the server is stopping")
        try:
            self._shares.enter(peer, len(body))
        except BusyError:
            self.counts["refused"] += 1
            raise
        request = Request(peer, signal, body, form, encoding)
        self._open.add(request)
        self._turns.add(peer, request)
        self._to_convert.set()
        # A sender that goes away cancels this. The request stays counted until no thread has it any more.
        return accepted(await request.done)

    def _leave(self, request: Request) -> None:
        if request in self._open:
            self._open.remove(request)
            self._rows -= request.rows
            self._shares.leave(request.peer, len(request.body))

    def _fail(self, request: Request, error: Exception) -> None:
        if not request.done.done():
            request.done.set_exception(error)
        self._leave(request)

    def _fail_all(self, error: Exception) -> None:
        for request in list(self._open):
            self._fail(request, error)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Let nobody wait for a task that is gone: a fault of ours, which only a restart mends."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.critical("the pipeline failed and takes nothing more: restart the server", exc_info=error)
            self._stopping = True
            self._fail_all(BusyError("the server failed"))

    # --- bytes to rows --------------------------------------------------------------------------------------------

    async def _convert_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while not (self._stopping and not self._turns):
            if not self._turns or self._waiting.enough:
                self._to_convert.clear()
                await self._to_convert.wait()
                continue
            hop = self._next_hop()
            outcomes = await loop.run_in_executor(self._converter, convert_all, hop, self._sent)
            for request, outcome in zip(hop, outcomes, strict=True):
                if isinstance(outcome, Converted):
                    self._let_wait(request, outcome)
                else:
                    self._fail(request, outcome)
        self._all_converted = True
        self._to_commit.set()

    def _next_hop(self) -> list[Request]:
        hop: list[Request] = []
        size = 0
        while self._turns and size < _BYTES_PER_HOP and len(hop) < _REQUESTS_PER_HOP:
            request = self._turns.take()
            if request.done.done():  # its sender has gone
                self._leave(request)
                continue
            hop.append(request)
            size += len(request.body)
        return hop

    def _let_wait(self, request: Request, converted: Converted) -> None:
        if not converted.rows and not converted.batch.rejected:
            self._succeed(request, converted)
            return
        request.rows = converted.rows
        self._rows += converted.rows
        self._waiting.add(request, converted)
        self._to_commit.set()

    def _succeed(self, request: Request, converted: Converted) -> None:
        batch = converted.batch
        self.counts.update(
            requests=1, spans=batch.span_count, log_records=batch.log_count, rejected=len(batch.rejected)
        )
        for each in batch.rejected:
            self.rejections[each.signal, kind_of(each.reason)] += 1
        if not request.done.done():
            request.done.set_result(converted)
        self._leave(request)

    # --- rows to the store ----------------------------------------------------------------------------------------

    async def _commit_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while not (self._all_converted and not self._waiting):
            if not self._waiting:
                self._to_commit.clear()
                await self._to_commit.wait()
                continue
            if not self._stopping:
                await self._waiting.company(self._commit_ended, self._commit_seconds)
            group = self._waiting.take()
            self._to_convert.set()
            began = time.monotonic()
            outcomes = await loop.run_in_executor(self._committer, self._commit, [converted for _, converted in group])
            self._commit_ended = time.monotonic()
            self._commit_seconds = self._commit_ended - began
            self.commits.add(self._commit_seconds)
            self._store_answers = not all(isinstance(outcome, StoreUnreachableError) for outcome in outcomes)
            for (request, converted), outcome in zip(group, outcomes, strict=True):
                if outcome is None:
                    self._succeed(request, converted)
                else:
                    self.counts["failed"] += 1
                    self._fail(request, outcome)

    def _commit(self, group: list[Converted]) -> list[StoreError | None]:
        """Write the group as one block; return for each request how it failed, or ``None``."""
        try:
            commit(self._store, group, self._sent)
        except StoreUnreachableError as error:
            _logger.error("the store failed, senders keep %d requests: %s", len(group), error)
            return [error] * len(group)
        except Exception as error:
            if len(group) > 1:  # one of them does not fit, which is no fault of the others
                return [outcome for each in group for outcome in self._commit([each])]
            _logger.exception("a request cannot be stored")
            return [error if isinstance(error, StoreError) else StoreError(f"cannot store the request: {error!r}")]
        return [None] * len(group)
