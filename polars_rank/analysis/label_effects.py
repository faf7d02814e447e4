"""How far one more label moves the value of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from polars_rank._engine.inputs import bind_inputs
from polars_rank._engine.plan import plan_result
from polars_rank._engine.request import Request
from polars_rank._engine.tracing.shares import FACTORS
from polars_rank._engine.tracing.trace import PlanKey, trace_measures
from polars_rank.analysis.contribution_rows import request_of
from polars_rank.analysis.sides import Names, like_those, no_documents
from polars_rank.conventions.convention import Convention
from polars_rank.evaluation.evaluate import per_query
from polars_rank.measures.measure import Measure

JUDGED = "document that is judged"  # whose label makes a query of its own
RUN = "run"  # the column of a single one
VALUE, WEIGHT = "value of the query", "share of the query in the mean"
PLACE, FIRST = "rank of the document", "rank of the first document"


@dataclass(frozen=True)
class Pool:
    """The documents that count, of all runs, with ranks and labels; all judgments."""

    lists: pl.DataFrame
    judged: pl.DataFrame
    names: Names
    measure: Measure
    convention: Convention
    grade: float
    weight: str | None

    @property
    def run(self) -> str:
        """The column of runs."""
        return self.names.system or RUN

    @cached_property
    def runs(self) -> list[Any]:
        """The runs, in order."""
        return self.lists[self.run].unique(maintain_order=True).to_list()

    @cached_property
    def queries(self) -> pl.DataFrame:
        """The queries, with the share of each in the mean."""
        weight = pl.lit(1.0) if self.weight is None else pl.col(self.weight)
        found = self.lists.group_by(self.names.query, maintain_order=True).agg(
            weight.drop_nulls().first().cast(pl.Float64).alias(WEIGHT)
        )
        return found.with_columns(pl.col(WEIGHT) / pl.col(WEIGHT).sum())

    @property
    def options(self) -> dict[str, Any]:
        """The options of an evaluation; undefined values count as 0."""
        return {
            "doc": self.names.doc,
            "rank": "rank",
            "convention": self.convention,
            "missing": "skip",
            "no_relevant": "zero",
            "check": "off",
        }

    def values(
        self, rows: pl.DataFrame, qrels: pl.DataFrame, *more: str
    ) -> pl.DataFrame:
        """The values of queries."""
        query = [*self.names.query, *more]
        rows = rows.select(*query, self.names.doc, "rank")
        options = {**self.options, "query": query}
        found: pl.DataFrame = per_query(rows, self.measure, qrels=qrels, **options)
        return found.rename({self.measure.name: VALUE})

    def request(self, rows: pl.DataFrame, qrels: pl.DataFrame) -> Request:
        """Ask for the values of queries, and for what documents add to them."""
        query = self.names.query
        rows = rows.select(*query, self.names.doc, "rank")
        options = {**self.options, "query": query}
        request = request_of("to_judge", rows, self.measure, qrels, options)
        return replace(request, beside=like_those(no_documents(self.names), request))

    @cached_property
    def terms(self) -> list[pl.Expr] | None:
        """What a document adds, by its rank and label; None: it depends on others."""
        if self.convention.unjudged == "drop":  # a label moves those below
            return None
        request = self.request(self.lists.head(0), self.judged.head(0))
        try:
            trace = trace_measures(PlanKey.of(request, bind_inputs(request)))
        except ValueError:  # not a sum over documents
            return None
        if trace.shares is None or not trace.shares.alone:
            return None
        return [trace.recorder.terms.named[name] for name in trace.shares.terms]


def effects_of_labels(
    pool: Pool, rows: pl.DataFrame, before: pl.DataFrame, asked: pl.DataFrame
) -> pl.Series:
    """Return how far the label of each document ``asked`` moves the value of a run."""
    after = _by_terms if pool.terms is not None else _by_copies
    found = after(pool, rows, asked).fill_null(0.0)
    old = asked.join(before, on=pool.names.query, how="left", maintain_order="left")
    return found - old[VALUE].fill_null(0.0)


def _by_copies(pool: Pool, rows: pl.DataFrame, asked: pl.DataFrame) -> pl.Series:
    """Evaluate a query of its own for each document: that one has a label, too."""
    query, doc = pool.names.query, pool.names.doc
    alone = asked.select(*query, pl.col(doc).alias(JUDGED))
    own = alone.with_columns(pl.col(JUDGED).alias(doc), label=pl.lit(pool.grade))
    own = own.select(*query, doc, "label", JUDGED)
    qrels = pl.concat([pool.judged.join(alone, on=query), own])
    after = pool.values(rows.join(alone, on=query), qrels, JUDGED)
    after = after.rename({JUDGED: doc})
    on = [*query, doc]
    return asked.join(after, on=on, how="left", maintain_order="left")[VALUE]


def _by_terms(pool: Pool, rows: pl.DataFrame, asked: pl.DataFrame) -> pl.Series:
    """Evaluate the first document of each query; others add their terms in its place.

    One more label does the same to all that is not their term, wherever it is.
    """
    query, doc = pool.names.query, pool.names.doc
    first = asked.group_by(query).agg(pl.col(doc).min())  # in any order of rows
    own = first.with_columns(label=pl.lit(pool.grade))
    qrels = pl.concat([pool.judged, own.select(pool.judged.columns)])
    request = pool.request(rows.join(first, on=query, how="semi"), qrels)
    after = plan_result(request).select(*query, FACTORS, pool.measure.name)
    on = [*query, doc]
    ranks = rows.select(*on, pl.col("rank").cast(pl.Float64).alias(PLACE))
    of_first = first.join(ranks, on=on, how="left").select(
        *query, pl.col(PLACE).alias(FIRST)
    )
    placed = asked.join(ranks, on=on, how="left", maintain_order="left")
    for more in (of_first, after.collect()):
        placed = placed.join(more, on=query, how="left", maintain_order="left")
    label = pl.lit(pool.grade)
    value = pl.col(pool.measure.name)
    for i, term in enumerate(pool.terms or []):
        own_term, of_other = (
            placed.select(label.alias("label"), pl.col(name).alias("rank"))
            .select(pl.when(pl.col("rank").is_not_null()).then(term).fill_null(0.0))
            .to_series()
            for name in (PLACE, FIRST)
        )
        slope = pl.col(FACTORS).struct.field(f"slope{i}")
        value = value + slope * (own_term - of_other)
    return placed.select(value).to_series()
