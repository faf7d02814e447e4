"""A digest of an evaluation's inputs, which changes whenever its result could."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from polars_rank.io.unreadable import files_of

FORMAT = 3  # of the files that we leave for another run
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


def _about(path: Path) -> str:
    """Properties that tell a file from another one, even if size and time were kept.

    A copy over it has another change time, a file in its place another inode, and a
    retargeted link another real path.
    """
    status = path.stat()
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    place = f"{os.path.abspath(path)} {os.path.realpath(path)}"
    return f"{place} {status.st_dev} {status.st_ino} {status.st_size} {times}"
