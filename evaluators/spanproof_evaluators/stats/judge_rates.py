"""A judge as an instrument: how often it errs and in which direction, and rates with its errors taken out."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, pvariance, variance

from spanproof_evaluators.stats.intervals import clopper_pearson, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A judge's words on results that people graded."""

    passed_right: int
    """People: done; the judge: done."""

    passed_wrong: int
    """People: not done; the judge: done. The costly direction."""

    failed_right: int
    failed_wrong: int
    """People: done; the judge: not done."""

    def __post_init__(self) -> None:
        if min(self.passed_right, self.passed_wrong, self.failed_right, self.failed_wrong) < 0:
            raise ValueError("words are counted from 0")

    @classmethod
    def of(cls, human: Sequence[bool], judge: Sequence[bool]) -> "Calibration":
        """Count the words on the same results.

        Raises:
            ValueError: they are not of the same results.
        """
        pairs = list(zip(human, judge, strict=True))
        return cls(
            passed_right=sum(truth and said for truth, said in pairs),
            passed_wrong=sum(said and not truth for truth, said in pairs),
            failed_right=sum(not truth and not said for truth, said in pairs),
            failed_wrong=sum(truth and not said for truth, said in pairs),
        )

    @property
    def positives(self) -> int:
        """Results that people found done."""
        return self.passed_right + self.failed_wrong

    @property
    def negatives(self) -> int:
        """Results that people found not done."""
        return self.passed_wrong + self.failed_right

    @property
    def items(self) -> int:
        """All of them."""
        return self.positives + self.negatives

    @property
    def agreement(self) -> float | None:
        """The share on which both agree; ``None`` without any."""
        return (self.passed_right + self.failed_right) / self.items if self.items else None

    @property
    def false_positive_rate(self) -> float | None:
        """How lenient: the share of what is not done that passed; ``None`` where people failed nothing."""
        return self.passed_wrong / self.negatives if self.negatives else None

    @property
    def false_negative_rate(self) -> float | None:
        """How strict: the share of what is done that failed; ``None`` where people passed nothing."""
        return self.failed_wrong / self.positives if self.positives else None

    @property
    def false_positive_interval(self) -> tuple[float, float] | None:
        """Wilson's."""
        return wilson(self.passed_wrong, self.negatives) if self.negatives else None

    @property
    def false_negative_interval(self) -> tuple[float, float] | None:
        """Wilson's."""
        return wilson(self.failed_wrong, self.positives) if self.positives else None

    def bias_at(self, prevalence: float) -> float | None:
        """Return by how much the judge's pass rate is above the true one where that is ``prevalence``."""
        lenient, strict = self.false_positive_rate, self.false_negative_rate
        if lenient is None or strict is None:
            return None
        return (1 - prevalence) * lenient - prevalence * strict


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Whether the judge errs to one side: a sign test on the results on which it and people disagree."""

    lenient: int
    strict: int
    share: float | None
    """Of the disagreements, those on the lenient side; ``None`` without any."""

    interval: tuple[float, float] | None
    """Clopper-Pearson's."""

    two_sided: float
    one_sided: float
    """Of as many lenient ones or more, were both sides as likely."""


def direction(lenient: int, strict: int) -> Direction:
    """Return the direction of a judge's errors. Without any nothing speaks for a side: both p-values are 1."""
    from scipy.stats import binom

    if lenient < 0 or strict < 0:
        raise ValueError("disagreements are counted from 0")
    count = lenient + strict
    if not count:
        return Direction(lenient=0, strict=0, share=None, interval=None, two_sided=1.0, one_sided=1.0)
    return Direction(
        lenient=lenient,
        strict=strict,
        share=lenient / count,
        interval=clopper_pearson(lenient, count),
        two_sided=min(1.0, 2 * float(binom.cdf(min(lenient, strict), count, 0.5))),
        one_sided=float(binom.sf(lenient - 1, count, 0.5)),
    )


