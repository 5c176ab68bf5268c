"""Pass rates by judges: corrected by a calibration that covers the trials, or unavailable; never as counted."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spanproof_collector.store import Store
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.calibrations import Calibration, newest
from spanproof_evaluators.model.judged_rates import NOT_CALIBRATED, JudgedRate
from spanproof_evaluators.model.judgements import Judgement, from_json
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.runner.measuring import Trials, task_key
from spanproof_evaluators.stats.intervals import effective_size
from spanproof_evaluators.stats.judge_rates import corrected_rate, prediction_powered_mean

_JUDGE: Final = "judge:"


def judged_rates(
    trials: Trials, calibrations: Sequence[Calibration], *, suite_hash: str | None = None
) -> dict[str, JudgedRate]:
    """Return the rate of every judge that said something of these trials, by evaluator.

    Args:
        trials: of one variant.
        calibrations: what is known of judges.
        suite_hash: of the suite that the trials are reported by.
    """
    said: defaultdict[str, list[tuple[Assessment, Result]]] = defaultdict(list)
    for one in trials:
        for result in one.judges:
            if result.evaluator.startswith(_JUDGE) and one.left_out is None:
                said[result.evaluator].append((one, result))
    return {name: _rate(name, said[name], trials, calibrations, suite_hash) for name in sorted(said)}


def stored_judgements(store: Store) -> Iterator[Judgement]:
    """Yield the judgements of every result of a judge in a store."""
    for row in store.read_results():
        if row.kind != "judge" or not row.details:
            continue
        details = json.loads(row.details)
        told = details.get("judgement") if isinstance(details, dict) else None
        if told is not None:
            yield from_json(told)


def judgement_of(result: Result) -> Judgement | None:
    """Return the judgement that a stored result holds, ``None`` where nothing was asked."""
    told = result.details.get("judgement")
    return from_json(told) if isinstance(told, dict) else None


def _rate(
    evaluator: str,
    said: Sequence[tuple[Assessment, Result]],
    trials: Trials,
    calibrations: Sequence[Calibration],
    suite_hash: str | None,
) -> JudgedRate:
    """Return one judge's rate."""
    verdicts = [
        (one, found)
        for one, result in said
        if result.state != "unavailable" and (found := judgement_of(result)) is not None
    ]
    calibration, missing = _calibration(said, [one for _, one in verdicts], calibrations, suite_hash)
    left = Counter(str(one.left_out) for one in trials if one.left_out is not None)
    counted = _Counted(verdicts=verdicts, unavailable=len(said) - len(verdicts), excluded=dict(left))
    rubric = evaluator.removeprefix(_JUDGE).partition(":")[0]
    if calibration is None:
        return JudgedRate(
            evaluator=evaluator, rubric=rubric, calibration=None, corrected=counted.none(missing), powered=None
        )
    return JudgedRate(
        evaluator=evaluator,
        rubric=rubric,
        calibration=calibration,
        corrected=counted.corrected(calibration),
        powered=counted.powered(calibration),
    )


def _calibration(
    said: Sequence[tuple[Assessment, Result]],
    verdicts: Sequence[Judgement],
    calibrations: Sequence[Calibration],
    suite_hash: str | None,
) -> tuple[Calibration | None, str]:
    """Return the calibration that covers verdicts, or what is missing, in words."""
    versions = {result.version for _, result in said}
    if len(versions) > 1:
        return None, f"verdicts by {len(versions)} versions of the judge: ask again with 'spanproof judge run'"
    found = newest(calibrations, *versions)
    evaluator = said[0][1].evaluator
    if found is None:
        others = [one for one in calibrations if one.evaluator == evaluator]
        return None, (
            "calibrated was another version of this judge: its rubric, prompt or settings changed"
            if others
            else "no calibration of this judge: 'spanproof judge label', then 'spanproof judge calibrate'"
        )
    if not found.valid:
        return None, f"its calibration is not valid: {', '.join(found.reasons)}"
    if any(one.created_at > int(found.expires_at) for one in verdicts):
        return None, "its calibration had expired when verdicts were given"
    served = {one.served_model for one in verdicts if one.served_model}
    if found.served_models and (new := served - set(found.served_models)):
        return None, f"the provider serves another model by that name now: {', '.join(sorted(new))}"
    inside = all(found.covers(one.input_hash) for one in verdicts)
    if not inside and (found.population.suite_hash is None or found.population.suite_hash != suite_hash):
        return None, "it was calibrated on another population: neither these answers nor this version of the suite"
    return found, ""


