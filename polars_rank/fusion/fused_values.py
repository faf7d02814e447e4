"""The plan of a fusion: candidates of a query with their values by each recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import polars as pl

from polars_rank.fusion.bound_runs import Bound
from polars_rank.fusion.formulas.methods import METHODS
from polars_rank.fusion.formulas.words import Candidate, Pair, settled
from polars_rank.fusion.ranked_list import Treatment, ranked_list, require_unique
from polars_rank.fusion.recipe import Recipe

OTHER = " other"  # the suffix of the second document of a pair


def fused_values(
    parts: Sequence[pl.LazyFrame],
    bound: Bound,
    recipes: Sequence[Recipe],
    how: Treatment,
) -> pl.LazyFrame:
    """Return the candidates of each query, with columns ``value0`` ... of the recipes.

    ``parts`` are the runs, or their rows of some queries. The recipes have the same
    method and norms. A run's column is null for documents that it lacks, so that the
    formulas add terms in the order of the runs, whatever the order of the rows.
    """
    lists = [
        ranked_list(rows, bound, recipes[0], how, place)
        for place, rows in enumerate(parts)
    ]
    columns = [rows.collect_schema().names()[len(bound.keys) + 1 :] for rows in lists]
    of_runs = [own[-1] for own in columns]
    copies = [f"copies{place}" for place in range(len(lists))]
    known = [pl.col(column).max() for own in columns for column in own]
    again = [
        (pl.col(column).count().cast(pl.Int64) - 1).clip(0).alias(own)
        for column, own in zip(of_runs, copies, strict=True)
    ]
    checked = how.check != "off" and how.on_duplicate == "error"
    found = (
        pl.concat(lists, how="diagonal")
        .group_by(*bound.keys, "doc")
        .agg(*known, *(again if checked else []))
    )
    if checked:
        found = require_unique(found, bound, how, copies)
    found = _with_sizes(found, bound.keys, of_runs)
    words = [_candidate(recipe, len(lists)) for recipe in recipes]
    if recipes[0].method.of == "pairs":
        return _of_pairs(found, bound.keys, recipes, words)
    values = [
        settled(recipe.value(d)).alias(f"value{i}")
        for i, (recipe, d) in enumerate(zip(recipes, words, strict=True))
    ]
    return found.select(*bound.keys, "doc", *values)


def _with_sizes(
    found: pl.LazyFrame, keys: Sequence[str], of_runs: Sequence[str]
) -> pl.LazyFrame:
    """Add the number of candidates and the lengths of lists; unused, Polars drops them.

    A run without documents for a query has length 0 there.
    """
    lengths = [
        pl.col(column).count().over(keys).cast(pl.Float64).alias(f"length{place}")
        for place, column in enumerate(of_runs)
    ]
    documents = pl.len().over(keys).cast(pl.Float64)
    return found.with_columns(*lengths, documents=documents)


def _candidate(recipe: Recipe, runs: int) -> Candidate:
    """The words of a formula: those that it uses have columns."""
    places = range(runs)
    d = Candidate(
        scores=[pl.col(f"score{place}") for place in places],
        ranks=[pl.col(f"rank{place}") for place in places],
        lengths=[pl.col(f"length{place}") for place in places],
        documents=pl.col("documents"),
        weights=recipe.weights,
        models=recipe.models,
    )
    if not recipe.of_scores:
        return d
    scores = [
        cast("list[pl.Expr]", norm.function(d))[place] if norm.of_candidates else score
        for place, (norm, score) in enumerate(zip(recipe.norms, d.scores, strict=True))
    ]
    return replace(d, scores=scores)


def _of_pairs(
    found: pl.LazyFrame,
    keys: Sequence[str],
    recipes: Sequence[Recipe],
    words: Sequence[Candidate],
) -> pl.LazyFrame:
    """Sum up a formula of pairs over all other candidates, then count Borda's points.

    The points break ties: they are divided by more than a document can have.
    """
    found = found.cache()  # used twice: runs that are streams are read once
    places = range(len(words[0].ranks))
    points = [
        METHODS["borda"].function(d).alias(f"points{i}") for i, d in enumerate(words)
    ]
    ranks = [f"rank{place}" for place in places]
    both = found.select(*keys, "doc", *ranks)
    pairs = both.join(both, on=[*keys], suffix=OTHER, nulls_equal=True)
    # A run that lacks a document ranks it below all that it has.
    last = float(2**53)
    preferences = [
        (pl.col(rank + OTHER).fill_null(last) - pl.col(rank).fill_null(last)).sign()
        for rank in ranks
    ]
    wins = [
        recipe.value(Pair(preferences, recipe.weights)).sum().alias(f"wins{i}")
        for i, recipe in enumerate(recipes)
    ]
    counted = (
        pairs.filter(pl.col("doc") != pl.col("doc" + OTHER))
        .group_by(*keys, "doc")
        .agg(wins)
    )
    scored = found.select(*keys, "doc", "documents", *points).join(
        counted, on=[*keys, "doc"], how="left", nulls_equal=True
    )
    most = [sum(recipe.weights) * (pl.col("documents") + 1) for recipe in recipes]
    values = [
        settled(pl.col(f"wins{i}").fill_null(0) + pl.col(f"points{i}") / most[i]).alias(
            f"value{i}"
        )
        for i in range(len(recipes))
    ]
    return scored.select(*keys, "doc", *values)
