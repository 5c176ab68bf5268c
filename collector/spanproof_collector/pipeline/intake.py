"""Takes Export requests from the servers and acknowledges each after its rows are durable.

Bounded in bytes and rows. One thread converts, one commits; requests that wait together are one block. The boundary
at which whatever goes wrong with a block becomes an answer for its requests is ``Pipeline._commit``.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Literal

from spanproof_collector.errors import CollectorError, StoreError, StoreUnreachableError
from spanproof_collector.otlp import Form, Sent, Signal
from spanproof_collector.pipeline.committing import commit
from spanproof_collector.pipeline.converting import Converted, convert_body
from spanproof_collector.pipeline.measured import Durations, Load, kind_of
from spanproof_collector.pipeline.writing import BLOCK_ROWS
from spanproof_collector.store import Store

_logger = logging.getLogger(__name__)

MAX_BYTES_IN_FLIGHT: Final = 256 * 1024 * 1024
MAX_ROWS_IN_FLIGHT: Final = 100_000
COMMIT_SECONDS: Final = 0.2
"""No request waits longer than this for others to share its block."""

_RETRY_SECONDS: Final = 1.0
_FAILURE_SECONDS: Final = 10.0


class BusyError(CollectorError):
    """More is in flight than we take on, or the server is stopping. The sender is to try again."""

    def __init__(self, why: str, retry_seconds: float = _RETRY_SECONDS) -> None:
        super().__init__(f"{why}: send the same request again in {retry_seconds:g} s")
        self.retry_seconds = retry_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a request: everything is durable but what was rejected, with the reasons."""

    rejected: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Waiting:
    converted: Converted
    durable: "asyncio.Future[None]"
    since: float


