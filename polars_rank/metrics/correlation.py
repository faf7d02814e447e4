"""Two orders of the same documents: by score and by label."""

from __future__ import annotations

import polars as pl

from polars_rank.metrics.pairs import every_bit, running_within
from polars_rank.metrics.registry import metric
from polars_rank.ranking import Ranking, arg_sort_by, let

__all__ = ["kendall_distance", "spearman"]


@metric(rows="judged", relevance=False, score=True)
def kendall_distance(
    r: Ranking, *, k: int | None = None, penalty: float = 0.5
) -> pl.Expr:
    """Normalised Kendall tau distance: share of pairs that the two orders swap.

    ``discordant pairs / (n (n - 1) / 2)`` over the documents that stand in the first k
    of either order, by score or by label, both descending. A pair that is tied in one
    order only counts ``penalty``. Documents without a score or a label are left out.

    Undefined: fewer than two documents.
    Source: Fagin, Kumar and Sivakumar, SIAM J. Discrete Math. 2003 (k); Fagin et al.,
    PODS 2004, ``K^(p)`` (ties); Knight, JASA 1966 (counting).
    Equal to: ``(1 - tau) / 2`` of ``scipy.stats.kendalltau`` where nothing is tied.
    Example: scores 3, 2, 1 and labels 3, 1, 2: one pair of three is swapped: 1/3.
    """
    score, label = _pair(r, k)
    n = label.len().cast(pl.Float64)
    by_score = label.gather(arg_sort_by([score, label], descending=[False, False]))
    swapped = _inversions(by_score.rank("ordinal").cast(pl.Int64) - 1)
    both = score.rank("dense").cast(pl.Int64) * (label.len() + 1) + label.rank("dense")
    tied_once = _tied(score) + _tied(label) - 2.0 * _tied(both)
    pairs = n * (n - 1.0) / 2.0
    distance = (swapped + penalty * tied_once) / pairs
    return r.aggregate(pl.when(n > 1).then(distance))


@metric(rows="judged", relevance=False, score=True)
def spearman(r: Ranking, *, k: int | None = None) -> pl.Expr:
    """Spearman's rho: correlation of the ranks by score and by label.

    Ties have the mean rank. With k, the documents that stand in the first k of either
    order, ranked among themselves. Documents without a score or a label are left out.

    Undefined: fewer than two documents, or all tied in one of the orders.
    Source: Spearman, 1904; Zhao, "Metrics in Learn-To-Rank", 2023.
    Equal to: ``scipy.stats.spearmanr``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: rho = 1/2.
    """
    score, label = _pair(r, k)
    rho = pl.corr(score.rank().cast(pl.Float64), label.rank().cast(pl.Float64))
    return r.aggregate(rho.fill_nan(None))


def _pair(r: Ranking, k: int | None) -> tuple[pl.Expr, pl.Expr]:
    """Score and label of the documents that have both, of those in either top k."""
    known = r.score.is_not_null() & r.label.is_not_null()
    score, label = r.score.filter(known), r.label.filter(known)
    if k is None:
        return score, label
    top = (score.rank("min", descending=True) <= k) | (
        label.rank("min", descending=True) <= k
    )
    return score.filter(top), label.filter(top)


def _tied(value: pl.Expr) -> pl.Expr:
    """Pairs of equal values: every one sees the others of its block."""
    others = value.rank("max").cast(pl.Int64) - value.rank("min").cast(pl.Int64)
    return others.sum().cast(pl.Float64) / 2.0


def _inversions(place: pl.Expr) -> pl.Expr:
    """Pairs out of order in a permutation of 0, 1, 2, ...: no pair is formed.

    Two numbers first differ in one bit; above it they share a prefix. Sorted by that
    prefix (stably), the pair is an inversion where the one comes before the zero.
    """

    def count(number: pl.Expr) -> pl.Expr:
        number, bit = every_bit(number)
        block = bit * number.len() + number // 2 ** (bit + 1)
        one = ((number // 2**bit) % 2).sort_by(block, maintain_order=True)
        return ((1 - one) * running_within(one, block.sort())).sum()

    return let(place, count)
