"""Estimators of ranks, against enumeration, plain loops and scipy."""

from itertools import combinations, product

import numpy as np
import pytest
from plain_ranks import plain_em
from scipy.optimize import minimize
from scipy.stats import binom, hypergeom
from slow import slow

from polars_rank.recommend.rank_estimators import (
    GAMMA,
    cells,
    chances,
    decreasing,
    em,
    jackknife,
    least_squares,
)


@pytest.mark.parametrize("n", [1, 2, 199, 200, 201, 5000, 123_456])
def test_cells_hold_every_number_once(n):
    found = cells(n)
    assert found.first[0] == 1
    assert found.last[-1] == n
    assert (found.first[1:] == found.last[:-1] + 1).all()
    assert (found.last <= np.maximum(found.first, 1.01 * found.first)).all()
    if n <= 200:
        assert (found.sizes == 1).all()


@pytest.mark.parametrize(("items", "m"), [(2, 1), (7, 1), (7, 3), (12, 5), (9, 8)])
def test_chances_are_those_of_all_sets(items, m):
    found = chances(items, m, None)
    for rank in range(1, items + 1):
        above = [
            sum(i < rank - 1 for i in s) for s in combinations(range(items - 1), m)
        ]
        share = [above.count(x) / len(above) for x in range(m + 1)]
        assert found[rank - 1] == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("rarest", [1 / 4, 0.1])
def test_chances_are_those_of_all_draws(rarest):
    """Each of the 4 others is drawn with the same probability, the rest is nothing."""
    found = chances(5, 3, rarest)
    outcomes = [rarest] * 4 + [1 - 4 * rarest]
    for rank in range(1, 6):
        share = [0.0] * 4
        for draw in product(range(5), repeat=3):
            x = sum(i < rank - 1 for i in draw)
            share[x] += np.prod([outcomes[i] for i in draw])
        assert found[rank - 1] == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(("items", "m"), [(5000, 100), slow(100_001, 300)])
def test_chances_of_many_items_are_those_of_scipy(items, m):
    ranks, places = cells(items), cells(m + 1)
    middle = ranks.middle[::100, None]  # scipy takes long
    x = np.arange(m + 1)[None, :]
    share = 0.3 / (items - 1)
    for found, known in (
        (chances(items, m, None), hypergeom.pmf(x, items - 1, middle // 1 - 1, m)),
        (chances(items, m, share), binom.pmf(x, m, (middle - 1) * share)),
    ):
        summed = [
            known[:, a - 1 : b].sum(axis=1)
            for a, b in zip(places.first, places.last, strict=True)
        ]
        assert np.allclose(found[::100], np.transpose(summed), atol=1e-9)


@pytest.mark.parametrize("times", [1, 200])
def test_em_is_that_of_loops(times):
    """Of more than 5,000 users it stops later."""
    table = chances(10, 4, None)
    counts = np.array([[30.0, 12, 5, 9, 20], [28.0, 11, 5, 9, 19]]) * times
    found = em(table, counts, np.full(10, 0.1))
    known = plain_em(table.tolist(), counts[0].tolist(), [counts[1].tolist()])
    assert np.allclose(found, known, atol=1e-12)
    assert found.sum(axis=1) == pytest.approx([1, 1])
    assert found[0] @ table != pytest.approx(np.full(10, 0.1) @ table, abs=0.05)


def test_least_squares_has_the_least_loss():
    table, prior = chances(8, 3, None), np.full(8, 1 / 8)
    gains = (np.arange(1, 9) <= 3) * 1.0

    def loss(worth):
        total = 0.0
        for rank in range(8):
            mean = sum(table[rank][x] * worth[x] for x in range(4))
            square = sum(table[rank][x] * worth[x] ** 2 for x in range(4))
            bias = mean - gains[rank]
            total += prior[rank] * (bias**2 + GAMMA * (square - mean**2))
        return total

    found = least_squares(table, gains[:, None], prior)[:, 0]
    best = minimize(loss, np.zeros(4), tol=1e-14)
    assert found == pytest.approx(best.x, abs=1e-4)
    assert loss(found) <= best.fun + 1e-12


def test_jackknife_of_a_mean_is_its_error():
    groups = np.random.default_rng(3).normal(size=(20, 2))
    left_out = (groups.sum(axis=0) - groups) / 19
    error = groups.std(axis=0, ddof=1) / 20**0.5
    assert jackknife(left_out) == pytest.approx(error)


def least_chi_square(table, counts, expected, gain=None, value=None):
    """The distribution of ranks that never rises in the better half, by SLSQP."""
    items = len(table)
    rules = [{"type": "eq", "fun": lambda p: p.sum() - 1}]
    # A rank of the better half can be no likelier than the one before.
    for i in range(items // 2 - 1):
        rules.append({"type": "ineq", "fun": lambda p, i=i: p[i] - p[i + 1]})
    if gain is not None:
        rules.append({"type": "eq", "fun": lambda p: p @ gain - value})

    def distance(p):
        off = counts - counts.sum() * (p @ table)
        return float((off**2 / expected).sum()) / counts.sum()

    found = minimize(
        distance,
        np.full(items, 1 / items),
        bounds=[(0, 1)] * items,
        constraints=rules,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert found.status in (0, 8)  # 8: no step from there is better
    return found.x, found.fun * counts.sum()


@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_decreasing_is_the_profile_of_a_solver(rate):
    items, m, reach = 10, 6, 1.5
    rng = np.random.default_rng(3)
    ranks = np.minimum(rng.geometric(rate, 900), items)
    above = rng.hypergeometric(ranks - 1, items - ranks, m)
    counts = np.bincount(above, minlength=m + 1).astype(float)
    table = np.array([hypergeom.pmf(range(m + 1), items - 1, r, m) for r in range(10)])
    gains = np.column_stack([np.arange(items) < 3, 1 / np.arange(1, items + 1)]) * 1.0
    found = decreasing(table, counts, np.ones(items), gains, np.full(2, reach))
    expected = counts
    for _ in range(3):
        kept = np.maximum(expected, 0.25)
        best, least = least_chi_square(table, counts, kept)
        expected = counts.sum() * best @ table
    for gain, (value, lower, upper) in zip(gains.T, found, strict=True):
        at = least_chi_square(table, counts, kept, gain, value)[1]
        assert at == pytest.approx(least, abs=1e-3)
        assert lower < value < upper
        for end in (lower, upper):
            more = least_chi_square(table, counts, kept, gain, end)[1] - least
            assert more == pytest.approx(reach**2, rel=0.02)
