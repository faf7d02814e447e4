"""Diversity: how well one list serves several subtopics of a query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import (
    Cutoff,
    FiniteCutoff,
    Persistence,
    Rel,
    Share,
)
from polars_rank.core.expr import ratio
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc
from polars_rank.core.weights import inverse, reciprocal
from polars_rank.core.words.ranking import Ranking
from polars_rank.core.words.subtopics import Empty, Subtopics
from polars_rank.metrics.binary import accuracy, ap, precision

__all__ = [
    "alpha_dcg",
    "alpha_ndcg",
    "ap_ia",
    "err_ia",
    "nerr_ia",
    "nnrbp",
    "nrbp",
    "p_ia",
    "st_recall",
]

Weight: TypeAlias = Callable[[pl.Expr], pl.Expr]
Alpha: TypeAlias = Annotated[
    Share, Doc("probability that a relevant document satisfies the subtopic")
]
Beta: TypeAlias = Annotated[
    Persistence, Doc("patience: probability of looking at the next document")
]
Norm: TypeAlias = Annotated[
    Literal["cover", "ndeval", "none"],
    Doc(
        "divisor of the value",
        {
            "cover": "divided by the value of a list that covers all subtopics at "
            "every rank",
            "ndeval": "as cover, except for k = 1, where ndeval does not divide",
            "none": "not divided",
        },
    ),
]
EmptySubtopics: TypeAlias = Annotated[
    Empty,
    Doc(
        "value of a subtopic with nothing relevant",
        {
            "skip": "a subtopic with nothing relevant is left out of the mean",
            "zero": "a subtopic with nothing relevant counts as 0",
        },
    ),
]


def novelty(
    r: Ranking, alpha: float, rel: float, weight: Weight, k: Cutoff = None
) -> pl.Expr:
    """Gain of the relevant documents, each ``1 - alpha`` of the one above it."""
    relevant = r.relevant(rel).cast(pl.Float64)
    return r.sum(
        relevant * r.reach_probability(alpha * relevant) * r.rank_weight(weight, k)
    )


def cover(alpha: float, weight: Weight, k: int) -> pl.Expr:
    """Gain of a subtopic to which every document is relevant."""
    place = pl.int_range(1, k + 1).cast(pl.Float64)
    return (pl.lit(1.0 - alpha).pow(place - 1.0) * weight(place)).sum()


@metric(
    depends_on="relevant",
    aliases={"alpha_DCG": {}, "alpha-DCG": {}},
)
def alpha_dcg(
    s: Subtopics,
    *,
    k: FiniteCutoff = 20,
    alpha: Alpha = 0.5,
    rel: Rel,
    norm: Norm = "cover",
) -> pl.Expr:
    """DCG that rewards novelty: each repetition of a subtopic gains less.

    ``sum over subtopics, over its relevant ranks i <= k, of
    (1 - alpha)^(j - 1) / log2(i + 1)``, where i is the rank of its j-th relevant
    document. ``norm="cover"`` divides by the value of a list in which every document
    covers every subtopic; ``"none"`` does not divide; ``"ndeval"`` is ``"cover"``,
    except for k = 1, where that tool does not divide.

    Source: Clarke et al., SIGIR 2008, eq. 5 to 7 (there ``norm="none"``).
    Equal to: ndeval ``alpha-DCG@k`` (k up to 20; @1 with ``norm="ndeval"``),
    ir_measures ``alpha_DCG@k``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: alpha_dcg(norm=none)@2 =
    1 + 1.5 / log2(3).
    """
    gain = novelty(s.each, alpha, rel, inverse("log2"), k)
    if norm == "none" or (norm == "ndeval" and k == 1):
        return s.sum(gain)
    return s.mean(gain, rel) / cover(alpha, inverse("log2"), k)


@metric(
    depends_on="relevant",
    aliases={"alpha_nDCG": {}, "alpha-nDCG": {}},
)
def alpha_ndcg(
    s: Subtopics, *, k: FiniteCutoff = 20, alpha: Alpha = 0.5, rel: Rel
) -> pl.Expr:
    """Alpha-DCG divided by that of the greedy ideal order of the judged documents.

    ``alpha_dcg / alpha_dcg of the greedy order``, without ``norm``. At each rank the
    greedy order takes the document that adds most; of equal ones, the one with the
    largest id. A better order can exist (it is NP-hard to find), so values above 1 are
    possible. Equal sums of gains are equal here for any alpha. In ndeval they can
    differ in the last bit where powers of 1 - alpha are not exact (0.3); it then takes
    another of the equal documents.

    Source: Clarke et al., SIGIR 2008, section 4.
    Equal to: ndeval ``alpha-nDCG@k`` (k up to 20), ir_measures ``alpha_nDCG@k``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: alpha_ndcg@2 =
    (1 + 1.5 / log2(3)) / (2 + 0.5 / log2(3)).
    """
    return _share_of_greedy(s, inverse("log2"), k, alpha, rel)


@metric(
    depends_on="relevant",
    aliases={"ERR_IA": {}, "ERR-IA": {}},
)
def err_ia(
    s: Subtopics,
    *,
    k: FiniteCutoff = 20,
    alpha: Alpha = 0.5,
    rel: Rel,
    norm: Norm = "cover",
) -> pl.Expr:
    """Intent-aware ERR: mean over subtopics of the ERR that rewards novelty.

    ``mean over subtopics of the sum over its relevant ranks i <= k of
    (1 - alpha)^(j - 1) / i``, where i is the rank of its j-th relevant document.
    ``norm="cover"`` divides by the value of a list in which every document covers every
    subtopic; ``"none"`` does not divide; ``"ndeval"`` is ``"cover"``, except for k = 1,
    where that tool gives the sum instead of the mean. If alpha is the probability that
    a relevant document satisfies the user, alpha times the undivided value is an
    expected reciprocal rank.

    Source: Chapelle et al., CIKM 2009, section 7; Clarke et al., WSDM 2011, table 1.
    Equal to: ndeval ``ERR-IA@k`` (k up to 20; @1 with ``norm="ndeval"``), ir_measures
    ``ERR_IA@k``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: err_ia(norm=none)@2 =
    (1.25 + 0.5) / 2, err_ia@2 = (1.25 + 0.5) / 2 / 1.25.
    """
    gain = novelty(s.each, alpha, rel, reciprocal, k)
    if norm == "ndeval" and k == 1:
        return s.sum(gain)
    most = 1.0 if norm == "none" else cover(alpha, reciprocal, k)
    return s.mean(gain, rel) / most


@metric(
    depends_on="relevant",
    aliases={"nERR_IA": {}, "nERR-IA": {}},
)
def nerr_ia(
    s: Subtopics, *, k: FiniteCutoff = 20, alpha: Alpha = 0.5, rel: Rel
) -> pl.Expr:
    """ERR-IA divided by that of the greedy ideal order of the judged documents.

    ``err_ia / err_ia of the greedy order`` (see ``alpha_ndcg``).

    Source: Clarke et al., WSDM 2011, section 3.
    Equal to: ndeval ``nERR-IA@k`` (k up to 20), ir_measures ``nERR_IA@k``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: nerr_ia@2 =
    (1.25 + 0.5) / (2 + 0.25).
    """
    return _share_of_greedy(s, reciprocal, k, alpha, rel)


@metric(depends_on="relevant", aliases={"NRBP": {}})
def nrbp(s: Subtopics, *, alpha: Alpha = 0.5, beta: Beta = 0.5, rel: Rel) -> pl.Expr:
    """Novelty- and rank-biased precision: RBP that rewards novelty.

    ``(1 - (1 - alpha) beta) times the mean over subtopics of the sum over its relevant
    ranks i of (1 - alpha)^(j - 1) beta^(i - 1)``, where i is the rank of its j-th
    relevant document. Because of the factor, an endless list in which every document
    covers every subtopic has the value 1.

    Source: Clarke, Kolla and Vechtomova, ICTIR 2009, eq. 11.
    Equal to: ndeval ``NRBP``, ir_measures ``NRBP``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: nrbp =
    0.75 * (1.25 + 0.5) / 2.
    """
    gain = novelty(s.each, alpha, rel, _patient(beta))
    return (1.0 - (1.0 - alpha) * beta) * s.mean(gain, rel)


@metric(depends_on="relevant", aliases={"nNRBP": {}})
def nnrbp(s: Subtopics, *, alpha: Alpha = 0.5, beta: Beta = 0.5, rel: Rel) -> pl.Expr:
    """NRBP divided by that of the greedy ideal order of the judged documents.

    ``nrbp / nrbp of the greedy order`` (see ``alpha_ndcg``), which goes down to
    the last rank whose weight matters in Float64.

    Source: Clarke et al., WSDM 2011, section 3.
    Equal to: ndeval ``nNRBP``, ir_measures ``nNRBP``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: nnrbp =
    (1.25 + 0.5) / (2 + 0.25).
    """
    depth = math.ceil(math.log(1e-17 * (1.0 - beta)) / math.log(beta))
    best = novelty(s.greedy(alpha, rel, depth), alpha, rel, _patient(beta))
    return ratio(s.sum(novelty(s.each, alpha, rel, _patient(beta))), s.sum(best))


@metric(
    depends_on="relevant",
    aliases={"P_IA": {}, "P-IA": {}, "P_avgjg": {"empty": "zero"}},
)
def p_ia(
    s: Subtopics, *, k: Cutoff = None, rel: Rel, empty: EmptySubtopics = "skip"
) -> pl.Expr:
    """Intent-aware precision: mean over subtopics of precision@k.

    The mean is over the subtopics with something relevant or, with ``empty="zero"``
    (for assessors instead of subtopics), over all that were judged.

    Source: Agrawal, Gollapudi, Halverson and Ieong, WSDM 2009, section 4.
    Equal to: ndeval ``P-IA@k``, ir_measures ``P_IA@k``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: p_ia@2 = (1 + 1/2) / 2.
    """
    return s.mean(precision(s.each, k=k, rel=rel, divisor="k"), rel, empty)


@metric(
    depends_on="relevant",
    aliases={"AP_IA": {}, "MAP-IA": {}, "map-ia": {}, "map_avgjg": {"empty": "zero"}},
)
def ap_ia(
    s: Subtopics, *, k: Cutoff = None, rel: Rel, empty: EmptySubtopics = "skip"
) -> pl.Expr:
    """Intent-aware average precision: mean over subtopics of average precision.

    The mean is over the subtopics with something relevant or, with ``empty="zero"``
    (for assessors instead of subtopics), over all that were judged.

    Source: Agrawal, Gollapudi, Halverson and Ieong, WSDM 2009, section 4.
    Equal to: ndeval ``MAP-IA``, ir_measures ``AP_IA``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: ap_ia = (1 + 1/2) / 2.
    """
    return s.mean(ap(s.each, k=k, rel=rel, divisor="R"), rel, empty)


@metric(
    depends_on="relevant",
    aliases={"StRecall": {}, "strec": {}},
)
def st_recall(s: Subtopics, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Subtopic recall: share of the subtopics that the first k documents cover.

    ``subtopics with a relevant document in the first k / subtopics with one at all``.

    Source: Zhai, Cohen and Lafferty, SIGIR 2003, section 3.1.
    Equal to: ndeval ``strec@k``, ir_measures ``StRecall@k``.
    Example: subtopics A: 1, 1 and B: 0, 1 in rank order: st_recall@1 = 1/2.
    """
    return s.mean(accuracy(s.each, k=k, rel=rel), rel)


def _share_of_greedy(
    s: Subtopics, weight: Weight, k: int, alpha: float, rel: float
) -> pl.Expr:
    best = novelty(s.greedy(alpha, rel, k), alpha, rel, weight, k)
    return ratio(s.sum(novelty(s.each, alpha, rel, weight, k)), s.sum(best))


def _patient(beta: float) -> Weight:
    """Weight ``beta^(rank - 1)``: the user goes on with probability beta."""
    return lambda rank: pl.lit(beta).pow(rank - 1.0)
