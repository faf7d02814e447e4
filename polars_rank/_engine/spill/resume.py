"""Resume after a kill, from buckets and results of buckets on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from polars_rank._engine.spill.buckets import Bucket
from polars_rank._engine.spill.disk import full_disk_named
from polars_rank._files.temporary import write_whole

MANIFEST = "manifest.json"


def write_manifest(folder: Path, buckets: Sequence[Bucket]) -> None:
    """Record that the buckets are complete: each file with its size, and a digest."""
    rows = [
        [
            [[str(path.relative_to(folder)), path.stat().st_size] for path in files]
            for files in bucket.files
        ]
        for bucket in buckets
    ]
    text = json.dumps(rows)
    with full_disk_named(folder):
        write_whole(
            folder / MANIFEST, lambda path: path.write_text(f"{_digest(text)}\n{text}")
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(folder: Path) -> list[Bucket] | None:
    """The buckets, if all of them are complete or evaluated, else None.

    None, too, for a manifest that is not as it was written: fewer buckets in it would
    be fewer queries in the result.
    """
    try:
        digest, _, text = (folder / MANIFEST).read_text().partition("\n")
    except (FileNotFoundError, ValueError):
        return None
    if digest != _digest(text):
        return None
    rows = json.loads(text)
    for i, bucket in enumerate(rows):
        if _result(folder, i).exists():
            continue
        for files in bucket:
            for name, size in files:
                path = folder / name
                if not path.exists() or path.stat().st_size != size:
                    return None
    return [
        Bucket(tuple(tuple(folder / name for name, _ in files) for files in bucket))
        for bucket in rows
    ]


def read_or_write(
    folder: Path, i: int, frames: Iterable[pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Read the result of bucket ``i``, or compute and save it."""
    path = _result(folder, i)
    if not path.exists():
        frame = pl.concat(frames)
        with full_disk_named(folder):
            write_whole(path, frame.write_parquet)
        yield frame
    else:
        yield pl.read_parquet(path, glob=False, hive_partitioning=False)


def _result(folder: Path, i: int) -> Path:
    return folder / f"result-{i}.parquet"
