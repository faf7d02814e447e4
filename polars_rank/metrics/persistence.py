"""Rank-biased precision: the user goes on to the next document with probability p."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, OptionalRel, Persistence
from polars_rank.core.expr import ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.weights import Gain
from polars_rank.core.words.ranking import Ranking

__all__ = ["rbp", "rbp_residual"]

Scale: TypeAlias = Annotated[
    Annotated[float, Range(above=0)] | Literal["max"],
    Doc(
        "number that gains are divided by",
        {"max": "gains are divided by the largest gain of the query or mapping"},
    ),
]


def seen(p: float) -> Callable[[pl.Expr], pl.Expr]:
    """Weight ``(1 - p) p^(rank - 1)``."""
    return lambda rank: (1.0 - p) * pl.lit(p).pow(rank - 1.0)


@metric(
    depends_on="relevant",
    tie_mean=True,
    suffix=("p",),
    aliases={"RBP": {"p": 0.8, "gain": "binary"}},
    bounds=POSITIVE,
)
def rbp(
    r: Ranking,
    *,
    k: Cutoff = None,
    p: Persistence = 0.9,
    gain: Gain,
    rel: OptionalRel = None,
    scale: Scale = "max",
) -> pl.Expr:
    """Rank-biased precision: expected gain per document that the user looks at.

    ``(1 - p) sum over i <= k of p^(i - 1) gain_i / scale``; ``scale="max"`` is the
    largest gain of the query; if ``gain`` is a mapping, the largest of these, of the
    mapping's gains and of 1. With ``gain="binary"`` a document of grade ``rel`` or more
    gains 1.

    Source: Moffat and Zobel, TOIS 2008, eq. 3.
    Equal to: trec_eval 10 ``rbp``; ir_measures ``RBP(rel=1)``, p = 0.8, with
    ``gain="binary"``; ranx ``rbp.90`` with ``scale=1``.
    Example: grades 0, 2, 1 in rank order: rbp(p=0.5) = 1/2 (1/2 * 2/2 + 1/4 * 1/2).
    """
    gains = r.gain(gain, rel)
    best = pl.lit(scale) if scale != "max" else r.reduce(gains.max())
    if scale == "max" and isinstance(gain, Mapping):
        best = pl.max_horizontal(best, max(1.0, *gain.values()))
    return ratio(r.sum(gains * r.weight(seen(p), k)), best)


@metric(
    depends_on="judged",
    tie_mean=True,
    needs_relevant=False,
    suffix=("p",),
    aliases={"rbp_resid": {"all_judged": "zero"}},
)
def rbp_residual(
    r: Ranking,
    *,
    k: Cutoff = None,
    p: Persistence = 0.9,
    all_judged: Annotated[
        Literal["tail", "zero"],
        Doc(
            "value where every retrieved document is judged",
            {
                "tail": "where every retrieved document is judged: the tail below",
                "zero": "where every retrieved document is judged: 0",
            },
        ),
    ] = "tail",
) -> pl.Expr:
    """Residual of rank-biased precision: what unjudged documents could add at most.

    ``(1 - p) sum of p^(i - 1) over the unjudged i <= k, plus p^n for all ranks below``:
    the weight of everything that is not judged. ``all_judged="zero"``: 0, without
    the tail below, where every retrieved document is judged. A negative grade is
    unjudged.

    Undefined: never.
    Source: Moffat and Zobel, TOIS 2008, sect. 4.2.
    Equal to: trec_eval 10 ``rbp_resid`` with ``all_judged="zero"``.
    Example: grades 1, unjudged in rank order: rbp_residual(p=0.5) = 1 - 1/2.
    """
    judged = (r.label >= 0).fill_null(value=False)
    residual = 1.0 - r.sum(pl.when(judged).then(r.weight(seen(p), k)))
    if all_judged == "tail":
        return residual
    every = r.count(judged) == r.retrieved_count()
    return pl.when(every).then(0.0).otherwise(residual)
