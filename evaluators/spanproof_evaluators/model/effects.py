"""Effect attempts: the external changes that a trial intended, each once, with what is known of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanproof_collector.model.trials import ToolCall, Trial

Attempted = Literal["verified", "failed", "reported", "unknown"]
Key: TypeAlias = tuple[str | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One intended external change. ``reported`` is a tool's word that nobody checked."""

    tool: str
    state: Attempted
    reason: str
    calls: tuple[ToolCall, ...]
    span_id: str | None


def attempts(trial: Trial) -> tuple[Attempt, ...]:
    """Return the effects that were attempted, refused ones left out (evaluators.md B04).

    Calls that carry the same destination, resource, operation and idempotency key are one effect: the key promises
    that trying again changes nothing more. A receipt on any of them settles it. Where no operation is named the tool
    stands for it: a key that two tools were given is a key of each.
    """
    return tuple(_together(calls) for calls in _grouped(trial.tool_calls))


def refused(trial: Trial) -> tuple[ToolCall, ...]:
    """Return the calls that were refused on purpose: evidence that the boundary worked."""
    return tuple(call for call in trial.tool_calls if call.effect.state == "refused")


def _grouped(calls: Iterable[ToolCall]) -> list[tuple[ToolCall, ...]]:
    """Return the calls by effect, in order of the first call."""
    keyed: dict[Key, list[ToolCall]] = {}
    groups: list[list[ToolCall]] = []
    for call in calls:
        effect = call.effect
        if effect.state in ("none", "refused"):
            continue
        if effect.idempotency_key is None:
            groups.append([call])
            continue
        key = (effect.destination, effect.resource, effect.operation or call.name, effect.idempotency_key)
        if key in keyed:
            keyed[key].append(call)
        else:
            keyed[key] = [call]
            groups.append(keyed[key])
    return [tuple(group) for group in groups]


def _together(calls: tuple[ToolCall, ...]) -> Attempt:
    """Return what is known of one effect: a receipt outranks silence, silence outranks a tool's word."""
    order: tuple[Attempted, ...] = ("verified", "failed", "unknown", "reported")
    for state in order:
        for call in calls:
            if call.effect.state == state:
                return Attempt(
                    tool=call.name,
                    state=state,
                    reason=call.effect.reason,
                    calls=calls,
                    span_id=call.span_ids[0] if call.span_ids else None,
                )
    raise AssertionError("an effect that is none or refused is no attempt")
