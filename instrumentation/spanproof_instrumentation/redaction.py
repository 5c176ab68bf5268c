"""Redaction: what must not leave the process is taken out of a copy, just before our exporter sends it.

A rule is a regular expression, a JSON path or a function. Whatever a failing rule was to look at is dropped: nothing
passes because a rule broke. Other exporters of the agent see what they saw before.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from spanproof_instrumentation.barrier import attempt, tell_once

REPLACEMENT: Final = "[redacted]"

Hook: TypeAlias = Callable[[str, object], object]
"""Gets the name and the value, returns the value to send; ``None`` drops it."""

Rule: TypeAlias = str | re.Pattern[str] | Hook
"""A text is a JSON path where it is ``$…`` or ``name:$…``, else a regular expression."""

Rules: TypeAlias = Rule | Sequence[Rule]

_Step: TypeAlias = tuple[str, str | int | None]  # ("key", name) | ("index", number) | ("all", None) | ("any", name)

_PATH: Final = re.compile(r"(?:(?P<name>[^:$\s]+):)?(?P<path>\$(?:\.|\[).*)", re.DOTALL)
_STEP: Final = re.compile(
    r"""\.\.(?P<any>[\w-]+)
      | \.(?P<key>[\w-]+)
      | \[(?P<index>\d+)\]
      | \['(?P<quoted>[^']+)'\]
      | (?P<all>\.\*|\[\*\])""",
    re.VERBOSE,
)
_DEEPEST: Final = 64  # a text nested deeper is dropped rather than searched
_DROPPED: Final = object()


class RedactionError(ValueError):
    """A rule that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPath:
    """A place in the JSON text of an attribute."""

    attribute: str
    steps: tuple[_Step, ...]