class _Counted:
    """One judge's verdicts on the trials of one variant."""

    def __init__(
        self,
        *,
        verdicts: Sequence[tuple[Assessment, Judgement]],
        unavailable: int,
        excluded: Mapping[str, int],
    ) -> None:
        self._verdicts = verdicts
        self._unavailable = unavailable
        self._excluded = excluded
        self._passed = sum(one.state == "pass" for _, one in verdicts)

    def none(self, why: str) -> Measure:
        """Return that there is no rate."""
        return self._measure(None, None, None, NOT_CALIBRATED, why)

    def corrected(self, calibration: Calibration) -> Measure:
        """Return the rate with the judge's errors taken out."""
        counts, of = calibration.counts, len(self._verdicts)
        size = self._effective()
        found = corrected_rate(
            self._passed / of if of else 0.0,
            int(size) if size else of,  # trials of one task are no independent draws: the interval is that of fewer
            specificity=counts.failed_right / counts.failing,
            negatives=counts.failing,
            sensitivity=counts.passed_right / counts.passing,
            positives=counts.passing,
        )
        note = (
            f"false pass {counts.passed_wrong}/{counts.failing}, false fail {counts.failed_wrong}/{counts.passing}, "
            f"calibration {calibration.hash[:12]}"
        )
        if not all(calibration.covers(one.input_hash) for _, one in self._verdicts):
            note += "; other answers than it was calibrated on, of the same suite"
        interval = found.interval if size else None
        method = "lee_95" if size == of else "lee_effective_n_95"
        return self._measure(found.value, interval, method, found.reason, note)

    def powered(self, calibration: Calibration) -> Measure | None:
        """Return the rate by the labeled trials, where these are a random sample of all."""
        random = calibration.sampling.method in ("random", "all")
        if not random or not all(calibration.covers(one.input_hash) for _, one in self._verdicts):
            return None
        known = {one.input_hash: one.truth for one in calibration.items if one.judge is not None}
        if any(count > 1 for count in Counter(one.input_hash for _, one in self._verdicts).values()):
            return None  # an answer that several trials gave was drawn once
        said = {one.input_hash: float(one.state == "pass") for _, one in self._verdicts}
        labeled = [(float(known[item]), word) for item, word in said.items() if item in known]
        others = [word for item, word in said.items() if item not in known]
        found = prediction_powered_mean([y for y, _ in labeled], [j for _, j in labeled], others)
        if found is None:
            return None
        value = min(max(found.value, 0.0), 1.0)
        interval = (min(max(found.interval[0], 0.0), 1.0), min(max(found.interval[1], 0.0), 1.0))
        note = f"{len(labeled)} of {len(self._verdicts)} labeled, calibration {calibration.hash[:12]}"
        return self._measure(value, interval, "prediction_powered_95", None, note)

    def _effective(self) -> float | None:
        """Return how many independent verdicts these are worth, ``None`` where that cannot be known."""
        clusters: defaultdict[str, list[bool]] = defaultdict(list)
        for one, verdict in self._verdicts:
            clusters[task_key(one)].append(verdict.state == "pass")
        return effective_size([(sum(passed), len(passed)) for passed in clusters.values()]) if clusters else None

    def _measure(
        self,
        value: float | None,
        interval: tuple[float, float] | None,
        method: str | None,
        reason: str | None,
        note: str,
    ) -> Measure:
        of = len(self._verdicts)
        return Measure(
            value=value,
            unit="trial",
            numerator=None if value is None else value * of,
            denominator=of,
            excluded=self._excluded,
            unavailable=self._unavailable,
            interval=interval,
            interval_method=method if interval else None,
            n_units=of,
            n_clusters=len({task_key(one) for one, _ in self._verdicts}),
            reason=reason if value is None else None,
            note=note,
        )
