"""Compute the errors of fits of position bias.

Errors are those of scores over independent groups, such as queries or users.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from polars_rank.clicks.bias.several_positions.pair_counts import (
    CELLS,
    Array,
    Codes,
    Counts,
    groups_of,
    reached,
)

ALONE = 1e-9  # share of the others in a curvature that is rounding


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates per position.

    Attributes
    ----------
    theta
        Examination, relative to the reference; NaN: not identified.
    covariance
        Of the logarithms of ``theta``; NaN: unknown.
    groups
        Number of independent groups that it rests on.
    notes
        Why a position has no estimate; None: it has one.
    steps, converged, log_likelihood
        Of an iterative fit.
    scores
        The scores that errors are computed from; None: computed otherwise.
    """

    theta: Array
    covariance: Array
    groups: int
    notes: list[str | None]
    steps: int | None = None
    converged: bool | None = None
    log_likelihood: float | None = None
    scores: Scores | None = None

    def relative_to(self, reference: int) -> Fit:
        """Return the same, with another reference."""
        covariance = self.covariance
        own = covariance[reference]
        moved = covariance - own[None, :] - own[:, None] + own[reference]
        return replace(self, theta=self.theta / self.theta[reference], covariance=moved)

    @property
    def se(self) -> Array:
        """Return standard errors of ``theta``."""
        return np.asarray(self.theta * np.sqrt(np.diag(self.covariance).clip(0.0)))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the logarithms of theta, and the terms that turn them into errors.

    An impression of a pair at position j adds ``(clicked - mean) * scale`` times
    ``[k = j] - share_k`` to the score of position k.

    Attributes
    ----------
    rows
        The rows of the table: ``mean``, ``scale`` and ``share`` are theirs.
    curvature
        Of each row, in the logarithm of its mean.
    whole, bread
        The curvature of all rows, and its inverse, 0 at the reference.
    free
        Positions whose theta was fitted, and has a finite error.
    reference
        The position that theta is relative to.
    """

    rows: Counts
    mean: Array
    scale: Array
    share: Array
    curvature: Array
    whole: Array
    bread: Array
    free: npt.NDArray[np.bool_]
    reference: int

    @classmethod
    def of(
        cls, rows: Counts, weight: Array, mean: Array, scale: Array, reference: int
    ) -> Scores:
        """Invert the curvature; ``weight`` is that of a row.

        Where all that was shown was clicked the likelihood of EM is flat: there is no
        error of a position that only such documents tie to the reference.
        """
        whole = information(rows, weight)
        free = reached(whole < 0, reference)
        free[reference] = False
        bread = np.zeros(whole.shape)
        on = np.ix_(free, free)
        bread[on] = np.linalg.inv(whole[on])
        share = _shares(weight, rows)
        return cls(rows, mean, scale, share, weight, whole, bread, free, reference)

    @property
    def largest(self) -> Array:
        """Sum the absolute scores of all impressions at each position."""
        rows = self.rows
        clicked, skipped = rows.c * (1 - self.mean), (rows.n - rows.c) * self.mean
        size = (clicked + skipped) * self.scale
        return rows.of_position(size + self.share * rows.of_pair(size))

    def covariance(self, meat: Array, several: Codes, groups: int) -> Array:
        """Compute the covariance from the products of the scores of groups (CR1).

        ``several`` is how many groups there are at each position: a single one has no
        error.
        """
        factor = groups / max(groups - 1, 1)
        sandwich = self.bread @ meat @ self.bread * factor
        return self._of_sure(sandwich, self.free & (several > 1))

    def left_out(self) -> tuple[Array, int]:
        """Leave out each group in turn; return covariance and number of groups.

        Where a few groups have most of the clicks, the sandwich is too small: they pull
        the estimate towards themselves. A step of Newton's method without the group
        tells how far (CR3). A position that only one group ties to the reference has no
        error.

        Source: MacKinnon, Nielsen and Webb, 2023, Leverage, influence, and the
        jackknife in clustered regression models.
        """
        rows, groups = self.rows, groups_of(self.rows)
        residual = (rows.c - rows.n * self.mean) * self.scale
        score = residual - self.share * rows.of_pair(residual)
        on, eye = np.ix_(self.free, self.free), np.eye(rows.positions)
        found, sure = np.zeros(eye.shape), self.free.copy()
        size = max(1, CELLS // max(1, rows.positions) ** 2)
        for first in range(0, groups, size):
            codes = np.arange(first, min(first + size, groups) + 1)
            bounds = np.searchsorted(rows.group, codes)
            scores, own = self._of_groups(score, bounds)
            tied = self._tied_without(own)
            sure &= tied.all(0)
            both = tied[:, :, None] & tied[:, None, :]
            rest = np.where(both, self.whole - own, eye)
            scores = np.where(tied, scores, 0.0)
            moved = np.linalg.solve(rest[:, on[0], on[1]], scores[:, self.free, None])
            found[on] += moved[:, :, 0].T @ moved[:, :, 0]
        found *= max(groups - 1, 1) / max(groups, 1)
        return self._of_sure(found, sure), groups

    def _tied_without(self, own: Array) -> npt.NDArray[np.bool_]:
        """Return which positions stay tied to the reference without a group."""
        tied = np.ones(own.shape[:2], bool)
        ties = self.whole < 0
        # Shares of the group in the curvature between two positions.
        alone = ties & (own <= self.whole * (1 - ALONE))
        for group in np.flatnonzero(alone.any((1, 2))):
            tied[group] = reached(ties & ~alone[group], self.reference) | ~self.free
        return tied

    def _of_groups(
        self, score: Array, bounds: npt.NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Sum scores and curvatures of groups whose rows begin at ``bounds``."""
        rows, k = self.rows, self.rows.positions
        part = slice(bounds[0], bounds[-1])
        number, at = len(bounds) - 1, rows.position[part]
        cell = np.repeat(np.arange(number), np.diff(bounds)) * k + at
        scores, diagonal = (
            np.bincount(cell, values[part], number * k).reshape(number, k)
            for values in (score, self.curvature)
        )
        pair = rows.pair[part] - rows.pair[bounds[0]]
        heavy, light = (np.zeros((pair[-1] + 1, k)) for _ in range(2))
        heavy[pair, at], light[pair, at] = self.curvature[part], self.share[part]
        begins = pair[bounds[:-1] - bounds[0]]
        own = np.zeros((number, k, k))
        own[:, range(k), range(k)] = diagonal
        for i in range(k):
            own[:, i] -= np.add.reduceat(heavy[:, i : i + 1] * light, begins)
        return scores, own

    def _of_sure(self, covariance: Array, sure: npt.NDArray[np.bool_]) -> Array:
        """Put NaN where the covariance is not known, 0 at the reference."""
        found = np.full_like(self.bread, np.nan)
        known = sure.copy()
        known[self.reference] = True
        found[np.ix_(known, known)] = covariance[np.ix_(known, known)]
        return found


def _shares(weight: Array, counts: Counts) -> Array:
    """Compute the share of each row in the curvature of its pair."""
    total = counts.of_pair(weight)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)


def information(
    counts: Counts, weight: Array, where: npt.NDArray[np.bool_] | bool = True
) -> Array:
    """Compute the curvature in ln theta, attractiveness profiled out ``where``."""
    found = np.diag(counts.of_position(weight))
    share = _shares(weight, counts) * where
    for _, (whole, part) in counts.dense(weight, share):
        found -= whole.T @ part
    return found
