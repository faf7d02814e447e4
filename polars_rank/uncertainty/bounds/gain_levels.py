"""Bounds of nDCG over labels, in closed form: levels of gain and Dinkelbach's steps.

The gain of a document is cut into the levels between two grades. At each level, DCG
grows by the weights of the places that are labeled, and the ideal DCG by those of the
first places. Of their ratio the largest value is where ``DCG - x * ideal`` is 0 at
best: found by at most a few steps of Newton's method (Dinkelbach, 1967), each with the
best number of labeled documents per level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from polars_rank.core.weights import DISCOUNTS, GAINS
from polars_rank.uncertainty.bounds.labelings import Documents

# A lazy plan has no loop that ends by itself, so the number of steps is fixed. They
# converge superlinearly: four at most were needed on 4,000 random lists.
STEPS = 8


def has_levels(arguments: Mapping[str, Any], no_relevant: str) -> bool:
    """Tell whether the closed form knows nDCG with these arguments."""
    return (
        isinstance(arguments["gain"], str)
        and arguments["ideal"] == "judged"
        and no_relevant == "zero"
    )


def _gain(label: pl.Expr, arguments: Mapping[str, Any]) -> pl.Expr:
    least = arguments["rel"]
    gains = pl.col("label").is_not_null() & (label > 0)
    if least is not None:
        gains &= label >= least
    return pl.when(gains).then(GAINS[arguments["gain"]](label)).otherwise(0.0)


def _weight(arguments: Mapping[str, Any]) -> pl.Expr:
    """Weigh the place: 0 below the cutoff, and where nothing was retrieved."""
    seen = pl.col("score").is_not_null()
    return pl.when(seen).then(_discounted(pl.col("place"), arguments)).otherwise(0.0)


def _discounted(place: pl.Expr, arguments: Mapping[str, Any]) -> pl.Expr:
    """Weigh any place: 0 below the cutoff."""
    discount, k = arguments["discount"], arguments["k"]
    f = DISCOUNTS[discount] if isinstance(discount, str) else discount
    weight: pl.Expr = 1.0 / f(place.cast(pl.Float64))
    return weight if k is None else pl.when(place <= k).then(weight).otherwise(0.0)


def parts_of(
    documents: Documents, arguments: Mapping[str, Any]
) -> tuple[pl.LazyFrame, list[float]]:
    """Return the parts that nDCG of a query is computed from.

    Returns
    -------
    One row per document with the keys, ``doc``, ``weight``, ``gain`` (null: unjudged)
    and ``u``; and the gains of the grades, rising from 0, each once.
    """
    label = pl.col("label").cast(pl.Float64)
    frame = documents.frame.select(
        *documents.keys,
        "doc",
        "u",
        weight=_weight(arguments),
        gain=pl.when(pl.col("label").is_not_null()).then(_gain(label, arguments)),
    )
    known = pl.DataFrame({"label": [0, *documents.grades]}).select(
        _gain(label, arguments)
    )
    gains = sorted({0.0, *known.to_series()})
    return frame, gains if len(gains) > 1 else [0.0, 0.0]


def highest_ratio(
    frame: pl.LazyFrame,
    keys: Sequence[str],
    gains: Sequence[float],
    arguments: Mapping[str, Any],
    places: int,
) -> pl.LazyFrame:
    """Find ``upper``: the largest sum of gain x weight as a share of the ideal DCG.

    ``weight`` can be a difference of two systems, or turned for the lowest value.
    ``places`` is how many documents one query has at most.
    """
    place = pl.int_range(1, 2 * places + 2, eager=True).alias("i").to_frame()
    ideal = place.select(w=_discounted(pl.col("i"), arguments))["w"]
    total = ideal.cum_sum()
    judged, own = pl.col("gain").is_not_null(), pl.col("weight")
    heights = [b - a for a, b in pairwise(gains)]
    # A gain g is the sum over levels a of clip(g - gains[a], 0, heights[a]); so is an
    # ideal order, level by level, since sorting by g sorts every level, too. Then m
    # documents that get the whole height of a level come first in it, and the judged
    # ones move down by m places.
    bands = {
        f"b{a}": (pl.col("gain").clip(low, high) - low)
        for a, (low, high) in enumerate(zip(gains, [*gains[1:], None], strict=True))
    }
    rows = (
        frame.group_by(keys, maintain_order=True)
        .agg(
            pl.col("u").first(),
            fixed=(pl.col("gain") * own).sum(),
            v=own.filter(~judged).sort(descending=True),
            **{
                name: band.filter(judged & (band > 0)).sort(descending=True)
                for name, band in bands.items()
            },
        )
        .with_columns(m=pl.int_ranges(0, pl.col("u") + 1))
        .explode("m")
    )
    m = pl.col("m")
    # Of all ways to label m documents at a level, the ideal is the same: the best takes
    # the m largest weights.
    taken = pl.col("v").list.head(m).list.sum()
    weights = pl.lit(ideal.implode(), dtype=pl.List(pl.Float64))
    sums = pl.lit(pl.concat([pl.Series([0.0]), total]).implode())

    def shifted(name: str, by: pl.Expr) -> pl.Expr:
        """Sum the gains of a band that is moved down to place ``by`` + 1."""
        band = pl.col(name)
        return (band * weights.list.slice(by, band.list.len())).list.sum()

    last = f"b{len(heights)}"
    rows = rows.select(
        *keys,
        m,
        "fixed",
        *(
            (h * taken).alias(f"n{a}") for a, h in enumerate(heights)
        ),
        *(
            (h * sums.list.get(m) + shifted(f"b{a}", m)).alias(f"d{a}")
            for a, h in enumerate(heights)
        ),
        above=shifted(last, pl.lit(0)),
    )  # fmt: skip
    start = pl.sum_horizontal(f"d{a}" for a in range(len(heights))).first()
    ideal_now = (start + pl.col("above").first()).over(keys)
    rows = rows.with_columns(
        x=pl.when(ideal_now > 0).then(pl.col("fixed") / ideal_now).otherwise(0.0)
    )
    # Let F(x) = max over labelings of N - x D, with N the DCG and D the ideal. F is
    # convex and falls, and max N / D is the x with F(x) = 0 (Dinkelbach, 1967). If the
    # maximum of F(x) is at (N, D), Newton's next x is x - F(x) / -D = N / D: it never
    # falls, since N - x D >= 0 at the labeling that x is the ratio of.
    for _ in range(STEPS):
        rows = _step(rows, keys, len(heights))
    return rows.group_by(keys, maintain_order=True).agg(upper=pl.col("x").last())


def _step(rows: pl.LazyFrame, keys: Sequence[str], levels: int) -> pl.LazyFrame:
    """Replace the ratio by that of the labeling that is best at it.

    A level is labeled no deeper than the one below: from the top, the best number of
    labels at a level is looked for among those up to the number below it.
    """
    # N - x D adds up over levels, which share only m[a + 1] <= m[a]. So with m in
    # ascending rows, best[a](m) = n[a](m) - x d[a](m) + max over m' <= m of
    # best[a + 1](m'), and that maximum is a running one; num and den go along with it.
    zero = pl.lit(0.0)
    rows = rows.with_columns(best=zero, num=zero, den=zero)
    for a in reversed(range(levels)):
        n, d = pl.col(f"n{a}"), pl.col(f"d{a}")
        rows = rows.with_columns(
            best=pl.col("best") + n - pl.col("x") * d,
            num=pl.col("num") + n,
            den=pl.col("den") + d,
        ).with_columns(most=pl.col("best").cum_max().over(keys))
        at = pl.col("best") == pl.col("most")
        rows = rows.with_columns(
            best=pl.col("most"),
            num=pl.when(at).then("num").forward_fill().over(keys),
            den=pl.when(at).then("den").forward_fill().over(keys),
        )
    num = (pl.col("fixed") + pl.col("num")).last().over(keys)
    den = (pl.col("above") + pl.col("den")).last().over(keys)
    better = pl.when(den > 0).then(num / den)
    return rows.with_columns(x=pl.max_horizontal("x", better))
