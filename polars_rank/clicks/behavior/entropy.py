"""Measure how much the clicks of a query are spread over documents."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import (
    LogOptions,
    refuse_options,
    require_distinct,
)
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.log.position_counts import (
    pair_table,
    rows_with_known,
    unless_faulty,
)


@function_of_log
def click_entropy(log: AnyFrame, /, **options: Unpack[LogOptions]) -> AnyFrame:
    """Compute the click entropy of each query, in bits: 0 if one document has all.

    ``-sum over documents of p log2 p``, where p is the document's share of the clicks
    of the query. Low for queries with one answer, high for those that mean several
    things, or that personalization can help.

    Parameters
    ----------
    log
        One row per document that an impression showed; or totals (``count=``).
    **options
        Columns and options of :class:`LogOptions`; ``weight`` is refused, ``cluster``
        not used.

    Returns
    -------
    A frame like ``log``, one row per segment and query, sorted: the ``by`` columns, the
    query, ``impressions`` of documents, ``clicks``, ``documents`` that were clicked,
    and ``click_entropy``: null without a click.

    Source: Dou, Song and Wen, WWW 2007.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> log = pl.DataFrame(
    ...     {
    ...         "impression_id": [1, 1, 2, 2, 3, 3],
    ...         "query_id": ["a", "a", "a", "a", "b", "b"],
    ...         "doc_id": ["x", "y", "x", "y", "x", "z"],
    ...         "position": [1, 2, 1, 2, 1, 2],
    ...         "clicked": [1, 0, 0, 1, 0, 1],
    ...     }
    ... )
    >>> clicks.click_entropy(log)["query_id", "click_entropy"].rows()
    [('a', 1.0), ('b', 0.0)]
    """
    refuse_options(
        options,
        ["weight"],
        "click_entropy takes no {name}=; filter the log, or give totals (count=)",
    )
    bound: ClickLog = ClickLog.of(log, options, needs=["query", "doc"], totals=True)
    bound = rows_with_known(bound)
    by: list[str] = bound.own(bound.by)
    c = pl.col("c")

    def entropies(pairs: pl.LazyFrame) -> pl.LazyFrame:
        documents = pairs.group_by(*by, "query", "doc").agg(pl.col("n", "c").sum())
        clicks, term = pl.col("clicks"), c * c.log(2)
        queries = documents.group_by(*by, "query").agg(
            impressions=pl.col("n").sum(),
            clicks=c.sum(),
            documents=(c > 0).sum(),
            # A list keeps its order, and its sum the last bit; a sum forgets a sort.
            terms=term.filter(c > 0).sort().implode(),
        )
        bits = clicks.log(2) - pl.col("terms").list.sum() / clicks
        return queries.select(
            pl.exclude("terms"),
            click_entropy=pl.when(clicks > 0).then(bits.clip(lower_bound=0.0)),
        )

    own = [bound.roles["query"], "impressions", "clicks", "documents", "click_entropy"]
    require_distinct([*bound.by, *own])
    found = pair_table(bound, by, entropies).sort(*by, "query", nulls_last=True)
    found = unless_faulty(found, bound)
    names = dict(zip([*by, "query"], [*bound.by, bound.roles["query"]], strict=True))
    return like_input(log, found.rename(names), in_memory=bound.small)
