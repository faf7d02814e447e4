"""A digest of an evaluation's inputs, which changes whenever its result could."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from glob import glob
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank.core.source import Source

__all__ = ["digest_of", "files_of"]

FORMAT = 2  # of the files that we leave for another run
CACHE = re.compile(r"CACHE\[id: [^\]]*\]")  # the id is random


def digest_of(
    parts: Sequence[pl.LazyFrame], plan: pl.LazyFrame, fingerprint: str
) -> str | None:
    """Digest of the plan, of the files it scans, and of the versions at work.

    None if that cannot be known: when a part reads anything but local files.
    """
    import polars_rank

    digest = hashlib.sha256()
    try:
        texts = [
            str(FORMAT),
            pl.__version__,
            polars_rank.__version__,
            fingerprint,
            CACHE.sub("CACHE", plan.explain(optimized=False)),
        ]
        for part in parts:
            texts += [str(part.collect_schema()), *map(_about, files_of(part))]
            digest.update(part.serialize())
    except Exception:  # whatever it is: then nobody can tell
        return None
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()[:32]


def files_of(part: pl.LazyFrame) -> list[Path]:
    """The files that a frame reads; ``ValueError`` if it has another source."""
    plan = part._ldf.visit()
    found: list[Path] = []
    left = [plan.get_node()]
    while left:
        plan.set_node(left.pop())
        inputs = plan.get_inputs()
        if not inputs:
            found += _paths(plan, part)
        left += inputs
    return found


def _paths(plan: Any, part: pl.LazyFrame) -> list[Path]:
    """The files that the scan at hand reads."""
    try:
        node = plan.view_current_node()
    except NotImplementedError:  # Arrow IPC: Polars shows it in the plan as written
        paths = _written_paths(part)
    else:
        if type(node).__name__ == "PythonScan":
            scan = node.options[0]
            paths = list(scan.files) if isinstance(scan, Source) else []
        else:
            paths = [Path(path) for path in node.paths]
    if not paths:
        msg = "a scan without files"
        raise ValueError(msg)
    return paths


def _written_paths(part: pl.LazyFrame) -> list[Path]:
    """The files of all scans, with those in their folders and behind their globs."""
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


def _about(path: Path) -> str:
    """Properties that tell a file from another one, even if size and time were kept.

    A copy over it has another change time, a file in its place another inode, and a
    retargeted link another real path.
    """
    status = path.stat()
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    place = f"{os.path.abspath(path)} {os.path.realpath(path)}"
    return f"{place} {status.st_dev} {status.st_ino} {status.st_size} {times}"
