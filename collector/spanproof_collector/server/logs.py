"""How a server logs: one line an event, for people or as JSON, without what senders sent.

The message of an exception that is not ours can quote a value (``invalid literal for int(): '4111…'``), so of those
only the kind and the place are told.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, Literal

from spanproof_instrumentation.errors import SpanproofError

LogFormat = Literal["text", "json"]
_MAX_FRAMES: Final = 8


def log_to_stderr(form: LogFormat, level: str) -> None:
    """Send every log line of the process to standard error: ours from ``level`` on, those of libraries from WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for part in ("spanproof_collector", "spanproof_evaluators"):
        logging.getLogger(part).setLevel(level.upper())


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``time``, ``level``, ``logger``, ``message``; of an exception ``error`` and ``at``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().rstrip(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _named(record.exc_info[1])
            line["at"] = list(_frames(record.exc_info[1]))
        return json.dumps(line, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """A line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = f"{_time(record)} {record.levelname:<7} {record.getMessage().rstrip()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f" [{_named(record.exc_info[1])} at {', '.join(_frames(record.exc_info[1]))}]"
        return " ".join(line.splitlines())


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _named(error: BaseException) -> str:
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, SpanproofError) else name


def _frames(error: BaseException) -> Iterator[str]:
    """Yield the innermost places that the error came through, the innermost last."""
    for frame in traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]:
        yield f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} {frame.name}"
