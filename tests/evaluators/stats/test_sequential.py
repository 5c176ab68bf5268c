"""Evidence that may be looked at every night."""

import math

import numpy as np
import pytest

from spanproof_evaluators.stats.sequential import BLOCKS_AT, confidence_sequence, e_value


@pytest.mark.parametrize(
    ("worse", "better", "expected"),
    [
        # Golden case G13.
        (1, 0, 1.5),
        (2, 1, 0.9166666666666666),
        (8, 2, 4.002020202020202),
        (5, 5, 0.36940836940836946),
        (6, 0, 18.142857142857142),
        (7, 0, 31.875),
        (5, 1, 2.8571428571428568),
        (12, 3, 8.906456043956045),
        (25, 10, 10.339175760346341),
        (0, 0, 1.0),
    ],
)
def test_the_e_value_is_the_bet_on_losses(worse: int, better: int, expected: float) -> None:
    assert e_value(worse, better) == pytest.approx(expected, rel=1e-9)


def test_six_losses_in_a_row_do_not_block_and_seven_do() -> None:
    assert e_value(6, 0) < BLOCKS_AT <= e_value(7, 0)


def test_huge_counts_neither_overflow_nor_vanish() -> None:
    assert e_value(5_000, 0) == math.inf
    assert 0.0 <= e_value(0, 5_000) < 1e-3


def test_looking_every_night_blocks_an_equal_variant_in_at_most_one_of_twenty_series() -> None:
    # Golden case G19 found 0.0175 over 30 nights; the guarantee is 0.05 for any number of nights.
    draws = np.random.default_rng(1).integers(0, 2, size=(400, 150))
    losses = draws.cumsum(axis=1)[:, 4::5]
    blocked = 0
    for series in losses:
        blocked += any(e_value(int(lost), 5 * night - int(lost)) >= BLOCKS_AT for night, lost in enumerate(series, 1))
    assert blocked / len(losses) <= 0.05


@pytest.mark.parametrize(
    ("x", "n", "expected"),
    [
        # Golden case G19.
        (0, 10, (0.0, 0.37698735099067543)),
        (0, 50, (0.0, 0.10464247710478726)),
        (0, 100, (0.0, 0.05702859763877228)),
        (42, 50, (0.6342648358892792, 0.9580415119981539)),
        (84, 100, (0.6959806588848279, 0.9357328570543184)),
        (420, 500, (0.7762031028925748, 0.8924170040141032)),
    ],
)
def test_the_confidence_sequence_is_the_mixture_s(x: int, n: int, expected: tuple[float, float]) -> None:
    assert confidence_sequence(x, n) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_no_failure_mirrors_no_success() -> None:
    low, high = confidence_sequence(50, 50)
    assert (low, high) == pytest.approx((1 - confidence_sequence(0, 50)[1], 1.0), rel=1e-9)


@pytest.mark.parametrize(("x", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_impossible_counts_are_refused(x: int, n: int) -> None:
    with pytest.raises(ValueError, match="at least one unit"):
        confidence_sequence(x, n)
