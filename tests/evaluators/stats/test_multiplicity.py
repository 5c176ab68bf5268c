"""Adjusted p-values against hand-counted examples of their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_evaluators.stats.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm

P = [0.01, 0.04, 0.03, 0.005]


def test_holm_multiplies_the_smallest_by_all_and_never_goes_down() -> None:
    # 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04 x 1, which may not be below its forerunner
    assert holm(P) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_divides_by_the_rank_and_never_goes_up() -> None:
    # from the largest: 0.04 x 4/4, 0.03 x 4/3, 0.01 x 4/2, 0.005 x 4/1
    assert benjamini_hochberg(P) == pytest.approx([0.02, 0.04, 0.04, 0.02])


def test_benjamini_yekutieli_pays_for_dependence() -> None:
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert benjamini_yekutieli(P) == pytest.approx([0.02 * harmonic, 0.04 * harmonic, 0.04 * harmonic, 0.02 * harmonic])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_adjusting_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg, benjamini_yekutieli):
        adjusted = adjust(p_values)
        assert all(0 <= p <= q <= 1 or q == pytest.approx(p) for p, q in zip(p_values, adjusted, strict=True))
        ordered = sorted(zip(p_values, adjusted, strict=True))
        assert [q for _, q in ordered] == sorted(q for _, q in ordered)


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])
