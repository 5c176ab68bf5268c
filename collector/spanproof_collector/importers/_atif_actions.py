"""Commands that agents write into their words where their harness lists no calls: two protocols with their own form.

What comes of them is recorded for the whole message, so each of them has no result of its own.
"""

import json
import re
from typing import Final

from spanproof_collector.importers._fields import obj, objects
from spanproof_collector.importers._session import Call
from spanproof_collector.model.values import Json

_FUNCTION: Final = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER: Final = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_KEYSTROKES: Final = "keystrokes"


def actions_of(words: str) -> list[Call]:
    """Return the calls that a message spells: function tags, or a JSON object that lists keystrokes."""
    tagged = [_tagged(found[1], found[2]) for found in _FUNCTION.finditer(words)]
    return tagged or _typed(words)


def declares_complete(words: str) -> bool:
    """True where such an object says that the task is complete."""
    return _spoken(words).get("task_complete") is True


def _spoken(words: str) -> dict[str, Json]:
    try:
        return obj(json.loads(words)) if words.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}


def _tagged(name: str, inner: str) -> Call:
    given: dict[str, Json] = {found[1]: found[2] for found in _PARAMETER.finditer(inner)}
    return Call(name=name, arguments=given)


def _typed(words: str) -> list[Call]:
    """A message that is no JSON as a whole was sent back unread: it asks for nothing."""
    return [
        Call(
            name="bash",
            arguments={"command": command[_KEYSTROKES]} | {k: v for k, v in command.items() if k != _KEYSTROKES},
        )
        for command in objects(_spoken(words).get("commands"))
        if isinstance(command.get(_KEYSTROKES), str)
    ]
