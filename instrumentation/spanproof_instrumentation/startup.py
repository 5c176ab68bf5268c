"""The start of recording in an agent's process, before the agent's first line; called by the injected sitecustomize."""

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from spanproof_instrumentation.barrier import LOGGER, attempt
from spanproof_instrumentation.ending import Ending
from spanproof_instrumentation.provider import configure_from_environment
from spanproof_instrumentation.settings import CENSUS
from spanproof_instrumentation.suggestions import suggest


def start() -> None:
    """Begin to record, as ``spanproof run`` was asked to."""
    LOGGER.addHandler(_StandardError())
    LOGGER.propagate = False
    ending = configure_from_environment()
    if ending is not None:
        ending.before_exec(_stay_in_front)
        # Loaded now: code that is compiled at exit makes Python forget that Ctrl-C ended the program.
        ending.at_last(suggest)
        attempt(None, _count, ending)


def _count(ending: Ending) -> None:
    folder = os.environ.get(CENSUS)
    if folder:
        from spanproof_instrumentation.census import Census

        Census(Path(folder), ending).begin()


def _stay_in_front() -> None:
    """Keep our folder the first of the path: a wrapper such as opentelemetry-instrument puts its own before it.

    Its sitecustomize does not run ours, but ours runs the one that it shadows.
    """
    ours = str(Path(__file__).parent / "injected")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if ours in paths[1:]:
        os.environ["PYTHONPATH"] = os.pathsep.join([ours, *(path for path in paths if path != ours)])


class _StandardError(logging.Handler):
    """Tells on standard error only, whatever the agent does with its own log: its output stays what it was."""

    def emit(self, record: logging.LogRecord) -> None:
        stream = sys.__stderr__
        if stream is not None:
            attempt(None, _write, stream.write, self.format(record))


def _write(write: Callable[[str], object], text: str) -> None:
    write(text + "\n")
