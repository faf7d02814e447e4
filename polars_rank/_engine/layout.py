"""Where the rows of a query stand: in any order, or together. Proved, never trusted.

A sorted group-by takes rows that stand together as they are, whatever the order of the
queries: each run of equal keys becomes one row. Its result is exact if and only if the
keys of these rows are unique, so that is what is checked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_rank._engine.checks.enforce import raise_faults
from polars_rank._engine.checks.unique import Keys
from polars_rank.core.source import lazy_source, require_rereadable
from polars_rank.exceptions import DataError

__all__ = [
    "IN_MEMORY_ROWS",
    "Grouping",
    "Layout",
    "first_that_holds",
    "glanced_at",
    "one_run_each",
    "proved",
    "streamed",
    "unpickled",
]

Layout: TypeAlias = Literal["auto", "any", "contiguous"]
Grouping: TypeAlias = Literal["sort", "contiguous", "hash"]
APART = (
    "the rows of a query do not stand together, as layout='contiguous' says; "
    "use layout='any' (or 'auto'), or sort the rows by query"
)
IN_MEMORY_ROWS = 200_000
BATCH = 50_000  # queries; smaller ones cost a tenth of the time
LOOKS = 4  # batches
LOG = logging.getLogger("polars_rank")


def glanced_at(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows, or an error if in the first of them a query comes back.

    It spares ``layout="auto"`` the pass over a shuffled file: an error inside the plan
    ends it at once. The proof is ``proved``.
    """
    looks = iter(range(LOOKS))

    def together(columns: Sequence[pl.Series]) -> pl.Series:
        (query,) = columns
        if next(looks, None) is not None:
            key = query.hash()  # forgets a claimed order; n_unique would believe it
            runs = (key != key.shift(1)).fill_null(value=True).sum()
            if key.n_unique() < runs:
                raise DataError(APART)
        return query

    query = rows.collect_schema()["query"]
    return rows.with_columns(
        pl.map_batches(["query"], together, return_dtype=query, is_elementwise=True)
    )


def one_run_each(per_query: pl.LazyFrame) -> pl.LazyFrame:
    """The rows of ``per_query``, or an error if ``runs`` counts two of a query's."""
    apart = per_query.with_columns(runs=(pl.col("runs") > 1).cast(pl.UInt32))
    return raise_faults(
        apart,
        {"runs": APART},
        refusals=frozenset({"runs"}),
        example="query",
        check="off",
        whole=False,
    )


def proved(per_query: pl.LazyFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows of ``per_query``, or an error if a ``query`` comes twice.

    ``rows`` has the same keys, in any number, to count them where they were not kept.
    """
    return streamed(per_query, lambda: Keys(rows))


def streamed(
    plan: pl.LazyFrame, proof: Callable[[], Keys] | None = None
) -> pl.LazyFrame:
    """The same rows from the streaming engine, which alone keeps no claimed order.

    The ``proof`` looks at every ``query``.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        keys = None if proof is None else proof()
        asked = plan.select(*dict.fromkeys(["query", *columns]))
        for batch in asked.collect_batches(
            chunk_size=BATCH, engine="streaming", lazy=True
        ):
            if keys is not None:
                keys.add(batch["query"])
            yield batch
        if keys is not None and not keys.unique():
            raise DataError(APART)

    source = lazy_source(
        read,
        plan.collect_schema(),
        name="rows of a query together, proved",
        drain=proof is not None,
    )
    return unpickled(source)


def unpickled(source: pl.LazyFrame) -> pl.LazyFrame:
    """Keep filters that call Python out of the source: they would be pickled."""
    return source.map_batches(
        lambda rows: rows, predicate_pushdown=False, streamable=True
    )


def first_that_holds(
    attempt: Callable[[], pl.LazyFrame],
    fallback: pl.LazyFrame,
    *,
    claim: str,
    otherwise: str,
    reads: Sequence[pl.LazyFrame],
) -> pl.LazyFrame:
    """Result of ``attempt``, or of ``fallback`` if the ``claim`` is not true.

    Any error in the data sends it to ``fallback``, which tells it in full: what a
    failed attempt saw is not the truth. A cast that fails is one, too. Both see the
    frames that it ``reads``, or it is an error.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        held = True
        try:
            result = attempt().select(columns).collect(engine="streaming")
            LOG.info("layout: %s (proved)", claim)
        except (DataError, pl.exceptions.InvalidOperationError) as error:
            held = False
            refuted = APART in str(error) or not isinstance(error, DataError)
            found = f"it is not true that {claim}"
            found = found if refuted else "the data break a rule"
        if not held:
            LOG.info("layout: %s; %s", found, otherwise)
            require_rereadable(*reads)
            result = fallback.select(columns).collect(engine="streaming")
        yield result

    return lazy_source(read, fallback.collect_schema(), name="layout=auto")
