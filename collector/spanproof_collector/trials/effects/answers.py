"""What the answer of a read shows of the thing that it was asked for: that it is there, that it is not, or neither."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spanproof_collector.model.readings import Absent, Recorded
from spanproof_collector.model.tool_catalogue import FromArgument, Scalar, argument
from spanproof_collector.model.values import Json

_THING: Final = r"(?:the |this |that )?[\w#./'\"-]{1,60}(?: [\w#./'\"-]{1,60}){0,4}"
_NOT_FOUND: Final = re.compile(
    r"^(?!.*\b(?:host|service|server|page|route|endpoint|tool|function|command|module|method|url|api|database|table)\b)"
    r"\W*(?:(?:\w{0,40}error|(?:http )?404)\W{1,4}){0,3}(?:not ?found"
    rf"|{_THING} (?:(?:was |is |could |can )?not (?:be )?(?:found|exist)|cannot be found|(?:does not|doesn't) exist)"
    r"|no such [\w ]{1,60}"
    r"|(?:there (?:is|are) |found )?no (?!errors?\b|problems?\b|issues?\b|failures?\b)[\w ]{1,60}?"
    r"(?: (?:was|were|is|are))? (?:found|exists?|on record|recorded)"
    r"|nothing (?:was )?found)[^\n]{0,60}$",
    re.IGNORECASE,
)
_SHORT: Final = 160


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GOING_ON: Final = _words(
    "pending processing queued in_progress inprogress running unknown requires_action submitted accepted new"
)
_NOT_AS_MEANT: Final = _GOING_ON | _words(
    """scheduled failed failure error declined rejected refused cancelled canceled voided expired timeout timed_out
    not_found aborted"""
)
"""States that do not say that the thing is there as it was meant to be."""

_NOTHING: Final[Sequence[Json]] = (None, [], {}, "", 0, False)


def says_absent(answer: Recorded) -> bool:
    """Return whether an answer says that what was asked for is not there."""
    if isinstance(answer, Absent):
        return False
    if answer is None or answer == [] or answer == {}:
        return True
    if isinstance(answer, str):
        # a text "null" is what many write for a null of theirs
        return len(answer) <= _SHORT and (answer.strip().lower() in ("null", "none") or bool(_NOT_FOUND.match(answer)))
    if not isinstance(answer, dict):
        return False
    if any(answer.get(key) is False for key in ("found", "exists")):
        return True
    for key in ("error", "message", "detail", "status", "code", "reason"):
        said = answer.get(key)
        if isinstance(said, dict):
            said = said.get("message", said.get("code"))
        if isinstance(said, str) and len(said) <= _SHORT and _NOT_FOUND.match(said.replace("_", " ")):
            return True
    told = {key: value for key, value in answer.items() if key not in ("errors", "warnings", "messages")}
    return any(value == [] for value in told.values()) and all(value in _NOTHING for value in answer.values())


def shows_fields(
    answer: Recorded, shows: Mapping[str, FromArgument | Scalar | list[Scalar]], arguments: Recorded
) -> bool | None:
    """Return whether an answer, or one of its objects, holds what the catalogue says that it must.

    ``False`` only where every object holds something else; a state that is not final, and a field that is not there,
    leave it open.
    """
    verdicts = [_holds(each, shows, arguments) for each in _objects(answer)]
    if True in verdicts:
        return True
    return False if verdicts and None not in verdicts else None


def holds_values(answer: Recorded, values: Sequence[Json]) -> bool | None:
    """Return True where an object of the answer holds all the values in its fields, and nothing leaves it open.

    Else ``None``: that an answer does not hold them shows nothing.
    """
    for each in _settled_objects(answer):
        held = [value for value in each.values() if isinstance(value, str | int | float)]
        if all(any(same(value, one) for one in held) for value in values):
            return True
    return None


def holds_arguments(answer: Recorded, given: Mapping[str, Json]) -> bool | None:
    """Return True where an object of the answer holds every one of these under the same name; else ``None``."""
    for each in _settled_objects(answer) if given else ():
        if all(name in each and same(each[name], value) for name, value in given.items()):
            return True
    return None


def shows_something(answer: Recorded) -> bool:
    """Return whether an answer is one object, and in no state that leaves open what became of it."""
    return isinstance(answer, dict) and not _open_within(answer)


def opened(answer: Recorded) -> Recorded:
    """Return an answer out of what MCP puts around it: its structured content, else the JSON in its only texts."""
    if isinstance(answer, dict) and isinstance(answer.get("content"), list):
        structured = answer.get("structuredContent")
        return structured if structured is not None else opened(answer["content"])
    if isinstance(answer, list) and answer and all(isinstance(p, dict) and p.get("type") == "text" for p in answer):
        answer = "\n".join(str(part["text"]) for part in answer if isinstance(part, dict) and "text" in part)
    if isinstance(answer, str) and answer.lstrip()[:1] in ("{", "["):
        try:
            found: Json = json.loads(answer)
        except (ValueError, RecursionError):
            return answer
        return found
    return answer


def same(one: Recorded, other: Recorded) -> bool:
    """Return whether two values are one: numbers by value, and a flag is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    try:
        return (numbers or type(one) is type(other)) and one == other
    except RecursionError:  # nested deeper than Python compares: nobody names a thing so
        return False


