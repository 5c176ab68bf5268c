"""Receipts: which call each of them settles."""

from collections.abc import Sequence

from spanproof_collector.model.trials import Receipt
from spanproof_collector.trials.effects.facts import Facts
from spanproof_collector.trials.effects.identity import NO_NAMES, names_of_receipt


def assign_receipts(calls: Sequence[Facts], receipts: Sequence[Receipt]) -> list[tuple[Receipt, ...]]:
    """Return the receipts of each call, in the order of the calls.

    A receipt on a write's own span is that write's, unless it says that nothing changed there (pre- and post-state are
    equal): then what it saw is the work of an earlier attempt. One idempotency key is one effect, so a receipt settles
    every call with the key. A receipt elsewhere, as a reconciling read leaves it, is for the latest call that it names
    and that had begun: one thing seen proves one of several attempts at most. On a read that names no write it is the
    read's own, which changed something.
    """
    names = [call.names for call in calls]
    writes = [call.effect_class != "read" for call in calls]
    owners = {item.span.span_id: i for i, one in enumerate(calls) for item, _ in one.call.runs}
    begun = [call.begun for call in calls]
    found: list[list[Receipt]] = [[] for _ in calls]

    def latest(some: Sequence[int]) -> list[int]:
        return [max(some, key=lambda i: (begun[i], i))] if some else []

    for receipt in receipts:
        own = owners.get(receipt.span_id)
        told = names_of_receipt(receipt)
        if own is not None and writes[own] and (told == NO_NAMES or told.filled(names[own]).fits(names[own])):
            told = told.filled(names[own])
        fitting = [i for i in range(len(calls)) if writes[i] and told.fits(names[i])]
        chosen = [i for i in fitting if told.same_key(names[i])]
        if not chosen and own is not None and writes[own] and (own in fitting or not fitting):
            unchanged = receipt.pre_state is not None and receipt.pre_state == receipt.post_state
            earlier = [i for i in fitting if begun[i] < begun[own]]
            chosen = latest(earlier) if unchanged and earlier else [own]
        if not chosen:
            chosen = latest([i for i in fitting if begun[i] <= receipt.time]) or ([own] if own is not None else [])
        for i in chosen:
            found[i].append(receipt)
    return [tuple(items) for items in found]
