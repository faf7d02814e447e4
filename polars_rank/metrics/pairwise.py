"""Pairs of documents, and whether the better one is ranked above the worse."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, Rel, Share, Undefined
from polars_rank.core.expr import per, ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.parameters import Doc, OtherThan, Range
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics._pairs import Blocks, Pairs, both, let_pairs

__all__ = [
    "auc",
    "coverage_error",
    "lrap",
    "opa",
    "pair_accuracy",
    "partial_auc",
    "ranking_loss",
    "relevant_above",
]

Rate: TypeAlias = Annotated[
    float,
    Range(above=0, most=1),
    Doc("false positive rate up to which the area counts"),
]
OneClass: TypeAlias = Annotated[
    float | None,
    Doc(
        "value where all are relevant or none is",
        {None: "undefined where all are relevant or none is"},
    ),
]
TiedScore: TypeAlias = Annotated[Share, Doc("value of a pair with equal scores")]
PairWeight: TypeAlias = Annotated[
    Literal["equally", "by_difference"],
    Doc(
        "how pairs weigh",
        {
            "equally": "every pair weighs the same",
            "by_difference": "a pair weighs the difference of its labels",
        },
    ),
]


@metric(
    depends_on="judged",
    tie_mean=True,
    needs_relevant=False,
    no_tie_mean_when={"k": OtherThan(None), "max_fpr": OtherThan(1)},
    aliases={
        "AUC": {},
        "roc_auc": {},
        "roc_auc_score": {},
        "retrieval_auroc": {"one_class": 0.0},
        "QueryAUC": {"one_class": 0.0},
    },
)
def auc(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    max_fpr: Rate = 1,
    one_class: OneClass = None,
) -> pl.Expr:
    """Area under the ROC curve: share of pairs with the relevant document higher.

    Pairs are of a relevant and a nonrelevant document among those in the first k that
    have a score and a label; equal scores count 1/2. ``max_fpr``: the area up to that
    false positive rate, standardized to 1/2 for chance. ``one_class``: the value where
    all are relevant or none is. Its mean with ``weight=`` the impressions (or clicks)
    of a query is GAUC.

    Undefined: no such pair, unless ``one_class`` is given.
    Source: Hanley and McNeil, Radiology 1982; McClish, 1989 (``max_fpr``); GAUC: Zhou
    et al., KDD 2018.
    Equal to: ``sklearn.metrics.roc_auc_score``; torchmetrics ``retrieval_auroc`` and
    CatBoost ``QueryAUC`` with ``one_class=0``.
    Example: grades 1, 0, 1 in rank order: one pair of two is in order: 1/2.
    """
    blocks = Blocks(*_scored_relevance(r, k, rel))
    # A block of equal scores is a straight piece of the curve; max_fpr may cut it.
    left = max_fpr * blocks.nonrelevant - blocks.nonrelevant_above
    part = 1.0 if max_fpr == 1 else (left / blocks.nonrelevant_tied).clip(0.0, 1.0)
    height = blocks.relevant_above + part * blocks.relevant_tied / 2.0
    area = (part * height).filter(~blocks.positive).sum()
    value = ratio(area, blocks.relevant * blocks.nonrelevant)
    if max_fpr < 1:
        chance = max_fpr**2 / 2.0
        value = (1.0 + (value - chance) * (1.0 / (max_fpr - chance))) / 2.0
    return r.reduce(_or(value, one_class))


@metric(
    depends_on="relevant",
    tie_mean=True,
    needs_relevant=False,
    no_tie_mean_when={"k": OtherThan(None)},
    aliases={"Accuracy": {}, "RocAuc": {}},
)
def relevant_above(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    one_class: OneClass = None,
) -> pl.Expr:
    """Probability that a relevant document is above a nonrelevant one, by rank.

    ``1 - sum over the F relevant ranks i <= k of (i - hits_i) / (F (n - F))`` over the
    n retrieved documents, or the first k of them. It is AUC by rank, where unjudged
    documents are not relevant. ``one_class``: the value where all of them are relevant
    or none is.

    Undefined: no such pair, unless ``one_class`` is given.
    Source: Mann and Whitney, 1947.
    Equal to: ir_measures ``Accuracy``; RePlay ``RocAuc`` where both kinds are found
    (0 there if none is relevant, 1 if all are).
    Example: grades 1, 0, 1 in rank order: 1 - (0 + 1) / (2 * 1) = 1/2.
    """
    hits = r.hits_at(k, rel)
    depth = r.retrieved_count()
    if k is not None:
        depth = pl.min_horizontal(depth, float(k))
    ranks = r.sum(r.relevant(rel) * r.weight(lambda rank: rank, k))
    above = ranks - hits * (hits + 1.0) / 2.0
    return _or(1.0 - ratio(above, hits * (depth - hits)), one_class)


@metric(
    depends_on="relevant",
    aliases={"PartialAUC": {}, "PAP": {"positives": "k"}},
)
def partial_auc(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    positives: Annotated[
        Literal["all", "k"],
        Doc(
            "relevant documents that form pairs",
            {
                "all": "all relevant documents form pairs",
                "k": "the first min(k, R) relevant documents form pairs",
            },
        ),
    ] = "all",
) -> pl.Expr:
    """Share of pairs in order, of relevant and of the first k nonrelevant documents.

    ``sum over relevant ranks i of max(0, k - (i - hits_i)), divided by k R``; the
    ``i - hits_i`` documents above that are not relevant may be unjudged, relevant
    documents that were not retrieved add 0, and a short list is padded with nonrelevant
    ones. Without k, all retrieved documents count. ``positives="k"`` takes the first
    min(k, R) relevant documents only (pAp@k).

    Source: Budhiraja, Hiranandani, Yarrabelly, Choure, Koyejo and Jain, 2020;
    Hiranandani, Vijitbenjaronk, Koyejo and Jain, ICML 2020.
    Equal to: RecTools ``PartialAUC`` and ``PAP`` (``positives="k"``).
    Example: grades 0, 1, 0 in rank order: partial_auc@2 = (2 - 1) / 2.
    """
    hits, relevant = r.cumulative_hits(rel), r.relevant(rel)
    above = pl.when(relevant).then(r.rank - hits)
    if k is not None:
        gain = (k - above).clip(lower_bound=0.0)
        counted = r.relevant_count(rel)
        if positives == "k":
            gain = pl.when(hits <= k).then(gain)
            counted = pl.min_horizontal(counted, float(k))
        return ratio(r.sum(gain), float(k) * counted)
    retrieved = r.hits_at(k, rel)
    nonrelevant = r.retrieved_count() - retrieved
    over_all = 1.0 - ratio(r.sum(above), retrieved * nonrelevant).fill_null(0.0)
    return per(over_all * retrieved, r.relevant_count(rel))


@metric(
    depends_on="judged",
    tie_mean=True,
    needs_relevant=False,
    no_tie_mean_when={"k": OtherThan(None), "tied_score": OtherThan(0.5)},
    aliases={"PairAccuracy": {}},
)
def pair_accuracy(
    r: Ranking,
    *,
    k: Cutoff = None,
    tied_score: TiedScore = 0.5,
    weigh: PairWeight = "equally",
) -> pl.Expr:
    """Share of the pairs with unequal labels that the scores order correctly.

    Pairs are formed from the documents in the first k that have a score and a label;
    equal scores count ``tied_score``. ``weigh="by_difference"``: a pair weighs
    ``|label_a - label_b|``.

    Undefined: no such pair.
    Source: Herbrich, Graepel and Obermayer, 2000; Joachims, KDD 2002.
    Equal to: CatBoost ``PairAccuracy`` over these pairs, with ``tied_score=0``.
    Example: grades 2, 0, 1 in rank order: two pairs of three are in order: 2/3.
    """
    score, label = _scored_labels(r, k)
    if weigh == "by_difference":
        every, signed = _spread(label, label), _spread(label, score)
        within = both(score, label).rank("ordinal").cast(pl.Float64)
        tied = _spread(label, within) - signed
        right = (every + signed - tied) / 2.0 + tied_score * tied
        return r.reduce(ratio(right, every))

    def share(pairs: Pairs) -> pl.Expr:
        right = pairs.concordant + tied_score * (pairs.tied_x - pairs.tied_both)
        return ratio(right, pairs.all - pairs.tied_y)

    return r.reduce(let_pairs(score, label, share))


@metric(
    depends_on="judged",
    needs_relevant=False,
    aliases={"OPA": {}},
)
def opa(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Ordered pair accuracy: share of the pairs with unequal labels that are in order.

    As ``pair_accuracy``, but pairs of equal scores are not in order. Here, every query
    has the same weight in the mean; TensorFlow Ranking weighs a list by its pairs.

    Undefined: no pair of unequal labels (Rax: 0).
    Source: Pasumarthi et al., "TF-Ranking", KDD 2019 (``OPAMetric``).
    Equal to: Rax ``opa_metric``.
    Example: grades 2, 0, 1 in rank order: two pairs of three are in order: 2/3.
    """
    return pair_accuracy(r, k=k, tied_score=0, weigh="equally")


