"""What a trial cost: bills first, the price catalogue where nobody billed.

Of one model call one amount counts: ``spanproof.cost.usd`` on its span or on a span around it, else what the sender
recorded of the call (``ModelCall.cost``), else the catalogue's price of its tokens. A call that failed and recorded no
tokens counts as unbilled work of the provider and costs nothing here.
"""

from collections import Counter
from decimal import Decimal

from spanproof_collector.dialects import evidence
from spanproof_collector.model.readings import ModelCall
from spanproof_collector.model.trials import Cost
from spanproof_collector.trials._reading import ReadSpan, ReadTrial
from spanproof_collector.trials.prices import Price, catalogue, price_of


def cost_of(trial: ReadTrial) -> Cost:
    """Return the cost of a trial; ``covered`` is false where a call has neither bill nor price, never $0."""
    billed = [amount for item in trial.spans if (amount := evidence.cost(item.span.attributes)) is not None]
    priced: list[Decimal] = []
    missing: Counter[str] = Counter()
    models = trial.models()
    for item, call in models:
        if _billed(trial, item):
            continue
        if call.cost is not None:
            billed.append(call.cost)
            continue
        found = _priced(item, call)
        if found is None:
            continue
        if found.usd is None:
            missing[found.reason or "no price"] += 1
        else:
            priced.append(found.usd)
    total = sum((*billed, *priced), Decimal(0)) if billed or priced else None
    reason = "no_billed_cost" if total is None else None
    if missing:
        reason = f"{missing.total()} of {len(models)} model calls without a price: {', '.join(sorted(missing))}"
    return Cost(
        usd=total,
        covered=total is not None and not missing,
        reason=reason,
        catalogue=catalogue() if priced else None,
        source="bill and catalogue" if billed and priced else "bill" if billed else "catalogue" if priced else None,
    )


def _billed(trial: ReadTrial, item: ReadSpan) -> bool:
    """True where a bill stands on the span of a call or on a span around it."""
    return evidence.cost(item.span.attributes) is not None or any(
        evidence.cost(outer.span.attributes) is not None for outer in trial.ancestors(item)
    )


def _priced(item: ReadSpan, call: ModelCall) -> Price | None:
    """The catalogue's price; ``None`` for a call that failed before it used any token that was recorded."""
    if item.failed and call.usage.input_tokens is None and call.usage.output_tokens is None:
        return None
    return price_of(call, item.span.start if item.timed else None)
