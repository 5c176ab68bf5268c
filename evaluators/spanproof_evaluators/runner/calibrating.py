"""Calibrating: labels and a judge's verdicts on the same items in, a record of how the judge errs out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from spanproof_evaluators.model.calibrations import (
    Agreement,
    Bias,
    ByCriterion,
    Calibration,
    Counts,
    Direction,
    Graded,
    Needed,
    Rate,
    RaterCount,
    Raters,
    why_invalid,
)
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.judgements import Judge, Judgement
from spanproof_evaluators.model.labels import Label, Labels, RaterKind
from spanproof_evaluators.model.rubrics import Criterion
from spanproof_evaluators.stats import judge_rates
from spanproof_evaluators.stats.agreement import (
    Confusion,
    Ratings,
    cohen_kappa,
    confusion,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from spanproof_evaluators.stats.intervals import wilson

NANOSECONDS_A_DAY: Final = 86_400 * 1_000_000_000
STATES: Final = ("pass", "fail")
_KINDS: Final[tuple[RaterKind, ...]] = ("human", "construction", "model")
"""Whose labels are the truth, where there are several kinds: people's before any other."""


def calibrate(
    labels: Labels,
    judge: Judge,
    verdicts: Mapping[str, Judgement],
    *,
    at: int,
    days: int = 90,
    bias: Sequence[Bias] = (),
) -> Calibration:
    """Return the calibration of a judge.

    Args:
        labels: what raters say.
        judge: whose verdicts these are.
        verdicts: by hash of the input; items without one count as such.
        at: now, in Unix nanoseconds.
        days: for how long the record covers verdicts that are given from now on.
        bias: what tests of bias came to, where they were run.
    """
    kind = truth_by(labels)
    truth, left = truths(labels, kind)
    graded = tuple(_graded(input_hash, known, verdicts.get(input_hash)) for input_hash, known in truth.items())
    counts = _counts((one.truth, one.judge) for one in graded if one.judge is not None)
    seen = [verdicts[one.input_hash] for one in graded if one.judge is not None]
    sheet = labels.sheet
    draft = Calibration.model_construct(
        version=1,
        judge_hash=judge.hash,
        judge=judge.told(),
        evaluator=judge.evaluator,
        rubric=judge.rubric,
        rubric_hash=judge.rubric_hash,
        served_models=tuple(sorted({one.served_model for one in seen if one.served_model})),
        population=sheet.population,
        sampling=sheet.sampling,
        labels_hash=labels.hash,
        raters=_raters(labels, kind),
        open=dict(sorted(left.items())),
        items=graded,
        counts=counts,
        abstained=sum(one.abstained for one in graded),
        without_verdict=len(graded) - len(seen),
        agreement=agreement([[_word(one.truth), _word(one.judge)] for one in graded if one.judge is not None]),
        false_pass=_rate(counts.passed_wrong, counts.failing),
        false_fail=_rate(counts.failed_wrong, counts.passing),
        direction=_direction(counts),
        needed=_needed(counts),
        by_criterion=tuple(_by_criterion(one, labels, kind, verdicts, list(truth)) for one in sheet.rubric.criteria),
        bias=tuple(bias),
        created_at=str(at),
        expires_at=str(at + days * NANOSECONDS_A_DAY),
        valid=False,
        reasons=(),
    )
    reasons = tuple(why_invalid(draft))
    whole = draft.model_copy(update={"valid": not reasons, "reasons": reasons})
    return Calibration.model_validate_json(whole.model_dump_json())


def truth_by(labels: Labels) -> RaterKind:
    """Return whose labels are the truth: people's if there are any, else by how items were made, else a model's."""
    there = {one.rater.kind for one in labels.standing.values()}
    return next((kind for kind in _KINDS if kind in there), "human")


def truths(labels: Labels, kind: RaterKind) -> tuple[dict[str, bool], Counter[str]]:
    """Return the truth of every item that has one, in the order of the items, and why the others have none.

    Raters who differ leave it open. An item behind the last one that anybody labeled is only not reached yet.
    """
    said = {item: [one for one in labels.of(item) if one.rater.kind == kind] for item in labels.items}
    reached = max((place for place, item in enumerate(said) if said[item]), default=-1)
    found: dict[str, bool] = {}
    left: Counter[str] = Counter()
    for place, (item, several) in enumerate(said.items()):
        states = {one.state for one in several if one.state in STATES}
        if len(states) == 1:
            found[item] = states == {"pass"}
        elif states:
            left["raters_differ"] += 1
        elif place > reached:
            left["unlabeled"] += 1
        else:
            left["unsure" if any(one.state == "unsure" for one in several) else "skipped"] += 1
    return found, left


