"""What an evaluation reads, as a number that changes whenever its result could."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

__all__ = ["digest_of"]

FORMAT = 1  # of the files that we leave for another run


def digest_of(
    parts: Sequence[pl.LazyFrame], plan: pl.LazyFrame, fingerprint: str
) -> str | None:
    """Digest of the plan, the files it scans (path, size, time), and our versions.

    None if that cannot be known: when a part reads anything but local files.
    """
    digest = hashlib.sha256()
    try:
        texts = [
            str(FORMAT),
            pl.__version__,
            fingerprint,
            plan.explain(optimized=False),
        ]
        for part in parts:
            texts += [str(part.collect_schema()), *_files(part)]
            digest.update(part.serialize())
    except Exception:  # whatever it is: then nobody can tell
        return None
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()[:32]


def _files(part: pl.LazyFrame) -> list[str]:
    """Path, size and time of every file; ``ValueError`` for any other source."""
    plan = part._ldf.visit()
    found, left = [], [plan.get_node()]
    while left:
        plan.set_node(left.pop())
        inputs = plan.get_inputs()
        if not inputs:
            paths = plan.view_current_node().paths
            if not paths:
                msg = "a scan without files"
                raise ValueError(msg)
            found += [_about(Path(path)) for path in paths]
        left += inputs
    return found


def _about(path: Path) -> str:
    status = path.stat()
    return f"{os.path.abspath(path)} {status.st_size} {status.st_mtime_ns}"
