"""Find the documents that left a list, and those that are in no list any more."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank.comparison.gate.comparability import BASE, NEW
from polars_rank.comparison.input.values import Source, lazy

LISTED = 10
Counts = dict[str, int]


def first_documents(
    run: pl.LazyFrame, query: Sequence[str], doc: str, place: str, *, descending: bool
) -> pl.LazyFrame:
    """List the first documents of every query, best first, as ``documents``."""
    ordered = pl.col(doc).sort_by(
        [place, pl.col(doc).cast(pl.String)], descending=[descending, True]
    )
    return run.group_by(*query).agg(ordered.head(LISTED).alias("documents"))


class Lists:
    """The documents of every query, in the baseline and now."""

    def __init__(
        self, baseline: Source, values: Source, query: list[str], column: str
    ) -> None:
        sides = {}
        for side, source in ((BASE, baseline), (NEW, values)):
            frame = lazy(source)
            kind = frame.collect_schema().get(column)
            if not isinstance(kind, pl.List):
                which = "baseline" if side == BASE else "new values"
                has = "no column" if kind is None else f"no lists, but {kind}, in"
                msg = f"documents={column!r}: the {which} have {has} {column!r}"
                raise ValueError(msg)
            listed = pl.col(column).cast(pl.List(pl.String)).alias(f"{side}_documents")
            sides[side] = frame.select(*query, listed).collect()
        self._query = query
        self._base, self._new = sides[BASE], sides[NEW]

    def counts(self) -> Counts:
        """Count the documents that the baseline lists, and those in no list now."""
        had, have = (
            frame.select(pl.col(frame.columns[-1]).alias("doc"))
            .explode("doc", empty_as_null=False)
            .drop_nulls()
            .unique()
            for frame in (self._base, self._new)
        )
        return {"count": len(had), "gone": len(had.join(have, on="doc", how="anti"))}

    def notes(self) -> tuple[str, ...]:
        """Tell of queries without a document, which a mean of zeros does not show."""
        before, now = (
            frame.select(pl.last().list.len().fill_null(0).eq(0).sum()).item()
            for frame in (self._base, self._new)
        )
        some = f"{now} of {len(self._new)} queries"
        have = "has" if now == 1 else "have"
        told = f"{some} {have} no document now; in the baseline {before} had none"
        return (told,) if now else ()

    def first_that_left(self, queries: pl.DataFrame) -> pl.DataFrame:
        """Add ``left``, the first document of the baseline's list that is gone."""
        both = queries.with_row_index("_row")
        for side in (self._base, self._new):
            known = side.unique(self._query)
            both = both.join(known, on=self._query, how="left", nulls_equal=True)
        both = both.sort("_row")
        before, now = f"{BASE}_documents", f"{NEW}_documents"
        left = (
            both.select("_row", now, left=before)
            .explode("left", empty_as_null=False)
            .filter(~pl.col("left").is_in(pl.col(now)))
            .group_by("_row", maintain_order=True)
            .agg(pl.col("left").first())
        )
        return both.join(left, on="_row", how="left", maintain_order="left").drop(
            "_row", before, now
        )
