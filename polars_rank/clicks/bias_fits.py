"""Position bias from clicks on documents that were shown at several positions.

All fits work on a table of counts: of a pair (a document of a query) at a position, the
impressions n and the clicks c. They take arrays and know no frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "Counts",
    "Fit",
    "Scores",
    "em",
    "groups_of",
    "known_of",
    "linked",
    "poisson",
    "reached",
]

Array: TypeAlias = npt.NDArray[Any]
Codes: TypeAlias = npt.NDArray[np.int64]

CELLS = 4_000_000  # numbers in a temporary array
HALVINGS = 40
TINY = 1e-300
UNLINKED = "no document was shown here and at a position tied to the reference"
UNCLICKED = "too few clicks on documents that tie this position to the reference"


@dataclass(frozen=True, eq=False)
class Counts:
    """Impressions ``n`` and clicks ``c`` of pairs at positions, sorted by pair.

    ``pair``, ``position`` and ``group`` (what is independent, such as the query) are
    codes from 0; ``positions`` says how many positions there are, ``row`` which row of
    the table this was.
    """

    pair: Codes
    position: Codes
    group: Codes
    n: Array
    c: Array
    row: Codes
    positions: int

    def where(self, keep: npt.NDArray[np.bool_]) -> Counts:
        """Some rows; pairs and groups are numbered anew."""
        pair, group = (
            np.unique(codes[keep], return_inverse=True)[1]
            for codes in (self.pair, self.group)
        )
        return Counts(
            pair=pair,
            position=self.position[keep],
            group=group,
            n=self.n[keep],
            c=self.c[keep],
            row=self.row[keep],
            positions=self.positions,
        )

    def of_pair(self, values: Array) -> Array:
        """Sum over the rows of each pair, given to each of its rows."""
        return np.bincount(self.pair, values, self._pairs)[self.pair]

    def of_position(self, values: Array) -> Array:
        """Sum over the rows of each position."""
        return np.bincount(self.position, values, self.positions)

    @property
    def _pairs(self) -> int:
        return int(self.pair[-1]) + 1 if len(self.pair) else 0

    def informative(self, *, least: float = 0) -> Counts:
        """Rows of pairs that were clicked, at several positions, ``least`` times."""
        several = self.of_pair(np.ones(len(self.n))) > 1
        clicked = self.of_pair(self.c) > 0
        return self.where(several & clicked & (self.of_pair(self.n) >= least))

    def dense(self, *values: Array) -> Iterator[tuple[Codes, list[Array]]]:
        """Matrices of pairs by positions, some pairs at a time, and their groups."""
        size = max(1, CELLS // max(1, self.positions) ** 2)
        for first in range(0, self._pairs, size):
            low, high = np.searchsorted(self.pair, [first, first + size])
            pairs, at = self.pair[low:high] - first, self.position[low:high]
            shape = min(size, self._pairs - first), self.positions
            group = np.zeros(shape[0], np.int64)
            group[pairs] = self.group[low:high]
            matrices = [np.zeros(shape) for _ in values]
            for matrix, value in zip(matrices, values, strict=True):
                matrix[pairs, at] = value[low:high]
            yield group, matrices


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
        """The same, with another reference."""
        covariance = self.covariance
        own = covariance[reference]
        moved = covariance - own[None, :] - own[:, None] + own[reference]
        return replace(self, theta=self.theta / self.theta[reference], covariance=moved)

    def clustered(self, meat: Array, groups: int) -> Fit:
        """The same, with errors from scores that were summed by other clusters."""
        assert self.scores is not None
        covariance = self.scores.covariance(meat, groups)
        return replace(self, covariance=covariance, groups=groups)

    @property
    def se(self) -> Array:
        """Standard errors of ``theta``."""
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
    bread
        Inverse of the whole curvature, 0 at the reference.
    free, known
        Positions whose theta was fitted, and those that have one.
    """

    rows: Counts
    mean: Array
    scale: Array
    share: Array
    curvature: Array
    bread: Array
    free: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        rows: Counts,
        weight: Array,
        mean: Array,
        scale: Array,
        free: npt.NDArray[np.bool_],
        known: npt.NDArray[np.bool_],
    ) -> Scores:
        """``weight`` is the curvature of a row."""
        bread = np.zeros((rows.positions, rows.positions))
        on = np.ix_(free, free)
        bread[on] = np.linalg.inv(_information(rows, weight)[on])
        share = _shares(weight, rows)
        return cls(rows, mean, scale, share, weight, bread, free, known)

    def covariance(self, meat: Array, groups: int) -> Array:
        """Covariance, from the products of the scores of groups (CR1)."""
        factor = groups / max(groups - 1, 1)
        return self._of_known(self.bread @ meat @ self.bread * factor, groups)

    def left_out(self) -> tuple[Array, int]:
        """Covariance from leaving out each group in turn, and the number of groups.

        Where a few groups have most of the clicks, the sandwich is too small: they pull
        the estimate towards themselves. A step of Newton's method without the group
        tells how far (CR3).

        Source: MacKinnon, Nielsen and Webb, 2023, Leverage, influence, and the
        jackknife in clustered regression models.
        """
        rows, groups = self.rows, groups_of(self.rows)
        residual = (rows.c - rows.n * self.mean) * self.scale
        score = residual - self.share * rows.of_pair(residual)
        whole = _information(rows, self.curvature)
        on = np.ix_(self.free, self.free)
        found = np.zeros_like(self.bread)
        size = max(1, CELLS // max(1, rows.positions) ** 2)
        for first in range(0, groups, size):
            codes = np.arange(first, min(first + size, groups) + 1)
            bounds = np.searchsorted(rows.group, codes)
            scores, own = self._of_groups(score, bounds)
            # A position that only this group knows stays where it is.
            rest = whole - own * (1 - 1e-12)
            moved = np.linalg.solve(rest[:, on[0], on[1]], scores[:, self.free, None])
            found[on] += moved[:, :, 0].T @ moved[:, :, 0]
        found *= max(groups - 1, 1) / max(groups, 1)
        return self._of_known(found, groups), groups

    def _of_groups(
        self, score: Array, bounds: npt.NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Scores and curvatures of groups whose rows begin at ``bounds``."""
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

    def _of_known(self, covariance: Array, groups: int) -> Array:
        """NaN where it is not known."""
        found = np.full_like(self.bread, np.nan)
        known = self.known if groups > 1 else self.known & ~self.free
        found[np.ix_(known, known)] = covariance[np.ix_(known, known)]
        return found


# -- what is identified


def linked(counts: Counts, reference: int) -> list[str | None]:
    """Why a position cannot be compared with the reference; None: it can.

    The likelihood has a maximum if from each position one gets to each other by steps
    from a position to one whose documents, shown at both, were clicked there (Ford,
    1957).
    """
    k = counts.positions
    together, clicked = np.zeros((k, k)), np.zeros((k, k))
    for _, (shown, clicks) in counts.dense(np.ones(len(counts.n)), counts.c):
        together += shown.T @ shown
        clicked += shown.T @ clicks
    near = reached(together > 0, reference)
    to, back = (reached(step > 0, reference) for step in (clicked, clicked.T))
    return [
        None if to[i] and back[i] else UNCLICKED if near[i] else UNLINKED
        for i in range(k)
    ]


def reached(step: npt.NDArray[np.bool_], start: int) -> npt.NDArray[np.bool_]:
    """Which positions one gets to from ``start``, step by step."""
    found = np.zeros(len(step), bool)
    found[start] = True
    for _ in step:
        found |= step[found].any(axis=0)
    return found


def known_of(notes: list[str | None]) -> npt.NDArray[np.bool_]:
    """Which positions have an estimate."""
    return np.array([note is None for note in notes], bool)


def _identified(
    counts: Counts, reference: int
) -> tuple[Counts, list[str | None], npt.NDArray[np.bool_]]:
    """Rows at positions that can be compared with the reference."""
    notes = linked(counts, reference)
    known = known_of(notes)
    return counts.where(known[counts.position]).informative(), notes, known


# -- likelihoods


def poisson(counts: Counts, reference: int, *, max_steps: int, tol: float) -> Fit:
    """Fit theta by the likelihood of a pair's clicks over positions, given their sum.

    ``P(position of a click of the pair) = n_k theta_k / sum_j n_j theta_j``. The
    attractiveness of the pair cancels. Newton's method on the logarithms, whose
    likelihood is concave; a step is halved until the likelihood does not fall.

    Source: Hausman, Hall and Griliches, 1984 (fixed-effects Poisson); Wooldridge, 1999
    (only the mean matters, with robust errors).
    """
    counts, notes, known = _identified(counts, reference)
    free = known.copy()
    free[reference] = False
    total = counts.of_pair(counts.c)

    def shares(x: Array) -> tuple[Array, float]:
        weighted = counts.n * np.exp(x)[counts.position]
        share = weighted / counts.of_pair(weighted)
        return share, float((counts.c * np.log(share)).sum())

    x, steps, converged = np.zeros(counts.positions), 0, not free.any()
    share, likelihood = shares(x)
    while not converged and steps < max_steps:
        steps += 1
        gradient = counts.of_position(counts.c - total * share)[free]
        curvature = _information(counts, total * share)[np.ix_(free, free)]
        change = np.zeros_like(x)
        change[free] = np.linalg.solve(curvature, gradient)
        for _ in range(HALVINGS):
            share, found = shares(x + change)
            if found >= likelihood - 1e-12 * abs(likelihood):
                break
            change /= 2
        x, likelihood = x + change, found
        converged = bool(np.abs(change).max() < tol)
    weight = total * share
    one = np.ones_like(share)
    scores = Scores.of(counts, weight, weight / counts.n, one, free, known)
    covariance, groups = scores.left_out()
    return Fit(
        np.where(known, np.exp(x), np.nan),
        covariance,
        groups,
        notes,
        steps,
        converged,
        likelihood,
        scores,
    )


def em(
    counts: Counts, reference: int, *, max_steps: int, tol: float, least: float
) -> Fit:
    """Fit the position-based model, P(click) = theta_k a_pair, by EM.

    Pairs shown less than ``least`` times, without a click, or at a single position are
    left out: rare pairs bias theta, and the others do not change it.

    Source: Richardson et al., WWW 2007; Chuklin, Markov and de Rijke, Click Models for
    Web Search, 2015, section 4.2.
    """
    counts, notes, known = _identified(counts.informative(least=least), reference)
    n, c = counts.n, counts.c
    shown, at = counts.of_pair(n), np.maximum(counts.of_position(n), 1.0)
    a, theta = np.full(len(n), 0.5), np.full(counts.positions, 0.5)
    steps, converged = 0, not len(n)
    while not converged and steps < max_steps:
        steps += 1
        e = theta[counts.position]
        unseen = (n - c) / np.maximum(1 - a * e, TINY)
        attracted, examined = c + unseen * a * (1 - e), c + unseen * e * (1 - a)
        before, a = theta, counts.of_pair(attracted) / shown
        theta = counts.of_position(examined) / at
        change = theta / theta[reference] - before / before[reference]
        converged = bool(np.abs(change[known]).max() < tol)
    mean = np.clip(a * theta[counts.position], TINY, 1 - 1e-12)
    free = known.copy()
    free[reference] = False
    weight = (n - c) * mean / (1 - mean) ** 2
    scores = Scores.of(counts, weight, mean, 1 / (1 - mean), free, known)
    covariance, groups = scores.left_out()
    missed = np.where(n > c, (n - c) * np.log1p(-mean), 0.0)
    return Fit(
        np.where(known, theta / theta[reference], np.nan),
        covariance,
        groups,
        notes,
        steps,
        converged,
        float((c * np.log(mean) + missed).sum()),
        scores,
    )


def _shares(weight: Array, counts: Counts) -> Array:
    """Share of each row in the curvature of its pair."""
    total = counts.of_pair(weight)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)


def _information(counts: Counts, weight: Array) -> Array:
    """Curvature in the logarithms of theta, attractiveness profiled out."""
    found = np.diag(counts.of_position(weight))
    share = _shares(weight, counts)
    for _, (whole, part) in counts.dense(weight, share):
        found -= whole.T @ part
    return found


def groups_of(counts: Counts) -> int:
    """Number of independent groups."""
    return int(counts.group.max()) + 1 if len(counts.group) else 0
