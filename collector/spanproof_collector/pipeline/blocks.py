"""Requests that were read and wait for their block."""

import asyncio
import time
from collections import deque
from typing import Final

from spanproof_collector.pipeline.converting import Converted
from spanproof_collector.pipeline.requests import Request
from spanproof_collector.pipeline.writing import BLOCK_ROWS

COMMIT_SECONDS: Final = 0.2
"""No request waits longer than this for others to share its block."""

_ROWS_AHEAD: Final = BLOCK_ROWS
_BYTES_AHEAD: Final = 64 * 1024 * 1024


class Waiting:
    """The queue before the store."""

    def __init__(self) -> None:
        self._requests: deque[tuple[Request, Converted, float]] = deque()
        self._rows = 0
        self._bytes = 0
        self._full = asyncio.Event()

    def __bool__(self) -> bool:
        """True while any request waits."""
        return bool(self._requests)

    @property
    def enough(self) -> bool:
        """True while so much waits that there is no use in reading more."""
        return self._rows >= _ROWS_AHEAD or self._bytes >= _BYTES_AHEAD

    def add(self, request: Request, converted: Converted) -> None:
        """Put a request at the end."""
        self._requests.append((request, converted, time.monotonic()))
        self._rows += converted.rows
        self._bytes += converted.weight
        if self._rows >= BLOCK_ROWS:
            self._full.set()

    def take(self) -> list[tuple[Request, Converted]]:
        """Return the requests of the next block: as many as fit, and at least one."""
        block: list[tuple[Request, Converted]] = []
        rows = 0
        while self._requests and (not block or rows + self._requests[0][1].rows <= BLOCK_ROWS):
            request, converted, _ = self._requests.popleft()
            block.append((request, converted))
            rows += converted.rows
            self._bytes -= converted.weight
        self._rows -= rows
        return block

    def hurry(self) -> None:
        """Wait for no company any more."""
        self._full.set()

    async def company(self, ended: float, seconds: float) -> None:
        """Wait for company while commits follow each other closely; needs a request that waits.

        A commit costs nearly the same for one span as for a hundred. Pausing as long as the last one took lets small
        requests share at most half of the time with the store, and keeps a lone one from waiting.

        Args:
            ended: when the last commit ended.
            seconds: how long it took.
        """
        if self._rows >= BLOCK_ROWS:
            return
        until = min(ended + min(seconds, COMMIT_SECONDS), self._requests[0][2] + COMMIT_SECONDS)
        pause = until - time.monotonic()
        if pause > 0:
            self._full.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._full.wait()
            except TimeoutError:
                pass
