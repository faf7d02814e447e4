"""Values per query of several runs, for a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import polars as pl

from polars_rank.comparison.input.procedures import names_of
from polars_rank.evaluation.evaluate import per_query
from polars_rank.io.columns import concatenated
from polars_rank.io.frames import FrameLike, as_polars


def values_of_runs(
    runs: Any,
    measures: Any,
    *,
    qrels: FrameLike | None,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    seed: str | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Evaluate runs: one frame, or a mapping of names to frames or dictionaries.

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

    known: set[str] = set()
    if qrels is not None:
        judgments = as_polars(qrels, name="the judgments", kind="qrels")
        known = {*judgments.lazy().collect_schema()}
        if not isinstance(qrels, str | PathLike):  # text files have ids of any type
            qrels = judgments

    def planned(run: Any, name: str) -> pl.LazyFrame:
        frame = as_polars(run, name=name).lazy()
        there = {*frame.collect_schema()} | known
        chosen: dict[str, Any] = {"keep": [n for n in about if n in there]}
        chosen |= options or {}
        found: pl.LazyFrame = per_query(
            frame, measures, qrels=qrels, query=asked, **chosen
        )
        return found

    if not several:
        return planned(runs, "the run").collect(engine="streaming")
    parts = {}
    for name, run in runs.items():
        said = f"run {name!r}"
        part = planned(run, said).select(pl.lit(str(name)).alias(system), pl.all())
        parts[f"{run} ({said})" if isinstance(run, str | PathLike) else said] = part
    concatenated(parts)  # refuses types that differ
    return pl.concat(pl.collect_all(parts.values(), engine="streaming"))
