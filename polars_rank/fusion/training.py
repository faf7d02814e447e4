"""Learn from judgments what the places of each run are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from polars_rank._engine.schema import JUDGMENTS, Columns, align_ids, bind_columns
from polars_rank.evaluation.evaluate import evaluate
from polars_rank.exceptions import DataError
from polars_rank.fusion.bound_runs import Bound, require_read_again, same_types
from polars_rank.fusion.formulas.words import Model
from polars_rank.fusion.ranked_list import Treatment, ranked_list
from polars_rank.fusion.recipe import Recipe
from polars_rank.io.frames import FrameLike

RELEVANT = 1  # the least grade


def trained(
    recipe: Recipe,
    bound: Bound,
    how: Treatment,
    columns: Columns,
    sources: Sequence[object],
    train: FrameLike,
) -> Recipe:
    """Return the recipe with a model of each run; its training queries are read."""
    require_read_again(bound.runs.values())
    first = next(iter(bound.runs.values()))
    first, judged = same_types(first, sources, train, [*_ids(bound).items()])
    named = Columns(columns.query, {"doc": columns.names["doc"], "label": "label"})
    qrels = bind_columns(judged, named, where=JUDGMENTS, roles=["doc", "label"]).frame
    first, qrels = align_ids(first, qrels, _ids(bound), where=("the runs", JUDGMENTS))
    types = first.collect_schema()
    ids = [pl.col(own).cast(types[own]) for own in _ids(bound)]
    runs = {name: run.with_columns(ids) for name, run in bound.runs.items()}
    bound = replace(bound, runs=runs)
    queries = qrels.select(bound.keys).unique().collect(engine="streaming")
    if queries.is_empty():
        msg = "train= has no rows; give the judgments of some queries"
        raise DataError(msg, rule="nothing_to_learn")
    models = [
        _model(recipe, bound, how, place, qrels, queries)
        for place in range(len(bound.runs))
    ]
    return replace(recipe, models=tuple(models))


def _ids(bound: Bound) -> dict[str, str]:
    return {own: name for own, name in bound.names.items() if own != "score"}


def _model(
    recipe: Recipe,
    bound: Bound,
    how: Treatment,
    place: int,
    qrels: pl.LazyFrame,
    queries: pl.DataFrame,
) -> Model:
    keys, rank = bound.keys, f"rank{place}"
    run = [*bound.runs.values()][place].join(queries.lazy(), on=keys, how="semi")
    lists = ranked_list(run, bound, recipe, how, place).select(
        *keys, "doc", rank=pl.col(rank)
    )
    if recipe.method.learns == "ap":
        found = evaluate(
            lists.with_columns(pl.col("rank").cast(pl.Int64)),
            "ap",
            qrels=qrels,
            query=keys,
            doc="doc",
            rank="rank",
            rel=RELEVANT,
            missing="zero",
            no_relevant="zero",
        )
        return Model(len(queries), ap=found.collect(engine="streaming")["ap"].item())
    relevant = qrels.filter(pl.col("label") >= RELEVANT).select(*keys, "doc", hit=1)
    places = (
        lists.with_columns(length=pl.len().over(keys))
        .join(relevant, on=[*keys, "doc"], how="left")
        .group_by("length", "rank")
        .agg(hits=pl.col("hit").sum(), lists=pl.len())
        .sort("length", "rank")
        .collect(engine="streaming")
    )
    rows = tuple((n, int(r), hits, count) for n, r, hits, count in places.iter_rows())
    return Model(len(queries), places=rows)
