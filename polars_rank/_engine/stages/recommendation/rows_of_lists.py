"""The rows of lists: an item each, with its label and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, cast

import polars as pl

from polars_rank._engine.request import Request
from polars_rank._engine.stages.rank import LISTED
from polars_rank._engine.stages.recommendation.items import (
    PAST,
    PAST_COUNT,
    WORDS,
    Items,
    with_shares,
)
from polars_rank._engine.stages.recommendation.recording import (
    RecordingRecommendations,
)
from polars_rank._engine.stages.sum import LABELED, RELEVANT

Hold: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]


class Facts(NamedTuple):
    """What is known apart from any list.

    Attributes
    ----------
    items
        A row per item, if anything of them is needed.
    totals
        One row: numbers of users, interactions and items, and faults.
    marked
        A row per item of the catalog with the conditions that are counted, if any are.
    """

    items: pl.LazyFrame | None
    totals: pl.LazyFrame
    marked: pl.LazyFrame | None

    @classmethod
    def of(cls, known: Items, ranking: RecordingRecommendations, hold: Hold) -> Facts:
        """Find out what the measures need; ``hold`` what is read several times."""
        items, marked, totals = None, None, known.totals(ranking.words)
        if known.items is not None or ranking.words & {*WORDS}:
            items = hold(known.table(ranking.words, ranking.catalog_shares))
        if names := [*ranking.counted.named]:
            assert items is not None
            marked = known.catalog(items, totals)
            marked = hold(marked.select("doc", *ranking.counted.aliased()))
            sums = marked.select(pl.col(names).sum().cast(pl.Float64))
            totals = pl.concat([totals, sums], how="horizontal")
        return cls(items, totals, marked)


Known: TypeAlias = tuple[Items, Facts] | tuple[None, None]


def known_of(items: Items | None, ranking: RecordingRecommendations) -> Known:
    """Return the items with the facts, or nothing."""
    if items is None:
        return None, None
    return items, Facts.of(items, ranking, pl.LazyFrame.cache)


def rows_of_lists(
    request: Request,
    queries: pl.LazyFrame,
    ranking: RecordingRecommendations,
    about: Known,
) -> tuple[pl.LazyFrame, list[str]]:
    """Return a row per item of a list, and the columns that describe the query.

    ``queries`` have the lists, and what rows are joined by or counted by.
    """
    scalars: list[str] = []
    rows = _labeled(request, queries, ranking)
    known, facts = about
    if known is None or facts is None:
        return rows, scalars
    if facts.items is not None:
        rows = rows.join(facts.items, on="doc", how="left", maintain_order="left")
    on = [*known.keys]
    if "seen" in ranking.words:
        rows, pairs = rows.cache(), [*on, "doc"]  # read twice
        rows = rows.join(known.seen(rows), on=pairs, how="left", maintain_order="left")
    for name in ranking.past_shares:
        shares, totals = known.past_shares(name)
        rows = with_shares(rows, shares, known.keys)
        rows = rows.join(totals, on=on, how="left", maintain_order="left")
    for name in ranking.past_directions:
        dtype = cast("pl.Array", ranking.features[name])
        past = known.past_directions(name, dtype)
        rows = rows.join(past, on=on, how="left", maintain_order="left")
    pasts = ranking.past_shares | ranking.past_directions
    scalars += [PAST_COUNT + name for name in sorted(pasts)]
    if facts.marked is not None:
        rows = rows.cache()  # read twice
        past = known.past_counts(facts.marked, rows)
        rows = rows.join(past, on=on, how="left", maintain_order="left")
        scalars += [PAST + name for name in ranking.counted.named]
    counts = [*facts.totals.collect_schema()]
    rows = rows.join(facts.totals, how="cross", maintain_order="left")
    # Polars divides by a repeated number by multiplying with its inverse, which is
    # inexact and not what it does in a plan of several parts: make columns of them.
    zero = 0 * pl.col("rank").fill_null(0)
    return rows.with_columns(pl.col(counts) + zero), [*scalars, *counts]


def _labeled(
    request: Request, frame: pl.LazyFrame, ranking: RecordingRecommendations
) -> pl.LazyFrame:
    """Return a row per item of a list with its label, and one per item that it lacks.

    These are relevant ones without a rank, where a measure needs them.
    """
    labeled = request.qrels is not None and "label" in ranking.recorder.columns
    if labeled or request.relevant_items:
        frame = frame.cache()  # read again
    rows = _exploded(frame.drop(LABELED, RELEVANT, strict=False), LISTED)
    if labeled:
        labels = _exploded(frame.select("query", LABELED), LABELED)
        on = ["query", "rank"]
        rows = rows.join(labels, on=on, how="left", maintain_order="left")
    elif request.qrels is not None:
        rows = rows.with_columns(label=pl.lit(None, pl.Float64))
    if not request.relevant_items:
        return rows
    rows = rows.cache()  # read twice
    relevant = _exploded(frame.drop(LISTED, LABELED, strict=False), RELEVANT)
    lacking = (
        relevant.filter(pl.col("doc").is_not_null())
        .join(rows, on=["query", "doc"], how="anti")
        .with_columns(rank=pl.lit(None, pl.Float64))
    )
    both = pl.concat([rows, lacking], how="diagonal")
    return both.sort("query", maintain_order=True)


def _exploded(frame: pl.LazyFrame, lists: str) -> pl.LazyFrame:
    """Return a row per element of a list of structs; one of nulls if it is empty."""
    return frame.explode(lists, empty_as_null=True).unnest(lists)
