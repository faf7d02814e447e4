"""Layouts: rows of a query in any order, or contiguous; always verified.

A sorted group-by takes contiguous rows as they are, whatever the order of the queries:
each run of equal keys becomes one row. Its result is exact if and only if the keys of
these rows are unique, so that is what is checked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from polars_rank._engine.checks.enforce import examples_of, report
from polars_rank._engine.checks.unique import UniquenessCheck
from polars_rank.core.rules import NOT_CONTIGUOUS
from polars_rank.core.source import (
    Narrow,
    Read,
    batches_of,
    lazy_source,
    require_rereadable,
    without_pushdown,
)
from polars_rank.exceptions import DataError
from polars_rank.io.unreadable import damage_named

BATCH = 50_000  # queries; smaller ones cost a tenth of the time
LOOKS = 4  # batches
SAMPLE = 64  # rows of a batch
LOG = logging.getLogger("polars_rank")


def reject_if_shuffled(rows: pl.LazyFrame, key: str = "query") -> pl.LazyFrame:
    """Fail fast on shuffled input: look closely at the first batches, then at samples.

    An error inside the plan ends it at once, which spares ``layout="auto"`` a pass.
    ``verify_contiguous`` does the full check.
    """
    glance = _Glance()

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        (query,) = columns
        if glance.sees_shuffled(query):
            raise DataError(NOT_CONTIGUOUS.message, rule=NOT_CONTIGUOUS.name)
        return query

    dtype = rows.collect_schema()[key]
    return rows.with_columns(
        pl.map_batches([key], check, return_dtype=dtype, is_elementwise=True)
    )


class _Glance:
    """A cheap check of batches of rows, in any order, for a query that comes back.

    Queries that begin and end within one of the first batches are remembered. None of
    them may occur in another batch, of which a few rows are checked.
    """

    def __init__(self) -> None:
        self.looks = iter(range(LOOKS))
        self.ended = pl.Series(dtype=pl.UInt64)  # hashes, sorted

    def sees_shuffled(self, query: pl.Series) -> bool:
        """Whether the rows of a query are certainly not contiguous."""
        key = query.gather_every(max(len(query) // SAMPLE, 1)).hash()
        ended = self.ended  # once: other threads may look at the same time
        before, after = (ended.search_sorted(key, s) for s in ("left", "right"))
        if (before != after).any():
            return True
        if next(self.looks, None) is None:
            return False
        key = query.hash()  # forgets a claimed order; n_unique would believe it
        starts = key.slice(1).filter(key.slice(1) != key.head(len(key) - 1))
        runs = pl.concat([key.head(1), starts])
        if runs.n_unique() < len(runs):
            return True
        self.ended = pl.concat([ended, runs[1:-1]]).sort()
        return False


def verify_contiguous(
    per_query: pl.LazyFrame, rows: pl.LazyFrame, key: str = "query"
) -> pl.LazyFrame:
    """The rows of ``per_query``, or an error if a ``key`` is not unique.

    ``rows`` has the same keys, perhaps repeated, to recount those that were not kept.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        keys = UniquenessCheck(rows, key)
        asked = per_query.select(*dict.fromkeys([key, *columns]))
        with damage_named([rows]):
            for batch in in_batches(asked):
                keys.add(batch[key])
                yield batch
        if not keys.unique():
            raise DataError(NOT_CONTIGUOUS.message, rule=NOT_CONTIGUOUS.name)

    return _proved(read, per_query.collect_schema())


