"""Whether labels of unjudged documents can reverse the order of two runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import polars as pl

from polars_rank.analysis.label_effects import WEIGHT, Pool
from polars_rank.conventions.tools import complete_arguments
from polars_rank.uncertainty.bounds.bounds import bounds
from polars_rank.uncertainty.bounds.labelings import is_additive

ROUNDING = 1e-12  # of sums of stakes
BOUNDED = ("ndcg", "recall")  # whose differences have exact bounds, beside sums
QUERY, DOC, SYSTEM = "query number", "doc number", "name of the run"


@dataclass(frozen=True)
class Orders:
    """Runs with their values by query, and how far each label moves these.

    ``found`` has a row per unjudged document: its query, the share ``WEIGHT`` of that,
    and ``effect0`` ..., on each run. ``values`` are those of ``pool.queries``.
    """

    pool: Pool
    found: pl.DataFrame
    values: list[pl.Series]
    _limits: dict[int, pl.DataFrame | None] = field(default_factory=dict)

    def reversed_by(self) -> pl.Series:
        """Return which documents have a label that can reverse the order of two runs.

        They move the difference towards zero, where labels together reach it.
        """
        pairs = combinations(range(len(self.values)), 2)
        parts = [self._of_pair(i, j) for i, j in pairs]
        return pl.DataFrame(
            {str(place): part for place, part in enumerate(parts)}
        ).select(pl.any_horizontal(pl.all()))[:, 0]

    def _of_pair(self, i: int, j: int) -> pl.Series:
        moves = self.found[WEIGHT] * (
            self.found[f"effect{i}"] - self.found[f"effect{j}"]
        )
        shares = self.pool.queries[WEIGHT]
        gap = float((shares * (self.values[i] - self.values[j])).sum())
        if abs(gap) < ROUNDING:
            return moves.abs() > ROUNDING
        against = -moves if gap > 0 else moves
        towards = against > ROUNDING
        queries = self.found.select(*self.pool.names.query, against=against)
        # One label in each query is a labeling: if it reaches zero, all do.
        best = queries.group_by(self.pool.names.query).agg(pl.col("against").max())
        reach = float(best["against"].clip(lower_bound=0.0).sum())
        if reach <= abs(gap) - ROUNDING:
            exact = None if self._is_sum else self._exact_moves(i, j, gap)
            if exact is None:
                reach = float(against.clip(lower_bound=0.0).sum())
            else:
                reach = float(exact["move"].sum())
                if not towards.any():  # but several of a query together
                    joined = self.found.join(
                        exact, on=self.pool.names.query, maintain_order="left"
                    )
                    towards = joined["move"] > ROUNDING
        return towards & (reach > abs(gap) - ROUNDING)

    @cached_property
    def _is_sum(self) -> bool:
        """Tell whether each label moves a value by as much, whatever the others are."""
        measure = self.pool.measure
        arguments = complete_arguments(
            measure.definition, measure.arguments, convention=self.pool.convention
        )
        return is_additive(measure.metric, arguments)

    def _exact_moves(self, i: int, j: int, gap: float) -> pl.DataFrame | None:
        """Return how far labels move the difference towards zero, in each query."""
        if j not in self._limits:
            self._limits[j] = self._limits_to(j)
        limits = self._limits[j]
        if limits is None:
            return None
        now, share = pl.col("difference"), pl.col(WEIGHT)
        move = now - pl.col("lower") if gap > 0 else pl.col("upper") - now
        own = limits.filter(pl.col(SYSTEM) == self._names[i])
        return own.select(*self.pool.names.query, move=share * move)

    @property
    def _names(self) -> list[str]:
        return [f"run {i}" for i in range(len(self.pool.runs))]

    def _limits_to(self, j: int) -> pl.DataFrame | None:
        """Return the bounds of differences to a run; None: they are not exact.

        Queries without an unjudged document cannot move, and are left out.
        """
        pool, grade = self.pool, self.pool.grade
        if pool.measure.metric not in BOUNDED or grade != int(grade):
            return None
        rows, judged, queries = self._numbered
        given: dict[str, Any] = {**pool.options, "missing": "zero"}
        given = {name: given[name] for name in ("convention", "missing", "no_relevant")}
        found = bounds(
            rows,
            pool.measure,
            qrels=judged,
            max_grade=int(grade),
            baseline=self._names[j],
            system=SYSTEM,
            query=QUERY,
            doc=DOC,
            rank="rank",
            per_query=True,
            **given,
        )
        if not found["exact"].all():
            return None
        return found.join(queries, on=QUERY)

    @cached_property
    def _numbered(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Return lists, judgments and queries that can move, with numbers as ids.

        A document of its own that is judged not relevant is in the list of each run
        that lacks a query, and makes a judged query of each.
        """
        pool = self.pool
        keys, doc = pool.names.query, pool.names.doc
        moving = self.found.select(keys).unique(maintain_order=True)
        queries = moving.join(pool.queries, on=keys).with_row_index(QUERY)
        lists, judged = (
            frame.join(queries, on=keys) for frame in (pool.lists, pool.judged)
        )
        docs = pl.concat([lists.select(doc), judged.select(doc)]).unique()
        docs = docs.with_row_index(DOC, offset=1)
        lists, judged = (frame.join(docs, on=doc) for frame in (lists, judged))
        numbers = pl.col(pool.run).replace_strict(
            pool.runs, self._names, return_dtype=pl.String
        )
        rows = lists.select(numbers.alias(SYSTEM), QUERY, DOC, "rank")
        every = queries.select(QUERY).join(
            pl.DataFrame({SYSTEM: self._names}), how="cross"
        )
        lacking = every.join(rows, on=[SYSTEM, QUERY], how="anti")
        none = lacking.select(
            SYSTEM,
            QUERY,
            pl.lit(0).cast(docs.schema[DOC]).alias(DOC),
            pl.lit(1).cast(rows.schema["rank"]).alias("rank"),
        )
        labels = judged.select(QUERY, DOC, "label")
        nothing = queries.select(
            QUERY,
            pl.lit(0).cast(docs.schema[DOC]).alias(DOC),
            pl.lit(0.0).alias("label"),
        )
        return pl.concat([rows, none]), pl.concat([labels, nothing]), queries
