"""Values per query of several runs, for a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.comparison.arguments import names_of
from polars_rank.comparison.values import lazy
from polars_rank.evaluation.evaluate import per_query

__all__ = ["values_of_runs"]


def values_of_runs(
    runs: Any,
    measures: Any,
    *,
    qrels: AnyFrame | None,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    seed: str | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Evaluate runs: one frame, or a mapping of names to frames.

    Columns that describe queries are kept; those that a run lacks may come from the
    ``options`` of :func:`per_query`.
    """
    if measures is None:
        msg = "name the measures to compute of the runs: measures=['ndcg@10']"
        raise ValueError(msg)
    several = isinstance(runs, Mapping)
    keys = [*([] if several else [system]), *([seed] if seed else []), *names_of(query)]
    asked = list(dict.fromkeys(keys))
    roles = [*names_of(by), *names_of(weight), *names_of(cluster)]
    about = [name for name in dict.fromkeys(roles) if name not in asked]

    def planned(run: Any) -> pl.LazyFrame:
        frame = lazy(run)
        there = {*frame.collect_schema()}
        there |= set() if qrels is None else {*lazy(qrels).collect_schema()}
        chosen: dict[str, Any] = {"keep": [n for n in about if n in there]}
        chosen |= options or {}
        found: pl.LazyFrame = per_query(
            frame, measures, qrels=qrels, query=asked, **chosen
        )
        return found

    if not several:
        return planned(runs).collect(engine="streaming")
    parts = [
        planned(run).select(pl.lit(str(name)).alias(system), pl.all())
        for name, run in runs.items()
    ]
    return pl.concat(pl.collect_all(parts, engine="streaming"))
