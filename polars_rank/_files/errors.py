"""Disk errors that name the file."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import polars as pl

FULL = {
    errno.ENOSPC: "no space left on this disk",
    errno.EDQUOT: "your share of this disk is used up",
    errno.EFBIG: "a file would be larger than is allowed here",
}
OS_ERROR = re.compile(r"\(os error (\d+)\)")
# All that Polars says where the header of a page cannot be written, or read.
HEADER_FAILED = "Invalid thrift: transport error"
PROBE = 1 << 20  # bytes


@contextmanager
def full_disk(path: Path, way_out: str = "") -> Iterator[None]:
    """Name the file or folder on the full disk; Polars names no file."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        number = _number(error)
        if number is None and HEADER_FAILED in str(error):
            number = _refused(path if path.is_dir() else path.parent)
        if number not in FULL or getattr(error, "filename", None) is not None:
            raise
        message = FULL[number] + (way_out and f"; {way_out}")
        raise OSError(number, message, os.fspath(path)) from error


def is_full_disk(error: BaseException) -> bool:
    """Return whether the error means that the disk is full."""
    return _number(error) in FULL


def _number(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = OS_ERROR.search(str(error))
    return int(found[1]) if found else None


def _refused(folder: Path) -> int | None:
    """Return the errno when a little more is written into a folder, if that fails."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE))
    except OSError as error:
        return error.errno
    return None
