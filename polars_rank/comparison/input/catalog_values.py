"""Measures of the catalog of several runs, with and without each group of users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import polars as pl

from polars_rank._engine.plan import plan_result
from polars_rank._engine.request import Request, stat_name
from polars_rank.comparison.input.procedures import Columns, Procedure
from polars_rank.comparison.input.run_values import RunOptions
from polars_rank.core.words.recommended_items import LEFT_OUT
from polars_rank.evaluation.deciding import FRAMES, OPTIONS
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import (
    Custom,
    Measure,
    Measures,
    is_of_catalog,
    parse_measures,
)

BESIDE = "user_coverage@1"  # of each user, where only the catalog is compared


class Asked(NamedTuple):
    """Measures of the catalog, and others, which have values of queries."""

    names: list[str]
    of_catalog: list[Measure]
    others: Measures | None

    @classmethod
    def of(cls, measures: Measures | None) -> Asked:
        """Tell them apart; there is at least one of the others."""
        if measures is None:
            return cls([], [], None)
        parsed = parse_measures(measures)
        of_catalog = [m for m in parsed if is_of_catalog(m)]
        others = [
            {m.name: m.function} if isinstance(m, Custom) else m
            for m in parsed
            if not is_of_catalog(m)
        ]
        return cls([m.name for m in parsed], of_catalog, others or BESIDE)


def require_jackknife(asked: Asked, how: Procedure, columns: Columns) -> None:
    """Refuse what needs values of queries: a catalog has one value of all lists."""
    chosen = {"test": how.test, "interval": how.interval, "pairs": how.pairs}
    wrong = [
        *(f"{n}={v!r}" for n, v in chosen.items() if v not in ("t", "same")),
        *(f"{n}={v!r}" for n, v in columns.roles.items() if v is not None),
    ]
    if wrong:
        msg = (
            f"{asked.of_catalog[0].name} is a number of all lists together, which is "
            f"compared by leaving groups of users out, not with {wrong[0]}: leave that "
            "out, or compare it in a call of its own"
        )
        raise ValueError(msg)


def values_of_catalog(
    runs: FrameLike | Mapping[str, FrameLike],
    asked: Asked,
    columns: Columns,
    *,
    qrels: FrameLike | None = None,
    **options: Unpack[RunOptions],
) -> pl.DataFrame:
    """Evaluate runs: a row per segment, measure and system.

    ``left_out`` has the values without each group of users.
    """
    measures = asked.of_catalog
    systems = [] if isinstance(runs, Mapping) else [columns.system]
    given: dict[str, Any] = dict.fromkeys(FRAMES[2:]) | OPTIONS | dict(options)
    given |= {
        "qrels": qrels,
        "query": [*systems, *columns.keys],
        "by": [*systems, *columns.segments],
    }

    def planned(run: Any, name: str) -> pl.LazyFrame:
        frame = as_polars(run, name=name).lazy()
        request = Request.of(frame, measures, result="means", **given)
        return plan_result(replace(request, stats=("mean", LEFT_OUT)))

    if isinstance(runs, Mapping):
        parts = {str(name): planned(run, f"run {name!r}") for name, run in runs.items()}
        found = pl.collect_all(parts.values(), engine="streaming")
        names = (pl.lit(name).alias(columns.system) for name in parts)
        table = pl.concat(
            one.with_columns(name) for one, name in zip(found, names, strict=True)
        )
    else:
        table = planned(runs, "the run").collect(engine="streaming")
    return pl.concat(
        table.select(
            *columns.segments,
            pl.lit(m.name).alias("measure"),
            pl.col(columns.system).cast(pl.String).alias("system"),
            "queries",
            pl.col(m.name).alias("mean"),
            pl.col(stat_name(m.name, LEFT_OUT)).alias(LEFT_OUT),
        )
        for m in measures
    )
