"""A judge's pass rate over trials: with its errors taken out, or not at all."""

from dataclasses import dataclass

from spanproof_evaluators.model.calibrations import Calibration
from spanproof_evaluators.model.measures import Measure

NOT_CALIBRATED = "judge_not_calibrated"
"""Why there is no rate: nothing that is valid says how the judge errs on these trials. The note says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRate:
    """What one judge's verdicts on the trials of one variant come to."""

    evaluator: str
    """``judge:<rubric>:<provider>:<model>``."""

    rubric: str
    calibration: Calibration | None
    """What the rate is corrected by; ``None`` where nothing valid covers these trials, and then there is no rate."""

    corrected: Measure
    """By the judge's error rates: Rogan and Gladen, with the interval of Lee et al."""

    powered: Measure | None
    """By the labeled trials among these: prediction-powered. ``None`` where they are no random sample of these."""

    @property
    def measures(self) -> dict[str, Measure]:
        """The numbers by the names that they have in reports."""
        named = {f"pass_rate {self.evaluator}": self.corrected}
        return named if self.powered is None else named | {f"pass_rate_powered {self.evaluator}": self.powered}
