"""The start of recording in an agent's process, before the agent's first line; called by the injected sitecustomize."""

import logging
import sys
from collections.abc import Callable

from spanproof_instrumentation.barrier import LOGGER, attempt
from spanproof_instrumentation.provider import configure_from_environment
from spanproof_instrumentation.suggestions import suggest


def start() -> None:
    """Begin to record, as ``spanproof run`` was asked to."""
    LOGGER.addHandler(_StandardError())
    LOGGER.propagate = False
    ending = configure_from_environment()
    if ending is not None:
        # Loaded now: code that is compiled at exit makes Python forget that Ctrl-C ended the program.
        ending.at_last(suggest)


class _StandardError(logging.Handler):
    """Tells on standard error only, whatever the agent does with its own log: its output stays what it was."""

    def emit(self, record: logging.LogRecord) -> None:
        stream = sys.__stderr__
        if stream is not None:
            attempt(None, _write, stream.write, self.format(record))


def _write(write: Callable[[str], object], text: str) -> None:
    write(text + "\n")
