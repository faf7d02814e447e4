"""Bounded memory: a lazy frame that, when collected, evaluates bucket by bucket."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from polars_rank._engine.spill.buckets import require_same_types
from polars_rank._engine.spill.budget import MB, Budget
from polars_rank._engine.spill.careful import Freed
from polars_rank._engine.spill.progress import Listener
from polars_rank._engine.spill.work import Evaluate, Spill, results
from polars_rank.core.source import lazy_source


def bounded(
    parts: Sequence[pl.LazyFrame],
    keys: Sequence[str],
    evaluate: Evaluate,
    *,
    limit: int,
    temp_dir: str | Path | None,
    progress: Listener | None,
    fingerprint: str,
    factor: float = 4,
) -> pl.LazyFrame:
    """Evaluate whole queries bucket by bucket, in about ``limit`` bytes of memory.

    Rows that fit are evaluated at once, without any file. Otherwise one pass over each
    part writes its rows into buckets by the hash of their query; rows keep their order.
    A bucket that is still too large is split again, unless it is a single query: that
    one is evaluated whatever it takes.

    Parameters
    ----------
    parts
        The log, or the run and its judgments ...: what is evaluated together. All have
        the columns ``keys``, of the same types.
    evaluate
        Plan for some of the queries, given the rows that each part has for them: one
        row per query. Called for every bucket; it must not look beyond it.
    limit
        Bytes that the process may take, if it holds little else.
    temp_dir
        Folder for the temporary files, instead of the system's. If it is given, buckets
        and their results survive a kill, and the next evaluation of the same resumes
        from them. (It starts over if data are not in local files, or if files cannot be
        locked.) Of two equal evaluations at the same time, the second shares nothing.
    progress
        Called with a :class:`Progress`, perhaps from another thread.
    fingerprint
        Distinguishes evaluations of the same files.
    factor
        Bytes of memory that evaluation takes per byte of the rows.

    Returns
    -------
    The rows of ``evaluate`` in the order of the buckets, i.e. unordered.

    Raises
    ------
    OSError
        When collected: the disk is too small; the message names the folder.
    """
    if temp_dir is not None and not (str(temp_dir) and Path(temp_dir).is_dir()):
        msg = f"temp_dir must be a folder that exists, not {str(temp_dir)!r}"
        raise ValueError(msg)
    require_same_types(parts, keys)
    plan = evaluate(parts)
    budget = Budget.of(limit, factor)
    spill = Spill(
        parts=parts,
        keys=keys,
        evaluate=evaluate,
        plan=plan,
        budget=budget,
        folder=Path(temp_dir or tempfile.gettempdir()).absolute(),
        resume=temp_dir is not None,
        progress=progress,
        fingerprint=fingerprint,
        freed=Freed(budget),
    )

    return lazy_source(
        lambda columns: results(spill),
        plan.collect_schema(),
        name="bounded memory",
        detail=f"limit {limit / MB:.0f} MB",
    )
