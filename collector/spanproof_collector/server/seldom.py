"""Log lines for what a client can repeat a thousand times a second: one in ten seconds, with the count of the rest."""

import logging
import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 10.0
_MAX_KINDS: Final = 200


class Seldom:
    """Tells each kind of event now and then."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._told: dict[str, tuple[float, int]] = {}

    def warn(self, kind: str, message: str) -> None:
        """Log the message unless one of its kind was logged lately."""
        now = self._clock()
        at, left_out = self._told.get(kind, (now - _SECONDS, 0))
        if now - at < _SECONDS:
            self._told[kind] = (at, left_out + 1)
            return
        if len(self._told) >= _MAX_KINDS:
            self._told.clear()
        self._told[kind] = (now, 0)
        self._logger.warning("%s%s", message, f" (and {left_out} more like it before)" if left_out else "")