def failing_items_needed(rate: float, *, half_width: float = 0.1) -> int:
    """Return how many failing items give a false-pass rate an interval of so much to each side, to the nearest item.

    ``z^2 p (1 - p) / h^2``: 61 for ten points at a rate of 0.2 (evaluators.md, A.6).

    Raises:
        ValueError: the rate is 0 or 1, of which the formula says nothing.
    """
    if not 0 < rate < 1:
        raise ValueError("a rate between 0 and 1 is needed")
    return round(NormalDist().inv_cdf(0.975) ** 2 * rate * (1 - rate) / half_width**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """A pass rate with a judge's errors taken out; ``value`` is ``None`` where that cannot be done."""

    value: float | None
    interval: tuple[float, float] | None = None
    reason: str | None = None


def corrected_rate(
    rate: float, items: int, *, specificity: float, negatives: int, sensitivity: float, positives: int
) -> CorrectedRate:
    """Return the true rate that a judge's rate and error rates imply, between 0 and 1.

    ``(p + TNR - 1) / (TPR + TNR - 1)``: W. J. Rogan, B. Gladen, American Journal of Epidemiology 107 (1978) 71-76. The
    interval minds that both error rates are estimates too: Lee et al. (arXiv 2511.21140), with counts that are smoothed
    and a term for the skew.

    Args:
        rate: the share that the judge passed.
        items: of how many.
        specificity: TNR, the share of graded results that are not done and failed.
        negatives: of how many.
        sensitivity: TPR, the share of graded results that are done and passed.
        positives: of how many.
    """
    if not negatives or not positives:
        missing = "not done: how lenient the judge is" if not negatives else "done: how strict the judge is"
        return CorrectedRate(value=None, reason=f"no graded result is {missing} is not known")
    if not items:
        return CorrectedRate(value=None, reason="the judge said nothing")
    youden = sensitivity + specificity - 1
    if youden <= 1e-12:
        return CorrectedRate(value=None, reason="the judge is no better than chance: TPR + TNR is not above 1")
    z = NormalDist().inv_cdf(0.975)
    n, n0, n1 = items + z * z, negatives + 2, positives + 2
    p = (items * rate + z * z / 2) / n
    q0, q1 = (negatives * specificity + 1) / n0, (positives * sensitivity + 1) / n1
    reach = q0 + q1 - 1
    if reach <= 1e-12:
        return CorrectedRate(value=_share((rate + specificity - 1) / youden), reason="too few graded for an interval")
    middle = (p + q0 - 1) / reach
    skew = 2 * z * z * (middle * q1 * (1 - q1) / n1 - (1 - middle) * q0 * (1 - q0) / n0)
    variance = p * (1 - p) / n + (1 - middle) ** 2 * q0 * (1 - q0) / n0 + middle**2 * q1 * (1 - q1) / n1
    half = z * sqrt(variance) / reach
    return CorrectedRate(
        value=_share((rate + specificity - 1) / youden),
        interval=(_share(middle + skew - half), _share(middle + skew + half)),
    )


def corrected_by(judged_pass: int, items: int, graded: Calibration) -> CorrectedRate:
    """Return the true rate by the counts: so many passed, and so the judge did on what people graded."""
    lenient, strict = graded.false_positive_rate, graded.false_negative_rate
    return corrected_rate(
        judged_pass / items if items else 0.0,
        items,
        specificity=1 - lenient if lenient is not None else 0.0,
        negatives=graded.negatives,
        sensitivity=1 - strict if strict is not None else 0.0,
        positives=graded.positives,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Powered:
    """A mean of the judge's words, corrected by the results that people graded too."""

    value: float
    variance: float
    """Of the mean."""

    interval: tuple[float, float]
    weight: float


def prediction_powered_mean(
    human: Sequence[float], judge: Sequence[float], elsewhere: Sequence[float], *, weight: float | None = 1.0
) -> Powered | None:
    """Return the mean of what people would say, from few graded results and the judge's words on many more.

    ``w mean(J_u) + mean(Y - w J)`` with variance ``w^2 Var(J_u) / N + Var(Y - w J) / n`` (variances over n, as the
    authors' package has them): A. N. Angelopoulos et al., Science 382 (2023) 669-674; the weight of least variance
    after "PPI++" (arXiv 2311.01453). It holds only where the graded results are a random sample of all.

    Args:
        human: Y, what people said of the graded results.
        judge: J, what the judge said of the same.
        elsewhere: J_u, what the judge said of results that nobody graded.
        weight: w; 1 is the plain form, ``None`` takes the one of least variance.

    Returns:
        The mean; ``None`` without a graded result or without one that is not.

    Raises:
        ValueError: people and judge graded different results.
    """
    if len(human) != len(judge):
        raise ValueError("both have to have graded the same results")
    if not human or not elsewhere:
        return None
    w = _best_weight(human, judge, elsewhere) if weight is None else weight
    rest = [truth - w * said for truth, said in zip(human, judge, strict=True)]
    value = w * fmean(elsewhere) + fmean(rest)
    variance = w * w * pvariance(elsewhere) / len(elsewhere) + pvariance(rest) / len(rest)
    half = NormalDist().inv_cdf(0.975) * sqrt(variance)
    return Powered(value=value, variance=variance, interval=(value - half, value + half), weight=w)


def _best_weight(human: Sequence[float], judge: Sequence[float], elsewhere: Sequence[float]) -> float:
    """Return the weight of least variance, between 0 and 1; 0 where the judge always says the same.

    The judge's variance is over all its words less one, as in the authors' package.
    """
    n, more = len(human), len(elsewhere)
    spread = variance([*judge, *elsewhere])
    if not spread:
        return 0.0
    truth, said = fmean(human), fmean(judge)
    covariance = sum((y - truth) * (j - said) for y, j in zip(human, judge, strict=True)) / n
    return min(max(covariance / ((1 + n / more) * spread), 0.0), 1.0)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
