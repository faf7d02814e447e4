"""Estimate the ranks in a catalog from the ranks among sampled negatives.

Only numbers are here. A relevant item of rank r among ``items`` has x of its m
negatives above it: hypergeometric if these are distinct, binomial if every draw is each
of the r - 1 better items with the same probability. A table holds the probability of
each x (column) at each rank (row), and the estimators invert it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank.core.extras import require

Numbers: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]

FINE = 200  # numbers one by one; further ones in cells of 1 %, far below any error
RATIO = 1.01
ENOUGH = 0.01  # gain of log-likelihood in a step, of all users together
MANY = 5000  # users: of more, errors are smaller, and so has to be the bias of a stop
MAX_STEPS = 10_000
GAMMA = 0.01  # weight of the variance
LEAST_EXPECTED = 0.25  # users in a cell: of fewer, chi-square is far from normal
REWEIGHED = 3  # times that chi-square is weighed by what is expected
HEAVY = 1e3  # weight of what must hold: the sum of all, and a value
BLOCK = 1 << 22  # numbers of a table that are in memory before they are summed in cells


class Cells(NamedTuple):
    """The numbers from 1 to n in cells: the first and the last of each."""

    first: Places
    last: Places

    @property
    def sizes(self) -> Numbers:
        """How many numbers are in each cell."""
        return (self.last - self.first + 1).astype(np.float64)

    @property
    def middle(self) -> Numbers:
        """The mean number of each cell."""
        return (self.first + self.last) / 2.0


@lru_cache(maxsize=64)
def cells(n: int) -> Cells:
    """Put the numbers from 1 to ``n`` into cells."""
    last = [*range(1, min(FINE, n) + 1)]
    while last[-1] < n:
        last.append(min(n, int(last[-1] * RATIO)))
    ends = np.array(last, np.int64)
    return Cells(np.append(1, ends[:-1] + 1), ends)


@lru_cache(maxsize=32)
def chances(items: int, negatives: int, share: float | None) -> Numbers:
    """Return the probability of each number above, by cells of ranks and of x + 1.

    ``share`` is the probability that a draw is one certain item; None: the negatives
    are distinct, and each set of them is as likely as any other.
    """
    # The middle of a cell is one of its ranks, or lies between two of them.
    better = cells(items).middle[:, None] - 1.0
    x = np.arange(negatives, dtype=np.float64)[None, :]
    starts = cells(negatives + 1).first - 1
    rows = max(1, BLOCK // (negatives + 1))
    blocks = []
    for at in range(0, len(better), rows):
        own = better[at : at + rows]
        if share is None:
            logs = _distinct(np.floor(own), x, items - 1.0, float(negatives))
        else:
            logs = _independent(own * share, x, float(negatives))
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        weights /= weights.sum(axis=1, keepdims=True)
        blocks.append(np.add.reduceat(weights, starts, axis=1))
    table = np.vstack(blocks)
    table.flags.writeable = False
    return table


def _distinct(better: Numbers, x: Numbers, others: float, m: float) -> Numbers:
    """Logarithms of hypergeometric probabilities, up to a constant of each row."""
    top = (m - x) * (better - x)
    bottom = (x + 1) * (others - better - m + x + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(bottom <= 0, 0.0, np.log(np.maximum(top, 0.0) / bottom))
    logs = _summed(steps)
    least = np.maximum(0.0, m - (others - better))
    logs[np.arange(m + 1)[None, :] < least] = -np.inf
    return logs


def _independent(chance: Numbers, x: Numbers, m: float) -> Numbers:
    """Logarithms of binomial probabilities, up to a constant of each row."""
    chance = np.minimum(chance, 1 - 1e-15)
    with np.errstate(divide="ignore"):
        return _summed(np.log((m - x) / (x + 1)) + np.log(chance / (1 - chance)))


def _summed(steps: Numbers) -> Numbers:
    """Sum the steps from one x to the next."""
    return np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))


def em(table: Numbers, counts: Numbers, start: Numbers) -> Numbers:
    """Return distributions of ranks, a row for each row of counts.

    EM steps raise the likelihood from ``start`` on, until a step hardly raises that of
    the first row; all rows take as many steps. What the counts do not tell stays as in
    ``start``, so that more steps would fit noise.
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    found = np.repeat(start[None, :], len(counts), axis=0)
    back = np.ascontiguousarray(table.T)
    before, enough = -np.inf, ENOUGH * min(1.0, MANY / counts[0].sum())
    for _ in range(MAX_STEPS):
        expected = np.maximum(found @ table, 1e-300)
        likelihood = float(counts[0] @ np.log(expected[0]))
        if likelihood - before < enough:
            break
        before = likelihood
        found *= (shares / expected) @ back
    return found