class Redaction:
    """Rules, ready to be applied to one value after the other."""

    def __init__(
        self, patterns: Sequence[re.Pattern[str]], paths: Sequence[JsonPath], hooks: Sequence[Hook], *, closed: bool
    ) -> None:
        self._patterns = tuple(patterns)
        self._paths = tuple(paths)
        self._hooks = tuple(hooks)
        self._closed = closed

    @classmethod
    def of(cls, rules: Rules | None) -> "Redaction | None":
        """Return the rules in force, ``None`` where there are none. A rule that cannot be read lets no value pass."""
        if rules is None or (isinstance(rules, Sequence) and not rules):
            return None
        try:
            return cls.strictly(rules)
        except (RedactionError, TypeError) as error:
            tell_once(f"spanproof: every value is held back, because {error}")
            return cls((), (), (), closed=True)

    @classmethod
    def strictly(cls, rules: Rules) -> "Redaction":
        """Return the rules in force.

        Raises:
            RedactionError: a rule that cannot be read.
        """
        patterns: list[re.Pattern[str]] = []
        paths: list[JsonPath] = []
        hooks: list[Hook] = []
        for rule in [rules] if isinstance(rules, (str, re.Pattern)) or callable(rules) else rules:
            if isinstance(rule, re.Pattern):
                patterns.append(rule)
            elif isinstance(rule, str):
                found = _PATH.fullmatch(rule)
                if found:
                    paths.append(JsonPath(attribute=found["name"] or "*", steps=_steps(rule, found["path"])))
                else:
                    patterns.append(_pattern(rule))
            elif callable(rule):
                hooks.append(rule)
            else:
                raise RedactionError(f"{rule!r} is no redaction rule: give a text, a pattern or a function")
        return cls(patterns, paths, hooks, closed=False)

    def attributes(self, attributes: Mapping[str, object] | None) -> dict[str, object]:
        """Return the attributes that may leave."""
        kept: dict[str, object] = {}
        for name, value in (attributes or {}).items():
            allowed = self.value(name, value)
            if allowed is not None:
                kept[name] = allowed
        return kept

    def text(self, name: str, text: str | None) -> str | None:
        """Return a text that may leave, ``None`` where none may."""
        if not text:
            return text
        allowed = self.value(name, text)
        return allowed if isinstance(allowed, str) else None

    def value(self, name: str, value: object) -> object:
        """Return the value that may leave, ``None`` where none may."""
        if self._closed:
            return None
        allowed = attempt(_DROPPED, self._value, name, value)
        return None if allowed is _DROPPED else allowed

    def _value(self, name: str, value: object) -> object:
        found = self._plain(name, value, 0)
        if isinstance(found, (dict, list)):
            for steps in self._steps_for(name):
                found = _without(found, steps)
        for hook in self._hooks:
            if found is None:
                return None
            found = hook(name, found)
            if not _sendable(found):
                raise TypeError(f"the redaction of {name} returned a {type(found).__name__}")
        return found

    def _plain(self, name: str, value: object, depth: int) -> object:
        if depth > _DEEPEST:
            raise RecursionError(f"{name} is nested too deep to be redacted")
        match value:
            case None | bool():
                return value
            case str():
                return self._text(name, value, depth)
            case int() | float():
                return REPLACEMENT if self._hit(repr(value)) else value
            case bytes():
                return REPLACEMENT.encode() if self._hit(value.decode("utf-8", "replace")) else value
            case Mapping():
                return {self._swept(str(key)): self._plain(name, item, depth + 1) for key, item in value.items()}
            case Sequence():
                items = [self._plain(name, item, depth + 1) for item in value]
                # An array of attributes is of one type.
                return [str(item) for item in items] if REPLACEMENT in items and _flat(items) else items
            case _:
                raise TypeError(f"{name} holds a {type(value).__name__}, which cannot be redacted")

    def _text(self, name: str, text: str, depth: int) -> str:
        paths = self._steps_for(name)
        first = text.lstrip()[:1]
        if first in ("{", "[", '"') and (paths or self._patterns):
            parsed = _parsed(text)
            if parsed is _DROPPED:
                if paths and first != '"':
                    # Cut off in the middle, perhaps: nobody can say what lies at the path.
                    raise ValueError(f"{name} is no JSON in which a path could be looked for")
            else:
                changed = self._leaves(name, parsed, depth + 1)
                for steps in paths:
                    changed = _without(changed, steps)
                if changed != parsed:
                    text = json.dumps(changed, ensure_ascii=False)
        for pattern in self._patterns:
            text = pattern.sub(REPLACEMENT, text)
        return text

    def _leaves(self, name: str, value: object, depth: int) -> object:
        """Redact what JSON escapes could hide from a pattern, and JSON texts inside of JSON texts."""
        if depth > _DEEPEST:
            raise RecursionError(f"{name} is nested too deep to be redacted")
        match value:
            case str():
                return self._text(name, value, depth)
            case dict():
                return {self._swept(key): self._leaves(name, item, depth + 1) for key, item in value.items()}
            case list():
                return [self._leaves(name, item, depth + 1) for item in value]
            case None | bool():
                return value
            case _:
                return REPLACEMENT if self._hit(repr(value)) else value

    def _steps_for(self, name: str) -> list[tuple[_Step, ...]]:
        return [path.steps for path in self._paths if fnmatchcase(name, path.attribute)]

    def _swept(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(REPLACEMENT, text)
        return text

    def _hit(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self._patterns)


def rules_of_text(text: str) -> list[Rule]:
    """Return rules written one a line."""
    return [line for line in text.splitlines() if line.strip()]


def text_of_rules(rules: Iterable[str]) -> str:
    """Return rules in the form that a variable of the environment holds."""
    return "\n".join(rules)


def _pattern(rule: str) -> re.Pattern[str]:
    try:
        return re.compile(rule)
    except re.error as error:
        raise RedactionError(f"{rule!r} is no regular expression: {error}") from error


def _steps(rule: str, path: str) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            raise RedactionError(f"{rule!r} is no JSON path of ours: use .key ['key'] [0] [*] .* and ..key")
        if found["any"]:
            steps.append(("any", found["any"]))
        elif found["all"]:
            steps.append(("all", None))
        elif found["index"]:
            steps.append(("index", int(found["index"])))
        else:
            steps.append(("key", found["key"] or found["quoted"]))
        place = found.end()
    return tuple(steps)


def _without(value: object, steps: tuple[_Step, ...]) -> object:
    if not steps:
        return REPLACEMENT
    (kind, name), rest = steps[0], steps[1:]
    match kind, value:
        case "any", dict():
            return {key: _without(item, rest) if key == name else _without(item, steps) for key, item in value.items()}
        case "any", list():
            return [_without(item, steps) for item in value]
        case "key", dict():
            return {key: _without(item, rest) if key == name else item for key, item in value.items()}
        case "index", list():
            return [_without(item, rest) if place == name else item for place, item in enumerate(value)]
        case "all", dict():
            return {key: _without(item, rest) for key, item in value.items()}
        case "all", list():
            return [_without(item, rest) for item in value]
        case _, str():
            # A JSON text inside of a JSON text is one step of no length.
            parsed = _parsed(value) if value.lstrip()[:1] in ("{", "[") else _DROPPED
            if parsed is _DROPPED:
                return value
            changed = _without(parsed, steps)
            return value if changed == parsed else json.dumps(changed, ensure_ascii=False)
        case _:
            return value


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return _DROPPED


def _flat(items: Sequence[object]) -> bool:
    return not any(isinstance(item, (Mapping, list)) for item in items)


def _sendable(value: object) -> bool:
    match value:
        case None | bool() | str() | int() | float() | bytes():
            return True
        case Mapping():
            return all(isinstance(key, str) and _sendable(item) for key, item in value.items())
        case Sequence():
            return all(_sendable(item) for item in value)
        case _:
            return False
