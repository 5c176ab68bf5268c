"""Proof: for a trial that needs a look, the spans, receipts and end-state rows that show it."""

from dataclasses import dataclass
from typing import Literal

from spanproof_collector.model.trials import Effect, Receipt, Trial
from spanproof_collector.trials.claims import measured
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.reports.wording import because, unseen
from spanproof_evaluators.stats.intervals import wilson

_TOLD_ALREADY = ("false_success", "unknown_effect")
"""Rules that add nothing to the lines on claim, checks and effects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One piece of evidence."""

    kind: Literal["claimed", "check", "outcome", "effect", "receipt", "rule", "judge"]
    state: str
    name: str = ""
    """The rule or the judge, for those."""

    what: str
    seen: str = ""
    span_ids: tuple[str, ...] = ()
    central: bool = True
    """False for what went well beside it, and for diagnostics that could not be made."""


def proof(one: Assessment) -> list[Proof]:
    """Return the evidence: the claim, checks, effects, broken rules, and every receipt once."""
    trial, claim = one.trial, one.trial.claim
    found: list[Proof] = []
    if one.declared:
        found.append(
            Proof(
                kind="claimed",
                state=claim.state,
                what=claimed_by(trial),
                span_ids=(claim.span_id,) if claim.span_id else (),
            )
        )
    after = tuple(state.span_id for state in trial.end_states if state.phase == "after")[-1:]
    for check in one.outcome.checks:
        if check.passed is False:
            found.append(Proof(kind="check", state="failed", what=check.name, seen=check.seen, span_ids=after))
        elif check.passed is None:
            found.append(Proof(kind="check", state="unavailable", what=check.name, seen=unseen(check), span_ids=after))
    if one.outcome.state == "unavailable" and not one.outcome.checks:
        found.append(Proof(kind="outcome", state="unavailable", what=because(one.outcome.reason)))
    broken: set[str] = set()
    for result in one.results:
        if result.evaluator not in _TOLD_ALREADY and result.state in ("fail", "unavailable"):
            diagnostic = result.label == "diagnostic"
            state = "flag" if diagnostic and result.state == "fail" else result.state
            broken.update(result.span_ids if result.state == "fail" else ())
            found.append(
                Proof(
                    kind="rule",
                    state=state,
                    name=result.evaluator,
                    what=result.explanation or because(result.reason or ""),
                    span_ids=result.span_ids,
                    central=not (diagnostic and result.state == "unavailable"),
                )
            )
    found += [
        Proof(
            kind="judge",
            state=result.state,
            name=result.evaluator,
            what=result.explanation or because(result.reason or ""),
            central=result.state != "pass",
        )
        for result in one.judges
    ]
    told: list[Receipt] = []
    for call in trial.tool_calls:
        effect = call.effect
        unsettled = effect.state in ("failed", "unknown", "reported")
        if unsettled:
            found.append(
                Proof(
                    kind="effect",
                    state=effect.state,
                    what=f"{call.name}{_in_brackets(place(effect))}: {because(effect.reason)}",
                    span_ids=call.span_ids[:1],
                )
            )
        for receipt in call.receipts:
            if receipt in told:
                continue  # one observation can settle several calls
            told.append(receipt)
            named = bool(broken & {receipt.span_id, *call.span_ids})
            found.append(_receipt(receipt, call.name, central=unsettled or named or receipt.state == "failed"))
    found.extend(_receipt(receipt, "of no call", central=True) for receipt in unmatched(trial))
    return found


def claimed_by(trial: Trial) -> str:
    """Return how the claim came to be read."""
    claim = trial.claim
    match claim.source:
        case "declared":
            return f"declared ({claim.rule})"
        case "termination":
            return f"by how the run ended ({claim.rule})"
        case "text":
            return f"by the answer's words (rule {claim.rule}, {rule_error(claim.rule)})"
        case "none":
            return f"rule {claim.rule}"


def rule_error(rule: str) -> str:
    """Return how a text rule did on labeled messages, in words."""
    known = measured(rule)
    if known is None:
        return "its error is not known"
    low, high = wilson(known.right, known.read)
    return f"right for {known.right} of {known.read} labeled messages [{low:.3f}, {high:.3f}]"


def unmatched(trial: Trial) -> list[Receipt]:
    """Return the receipts that belong to no call: something was seen that no call accounts for."""
    matched = [receipt for call in trial.tool_calls for receipt in call.receipts]
    return [receipt for receipt in trial.receipts if receipt not in matched]


def place(of: Receipt | Effect) -> str:
    """Return what is changed and where."""
    done = " ".join(part for part in (of.operation, of.resource) if part)
    return " at ".join(part for part in (done, of.destination) if part)


def seen(receipt: Receipt) -> str:
    """Return who saw what."""
    return ": ".join(part for part in (receipt.observer, receipt.observed) if part)


def _receipt(receipt: Receipt, whose: str, *, central: bool) -> Proof:
    return Proof(
        kind="receipt",
        state=receipt.state,
        what=f"{whose}{_in_brackets(place(receipt))}",
        seen=seen(receipt),
        span_ids=(receipt.span_id,),
        central=central,
    )


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
