"""Methods: the value of a document, from its scores or ranks in all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import polars as pl

from polars_rank.core.parameters import Doc, Parameter, Range, read_parameters
from polars_rank.fusion.formulas.words import Candidate, Pair

Of: TypeAlias = Literal["scores", "ranks", "pairs"]
Learns: TypeAlias = Literal["", "ap", "places"]
Function = TypeVar("Function", bound=Callable[..., pl.Expr])


@dataclass(frozen=True, eq=False)
class Method:
    """A method of the registry.

    Attributes
    ----------
    name
        Its name.
    function
        The formula: of a :class:`Candidate`; of ``"pairs"``, of a :class:`Pair`.
    of
        What it combines: normalized ``"scores"``, ``"ranks"``, or the preferences of
        all ``"pairs"`` of documents.
    weighted
        Whether runs can have weights.
    aliases
        Other names, such as ranx's; those that begin with ``w`` need weights.
    grid
        Values of its parameters that ``tune`` tries.
    learns
        What it learns of runs from judgments: mean average precision (``"ap"``), or
        where relevant documents are (``"places"``).
    of_both
        Whether a method of scores uses ranks, too.
    """

    name: str
    function: Callable[..., pl.Expr]
    of: Of
    weighted: bool = False
    aliases: Sequence[str] = ()
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)
    learns: Learns = ""
    of_both: bool = False

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters, in order."""
        return read_parameters(self.function)

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults of parameters that have one."""
        return dict(getattr(self.function, "__kwdefaults__", None) or {})


METHODS: dict[str, Method] = {}


def method(
    of: Of,
    *,
    weighted: bool = False,
    aliases: Sequence[str] = (),
    grid: Mapping[str, Sequence[float]] | None = None,
    learns: Learns = "",
    of_both: bool = False,
) -> Callable[[Function], Function]:
    """Register a formula under its name, without a trailing underscore."""

    def register(function: Function) -> Function:
        name = function.__name__.rstrip("_")
        METHODS[name] = Method(
            name, function, of, weighted, aliases, grid or {}, learns, of_both
        )
        return function

    return register


# -- of scores


@method("scores", weighted=True, aliases=("comb_sum", "wsum"))
def sum_(d: Candidate) -> pl.Expr:
    """Add up the scores, times the weights of their runs: ``sum w s``.

    Source: Fox and Shaw, TREC-2 1993 (CombSUM).
    Equal to ranx's ``sum``, and ``wsum`` with weights.
    """
    return d.weighted_sum(d.scores)


@method("scores", aliases=("comb_max",))
def max_(d: Candidate) -> pl.Expr:
    """Take the largest score: ``max s``.

    Source: Fox and Shaw, TREC-2 1993 (CombMAX). Equal to ranx's ``max``.
    """
    return pl.max_horizontal(*d.scores)


@method("scores", aliases=("comb_min",))
def min_(d: Candidate) -> pl.Expr:
    """Take the least score in runs that have the document: ``min s``.

    Source: Fox and Shaw, TREC-2 1993 (CombMIN). Equal to ranx's ``min``.
    """
    return pl.min_horizontal(*d.scores)


@method("scores", aliases=("comb_med", "med"))
def median(d: Candidate) -> pl.Expr:
    """Take the median score in runs that have the document.

    Source: Fox and Shaw, TREC-2 1993 (CombMED). Equal to ranx's ``med``.
    """
    return pl.concat_list(*d.scores).list.median()


@method("scores", aliases=("comb_anz", "anz"))
def mean(d: Candidate) -> pl.Expr:
    """Take the mean score in the z runs that have the document: ``sum s / z``.

    Source: Fox and Shaw, TREC-2 1993 (CombANZ). Equal to ranx's ``anz``.
    """
    return d.sum(d.scores) / d.count(d.scores)


@method("scores", weighted=True, aliases=("comb_mnz", "wmnz"))
def mnz(d: Candidate) -> pl.Expr:
    """Multiply the sum by the number z of runs that have the document: ``z sum s``.

    With weights, ``sum s * sum w`` over the runs that have it.

    Source: Fox and Shaw, TREC-2 1993 (CombMNZ); with weights, Wu and Crestani, CIKM
    2002. Equal to ranx's ``mnz``, and ``wmnz`` with weights.
    """
    return d.sum(d.scores) * d.weight(d.scores)


@method("scores", aliases=("comb_gmnz",), grid={"gamma": [g / 10 for g in range(21)]})
def gmnz(
    d: Candidate,
    *,
    gamma: Annotated[float, Range(least=0), Doc("exponent of the number of runs")],
) -> pl.Expr:
    """Multiply the sum by a power of the number of runs: ``z^gamma sum s``.

    A ``gamma`` of 0 is the sum, and 1 is ``mnz``.

    Source: Lee, SIGIR 1997 (CombGMNZ). Equal to ranx's ``gmnz``.
    """
    return d.sum(d.scores) * d.count(d.scores).pow(gamma)


@method("scores", weighted=True)
def mixed(d: Candidate) -> pl.Expr:
    """Multiply the weighted sum by a root of the number of runs: ``sqrt(z) sum w s``.

    Source: Wu and Crestani, CIKM 2002. Equal to ranx's ``mixed``.
    """
    return d.weighted_sum(d.scores) * d.count(d.scores).sqrt()


# -- of ranks


@method("ranks", weighted=True, grid={"k": range(10, 101, 10)})
def rrf(
    d: Candidate,
    *,
    k: Annotated[float, Range(least=0), Doc("constant added to the ranks")] = 60,
) -> pl.Expr:
    """Add up reciprocal ranks: ``sum w / (k + r)``.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009. Equal to ranx's ``rrf``, which
    has no weights.
    """
    return d.weighted_sum(1 / (k + r) for r in d.ranks)


@method("ranks")
def isr(d: Candidate) -> pl.Expr:
    """Add up inverse square ranks, times the number of runs: ``z sum 1 / r^2``.

    Source: Mourão, Martins and Magalhães, 2015. Equal to ranx's ``isr``.
    """
    return d.sum(_inverse_squares(d)) * d.count(d.ranks)


@method("ranks")
def log_isr(d: Candidate) -> pl.Expr:
    """Multiply inverse square ranks by a logarithm: ``log(z) sum 1 / r^2``.

    It is 0 for all documents of a single run, which then are ordered by their ids
    alone; ``logn_isr`` is not.

    Source: Mourão, Martins and Magalhães, 2015. Equal to ranx's ``log_isr``.
    """
    return d.sum(_inverse_squares(d)) * d.count(d.ranks).log()


@method("ranks", grid={"sigma": [s / 100 for s in range(1, 101, 9)]})
def logn_isr(
    d: Candidate,
    *,
    sigma: Annotated[
        float, Range(above=0, most=1), Doc("added to the number of runs")
    ] = 0.01,
) -> pl.Expr:
    """Smooth the logarithm: ``log(z + sigma) sum 1 / r^2``.

    Source: Mourão, Martins and Magalhães, 2015. Equal to ranx's ``logn_isr``.
    """
    return d.sum(_inverse_squares(d)) * (d.count(d.ranks) + sigma).log()


def _inverse_squares(d: Candidate) -> list[pl.Expr]:
    return [1 / (r * r) for r in d.ranks]


@method("ranks", grid={"phi": [p / 20 for p in range(1, 20)]})
def rbc(
    d: Candidate,
    *,
    phi: Annotated[
        float, Range(above=0, below=1), Doc("probability of going on to the next rank")
    ],
) -> pl.Expr:
    """Add up the attention of a user who goes on with probability phi.

    ``sum (1 - phi) phi^(r - 1)``, the rank-biased centroid.

    Source: Bailey, Moffat, Scholer and Thomas, SIGIR 2017. Equal to ranx's ``rbc``.
    """
    return d.sum((1 - phi) * pl.lit(phi).pow(r - 1) for r in d.ranks)


@method("ranks", weighted=True, aliases=("bordafuse", "w_bordafuse"))
def borda(d: Candidate) -> pl.Expr:
    """Add up points: ``c - r + 1`` of c candidates for rank r.

    A run gives the points that are left, ``(c - n + 1) / 2``, to each document that
    its list of length n lacks.

    Source: Aslam and Montague, SIGIR 2001. Equal to ranx's ``bordafuse``,
    and ``w_bordafuse`` with weights.
    """
    return d.weighted_sum(
        (d.documents - r + 1).fill_null((d.documents - n + 1) / 2)
        for r, n in zip(d.ranks, d.lengths, strict=True)
    )


# -- of pairs


@method("pairs", weighted=True, aliases=("w_condorcet",))
def condorcet(p: Pair) -> pl.Expr:
    """Count pairwise majorities: wins minus losses against all other candidates.

    A run prefers the document that it ranks higher, and any that it has to one that it
    lacks. Equal counts (Copeland's) are ordered by ``borda``: the score is the count,
    plus the points divided by more than there can be. It needs the pairs of documents
    of a query: give ``depth``.

    Source: Montague and Aslam, CIKM 2002; Copeland, 1951. Unlike ranx's ``condorcet``
    it has an order where majorities go in a circle: ranx sorts with a comparison that
    is then not transitive, and its order depends on the hash seed of the process.
    """
    return p.majority()
