"""A limit on memory: which limit, and the per-query plan in buckets that keep it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polars_rank._engine.layout import unpickled
from polars_rank._engine.plan import PerQuery
from polars_rank._engine.spill.progress import Listener
from polars_rank._engine.trace import Question
from polars_rank.measures.measure import Custom, Measure

__all__ = ["Memory", "bucketed", "fits", "memory_of"]

# Bytes that evaluating takes for each byte of the rows; measured, and rounded up.
SUMS, LISTS = 4, 8


class Memory(NamedTuple):
    """A limit in bytes; where temporary files go; who hears of the progress."""

    limit: int
    temp_dir: str | Path | None
    progress: Listener | None


def memory_of(
    limit: int | str | None, temp_dir: str | Path | None, progress: Listener | None
) -> Memory | None:
    """Check the arguments."""
    if limit is not None:
        from polars_rank._engine.spill.budget import parse_memory_limit

        return Memory(parse_memory_limit(limit), temp_dir, progress)
    for name, given in (("temp_dir", temp_dir), ("progress", progress)):
        if given is not None:
            msg = f"{name} is for bounded memory: give memory_limit too"
            raise ValueError(msg)
    return None


def bucketed(
    question: Question,
    parts: Sequence[pl.LazyFrame],
    planned: Callable[[Sequence[pl.LazyFrame]], PerQuery],
    memory: Memory,
) -> PerQuery:
    """The same values, bucket by bucket; queries in any order."""
    from polars_rank._engine.spill.source import bounded  # slow to import

    frame = bounded(
        parts,
        question.log.keys,
        lambda some: planned(some).frame,
        limit=memory.limit,
        temp_dir=memory.temp_dir,
        progress=memory.progress,
        fingerprint=_fingerprint(question),
        factor=LISTS if any(map(_by_lists, question.measures)) else SUMS,
    )
    return planned(parts)._replace(frame=unpickled(frame))


def _by_lists(measure: Measure | Custom) -> bool:
    """Whether it looks at a query's documents as a whole, not only at their sums."""
    return isinstance(measure, Custom) or measure.definition.uses_scores


def _fingerprint(question: Question) -> str:
    """Of the plan; functions look alike and differ, so theirs is never met again."""
    functions = any(isinstance(m, Custom) for m in question.measures)
    text = repr(question)
    return os.urandom(16).hex() if functions or "<function" in text else text


def fits(frame: pl.LazyFrame, memory: Memory) -> bool:
    """Whether an evaluation can hold these rows; they are counted."""
    from polars_rank._engine.spill.budget import Budget, size_of  # slow to import

    return size_of([frame]).memory <= Budget.of(memory.limit, SUMS).bucket
