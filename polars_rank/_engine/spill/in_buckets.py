"""The per-query plan in buckets, within a memory limit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from polars_rank._engine.layout import in_batches
from polars_rank._engine.request import Resources
from polars_rank._engine.stages.sum import Plan
from polars_rank._engine.tracing.trace import PlanKey
from polars_rank.core.source import lazy_source, without_pushdown
from polars_rank.measures.measure import Custom, Measure

# Bytes that evaluating takes for each byte of the rows; measured, and rounded up.
SUMS, LISTS, COPIES = 4.5, 8, 9
JUDGMENTS = 16  # of judgments whose run is streamed past them


def spill_plan(
    planner: Callable[[Sequence[pl.LazyFrame]], Plan],
    key: PlanKey,
    parts: Sequence[pl.LazyFrame],
    resources: Resources,
    *,
    copies: bool,
) -> Plan:
    """The plan that ``planner`` makes of the parts, bucket by bucket, unordered.

    ``copies`` says whether it looks for copies of documents.
    """
    from polars_rank._engine.spill.bounded import bounded  # slow to import

    lists = key.contributions or any(map(_by_lists, key.measures))
    factor = LISTS if lists else SUMS
    frame = bounded(
        parts,
        key.run.keys,
        lambda bucket: planner(bucket).frame,
        limit=resources.memory,
        temp_dir=resources.temp_dir,
        progress=resources.progress,
        fingerprint=_fingerprint(key),
        factor=max(factor, COPIES) if copies else factor,
    )
    return planner(parts)._replace(frame=without_pushdown(frame))


def careful_plan(
    planner: Callable[[Sequence[pl.LazyFrame]], Plan],
    key: PlanKey,
    parts: Sequence[pl.LazyFrame],
    resources: Resources,
) -> Plan:
    """The plan that ``planner`` makes of contiguous parts, read within the limit."""
    from polars_rank._engine.spill.budget import Budget  # slow to import
    from polars_rank._engine.spill.careful import careful_by_sample, watched

    budget, plan = Budget.of(resources.memory, SUMS), planner(parts)

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with careful_by_sample(budget, parts):
            run = watched(parts[0], key.run.keys, budget, len(parts) - 1)
            yield from in_batches(planner([run, *parts[1:]]).frame.select(columns))

    schema = plan.frame.collect_schema()
    frame = lazy_source(read, schema, name="bounded memory", drain=True)
    return plan._replace(frame=without_pushdown(frame))


def held_categories(frame: pl.LazyFrame, resources: Resources) -> pl.LazyFrame:
    """The same rows; their categories, which stay in memory, must fit the limit."""
    if pl.Categorical not in frame.collect_schema().dtypes():
        return frame
    from polars_rank._engine.spill.careful import few_categories  # slow to import

    return few_categories(frame, resources.memory)


def _by_lists(measure: Measure | Custom) -> bool:
    """Whether a measure needs lists of a query's documents, not only sums."""
    return isinstance(measure, Custom) or measure.definition.uses_scores


def _fingerprint(key: PlanKey) -> str:
    """Fingerprint of the plan; with user-defined functions it is never repeated."""
    functions = any(isinstance(m, Custom) for m in key.measures)
    text = repr(key)
    return os.urandom(16).hex() if functions or "<function" in text else text


def fits_in_memory(qrels: pl.LazyFrame, resources: Resources) -> bool:
    """Whether judgments fit into memory beside a run that streams; they are counted."""
    from polars_rank._engine.spill.budget import Budget, size_of  # slow to import
    from polars_rank._engine.spill.careful import careful_by_sample

    budget = Budget.of(resources.memory, JUDGMENTS)
    with careful_by_sample(budget, [qrels]):
        return size_of([qrels]).memory <= budget.bucket
