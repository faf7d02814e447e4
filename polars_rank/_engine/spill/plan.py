"""The per-query plan in buckets, within a memory limit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import polars as pl

from polars_rank._engine.request import Resources
from polars_rank._engine.stages.sum import Plan
from polars_rank._engine.trace import PlanKey
from polars_rank.core.source import without_pushdown
from polars_rank.measures.measure import Custom, Measure

__all__ = ["fits_in_memory", "spill_plan"]

# Bytes that evaluating takes for each byte of the rows; measured, and rounded up.
SUMS, LISTS = 4.5, 8


def spill_plan(
    planner: Callable[[Sequence[pl.LazyFrame]], Plan],
    key: PlanKey,
    parts: Sequence[pl.LazyFrame],
    resources: Resources,
) -> Plan:
    """The plan that ``planner`` makes of the parts, bucket by bucket, unordered."""
    from polars_rank._engine.spill.source import bounded  # slow to import

    frame = bounded(
        parts,
        key.run.keys,
        lambda bucket: planner(bucket).frame,
        limit=resources.memory,
        temp_dir=resources.temp_dir,
        progress=resources.progress,
        fingerprint=_fingerprint(key),
        factor=LISTS if any(map(_by_lists, key.measures)) else SUMS,
    )
    return planner(parts)._replace(frame=without_pushdown(frame))


def _by_lists(measure: Measure | Custom) -> bool:
    """Whether a measure needs lists of a query's documents, not only sums."""
    return isinstance(measure, Custom) or measure.definition.uses_scores


def _fingerprint(key: PlanKey) -> str:
    """Fingerprint of the plan; with user-defined functions it is never repeated."""
    functions = any(isinstance(m, Custom) for m in key.measures)
    text = repr(key)
    return os.urandom(16).hex() if functions or "<function" in text else text


def fits_in_memory(frame: pl.LazyFrame, resources: Resources) -> bool:
    """Whether an evaluation of these rows fits into memory; they are counted."""
    from polars_rank._engine.spill.budget import Budget, size_of  # slow to import

    return size_of([frame]).memory <= Budget.of(resources.memory, SUMS).bucket
