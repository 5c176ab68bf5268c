"""The ledger: each call's effect once, its class and whose word that is, its state and what settles it."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from spanproof_collector.model.readings import ToolDefinition
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import (
    Effect,
    EffectClass,
    EffectState,
    Executed,
    Receipt,
    RecordedChanges,
    Refusal,
)
from spanproof_collector.trials.effects.classes import class_of
from spanproof_collector.trials.effects.environment import seen_to_change
from spanproof_collector.trials.effects.facts import Facts
from spanproof_collector.trials.effects.identity import names_of_call
from spanproof_collector.trials.effects.lookups import Looked, looked_up
from spanproof_collector.trials.effects.outcomes import Ran, outcome_of_run
from spanproof_collector.trials.effects.receipts import assign_receipts
from spanproof_collector.trials.tool_calls import JoinedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger."""

    executed: Executed
    error: str | None
    exit_code: int | None
    receipts: tuple[Receipt, ...]
    effect: Effect


def ledger(
    calls: Sequence[JoinedCall],
    *,
    receipts: Sequence[Receipt] = (),
    refusals: Sequence[Refusal] = (),
    changes: Sequence[RecordedChanges] = (),
    tools: Mapping[str, ToolDefinition],
    catalogue: ToolCatalogue = EMPTY,
    beside: Sequence[JoinedCall] = (),
    unanswered: Set[tuple[str, str]] = frozenset(),
) -> list[Entry]:
    """Return an entry for each call, in the order of the calls.

    Args:
        calls: in the order in which they were asked for.
        receipts: what somebody saw at destinations, in order of time.
        refusals: what was refused on purpose.
        changes: what an environment showed of each call.
        tools: the tools that were offered, with their MCP hints, by name.
        catalogue: what people say of tools.
        beside: calls of the same session that are none of these: the user's, where these are the agent's.
        unanswered: tool spans whose outbound request failed without a response, by trace and span id.
    """
    facts = [_facts(call, refusals, tools, catalogue, unanswered) for call in calls]
    seen = assign_receipts(facts, receipts)
    changed = seen_to_change(facts, changes, beside)
    looked = looked_up(facts)
    return [
        _entry(one, own, changed.get(place), looks)
        for place, (one, own, looks) in enumerate(zip(facts, seen, looked, strict=True))
    ]


def _facts(
    call: JoinedCall,
    refusals: Sequence[Refusal],
    tools: Mapping[str, ToolDefinition],
    catalogue: ToolCatalogue,
    unanswered: Set[tuple[str, str]],
) -> Facts:
    own = {item.span.span_id for item, _ in call.runs}
    ran = outcome_of_run(call, [item for item in refusals if item.span_id in own])
    doubtful = any((item.span.trace_id, item.span.span_id) in unanswered for item, _ in call.runs)
    if doubtful and ran.executed == "yes":
        ran = replace(ran, why="unanswered")
    effect_class, source = class_of(call, tools, catalogue)
    entry = catalogue.of(call.name)
    begun = min((item.span.start for item, _ in call.runs), default=call.asked_at[0])
    return Facts(
        call=call,
        ran=ran,
        effect_class=effect_class,
        class_source=source,
        names=names_of_call(call, entry),
        entry=entry,
        begun=begun,
        ended=max((item.span.end for item, _ in call.runs), default=begun),
    )


def _entry(one: Facts, receipts: tuple[Receipt, ...], changed: tuple[bool, str] | None, looked: Looked) -> Entry:
    effect_class, source = one.effect_class, one.class_source
    taken_for: EffectClass | None = None
    shown = any(r.pre_state is not None and r.post_state is not None and r.pre_state != r.post_state for r in receipts)
    if (shown or (changed is not None and changed[0])) and effect_class in ("read", "unclassified"):
        taken_for, effect_class, source = effect_class, "write", "observed"
    state, reason, resolved_by = _state(effect_class, one.ran, receipts, changed, looked)
    names = one.names
    return Entry(
        executed="yes" if state == "verified" and one.ran.executed == "unknown" else one.ran.executed,
        error=one.ran.error,
        exit_code=one.ran.exit_code,
        receipts=receipts,
        effect=Effect(
            effect_class=effect_class,
            class_source=source,
            state=state,
            reason=reason,
            destination=names.destination,
            resource=names.resource,
            operation=names.operation,
            idempotency_key=names.idempotency_key,
            resolved_by=resolved_by,
            looked_up_by=looked.by,
            watched=changed is not None,
            taken_for=taken_for,
        ),
    )


def _state(
    effect_class: EffectClass,
    ran: Ran,
    receipts: Sequence[Receipt],
    changed: tuple[bool, str] | None,
    looked: Looked,
) -> tuple[EffectState, str, str | None]:
    """Return state, reason, and the span that settles it.

    The latest receipt outranks all; then what an environment showed, then a read that looked it up, then what the tool
    said. What nobody said stays unknown.
    """
    if effect_class in ("read", "handoff"):
        return "none", effect_class, None
    if receipts:
        return receipts[-1].state, "receipt", receipts[-1].span_id
    if ran.executed == "no":
        return ("refused", "refused", None) if ran.why == "refused" else ("none", ran.why, None)
    if changed is not None and changed[0]:
        return "verified", "recorded_change", changed[1]
    if changed is not None:
        # nobody said that it was to change anything, and it did not
        nothing = effect_class == "unclassified"
        return "none" if nothing else "failed", "no_recorded_change", changed[1]
    if looked.state is not None:
        return looked.state, "looked_up", looked.span_id
    if ran.executed == "yes" and ran.why not in ("exit_code", "unanswered"):
        return "reported", "tool_reported", None
    return "unknown", ran.why, None
