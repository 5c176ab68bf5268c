"""The release policy: evidence first, harm second, averages last (evaluators.md R049, B45)."""

from decimal import Decimal

from spanproof_evaluators.model.decisions import Gate

ONE = Decimal(1)
NONE = Decimal(0)


def release_policy(
    *,
    useful_progress_min: Decimal = Decimal("0.9"),
    effect_integrity_min: Decimal = ONE,
    cost_per_verified_outcome_max: Decimal | None = None,
) -> tuple[Gate, ...]:
    """Return the gates in their order. Only the order is founding text; the limits are the strictest its prose allows.

    No ceiling of cost is set unless one is given: what an outcome may cost is nobody's to guess.
    """
    gates = [
        Gate(
            id="coverage",
            order=1,
            hard=True,
            measure="evidence_stated",
            comparator="at_least",
            limit=ONE,
            on_unavailable="fail",
            on_empty="fail",
            needs_verdict="outcome_coverage",
            because="every declared completion and every effect attempt has a verdict or an explicit gap",
        ),
        Gate(
            id="false_success",
            order=2,
            hard=True,
            measure="false_success_rate",
            what="numerator",
            comparator="at_most",
            limit=NONE,
            on_empty="fail",
            because="a completion that failed its check stops the release: look at its predicate, not at style",
        ),
        Gate(
            id="unknown_effects",
            order=3,
            hard=True,
            measure="unknown_effects",
            what="numerator",
            comparator="at_most",
            limit=NONE,
            on_empty="pass",
            because="look at the destination, or reconcile an idempotency key, before anybody tries again",
        ),
        Gate(
            id="unverified_completions",
            order=4,
            hard=True,
            measure="unverified_completions",
            what="numerator",
            comparator="at_most",
            limit=NONE,
            on_empty="fail",
            because="a completion without a verdict supports no release",
        ),
        Gate(
            id="constraints",
            order=5,
            hard=True,
            measure="constraint_violations",
            what="numerator",
            comparator="at_most",
            limit=NONE,
            on_empty="pass",
            because="no forbidden tool, and nothing done twice",
        ),
        Gate(
            id="useful_progress",
            order=6,
            hard=False,
            measure="useful_progress",
            comparator="at_least",
            limit=useful_progress_min,
            because="a floor; waits for somebody's decision are left out",
        ),
        Gate(
            id="effect_integrity",
            order=7,
            hard=True,
            measure="effect_integrity",
            comparator="at_least",
            limit=effect_integrity_min,
            because="effects are seen at the destination",
        ),
    ]
    if cost_per_verified_outcome_max is not None:
        gates.append(
            Gate(
                id="cost_per_verified_outcome",
                order=8,
                hard=False,
                measure="cost_per_verified_outcome",
                comparator="at_most",
                limit=cost_per_verified_outcome_max,
                because="a ceiling; only now is there anything to optimize",
            )
        )
    return tuple(gates)
