"""Whether requests are taken, and what keeps them from being taken."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from spanproof_collector.errors import StoreError
from spanproof_collector.pipeline import Pipeline

_REMEMBERED_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 2.0


class Readiness:
    """Asks the pipeline, and now and then the store itself: one that fails while nobody sends would not show."""

    def __init__(self, pipeline: Pipeline, ask_store: Callable[[], object]) -> None:
        self._pipeline = pipeline
        self._ask_store = ask_store
        self._asked_at = -_REMEMBERED_SECONDS
        self._asking: asyncio.Future[str] | None = None
        self._found = ""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spanproof-ready")

    async def obstacle(self) -> str:
        """Return why requests are not taken, or ``""``."""
        return self._pipeline.obstacle or await self._store_obstacle()

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _store_obstacle(self) -> str:
        if self._asking is None:
            if time.monotonic() - self._asked_at < _REMEMBERED_SECONDS:
                return self._found
            self._asking = asyncio.get_running_loop().run_in_executor(self._thread, self._probe)
        asking = self._asking
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                self._found = await asyncio.shield(asking)
        except TimeoutError:
            return f"the store has not answered for {_PATIENCE_SECONDS:g} s"
        if self._asking is asking:
            self._asking = None
            self._asked_at = time.monotonic()
        return self._found

    def _probe(self) -> str:
        try:
            self._ask_store()
        except StoreError:
            return "the store does not answer"
        return ""
