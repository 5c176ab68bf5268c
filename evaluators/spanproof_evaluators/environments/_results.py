"""Whether a tool gave back what was recorded: compared as JSON values, not as texts."""

import json
from typing import Final

from spanproof_evaluators.environments._environment import Answer
from spanproof_evaluators.model.canonical import Plain

_NOTHING: Final = ("", "null", "None")
"""How recordings write that a tool gave nothing back."""


def same(recorded: Answer, came: Answer) -> bool:
    """Return whether two answers say the same: both failed in the same words, or both gave the same value.

    A text that is JSON is its value; numbers are equal by value, ``true`` is the text ``True`` and no 1.
    """
    if recorded.error is not None and came.error is not None:
        return _complaint(recorded.error) == _complaint(came.error)
    if recorded.error is not None or came.error is not None:
        return False
    return _value(recorded.result) == _value(came.result)


def _complaint(error: str) -> str:
    """Return the words of a failure without the one that recordings put before them."""
    return error.strip().removeprefix("Error:").strip()


def _value(result: Plain) -> object:
    if not isinstance(result, str):
        return _told(result)
    text = result.strip()
    if text in _NOTHING:
        return None
    try:
        found: Plain = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, str) else _told(found)


def _told(value: Plain) -> object:
    match value:
        case bool():
            return str(value)
        case dict():
            return {key: _told(item) for key, item in value.items()}
        case list():
            return [_told(item) for item in value]
    return value
