"""Count broken rules by aggregations of a query's rows, in the same pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.schema import BoundSchema
from polars_rank.core.rules import (
    DUPLICATE_DOC,
    DUPLICATE_RANK,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NULL_DOC,
    NULL_SCORE,
    VARYING_SEGMENT,
    Rule,
    Violation,
)


class Counted(NamedTuple):
    """Scalars of a query, by name, and the rules that some of them count."""

    scalars: dict[str, pl.Expr]
    violations: list[Violation]


def run_checks(run: BoundSchema, carry: Sequence[str], check: Check) -> Counted:
    """Return the carried columns of the log or run, and the rules for its rows."""
    scalars = {name: pl.col(name).first() for name in carry}
    if check == "off":
        return Counted(scalars, [])
    counts: list[tuple[Rule, pl.Expr]] = []
    dtypes = run.by_role
    if "label" in dtypes:
        scalars["judged"] = pl.col("label").count()
    score_dtype, label_dtype = dtypes.get("score"), dtypes.get("label")
    if "rank" in dtypes:
        rank = pl.col("rank")
        copies = rank.count() - rank.drop_nulls().n_unique()
        counts += [(INVALID_RANK, _number_of(rank < 1)), (DUPLICATE_RANK, copies)]
    if score_dtype is not None:
        counts.append((NULL_SCORE, pl.col("score").null_count()))
        if score_dtype.is_float():
            counts.append((NAN_SCORE, _number_of(pl.col("score").is_nan())))
    if label_dtype is not None and label_dtype.is_float():
        counts.append((INFINITE_GRADE, _number_of(~pl.col("label").is_finite())))
    if "doc" in dtypes:
        doc = pl.col("doc")
        counts.append((NULL_DOC, doc.null_count()))
        # Unjudged ones, too: each takes the place of another document.
        counts.append((DUPLICATE_DOC, doc.len() - doc.n_unique()))
    counts += [
        (VARYING_SEGMENT._replace(column=name), pl.col(name).n_unique() - 1)
        for name in carry
    ]
    side = "run" if label_dtype is None else ""
    return _counted("run", scalars, counts, side)


def qrels_checks(qrels: BoundSchema, check: Check) -> Counted:
    """Return the number of judgments, and the rules for their rows."""
    label, doc = pl.col("label"), pl.col("doc")
    scalars = {"judged": label.count()}
    if check == "off":
        return Counted(scalars, [])
    copies = doc.count() + doc.null_count().clip(0, 1) - doc.n_unique()
    counts = [(NULL_DOC, doc.null_count()), (DUPLICATE_DOC, copies)]
    label_dtype = qrels.by_role.get("label")
    if label_dtype is not None and label_dtype.is_float():
        counts.append((INFINITE_GRADE, _number_of(~label.is_finite())))
    return _counted("qrels", scalars, counts, "judgments")


def _number_of(broken: pl.Expr) -> pl.Expr:
    """Count the rows where it is true, in a third of the time of ``broken.sum()``."""
    return pl.when(broken).then(None).otherwise(pl.lit(value=True)).null_count()


def _counted(
    prefix: str,
    scalars: dict[str, pl.Expr],
    counts: list[tuple[Rule, pl.Expr]],
    side: str,
) -> Counted:
    """Give each count a name: the plan computes it once, with the scalars."""
    named = {f"{prefix}{i}": count for i, (_, count) in enumerate(counts)}
    rules = [rule._replace(side=side) for rule, _ in counts]
    violations = [
        Violation(rule, pl.col(name)) for rule, name in zip(rules, named, strict=True)
    ]
    return Counted(scalars | named, violations)