@metric(
    depends_on="judged",
    needs_relevant=False,
    tie_sensitive=False,
    better="lower",
    aliases={"label_ranking_loss": {}},
)
def ranking_loss(r: Ranking, *, rel: Rel, one_class: OneClass = None) -> pl.Expr:
    """Label ranking loss: share of pairs in which the relevant one is not above.

    Pairs are of a relevant and a nonrelevant document that have a score and a label;
    equal scores count as wrong. ``one_class``: the value where all are relevant or none
    is.

    Undefined: no such pair, unless ``one_class`` is given.
    Source: Tsoumakas, Katakis and Vlahavas, 2010.
    Equal to: ``sklearn.metrics.label_ranking_loss`` with ``one_class=0``.
    Example: grades 1, 0, 1 in rank order: 1/2.
    """
    blocks = Blocks(*_scored_relevance(r, None, rel))
    wrong = blocks.nonrelevant_above + blocks.nonrelevant_tied
    pairs = blocks.relevant * blocks.nonrelevant
    value = ratio(wrong.filter(blocks.positive).sum(), pairs)
    return r.reduce(_or(value, one_class))


@metric(
    depends_on="judged",
    tie_sensitive=False,
    aliases={"LRAP": {}, "label_ranking_average_precision_score": {}},
)
def lrap(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Label ranking average precision: AP in which tied documents come last.

    Mean over relevant documents of the share of relevant ones among those with at
    least their score; documents without a score or a label are left out.

    Source: Tsoumakas, Katakis and Vlahavas, 2010.
    Equal to: ``sklearn.metrics.label_ranking_average_precision_score`` with
    ``no_relevant="one"``.
    Example: scores 2, 2 and grades 1, 0: 1/2.
    """
    blocks = Blocks(*_scored_relevance(r, None, rel))
    precision = (blocks.relevant_above + blocks.relevant_tied) / blocks.last
    return r.reduce(precision.filter(blocks.positive).mean())


@metric(
    depends_on="judged",
    needs_relevant=False,
    tie_sensitive=False,
    better="lower",
    bounds=POSITIVE,
)
def coverage_error(r: Ranking, *, rel: Rel, undefined: Undefined = None) -> pl.Expr:
    """Number of documents to read down the list to see all relevant ones.

    Counts the documents whose score is at least the lowest score of a relevant one,
    among those that have a score and a label. ``undefined``: the value without a
    relevant one.

    Undefined: no relevant document among them, unless ``undefined`` is given.
    Source: Tsoumakas, Katakis and Vlahavas, 2010.
    Equal to: ``sklearn.metrics.coverage_error`` with ``undefined=0``.
    Example: grades 1, 0, 1, 0 in rank order: 3.
    """
    blocks = Blocks(*_scored_relevance(r, None, rel))
    return r.reduce(_or(blocks.last.filter(blocks.positive).max(), undefined))


def _scored_relevance(r: Ranking, k: int | None, rel: float) -> tuple[pl.Expr, pl.Expr]:
    """Score and relevance of the judged documents in the first k."""
    judged = _judged(r, k)
    return r.raw_score.filter(judged), r.relevant(rel).filter(judged)


def _scored_labels(r: Ranking, k: int | None) -> tuple[pl.Expr, pl.Expr]:
    """Score and label of the judged documents in the first k."""
    judged = _judged(r, k)
    return r.raw_score.filter(judged), r.label.filter(judged)


def _judged(r: Ranking, k: int | None) -> pl.Expr:
    """Whether a document has a label and is among the first k."""
    retrieved = r.rank.is_not_null() if k is None else r.rank <= k
    return retrieved & r.label.is_not_null()


def _spread(label: pl.Expr, order: pl.Expr) -> pl.Expr:
    """Sum over pairs of the label of the higher one less that of the lower one.

    Every label is added once for each document below its own, taken off for each above.
    """
    lead = 2.0 * order.rank("average") - (label.len().cast(pl.Float64) + 1.0)
    return (label * lead).sum()


def _or(value: pl.Expr, instead: float | None) -> pl.Expr:
    return value if instead is None else value.fill_null(float(instead))
