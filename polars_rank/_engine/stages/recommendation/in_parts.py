"""Lists within a memory limit: some users at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import TypeAlias

import polars as pl

from polars_rank._engine.layout import in_batches
from polars_rank._engine.request import Resources
from polars_rank._engine.stages.rank import LISTED
from polars_rank._engine.stages.recommendation.items import Items
from polars_rank._engine.stages.recommendation.recording import (
    RecordingRecommendations,
)
from polars_rank._engine.stages.recommendation.rows_of_lists import (
    Facts,
    Known,
    known_of,
)
from polars_rank._engine.stages.sum import RELEVANT
from polars_rank.core.source import is_rereadable, lazy_source, without_pushdown

Evaluate: TypeAlias = Callable[[pl.LazyFrame, Known], pl.LazyFrame]
FACTOR = 16  # bytes that evaluating lists takes for each byte of them: measured
ITEM = 150  # bytes that an item takes, with its counts and a feature: measured
SLICED = 64  # bytes to keep free for each byte: lists are made meanwhile


def lists_in_parts(
    evaluate: Evaluate,
    queries: pl.LazyFrame,
    ranking: RecordingRecommendations,
    known: Items | None,
    resources: Resources,
    *,
    once: Collection[str],
) -> pl.LazyFrame:
    """Plan the same rows as ``evaluate``, which is called for some users at a time.

    What is known of items is computed first, and held. Where what is known of a user is
    needed, lists and history are put into buckets by user. The columns ``once`` count
    faults of the history and the items in the first row: they count in the first part
    only.
    """
    whole = evaluate(queries, known_of(known, ranking))

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with ExitStack() as stack:
            if known is None:
                parts = _slices(evaluate, queries, (None, None), resources)
            else:
                items = _reread(known, resources, stack)
                about = items, _facts(items, ranking, resources)
                of_some = _by_user if needs_past(ranking) else _slices
                parts = of_some(evaluate, queries, about, resources)
            first = pl.int_range(pl.len()) == 0
            for part in parts:
                yield part.with_columns(
                    pl.when(first).then(name).otherwise(0).alias(name) for name in once
                ).select(columns)
                if not part.is_empty():
                    first = pl.lit(value=False)

    schema = whole.collect_schema()
    frame = lazy_source(read, schema, name="lists within memory", drain=True)
    return without_pushdown(frame)


def needs_past(ranking: RecordingRecommendations) -> bool:
    """Tell whether a measure reads what its user did in the past."""
    return not ranking.words.isdisjoint({"seen", "past"}) or bool(ranking.counted.named)


def _facts(
    known: Items, ranking: RecordingRecommendations, resources: Resources
) -> Facts:
    """Compute what is known of items; all of it has to fit into memory."""
    from polars_rank._engine.spill.budget import Budget  # slow to import
    from polars_rank._engine.spill.careful import careful_by_sample

    frames = [frame for frame in (known.history, known.items) if frame is not None]
    with careful_by_sample(Budget.of(resources.memory, FACTOR), frames):
        if known.items is not None:  # before they are read
            _require_room(known.items, resources)
        facts = Facts.of(known._replace(resources=resources), ranking, _computed)
        facts = facts._replace(totals=_computed(facts.totals))
    if facts.items is not None:
        _require_room(facts.items, resources)
    return facts


def _computed(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.collect(engine="streaming").lazy()


def _require_room(items: pl.LazyFrame, resources: Resources) -> None:
    """Raise ``MemoryError`` if these items cannot be held within the limit."""
    from polars_rank._engine.spill.budget import (  # slow to import
        EVALUATING,
        LEAST,
        MB,
        overhead,
    )

    count = items.select(pl.len()).collect(engine="streaming").item()
    least = overhead() + EVALUATING + count * ITEM
    if LEAST <= resources.memory < least:
        msg = (
            f"memory_limit is too small for a catalog of {count:,} items, of which the "
            "counts and features are held in memory: give "
            f'memory_limit="{ceil(least / MB)}MB" or more'
        )
        raise MemoryError(msg)


def _reread(known: Items, resources: Resources, stack: ExitStack) -> Items:
    """Return the same; frames that can be read only once are copied to files first."""
    from polars_rank._engine.spill.work import spooled  # slow to import
    from polars_rank._files.temporary import private_folder

    base = Path(resources.temp_dir or tempfile.gettempdir()).absolute()

    def rereadable(frame: pl.LazyFrame | None, name: str) -> pl.LazyFrame | None:
        if frame is None or is_rereadable(frame):
            return frame
        folder = stack.enter_context(private_folder(base))
        return spooled(frame, folder / f"{name}.parquet")

    history = rereadable(known.history, "history")
    return known._replace(history=history, items=rereadable(known.items, "items"))


def _slices(
    evaluate: Evaluate, queries: pl.LazyFrame, known: Known, resources: Resources
) -> Iterator[pl.DataFrame]:
    """Evaluate the next lists that fit, in turn."""
    from polars_rank._engine.spill.budget import Budget  # slow to import

    most = Budget.of(resources.memory, SLICED).bucket
    for batch in in_batches(queries):
        width = batch.estimated_size() / max(batch.height, 1)
        for part in batch.iter_slices(max(int(most / width), 1)):
            rows = evaluate(part.lazy(), _narrowed(known, part))
            yield rows.collect(engine="in-memory")


def _narrowed(known: Known, queries: pl.DataFrame) -> Known:
    """Return what is known of the items of these lists.

    To find them costs less than to join with all items of a large catalog.
    """
    items, facts = known
    if items is None or facts is None or facts.items is None:
        return known
    docs = [
        queries[lists].explode().struct.field("doc")
        for lists in (LISTED, RELEVANT)
        if lists in queries.columns
    ]
    here = pl.col("doc").is_in(pl.concat(docs).unique().implode())
    return items, facts._replace(items=_computed(facts.items.filter(here)))


def _by_user(
    evaluate: Evaluate,
    queries: pl.LazyFrame,
    about: tuple[Items, Facts],
    resources: Resources,
) -> Iterator[pl.DataFrame]:
    """Evaluate the lists of some users, with what these did in the past."""
    from polars_rank._engine.spill.bounded import bounded  # slow to import

    known, facts = about
    assert known.history is not None

    def of_some(parts: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        lists, history = parts
        return evaluate(lists, (known._replace(history=history), facts))

    yield from in_batches(
        bounded(
            [queries, known.history],
            known.keys,
            of_some,
            limit=resources.memory,
            temp_dir=resources.temp_dir,
            progress=None,
            fingerprint="lists with the past of users",
            factor=FACTOR,
        )
    )
