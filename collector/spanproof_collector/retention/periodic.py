"""Applies the stored policies again and again while a server runs.

The boundary at which a failure costs one turn, and never the server, is ``keep_retention``.
"""

import asyncio
import logging
from typing import Final

from spanproof_collector.errors import StoreError
from spanproof_collector.retention.ages import apply_retention
from spanproof_collector.store import Store

_logger = logging.getLogger(__name__)

RETENTION_SECONDS: Final = 3600.0
"""From the end of one turn to the next; the first comes at the start."""


async def keep_retention(store: Store, every: float = RETENTION_SECONDS) -> None:
    """Delete what is older than it is kept for, until cancelled."""
    while True:
        try:
            gone = await asyncio.to_thread(apply_retention, store)
        except StoreError as error:
            _logger.error("retention could not be applied, and is tried again in %g s: %s", every, error)
        else:
            if gone.trials:
                _logger.info(
                    "retention: %d trials, %d spans and %d log records were older than they are kept for",
                    gone.trials,
                    gone.counted.spans,
                    gone.counted.log_records,
                )
        await asyncio.sleep(every)
