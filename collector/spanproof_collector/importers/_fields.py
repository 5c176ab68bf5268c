"""Reads fields of recorded JSON that may be of another type than expected: what does not fit is ``None`` or empty."""

import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from spanproof_collector.importers._session import digest_of
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.values import Json

_SECOND: Final = 1_000_000_000
_EPOCHS: Final = ((10**17, 1), (10**14, 1_000), (10**11, 1_000_000), (0, _SECOND))
"""From which size on a number of time is nanoseconds, microseconds, milliseconds, seconds; and what it is worth."""

_FRACTION: Final = re.compile(r"\.(\d+)")
_MOST_DIGITS: Final = 15


def obj(value: Json) -> dict[str, Json]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    """Return a JSON array, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Json) -> list[dict[str, Json]]:
    """Return the objects of a JSON array."""
    return [item for item in listed(value) if isinstance(item, dict)]


def text(value: Json) -> str | None:
    """Return a text that says something."""
    return value if isinstance(value, str) and value else None


def ident(value: Json) -> str | None:
    """Return an id: a text, or a whole number spelled as one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


def whole(value: Json) -> int | None:
    """Return a count: a whole number that is not negative, also as text or as a float without fraction."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def integer(value: Json) -> int | None:
    """Return a whole number, an exit code, as it is written; a truth value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Json) -> float | None:
    """Return a finite number; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def truth(value: Json) -> bool | None:
    """Return a truth value, also one that was written as text."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def dollars(value: Json) -> Decimal | None:
    """Return an amount of US dollars."""
    known = number(value)
    return None if known is None or known < 0 else Decimal(repr(value))


def moment(value: Json) -> int | None:
    """Return Unix nanoseconds of an ISO 8601 text, UTC where it names no zone, or of a number of seconds or less."""
    if isinstance(value, str):
        return _of_iso(value)
    known = number(value)
    if known is None or known <= 0 or isinstance(value, bool):
        return None
    worth = next(worth for least, worth in _EPOCHS if known >= least)
    if isinstance(value, int):
        return value * worth
    return int(Decimal(repr(value)) * worth)


def _of_iso(value: str) -> int | None:
    fraction = _FRACTION.search(value)
    try:
        read = datetime.fromisoformat(_FRACTION.sub("", value, count=1))
    except ValueError:
        return None
    seconds = int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
    return seconds * _SECOND + (int(fraction[1].ljust(9, "0")[:9]) if fraction else 0)


def openai_usage(value: Json) -> Usage:
    """Return the tokens of a chat completion, or of a response; cached ones are part of the input there.

    Anthropic's counts bear the names of a response, and count cached tokens beside the input.
    """
    used = obj(value)
    details = obj(used.get("prompt_tokens_details")) or obj(used.get("input_tokens_details"))
    of_output = obj(used.get("completion_tokens_details")) or obj(used.get("output_tokens_details"))
    beside, written = whole(used.get("cache_read_input_tokens")), whole(used.get("cache_creation_input_tokens"))
    asked, answered = whole(used.get("prompt_tokens")), whole(used.get("completion_tokens"))
    if asked is None and (fresh := whole(used.get("input_tokens"))) is not None:
        asked = fresh + (beside or 0) + (written or 0)
    read = whole(details.get("cached_tokens"))
    return Usage(
        input_tokens=asked,
        output_tokens=answered if answered is not None else whole(used.get("output_tokens")),
        cache_read_tokens=read if read is not None else beside,
        cache_write_tokens=written,
        reasoning_tokens=whole(of_output.get("reasoning_tokens")),
    )


def loosely(value: Json) -> Json:
    """Return what a JSON text holds, and any other text as it stands."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "[", '"'):
        try:
            opened: Json = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return opened
    return value


def fingerprint(*parts: Json) -> str:
    """Return a digest of content, for what has no id; the same however the JSON was spelled."""
    return digest_of(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode())