def agreement(ratings: Ratings) -> Agreement:
    """Return how far raters agree; kappa where there are two of them."""
    two = bool(ratings) and all(len(one) == 2 for one in ratings)
    table: Confusion | None = confusion(ratings, STATES) if two else None
    kappa = cohen_kappa(table) if table is not None else None
    return Agreement(
        items=sum(sum(word is not None for word in one) > 1 for one in ratings),
        agreement=percent_agreement(ratings),
        kappa=kappa.value if kappa else None,
        kappa_interval=kappa.interval if kappa else None,
        ac1=gwet_ac1(ratings, STATES),
        alpha=krippendorff_alpha(ratings),
    )


def judges_together(labels: Labels, said: Sequence[Mapping[str, Judgement]]) -> Agreement:
    """Return how far several judges agree on the items."""

    def word(verdict: Judgement | None) -> str | None:
        return None if verdict is None or verdict.state == "unavailable" else verdict.state

    return agreement([[word(verdicts.get(item)) for verdicts in said] for item in labels.items])


def _graded(input_hash: str, truth: bool, verdict: Judgement | None) -> Graded:
    state = None if verdict is None or verdict.state == "unavailable" else verdict.state == "pass"
    return Graded(
        input_hash=input_hash,
        truth=truth,
        judge=state,
        abstained=state is False and verdict is not None and verdict.reason == "abstained",
    )


def _counts(pairs: Iterable[tuple[bool, bool | None]]) -> Counts:
    counted = Counter(pairs)
    return Counts(
        passed_right=counted[True, True],
        passed_wrong=counted[False, True],
        failed_right=counted[False, False],
        failed_wrong=counted[True, False],
    )


def _rate(part: int, of: int) -> Rate:
    return Rate(
        numerator=part,
        denominator=of,
        value=part / of if of else None,
        interval=wilson(part, of) if of else None,
        method="wilson_95",
    )


def _direction(counts: Counts) -> Direction:
    found = judge_rates.direction(counts.passed_wrong, counts.failed_wrong)
    side = "lenient" if found.lenient > found.strict else "strict"
    return Direction(
        lenient=found.lenient,
        strict=found.strict,
        share=found.share,
        interval=found.interval,
        two_sided=found.two_sided,
        one_sided=found.one_sided,
        shown="lenient"
        if found.two_sided < 0.05 and side == "lenient"
        else "strict"
        if found.two_sided < 0.05
        else "none",
    )


def _needed(counts: Counts) -> Needed:
    z = 1.96
    measured = (counts.passed_wrong + z * z / 2) / (counts.failing + z * z)  # Wilson's middle: never 0 or 1
    return Needed(
        have=counts.failing,
        at_one_in_five=judge_rates.failing_items_needed(0.2),
        at_measured=judge_rates.failing_items_needed(measured) if counts.failing else None,
    )


def _raters(labels: Labels, kind: RaterKind) -> Raters:
    everybody = labels.raters()
    each = []
    for rater in everybody:
        states = Counter(one.state for one in labels.standing.values() if one.rater == rater)
        each.append(
            RaterCount(
                rater=rater,
                passed=states["pass"],
                failed=states["fail"],
                unsure=states["unsure"],
                skipped=states["skipped"],
            )
        )
    asked = [one for one in everybody if one.kind == kind]
    words: dict[str, list[str | None]] = {}
    for item in labels.items:
        by = {one.rater.name: one.state for one in labels.of(item) if one.rater.kind == kind}
        words[item] = [state if (state := by.get(one.name)) in STATES else None for one in asked]
    return Raters(
        truth_by=kind,
        each=tuple(each),
        together=agreement(list(words.values())) if len(asked) > 1 else None,
        differ=tuple(item for item, said in words.items() if len(set(said) - {None}) > 1),
    )


def _by_criterion(
    criterion: Criterion, labels: Labels, kind: RaterKind, verdicts: Mapping[str, Judgement], items: Sequence[str]
) -> ByCriterion:
    """Return how the judge answers one criterion. Items on which raters differ, or that did not apply, are left out."""
    pairs = []
    for item in items:
        words = {_good(criterion, one) for one in labels.of(item) if one.rater.kind == kind} - {None}
        verdict = verdicts.get(item)
        said = verdict.answer(criterion.id) if verdict is not None else None
        if len(words) == 1 and said is not None and said.means != "not_applicable":
            pairs.append((words == {True}, said.means == "passed"))
    counts = _counts(pairs)
    return ByCriterion(
        criterion=criterion.id,
        counts=counts,
        false_pass=_rate(counts.passed_wrong, counts.failing),
        false_fail=_rate(counts.failed_wrong, counts.passing),
    )


def _good(criterion: Criterion, label: Label) -> bool | None:
    """Return whether a rater found a criterion good, ``None`` where that was not said."""
    answer = label.answers.get(criterion.id)
    if answer is None or answer in ("unsure", "not_applicable"):
        return None
    return criterion.means(answer) == "passed"


def _word(passed: bool | None) -> str | None:
    return None if passed is None else STATES[0] if passed else STATES[1]


def file_name(record: Calibration) -> str:
    """Return the name of a record's file: one a judge and sheet of labels."""
    return f"{record.rubric}-{record.judge_hash[:12]}-{digest(record.population.hash)[:8]}.json"
