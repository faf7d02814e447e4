"""Queries with weights before and after, and the mix of their segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from polars_rank.analysis.averages import averages
from polars_rank.core.expr import ratio
from polars_rank.exceptions import DataError, counted


def weighted_queries(
    queries: pl.DataFrame,
    weight: str | None,
    weight_before: str | None,
    parts: Iterable[str],
) -> tuple[pl.DataFrame, bool]:
    """Add the parts of the difference, and tell whether the two runs are paired.

    Paired runs have the same queries with the same weights. A part is scaled, so that
    its plain mean over all queries is that of the weights; "raw" parts are not.
    """
    before = weight_before or weight
    old, new = (
        pl.lit(1.0) if name is None else pl.col(name).cast(pl.Float64)
        for name in (before, weight)
    )
    for name, value, side in ((before, old, "v00"), (weight, new, "v11")):
        if name is not None:  # of 16,384 rows, Polars 2.1 cannot filter by a constant
            require_weights(queries.filter(pl.col(side).is_not_null()), name, value)
    has_old, has_new = (pl.col(side).is_not_null() for side in ("v00", "v11"))
    found = queries.with_columns(
        w00=pl.when(has_old).then(old).otherwise(0.0),
        w11=pl.when(has_new).then(new).otherwise(0.0),
        one_sided=has_old != has_new,
    )
    for run, name in (("before", "w00"), ("after", "w11")):
        if not found[name].sum():
            msg = (
                f"{run}: no query with a value has a weight above 0, so there is no "
                "mean; give queries a weight, or leave out the weights"
            )
            raise DataError(msg, rule="invalid_weight")
    paired = bool(found.select((pl.col("w00") == pl.col("w11")).all()).item())
    paired &= not found["one_sided"].any()
    w = {side: pl.col(f"w{side}") for side in ("00", "11")}
    found = found.with_columns(
        (pl.len() * ratio(w[side], w[side].sum())).fill_null(0.0).alias(f"scale{side}")
        for side in w
    )
    return found.with_columns(**_parts(found, parts)), paired


def require_weights(queries: pl.DataFrame, name: str, value: pl.Expr) -> None:
    """Refuse weights that are missing, negative or infinite; a row is a query."""
    right = ((value >= 0) & value.is_finite()).fill_null(value=False)
    if count := len(queries.filter(~right)):
        msg = (
            f"weights must be 0 or more: {name!r} is not in {counted(count, 'query')}, "
            "or missing; drop these queries, or give them a weight"
        )
        raise DataError(msg, rule="invalid_weight", count=count)


def effects(
    values: Mapping[str, pl.Expr], scale: pl.Expr, one_sided: pl.Expr
) -> dict[str, pl.Expr]:
    """Return the effects of ranks and labels: means over both orders of the changes.

    A value is named after its run and its judgments, 0 before and 1 after.
    """
    v = values
    rank = (v["10"] - v["00"]) + (v["11"] - v["01"])
    label = (v["01"] - v["00"]) + (v["11"] - v["10"])
    known = scale * pl.when(one_sided).then(0.0).otherwise(0.5)
    return {"rank_effect": known * rank, "label_effect": known * label}


def _parts(queries: pl.DataFrame, parts: Iterable[str]) -> dict[str, pl.Expr]:
    """Return values, their difference and its parts, as they are and scaled."""
    old, new = pl.col("scale00"), pl.col("scale11")
    one_sided = pl.col("one_sided")
    v00, v11 = (pl.col(side).fill_null(0.0) for side in ("v00", "v11"))
    contribution = new * v11 - old * v00
    found: dict[str, pl.Expr] = {
        "baseline_value": pl.col("v00"),
        "value": pl.col("v11"),
        "difference": pl.col("v11") - pl.col("v00"),
        "contribution": contribution,
        "raw contribution": pl.col("v11") - pl.col("v00"),
    }
    by_ranks = (old + new) / 2.0 * pl.when(one_sided).then(0.0).otherwise(v11 - v00)
    if "v01" in queries.columns:
        sides = ("00", "01", "10", "11")
        v = {side: pl.col(f"v{side}").fill_null(0.0) for side in sides}
        found |= effects(v, (old + new) / 2.0, one_sided)
        raw = effects(v, pl.lit(1.0), one_sided)
    else:
        found["rank_effect"] = by_ranks
        raw = {"rank_effect": pl.col("v11") - pl.col("v00")}
    found |= {f"raw {name}": value for name, value in raw.items()}
    found["mix_effect"] = contribution - by_ranks
    for part in parts:
        one, two = pl.col(f"{part} 00"), pl.col(f"{part} 11")
        found[part] = pl.when(~one_sided).then(new * two - old * one).otherwise(0.0)
        found[f"raw {part}"] = two - one
    whole = pl.when(one_sided).then(contribution).otherwise(0.0)
    return found | {"kind query": whole, "label query": whole}


def _counted(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the queries that count: those of weight 0 are no observations."""
    return queries.filter(pl.col("w11") > 0)


