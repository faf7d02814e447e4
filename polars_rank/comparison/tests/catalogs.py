"""Compare measures of the catalog, by values that leave out each group of users."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from polars_rank._statistics.intervals import interval
from polars_rank.comparison.input.values import ROUNDING
from polars_rank.comparison.tests.estimates import Study, t_tested
from polars_rank.core.expr import ratio
from polars_rank.core.words.recommended_items import LEFT_OUT, jackknife_error

NOTE = "of all lists together: the error is that of leaving groups of users out"


class Catalogs(NamedTuple):
    """Means of systems and differences of pairs, each with ``error`` and ``df``.

    They stand among those of measures of queries, in the order of ``names``.
    """

    means: pl.DataFrame
    pairs: pl.DataFrame
    names: list[str]

    @classmethod
    def of(cls, table: pl.DataFrame, study: Study, names: list[str]) -> Catalogs:
        """Estimate the errors of what ``values_of_catalog`` returned."""
        keys = [*study.segments, "measure"]
        rows = table.explode(LEFT_OUT).unnest(LEFT_OUT)
        errors = {
            "error": jackknife_error(*map(pl.col, ("whole", "n", "value", "lists"))),
            "df": (pl.col("lists") > 0).sum().cast(pl.Float64) - 1.0,
        }
        first = pl.col("queries", "mean").first()
        means = rows.group_by(*keys, "system", maintain_order=True).agg(first, **errors)
        wanted = pl.DataFrame(
            study.pairs, {"baseline": pl.String, "system": pl.String}, orient="row"
        ).with_row_index("place")
        both = wanted.join(rows.rename({"system": "baseline"}), on="baseline").join(
            rows, on=[*keys, "system", "group"], nulls_equal=True, suffix="_own"
        )
        pairs = (
            both.with_columns(
                whole=pl.col("whole_own") - pl.col("whole"),
                value=pl.col("value_own") - pl.col("value"),
                n=(pl.col("n_own") + pl.col("n")) / 2.0,
                lists=(pl.col("lists_own") + pl.col("lists")) / 2.0,
            )
            .group_by(*keys, "baseline", "system", "place")
            .agg(
                queries=pl.min_horizontal("queries", "queries_own").first(),
                baseline_mean=pl.col("mean").first(),
                system_mean=pl.col("mean_own").first(),
                **errors,
            )
            .sort(*study.segments, "place")
        )
        own, base = pl.col("system_mean"), pl.col("baseline_mean")
        pairs = pairs.with_columns(
            mean=own - base,
            relative=ratio(own - base, base),
            rounding=ROUNDING * pl.max_horizontal(own.abs(), base.abs()),
        )
        return cls(means, pairs, names)

    def with_means(self, others: pl.DataFrame, level: float) -> pl.DataFrame:
        """Return means with their intervals, and those of measures of queries."""
        mean, error = pl.col("mean"), pl.col("error")
        lower, upper = interval(mean, error, pl.col("df"), level=level)
        own = self.means.with_columns(se=error, lower=lower, upper=upper)
        return self._in_order(others, own.select(others.columns))

    def with_pairs(self, others: pl.DataFrame, study: Study) -> pl.DataFrame:
        """Return differences with t tests, and those of measures of queries."""
        own = t_tested(self.pairs, study).with_columns(note=pl.lit(NOTE))
        return self._in_order(others, own.select(n for n in own.columns if n in others))

    def asked(self, frame: pl.DataFrame | None) -> pl.DataFrame | None:
        """Leave out what stood in for measures of queries."""
        return None if frame is None else self._asked(frame)

    def _asked(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("measure").is_in(self.names))

    def _in_order(self, *frames: pl.DataFrame) -> pl.DataFrame:
        rows = self._asked(pl.concat(frames, how="diagonal_relaxed"))
        order = pl.col("measure").replace_strict(
            self.names, range(len(self.names)), return_dtype=pl.UInt32
        )
        return rows.sort(order, maintain_order=True)
