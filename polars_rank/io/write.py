"""Write a frame so that a reader finds the old file or the complete new one."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import private_folder, replace_durably
from polars_rank.io.formats import extensions, format_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


BLOCK = 1 << 20


def write(
    frame: pl.LazyFrame | pl.DataFrame,
    path: str | Path,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a frame, streaming, in the format that the extension names.

    The rows are written to a file in a hidden folder beside ``path``. Once that file is
    complete and on disk, it replaces the one at ``path`` and keeps its permissions. If
    anything goes wrong before that, the folder is removed (after a kill: by the next
    run) and an older file at ``path`` stays as it was. A pipe or device at ``path`` is
    not replaced: it gets the whole file.

    Parameters
    ----------
    frame
        The frame; a lazy one is collected by the streaming engine.
    path
        A file whose extension is one of ``polars_rank.io.FORMATS``.
    metadata
        Key-value metadata of a Parquet file; other formats ignore it.

    Raises
    ------
    ValueError
        If the extension is none of these.
    FileNotFoundError
        If the folder does not exist.
    OSError
        If the disk is full; the message names the file.

    Examples
    --------
    >>> import pathlib, tempfile, polars as pl
    >>> from polars_rank import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "values.csv")
    ...     io.write(pl.DataFrame({"query_id": ["a"], "rr": [0.5]}), file)
    ...     file.read_text()
    'query_id,rr\\na,0.5\\n'
    """
    format = format_of(path)
    if format is None or os.path.splitext(path)[1].lower() not in extensions():
        raise ValueError(
            f"{path}: the name must end in one of {', '.join(extensions())}"
        )
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: no such folder: {target.parent}")
    lazy = frame.lazy()
    with full_disk(target), private_folder(target.parent) as folder:
        hidden = folder / target.name
        if metadata is not None and format.name == "Parquet":
            lazy.sink_parquet(hidden, metadata=dict(metadata), engine="streaming")
        else:
            format.sink(lazy, hidden)
        if target.exists() and not target.is_file():
            with hidden.open("rb") as whole, target.open("wb") as stream:
                shutil.copyfileobj(whole, stream, BLOCK)
            return
        if target.exists():
            hidden.chmod(stat.S_IMODE(target.stat().st_mode))
        replace_durably(hidden, target)
