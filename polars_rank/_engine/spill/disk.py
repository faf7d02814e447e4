"""Room for the temporary files."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from polars_rank._engine.spill.budget import MB, Size
from polars_rank._files.errors import full_disk

WAY_OUT = "name a folder on a larger disk with temp_dir="


def require_space(size: Size, base: Path) -> None:
    """Raise ``OSError`` unless the buckets fit on the disk."""
    free = shutil.disk_usage(base).free
    if size.disk > free:
        msg = (
            f"the temporary files need about {size.disk / MB:.0f} MB, but "
            f"{free / MB:.0f} MB are free; {WAY_OUT}"
        )
        raise OSError(errno.ENOSPC, msg, os.fspath(base))


def full_disk_named(file: Path) -> AbstractContextManager[None]:
    """Name the folder in which the disk was full, and the way out."""
    return full_disk(file.parent, WAY_OUT)
