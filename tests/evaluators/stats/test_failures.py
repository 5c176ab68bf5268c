"""Failures, recovery and blast radius: golden case G24."""

import pytest

from spanproof_evaluators.stats.failures import blast_radius, mean_time_between_failures, recovery


@pytest.mark.parametrize(
    ("failures", "steps", "value", "lower", "upper", "one_sided"),
    [
        (4, 120, 30.0, 11.716932187307352, 110.10534227793866, 13.109712193833769),
        (0, 60, None, 16.26510184090901, None, 20.028492041720053),
        (1, 10, 10.0, 1.794802592043649, 394.9789020520721, 2.107986001967999),
        (11, 200, 18.181818181818183, 10.161549062351012, 36.422174299134575, 10.984475818277819),
    ],
)
def test_exposure_over_failures_has_chi_square_limits(
    failures: int, steps: int, value: float | None, lower: float, upper: float | None, one_sided: float
) -> None:
    found = mean_time_between_failures(failures, steps)
    assert found.value == value
    assert (found.lower, found.one_sided_lower) == pytest.approx((lower, one_sided), rel=1e-9)
    assert found.upper == (None if upper is None else pytest.approx(upper, rel=1e-9))


def test_nothing_observed_is_refused() -> None:
    with pytest.raises(ValueError, match="positive exposure"):
        mean_time_between_failures(0, 0)


def test_what_never_recovered_is_counted_beside_the_mean() -> None:
    found = recovery([2, 5, None, 3])
    assert (found.recovered, found.censored) == (3, 1)
    assert found.mean_observed == pytest.approx(10 / 3)
    assert recovery([None]).mean_observed is None


def test_one_bad_step_reaches_far() -> None:
    found = blast_radius([1, 2, 14, 3], limit=6)
    assert found is not None
    assert (found.median, found.largest, found.over_limit, found.failures) == (2.5, 14, 1, 4)
    assert blast_radius([], limit=6) is None
