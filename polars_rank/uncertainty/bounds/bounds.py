"""Bounds: the lowest and highest value over tied orders and unknown labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, Unpack, get_args

import polars as pl

from polars_rank._engine.options import ChoiceOptions
from polars_rank._engine.schema import negated, require_columns
from polars_rank.conventions.tools import DEFAULT, ConventionLike, convention_of
from polars_rank.core.exact.aggregate import GeometricMean, Mean, Sum
from polars_rank.core.parameters import is_whole
from polars_rank.core.rules import DUPLICATE_RANK, INVALID_RANK
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import Measures
from polars_rank.uncertainty.bounds.differences import differences
from polars_rank.uncertainty.bounds.known_bounds import with_known_bounds
from polars_rank.uncertainty.bounds.labelings import Documents
from polars_rank.uncertainty.bounds.limits import (
    Asked,
    Question,
    Table,
    over_labels,
    over_ties,
    widest,
)
from polars_rank.uncertainty.bounds.several_runs import Runs, keys_of, stacked

Over: TypeAlias = Literal["ties", "labels"]
Universe: TypeAlias = Literal["retrieved", "pool"]
ROUNDING = 1e-12
VALUES = ("value", "lower", "upper")
TAKEN = {
    "doc", "score", "label", "baseline", "measure", "queries", "mean", "value",
    "difference", "lower", "upper", "exact",
}  # fmt: skip


def bounds(
    run: Runs,
    measures: Measures,
    *,
    qrels: FrameLike | None = None,
    over: Over | Sequence[Over] = "labels",
    max_grade: int | None = None,
    universe: Universe | None = None,
    max_unseen: int = 0,
    baseline: str | None = None,
    system: str | None = None,
    query: str | Sequence[str] = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    label: str | None = "label",
    rank: str | None = None,
    descending: bool = True,
    convention: ConventionLike = DEFAULT,
    per_query: bool = False,
    max_orders: int = 10_000,
    **choices: Unpack[ChoiceOptions],
) -> pl.DataFrame:
    """Bound the values over orders of tied documents and over unknown labels.

    Parameters
    ----------
    run, measures, qrels, query, doc, score, label, rank, descending, convention
        As in :func:`evaluate`; ``run`` can be a mapping of systems to their runs.
    over
        ``"labels"``: over all labels that unjudged documents could have; ``"ties"``:
        over all orders of documents with equal scores; or both.
    max_grade
        The highest grade that an unjudged document could have; the others are 0, 1 ...
        Default: the largest label of the judgments, without its fraction; at least 1.
    universe
        The unjudged documents that could have labels: those that the system itself
        ``"retrieved"`` (default), or the ``"pool"`` of documents that any system
        retrieved, which count in R and the ideal order of all systems.
    max_unseen
        How many documents of each query nobody retrieved or judged that could have
        labels, too: they count in R and the ideal order.
    baseline
        A system: compute bounds of the difference of each other system to it, with the
        same labels for both (``universe="pool"``).
    system
        Column of ``run`` with the system.
    per_query
        Whether to return the bounds of each query, or of the mean.
    max_orders
        Largest number of labelings, and of orders, of a query to try, for measures
        without a shortcut.
    choices
        ``ties``, ``missing``, ``no_relevant``, ``unjudged``, ``rel``,
        ``on_duplicate``, as in :func:`evaluate`.

    Returns
    -------
    One row per system and measure: ``measure``, ``queries``, ``mean``, ``lower``,
    ``upper``, and ``exact``: whether both ends are reached, or are only limits. The
    ``mean`` is what :func:`evaluate` returns for the measure, and its bounds are over
    the ``queries`` that have a value, as it is. With ``per_query``, a row is a query
    and has its ``value``. With ``baseline``, these are of the ``difference``, and a
    column ``baseline`` names it.

    Raises
    ------
    ValueError
        For wrong arguments, for measures of which no bounds are known, and where more
        than ``max_orders`` labelings or orders would have to be tried.
    DataError
        For rows that break a rule.

    Notes
    -----
    Labels of different queries are independent, so the mean of the bounds is the bound
    of the mean. A labeling under which the value is undefined is passed over; then
    ``exact`` is False. The judgments as they are count beside the labelings: a measure
    of the judged documents alone, such as ``inf_ap`` or a correlation, may have a value
    now that it has under no label, since any label makes a document one of them.
    Measures that are not monotone in the labels, such as nDCG, are not bounded by "all
    relevant" and "none relevant": between a grade of 1 and one of 3, nDCG can be
    highest. Measures that say themselves what equal scores count, such as rank
    correlations and RBO, do not depend on the order of tied documents.

    Source: residuals of Moffat and Zobel, TOIS 2008, for all measures; ratios:
    Dinkelbach, Management Science 1967.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1],
    ...      "label": [1, None, 0]}
    ... )
    >>> found = pr.bounds(log, ["precision@2", "ap"])
    >>> found.select("measure", "mean", "lower", "upper")
    shape: (2, 4)
    ┌─────────────┬──────┬───────┬───────┐
    │ measure     ┆ mean ┆ lower ┆ upper │
    │ ---         ┆ ---  ┆ ---   ┆ ---   │
    │ str         ┆ f64  ┆ f64   ┆ f64   │
    ╞═════════════╪══════╪═══════╪═══════╡
    │ precision@2 ┆ 0.5  ┆ 0.5   ┆ 1.0   │
    │ ap          ┆ 1.0  ┆ 1.0   ┆ 1.0   │
    └─────────────┴──────┴───────┴───────┘
    """
    ways = (over,) if isinstance(over, str) else tuple(over)
    _require_allowed(ways, max_unseen, universe, baseline)
    start = convention_of(convention, **choices)
    frame, column = stacked(run, system)
    pool = universe == "pool" or (universe is None and baseline is not None)
    _require_given(doc, label, qrels, column, baseline, pool=pool)
    roles = {"doc": doc} | ({"score": score} if rank is None else {"rank": rank})
    roles |= {} if label is None else {"label": label}
    rows = _rows(frame, qrels, keys_of(query, column), column, roles, descending)
    question = Question(*rows, column, start, ways, max_orders)
    if len(ways) > 1 and not _has_ties(question):
        question = replace(question, ways=("labels",))  # of which more is known
    asked = with_known_bounds(measures, start, question.ways, scored=rank is None)
    question = replace(question, asked=asked)
    # From here on no column of the user's can have the name of one of ours.
    inner = {k: f"\0{k}" for k in question.keys}
    values = question.values().rename(inner)
    question = question.renamed(inner)
    if "labels" not in question.ways:
        limits = over_ties(question)
    else:
        documents = Documents.of(
            question.run, question.judged, question.keys, question.shared, start,
            pool=pool, max_unseen=max_unseen, max_grade=max_grade,
        )  # fmt: skip
        if baseline is None:
            limits = _of_labels(question, documents)
        else:
            assert question.system is not None
            values, limits = differences(
                question, documents, values, _of_labels, question.system, baseline
            )
    bounded = _with_limits(values, limits, question)
    if per_query:
        name, shown = "value", _of_queries(bounded, question)
    else:
        _require_means(asked if baseline is not None else [])
        name, shown = "mean", _of_systems(bounded, question)
    if baseline is not None:
        shown = shown.rename({name: "difference"})
        shown = shown.insert_column(0, pl.lit(baseline).alias("baseline"))
    return shown.rename({new: k for k, new in inner.items()}, strict=False)


def _of_labels(question: Question, documents: Documents) -> Table:
    """Find the limits of each system, over labels and, if they are asked for, ties."""
    limits = over_labels(question, documents)
    if "ties" in question.ways:  # of the judgments as they are
        limits = widest([limits, over_ties(question)], question.keys)
    return limits


# -- arguments


def _require_allowed(
    ways: Sequence[str], max_unseen: int, universe: str | None, baseline: str | None
) -> None:
    """Require arguments that can be, whatever the frames are."""
    if not ways or not {*ways} <= {*get_args(Over)}:
        told = " and ".join(map(repr, ways)) or "nothing"
        msg = f"over must be 'ties', 'labels' or both, not {told}"
        raise ValueError(msg)
    counts = is_whole(max_unseen) and max_unseen >= 0
    if not counts or (max_unseen and "labels" not in ways):
        msg = (
            "max_unseen is the number of further documents that could have labels, a "
            f"whole number, for over='labels', not {max_unseen!r}"
        )
        raise ValueError(msg)
    if universe not in (None, *get_args(Universe)):
        msg = f"universe must be 'retrieved' or 'pool', not {universe!r}"
        raise ValueError(msg)
    if baseline is not None and universe == "retrieved":
        msg = (
            "a difference has the same labels on both sides, of documents that either "
            "system retrieved: leave out universe='retrieved'"
        )
        raise ValueError(msg)
    if baseline is not None and "labels" not in ways:
        msg = "baseline= is for labels that two systems share: it needs over='labels'"
        raise ValueError(msg)


def _require_given(
    doc: str | None,
    label: str | None,
    qrels: FrameLike | None,
    system: str | None,
    baseline: str | None,
    *,
    pool: bool,
) -> None:
    """Require the columns and the judgments that the other arguments are about."""
    if baseline is not None and system is None:
        msg = "baseline= names a system: name the column of systems with system="
        raise ValueError(msg)
    if pool and qrels is None:
        msg = "universe='pool' is for a run and its judgments: give qrels="
        raise ValueError(msg)
    if doc is None:
        msg = "bounds tell documents apart: name the column of their ids with doc="
        raise ValueError(msg)
    if label is None and qrels is None:
        msg = "label=None is for judgments: give qrels=, or name the column of labels"
        raise ValueError(msg)


def _require_means(asked: Sequence[Asked]) -> None:
    """Require means over queries: the difference of two of them is one, too."""
    for a in asked:
        if a.measure.definition.aggregate in ("sum", "geometric"):
            msg = f"{a.name} is not a mean over queries: ask for per_query=True"
            raise ValueError(msg)


# -- the frames


def _rows(
    run: Table,
    qrels: FrameLike | None,
    keys: list[str],
    system: str | None,
    roles: Mapping[str, str],
    descending: bool,
) -> tuple[Table, Table | None, list[str], list[str]]:
    """Select the columns of ``roles``; high scores come first, also of ranks.

    Return the run, the judgments, the keys, and those of them that judgments have.
    """
    if taken := [k for k in keys if k in TAKEN]:
        msg = f"{taken[0]!r} is a column of bounds itself; rename that of the queries"
        raise ValueError(msg)
    of_run = [r for r in roles if r != "label" or qrels is None]
    run = _columns(run, keys, {r: roles[r] for r in of_run}, "the run")
    run = _scored(run, keys, descending)
    if qrels is None:
        return run, None, keys, keys
    judged = as_polars(qrels, name="qrels", kind="qrels").lazy()
    several = system is not None and system in judged.collect_schema()
    shared = keys if several else [k for k in keys if k != system]
    of_qrels = {r: roles[r] for r in ("doc", "label") if r in roles}
    judged = _columns(judged, shared, of_qrels, "the judgments")
    if "label" not in roles:
        judged = judged.with_columns(label=pl.lit(1))
    judged = judged.filter(pl.col("label").is_not_null())
    return *_same_integers(run, judged, [*shared, "doc"]), keys, shared


def _columns(
    frame: Table, keys: Sequence[str], roles: Mapping[str, str], where: str
) -> Table:
    schema = frame.collect_schema()
    for argument, name in [*(("query", k) for k in keys), *roles.items()]:
        require_columns([name], schema, where=where, argument=argument)
    return frame.select(*keys, **{role: pl.col(name) for role, name in roles.items()})


def _scored(run: Table, keys: Sequence[str], descending: bool) -> Table:
    """Turn distances and ranks into scores, of which high ones come first."""
    schema, rank = run.collect_schema(), pl.col("rank")
    if "rank" in schema:
        run = run.with_columns(rank.cast(pl.Int64))
        counts = {
            INVALID_RANK: (rank < 1).sum() + rank.null_count(),
            DUPLICATE_RANK: pl.struct(*keys, rank).is_duplicated().sum(),
        }
        named = {rule.name: count for rule, count in counts.items()}
        found = run.select(**named).collect()
        for rule, count in zip(counts, found.row(0), strict=True):
            if count:
                raise DataError(f"{rule.message} ({count} found)", rule=rule.name)
        return run.with_columns(score=-rank).drop("rank")
    if descending:
        return run
    score, _ = negated(pl.col("score"), schema["score"])
    return run.with_columns(score)


def _has_ties(question: Question) -> bool:
    """Tell whether any documents of a query have equal scores."""
    tied = pl.struct(*question.keys, "score").is_duplicated().any()
    return bool(question.run.select(tied).collect().item())


def _same_integers(
    run: Table, judged: Table, keys: Sequence[str]
) -> tuple[Table, Table]:
    """Widen ids to 64 bits if they are integers of other sizes on the two sides."""
    own, other = run.collect_schema(), judged.collect_schema()
    wide = [
        pl.col(k).cast(pl.Int64)
        for k in keys
        if own[k] != other[k] and own[k].is_integer() and other[k].is_integer()
    ]
    return run.with_columns(wide), judged.with_columns(wide)


# -- the answer


def _with_limits(values: Table, limits: Table, question: Question) -> Table:
    """Return ``value``, ``lower``, ``upper``, ``exact`` per query and measure.

    Measures keep the order in which they were asked for.
    """
    names, on = [a.name for a in question.asked], [*question.keys, "measure"]
    long = values.unpivot(
        names, index=question.keys, variable_name="measure", value_name="value"
    )
    rows = long.join(limits, on=on, how="left", maintain_order="left", nulls_equal=True)
    # A judged query without a document to label is what it is, and a bound that is
    # the value, but was computed in another way, must not lie beyond it by rounding.
    value = pl.col("value")
    ends = {"lower": pl.min_horizontal, "upper": pl.max_horizontal}
    return rows.with_columns(
        *(
            pl.when(pl.col("exact").is_null() | ((pl.col(c) - value).abs() < ROUNDING))
            .then(value)
            .otherwise(furthest(c, value))
            .alias(c)
            for c, furthest in ends.items()
        ),
        exact=pl.col("exact").fill_null(value=True),
        measure=pl.col("measure").cast(pl.Enum(names)),
    )


def _of_queries(rows: Table, question: Question) -> pl.DataFrame:
    on = [*question.keys, "measure"]
    found = rows.select(*on, *VALUES, "exact").sort(on)
    return found.with_columns(pl.col("measure").cast(pl.String)).collect()


def _of_systems(rows: Table, question: Question) -> pl.DataFrame:
    """Aggregate all three values over queries, as each measure does (mean, sum ...)."""
    measure = pl.col("measure")
    keys = ["measure"] if question.system is None else [question.system, "measure"]
    finished = {"sum": Sum(), "geometric": GeometricMean(), "mean": Mean()}
    named = {
        aggregate: [
            a.name
            for a in question.asked
            if a.measure.definition.aggregate == aggregate
        ]
        for aggregate in finished
    }
    # Over the same queries; and exact sums, for which no order matters.
    value = pl.col("value")
    states = {c: Mean().state(pl.when(value.is_not_null()).then(c)) for c in VALUES}

    def finish(column: str) -> pl.Expr:
        state = {n: pl.col(f"{column}_{n}") for n in states[column]}
        return pl.coalesce(
            pl.when(measure.is_in(named[aggregate])).then(kind.finish(state))
            for aggregate, kind in finished.items()
        )

    parts = [
        part.alias(f"{c}_{name}")
        for c, state in states.items()
        for name, part in state.items()
    ]
    return (
        rows.group_by(keys)
        .agg(pl.col("exact").all(), *parts)
        .select(
            *keys,
            queries=pl.col("value_n").cast(pl.UInt32),
            mean=finish("value"),
            lower=finish("lower"),
            upper=finish("upper"),
            exact="exact",
        )
        .sort(keys)
        .with_columns(measure.cast(pl.String))
        .collect()
    )
