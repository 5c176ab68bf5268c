"""What an effect is known by: destination, resource, operation, idempotency key."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spanproof_collector.dialects import evidence
from spanproof_collector.model.readings import Absent, Recorded
from spanproof_collector.model.tool_catalogue import CatalogueTool
from spanproof_collector.model.trials import Receipt
from spanproof_collector.model.values import Json
from spanproof_collector.trials.tool_calls import JoinedCall


@dataclass(frozen=True, slots=True)
class Names:
    """What an effect is known by. ``None`` where nobody says."""

    destination: str | None
    resource: str | None
    operation: str | None
    idempotency_key: str | None

    def fits(self, other: "Names") -> bool:
        """True when nothing that both name differs, and both name two things or more."""
        both = [(mine, theirs) for mine, theirs in zip(self.all(), other.all(), strict=True) if mine and theirs]
        return len(both) >= 2 and all(mine == theirs for mine, theirs in both)

    def same_key(self, other: "Names") -> bool:
        """True when both carry one idempotency key, and nothing else differs."""
        return self.idempotency_key is not None and self.idempotency_key == other.idempotency_key and self.fits(other)

    def elsewhere(self, other: "Names") -> bool:
        """True when both say where they act, and not at one thing."""
        pairs = ((self.destination, other.destination), (self.resource, other.resource))
        return any(mine and theirs and mine != theirs for mine, theirs in pairs)

    def filled(self, other: "Names") -> "Names":
        """These names, and the other's where one is missing."""
        return Names(*(mine or theirs for mine, theirs in zip(self.all(), other.all(), strict=True)))

    def all(self) -> tuple[str | None, ...]:
        """The names in their order."""
        return (self.destination, self.resource, self.operation, self.idempotency_key)


NO_NAMES: Final = Names(None, None, None, None)


def names_of_call(call: JoinedCall, entry: CatalogueTool | None) -> Names:
    """Return what a call's effect is known by: as its spans declare, then as the catalogue tells from its arguments.

    An argument that is called ``idempotency_key``, however it is spelled, is one.
    """
    names = NO_NAMES
    for item, _ in reversed(call.runs):
        said = evidence.effect(item.span.attributes)
        names = names.filled(Names(said.destination, said.resource, said.operation, said.idempotency_key))
    if entry is not None:
        names = names.filled(Names(*entry.names(call.arguments)))
    if names.idempotency_key is None:
        names = names.filled(Names(None, None, None, key_in(call.arguments)))
    return names


def names_of_receipt(receipt: Receipt) -> Names:
    """Return what a receipt is of."""
    return Names(receipt.destination, receipt.resource, receipt.operation, receipt.idempotency_key)


def key_in(arguments: Recorded) -> str | None:
    """Return the idempotency key among arguments, where one of them is called so and holds a text or a number."""
    if isinstance(arguments, Absent) or not isinstance(arguments, dict):
        return None
    for name, value in arguments.items():
        plain = "".join(letter for letter in name.lower() if letter.isalnum())
        if plain == "idempotencykey" and isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def scalars(value: Json) -> Iterator[str | int | float]:
    """Yield the texts and numbers in a value, at any depth; flags and null identify nothing."""
    left: list[Json] = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            yield item