def segments_of(
    queries: pl.DataFrame, paired: bool, roles: Mapping[str, Any]
) -> pl.DataFrame:
    """Return what moved within each segment, and by the mix of segments."""
    by = roles["by"]
    sums = {}
    for side in ("00", "11"):
        w, v = pl.col(f"w{side}"), pl.col(f"v{side}")
        sums[f"w{side}"] = w.sum()
        sums[f"m{side}"] = ratio((w * v).sum(), w.sum())
    found = queries.group_by(by).agg(queries=pl.len(), **sums).sort(by)
    old, new = pl.col("m00"), pl.col("m11")
    # A segment that is there once has no difference within: its mean is that of both.
    m, n = pl.coalesce(old, new), pl.coalesce(new, old)
    w, v = (pl.col(f"w{side}") / pl.col(f"w{side}").sum() for side in ("00", "11"))
    within = (w + v) / 2.0 * (n - m)
    # To have more queries adds what they have more than all do: shares sum to 1.
    every = ((w * m).sum() + (v * n).sum()) / 2.0
    mix = ((m + n) / 2.0 - every) * (v - w)
    found = found.select(
        *by,
        "queries",
        baseline_mean=old,
        mean=new,
        difference=new - old,
        baseline_share=w,
        share=v,
        within=within.fill_null(0.0),
        mix=mix.fill_null(0.0),
        contribution=(within + mix).fill_null(0.0),
    )
    names = ["se", "lower", "upper"]
    if not paired:
        empty = (pl.lit(None, dtype=pl.Float64).alias(name) for name in names)
        return found.with_columns(empty)
    _, ends = averages(_counted(queries), ["raw contribution"], **roles)
    return found.join(
        ends.select(*by, *names),
        on=by,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def summary_of(
    queries: pl.DataFrame,
    items: Mapping[str, tuple[str, str]],
    paired: bool,
    roles: Mapping[str, Any],
) -> pl.DataFrame:
    """Return the mean of each part, with its interval if the runs are paired."""
    total = queries["contribution"].mean()
    rows = pl.DataFrame(
        {
            "part": [part for part, _ in items.values()],
            "item": [item for _, item in items.values()],
            "difference": [queries[name].mean() for name in items],
        },
        schema={"part": pl.String, "item": pl.String, "difference": pl.Float64},
    )
    ends = ["se", "lower", "upper"]
    if paired:
        raw = [f"raw {name}" for name in items]
        found, _ = averages(_counted(queries), raw, **{**roles, "by": []})
        rows = rows.with_columns(found.select(ends))
    else:
        none = pl.lit(None, dtype=pl.Float64)
        rows = rows.with_columns(none.alias(name) for name in ends)
    nothing = (pl.col("item") == "other") & (pl.col("difference") == 0)
    return rows.filter(~nothing).select(
        "part", "item", "difference", _share(total), *ends
    )


def with_mixture(summary: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """Add what moved within segments, and by their mix."""
    rows = pl.DataFrame({"part": "segments", "item": ["within", "mix"]}).with_columns(
        difference=pl.Series([segments[item].sum() for item in ("within", "mix")])
    )
    share = _share(summary["difference"].item(0))
    return pl.concat([summary, rows.with_columns(share)], how="diagonal")


def _share(total: Any) -> pl.Expr:
    """Return the share of a part in the difference; null if that is 0."""
    none = pl.lit(None, dtype=pl.Float64)
    return (pl.col("difference") / total if total else none).alias("share")
