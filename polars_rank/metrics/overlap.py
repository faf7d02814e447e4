"""Overlap of two rankings of the same documents: by score and by label."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, FiniteCutoff, Persistence
from polars_rank.core.expr import arg_sort_by, divide, ratio
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics._rbo import Estimate, Tied, powers, rank_biased

__all__ = ["compat", "jaccard", "overlap", "rbo", "unexpectedness"]


Normalize: TypeAlias = Annotated[
    bool, Doc("whether to divide by the overlap of the ideal with itself")
]


@metric(
    depends_on="all",
    needs_relevant=False,
    of_two_rankings=True,
    tie_sensitive=False,
    aliases={"RBO": {}},
)
def rbo(
    r: Ranking,
    *,
    p: Persistence = 0.9,
    estimate: Estimate = "ext",
    tied: Tied = "a",
) -> pl.Expr:
    """Rank-biased overlap of the ranking by score and the ranking by label.

    ``(1 - p) / p * sum over depths d of p^d A_d``; ``A_d = X_d / d``, where the first d
    documents of both have ``X_d`` in common. Of two runs, the labels are the scores of
    the other. A document without a score (or label) is not in that ranking.
    ``estimate``: agreement is extrapolated below the end of the lists (``"ext"``), or
    the least and largest possible values, and their difference.
    ``tied``: the mean over all orders of tied documents (``"a"``), that mean corrected
    for the information lost (``"b"``), or ties share a rank as in sports (``"w"``).

    Undefined: no document has a score, or none has a label.
    Source: Webber, Moffat and Zobel, TOIS 2010, eq. 11, 30 and 32; ties: Corsi and
    Urbano, SIGIR 2024.
    Equal to: ``rbo`` of Corsi and Urbano's sigir2024-rbo; ``rbo_ext`` of the package
    rbo without ties.
    Example: scores 2, 1 and labels 1, 2, p = 1/2: A_1 = 0 and 1 from there on: 1/2.
    """
    value = rank_biased(r.raw_score, r.label, p=p, estimate=estimate, tied=tied)
    return r.reduce(value)


@metric(depends_on="all", aliases={"Compat": {}})
def compat(
    r: Ranking, *, p: Persistence = 0.95, normalize: Normalize = True
) -> pl.Expr:
    """Compatibility: rank-biased overlap with the closest ideal ranking.

    ``sum of p^(d-1) X_d / d`` over the depths d of the longer of both, where the first
    d documents of the run and of the ideal have ``X_d`` in common, divided by that of
    the ideal with itself; ``normalize=False`` divides by the sum of ``p^(d-1)``. The
    ideal has the documents of positive grade, by grade; equal grades in rank order.

    Source: Clarke, Vtyurina and Smucker, TOIS 2021.
    Equal to: ir_measures ``Compat`` where scores are above 0.
    Example: grades 0, 1 in rank order, p = 1/2: (1/2 * 1/2) / (1 + 1/2 * 1/2) = 1/5.
    """
    rank, grade = r.rank.filter(r.label > 0), r.label.filter(r.label > 0)
    rank = rank.gather(arg_sort_by([grade, rank], descending=[True, False]))
    place = pl.int_range(1, rank.len() + 1)
    longest = pl.max_horizontal(r.rank.max().cast(pl.Int64), rank.len().cast(pl.Int64))
    depth = pl.int_range(1, longest + 1).cast(pl.Float64)
    weight = powers(p, depth).shift(1, fill_value=1.0)
    rest = (weight / depth).cum_sum(reverse=True)
    shared = pl.when(rank.is_not_null()).then(pl.max_horizontal(rank, place))
    common = rest.gather(shared.drop_nulls().cast(pl.Int64) - 1).sum()
    most = rest.gather(place - 1).sum() if normalize else weight.sum()
    return r.reduce(ratio(common, most))


@metric(depends_on="all", needs_relevant=False, of_two_rankings=True)
def overlap(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Share of the first k by score that are among the first k by label.

    Of documents with equal labels, those ranked higher by score come first. The number
    of documents in common is divided by k, or by the longer list if that is shorter.

    Undefined: no document has a score or a label.
    Source: Fagin, Kumar and Sivakumar, SIAM J. Discrete Math. 2003.
    Equal to: RecTools ``Intersection`` of full lists.
    Example: grades 1, 0, 2 in rank order: overlap@2 = 1/2.
    """
    by_score, by_label = _top(r, k)
    longer = pl.max_horizontal(by_score.sum(), by_label.sum())
    return r.reduce(ratio((by_score & by_label).sum(), longer))


@metric(depends_on="all", needs_relevant=False, of_two_rankings=True)
def jaccard(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Jaccard similarity of the first k by score and the first k by label.

    ``documents in both / documents in either``; equal labels as in ``overlap``.

    Undefined: no document has a score or a label.
    Source: Jaccard, 1901.
    Example: grades 1, 0, 2 in rank order: jaccard@2 = 1/3.
    """
    by_score, by_label = _top(r, k)
    return r.reduce(ratio((by_score & by_label).sum(), (by_score | by_label).sum()))


@metric(
    depends_on="all",
    needs_relevant=False,
    of_two_rankings=True,
    aliases={"Unexpectedness": {}},
)
def unexpectedness(r: Ranking, *, k: FiniteCutoff = 10) -> pl.Expr:
    """Share of the first k places without a document that is expected there.

    ``1 - documents in both / k`` of the first k by score and the first k by label; the
    labels are the scores of what everybody would expect, such as the most popular
    items (``qrels=baseline, label="score"``). Equal labels as in ``overlap``.

    Undefined: no document has a score, or none has a label.
    Source: the documentation of RePlay, after Murakami, Mori and Orihara, 2008.
    Example: grades 1, 0, 2 in rank order: unexpectedness@2 = 1 - 1/2.
    """
    by_score, by_label = _top(r, k)
    common = (by_score & by_label).sum().cast(pl.Float64)
    known = by_score.any() & by_label.any()
    return r.reduce(pl.when(known).then(1.0 - divide(common, k)))


def _top(r: Ranking, k: int | None) -> tuple[pl.Expr, pl.Expr]:
    """Whether a document is among the first k by score, and among those by label."""
    order = arg_sort_by([r.label, r.rank], descending=[True, False])
    rank, judged = (e.gather(order) for e in (r.rank, r.label.is_not_null()))
    place = pl.int_range(1, rank.len() + 1)
    if k is None:
        return rank.is_not_null(), judged
    return (rank <= k).fill_null(value=False), judged & (place <= k)
