"""Numbers in a text, as people write them: ``1,234.50 USD``, ``$5``, ``12 %``, ``($3.20)`` for a negative one.

Parts of words, dates, times, versions, ranges and fractions are none: ``ORD-1001``, ``2026-01-31``, ``10:30``, ``1/2``.
``3.5 million`` is 3500000, and ``$5k`` is 5000; ``5m`` is five of the unit ``m``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Final, Literal

_SIGNS: Final = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₪": "ILS", "₱": "PHP"}
_WORDS: Final = {"percent": "%", "dollars": "USD", "dollar": "USD", "euros": "EUR", "euro": "EUR"}
_SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_LETTERS: Final = {"k": 10**3, "m": 10**6, "b": 10**9}
"""Scales by the first letter, as they stand after money: ``$5k``, ``$3.5mn``, ``$2bn``."""

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
    before = r"(?<![\w.,:/#%\u2212-])(?P<open>\()?(?:(?P<code>[A-Z]{3})\s)?"
    sign = rf"(?P<minus>[-\u2212+])?(?:[A-Z]{{2}}(?=\$))?(?P<sign>[{signs}])?(?P<inner>[-\u2212+])?"
    number = rf"(?P<digits>\d{{1,3}}(?:[{marks}]\d{{3}})+|\d+)(?P<part>{point}\d+)?(?P<power>[eE][-+]?\d+)?"
    scale = r"(?>(?:\s?(?P<scale>(?i:thousand|million|billion|trillion))\b|(?P<letter>[kKmMbB]n?)(?![^\W\d_]))?)"
    unit = rf"(?>(?:(?P<close>\))|(?P<space>\s?)(?P<unit>%|[{signs}]|[^\W\d_]+)(?P<late>\))?)?)"
    return re.compile(before + sign + number + scale + unit + r"(?!\w|[:/#]\d|[-\u2212.,]\d)")


def numbers(text: str, decimal: Literal[".", ","]) -> Iterator[Number]:
    """Yield the numbers of a text, in order."""
    for found in _pattern(decimal).finditer(text):
        digits, part = re.sub(r"\D", "", found["digits"]), found["part"] or ""
        value = Decimal(f"{digits}{part.replace(decimal, '.')}{found['power'] or ''}")
        beside = [found["code"], found["sign"], found["unit"]]
        scale, letter = found["scale"], found["letter"]
        if letter and not (found["sign"] or found["code"]):
            beside.append(letter)  # 5m without money: metres or millions, for who asks for that unit
        elif letter:
            value *= _LETTERS[letter[0].casefold()]
        elif scale:
            value *= _SCALES[scale.casefold()]
        closed = found["open"] and (found["close"] or found["late"])
        money = part or found["sign"] or len(digits) != len(found["digits"])
        if {found["minus"], found["inner"]} & {"-", "\u2212"} or (closed and money):
            value = -value
        word = found["unit"] is not None and not found["space"] and found["unit"][0].isalpha()
        yield Number(
            value=value,
            units=frozenset(_unit(one) for one in beside if one),
            start=found.start("digits"),
            end=max(found.end(name) for name in ("digits", "part", "power")),
            text=found.group().strip(),
            attached=(word and not scale) or (letter is not None and letter in beside),
        )


def _unit(word: str) -> str:
    """Return the name by which a unit is asked for, in one case."""
    return _SIGNS.get(word, _WORDS.get(word.casefold(), word)).casefold()


def has_unit(found: Number, wanted: str) -> bool:
    """Return whether a number has the unit that is asked for."""
    return _unit(wanted) in found.units
