"""Evaluation on Dask: a Dask DataFrame in, means or a Dask DataFrame out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_rank.core.extras import require
from polars_rank.measures.measure import Measures
from polars_rank.scale.job import Engine, Job

if TYPE_CHECKING:
    from dask.dataframe import DataFrame  # type: ignore[import-not-found, unused-ignore]

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

    Dask brings the rows of a query into one partition; what comes back of a partition
    is a few kB.

    Parameters
    ----------
    frame, qrels, queries, segments
        As in :func:`polars_rank.evaluate`: Dask DataFrames. All but the first may also
        be small frames of this process.
    measures, options
        As in :class:`polars_rank.Evaluation`. ``memory_limit`` is that of a worker,
        besides the partition itself.
    partitions
        Number of partitions, each of which must fit into the memory of a worker; by
        default as many as ``frame`` has.
    partitioned
        Whether each partition of ``frame`` holds whole queries already, e.g. after
        ``frame.shuffle(on=query)``: then no row is moved, the other frames must be
        small, and a query in two partitions is an error.

    Raises
    ------
    DataError
        As on one machine, once, with the counts of all partitions.
    """
    job, rows = _rows((frame, qrels, queries, segments), measures, partitions,
                      partitioned=partitioned, **options)  # fmt: skip
    meta = require("pandas", "dask").DataFrame({"state": [b""]}, dtype=object).iloc[:0]
    found = _mapped(_states, job, rows, meta)
    return job.merge(found.compute()["state"])


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
    """Value of every measure for every query, as a Dask DataFrame, in any order.

    Parameters are those of :func:`evaluate`, and ``keep``: columns to carry along. Rows
    that break a rule raise a ``DataError`` in the computation that needs the result.
    """
    job, rows = _rows((frame, qrels, queries, segments), measures, partitions,
                      keep=keep, **options)  # fmt: skip
    meta = pl.DataFrame(schema=job.values_schema())
    types = meta.to_pandas(use_pyarrow_extension_array=True)
    found: DataFrame = _mapped(_values, job, rows, types)
    return found


def map(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Tasks of Dask, for :func:`polars_rank.scale.evaluate_parts`."""
    dask = require("dask", "dask")
    task = dask.delayed(function, pure=False)
    return list(dask.compute(*(task(item) for item in items)))


def _rows(
    frames: Sequence[Any], measures: Measures, partitions: int | None, **options: Any
) -> tuple[Job, list[Any]]:
    """The job, and its frames, partitioned alike: by query."""
    data = require("dask.dataframe", "dask")
    engine = Engine(
        data.DataFrame,
        lambda frame: pl.DataFrame(frame._meta_nonempty).schema,
        lambda rows: data.from_pandas(
            rows.to_pandas(use_pyarrow_extension_array=True), npartitions=1
        ),
    )
    job, found = Job.of(engine, frames, measures, **options)
    rows = [own[list(job.schemas[side])] for side, own in found.items()]
    if job.partitioned:
        return job, rows
    keys = list(job.types)
    nothing = pl.DataFrame(schema=job.types).to_pandas(use_pyarrow_extension_array=True)
    count = partitions or frames[0].npartitions
    return job, [
        own.astype(dict(nothing.dtypes)).shuffle(on=keys, npartitions=count)
        for own in rows
    ]


def _mapped(
    function: Callable[..., Any], job: Job, rows: Sequence[Any], meta: Any
) -> Any:
    data = require("dask.dataframe", "dask")
    return data.map_partitions(
        function, *rows, job=job, meta=meta, align_dataframes=False
    )


def _states(*rows: Any, job: Job) -> Any:
    state = job.state(_frames(rows, job))
    return require("pandas", "dask").DataFrame({"state": [state]}, dtype=object)


def _values(*rows: Any, job: Job) -> Any:
    values = job.values(_frames(rows, job))
    return values.to_pandas(use_pyarrow_extension_array=True)


def _frames(rows: Sequence[Any], job: Job) -> dict[str, pl.LazyFrame]:
    return {
        side: pl.DataFrame(own).select(list(schema)).cast(schema).lazy()
        for own, (side, schema) in zip(rows, job.schemas.items(), strict=True)
    }
