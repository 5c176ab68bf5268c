"""A judge's calibration in lines for people: valid or not, how it errs, what was tested."""

from spanproof_evaluators.model.calibrations import LEAST, Agreement, Bias, Calibration, Rate

_SAYS = {
    "no_human_labels": "no label by a person",
    "too_few_failing_items": f"fewer than {LEAST} graded items fail in truth",
    "too_few_passing_items": f"fewer than {LEAST} graded items pass in truth",
    "not_above_chance": "the judge is not shown to be better than chance",
    "nonrandom_sample": "the items were chosen, not drawn",
    "too_few_verdicts": "the judge gave no verdict on more than one graded item in ten",
    "too_many_open": "the truth of more than one item in five stayed open",
    "raters_at_chance": "raters agree no more than chance would have it",
    "blank_passed": "it passed an empty answer",
    "nonsense_passed": "it passed an answer without sense",
}


def calibration_lines(found: Calibration) -> list[str]:
    """Return what a record says."""
    counts, direction = found.counts, found.direction
    sided = "stricter than the truth" if direction.shown == "strict" else "more lenient than the truth"
    errs = "to no side that can be shown" if direction.shown == "none" else f"it is {sided}"
    kind = {"human": "people", "model": "a model", "construction": "how items were made"}[found.raters.truth_by]
    lines = [
        f"{found.evaluator}: {'valid' if found.valid else 'NOT VALID'}",
        *(f"  {_SAYS.get(reason, reason)} ({reason})" for reason in found.reasons),
        f"  {len(found.items)} items graded by {kind}, of {found.sampling.size} drawn from {found.population.size}; "
        f"{found.without_verdict} without a verdict, {found.abstained} in doubt"
        + "".join(f", {number} {why.replace('_', ' ')}" for why, number in found.open.items()),
        f"  truth pass: {counts.passed_right} passed, {counts.failed_wrong} failed; "
        f"truth fail: {counts.passed_wrong} passed, {counts.failed_right} failed",
        f"  false pass {_rate(found.false_pass)}; false fail {_rate(found.false_fail)}",
        f"  {_agreement(found.agreement)}",
        f"  of {direction.lenient + direction.strict} errors {direction.lenient} lenient: {errs} (sign test p = "
        f"{direction.two_sided:.3f})",
        f"  {found.needed.have} failing items; +-10 points take {found.needed.at_one_in_five} at a false pass of 0.2"
        + ("" if found.needed.at_measured is None else f", {found.needed.at_measured} at the measured one"),
    ]
    if found.raters.together is not None:
        lines.append(
            f"  raters among themselves: {_agreement(found.raters.together)}; they differ on {len(found.raters.differ)}"
        )
    return [*lines, *(f"  {_bias(one)}" for one in found.bias)]


def _rate(found: Rate) -> str:
    told = f"{found.numerator}/{found.denominator}"
    if found.value is None or found.interval is None:
        return told
    return f"{told} ({found.value:.3f}, {found.interval[0]:.3f}-{found.interval[1]:.3f})"


def _agreement(found: Agreement) -> str:
    between = f" ({found.kappa_interval[0]:.3f} to {found.kappa_interval[1]:.3f})" if found.kappa_interval else ""
    return (
        f"agreement {_number(found.agreement)} on {found.items}, kappa {_number(found.kappa)}{between}, "
        f"AC1 {_number(found.ac1)}, alpha {_number(found.alpha)}"
    )


def _bias(found: Bias) -> str:
    told = f"{found.test}: "
    if found.value is None:
        return f"{told}{found.reason}"
    told += f"{found.value:.3f}" if found.p is not None else f"{found.held}/{found.tried}"
    if found.interval is not None:
        told += f" ({found.interval[0]:.3f} to {found.interval[1]:.3f})"
    if found.p is not None:
        told += f", p = {found.p:.3f}"
    if found.unavailable:
        told += f", {found.unavailable} without a verdict"
    return f"{told}; {found.about}"


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"