def least_squares(table: Numbers, gains: Numbers, prior: Numbers) -> Numbers:
    """Return the value of each column, of the least squared bias and variance."""
    weighed = prior[:, None] * table
    inner = table.T @ weighed
    spread = np.diag(weighed.sum(axis=0)) - inner
    both = inner + GAMMA * spread
    found, *_ = np.linalg.lstsq(both, weighed.T @ gains, rcond=None)
    return np.asarray(found, np.float64)


def decreasing(
    table: Numbers, counts: Numbers, sizes: Numbers, gains: Numbers, reach: Numbers
) -> Numbers:
    """Return the value, its lower and its upper end for each column of gains.

    Of the distributions of ranks in which no rank of the better half is likelier than
    the one before, the value is that of the least chi-square; the ends are those of
    the values that some such distribution has at a chi-square of at most ``reach``
    squared more. So they hold what the counts leave open, and the error of a draw.
    """
    optimize = require("scipy.optimize", "stats")
    below, users = np.cumsum(sizes)[:, None], counts.sum()
    # Sums of "ranks up to r are equally likely", and of any cells of the worse half.
    tail = below[:, 0] > below[-1, 0] / 2
    steps, worth = (
        np.where(tail[:, None], each, np.cumsum(sizes[:, None] * each, axis=0) / below)
        for each in (table, gains)
    )
    heavy = HEAVY * np.sqrt(users)
    every = np.full((1, len(steps)), heavy)
    expected = counts
    for _ in range(REWEIGHED):
        scale = 1.0 / np.sqrt(np.maximum(expected, LEAST_EXPECTED))
        rows, target = users * steps.T * scale[:, None], counts * scale
        if len(rows) > len(steps):
            basis, rows = np.linalg.qr(rows)
            target = basis.T @ target
        rows, target = np.vstack([rows, every]), np.append(target, heavy)
        best, least = optimize.nnls(rows, target, maxiter=MAX_STEPS)
        expected = users * (best @ steps)
    found = np.empty((gains.shape[1], 3))
    for i, gain in enumerate(worth.T):
        fixed = np.vstack([rows, heavy * gain])

        def beyond(
            value: float, fixed: Numbers = fixed, within: float = reach[i]
        ) -> float:
            aim = np.append(target, heavy * value)
            _, distance = optimize.nnls(fixed, aim, maxiter=MAX_STEPS)
            return float(np.sqrt(max(distance**2 - least**2, 0.0)) - within)

        value, ends = float(best @ gain), []
        for end in (0.0, float(gains[:, i].max())):
            if reach[i] <= 0 or beyond(end) <= 0:
                ends.append(end if reach[i] > 0 else value)
            else:
                ends.append(optimize.brentq(beyond, value, end, xtol=1e-5))
        found[i] = value, *ends
    return found


def jackknife(values: Numbers) -> Numbers:
    """Return the standard error of columns from rows that each leave a group out."""
    groups = len(values)
    off = values - values.mean(axis=0)
    total: Numbers = (off**2).sum(axis=0) * (groups - 1) / groups
    return np.sqrt(total)
