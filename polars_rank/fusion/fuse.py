"""Fuse runs: one run of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    Unpack,
    cast,
    get_args,
    overload,
)

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.frame_function import like_input
from polars_rank._engine.options import DOC
from polars_rank._engine.request import AnyFrame, Resources
from polars_rank._engine.schema import Column
from polars_rank.core.fork import warn_if_forked
from polars_rank.core.parameters import is_whole, refuse
from polars_rank.core.source import without_pushdown
from polars_rank.fusion.bound_runs import (
    Bound,
    Runs,
    bind_runs,
    columns_of_runs,
    open_runs,
    order_of_runs,
)
from polars_rank.fusion.formulas.methods import METHODS
from polars_rank.fusion.fused_values import fused_values
from polars_rank.fusion.ranked_list import Copies, Treatment, as_text
from polars_rank.fusion.recipe import Norms, Parameters, Recipe, Weights, recipe_of
from polars_rank.fusion.training import trained
from polars_rank.io.frames import EagerFrameLike, FrameLike

FACTOR = 9  # bytes that fusing takes for each byte of the rows; measured

P = ParamSpec("P")


class FusionFunction(Protocol[P]):
    """A function of runs: a LazyFrame if a run is one, else a DataFrame."""

    @overload
    def __call__(
        self, runs: Mapping[str, pl.LazyFrame], /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self, runs: Mapping[str, EagerFrameLike], /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self, runs: Mapping[str, FrameLike], /, *args: P.args, **kwargs: P.kwargs
    ) -> AnyFrame: ...
    @overload
    def __call__(
        self, runs: pl.LazyFrame, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self, runs: EagerFrameLike, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame: ...


def fusion_function(
    function: Callable[Concatenate[Runs, P], AnyFrame],
) -> FusionFunction[P]:
    """Type a function as one that returns a frame of the kind of its runs."""
    return cast("FusionFunction[P]", function)


@fusion_function
def fuse(
    runs: Runs,
    method: str = "rrf",
    *,
    norm: Norms | None = None,
    weights: Weights | None = None,
    depth: int | None = None,
    train: FrameLike | None = None,
    system: str = "system",
    query: Column | Sequence[Column] = "query_id",
    doc: Column = DOC,
    score: Column = "score",
    rank: Column | None = None,
    descending: bool | Mapping[str, bool] = True,
    check: Check = "strict",
    on_duplicate: Copies = "error",
    memory_limit: int | str | None = None,
    temp_dir: str | Path | None = None,
    **parameters: Unpack[Parameters],
) -> AnyFrame:
    """Fuse several runs into one.

    Parameters
    ----------
    runs
        Runs by name, ``{"bm25": frame, "dense": frame}``: frames of any library, files
        or dictionaries with ``query``, ``doc`` and ``score`` (or ``rank``). Or one
        frame with a column ``system``, which is read at once, for the names of the
        runs.
    method
        Of scores: ``"sum"``, ``"max"``, ``"min"``, ``"median"``, ``"mean"``,
        ``"mnz"``, ``"gmnz"``, ``"mixed"``; of ranks: ``"rrf"``, ``"isr"``,
        ``"log_isr"``, ``"logn_isr"``, ``"rbc"``, ``"borda"``; of pairs of documents:
        ``"condorcet"``; trained: ``"mapfuse"``, ``"posfuse"``, ``"slidefuse"``,
        ``"probfuse"``, ``"segfuse"``, ``"bayesfuse"``. ranx's names are read, too.
        ``fusion.METHODS`` has the formulas.
    norm
        How scores of a run's list for a query are brought to one scale, if they are
        combined: ``"min_max"`` (default), ``"max"``, ``"sum"``, ``"zmuv"``, ``"rank"``,
        ``"borda"``, ``"none"``, or for distances ``"min_max_inverted"``; or a mapping
        of names of runs to norms. ``fusion.NORMS`` has the formulas.
    weights
        Weight of each run, for ``"sum"``, ``"mnz"``, ``"mixed"``, ``"rrf"``,
        ``"borda"`` and ``"condorcet"``: a mapping, or numbers in the order of the runs.
        They need not add up to 1. Default: 1 each.
    depth
        Number of documents of each run and query that count, cut off before the norm.
    train
        Judgments for trained methods, with columns ``query``, ``doc`` and ``label``:
        their queries are read from the runs at once, to learn where relevant documents
        (of grade 1 or more) are. Evaluate on other queries.
    system
        Column that tells runs apart, in a single frame.
    query, doc, score, rank
        Columns of all runs, as in :func:`evaluate`; ``query`` may be several. With
        ``rank``, ranks are used instead of scores; so are those of lists,
        ``{query: [document, ...]}``.
    descending
        Whether high scores come first; False for distances, whose sign is changed. A
        mapping of names of runs, if they differ.
    check
        What to do about bad data: ``"strict"`` raises, ``"warn"`` warns, ``"off"``
        does not check.
    on_duplicate
        ``"best"`` keeps the best score or rank of a duplicate document; what follows
        its other copies moves up.
    memory_limit, temp_dir
        Memory limit of the process, e.g. ``"2GB"``: queries are spilled to disk in
        buckets and fused in turn, as in :func:`evaluate`.
    **parameters
        Parameters of the method: ``k`` of ``"rrf"``, ``gamma`` of ``"gmnz"``, ``sigma``
        of ``"logn_isr"``, ``phi`` of ``"rbc"``, ``w`` of ``"slidefuse"``,
        ``n_segments`` of ``"probfuse"``.

    Returns
    -------
    The query columns, the document id and ``score`` (Float64), under the user's names,
    sorted by query and best document first: a LazyFrame if a run is one, a DataFrame
    otherwise. With ``memory_limit``, queries come in any order.

    A document is there if at least one run has it. A query that a run lacks is fused
    from the others. Equal scores are ordered by document id as text, the larger first,
    in the runs and in the result.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule: null or NaN scores, infinite ones
        where scores are combined, negative ones with ``norm="max"``, duplicates, null
        ids. The message names the run.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import fusion
    >>> bm25 = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [12.0, 9.0]}
    ... )
    >>> dense = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["b", "c"], "score": [0.8, 0.7]}
    ... )
    >>> fusion.fuse({"bm25": bm25, "dense": dense}, "rrf", k=60)
    shape: (3, 3)
    ┌──────────┬────────┬──────────┐
    │ query_id ┆ doc_id ┆ score    │
    │ ---      ┆ ---    ┆ ---      │
    │ i64      ┆ str    ┆ f64      │
    ╞══════════╪════════╪══════════╡
    │ 1        ┆ b      ┆ 0.032522 │
    │ 1        ┆ a      ┆ 0.016393 │
    │ 1        ┆ c      ┆ 0.016129 │
    └──────────┴────────┴──────────┘
    """
    warn_if_forked()
    resources = Resources.of(memory_limit, temp_dir, None)
    how = treatment_of(depth, check, on_duplicate)
    columns = columns_of_runs(query=query, doc=doc, score=score, rank=rank)
    opened = open_runs(
        runs, system, columns, stream=resources is not None and train is None
    )
    columns = order_of_runs(opened, columns)
    recipe = recipe_of([*opened.frames], method, norm, weights, parameters)
    bound = bind_runs(opened, columns, descending)
    require_order(recipe, bound, how, descending)
    require_training(recipe, train)
    if train is not None:
        recipe = trained(recipe, bound, how, columns, opened.sources, train)
    result = _planned(bound, recipe, how, resources)
    return like_input(
        kind_of(runs), result, in_memory=opened.small and resources is None
    )


def treatment_of(depth: int | None, check: Check, on_duplicate: Copies) -> Treatment:
    """Check what is to be done with the rows of every run."""
    if depth is not None and not (is_whole(depth) and depth > 0):
        refuse("depth", "a whole number of at least 1, or None", depth)
    for name, value, choices in (
        ("check", check, get_args(Check)),
        ("on_duplicate", on_duplicate, get_args(Copies)),
    ):
        if value not in choices:
            refuse(name, f"one of {', '.join(choices)}", value)
    return Treatment(depth, check, on_duplicate)


def require_order(
    recipe: Recipe,
    bound: Bound,
    how: Treatment,
    descending: bool | Mapping[str, bool],
) -> None:
    """Refuse scores that are not there, and distances that are told twice or not."""
    if not recipe.of_scores:
        return
    if bound.ranked and any(norm.needs_scores for norm in recipe.norms):
        msg = (
            f"method {recipe.method.name!r} combines scores, and rank= has none; use a "
            'method of ranks, such as "rrf", or norm="rank"'
        )
        raise ValueError(msg)
    for name, norm in zip(bound.runs, recipe.norms, strict=True):
        own = descending[name] if isinstance(descending, Mapping) else descending
        if norm.name == "min_max_inverted" and (how.depth is not None or not own):
            why = (
                "but depth= would cut off the best; give descending=False instead, with"
                if own
                else "and so does descending=False, which goes with"
            )
            msg = (
                f"run {name!r}: norm='min_max_inverted' turns distances around, {why} "
                "norm='min_max'"
            )
            raise ValueError(msg)


def require_training(recipe: Recipe, train: FrameLike | None) -> None:
    """Refuse methods that learn without judgments, and judgments for others."""
    name = recipe.method.name
    if recipe.method.learns and train is None:
        msg = f"method {name!r} learns: give train=, judgments of training queries"
        raise ValueError(msg)
    if train is not None and not recipe.method.learns:
        able = ", ".join(m.name for m in METHODS.values() if m.learns)
        msg = f"method {name!r} learns nothing from train=; those that do: {able}"
        raise ValueError(msg)


def kind_of(runs: Runs) -> FrameLike:
    """Return a run that is lazy, or any: the result is lazy if it is."""
    if not isinstance(runs, Mapping):
        return runs
    several = cast("Mapping[str, Any]", runs).values()
    lazy = (run for run in several if isinstance(run, pl.LazyFrame))
    return cast("FrameLike", next(lazy, next(iter(several))))


def _planned(
    bound: Bound, recipe: Recipe, how: Treatment, resources: Resources | None
) -> pl.LazyFrame:
    """The run, sorted, under the user's names; in buckets within a memory limit."""

    def evaluate(parts: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        found = fused_values(parts, bound, [recipe], how)
        return found.sort(
            *bound.keys,
            "value0",
            as_text("doc", found),
            descending=[False] * len(bound.keys) + [True, True],
        )

    parts = [*bound.runs.values()]
    if resources is None:
        found = evaluate(parts)
    else:
        from polars_rank._engine.spill.bounded import bounded  # slow to import

        source = bounded(
            parts,
            bound.keys,
            evaluate,
            limit=resources.memory,
            temp_dir=resources.temp_dir,
            progress=resources.progress,
            fingerprint=repr((recipe.told, how, bound.names, [*bound.runs])),
            factor=FACTOR,
        )
        found = without_pushdown(source)
    return found.rename({"value0": "score"}).rename(bound.names)
