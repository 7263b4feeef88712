"""Medians, quantiles and confidence intervals."""

import statistics
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sojourn.record import stats


@pytest.mark.parametrize(
    ("n", "ranks"),
    # Table of distribution-free 95 % intervals of the median: Conover, Practical Nonparametric
    # Statistics, 3rd edition, section 3.2 (from the binomial with p = 1/2).
    [(5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (20, (6, 15)), (30, (10, 21))],
)
def test_ranks_of_the_interval(n: int, ranks: tuple[int, int] | None) -> None:
    assert stats.interval_ranks(n) == ranks


@given(st.integers(6, 400))
def test_interval_is_the_narrowest_that_holds_95_percent(n: int) -> None:
    ranks = stats.interval_ranks(n)
    assert ranks is not None
    low, high = ranks
    assert low + high == n + 1
    missed = 2 * sum(comb(n, below) for below in range(low)) / 2**n
    narrower = missed + 2 * comb(n, low) / 2**n
    assert missed <= 0.05
    assert narrower > 0.05 or low == n // 2


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50))
def test_median_and_percentiles_are_the_usual_ones(values: list[float]) -> None:
    spread = stats.spread(values)
    # Tolerance for the rounding of two sums in different orders.
    assert spread["median"] == pytest.approx(statistics.median(values), rel=1e-12, abs=1e-6)
    hundredths = statistics.quantiles(values, n=20, method="inclusive")
    assert spread["p5"] == pytest.approx(hundredths[0], rel=1e-9, abs=1e-3)
    assert spread["p95"] == pytest.approx(hundredths[-1], rel=1e-9, abs=1e-3)
    assert spread["p5"] <= spread["median"] <= spread["p95"]
