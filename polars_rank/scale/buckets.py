"""Rows in any order, into parts that hold whole queries: through a shared folder.

What ``memory_limit`` does in one process, with the builtin ``map``: each task reads one
frame and writes its rows into buckets by the hash of their query. A bucket is a part:
its files of all tasks.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from polars_rank._engine.spill.buckets import (
    Bucket,
    Filled,
    Map,
    Task,
    fill,
    require_same_types,
    split,
)
from polars_rank._engine.spill.digest import digest_of
from polars_rank._engine.spill.resume import read_manifest, write_manifest
from polars_rank.io.frames import as_polars
from polars_rank.io.scan import scan_each
from polars_rank.scale.errors import with_plain_errors
from polars_rank.scale.frames import Several, is_path, is_single
from polars_rank.scale.partitions import Part

__all__ = ["bucketed"]

SIDES = ("run", "qrels")
MOST = 4096  # buckets: each task writes a file for each
ROWS_PER_GROUP = 8192  # that a task may hold back for each bucket


def bucketed(
    frames: Several,
    buckets: int,
    folder: str | Path,
    *,
    qrels: Several = (),
    query: str | Sequence[str] = "query_id",
    map: Map = map,
) -> list[Part]:
    """Put the rows of each query, from all frames, into one of ``buckets`` parts.

    Parameters
    ----------
    frames
        The log or run: scans or paths, in any split and order. Each is read by a task,
        and so is each file of one folder or glob; select the columns that are needed.
    buckets
        Number of parts; each of them, and each query, is evaluated in one process.
    folder
        An empty folder that all processes reach, or that of an interrupted call: what
        its tasks have finished is not done again, if they read local files that have
        not changed. Remove it after the evaluation.
    qrels
        The judgments, likewise.
    query
        The query columns.
    map
        As in :func:`evaluate_parts`. A task that is tried again writes files of its
        own, and only those of tasks that have ended are read.

    Returns
    -------
    Parts for :func:`evaluate_parts`.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl, polars_rank as pr
    >>> from polars_rank.scale import bucketed, evaluate_parts
    >>> log = pl.scan_parquet(pr.example.path())
    >>> halves = [log.gather_every(2), log.gather_every(2, 1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     means = evaluate_parts(bucketed(halves, 3, folder), "ndcg@10")
    >>> means.equals(pr.evaluate(log, "ndcg@10").collect())
    True
    """
    if not 1 <= buckets <= MOST:
        msg = f"buckets must be a whole number from 1 to {MOST}, not {buckets!r}"
        raise ValueError(msg)
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
        folder=Path(folder).absolute(),
        buckets=buckets,
        schemas=schemas,
    )
    found = split(sides, work, map=with_plain_errors(map, Filled))
    parts = [_part(bucket, schemas) for bucket in found if any(bucket.files)]
    return parts or [Part(run[0].clear())]


def _opened(frames: Several, name: str, kind: Any) -> list[pl.LazyFrame]:
    several: Any = frames
    if is_path(frames) and kind == "run":
        several = scan_each(frames)
    elif is_single(frames):
        several = [frames]
    return [as_polars(f, name=name, kind=kind).lazy() for f in several]


def _part(bucket: Bucket, schemas: Sequence[pl.Schema]) -> Part:
    frame, *judged = bucket.frames(schemas)
    return Part(frame, qrels=judged[0] if judged else None)


def _fill(
    task: Task,
    *,
    keys: Sequence[str],
    folder: Path,
    buckets: int,
    schemas: Sequence[pl.Schema],
) -> Filled:
    """Write the rows of a task, unless a try before this one has written them."""
    frame = task.frame.select(
        pl.col(name).cast(dtype) for name, dtype in schemas[task.side].items()
    )
    digest = digest_of([frame], frame, f"{keys} {buckets}")
    name = f"{SIDES[task.side]}-{task.place}"
    tries = folder / name / (digest or uuid4().hex)
    for done in tries.glob("*") if digest else ():
        found = read_manifest(done)
        if found is not None:
            return Filled([bucket.files[0] for bucket in found], task.number)
    own = tries / uuid4().hex
    own.mkdir(parents=True)
    try:
        files = fill(
            frame,
            keys,
            own / "0",
            buckets=buckets,
            rows_per_group=ROWS_PER_GROUP,
            durable=digest is not None,
        )
        write_manifest(own, [Bucket((paths,)) for paths in files])
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        raise
    return Filled(files, task.number)
