"""Bounds of the difference of two systems whose documents share their labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from polars_rank.core.metric.registry import closest
from polars_rank.uncertainty.bounds.gain_levels import parts_of
from polars_rank.uncertainty.bounds.labelings import Documents, is_additive
from polars_rank.uncertainty.bounds.limits import (
    ENDS,
    Asked,
    Question,
    Table,
    knows_levels,
    labels_move,
    ratio_limits,
    settled,
)

FAR = float("inf")  # the place of what was not retrieved


@dataclass(frozen=True)
class Sides:
    """The systems, and the baseline that each of them is compared with."""

    question: Question
    documents: Documents
    system: str
    baseline: str

    @property
    def shared(self) -> list[str]:
        """Return the columns that name a query, whatever the system."""
        return [k for k in self.question.keys if k != self.system]

    @property
    def keys(self) -> list[str]:
        """Return the columns that name a query of a system."""
        return [self.system, *self.shared]

    def of(self, rows: Table) -> tuple[Table, Table]:
        """Split rows of systems into those of the others and of the baseline."""
        other = pl.col(self.system) != self.baseline
        return rows.filter(other), rows.filter(~other)


def differences(
    question: Question,
    documents: Documents,
    values: Table,
    own: Callable[[Question, Documents], Table],
    system: str,
    baseline: str,
) -> tuple[Table, Table]:
    """Return differences to a system, and their lowest and highest values.

    ``values`` are those of the systems by themselves. Their limits, which ``own``
    finds, are asked for where nobody knows those of the difference.
    """
    systems = documents.held[system].unique(maintain_order=True).to_list()
    if baseline not in systems:
        near = closest(str(baseline), [str(s) for s in systems])
        msg = f"there is no system {baseline!r}{near}"
        raise ValueError(msg)
    sides = Sides(question, documents, system, baseline)
    fixed = "ties" not in question.ways and not labels_move(question, documents)
    found, loose = [], []
    for a in question.asked:
        kind = _shared_kind(a) if fixed else None
        if kind is None:
            loose.append(a)
            continue
        made = _ndcg(sides, a) if kind == "ndcg" else _by_rank(sides, a, kind)
        found.append(settled(made))
    if loose:
        left, right = sides.of(own(replace(question, asked=loose), documents))
        on = [*sides.shared, "measure"]
        found.append(
            left.join(right.drop(system), on=on, suffix="_base").with_columns(
                lower=pl.col("lower") - pl.col("upper_base"),
                upper=pl.col("upper") - pl.col("lower_base"),
                exact=pl.lit(False),
            )
        )
    columns = [*question.keys, "measure", *ENDS]
    limits = pl.concat([table.select(columns) for table in found])
    left, right = sides.of(values)
    now = left.join(right.drop(system), on=sides.shared, suffix="\0base").select(
        *question.keys,
        *(pl.col(a.name) - pl.col(f"{a.name}\0base") for a in question.asked),
    )
    return now, limits


def _shared_kind(asked: Asked) -> str | None:
    """Tell how labels move the difference of two systems; None if nobody knows."""
    name, arguments = asked.measure.metric, asked.arguments
    if knows_levels(asked):
        return "ndcg"
    if name == "recall" and arguments["divisor"] == "R" and asked.policy == "zero":
        return "recall"
    if is_additive(name, arguments) and asked.policy == "zero":
        return "linear"
    return None


def _by_rank(sides: Sides, asked: Asked, kind: str) -> Table:
    """Label the documents that one system ranks above the other.

    That is exact for sums of gains; recall also divides by what is labeled, so there
    the first m are tried for every m.
    """
    shared, system, grades = sides.shared, sides.system, sides.documents.grades
    # The base: both sides of a pair next to each other.
    others, base = sides.of(sides.documents.frame)
    place = pl.when(pl.col("score").is_not_null()).then("place")
    pairs = others.join(
        base.select(*shared, "doc", base_place=place),
        on=[*shared, "doc"], how="left", maintain_order="left",
    )  # fmt: skip
    mine = place.otherwise(pl.lit(FAR))
    theirs = pl.col("base_place").cast(pl.Float64).fill_null(pl.lit(FAR))
    above, below = theirs > mine, theirs < mine
    counts = pl.concat_list(
        (pl.col("ahead") > 0)
        .fill_null(value=False)
        .sum()
        .over([*sides.keys, "turned"])
        .cast(pl.Int64)
    )
    if kind == "recall":
        k = asked.arguments["k"]
        depth = FAR if k is None else float(k)
        # Not retrieved is below every depth.
        above, below = ((p <= depth) & (p < FAR) for p in (mine, theirs))
        counts = pl.int_ranges(0, pl.col("u") + 1)
    ahead = above.cast(pl.Int64) - below.cast(pl.Int64)
    tops = pl.concat(
        [
            pairs.with_columns(
                ahead=pl.when(pl.col("label").is_null()).then(sign * ahead),
                turned=pl.lit(sign < 0),
            )
            for sign in (1, -1)
        ]
    ).sort("ahead", descending=True, nulls_last=True, maintain_order=True)
    number = pl.int_range(1, pl.len() + 1).over([*sides.keys, "turned"])
    first = pl.when(pl.col("number") <= pl.col("m")).then(float(grades[-1]))
    label = pl.coalesce(pl.col("label").cast(pl.Float64), first.otherwise(0.0))
    on = ["other", *shared, "turned", "m"]
    labels = (
        tops.with_columns(number=number, m=counts)
        .explode("m")
        .rename({system: "other"})
        .select(*on, "doc", label=label)
    )
    variants = labels.select(on).unique(maintain_order=True)
    both_sides = pl.concat(
        variants.with_columns(name.alias(system), side=pl.lit(side))
        for side, name in (("base", pl.lit(sides.baseline)), ("other", pl.col("other")))
    )
    retrieved = sides.documents.frame.filter(pl.col("score").is_not_null())
    run = both_sides.join(retrieved, on=sides.keys, maintain_order="left_right")
    under = sides.question.labeled(
        run.select("side", *on, "doc", "score"),
        both_sides.join(labels, on=on).select("side", *on, "doc", "label"),
        ["side", *on],
    )
    values = replace(under, asked=[asked]).values()
    both = values.filter(side="other").join(
        values.filter(side="base"), on=on, suffix="\0base"
    )
    difference = pl.col(asked.name) - pl.col(f"{asked.name}\0base")
    return (
        both.group_by("other", *shared)
        .agg(lower=difference.min(), upper=difference.max())
        .rename({"other": system})
        .with_columns(measure=pl.lit(asked.name), exact=pl.lit(True))
    )


def _ndcg(sides: Sides, asked: Asked) -> Table:
    parts, gains = parts_of(sides.documents, asked.arguments)
    others, base = sides.of(parts)
    weights = others.join(
        base.select(*sides.shared, "doc", base="weight"),
        on=[*sides.shared, "doc"], how="left", maintain_order="left",
    ).with_columns(weight=pl.col("weight") - pl.col("base"))  # fmt: skip
    return ratio_limits(weights, gains, asked, sides.keys, sides.documents)
