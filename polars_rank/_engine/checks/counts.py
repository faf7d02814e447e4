"""The rules that data must keep, as counts that ride in the same pass."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.recorder import Needs
from polars_rank._engine.schema import Kind
from polars_rank.core.rules import (
    BELOW_ONE,
    INFINITE_GRADE,
    NAN_SCORE,
    NULL_SCORE,
    SAME_RANK,
    Fault,
)

__all__ = ["judged_faults", "raw_faults"]


def raw_faults(
    log: Kind, carry: Sequence[str], check: Check, *, whole: bool
) -> tuple[dict[str, pl.Expr], list[Fault]]:
    """Aggregations of each query's raw rows, and what they mean if not 0.

    ``whole`` says whether documents count that nobody judged.
    """
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
        if check == "full" or (whole and log.label_type is None):
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


def judged_faults(
    qrels: Kind, needs: Needs, check: Check
) -> tuple[dict[str, pl.Expr], list[Fault]]:
    """Aggregations of each query's judgments, and what breaks a rule in them.

    ``judged`` counts them. A judgment that the join finds twice is of a document that
    stands twice in the run.
    """
    label, doc = pl.col("label"), pl.col("doc")
    scalars = {"judged": label.count()}
    if check == "off":
        return scalars, []
    scalars["matter"] = needs.matter.sum()
    found = pl.col(needs.aggregates.add(label.count()))
    faults = [Fault(found - pl.col("matter"), DUPLICATE)]
    copies = doc.count() + doc.null_count().clip(0, 1) - doc.n_unique()
    counts = [(doc.null_count(), NO_DOC), (copies, DUPLICATE)]
    if qrels.label_type is not None and qrels.label_type.is_float():
        counts.append(((~label.is_finite()).sum(), INFINITE_GRADE))
    for i, (count, message) in enumerate(counts):
        scalars[f"pool{i}"] = count
        faults.append(Fault(pl.col(f"pool{i}"), message))
    return scalars, faults


NO_DOC = "document ids are null; drop these rows or name their documents"
DUPLICATE = (
    "a document stands twice in one query; drop the copies, or keep the best of each "
    'with on_duplicate="best"'
)
VARIES = (
    "a by= or weight= column varies within a query; make it constant, give one row a "
    "query in queries=, or make it a part of query="
)
