"""Learning-to-rank losses as evaluation measures: lower is better."""

from __future__ import annotations

import polars as pl

from polars_rank.core.arguments import Cutoff
from polars_rank.core.expr import arg_sort_by, below_top, let, ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics._pairs import every_bit, running_within, tied

__all__ = ["hinge", "listmle", "squared_error"]


@metric(
    depends_on="judged",
    needs_relevant=False,
    uses_scores=True,
    better="lower",
    bounds=POSITIVE,
)
def squared_error(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Mean squared error of score and label, of judged documents in the first k.

    Undefined: no judged document among them.
    Source: Cossock and Zhang, COLT 2006 (pointwise regression).
    Equal to: ``sklearn.metrics.mean_squared_error`` of one query.
    Example: scores 3, 1 and labels 2, 1: 1/2.
    """
    judged = _judged(r) & r.in_top(k)
    error = pl.when(judged).then((r.score - r.label).pow(2))
    return ratio(r.sum(error), r.sum(judged))


@metric(
    depends_on="judged",
    needs_relevant=False,
    uses_scores=True,
    better="lower",
    bounds=POSITIVE,
)
def hinge(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Mean of max(0, 1 - (score_a - score_b)) over pairs with label_a > label_b.

    Pairs are formed from the judged documents among the first k.

    Undefined: no such pair.
    Source: Herbrich, Graepel and Obermayer, 2000; Joachims, KDD 2002.
    Example: scores 1, 0.5 and labels 0, 1: max(0, 1 - (0.5 - 1)) = 1.5.
    """
    judged = _judged(r) & r.in_top(k)
    score, label = r.raw_score.filter(judged), r.label.filter(judged)
    n = label.len().cast(pl.Float64)
    pairs = n * (n - 1.0) / 2.0 - tied(label)
    return r.reduce(ratio(_hinge_sum(score, label), pairs))


@metric(
    depends_on="judged",
    needs_relevant=False,
    uses_scores=True,
    tie_sensitive=False,
    better="lower",
    bounds=POSITIVE,
)
def listmle(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Negative log-likelihood of the order by label under the scores (ListMLE).

    ``sum over i <= k of log(sum over j >= i of exp(score_j)) - score_i`` (Plackett and
    Luce), with the judged documents in descending order of label, equal labels in rank
    order. Exact while the scores of one query span less than 700.

    Undefined: no judged document.
    Source: Xia, Liu, Wang, Zhang and Li, ICML 2008, eq. 9; k: Xia et al., NIPS 2009.
    Example: scores 1, 0 and labels 1, 0: log(e + 1) - 1.
    """
    scored = r.score.is_not_null() & _judged(r)
    label = r.label.filter(scored)
    near = -below_top(r.raw_score.filter(scored))  # only differences count
    near = near.gather(arg_sort_by([label], descending=[True]))
    rest = near.exp().cum_sum(reverse=True).log()
    loss = pl.max_horizontal(rest, near.cum_max(reverse=True)) - near
    loss = loss if k is None else loss.head(k)
    return r.reduce(pl.when(near.len() > 0).then(loss.sum()))


def _judged(r: Ranking) -> pl.Expr:
    """Whether the document has a label; its score must be finite."""
    judged = r.label.is_not_null()
    r.forbid(
        judged & r.score.is_infinite(),
        "infinite scores of judged documents have no loss; give them finite scores",
    )
    return judged


def _hinge_sum(score: pl.Expr, label: pl.Expr) -> pl.Expr:
    """Sum over all pairs with label_a > label_b, without forming one.

    By every bit of the place by label: in a block sorted by ``score - 1`` for the ones
    (a) and ``score`` for the zeros (b), a pair counts where a comes before b, by the
    difference of the keys.
    """

    def swapped(event: pl.Expr) -> pl.Expr:
        one = event.struct.field("one")
        key = (event.struct.field("score") - one).alias("key")
        block = event.struct.field("block")
        return let(pl.struct(block, one, key).sort_by(block, key), swept)

    def swept(event: pl.Expr) -> pl.Expr:
        block, one, key = (event.struct.field(f) for f in ("block", "one", "key"))
        above = running_within(one, block) * key - running_within(one * key, block)
        return ((1 - one) * above).sum()

    near = -below_top(score)  # only differences count: of small numbers
    return every_bit(label, {"score": near}, swapped)
