"""Rows in any order, into parts that hold whole queries: through a shared folder.

What ``memory_limit`` does in one process, with the builtin ``map``: each task reads one
frame and puts its rows into buckets by the hash of their query. It writes one file, in
which the rows of a bucket stand together; a bucket is a part: its pieces of all files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import uuid4

import polars as pl

from polars_rank._engine.spill.buckets import (
    Filled,
    Map,
    Task,
    fill,
    require_same_types,
    split,
)
from polars_rank._engine.spill.digest import digest_of
from polars_rank.core.parameters import is_whole
from polars_rank.core.source import lazy_source
from polars_rank.exceptions import DataError
from polars_rank.io.frames import as_polars, is_path, is_single
from polars_rank.io.scan import scan_each
from polars_rank.io.unreadable import DAMAGED
from polars_rank.parts.given import Several
from polars_rank.parts.partitions import Hashed, Part
from polars_rank.parts.store import Store, sealed
from polars_rank.parts.task_errors import with_plain_errors

SIDES = ("run", "qrels")
MOST = 4096  # buckets: a task has a file open for each
ROWS_PER_GROUP = 8192  # that a task may hold back for each bucket
AT_ONCE = 8_000_000  # bytes of a bucket that are read
INDEX = ".json"  # of a file of rows; written after it


class Piece(NamedTuple):
    """Rows of a bucket in the file of a task: Parquet files, one after the other."""

    file: str
    start: int
    lengths: tuple[int, ...]


def bucketed(
    frames: Several,
    n_buckets: int,
    folder: str | PathLike[str],
    *,
    qrels: Several = (),
    query: str | Sequence[str] = "query_id",
    map: Map = map,
) -> list[Part]:
    """Put the rows of each query, from all frames, into one of ``n_buckets`` parts.

    Parameters
    ----------
    frames
        The log or run: scans or paths, in any split and order. Each is read by a task,
        and so is each file of one folder or glob; select the columns that are needed.
    n_buckets
        Number of parts; each of them, and each query, is evaluated in one process.
    folder
        An empty folder that all processes reach, or that of an interrupted call: what
        its tasks have finished is not done again, if they read local files that have
        not changed. Or a URL of object storage that pyarrow opens with the credentials
        of each process, such as ``s3://bucket/folder``. It gets two files for each
        frame. Remove it after the evaluation.
    qrels
        The judgments, likewise.
    query
        The query columns.
    map
        As in :func:`evaluate_parts`. A task that is tried again writes files of its
        own, and only those of tasks that have ended are read.

    Returns
    -------
    Parts for :func:`evaluate_parts`, all of them and each once: then no query can be in
    two parts, and none is listed.

    Raises
    ------
    ValueError
        At once, for a folder that is a URL of anything else.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl, polars_rank as pr
    >>> from polars_rank.parts import bucketed, evaluate_parts
    >>> log = pl.scan_parquet(pr.example.path())
    >>> halves = [log.gather_every(2), log.gather_every(2, 1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     means = evaluate_parts(bucketed(halves, 3, folder), "ndcg@10")
    >>> means.equals(pr.evaluate(log, "ndcg@10").collect())
    True
    """
    if not (is_whole(n_buckets) and 1 <= n_buckets <= MOST):
        msg = f"n_buckets must be a whole number from 1 to {MOST}, not {n_buckets!r}"
        raise ValueError(msg)
    store = Store.of(folder, name="folder")
    keys = (query,) if isinstance(query, str) else tuple(query)
    run, judged = _opened(frames, "frames", "run"), _opened(qrels, "qrels", "qrels")
    if not run:
        msg = "frames is empty: give at least one frame"
        raise ValueError(msg)
    require_same_types([*run, *judged], keys)
    sides = [side for side in (run, judged) if side]
    schemas = [side[0].collect_schema() for side in sides]
    work = partial(
        _fill,
        keys=keys,
        store=store,
        n_buckets=n_buckets,
        schemas=schemas,
    )
    found = split(sides, work, map=with_plain_errors(map, Filled))
    call = uuid4().hex
    parts = []
    for number, bucket in enumerate(found):
        if any(bucket.files):
            rows = zip(bucket.files, schemas, strict=True)
            frame, *others = (_Rows(store, own, types).scan() for own, types in rows)
            judgments = others[0] if others else None
            parts.append(Part(frame, judgments, bucket=Hashed(call, number, keys)))
    return parts or [Part(run[0].clear())]


def _opened(frames: Several, name: str, kind: Any) -> list[pl.LazyFrame]:
    several: Any = frames
    if is_path(frames) and kind == "run":
        several = scan_each(frames)
    elif is_single(frames):
        several = [frames]
    return [as_polars(f, name=name, kind=kind).lazy() for f in several]


@dataclass(frozen=True)
class _Rows:
    """The rows of a bucket: reads its pieces, one by one, from the files of tasks."""

    store: Store
    pieces: tuple[Piece, ...]
    schema: pl.Schema

    def __call__(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        names = columns or self.schema.names()[:1]  # without any, rows are not counted
        types = pl.Schema({name: self.schema[name] for name in names})
        yield pl.DataFrame(schema=types)
        for pieces in self._pieces():
            try:
                rows = pl.read_parquet(pieces, columns=types.names())
            except DAMAGED as error:
                msg = (
                    f"{self.store.place}: the rows of a bucket cannot be read: {error}."
                    " Call bucketed again with an empty folder."
                )
                raise DataError(msg) from error
            yield rows.cast(types)

    def _pieces(self) -> Iterator[list[IO[bytes]]]:
        """The pieces, some at a time: reading each alone takes three times as long."""
        several: list[IO[bytes]] = []
        held = 0
        for file, start, lengths in self.pieces:
            for length in lengths:
                several.append(BytesIO(self.store.read(file, start, length)))
                start += length
                held += length
                if held >= AT_ONCE:
                    yield several
                    several, held = [], 0
        if several:
            yield several

    def scan(self) -> pl.LazyFrame:
        files = {file: None for file, *_ in self.pieces}
        return lazy_source(
            self,
            self.schema,
            name="bucket",
            rereadable=True,
            files=() if self.store.remote else [*map(self.store.file, files)],
        )


def _fill(
    task: Task,
    *,
    keys: Sequence[str],
    store: Store,
    n_buckets: int,
    schemas: Sequence[pl.Schema],
) -> Filled:
    """Write the rows of a task, unless a try before this one has written them."""
    frame = task.frame.select(
        pl.col(name).cast(dtype) for name, dtype in schemas[task.side].items()
    )
    digest = digest_of([frame], frame, f"{keys} {n_buckets}")
    tries = f"{SIDES[task.side]}-{task.place}/{digest or uuid4().hex}"
    for name in store.names(tries) if digest else ():
        done = store.unsealed(name) if name.endswith(INDEX) else None
        if done is not None:
            rows, lengths = json.loads(done)
            if store.size(f"{tries}/{rows}") == sum(map(sum, lengths)):
                return Filled(_pieces(f"{tries}/{rows}", lengths), task.number)
    rows = f"{uuid4().hex}.rows"
    with store.folder() as own:
        files = fill(
            frame, keys, own / "0", buckets=n_buckets, rows_per_group=ROWS_PER_GROUP
        )
        lengths = _joined(files, own / "rows")
        store.put(own / "rows", f"{tries}/{rows}")
    index = json.dumps([rows, lengths]).encode()
    store.write(f"{tries}/{rows}{INDEX}", sealed(index))
    return Filled(_pieces(f"{tries}/{rows}", lengths), task.number)


def _joined(files: Sequence[Sequence[Path]], into: Path) -> list[list[int]]:
    """Join the files of all buckets into one; return the lengths of each bucket's.

    A shared folder then has a file for each task, and not for each task and bucket.
    """
    lengths = []
    with into.open("wb") as whole:
        for paths in files:
            lengths.append([path.stat().st_size for path in paths])
            for path in paths:
                with path.open("rb") as file:
                    shutil.copyfileobj(file, whole, 1 << 20)
                path.unlink()
    return lengths


def _pieces(file: str, lengths: list[list[int]]) -> list[tuple[Piece, ...]]:
    """For each bucket, where its rows are in the file of a task, if it has any."""
    starts = accumulate(map(sum, lengths), initial=0)
    return [
        (Piece(file, start, tuple(own)),) if own else ()
        for start, own in zip(starts, lengths, strict=False)
    ]
