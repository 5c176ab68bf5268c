"""Values that some senders write as text: flags, spans of time, money."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from spanproof_collector.dialects._json import count
from spanproof_collector.model.values import Value

_DIGITS: Final = 15
"""What a double can hold of a decimal number, and the greatest power of ten of an amount."""


def flag(attributes: Mapping[str, Value], key: str) -> bool | None:
    """Return a truth value, also where it was sent as text; ``None`` where there is none."""
    value = attributes.get(key)
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def milliseconds(attributes: Mapping[str, Value], key: str) -> int:
    """Return a duration in nanoseconds; 0 where none was recorded."""
    value = attributes.get(key)
    if isinstance(value, float) and 0 <= value < 1e12:
        return round(value * 1_000_000)
    return (count(attributes, key, most=10**12) or 0) * 1_000_000


def dollars(value: Value) -> Decimal | None:
    """Return an amount of money; of a double the 15 digits that it holds. ``None`` where it is no amount."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = Decimal(f"{value:.{_DIGITS}g}") if isinstance(value, float) else Decimal(value)
    except (ValueError, OverflowError):
        return None
    known = amount.is_finite() and amount >= 0 and (amount == 0 or abs(amount.adjusted()) <= _DIGITS)
    return amount if known else None
