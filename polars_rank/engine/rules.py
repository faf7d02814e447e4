"""The rules that data must keep, as counts that ride in the same pass."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank.engine.bind import Kind
from polars_rank.engine.check import Check
from polars_rank.engine.shared import Needs
from polars_rank.ranking import (
    BELOW_ONE,
    INFINITE_GRADE,
    NAN_SCORE,
    NULL_SCORE,
    SAME_RANK,
    Fault,
)

__all__ = ["data_faults", "raw_faults"]


def raw_faults(
    log: Kind, carry: Sequence[str], check: Check
) -> tuple[dict[str, pl.Expr], list[Fault]]:
    """Aggregations of each query's raw rows, and what they mean if not 0."""
    scalars = {name: pl.col(name).first() for name in carry}
    if check == "off":
        return scalars, []
    counts: list[tuple[pl.Expr, str]] = []
    if log.ranked:
        rank = pl.col("rank")
        twice = rank.count() - rank.drop_nulls().n_unique()
        counts += [((rank < 1).sum(), BELOW_ONE), (twice, SAME_RANK)]
    else:
        score = pl.col("score")
        counts.append((score.null_count(), NULL_SCORE))
        if log.score_type is not None and log.score_type.is_float():
            counts.append((score.is_nan().sum(), NAN_SCORE))
    if log.label_type is not None and log.label_type.is_float():
        counts.append(((~pl.col("label").is_finite()).sum(), INFINITE_GRADE))
    if log.has_doc:
        counts.append((pl.col("doc").null_count(), NO_DOC))
        if check == "full":
            counts.append((pl.col("doc").len() - pl.col("doc").n_unique(), DUPLICATE))
        elif log.label_type is not None:
            judged = pl.col("doc").filter(pl.col("label").is_not_null())
            counts.append((judged.len() - judged.n_unique(), DUPLICATE))
    for name in carry:
        varies = pl.col(name).n_unique() - 1
        counts.append((varies, VARIES))
    faults = []
    for i, (count, message) in enumerate(counts):
        scalars[f"raw{i}"] = count
        faults.append(Fault(pl.col(f"raw{i}"), message))
    return scalars, faults


def data_faults(needs: Needs, *, joined: bool, check: Check) -> list[Fault]:
    """Rules on the rows that matter: judged documents and each query's first."""
    if check == "off":
        return []
    faults: list[Fault] = []
    if joined:
        # A query's head has neither document nor label.
        copies = pl.col("doc").count() - pl.col("doc").drop_nulls().n_unique()
        faults.append(Fault(pl.col(needs.aggregates.add(copies)), DUPLICATE))
        nameless = (pl.col("doc").is_null() & pl.col("label").is_not_null()).sum()
        faults.append(Fault(pl.col(needs.aggregates.add(nameless)), NO_DOC))
    if joined and not needs.whole_grades:
        infinite = (~pl.col("label").is_finite()).sum()
        faults.append(Fault(pl.col(needs.aggregates.add(infinite)), INFINITE_GRADE))
    return faults


NO_DOC = "document ids are null; drop these rows or name their documents"
DUPLICATE = (
    "a document stands twice in one query; drop the copies, or keep the best of each "
    'with on_duplicate="best"'
)
VARIES = (
    "a by= or weight= column varies within a query; make it constant, give one row a "
    "query in queries=, or make it a part of query="
)
