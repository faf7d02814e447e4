"""Room for the temporary files."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from polars_rank._engine.spill.budget import MB, Size

__all__ = ["full_disk_named", "require_space"]

FULL = {errno.ENOSPC, errno.EDQUOT}
WAY_OUT = "name a folder on a larger disk with temp_dir="


def require_space(size: Size, base: Path) -> None:
    """Raise ``OSError`` unless the buckets fit on the disk."""
    free = shutil.disk_usage(base).free
    if size.disk > free:
        msg = (
            f"the temporary files need about {size.disk / MB:.0f} MB, but "
            f"{free / MB:.0f} MB are free in {base}; {WAY_OUT}"
        )
        raise OSError(errno.ENOSPC, msg)


@contextmanager
def full_disk_named(folder: Path) -> Iterator[None]:
    """Say where the disk was full."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        number = getattr(error, "errno", None)
        if number not in FULL and not any(f"os error {n})" in str(error) for n in FULL):
            raise
        msg = f"no space left for the temporary files in {folder.parent}; {WAY_OUT}"
        raise OSError(errno.ENOSPC, msg) from error
