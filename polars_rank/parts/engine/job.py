"""The work of an evaluation on an engine: what a process does with a partition.

The engine brings the rows of a query into one partition. Each partition becomes a
partial, and the partials are merged where the evaluation was asked for. Rows of the run
and of its judgments travel together, as tagged rows: rows of one table, which say what
frame they are from.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import names_of
from polars_rank._engine.spill.buckets import is_text
from polars_rank._engine.spill.budget import (
    MB,
    Budget,
    overhead,
    parse_memory_limit,
    size_of,
)
from polars_rank._engine.spill.disk import full_disk_named
from polars_rank._files.temporary import private_folder
from polars_rank.exceptions import DataError
from polars_rank.parts.evaluation import Evaluation
from polars_rank.parts.task_errors import caught, raised

FACTOR = 4  # bytes that evaluation takes for each of the rows
SIDE = "side"  # of a tagged row: the place of its frame among the schemas


class Job(NamedTuple):
    """What is computed of a partition, and what becomes of the results; it pickles.

    Attributes
    ----------
    schemas
        Columns that are read, of each frame whose rows are in the partitions.
    broadcast
        Judgments and other frames that go to every partition as a whole.
    about_items
        The history and the items, which go to every partition as a whole, too.
    types
        Of the query columns that all frames have: rows are partitioned by these.
    keep
        Columns to carry along with values per query.
    partitioned
        Whether the rows came in partitions of whole queries; ``merge`` verifies it.
    """

    evaluation: Evaluation
    schemas: dict[str, pl.Schema]
    broadcast: dict[str, pl.DataFrame]
    about_items: dict[str, pl.DataFrame]
    types: pl.Schema
    keep: tuple[str, ...]
    partitioned: bool

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        schemas: Mapping[str, pl.Schema],
        broadcast: Mapping[str, pl.DataFrame],
        *,
        about_items: Mapping[str, pl.DataFrame] | None = None,
        keep: tuple[str, ...],
        partitioned: bool,
    ) -> Job:
        """Check all that can be checked without rows, as :func:`evaluate` does."""
        nothing = pl.Schema()
        whole = dict(broadcast), dict(about_items or {})
        job = cls(evaluation, dict(schemas), *whole, nothing, keep, partitioned)
        job.partial(job._nothing())
        if keep:
            job.values_schema()
        whole_frames = {**job.broadcast, **job.about_items}
        _require_room(whole_frames, evaluation.options["memory_limit"])
        read = columns_read(evaluation, {**schemas, **broadcast}, keep)
        kept = {
            side: pl.Schema({n: t for n, t in schema.items() if n in read[side]})
            for side, schema in schemas.items()
        }
        return job._replace(schemas=kept, types=_shared(evaluation, kept))

    @property
    def keys(self) -> list[str]:
        """The columns of tagged rows that the engine partitions by."""
        return [f"key{i}" for i in range(len(self.types))]

    def moved(self, side: str) -> pl.Schema:
        """Types that columns of a frame must have before an engine moves its rows.

        Queries have those that all frames share; categories become text.
        """
        schema = self.schemas[side].items()
        categories = [n for n, t in schema if t in (pl.Categorical, pl.Enum)]
        return pl.Schema({**dict.fromkeys(categories, pl.String()), **self.types})

    def names(self, side: str) -> dict[str, str]:
        """The columns that are read of a frame, with their names among tagged rows.

        Frames share their keys only: what is called alike may be of several types. The
        names are numbered, since to an engine a dot may mean a field.
        """
        keys = dict(zip(self.types, self.keys, strict=True))
        columns = enumerate(self.schemas[side])
        return {n: keys.get(n, f"{side}{i}") for i, n in columns}

    @property
    def tagged(self) -> pl.Schema:
        """The columns of tagged rows."""
        keys = zip(self.keys, self.types.values(), strict=True)
        others = {
            name: schema[old]
            for side, schema in self.schemas.items()
            for old, name in self.names(side).items()
            if name not in self.keys
        }
        return pl.Schema({SIDE: pl.Int8(), **dict(keys), **others})

    def frames(self, tagged: pl.LazyFrame) -> dict[str, pl.LazyFrame]:
        """The frames that tagged rows are from, as they were."""
        return {
            side: tagged.filter(pl.col(SIDE) == i).select(
                pl.col(name).cast(schema[old]).alias(old)
                for old, name in self.names(side).items()
            )
            for i, (side, schema) in enumerate(self.schemas.items())
        }

    def tag(self, table: pa.Table, side: str) -> pa.Table:
        """Rows of a frame as tagged rows."""
        names, place = self.names(side), list(self.schemas).index(side)
        if not table.num_rows:  # nor need it have columns
            return pl.DataFrame(schema=self.tagged).to_arrow()
        own = pl.DataFrame(table.select(list(names)))
        rows = as_declared(own, self.schemas[side]).rename(names)
        absent = [n for n in self.tagged if n not in rows.columns and n != SIDE]
        rows = rows.with_columns(
            pl.lit(place).alias(SIDE), *(pl.lit(None).alias(n) for n in absent)
        )
        return rows.select(list(self.tagged)).cast(self.tagged).to_arrow()

    @contextmanager
    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pl.LazyFrame]:
        """The rows of a partition.

        In memory; with ``memory_limit`` in a file; or as they come, if they need to be
        read only once: contiguous rows of a single frame, with nothing broadcast.
        """
        options = self.evaluation.options
        first = next(batches, None)
        if first is None:
            yield pl.LazyFrame(schema=self.tagged)
            return
        batches = chain([first], batches)
        stream = pa.RecordBatchReader.from_batches(first.schema, batches)
        once = len(self.schemas) == 1 and not self.broadcast
        if once and options["layout"] == "contiguous":
            yield pl.scan_arrow_c_stream(stream)
            return
        if options["memory_limit"] is None:
            yield pl.DataFrame(stream.read_all()).lazy()
            return
        base = Path(options["temp_dir"] or tempfile.gettempdir())
        with private_folder(base) as folder, full_disk_named(folder / "rows"):
            rows = pl.scan_arrow_c_stream(stream)
            rows.sink_parquet(folder / "rows", compression="lz4", statistics=False)
            yield pl.scan_parquet(folder / "rows", glob=False)

    def partial(self, frames: Mapping[str, AnyFrame]) -> pl.DataFrame:
        """The partial of the rows of a partition."""
        arguments: dict[str, Any] = {**frames, **self.broadcast, **self.about_items}
        return self.evaluation.partial(
            **arguments, broadcast=bool(self.broadcast), keys=self.partitioned
        )

    def state(self, frames: Mapping[str, AnyFrame]) -> bytes:
        """The partial, or the error instead of it, for ``merge``."""
        return pickle.dumps(caught(self.partial, frames))

    def state_of(self, batches: Iterator[pa.RecordBatch]) -> bytes:
        """The state of tagged rows."""
        with self.rows(batches) as tagged:
            return self.state(self.frames(tagged))

    def merge(self, states: Iterable[bytes]) -> pl.DataFrame:
        """The means; raises the errors of all partitions."""
        nothing = self.partial(self._nothing())
        results = [nothing, *(raised(pickle.loads(state)) for state in states)]
        about = {n: self.broadcast.get(n) for n in ("qrels", "queries", "segments")}
        return self.evaluation.merge(results, **about, **self.about_items)

    def values(self, frames: Mapping[str, AnyFrame]) -> pl.DataFrame:
        """The values of the queries of a partition.

        An engine shows the way that an error took; ours ends here.
        """
        given: dict[str, Any] = {**frames, **self.about_items}
        plan = self.evaluation.per_query(**given, keep=self.keep)
        try:
            return plan.collect(engine="streaming")
        except DataError as error:
            raise error.with_traceback(None) from None

    def values_of(self, batches: Iterator[pa.RecordBatch]) -> pl.DataFrame:
        """The values of the queries of tagged rows."""
        with self.rows(batches) as tagged:
            return self.values(self.frames(tagged))

    def values_schema(self) -> pl.Schema:
        """The columns of ``values``."""
        given: dict[str, Any] = {**self._nothing(), **self.about_items}
        plan = self.evaluation.per_query(**given, keep=self.keep)
        return plan.collect_schema()

    def _nothing(self) -> dict[str, pl.DataFrame]:
        return {side: pl.DataFrame(schema=s) for side, s in self.schemas.items()}


def columns_read(
    evaluation: Evaluation, sides: Collection[str], keep: Iterable[str]
) -> dict[str, set[str]]:
    """The columns that are read of each frame, if it has them."""
    columns = evaluation.columns()
    run = columns["run" if "qrels" in sides else "log"]
    own = {side: columns["qrels"] if side == "qrels" else run for side in sides}
    return {side: {*names, *keep} for side, names in own.items()}


def as_declared(rows: pl.DataFrame, types: pl.Schema) -> pl.DataFrame:
    """Cast rows of a partition to the types that the engine said they have."""
    columns = []
    for name, declared in types.items():
        try:
            columns.append(rows[name].cast(declared))
        except pl.exceptions.InvalidOperationError as error:
            msg = (
                f"column {name!r} is {rows[name].dtype} in a partition, but was "
                f"declared as {declared}: cast it before, or declare what it is"
            )
            raise TypeError(msg) from error
    return pl.DataFrame(columns)


def _require_room(frames: Mapping[str, pl.DataFrame], limit: int | str | None) -> None:
    """Require that what goes to every partition fits into the memory of a worker.

    A worker would say so, after all rows have been moved.
    """
    if limit is None:
        return
    room = Budget.of(parse_memory_limit(limit), FACTOR).bucket
    for name, frame in frames.items():
        size = size_of([frame.lazy()]).memory
        if size > room:
            least = ceil((overhead() + FACTOR * size) / MB)
            msg = (
                f"memory_limit is too small for {name} of {size // MB:,} MB, which "
                f'every worker holds as a whole: give memory_limit="{least}MB" or more'
            )
            raise MemoryError(msg)


def _shared(evaluation: Evaluation, schemas: Mapping[str, pl.Schema]) -> pl.Schema:
    """Find the query columns of all frames, each with a type that holds all ids."""
    query = names_of(evaluation.query)
    names = [n for n in query if all(n in s for s in schemas.values())]
    if not names:
        shown = ", ".join(map(repr, query))
        msg = f"none of the query columns ({shown}) is in all frames"
        raise ValueError(msg)
    nothing = [pl.DataFrame(schema={n: s[n] for n in names}) for s in schemas.values()]
    types = pl.concat(nothing, how="vertical_relaxed").schema
    return pl.Schema({n: pl.String() if is_text(t) else t for n, t in types.items()})
