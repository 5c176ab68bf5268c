"""Numbers in a text, as people write them: ``1,234.50 USD``, ``$5``, ``12 %``, ``($3.20)`` for a negative one.

Parts of words, dates, times, versions, ranges and fractions are none: ``ORD-1001``, ``2026-01-31``, ``10:30``, ``1/2``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Final, Literal

_SIGNS: Final = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₪": "ILS", "₱": "PHP"}
_WORDS: Final = {"percent": "%", "dollars": "USD", "dollar": "USD", "euros": "EUR", "euro": "EUR"}
_GROUPS: Final = "\u00a0\u202f\u2009'\u2019"
"""What may group thousands beside the sign that is not the decimal one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number, where it stands, and the units that stand beside it."""

    value: Decimal
    units: frozenset[str]
    start: int
    end: int
    text: str
    attached: bool
    """A word goes on right after it, as in ``3rd``: a number only for who asks for that unit."""


@cache
def _pattern(decimal: Literal[".", ","]) -> "re.Pattern[str]":
    marks = re.escape(("," if decimal == "." else ".") + _GROUPS)
    signs = re.escape("".join(_SIGNS))
    point = re.escape(decimal)
    before = r"(?<![\w.,:/#\u2212-])(?P<open>\()?(?:(?P<code>[A-Z]{3})\s)?"
    sign = rf"(?P<minus>[-\u2212+])?(?:[A-Z]{{2}}(?=\$))?(?P<sign>[{signs}])?(?P<inner>[-\u2212+])?"
    number = rf"(?P<digits>\d{{1,3}}(?:[{marks}]\d{{3}})+|\d+)(?P<part>{point}\d+)?(?P<power>[eE][-+]?\d+)?"
    unit = rf"(?:(?P<close>\))|(?P<space>\s?)(?P<unit>%|[{signs}]|[^\W\d_]+)(?P<late>\))?)?"
    return re.compile(before + sign + number + unit + r"(?![\d_]|[:/#]\w|[-\u2212.,]\d)")


def numbers(text: str, decimal: Literal[".", ","]) -> Iterator[Number]:
    """Yield the numbers of a text, in order."""
    for found in _pattern(decimal).finditer(text):
        digits, part = re.sub(r"\D", "", found["digits"]), found["part"] or ""
        value = Decimal(f"{digits}{part.replace(decimal, '.')}{found['power'] or ''}")
        closed = found["open"] and (found["close"] or found["late"])
        money = part or found["sign"] or len(digits) != len(found["digits"])
        if {found["minus"], found["inner"]} & {"-", "\u2212"} or (closed and money):
            value = -value
        beside = [found["code"], found["sign"], found["unit"]]
        end = max(found.end(name) for name in ("digits", "part", "power"))
        yield Number(
            value=value,
            units=frozenset(_unit(word) for word in beside if word),
            start=found.start("digits"),
            end=end,
            text=found.group().strip(),
            attached=found["unit"] is not None and not found["space"] and found["unit"][0].isalpha(),
        )


def _unit(word: str) -> str:
    """Return the name by which a unit is asked for, in one case."""
    return _SIGNS.get(word, _WORDS.get(word.casefold(), word)).casefold()


def has_unit(found: Number, wanted: str) -> bool:
    """Return whether a number has the unit that is asked for."""
    return _unit(wanted) in found.units
