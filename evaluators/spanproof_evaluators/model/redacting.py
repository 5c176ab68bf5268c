"""Personal data taken out of a text by rule, before it goes into a file that people share.

The rules know shapes and no names: a person still reads what is kept. Each match leaves the name of its rule behind.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Final


def _luhn(text: str) -> bool:
    digits = [int(one) for one in text if one.isdigit()]
    doubled = [sum(divmod(2 * one, 10)) if place % 2 else one for place, one in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    plain = re.sub(r"\s", "", text).upper()
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(one, 36)) for one in moved)) % 97 == 1


def _phone(text: str) -> bool:
    digits = sum(one.isdigit() for one in text)
    return 8 <= digits <= 15 and not re.fullmatch(r"\d{4}-\d{2}-\d{2}.*", text)


_ALL: Final = lambda text: True  # noqa: E731  # a rule without a second look

RULES: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    ("secret", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----"), _ALL),
    ("secret", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), _ALL),
    ("secret", re.compile(r"\b(?:sk|pk|rk|gh[opsur]|xox[abprs]|glpat|npm|hf)[-_][\w-]{12,}"), _ALL),
    ("secret", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"), _ALL),
    ("secret", re.compile(r"(?i)(?<=bearer )[\w.~+/=-]{12,}"), _ALL),
    (
        "secret",
        re.compile(
            r"(?i)(?:(?<=password[=:])|(?<=passwd[=:])|(?<=secret[=:])|(?<=token[=:])|(?<=api_key[=:]))\s*[^\s,;]{4,}"
        ),
        _ALL,
    ),
    ("secret", re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"), _ALL),
    ("email", re.compile(r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)+"), _ALL),
    ("iban", re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b"), _iban),
    ("card", re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])"), _luhn),
    ("ip", re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])"), _ALL),
    ("ip", re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?![\w:])"), _ALL),
    (
        "phone",
        re.compile(r"(?<![\w.-])\+\d[\d ().-]{6,}\d(?!\w)|(?<![\w.-])\(?0\d{1,4}\)?[ /-]\d[\d /-]{4,}\d(?![\w-])"),
        _phone,
    ),
)
"""By name: what a match looks like, and a second look at it. Earlier ones go first."""


def redacted(text: str) -> tuple[str, Counter[str]]:
    """Return a text without what the rules find, and how often each found something."""
    found: Counter[str] = Counter()
    for name, pattern, sure in RULES:

        def replaced(match: re.Match[str], name: str = name, sure: Callable[[str], bool] = sure) -> str:
            if not sure(match[0]):
                return match[0]
            found[name] += 1
            return f"[{name}]"

        text = pattern.sub(replaced, text)
    return text, found
