"""Intervals of effects: noncentralities of which scipy's own function is the proof."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from polars_rank._statistics.noncentral import crossing, noncentrality
from polars_rank.comparison.tests.effects import d_z_interval

QUERIES = np.array([2, 3, 4, 5, 8, 13, 20, 50, 100, 200])
EFFECTS = np.concatenate([[0.0], 10.0 ** np.arange(-6, 1.01, 0.25)])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])
def test_the_ends_of_an_interval_of_d_z_make_it_as_extreme_as_the_level_says(level):
    n, d = map(
        np.ravel, np.meshgrid(QUERIES, np.concatenate([-EFFECTS[::-1], EFFECTS]))
    )
    low, high = d_z_interval(d, n, level)
    assert (low < d).all()
    assert (d < high).all()
    for end, p in ((low, (1 + level) / 2), (high, (1 - level) / 2)):
        below = stats.nct.cdf(d * np.sqrt(n), n - 1, end * np.sqrt(n))
        np.testing.assert_allclose(below, p, rtol=0, atol=1e-10)


def test_the_interval_of_a_small_effect_of_few_queries():
    # By numerical integration over the chi distribution of the standard deviation.
    n, d, level = 3, 0.02, 0.99
    t = d * np.sqrt(n)

    def below(center: float) -> float:
        def given(s: float) -> float:
            density = stats.chi.pdf(s * np.sqrt(n - 1), n - 1) * np.sqrt(n - 1)
            return float(stats.norm.cdf(t * s - center) * density)

        return float(integrate.quad(given, 0, np.inf, epsabs=1e-12)[0])

    (low,), (high,) = d_z_interval([d], [n], level)
    assert below(low * np.sqrt(n)) == pytest.approx(0.995, abs=1e-9)
    assert below(high * np.sqrt(n)) == pytest.approx(0.005, abs=1e-9)


def test_an_interval_that_cannot_be_told_is_not_a_number():
    assert np.isnan(noncentrality(0.5, 2.0, 1e7))
    assert np.isnan(noncentrality(0.5, 2.0, np.nan))


def test_a_crossing_far_outside_of_the_bracket_is_found():
    roots = np.array([-1e5, -3.0, 0.5, 7e4])
    found = crossing(lambda x, at: np.arctan(at - x), np.zeros(4), np.ones(4), roots)
    np.testing.assert_allclose(found, roots, atol=1e-9)


def test_one_that_has_no_crossing_costs_the_others_nothing():
    asked = []

    def function(x, root):
        asked.append(len(x))
        return np.where(root > 9.0, 1.0, root - x) * 2.0

    roots = np.append(np.linspace(0.1, 3.0, 1000), [10.0, np.nan])
    low = np.append(np.zeros(1001), np.nan)
    found = crossing(function, low, low + 1.0, roots)
    np.testing.assert_allclose(found[:-2], roots[:-2], atol=1e-9)
    assert np.isnan(found[-2:]).all()
    assert sum(asked) < 10_000
    alone = crossing(function, low[:1], low[:1] + 1.0, roots[:1])
    assert alone.tobytes() == found[:1].tobytes()  # whatever is beside it