def require_one_run(
    per_query: pl.LazyFrame, reads: Sequence[pl.LazyFrame]
) -> pl.LazyFrame:
    """The rows of ``per_query``, or an error if ``runs`` is above 1 for a query.

    The plan, which ``reads`` these frames, finishes before the error is raised: an
    error inside it would cancel a running join, and a thread of Polars might print a
    panic.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        apart: list[pl.Series] = []
        asked = per_query.select(*dict.fromkeys(["query", "runs", *columns]))
        with damage_named(reads):
            for batch in in_batches(asked, share=is_filtered(*reads)):
                found = batch.filter(pl.col("runs") > 1)["query"]
                apart += [found] * (not found.is_empty())
                if not apart:
                    yield batch
        if apart:
            # Lists of documents that are joined by query repeat it for each run.
            queries = pl.concat(apart).unique(maintain_order=True)
            report(
                NOT_CONTIGUOUS,
                len(queries),
                examples_of(queries),
                exact=True,
                warns=False,
            )

    return _proved(read, per_query.drop("runs").collect_schema())


def first_rule_first(frame: pl.LazyFrame, rules: Sequence[str]) -> pl.LazyFrame:
    """The rows; once one breaks a rule, only those that break the first such rule.

    ``rules`` are columns of counts. The other rows are read before these are passed on:
    so it is the same rule however the queries are dealt into batches.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        first, at_fault = len(rules), None
        for batch in in_batches(frame.select(*dict.fromkeys([*rules, *columns]))):
            broken = (i for i in range(first) if batch[rules[i]].sum())
            if (found := next(broken, None)) is not None:
                first = found
                at_fault = batch.filter(pl.col(rules[first]) > 0)
            elif at_fault is None:
                yield batch
            if first == 0:
                break
        if at_fault is not None:
            yield at_fault

    schema = frame.collect_schema()
    return without_pushdown(lazy_source(read, schema, name="rules in order"))


def _proved(read: Read, schema: pl.Schema) -> pl.LazyFrame:
    """A Python source, since the streaming engine itself keeps no claimed order."""
    name = "rows of a query together, proved"
    return without_pushdown(lazy_source(read, schema, name=name, drain=True))


def try_else(
    attempt: Callable[[], pl.LazyFrame],
    fallback: pl.LazyFrame,
    *,
    name: str,
    claim: str,
    otherwise: str,
    reads: Sequence[pl.LazyFrame],
    detail: str | None = None,
    narrow: Narrow | None = None,
    spool: Callable[[pl.LazyFrame], Iterator[pl.DataFrame]] | None = None,
    told: Callable[[DataError], DataError] | None = None,
) -> pl.LazyFrame:
    """The result of ``attempt``, or of ``fallback`` if the ``claim`` is false.

    Any error in the data leads to ``fallback``, which reports it in full: a failed
    attempt saw only some rows. A cast that fails is such an error, too. Both see the
    frames that it ``reads``, or it is an error.

    The result is held until it is verified: in memory, or where ``spool`` puts it,
    which yields its rows once it has all of them. ``told`` adds to an error that
    ``fallback`` reports. The plan shows the ``name``.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with damage_named(reads):
            yield from tried(columns)

    def tried(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        kept = _in_memory if spool is None or not columns else spool
        held = True
        result: Iterator[pl.DataFrame] = iter(())
        try:
            result = kept(attempt().select(columns))
            LOG.info("layout: %s (proved)", claim)
        except (
            DataError,
            MemoryError,  # the fallback needs less, or names the limit that it needs
            pl.exceptions.InvalidOperationError,
        ) as error:
            held = False
            rule = getattr(error, "rule", NOT_CONTIGUOUS.name)
            refuted = rule == NOT_CONTIGUOUS.name
            reason = (
                f"it is not true that {claim}" if refuted else "the data break a rule"
            )
        if not held:
            LOG.info("layout: %s; %s", reason, otherwise)
            require_rereadable(*reads)
            rest = fallback.select(columns)
            in_memory = kept is _in_memory
            try:
                yield from _in_memory(rest) if in_memory else in_batches(rest)
            except DataError as error:
                raise (error if told is None else told(error)) from None
        yield from result

    return lazy_source(
        read,
        fallback.collect_schema(),
        name=name,
        detail=detail,
        narrow=narrow,
    )


def is_filtered(*frames: pl.LazyFrame) -> bool:
    """Whether a scan may read less, since a filter can be pushed down to it."""
    return any("FILTER" in frame.explain(optimized=False) for frame in frames)


def in_batches(frame: pl.LazyFrame, *, share: bool = True) -> Iterator[pl.DataFrame]:
    """The rows, batch by batch.

    Without ``share``, Polars does not look for parts of the plan that occur twice. It
    would hold all rows of one, the run, until the other needs them: 25 bytes a row. But
    then it pushes no filter below a cached part, so that a scan reads more.
    """
    how = pl.QueryOptFlags(comm_subplan_elim=share)
    return batches_of(frame, chunk_size=BATCH, optimizations=how)


def _in_memory(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    return iter([frame.collect(engine="streaming")])
