"""Write a frame so that a reader finds the old file or the new one, whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from polars_rank._files.temporary import private_folder

if TYPE_CHECKING:
    import polars as pl

__all__ = ["write"]

_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".arrow": "ipc",
}


def write(frame: pl.LazyFrame | pl.DataFrame, path: str | Path) -> None:
    """Write a frame, streaming, in the format that the extension names.

    The rows go to a file in a hidden folder there, which takes the place of ``path``
    once it is whole and on disk. Whatever goes wrong before that, the folder is removed
    (after a kill: by the next run) and an older file at ``path`` stays as it was.

    Parameters
    ----------
    frame
        What to write; a lazy frame is collected by the streaming engine.
    path
        A file that ends in ``.parquet``, ``.csv``, ``.ndjson``, ``.jsonl`` or
        ``.arrow``.

    Raises
    ------
    ValueError
        If the extension is none of these.
    FileNotFoundError
        If the folder does not exist.
    """
    found = _FORMATS.get(os.path.splitext(path)[1].lower())
    if found is None:
        raise ValueError(f"{path}: the name must end in one of {', '.join(_FORMATS)}")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: no such folder: {target.parent}")
    lazy = frame.lazy()
    with private_folder(target.parent) as folder:
        hidden = folder / target.name
        if found == "parquet":
            lazy.sink_parquet(hidden, engine="streaming")
        elif found == "csv":
            lazy.sink_csv(hidden, check_extension=False, engine="streaming")
        elif found == "ndjson":
            lazy.sink_ndjson(hidden, check_extension=False, engine="streaming")
        else:
            lazy.sink_ipc(hidden, engine="streaming")
        _to_disk(hidden)
        os.replace(hidden, target)
    if os.name == "posix":
        _to_disk(target.parent)


def _to_disk(path: Path) -> None:
    """Ask the system to bring a file or folder onto the disk."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
