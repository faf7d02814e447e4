"""Evaluation on Spark: a Spark DataFrame in, means or a Spark DataFrame out.

Spark decides how many partitions there are unless ``partitions`` says so. With
``memory_limit``, a partition goes through files in ``temp_dir`` of the worker and may
be larger than its memory; with ``layout="contiguous"``, it is evaluated as it comes.
Partitions hold whole queries (``partitioned=True``) after
``frame.repartition(query)``, for example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa  # type: ignore[import-untyped]

from polars_rank.core.extras import require
from polars_rank.parts.engine.engine import Engine
from polars_rank.parts.engine.job import SIDE, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # type: ignore[import-not-found, unused-ignore]

__all__ = ["evaluate", "map", "per_query"]


class _Spark(Engine["DataFrame"]):
    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        session = require("pyspark.sql", "spark").SparkSession.active()
        several = list(items)
        tasks = session.sparkContext.parallelize(several, max(len(several), 1))
        return list(tasks.map(function).collect())

    def frame(self) -> type[DataFrame]:
        return require("pyspark.sql", "spark").DataFrame  # type: ignore[no-any-return]

    def schema(self, frame: DataFrame, names: list[str]) -> pl.Schema:
        own = frame.select([_quoted(name) for name in names]).schema
        return pl.DataFrame(_no_rows(frame, own)).schema

    def lift(self, rows: pl.DataFrame, beside: DataFrame) -> DataFrame:
        signed = rows.cast({cs.unsigned_integer(): pl.Int64})  # Spark knows no other
        return beside.sparkSession.createDataFrame(signed.to_arrow())

    def partition(
        self, job: Job, frames: Mapping[str, DataFrame], partitions: int | None
    ) -> DataFrame:
        sql = require("pyspark.sql.functions", "spark")
        tagged = [
            own.select(
                sql.lit(i).cast("byte").alias(SIDE),
                *(sql.col(_quoted(old)).alias(n) for old, n in job.names(side).items()),
            )
            for i, (side, own) in enumerate(frames.items())
        ]
        rows = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tagged)
        if job.partitioned:
            return rows
        return rows.repartition(*([partitions] if partitions else []), *job.keys)

    def states(self, job: Job, rows: DataFrame) -> list[bytes]:
        def states(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"state": [job.state_of(batches)]})

        found = rows.mapInArrow(states, "state binary").toArrow()
        return found["state"].to_pylist()  # type: ignore[no-any-return]

    def values(self, job: Job, rows: DataFrame) -> DataFrame:
        nothing = pl.DataFrame(schema=job.values_schema()).to_arrow().schema
        schema = require("pyspark.sql.pandas.types", "spark").from_arrow_schema(nothing)
        wanted = _no_rows(rows, schema).schema

        def values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from job.values_of(batches).to_arrow().cast(wanted).to_batches()

        return rows.mapInArrow(values, schema)


def _no_rows(beside: DataFrame, schema: Any) -> pa.Table:
    """Return a table with Spark's own Arrow types, in the session's time zone."""
    return beside.sparkSession.createDataFrame([], schema).toArrow()


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


_spark = _Spark()
evaluate, per_query, map = _spark.evaluate, _spark.per_query, _spark.map
