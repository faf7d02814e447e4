"""Find the file behind a frame that cannot be read, since Polars does not name it.

Files are looked at only after something has failed.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank._files.errors import is_full_disk
from polars_rank.core.source import Source
from polars_rank.exceptions import DataError
from polars_rank.io.files import given_name
from polars_rank.io.same_columns import binary_format, require_same_columns

DAMAGED = pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError
BY_ROWS = (  # of these, the rows may be at fault, and not only what is said of them
    pl.exceptions.ComputeError,
    pl.exceptions.OutOfBoundsError,
    pl.exceptions.PanicException,
    OSError,
)
BY_COLUMNS = pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError


@contextmanager
def damage_named(frames: Sequence[pl.LazyFrame]) -> Iterator[None]:
    """Name the file that cannot be read, if that is why Polars fails.

    A binary file that Polars cannot read on its own is a ``DataError``. For text, the
    class of the error is kept, as a cast in the user's plan may be at fault.
    """
    try:
        yield
    except DAMAGED as error:
        if not is_full_disk(error) and getattr(error, "filename", None) is None:
            _name(frames, error)
        raise


def _name(frames: Sequence[pl.LazyFrame], error: BaseException) -> None:
    rows = isinstance(error, BY_ROWS)
    for file in dict.fromkeys(file for f in frames for file in _local_files(f)):
        reason = unreadable(file, rows=rows)
        if reason is not None:
            raise DataError(
                f"{given_name(file)}: cannot be read: {reason}. Copy or write it again."
            ) from error
    if isinstance(error, BY_COLUMNS):
        _name_columns(frames)
    if isinstance(error, pl.exceptions.ComputeError):
        _name_text(frames, error)


def _local_files(frame: pl.LazyFrame) -> list[Path]:
    for find in (files_of, _written_paths):  # the first one reads footers
        try:
            return [path for path in find(frame) if path.is_file()]
        except (Exception, pl.exceptions.PanicException):  # not all are files
            continue
    return []


def unreadable(file: Path, *, rows: bool) -> str | None:
    """Return Polars' error for a binary file that it cannot read to the end, if any."""
    try:
        format = binary_format(file)
        if format is None:
            return None
        frame = format.scan([os.fspath(file)], False)
        frame.collect_schema()
        if rows:
            deque(frame.collect_batches(engine="streaming"), maxlen=0)
    except DAMAGED as error:
        return str(error).strip().partition("\n")[0].rstrip(".")
    return None


def _name_text(
    frames: Sequence[pl.LazyFrame], error: pl.exceptions.ComputeError
) -> None:
    """Raise the error with the names of the files that fail when read alone."""
    for frame in frames:
        files = [given_name(file) for file in _local_files(frame)]
        if not files or any(str(error).startswith(file) for file in files):
            continue
        try:
            deque(frame.collect_batches(engine="streaming"), maxlen=0)
        except DAMAGED:
            others = f" and {len(files) - 1} more" if len(files) > 1 else ""
            raise type(error)(f"{files[0]}{others}: {error}") from error


def _name_columns(frames: Sequence[pl.LazyFrame]) -> None:
    """Raise if the files of a scan differ in their columns."""
    for frame in frames:
        try:
            scans = _scans(frame)
        except (Exception, pl.exceptions.PanicException):  # not all are files
            continue
        if len(scans) == 1:  # of several, none is at fault for sure
            require_same_columns(scans[0])


def files_of(frame: pl.LazyFrame) -> list[Path]:
    """Return the files that a frame reads; ``ValueError`` if it has another source."""
    return [path for paths in _scans(frame) for path in paths]


def _scans(frame: pl.LazyFrame) -> list[list[Path]]:
    """Return the files of each scan."""
    plan = frame._ldf.visit()  # not public: see core/source.py
    found: list[list[Path]] = []
    left = [plan.get_node()]
    while left:
        plan.set_node(left.pop())
        inputs = plan.get_inputs()
        if not inputs:
            found.append(_paths(plan, frame))
        left += inputs
    return found


def _paths(plan: Any, part: pl.LazyFrame) -> list[Path]:
    """Return the files that the scan at hand reads."""
    try:
        node = plan.view_current_node()
    except NotImplementedError:  # Arrow IPC: Polars shows it in the plan as written
        paths = _written_paths(part)
    else:
        if type(node).__name__ == "PythonScan":
            scan = node.options[0]
            paths = list(scan.files) if isinstance(scan, Source) else []
        else:
            paths = [Path(path) for path in getattr(node, "paths", ())]
    if not paths:
        msg = "a scan without files"
        raise ValueError(msg)
    return paths


def _written_paths(part: pl.LazyFrame) -> list[Path]:
    """List the files of all scans, those in folders and behind globs included."""
    stream = BytesIO()
    part._ldf.serialize_json(stream)
    paths, left = [], [json.loads(stream.getvalue())]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            for path in node.get("Paths", ()):
                text = path["inner"]
                found = [text] if os.path.exists(text) else glob(text, recursive=True)
                paths += [Path(name) for name in found or [text]]
            left += node.values()
        elif isinstance(node, list):
            left += node
    folders = [path for path in paths if path.is_dir()]
    below = [path for folder in folders for path in sorted(folder.rglob("*"))]
    return sorted({*paths, *below})
