"""Tune a fusion by cross-validation, with all candidates in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.options import DOC, JudgingOptions
from polars_rank._engine.schema import (
    JUDGMENTS,
    Column,
    columns_of,
    names_of,
    require_columns,
)
from polars_rank.conventions.tools import ConventionLike
from polars_rank.core.parameters import is_whole, refuse
from polars_rank.evaluation.evaluate import per_query
from polars_rank.fusion.bound_runs import (
    Bound,
    Runs,
    bind_runs,
    columns_of_runs,
    open_runs,
    order_of_runs,
    same_types,
)
from polars_rank.fusion.cross_validation import CANDIDATE, cross_validated
from polars_rank.fusion.formulas.methods import METHODS, Method
from polars_rank.fusion.fuse import require_order, treatment_of
from polars_rank.fusion.fused_values import fused_values
from polars_rank.fusion.ranked_list import Copies, Treatment
from polars_rank.fusion.recipe import Norms, Recipe, method_of, recipe_of
from polars_rank.fusion.tuned import Tuned
from polars_rank.fusion.weight_grid import weight_grid
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Custom, Measure, parse_measures


class TuneOptions(JudgingOptions, total=False):
    """Options of ``per_query`` that are about judgments, and resources."""

    convention: ConventionLike
    label: Column | None
    max_rank: int | None
    memory_limit: int | str | None
    temp_dir: str | Path | None


def tune(
    runs: Runs,
    measure: str | Measure,
    *,
    qrels: FrameLike,
    method: str = "sum",
    norm: Norms | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    steps: int = 10,
    n_folds: int = 5,
    seed: int = 0,
    depth: int | None = None,
    system: str = "system",
    query: Column | Sequence[Column] = "query_id",
    doc: Column = DOC,
    score: Column = "score",
    rank: Column | None = None,
    descending: bool | Mapping[str, bool] = True,
    qrels_query: str | Sequence[str] | None = None,
    qrels_doc: str | None = None,
    check: Check = "strict",
    on_duplicate: Copies = "error",
    **options: Unpack[TuneOptions],
) -> Tuned:
    """Choose weights or parameters of a fusion, and say honestly what they are worth.

    All candidates are fused and evaluated in one pass over the runs. The queries are
    dealt into folds; for the queries of a fold, the candidate counts that is best on
    the others. A mean over the queries that chose the best candidate would be too high.

    Parameters
    ----------
    runs
        Runs, as for :func:`fuse`.
    measure
        The measure, such as ``"ndcg@10"``. Of equal means (up to 1e-12), the first
        candidate's is taken.
    qrels
        The judgments.
    method, norm, depth
        As in :func:`fuse`.
    grid
        Values to try, by parameter: ``{"k": [10, 60]}``, ``{"weights": [...]}``; of
        several, all combinations. Default: a grid for each parameter of the method; if
        it has none, all weights in ``steps``.
    steps
        Steps of each weight from 0 to 1: :func:`weight_grid`.
    n_folds
        Number of folds, from 2 to the number of queries.
    seed
        Seed of the order in which queries are dealt into folds.
    system, query, doc, score, rank, descending, check, on_duplicate
        As in :func:`fuse`.
    qrels_query, qrels_doc
        ``query`` and ``doc`` in the judgments, where they differ.
    **options
        Further arguments of :func:`per_query` about judgments, such as ``convention``,
        ``missing``, ``rel`` and ``label``; and ``memory_limit`` and ``temp_dir`` of the
        evaluation, which has a row for each document and candidate. Fusing takes memory
        beside it. Warnings count each query once for each candidate.

    Returns
    -------
    A :class:`Tuned`: prints a table; ``best`` goes into :func:`fuse`, ``mean`` is the
    cross-validated mean, ``optimistic_mean`` the one that is too good.

    Raises
    ------
    ValueError
        For a method without weights and parameters, or one that learns, an empty grid,
        more folds than queries.
    DataError
        For rows that break a rule.

    Notes
    -----
    Source: Stone, JRSS B 1974 (cross-validation). ranx's ``optimize_fusion`` tunes and
    reports on the same queries, takes the last of equal means, and loses weights whose
    floating-point sum is not 1.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import fusion
    >>> ids = {"query_id": [1, 1, 2, 2], "doc_id": ["a", "b", "a", "b"]}
    >>> runs = {
    ...     "bm25": pl.DataFrame(ids | {"score": [9.0, 8.0, 7.0, 6.0]}),
    ...     "dense": pl.DataFrame(ids | {"score": [0.1, 0.9, 0.2, 0.8]}),
    ... }
    >>> qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["b", "b"], "label": 1})
    >>> tuned = fusion.tune(runs, "rr", qrels=qrels, steps=4, n_folds=2)
    >>> tuned.best["weights"], tuned.mean
    ({'bm25': 0.0, 'dense': 1.0}, 1.0)
    """
    how = treatment_of(depth, check, on_duplicate)
    if not (is_whole(n_folds) and n_folds >= 2):
        refuse("n_folds", "a whole number of at least 2", n_folds)
    if not is_whole(seed):
        refuse("seed", "a whole number", seed)
    asked = _one(measure)
    columns = columns_of_runs(query=query, doc=doc, score=score, rank=rank)
    opened = open_runs(runs, system, columns)
    columns = order_of_runs(opened, columns)
    names = [*opened.frames]
    fixed: dict[str, Any] = {"method": method}
    fixed |= {} if norm is None else {"norm": norm}
    candidates = _candidates(names, method_of(method), grid, steps)
    recipes = [_recipe(names, method, norm, candidate) for candidate in candidates]
    bound = bind_runs(opened, columns, descending)
    require_order(recipes[0], bound, how, descending)

    rows = _fused(bound, recipes, how)
    own = [bound.names[key] for key in (*bound.keys, "doc")]
    theirs = [*names_of(columns_of(qrels_query or own[:-1])), qrels_doc or own[-1]]
    rows, judged = same_types(
        rows, opened.sources, qrels, [*zip(own, theirs, strict=True)]
    )
    known = judged.collect_schema()
    require_columns([theirs[-1]], known, where=JUDGMENTS, argument="qrels_doc")
    table = per_query(
        rows,
        asked,
        qrels=_for_each(judged, len(recipes)),
        query=[CANDIDATE, *own[:-1]],
        doc=own[-1],
        qrels_query=[CANDIDATE, *theirs[:-1]],
        qrels_doc=theirs[-1],
        check=check,
        layout="any",
        **options,
    ).collect(engine="streaming")
    fixed |= {} if depth is None else {"depth": depth}
    return cross_validated(table, asked, [fixed | c for c in candidates], n_folds, seed)


def _one(measure: str | Measure) -> Measure:
    """Return the measure; its values have to be averaged over queries."""
    found = parse_measures(measure)
    if len(found) != 1 or isinstance(found[0], Custom):
        refuse("measure", "one measure, such as 'ndcg@10'", measure)
    one = found[0]
    assert isinstance(one, Measure)
    if one.definition.aggregate != "mean":
        msg = f"measure {one.name!r} is no mean over queries, which tuning compares"
        raise ValueError(msg)
    return one


def _candidates(
    names: Sequence[str],
    method: Method,
    grid: Mapping[str, Sequence[Any]] | None,
    steps: int,
) -> list[dict[str, Any]]:
    """Return keyword arguments of ``fuse``, to be tried in this order."""
    if method.learns:
        msg = (
            f"method {method.name!r} learns from judgments of training queries, and "
            "tune has none apart from those it compares by; give fuse(train=) some"
        )
        raise ValueError(msg)
    if grid is None:
        grid = method.grid
        if not grid and method.weighted:
            grid = {"weights": weight_grid(names, steps=steps)}
    if not grid:
        every = (m for m in METHODS.values() if not m.learns)
        able = [m.name for m in every if m.weighted or m.parameters]
        msg = (
            f"method {method.name!r} has no parameter and no weights to tune; those "
            f"that have: {', '.join(able)}"
        )
        raise ValueError(msg)
    for name, values in grid.items():
        if isinstance(values, str | Mapping) or not len(values):
            refuse(f"grid[{name!r}]", "a list of values to try", values)
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _recipe(
    names: Sequence[str], method: str, norm: Norms | None, candidate: Mapping[str, Any]
) -> Recipe:
    parameters = {n: value for n, value in candidate.items() if n != "weights"}
    return recipe_of(names, method, norm, candidate.get("weights"), parameters)


def _fused(bound: Bound, recipes: Sequence[Recipe], how: Treatment) -> pl.LazyFrame:
    """Return a row for each candidate, query and document, under the user's names."""
    values = [f"value{i}" for i in range(len(recipes))]
    names = {own: name for own, name in bound.names.items() if own != "score"}
    return (
        fused_values([*bound.runs.values()], bound, recipes, how)
        .unpivot(
            values,
            index=[*bound.keys, "doc"],
            variable_name=CANDIDATE,
            value_name="score",
        )
        .with_columns(pl.col(CANDIDATE).str.slice(len("value")).cast(pl.UInt32))
        .rename(names)
    )


def _for_each(judged: pl.LazyFrame, candidates: int) -> pl.LazyFrame:
    """Repeat judgments for each candidate; else runs are read again to find these."""
    numbers = pl.Series(CANDIDATE, range(candidates), pl.UInt32)
    return pl.LazyFrame(numbers.to_frame()).join(judged, how="cross")
