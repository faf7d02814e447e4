"""Evaluation on Spark: a DataFrame of Spark in, means or a DataFrame of Spark out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from polars_rank.core.extras import require
from polars_rank.measures.measure import Measures
from polars_rank.scale.job import SIDE, Engine, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # type: ignore[import-not-found, unused-ignore]

__all__ = ["evaluate", "map", "per_query"]


def evaluate(
    frame: DataFrame,
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

    Spark brings the rows of a query into one partition; what comes back of a partition
    is a few kB.

    Parameters
    ----------
    frame, qrels, queries, segments
        As in :func:`polars_rank.evaluate`: DataFrames of Spark. All but the first may
        also be small frames of this process.
    measures, options
        As in :class:`polars_rank.Evaluation`. With ``memory_limit``, a partition goes
        through files in ``temp_dir`` of the worker, and may be larger than its memory.
    partitions
        Number of partitions; by default Spark decides.
    partitioned
        Whether each partition of ``frame`` holds whole queries already, e.g. after
        ``frame.repartition(query)``: then no row is moved, the other frames must be
        small, and a query in two partitions is an error.

    Raises
    ------
    DataError
        As on one machine, once, with the counts of all partitions.
    """
    job, rows = _rows((frame, qrels, queries, segments), measures, partitions,
                      partitioned=partitioned, **options)  # fmt: skip

    def states(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with job.rows(batches) as tagged:
            yield pa.record_batch({"state": [job.state(job.frames(tagged))]})

    found = rows.mapInArrow(states, "state binary").toArrow()
    return job.merge(found["state"].to_pylist())


def per_query(
    frame: DataFrame,
    measures: Measures,
    *,
    qrels: Any = None,
    queries: Any = None,
    segments: Any = None,
    keep: str | Sequence[str] | None = None,
    partitions: int | None = None,
    **options: Any,
) -> DataFrame:
    """Value of every measure for every query, as a DataFrame of Spark, in any order.

    Parameters are those of :func:`evaluate`, and ``keep``: columns to carry along. Rows
    that break a rule fail the Spark job that needs the result, with our message.
    """
    job, rows = _rows((frame, qrels, queries, segments), measures, partitions,
                      keep=keep, **options)  # fmt: skip
    types = require("pyspark.sql.pandas.types", "spark")
    nothing = pl.DataFrame(schema=job.values_schema()).to_arrow().schema
    schema = types.from_arrow_schema(nothing)

    def values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with job.rows(batches) as tagged:
            found = job.values(job.frames(tagged)).to_arrow()
            yield from found.cast(types.to_arrow_schema(schema)).to_batches()

    return rows.mapInArrow(values, schema)


def map(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Tasks of Spark, for :func:`polars_rank.scale.evaluate_parts`."""
    session = require("pyspark.sql", "spark").SparkSession.getActiveSession()
    several = list(items)
    tasks = session.sparkContext.parallelize(several, max(len(several), 1))
    return list(tasks.map(function).collect())


def _rows(
    frames: Sequence[Any], measures: Measures, partitions: int | None, **options: Any
) -> tuple[Job, Any]:
    """The job, and the tagged rows of all frames, partitioned by query."""
    sql = require("pyspark.sql", "spark")
    types = require("pyspark.sql.pandas.types", "spark")
    engine = Engine(
        sql.DataFrame,
        lambda frame: (
            pl.DataFrame(types.to_arrow_schema(frame.schema).empty_table()).schema
        ),
        lambda rows: frames[0].sparkSession.createDataFrame(rows.to_arrow()),
    )
    job, found = Job.of(engine, frames, measures, **options)
    number, column = sql.functions.lit, sql.functions.col
    tagged = [
        own.select(
            number(i).cast("byte").alias(SIDE),
            *(column(f"`{old}`").alias(new) for old, new in job.names(side).items()),
        )
        for i, (side, own) in enumerate(found.items())
    ]
    rows = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tagged)
    if not job.partitioned:
        rows = rows.repartition(*([partitions] if partitions else []), *job.keys)
    return job, rows