class Pipeline:
    """The way from the wire into the store. Start it and use it on one event loop."""

    def __init__(
        self,
        store: Store,
        *,
        max_bytes: int = MAX_BYTES_IN_FLIGHT,
        max_rows: int = MAX_ROWS_IN_FLIGHT,
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Since the start: requests, spans, log_records, rejected, refused, failed, metrics_dropped."""

        self.rejections: Counter[tuple[Signal, str]] = Counter()
        """Rejected since the start, by signal and kind of reason."""

        self.commits = Durations()

        self._store = store
        self._max_bytes = max_bytes
        self._max_rows = max_rows
        self._sent = Sent(deletions=store.deletions)
        self._bytes = 0
        self._rows = 0
        self._open = 0
        self._waiting: deque[_Waiting] = deque()
        self._waiting_rows = 0
        self._arrived = asyncio.Event()
        self._full = asyncio.Event()
        self._stopping = False
        self._store_answers = True
        self._commit_ended = 0.0
        self._commit_seconds = 0.0
        self._converter = ThreadPoolExecutor(1, thread_name_prefix="spanproof-convert")
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="spanproof-commit")
        self._task: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """True while requests are taken and the last commit did not fail."""
        return not self.obstacle

    @property
    def obstacle(self) -> str:
        """Why no request is taken, or none lately was stored; empty where all is well."""
        if self._stopping:
            return "the server is stopping"
        if self._task is None:
            return "the server is starting"
        # What failed some time ago may be well again, and only another request would tell.
        if not self._store_answers and time.monotonic() - self._commit_ended < _FAILURE_SECONDS:
            return "the store did not take the last spans"
        return ""

    @property
    def load(self) -> Load:
        """What is in the pipeline now."""
        return Load(requests=self._open, rows=self._rows, bytes=self._bytes)

    def start(self) -> None:
        """Begin to commit."""
        self._task = asyncio.get_running_loop().create_task(self._commit_forever())

    async def stop(self) -> None:
        """Take nothing more, commit what was taken, and return when the last request has its answer."""
        self._stopping = True
        self._arrived.set()
        self._full.set()
        if self._task is not None:
            await self._task
        self._converter.shutdown()
        self._committer.shutdown()

    async def accept(
        self, signal: Literal["traces", "logs"], body: bytes, form: Form = "protobuf", encoding: str = ""
    ) -> Accepted:
        """Store a request and return once it is durable.

        Raises:
            DecodeError: the bytes are no such request; sending them again will not help.
            BusyError: too much is in flight.
            StoreUnreachableError: the store failed; nothing is promised, the sender keeps the request.
        """
        if self._stopping:
            raise BusyError("the server is stopping")
        if self._rows >= self._max_rows or (self._bytes and self._bytes + len(body) > self._max_bytes):
            self.counts["refused"] += 1
            raise BusyError("too much is waiting for the store")
        size = len(body)
        self._bytes += size
        self._open += 1
        loop = asyncio.get_running_loop()
        rows = 0
        try:
            converted = await loop.run_in_executor(
                self._converter, convert_body, signal, body, form, encoding, self._sent
            )
            self._bytes += converted.size - size
            size = converted.size
            rows = converted.rows
            self._rows += rows
            await self._durable(converted)
        finally:
            self._leave(size, rows)
        return self._answer(converted)

    def _leave(self, size: int, rows: int) -> None:
        self._bytes -= size
        self._rows -= rows
        self._open -= 1
        if self._stopping:
            self._arrived.set()

    def _answer(self, converted: Converted) -> Accepted:
        batch = converted.batch
        rejected = len(batch.rejected)
        self.counts.update(requests=1, spans=batch.span_count, log_records=batch.log_count, rejected=rejected)
        for each in batch.rejected:
            self.rejections[each.signal, kind_of(each.reason)] += 1
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

    async def _durable(self, converted: Converted) -> None:
        if not converted.rows and not converted.batch.rejected:
            return
        waiting = _Waiting(converted, asyncio.get_running_loop().create_future(), time.monotonic())
        waiting.durable.add_done_callback(lambda done: done.exception())  # the sender may have gone
        self._waiting.append(waiting)
        self._waiting_rows += converted.rows
        self._arrived.set()
        if self._waiting_rows >= BLOCK_ROWS:
            self._full.set()
        # Shielded: the rows are committed whether or not the sender still waits for the answer.
        await asyncio.shield(waiting.durable)

    async def _commit_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while not (self._stopping and not self._open and not self._waiting):
            await self._arrived.wait()
            if not self._waiting:
                self._arrived.clear()
                continue
            if self._waiting_rows < BLOCK_ROWS and not self._stopping:
                await self._pause()
            group = self._take()
            began = time.monotonic()
            outcomes = await loop.run_in_executor(self._committer, self._commit, [each.converted for each in group])
            self._commit_ended = time.monotonic()
            self._commit_seconds = self._commit_ended - began
            self.commits.add(self._commit_seconds)
            self._store_answers = not all(isinstance(outcome, StoreUnreachableError) for outcome in outcomes)
            for waiting, outcome in zip(group, outcomes, strict=True):
                if waiting.durable.done():
                    continue
                if outcome is None:
                    waiting.durable.set_result(None)
                else:
                    self.counts["failed"] += 1
                    waiting.durable.set_exception(outcome)

    async def _pause(self) -> None:
        """Wait for company while commits follow each other closely.

        A commit costs nearly the same for one span as for a hundred. Pausing as long as the last one took lets small
        requests share at most half of the time with the store, and keeps a lone one from waiting.
        """
        until = min(
            self._commit_ended + min(self._commit_seconds, COMMIT_SECONDS), self._waiting[0].since + COMMIT_SECONDS
        )
        seconds = until - time.monotonic()
        if seconds > 0:
            self._full.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._full.wait()
            except TimeoutError:
                pass

    def _take(self) -> list[_Waiting]:
        group = [self._waiting.popleft()]
        rows = group[0].converted.rows
        while self._waiting and rows + self._waiting[0].converted.rows <= BLOCK_ROWS:
            group.append(self._waiting.popleft())
            rows += group[-1].converted.rows
        self._waiting_rows -= rows
        return group

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
