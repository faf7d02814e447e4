"""Documents of a run: checked, ranked and normalized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import polars as pl

from polars_rank._engine.checks.enforce import Check, enforce
from polars_rank._engine.stages.copies import best_of_copies
from polars_rank.core.rules import (
    DUPLICATE_DOC,
    DUPLICATE_RANK,
    INFINITE_SCORE,
    INVALID_RANK,
    NAN_SCORE,
    NEGATIVE_SCORE,
    NULL_DOC,
    NULL_FUSED_SCORE,
    NULL_QUERY,
)
from polars_rank.fusion.bound_runs import Bound
from polars_rank.fusion.formulas.words import RunList
from polars_rank.fusion.recipe import Recipe

Copies: TypeAlias = Literal["error", "best"]


@dataclass(frozen=True)
class Treatment:
    """What is done with the rows of every run."""

    depth: int | None
    check: Check
    on_duplicate: Copies


def ranked_list(
    rows: pl.LazyFrame, bound: Bound, recipe: Recipe, how: Treatment, place: int
) -> pl.LazyFrame:
    """Return the documents of a run with ``rank``, normalized ``score``, or both.

    The columns end in the ``place`` of the run. Scores are there if they are combined,
    unless the norm is of candidates, which are not known before all runs are joined.
    """
    keys, norm = bound.keys, recipe.norms[place]
    rows = _checked(rows, bound, recipe, how, place)
    if how.on_duplicate == "best" and bound.ranked:
        rows = best_of_copies(rows, keys, ["doc"], contiguous=False)
    elif how.on_duplicate == "best":
        rows = rows.group_by(*keys, "doc").agg(pl.col("score").max())
    if not bound.ranked:
        # Equal scores: the larger document id first, as text.
        order = pl.struct("score", as_text("doc", rows))
        rows = rows.with_columns(
            rank=order.rank("ordinal", descending=True).over(keys),
            score=pl.col("score").cast(pl.Float64),
        )
    rows = rows.with_columns(pl.col("rank").cast(pl.Float64))
    if how.depth is not None:
        rows = rows.filter(pl.col("rank") <= how.depth)
    found = []
    if recipe.of_scores and not norm.of_candidates:
        value = cast("pl.Expr", norm.function(RunList())).over(keys)
        found.append(value.alias(f"score{place}"))
    if not found or recipe.method.of_both:
        found.append(pl.col("rank").alias(f"rank{place}"))
    return rows.select(*keys, "doc", *found)


def as_text(column: str, rows: pl.LazyFrame) -> pl.Expr:
    """Return ids as text, which orders them; binary ids as they are."""
    id = pl.col(column)
    return id if rows.collect_schema()[column] == pl.Binary else id.cast(pl.String)


def _checked(
    rows: pl.LazyFrame, bound: Bound, recipe: Recipe, how: Treatment, place: int
) -> pl.LazyFrame:
    """Pass on rows that break no rule; an error names the run."""
    schema = rows.collect_schema()
    if bound.ranked:
        rows = rows.filter(pl.col("rank").is_not_null())  # null: not retrieved
    if how.check == "off":
        return rows
    norm, score, rank = recipe.norms[place], pl.col("score"), pl.col("rank")
    rules = [
        (NULL_QUERY, pl.any_horizontal(pl.col(bound.keys).is_null())),
        (NULL_DOC, pl.col("doc").is_null()),
    ]
    if bound.ranked:
        rules.append((INVALID_RANK, rank < 1))
        if how.on_duplicate == "error":
            rules.append((DUPLICATE_RANK, rank.is_duplicated().over(bound.keys)))
    else:
        rules.append((NULL_FUSED_SCORE, score.is_null()))
        of_floats = schema["score"].is_float()
        if of_floats:
            rules.append((NAN_SCORE, score.is_nan()))
        if of_floats and recipe.of_scores and norm.needs_scores:
            rules.append((INFINITE_SCORE, score.is_infinite()))
        if recipe.of_scores and norm.positive:
            rules.append((NEGATIVE_SCORE, score < 0))
    side = f"run {[*bound.runs][place]!r}"
    counted = rows.with_columns(
        query=query_of(bound.keys),
        **{rule.name: at_fault.cast(pl.UInt32) for rule, at_fault in rules},
    )
    sound = enforce(
        counted,
        {rule.name: rule._replace(side=side) for rule, _ in rules},
        example="query",
        check=how.check,
        exact_counts=False,
    )
    return sound.select(schema.names())


def query_of(keys: Sequence[str]) -> pl.Expr:
    """Return the query of a row, for messages."""
    return pl.struct(keys) if len(keys) > 1 else pl.col(keys[0])


def require_unique(
    found: pl.LazyFrame, bound: Bound, how: Treatment, copies: Sequence[str]
) -> pl.LazyFrame:
    """Raise an error where a run, whose column of ``copies`` it is, has duplicates."""
    sides = zip(copies, bound.runs, strict=True)
    return enforce(
        found.with_columns(query=query_of(bound.keys)),
        {c: DUPLICATE_DOC._replace(side=f"run {name!r}") for c, name in sides},
        example="query",
        check=how.check,
        exact_counts=False,
    )
