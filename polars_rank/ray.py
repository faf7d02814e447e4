"""Evaluation on Ray: a Dataset of Ray Data in, means or a Dataset out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from polars_rank.core.extras import require
from polars_rank.measures.measure import Measures
from polars_rank.scale.job import Engine, Job

if TYPE_CHECKING:
    from ray.data import Dataset  # type: ignore[import-not-found, unused-ignore]

__all__ = ["evaluate", "map", "per_query"]

WHOLE = {"batch_format": "pyarrow", "batch_size": None}  # blocks, one by one


def evaluate(
    frame: Dataset,
    measures: Measures,
    *,
    qrels: Any = None,
    queries: Any = None,
    segments: Any = None,
    partitions: int | None = None,
    partitioned: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """Mean of every measure over the queries, as :func:`polars_rank.evaluate` gives it.

    Ray brings the rows of a query into one block; what comes back of a block is a few
    kB.

    Parameters
    ----------
    frame, qrels, queries, segments
        As in :func:`polars_rank.evaluate`: Datasets. All but the first may also be
        small frames of this process.
    measures, options
        As in :class:`polars_rank.Evaluation`. ``memory_limit`` is that of a worker,
        besides the block itself.
    partitions
        Number of blocks, each of which must fit into the memory of a worker; by default
        8 for each CPU of the cluster.
    partitioned
        Whether each block of ``frame`` holds whole queries already, e.g. after
        ``frame.repartition(n, keys=[query])``: then no row is moved, the other frames
        must be small, and a query in two blocks is an error.

    Raises
    ------
    DataError
        As on one machine, once, with the counts of all blocks.
    """
    job, rows = _rows((frame, qrels, queries, segments), measures, partitions,
                      partitioned=partitioned, **options)  # fmt: skip

    def states(block: pa.Table) -> pa.Table:
        with job.rows(iter(block.to_batches())) as tagged:
            return pa.table({"state": [job.state(job.frames(tagged))]})

    found = rows.map_batches(states, **WHOLE).iter_batches(**WHOLE)
    return job.merge(state for t in found for state in t["state"].to_pylist())


def per_query(
    frame: Dataset,
    measures: Measures,
    *,
    qrels: Any = None,
    queries: Any = None,
    segments: Any = None,
    keep: str | Sequence[str] | None = None,
    partitions: int | None = None,
    **options: Any,
) -> Dataset:
    """Value of every measure for every query, as a Dataset, in any order.

    Parameters are those of :func:`evaluate`, and ``keep``: columns to carry along. Rows
    that break a rule fail the execution that needs the result, with our message.
    """
    job, rows = _rows((frame, qrels, queries, segments), measures, partitions,
                      keep=keep, **options)  # fmt: skip

    def values(block: pa.Table) -> pa.Table:
        with job.rows(iter(block.to_batches())) as tagged:
            return job.values(job.frames(tagged)).to_arrow()

    found: Dataset = rows.map_batches(values, **WHOLE)
    return found


def map(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Tasks of Ray, for :func:`polars_rank.scale.evaluate_parts`."""
    ray = require("ray", "ray")
    task = ray.remote(lambda item: function(item))
    return list(ray.get([task.remote(item) for item in items]))


def _rows(
    frames: Sequence[Any], measures: Measures, partitions: int | None, **options: Any
) -> tuple[Job, Any]:
    """The job, and the tagged rows of all frames, partitioned by query."""
    ray, data = require("ray", "ray"), require("ray.data", "ray")
    engine = Engine(
        data.Dataset,
        lambda frame: pl.DataFrame(_arrow_schema(frame).empty_table()).schema,
        lambda rows: data.from_arrow(rows.to_arrow()),
    )
    job, found = Job.of(engine, frames, measures, **options)
    first, *others = (
        own.map_batches(job.tag, fn_kwargs={"side": side}, **WHOLE)
        for side, own in found.items()
    )
    rows = first.union(*others) if others else first
    if not job.partitioned:
        count = partitions or 8 * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        rows = rows.repartition(count, keys=job.keys)
    return job, rows


def _arrow_schema(frame: Any) -> pa.Schema:
    schema = frame.schema()
    base = pa.schema([]) if schema is None else schema.base_schema
    if isinstance(base, pa.Schema):
        return base
    return pa.schema([*zip(schema.names, schema.types, strict=True)])
