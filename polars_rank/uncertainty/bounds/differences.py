"""Bounds of the difference of two systems whose documents share their labels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.core.registry import closest
from polars_rank.uncertainty.bounds.gain_levels import has_levels, parts_of
from polars_rank.uncertainty.bounds.labelings import Documents, is_additive
from polars_rank.uncertainty.bounds.limits import (
    Asked,
    Table,
    labels_move,
    places,
    ratio_limits,
    settled,
    values_under,
)


def differences(
    documents: Documents,
    held: pl.DataFrame,
    values: Table,
    own: Table,
    asked: Sequence[Asked],
    grades: Sequence[int],
    convention: Convention,
    ways: Sequence[str],
    keys: Sequence[str],
    system: str,
    baseline: str,
) -> tuple[Table, Table]:
    """Return differences to a system, and their lowest and highest values."""
    systems = held[system].unique(maintain_order=True).to_list()
    if baseline not in systems:
        near = closest(str(baseline), [str(s) for s in systems])
        msg = f"there is no system {baseline!r}{near}"
        raise ValueError(msg)
    shared = [k for k in keys if k != system]
    other = pl.col(system) != baseline
    # The base: both sides of a pair next to each other.
    base = documents.frame.filter(~other).select(
        *shared, "doc",
        base_place=pl.when(pl.col("score").is_not_null()).then("place"),
    )  # fmt: skip
    pairs = documents.frame.filter(other).join(
        base, on=[*shared, "doc"], how="left", maintain_order="left"
    )
    found = []
    loose = []
    fixed = "ties" not in ways and not labels_move(documents, held, convention)
    for a in asked:
        kind = _shared_kind(a) if fixed else None
        if kind is None:
            loose.append(a.name)
            continue
        table = (
            _ndcg_difference(documents, held, a, grades, shared, system, baseline)
            if kind == "ndcg"
            else _by_rank(documents, pairs, a, kind, grades, convention, shared, system,
                          baseline)
        )  # fmt: skip
        found.append(settled(table))
    if loose:
        chosen = own.filter(pl.col("measure").is_in(loose))
        left = chosen.filter(other)
        right = chosen.filter(~other).drop(system)
        apart = left.join(right, on=[*shared, "measure"], suffix="_base")
        found.append(
            apart.select(
                *keys,
                "measure",
                lower=pl.col("lower") - pl.col("upper_base"),
                upper=pl.col("upper") - pl.col("lower_base"),
                exact=pl.lit(False),
            )
        )
    columns = [*keys, "measure", "lower", "upper", "exact"]
    limits = pl.concat([table.select(columns) for table in found])
    names = [a.name for a in asked]
    rest = values.filter(other).join(
        values.filter(~other).drop(system), on=shared, suffix="\0base"
    )
    now = rest.select(
        *keys, *(pl.col(n) - pl.col(f"{n}\0base") for n in names)
    )  # fmt: skip
    return now, limits


def _shared_kind(asked: Asked) -> str | None:
    """Tell how labels move the difference of two systems; None if nobody knows."""
    name, arguments = asked.measure.metric, asked.arguments
    if name == "ndcg" and has_levels(arguments, asked.policy):
        return "ndcg"
    if name == "recall" and arguments["divisor"] == "R" and asked.policy == "zero":
        return "recall"
    if is_additive(name, arguments) and asked.policy == "zero":
        return "linear"
    return None


def _by_rank(
    documents: Documents,
    pairs: Table,
    asked: Asked,
    kind: str,
    grades: Sequence[int],
    convention: Convention,
    shared: Sequence[str],
    system: str,
    baseline: str,
) -> Table:
    """Label the documents that one system ranks above the other.

    That is exact for sums of gains; recall also divides by what is labeled, so there
    the first m are tried for every m.
    """
    far = pl.lit(float("inf"))
    mine = pl.when(pl.col("score").is_not_null()).then("place").otherwise(far)
    theirs = pl.col("base_place").cast(pl.Float64).fill_null(far)
    if kind == "recall":
        k = asked.arguments["k"]
        depth = float("inf") if k is None else float(k)
        # Not retrieved is below every depth.
        inside = [(p <= depth) & (p < far) for p in (mine, theirs)]
        ahead = inside[0].cast(pl.Int64) - inside[1].cast(pl.Int64)
    else:
        ahead = (theirs > mine).cast(pl.Int64) - (theirs < mine).cast(pl.Int64)
    pair = [system, *shared]
    tops = pl.concat(
        [
            pairs.with_columns(
                ahead=pl.when(pl.col("label").is_null()).then(sign * ahead),
                turned=pl.lit(sign < 0),
            )
            for sign in (1, -1)
        ]
    ).sort("ahead", descending=True, nulls_last=True, maintain_order=True)
    keyed = [*pair, "turned"]
    number = pl.int_range(1, pl.len() + 1).over(keyed)
    positive = (pl.col("ahead") > 0).fill_null(value=False).sum().over(keyed)
    counts = (
        pl.int_ranges(0, pl.col("u") + 1)
        if kind == "recall"
        else pl.concat_list(positive.cast(pl.Int64))
    )
    labels = (
        tops.with_columns(number=number, m=counts)
        .explode("m")
        .select(
            *keyed,
            "m",
            "doc",
            label=pl.coalesce(
                pl.col("label").cast(pl.Float64),
                pl.when(pl.col("number") <= pl.col("m"))
                .then(float(grades[-1]))
                .otherwise(0.0),
            ),
        )
        .rename({system: "other"})
    )
    variants = labels.select("other", *shared, "turned", "m").unique(
        maintain_order=True
    )
    retrieved = documents.frame.filter(pl.col("score").is_not_null())
    sides = []
    for whose in ("base", "other"):
        name = pl.lit(baseline) if whose == "base" else pl.col("other")
        rows = variants.with_columns(name.alias(system))
        sides.append(rows.with_columns(side=pl.lit(whose)))
    asked_of = pl.concat(sides)
    run = asked_of.join(retrieved, on=pair, maintain_order="left_right")
    ids = ["side", "other", *shared, "turned", "m"]
    qrels = asked_of.join(labels, on=["other", *shared, "turned", "m"])
    values = values_under(
        run.select(*ids, "doc", "score"),
        qrels.select(*ids, "doc", "label"),
        [asked],
        ids,
        convention,
        check="off",
    )
    on = ids[1:]
    value = pl.col(asked.name)
    both = values.filter(side="other").join(
        values.filter(side="base"), on=on, suffix="\0base"
    )
    difference = value - pl.col(f"{asked.name}\0base")
    return (
        both.group_by("other", *shared)
        .agg(lower=difference.min(), upper=difference.max())
        .rename({"other": system})
        .with_columns(measure=pl.lit(asked.name), exact=pl.lit(True))
    )


def _ndcg_difference(
    documents: Documents,
    held: pl.DataFrame,
    asked: Asked,
    grades: Sequence[int],
    shared: Sequence[str],
    system: str,
    baseline: str,
) -> Table:
    parts, gains = parts_of(documents, asked.arguments, grades)
    other = pl.col(system) != baseline
    base = parts.filter(~other).select(*shared, "doc", base="weight")
    weights = parts.filter(other).join(
        base, on=[*shared, "doc"], how="left", maintain_order="left"
    )
    weights = weights.with_columns(weight=pl.col("weight") - pl.col("base"))
    keys = [system, *shared]
    limits = ratio_limits(weights, keys, gains, asked, places(held, keys))
    return limits.with_columns(measure=pl.lit(asked.name), exact=pl.lit(True))
