"""Copies of a document in a query: made one, or kept at ranks that gain nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from polars_rank._engine.stages.rank import pack, unpack
from polars_rank.core.words.ranking import Ties

Rows = pl.DataFrame | pl.LazyFrame


def best_of_copies(
    frame: pl.LazyFrame, keys: Sequence[str], ids: Sequence[str], *, contiguous: bool
) -> pl.LazyFrame:
    """Return the best score, rank and label of each document, at its first row.

    A place that only other copies had is closed: what follows it moves up.
    """
    if contiguous:
        schema = pack(frame, keys).collect_schema()
        apart = ["run", "query"]

        def change(rows: pl.DataFrame) -> pl.DataFrame:
            placed = rows.with_columns(_place(schema, apart))
            best = placed.group_by(*apart, *ids, maintain_order=True).agg(
                _best(placed.schema, [*apart, *ids])
            )
            return best.with_columns(_closed(schema, apart))

        return _by_runs(frame, keys, change, schema)
    on = [*keys, *ids]
    schema = frame.collect_schema()
    placed = frame.with_columns(_place(schema, keys)).with_row_index("row")
    best = placed.group_by(on).agg(*_best(placed.collect_schema(), on))
    return (
        best.with_columns(_closed(schema, keys))
        .sort("row")
        .drop("row", _PLACE, strict=False)
    )


_PLACE = "place"  # of a row among the ranks that its query has: 1, 2, 3 ...


def _place(schema: pl.Schema, keys: Sequence[str]) -> list[pl.Expr]:
    if "rank" not in schema:
        return []
    return [pl.col("rank").rank("dense").cast(pl.Int64).over(keys).alias(_PLACE)]


def _closed(schema: pl.Schema, keys: Sequence[str]) -> list[pl.Expr]:
    """Return the rank less the number of places above that no document has now."""
    if "rank" not in schema:
        return []
    left = pl.col(_PLACE).rank("dense").cast(pl.Int64).over(keys)
    return [(pl.col("rank") - (pl.col(_PLACE) - left)).cast(schema["rank"])]


def number_copies(
    frame: pl.LazyFrame, keys: Sequence[str], *, ties: Ties, contiguous: bool
) -> pl.LazyFrame:
    """Make ``doc`` the id and the number of the copy: 0 for the one that ranks first.

    So ids are unique, and the others match no judgment; in a log they lose their label.
    Numbers are in the direction in which ids order ties: copies that are tied keep the
    order of the input.
    """
    if contiguous:
        schema = pack(frame, keys).collect_schema()
        numbered = pl.Struct({"doc": schema["doc"], "copy": pl.Int64})

        def change(rows: pl.DataFrame) -> pl.DataFrame:
            return _numbered(rows.lazy(), ["run", "query", "doc"], ties).collect()

        return _by_runs(frame, keys, change, pl.Schema({**schema, "doc": numbered}))
    return _numbered(frame, [*keys, "doc"], ties)


def number_judgments(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Make ``doc`` that of the first copy, for judgments without copies."""
    return frame.with_columns(_with_number(pl.lit(0, pl.Int64)))


def _numbered(frame: pl.LazyFrame, on: Sequence[str], ties: Ties) -> pl.LazyFrame:
    names = frame.collect_schema().names()
    place = "rank" if "rank" in names else "score"
    number = pl.int_range(pl.len()).over(
        on, order_by=place, descending=place == "score", nulls_last=True
    )
    first = pl.col("copy") == 0
    changed = {"doc": _with_number(-pl.col("copy") if ties == "doc_desc" else "copy")}
    if "label" in names:
        changed["label"] = pl.when(first).then(pl.col("label"))
    return frame.with_columns(copy=number).with_columns(**changed).drop("copy")


def _with_number(number: pl.Expr | str) -> pl.Expr:
    """A null id stays null, so that it is reported."""
    doc = pl.col("doc")
    number = pl.col(number) if isinstance(number, str) else number
    return pl.when(doc.is_not_null()).then(pl.struct(doc, number.alias("copy")))


def _by_runs(
    frame: pl.LazyFrame,
    keys: Sequence[str],
    change: Callable[[pl.DataFrame], pl.DataFrame],
    schema: pl.Schema,
) -> pl.LazyFrame:
    """Change contiguous rows some queries at a time; they come with their ``run``.

    Rows of the same query that are apart stay apart, for the proof to find them.
    """
    rows = pack(frame, keys)
    lists = [name for name in rows.collect_schema() if name != "query"]

    def batch(queries: pl.DataFrame) -> pl.DataFrame:
        return change(queries.with_row_index("run").explode(lists)).select([*schema])

    runs = rows.set_sorted("query").group_by("query", maintain_order=True).agg(pl.all())
    changed = runs.map_batches(
        batch,
        schema=schema,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
    )
    return unpack(changed, keys)


def _best(schema: pl.Schema, on: Sequence[str]) -> list[pl.Expr]:
    """Return the best value of each other column among copies.

    Nulls and NaN, which cannot be compared, are kept, so that they are reported.
    """
    kept = []
    for name in (n for n in schema if n not in on):
        column = pl.col(name)
        best = {
            "rank": column.min(),
            _PLACE: column.min(),
            "row": column.min(),
            "score": column.max(),
            "label": column.max(),
        }
        value = best.get(name, column.first())
        if name in ("score", "label") and schema[name].is_float():
            value = pl.when(column.is_nan().any()).then(float("nan")).otherwise(value)
        if name == "score":
            value = pl.when(column.null_count() == 0).then(value)
        kept.append(value.alias(name))
    return kept
