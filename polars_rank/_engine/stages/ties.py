"""Order equal scores by document id, where the order can change a value.

Sorting by score and id takes twice the time of sorting by score. For every measure,
documents with equal scores and equal labels are interchangeable, so ids are compared
only in queries that have equal scores with different labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from polars_rank._engine.stages.rank import DocTies
from polars_rank.core.words.ranking import order_by

ROW = pl.col("row")
SCORE, LABEL = pl.col("score"), pl.col("label")
MIXED = SCORE.eq_missing(SCORE.shift(1)) & LABEL.ne_missing(LABEL.shift(1))


def settle_ties(
    queries: pl.LazyFrame, payload: Sequence[str], ties: DocTies
) -> pl.LazyFrame:
    """Return the queries with ties settled; of the documents, only the payload is kept.

    ``row`` is a list of structs with ``doc``, ``label`` and ``score``, by score.
    """
    schema = queries.collect_schema()
    kept = _payload(payload)
    inner = pl.LazyFrame(schema={"row": schema["row"]}).select(ROW.list.eval(kept))
    return queries.map_batches(
        partial(_settled, payload=kept, ties=ties),
        schema=pl.Schema({**schema, **inner.collect_schema()}),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        validate_output_schema=False,
        streamable=True,
    )


def _payload(names: Sequence[str]) -> pl.Expr:
    fields = [pl.element().struct.field(name) for name in names]
    return fields[0] if len(fields) == 1 else pl.struct(fields)


def _settled(queries: pl.DataFrame, *, payload: pl.Expr, ties: DocTies) -> pl.DataFrame:
    mixed = _queries_with_mixed_ties(queries["row"])
    kept = queries.with_columns(ROW.list.eval(payload))
    if mixed.is_empty():
        return kept
    few = _by_doc(queries[mixed].select("row"), ties)
    settled = few.select(ROW.list.eval(payload))["row"]
    numbers = pl.int_range(len(queries), dtype=pl.get_index_type(), eager=True)
    tied = numbers.is_in(mixed.implode())
    nearest = (tied.cum_sum().cast(pl.Int64) - 1).clip(0)
    return kept.with_columns(settled.gather(nearest).zip_with(tied, kept["row"]))


def _queries_with_mixed_ties(rows: pl.Series) -> pl.Series:
    """Return the numbers of queries in which equal scores have different labels.

    The last document of a query and the first of the next may also look like that.
    """
    documents = rows.explode().struct.unnest()
    places = documents.select(MIXED).to_series().arg_true()
    if places.is_empty():
        return places
    ends = rows.list.len().cum_sum()
    numbers = ends.search_sorted(places, side="right")
    return pl.Series(numbers, dtype=pl.get_index_type()).unique(maintain_order=True)


def _by_doc(queries: pl.DataFrame, ties: DocTies) -> pl.DataFrame:
    rows = queries.with_row_index("number").explode("row").unnest("row")
    doc = pl.col("doc")
    doc = doc.cast(pl.String) if rows.schema["doc"].is_integer() else doc
    keys, downwards = order_by(SCORE, label=LABEL, doc=doc, ties=ties)
    row = pl.struct(rows.columns[1:])
    row = row.sort_by(keys, descending=downwards, nulls_last=True, maintain_order=True)
    return (
        rows.lazy()
        .set_sorted("number")
        .group_by("number", maintain_order=True)
        .agg(row.alias("row"))
        .collect(engine="in-memory")
    )
