"""The tool catalogue: what people say of tools, by name. It classes tools whose traces do not say what they change.

version: 1
tools:
  - name: charge                        # or a pattern: "*_charge", "mcp__shop__*"
    class: write                        # read, write, destructive, handoff
    destination: payments
    resource: "orders/{order_id}"       # an argument in braces; account.id for one within another
    operation: charge
    idempotency_key: request.key        # the argument that holds the key
    lookups:                            # the reads that tell whether it took place
      - tool: get_charge
        match: {order_id: order_id}     # the read's argument: the write's, or {result: id} of what it returned
        shows: {status: [succeeded, settled], amount: {argument: amount}}
  - name: "report_*"
    class: read
    confirmed: false                    # a proposal: it counts for nothing until somebody confirms it
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final, Literal, TypeAlias

import msgspec

from spanproof_collector.model.readings import Absent, Recorded
from spanproof_collector.model.trials import EffectClass
from spanproof_collector.model.values import Json

CataloguedClass = Literal["read", "write", "destructive", "handoff"]
Scalar: TypeAlias = str | bool | int | float | None
_BRACES: Final = re.compile(r"\{([^{}]+)\}")


class FromArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The value that the write was given as this argument."""

    argument: str


class FromResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The value that the write's own result has there: the id of what it made."""

    result: str


class Lookup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A read that tells whether what a write was to change is there."""

    tool: str
    """The read's name, or a pattern."""

    match: dict[str, str | FromResult]
    """Argument of the read to argument of the write, or to a field of its result: equal values are one thing."""

    shows: dict[str, FromArgument | Scalar | list[Scalar]] = {}
    """Fields of the answer to what they must hold for the change to be there. Empty: that there is an answer at all."""


class CatalogueTool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of the tools that one name or pattern fits."""

    name: str
    effect_class: CataloguedClass | None = msgspec.field(name="class", default=None)
    confirmed: bool = True
    """False for a proposal that nobody has looked at: it counts for nothing."""

    destination: str | None = None
    resource: str | None = None
    operation: str | None = None
    idempotency_key: str | None = None
    """The argument that holds the key."""

    lookups: tuple[Lookup, ...] = ()

    @property
    def pattern(self) -> bool:
        """True when the name stands for several."""
        return any(letter in self.name for letter in "*?[")

    def names(self, arguments: Recorded) -> tuple[str | None, str | None, str | None, str | None]:
        """Return destination, resource, operation and idempotency key of a call with these arguments."""
        key = None if self.idempotency_key is None else _text(argument(arguments, self.idempotency_key))
        filled = (_filled(text, arguments) for text in (self.destination, self.resource, self.operation))
        return *filled, key  # type: ignore[return-value]  # three of the generator and one


class ToolCatalogue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """The whole file."""

    version: Literal[1] = 1
    tools: tuple[CatalogueTool, ...] = ()

    @cached_property
    def _exact(self) -> Mapping[str, CatalogueTool]:
        return {tool.name: tool for tool in reversed(self.tools)}

    @cached_property
    def _patterns(self) -> tuple[CatalogueTool, ...]:
        return tuple(tool for tool in self.tools if tool.pattern and tool.confirmed)

    @cached_property
    def _reads(self) -> tuple[str, ...]:
        return tuple(lookup.tool for tool in self.tools if tool.confirmed for lookup in tool.lookups)

    def of(self, name: str) -> CatalogueTool | None:
        """Return the confirmed entry for a tool: of its very name, else the first whose pattern fits."""
        exact = self._exact.get(name)
        if exact is not None and exact.confirmed:
            return exact
        return next((tool for tool in self._patterns if fnmatchcase(name, tool.name)), None)

    def named(self, name: str) -> CatalogueTool | None:
        """Return the entry of that very name, confirmed or not."""
        return self._exact.get(name)

    def class_of(self, name: str) -> EffectClass | None:
        """Return the class that a confirmed entry gives a tool; ``None`` where none does.

        What an entry names as the read of a lookup is a read, where no entry of its own says more.
        """
        entry = self.of(name)
        if entry is not None and entry.effect_class is not None:
            return entry.effect_class
        return "read" if any(fnmatchcase(name, tool) for tool in self._reads) else None


EMPTY: Final = ToolCatalogue()
"""The catalogue of those who have none."""


def argument(arguments: Recorded, path: str) -> Recorded:
    """Return the argument under a name, or under names joined by dots; absent where there is none."""
    value: Recorded = arguments
    if isinstance(value, dict) and path in value:
        return value[path]
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return Absent()
    return value


def _filled(template: str | None, arguments: Recorded) -> str | None:
    """Return a text with the arguments in it; ``None`` where one of them is not there."""
    if template is None:
        return None
    values = {path: _text(argument(arguments, path)) for path in _BRACES.findall(template)}
    if None in values.values():
        return None
    return _BRACES.sub(lambda found: str(values[found[1]]), template)


def _text(value: "Recorded | Json") -> str | None:
    """Return a text or a number as text; a list, an object, a flag and nothing name no thing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
