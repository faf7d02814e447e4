"""Evaluation on Ray: a Ray Dataset in, means or a Dataset out.

A partition is a block, of which there are 8 for each CPU of the cluster unless
``partitions`` says otherwise. A block must fit into the memory of a worker;
``memory_limit`` is that of a worker besides its block. Blocks hold whole queries
(``partitioned=True``) after ``frame.repartition(n, keys=[query])``, for example.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from polars_rank.core.extras import require
from polars_rank.parts.engine.engine import Engine
from polars_rank.parts.engine.job import Job
from polars_rank.parts.given import SIDES

if TYPE_CHECKING:
    from ray.data import Dataset  # type: ignore[import-not-found, unused-ignore]

__all__ = ["evaluate", "map", "per_query"]

WHOLE = {"batch_format": "pyarrow", "batch_size": None}  # blocks, one by one


class _Ray(Engine["Dataset"]):
    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[Any]:
        ray = require("ray", "ray")
        task = ray.remote(lambda item: function(item))
        results = [task.remote(item) for item in items]
        return (_plain(ray, result) for result in results)

    def frame(self) -> type[Dataset]:
        return require("ray.data", "ray").Dataset  # type: ignore[no-any-return]

    def names(self, frame: Dataset) -> list[str]:
        return list(frame.columns() or [])

    def schema(self, frame: Dataset, names: list[str]) -> pl.Schema:
        schema = frame.schema()
        if schema is not None and object in schema.types:  # of pandas
            rows = frame.select_columns(names)
            schema = rows.map_batches(lambda block: block, **WHOLE).schema()
        types = {} if schema is None else dict(zip(schema.names, schema.types))  # noqa: B905
        wanted = pa.schema([(name, types[name]) for name in names])
        return pl.DataFrame(wanted.empty_table()).schema

    def lift(self, rows: pl.DataFrame, beside: Dataset) -> Dataset:
        return require("ray.data", "ray").from_arrow(rows.to_arrow())

    def partition(
        self, job: Job, frames: Mapping[str, Dataset], partitions: int | None
    ) -> Dataset:
        for side, own in frames.items():
            _require_all_blocks(own, SIDES[side])
        first, *others = (
            own.select_columns([*job.schemas[side]]).map_batches(
                job.tag, fn_kwargs={"side": side}, **WHOLE
            )
            for side, own in frames.items()
        )
        rows = first.union(*others) if others else first
        if job.partitioned:
            return rows
        cpus = require("ray", "ray").cluster_resources().get("CPU", 1)
        return rows.repartition(partitions or 8 * max(int(cpus), 1), keys=job.keys)

    def states(self, job: Job, rows: Dataset) -> Iterator[bytes]:
        def states(block: pa.Table) -> pa.Table:
            try:
                state = job.state_of(iter(block.to_batches()))
            except OSError as error:  # Ray Data tries no error again
                state = pickle.dumps(error)
            return pa.table({"state": [state]})

        found = rows.map_batches(states, **WHOLE).iter_batches(**WHOLE)
        return (state for t in found for state in t["state"].to_pylist())

    def values(self, job: Job, rows: Dataset) -> Dataset:
        def values(block: pa.Table) -> pa.Table:
            return job.values_of(iter(block.to_batches())).to_arrow()

        return rows.map_batches(values, **WHOLE)


def _plain(ray: Any, result: Any) -> Any:
    """Return the result of a task; raise an error as it was, not as one of Ray."""
    try:
        return ray.get(result)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


def _require_all_blocks(frame: Dataset, where: str) -> None:
    """Require all blocks: Ray may be told to leave out those that fail."""
    allowed = frame.context.max_errored_blocks
    if allowed:
        told = "all" if allowed < 0 else f"up to {allowed}"
        msg = (
            f"Ray leaves out {told} blocks of {where} that fail (max_errored_blocks), "
            "and means would lack their queries: set context.max_errored_blocks = 0 of "
            "the Dataset; a broken file can be left out of the paths"
        )
        raise ValueError(msg)


_ray = _Ray()
evaluate, per_query, map = _ray.evaluate, _ray.per_query, _ray.map