def _objects(answer: Recorded) -> Iterator[dict[str, Json]]:
    items = answer if isinstance(answer, list) else [answer]
    for item in items:
        if isinstance(item, dict):
            yield item


def _settled_objects(answer: Recorded) -> list[dict[str, Json]]:
    """Return the objects of an answer at any depth, but those around, in or within which something leaves them open."""
    objects = _objects_within(answer)
    within = [_open(found) for found, _ in objects]
    for at in range(len(objects) - 1, 0, -1):  # what is within stands after what is around it
        around = objects[at][1]
        if within[at] and around is not None:
            within[around] = True
    closed = [not _open(found) for found, _ in objects]
    for at, (_, around) in enumerate(objects):
        closed[at] = closed[at] and (around is None or closed[around])
    return [
        found for (found, _), inside, outside in zip(objects, within, closed, strict=True) if outside and not inside
    ]


def _open_within(found: dict[str, Json]) -> bool:
    return any(_open(each) for each, _ in _objects_within(found))


def _objects_within(answer: Recorded) -> list[tuple[dict[str, Json], int | None]]:
    """Return every object of a value, each after the one around it, and the place of that one."""
    objects: list[tuple[dict[str, Json], int | None]] = []
    left: list[tuple[Json, int | None]] = [] if isinstance(answer, Absent) else [(answer, None)]
    while left:
        item, around = left.pop()
        if isinstance(item, list):
            left.extend((each, around) for each in item)
        elif isinstance(item, dict):
            objects.append((item, around))
            left.extend((each, len(objects) - 1) for each in item.values())
    return objects


def _open(found: Mapping[str, Json]) -> bool:
    """Return whether an object's own fields leave open what became of it: on its way, or not as it was meant."""
    for key in ("status", "state"):
        said = found.get(key)
        if isinstance(said, str) and _state(said) in _NOT_AS_MEANT:
            return True
    return any(found.get(key) is False for key in ("ok", "success", "found", "exists")) or bool(found.get("error"))


def _holds(
    found: dict[str, Json], shows: Mapping[str, FromArgument | Scalar | list[Scalar]], arguments: Recorded
) -> bool | None:
    verdicts: list[bool | None] = []
    for path, expected in shows.items():
        value = argument(found, path)
        wanted: list[Recorded]
        if isinstance(expected, FromArgument):
            wanted = [argument(arguments, expected.argument)]
        else:
            wanted = list(expected) if isinstance(expected, list) else [expected]
        if isinstance(value, Absent) or any(isinstance(each, Absent) for each in wanted):
            verdicts.append(None)
        elif any(same(value, each) for each in wanted):
            verdicts.append(True)
        else:
            verdicts.append(None if isinstance(value, str) and _state(value) in _GOING_ON else False)
    if all(verdict is True for verdict in verdicts):
        return True
    return False if False in verdicts else None


def _state(said: str) -> str:
    return re.sub(r"[ -]", "_", said.strip().lower())
