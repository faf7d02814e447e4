"""Confusion matrix at a cutoff, and mean positions of relevant documents."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, Rel, Undefined
from polars_rank.core.expr import ratio
from polars_rank.core.metric.registry import POSITIVE, SIGNED, UNBOUNDED, metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.weights import Gain
from polars_rank.core.words.ranking import Ranking

__all__ = ["arp", "binary_accuracy", "fall_out", "hits", "mcc", "mean_label"]

Catalog: TypeAlias = Annotated[
    Annotated[int, Range(least=1)] | None,
    Doc(
        "number of documents that could be retrieved",
        {None: "counts are of judged documents"},
    ),
]


@metric(depends_on="relevant", tie_mean=True, bounds=POSITIVE)
def hits(r: Ranking, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Number of relevant documents among the first k.

    This is a count; the hit rate, whether there is any, is ``accuracy``.

    Source: Voorhees and Harman, "TREC", 2005 (rel_ret).
    Equal to: ranx ``hits``, trec_eval ``num_rel_ret`` without k.
    Example: grades 1, 0, 1 in rank order: hits@2 = 1, hits = 2.
    """
    return r.hits_at(k, rel)


@metric(
    depends_on="judged",
    needs_relevant=False,
    aliases={"FallOut": {}, "retrieval_fall_out": {}},
    better="lower",
)
def fall_out(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    catalog: Catalog = None,
    undefined: Undefined = None,
) -> pl.Expr:
    """Share of all nonrelevant documents that are in the first k; lower is better.

    ``FP / (FP + TN)`` of the judged documents. With ``catalog``, the number of
    documents that could be retrieved, every one without a relevant judgment is
    nonrelevant: ``(k - hits(k)) / (catalog - R)``. ``undefined``: the value where
    nothing is nonrelevant.

    Undefined: nothing is nonrelevant, unless ``undefined`` is given.
    Source: van Rijsbergen, 1979, ch. 7.
    Equal to: torchmetrics ``retrieval_fall_out`` with ``undefined=0``.
    Example: grades 1, 0, 0 in rank order: fall_out@2 = 1/2.
    """
    table = _confusion(r, k, rel, catalog)
    share = ratio(table.fp, table.fp + table.tn)
    return share if undefined is None else share.fill_null(float(undefined))


@metric(depends_on="judged", needs_relevant=False)
def binary_accuracy(
    r: Ranking, *, k: Cutoff = None, rel: Rel, catalog: Catalog = None
) -> pl.Expr:
    """Share of documents on the right side of the cut: relevant above, others below.

    ``(TP + TN) / (TP + FP + FN + TN)`` of the judged documents, or of ``catalog``
    documents, as in ``fall_out``; then k counts in full, however short the list.

    Undefined: no document.
    Source: Sokolova and Lapalme, 2009.
    Equal to: RecTools ``Accuracy`` with ``catalog``.
    Example: grades 1, 0, 0 in rank order: binary_accuracy@2 = 2/3.
    """
    table = _confusion(r, k, rel, catalog)
    right = table.tp + table.tn
    return ratio(right, right + table.fp + table.fn)


@metric(depends_on="judged", needs_relevant=False, aliases={"MCC": {}}, bounds=SIGNED)
def mcc(r: Ranking, *, k: Cutoff = None, rel: Rel, catalog: Catalog = None) -> pl.Expr:
    """Matthews correlation of being relevant and being among the first k.

    ``(TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN))`` of the documents
    of ``binary_accuracy``; 0 if one of the sums is 0.

    Undefined: never.
    Source: Matthews, 1975.
    Equal to: RecTools ``MCC`` with ``catalog``; ``sklearn.metrics.matthews_corrcoef``.
    Example: grades 1, 0, 0 in rank order: mcc@2 = (1 - 0) / sqrt(2 * 1 * 2 * 1).
    """
    t = _confusion(r, k, rel, catalog)
    sums = (t.tp + t.fp) * (t.tp + t.fn) * (t.tn + t.fp) * (t.tn + t.fn)
    return ratio(t.tp * t.tn - t.fp * t.fn, sums.sqrt()).fill_null(0.0)


@metric(
    depends_on="judged",
    needs_relevant=False,
    aliases={"QueryAverage": {}},
    bounds=UNBOUNDED,
)
def mean_label(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Mean label of the judged documents among the first k.

    Undefined: no judged document among them.
    Source: Prokhorenkova et al., "CatBoost", NeurIPS 2018.
    Equal to: CatBoost ``QueryAverage:top=k``.
    Example: grades 3, 0, 1 in rank order: mean_label@2 = 3/2.
    """
    judged = r.label.is_not_null() & r.in_top(k)
    return ratio(r.sum(pl.when(judged).then(r.label)), r.sum(judged))


@metric(
    depends_on="relevant",
    tie_mean=True,
    needs_relevant=False,
    aliases={"ARP": {}},
    better="lower",
    bounds=POSITIVE,
)
def arp(r: Ranking, *, gain: Gain) -> pl.Expr:
    """Average relevance position: mean rank, weighted by gain; lower is better.

    ``sum of gain(label) rank / sum of gain(label)`` over the retrieved documents.

    Undefined: no retrieved document has a gain.
    Source: Zhu, 2004; Joachims et al., WSDM 2017; TF-Ranking has an ``ARPMetric``.
    Example: grades 3, 0, 1 in rank order: (3 * 1 + 1 * 3) / 4.
    """
    gains = pl.when(r.rank.is_not_null()).then(r.gain(gain))
    return ratio(r.sum(gains * r.weight(lambda rank: rank)), r.sum(gains))


class _Confusion(NamedTuple):
    """Counts: relevant or not (true, false), in the first k or not."""

    tp: pl.Expr
    fp: pl.Expr
    fn: pl.Expr
    tn: pl.Expr


def _confusion(
    r: Ranking, k: int | None, rel: float, catalog: int | None
) -> _Confusion:
    """Counts of the judged documents, or of ``catalog`` documents."""
    tp, relevant = r.hits_at(k, rel), r.relevant_count(rel)
    if catalog is None:
        judged = r.label.is_not_null() & ~r.relevant(rel)
        fp, nonrelevant = r.sum(judged & r.in_top(k)), r.sum(judged)
    else:
        fp = (r.retrieved_count() if k is None else 0.0 * tp + float(k)) - tp
        nonrelevant = float(catalog) - relevant
    return _Confusion(tp=tp, fp=fp, fn=relevant - tp, tn=nonrelevant - fp)
