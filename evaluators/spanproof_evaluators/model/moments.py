"""Moments as people write them."""

from datetime import UTC, datetime


def read_moment(text: str) -> int:
    """Return Unix nanoseconds of an ISO 8601 text (UTC where it names no zone), or of Unix nanoseconds.

    Raises:
        ValueError: it is neither.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time. Give 2026-01-31, 2026-01-31T12:00:00Z or Unix nanoseconds") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
