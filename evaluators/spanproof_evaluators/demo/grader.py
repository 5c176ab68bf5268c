"""A grader of prose: how an answer reads, by a rubric in code. It does not know what happened."""

import re
from typing import Final

GRADER: Final = "demo-tone"
REVISION: Final = "2026-03"

_NAMES: Final = re.compile(r"\b(Ada|Barbara|Edsger|Grace|Alan|Edgar|Leslie)\b")
_WARM: Final = re.compile(r"\b(thank you|sorry|great news|gladly)\b", re.IGNORECASE)
_NEXT: Final = re.compile(r"\bnext\b", re.IGNORECASE)
_ORDER: Final = re.compile(r"\bORD-\d{4}\b")
_MOST_WORDS: Final = 40


def grade(answer: str) -> float:
    """Return the share of points that the answer earns, between 0 and 1."""
    points = {
        0.24: bool(_WARM.search(answer)),
        0.23: bool(_NAMES.search(answer)),
        0.22: bool(_NEXT.search(answer)),
        0.20: len(answer.split()) <= _MOST_WORDS,
        0.11: bool(_ORDER.search(answer)),
    }
    return round(sum(worth for worth, earned in points.items() if earned), 2)
