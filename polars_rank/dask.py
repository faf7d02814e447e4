"""Evaluation on Dask: a Dask DataFrame in, means or a Dask DataFrame out.

There are as many partitions as ``frame`` has unless ``partitions`` says otherwise. A
partition must fit into the memory of a worker, as a pandas frame; ``memory_limit``
is that of a worker besides its partition. Partitions hold whole queries
(``partitioned=True``) after ``frame.shuffle(on=query)``, for example. The index of a
result says nothing: write it with ``to_parquet(folder, write_index=False)``. NaN in
columns of numpy is null, as everywhere in pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_rank.core.extras import require
from polars_rank.parts.engine.engine import Engine
from polars_rank.parts.engine.job import Job, as_declared

if TYPE_CHECKING:
    from dask.dataframe import DataFrame  # type: ignore[import-not-found, unused-ignore]

__all__ = ["evaluate", "map", "per_query"]


class _Dask(Engine["DataFrame"]):
    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        dask = require("dask", "dask")
        task = dask.delayed(function, pure=False)
        return list(dask.compute(*(task(item) for item in items)))

    def frame(self) -> type[DataFrame]:
        return require("dask.dataframe", "dask").DataFrame  # type: ignore[no-any-return]

    def schema(self, frame: DataFrame, names: list[str]) -> pl.Schema:
        return pl.DataFrame(frame[names]._meta_nonempty).schema

    def lift(self, rows: pl.DataFrame, beside: DataFrame) -> DataFrame:
        data = require("dask.dataframe", "dask")
        return data.from_pandas(_as_pandas(rows), npartitions=1)

    def partition(
        self, job: Job, frames: Mapping[str, DataFrame], partitions: int | None
    ) -> list[DataFrame]:
        rows = [own[list(job.schemas[side])] for side, own in frames.items()]
        if job.partitioned:
            return rows
        by = {"on": [*job.types], "npartitions": partitions or rows[0].npartitions}
        types = [_as_pandas(pl.DataFrame(schema=job.moved(s))).dtypes for s in frames]
        typed = [own.astype(dict(t)) for own, t in zip(rows, types, strict=True)]
        return [own.shuffle(**by) for own in typed]

    def states(self, job: Job, rows: Sequence[DataFrame]) -> Iterable[bytes]:
        found = self._mapped(_states, job, rows, _table([b""]).iloc[:0])
        return found.compute()["state"]  # type: ignore[no-any-return]

    def values(self, job: Job, rows: Sequence[DataFrame]) -> DataFrame:
        types = _as_pandas(pl.DataFrame(schema=job.values_schema()))
        return self._mapped(_values, job, rows, types)

    def _mapped(
        self, function: Callable[..., Any], job: Job, rows: Any, meta: Any
    ) -> DataFrame:
        data = require("dask.dataframe", "dask")
        how = {"job": job, "meta": meta, "align_dataframes": False}
        return data.map_partitions(function, *rows, **how)


def _states(*rows: Any, job: Job) -> Any:
    return _table([job.state(_frames(rows, job))])


def _values(*rows: Any, job: Job) -> Any:
    return _as_pandas(job.values(_frames(rows, job)))


def _table(states: list[bytes]) -> Any:
    return require("pandas", "dask").DataFrame({"state": states}, dtype=object)


def _as_pandas(frame: pl.DataFrame) -> Any:
    return frame.to_pandas(use_pyarrow_extension_array=True)


def _frames(rows: Sequence[Any], job: Job) -> dict[str, pl.LazyFrame]:
    return {
        side: as_declared(pl.DataFrame(own[list(types)]), types).lazy()
        for own, (side, types) in zip(rows, job.schemas.items(), strict=True)
    }


_dask = _Dask()
evaluate, per_query, map = _dask.evaluate, _dask.per_query, _dask.map
