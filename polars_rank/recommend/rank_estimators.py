"""Estimate measures over a catalogue from the ranks among sampled negatives."""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]
Gain: TypeAlias = Callable[[Numbers], Numbers]
DENSE, SPACED = 1000, 600  # ranks one by one, and further ones by equal ratios
STEPS = 400
GAMMA = 0.01  # weight of the variance (Krichene and Rendle, 2020, section 5.3)
_log_factorial = np.frompyfunc(lambda n: lgamma(n + 1), 1, 1)


def rank_grid(items: int) -> tuple[Numbers, Numbers]:
    """Return ranks up to ``items`` and the share of all ranks that each stands for."""
    ranks = np.arange(1.0, min(items, DENSE) + 1)
    if items > DENSE:
        further = np.unique(np.round(np.geomspace(DENSE + 1, items, SPACED)))
        ranks = np.concatenate([ranks, further])
    ends = np.append((ranks[:-1] + ranks[1:]) / 2, items + 0.5)
    return ranks, np.diff(ends, prepend=0.5) / items


def chances(
    ranks: Numbers, items: int, negatives: int, above: Numbers, *, replacement: bool
) -> Numbers:
    """Return the probability of each count ``above`` (columns) at each rank (rows)."""
    better, worse = ranks[:, None] - 1, items - ranks[:, None]
    x, rest = above[None, :], negatives - above[None, :]
    if replacement:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = _choose(np.full_like(x, negatives), x) + (
                np.where(x > 0, x * np.log(better / (items - 1)), 0)
                + np.where(rest > 0, rest * np.log(worse / (items - 1)), 0)
            )
            return np.exp(logs)
    possible = (x <= better) & (rest <= worse)
    logs = (
        _choose(better, np.minimum(x, better))
        + _choose(worse, np.minimum(rest, worse))
        - _choose(np.array(items - 1.0), np.array(float(negatives)))
    )
    return np.where(possible, np.exp(logs), 0)


def _choose(n: Numbers, k: Numbers) -> Numbers:
    logs = _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)
    return np.asarray(logs, np.float64)


def em(table: Numbers, counts: Numbers, start: Numbers) -> Numbers:
    """Return the distribution of ranks by EM (Jin et al., 2021), for rows of counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    # Every rank has some chance of a count; columns of several numbers of negatives
    # add up to more than 1, so that weights are shares of rows, not of columns.
    found = np.repeat(start[None, :], len(counts), axis=0)
    for _ in range(STEPS):
        expected = np.maximum(found @ table, 1e-300)
        found = found * ((shares / expected) @ table.T)
    return found


def least_squares(table: Numbers, gains: Numbers, prior: Numbers) -> Numbers:
    """Return the value of each count, of least squared error (Krichene and Rendle)."""
    weighed = prior[:, None] * table
    inner = table.T @ weighed
    spread = np.diag(weighed.sum(axis=0)) - inner
    ridge = 1e-12 * np.eye(len(inner))
    solved = np.linalg.solve(inner + GAMMA * spread + ridge, weighed.T @ gains)
    return np.asarray(solved, np.float64)
