"""Proof: for a trial that needs a look, the spans, receipts and end-state rows that show it."""

from spanproof_collector.model.trials import Receipt, Trial
from spanproof_evaluators.model.assessments import Assessment


def proof(one: Assessment) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return lines of evidence as (what, seen, span ids): the claim, checks, effects with receipts, findings."""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    claim = one.trial.claim
    if one.declared:
        found.append(
            (f"claim: {claim.state}", f"{claim.source}, {claim.rule}", (claim.span_id,) if claim.span_id else ())
        )
    told: list[Receipt] = []
    states = {state.phase: state.span_id for state in one.trial.end_states}
    for check in one.outcome.checks:
        if check.passed is not True:
            word = "failed" if check.passed is False else f"unavailable ({check.reason})"
            found.append((f"check {word}: {check.name}", check.seen, _span(states.get("after"))))
    if one.outcome.state == "unavailable" and not one.outcome.checks:
        found.append(("outcome unavailable", one.outcome.reason, ()))
    for call in one.trial.tool_calls:
        effect = call.effect
        if effect.state in ("failed", "unknown", "reported"):
            place = " ".join(part for part in (effect.operation, effect.resource, effect.destination) if part)
            found.append((f"effect {effect.state}: {call.name}", f"{place} {effect.reason}".strip(), call.span_ids[:1]))
        for receipt in call.receipts:
            if receipt in told:
                continue  # one observation can settle several calls
            told.append(receipt)
            found.append((f"receipt {receipt.state}: {call.name}", _seen(receipt), (receipt.span_id,)))
    for receipt in unmatched(one.trial):
        found.append((f"receipt {receipt.state}, of no call", _seen(receipt), (receipt.span_id,)))
    for result in one.results:
        if result.evaluator != "false_success" and result.state in ("fail", "unavailable"):
            word = "flag" if result.label == "diagnostic" else result.state
            found.append((f"{result.evaluator}: {word}", result.explanation, result.span_ids))
    return found


def unmatched(trial: Trial) -> list[Receipt]:
    """Return the receipts that belong to no call: something was seen that no call accounts for."""
    matched = [receipt for call in trial.tool_calls for receipt in call.receipts]
    return [receipt for receipt in trial.receipts if receipt not in matched]


def _seen(receipt: Receipt) -> str:
    place = " ".join(part for part in (receipt.operation, receipt.resource, receipt.destination) if part)
    return " ".join(part for part in (receipt.observer, receipt.observed, f"({place})" if place else "") if part)


def _span(span_id: str | None) -> tuple[str, ...]:
    return (span_id,) if span_id else ()
