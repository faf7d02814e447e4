"""Norms: scores of a run's list for a query, on a scale that other runs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from polars_rank.fusion.formulas.words import Candidate, RunList, at_least_floor

Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True, eq=False)
class Norm:
    """A norm of the registry.

    Attributes
    ----------
    name
        Its name; ``min-max`` is read as ``min_max``.
    function
        The formula: of a :class:`RunList`; with ``of_candidates``, of a
        :class:`Candidate`, whose ranks in all runs become scores of all runs.
    needs_scores
        Whether it needs finite scores, not only their order.
    positive
        Whether it refuses negative scores.
    """

    name: str
    function: Callable[..., object]
    needs_scores: bool = True
    positive: bool = False
    of_candidates: bool = False


NORMS: dict[str, Norm] = {}


def norm(
    *, needs_scores: bool = True, positive: bool = False, of_candidates: bool = False
) -> Callable[[Function], Function]:
    """Register a formula under its name, without a trailing underscore."""

    def register(function: Function) -> Function:
        name = function.__name__.rstrip("_")
        NORMS[name] = Norm(name, function, needs_scores, positive, of_candidates)
        return function

    return register


@norm()
def none(r: RunList) -> pl.Expr:
    """Keep the scores as they are: ``s``.

    Equal to ranx's ``norm=None``.
    """
    return r.score


@norm()
def min_max(r: RunList) -> pl.Expr:
    """Map the least score of a list to 0 and the largest to 1.

    ``(s - min) / max(max - min, 1e-9)``; 0 for a list of one document, and where all
    scores are equal.

    Source: Lee, SIGIR 1997. Equal to ranx's ``min-max``.
    """
    lowest, highest = r.score.min(), r.score.max()
    return (r.score - lowest) / at_least_floor(highest - lowest)


@norm()
def min_max_inverted(r: RunList) -> pl.Expr:
    """Map the largest of a list of distances to 0 and the least to 1.

    ``(max - s) / max(max - min, 1e-9)``: that is ``min_max`` with ``descending=False``,
    which also orders the list.

    Equal to ranx's ``min-max-inverted``.
    """
    lowest, highest = r.score.min(), r.score.max()
    return (highest - r.score) / at_least_floor(highest - lowest)


@norm(positive=True)
def max_(r: RunList) -> pl.Expr:
    """Divide by the largest score: ``s / max(max, 1e-9)``.

    A negative score is an error: divided by a largest score near 0, it explodes.

    Equal to ranx's ``max``.
    """
    return r.score / at_least_floor(r.score.max())


@norm()
def sum_(r: RunList) -> pl.Expr:
    """Map the least score to 0, and make the sum 1.

    ``(s - min) / max(sum - n min, 1e-9)``.

    Source: Montague and Aslam, CIKM 2001. Equal to ranx's ``sum``.
    """
    lowest = r.score.min()
    return (r.score - lowest) / at_least_floor(r.total - lowest * r.length)


@norm()
def zmuv(r: RunList) -> pl.Expr:
    """Give the list zero mean and unit variance (divisor n).

    ``(s - mean) / max(sd, 1e-9)``.

    Source: Montague and Aslam, CIKM 2001. Equal to ranx's ``zmuv``.
    """
    return (r.score - r.mean) / at_least_floor(r.sd)


@norm(needs_scores=False)
def rank(r: RunList) -> pl.Expr:
    """Map ranks to equal steps: ``1 - (r - 1) / n``.

    Source: Lee, SIGIR 1997. Equal to ranx's ``rank``.
    """
    return 1 - (r.rank - 1) / r.length


@norm(needs_scores=False, of_candidates=True)
def borda(d: Candidate) -> list[pl.Expr]:
    """Give every run a score of every candidate: its share of the votes.

    ``1 - (r - 1) / c`` for a document that the run has, and ``1/2 - (n - 1) / (2 c)``
    for one that it lacks, where c is the number of candidates and n the length of the
    list. So all runs count in ``mean``, ``min`` and ``mnz``.

    Source: Renda and Straccia, SAC 2003. Equal to ranx's ``borda``.
    """
    return [
        pl.when(r.is_not_null())
        .then(1 - (r - 1) / d.documents)
        .otherwise(0.5 - (n - 1) / (2 * d.documents))
        for r, n in zip(d.ranks, d.lengths, strict=True)
    ]
