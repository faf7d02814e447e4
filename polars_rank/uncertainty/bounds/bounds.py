"""Bounds: the lowest and highest value over tied orders and unknown labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_rank._engine.schema import negated, require_columns
from polars_rank.conventions.tools import (
    DEFAULT,
    ConventionLike,
    convention_of,
)
from polars_rank.core.aggregate import GeometricMean, Mean, Sum
from polars_rank.core.parameters import is_whole
from polars_rank.core.rules import DUPLICATE_RANK, INVALID_RANK
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import Measures
from polars_rank.uncertainty.bounds.differences import differences
from polars_rank.uncertainty.bounds.known_bounds import with_known_bounds
from polars_rank.uncertainty.bounds.labelings import Documents, grades_of
from polars_rank.uncertainty.bounds.limits import (
    Asked,
    Table,
    over_labels,
    over_ties,
    values_under,
    widest,
)
from polars_rank.uncertainty.bounds.several_runs import Runs, keys_of, stacked

Over: TypeAlias = Literal["ties", "labels"]
Universe: TypeAlias = Literal["retrieved", "pool"]
ROUNDING = 1e-12
TAKEN = {
    "doc", "score", "label", "baseline", "measure", "queries", "value", "difference",
    "lower", "upper", "exact",
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
    **choices: Any,
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
        ``ties``, ``missing``, ``no_relevant``, ``unjudged``, ``rel``, as in
        :func:`evaluate`.

    Returns
    -------
    One row per system (and query) and measure: ``measure``, ``queries``, ``value``,
    ``lower``, ``upper``, and ``exact``: whether both are reached, or are only limits.
    With ``baseline``, these are of the ``difference``, and a column ``baseline`` names
    it. Bounds of a mean are over the ``queries`` that have a value, as the mean is.

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
    >>> found.select("measure", "value", "lower", "upper")
    shape: (2, 4)
    ┌─────────────┬───────┬───────┬───────┐
    │ measure     ┆ value ┆ lower ┆ upper │
    │ ---         ┆ ---   ┆ ---   ┆ ---   │
    │ str         ┆ f64   ┆ f64   ┆ f64   │
    ╞═════════════╪═══════╪═══════╪═══════╡
    │ precision@2 ┆ 0.5   ┆ 0.5   ┆ 1.0   │
    │ ap          ┆ 1.0   ┆ 1.0   ┆ 1.0   │
    └─────────────┴───────┴───────┴───────┘
    """
    ways = (over,) if isinstance(over, str) else tuple(over)
    if not ways or not {*ways} <= {*get_args(Over)}:
        msg = f"over must be 'ties', 'labels' or both, not {over!r}"
        raise ValueError(msg)
    wanted = is_whole(max_unseen) and max_unseen >= 0
    if not wanted or (max_unseen and "labels" not in ways):
        msg = (
            "max_unseen is the number of further documents that could have labels, a "
            f"whole number, for over='labels', not {max_unseen!r}"
        )
        raise ValueError(msg)
    pool = universe == "pool" or (universe is None and baseline is not None)
    _require_universe(universe, baseline)
    if baseline is not None and "labels" not in ways:
        msg = "baseline= is for labels that two systems share: it needs over='labels'"
        raise ValueError(msg)
    start = convention_of(convention, **choices)
    frame, column = stacked(run, system)
    if baseline is not None and column is None:
        msg = "baseline= names a system: name the column of systems with system="
        raise ValueError(msg)
    if pool and qrels is None:
        msg = "universe='pool' is for a run and its judgments: give qrels="
        raise ValueError(msg)
    keys = keys_of(query, column)
    if taken := [k for k in keys if k in TAKEN]:
        msg = f"{taken[0]!r} is a column of bounds itself; rename that of the queries"
        raise ValueError(msg)
    judgments = None if qrels is None else as_polars(qrels, name="qrels", kind="qrels")
    _require_documents(doc, label, judgments)
    place = {"score": score} if rank is None else {"rank": rank}
    named = {"doc": doc, **place} | ({} if label is None else {"label": label})
    frame = _columns(
        frame, keys, named, "the run", ["label"] if qrels is not None else []
    )
    frame = _scored(frame, keys, descending)
    if len(ways) > 1 and not _has_ties(frame, keys):
        ways = ("labels",)  # of which more is known
    asked = with_known_bounds(measures, start, ways, scored=rank is None)
    own = [k for k in keys if k != column]
    judged = None
    shared = keys
    if judgments is not None:
        known = judgments.lazy().collect_schema()
        shared = keys if column is not None and column in known else own
        judged = _columns(judgments.lazy(), shared, named, "the judgments", [*place])
        if label is None:
            judged = judged.with_columns(label=pl.lit(1))
        judged = judged.filter(pl.col("label").is_not_null())
        frame, judged = _same_integers(frame, judged, [*shared, "doc"])
    values = values_under(frame, judged, asked, keys, start)
    # From here on no column of the user's can have the name of one of ours.
    inner = {k: f"\0{k}" for k in keys}
    frame, values = frame.rename(inner), values.rename(inner)
    if judged is not None:
        judged = judged.rename({k: inner[k] for k in shared})
    keys, shared = [inner[k] for k in keys], [inner[k] for k in shared]
    column = None if column is None else inner[column]
    if "labels" not in ways:
        limits = over_ties(frame, judged, asked, keys, start, max_orders)
    else:
        grades = grades_of(max_grade, frame if judged is None else judged)
        documents = Documents.of(
            frame, judged, keys, shared, start, pool=pool, max_unseen=max_unseen
        )
        held = documents.frame.collect(engine="streaming")
        documents = documents._replace(frame=held.lazy())
        limits = over_labels(documents, held, asked, grades, start, ways, max_orders)
        if "ties" in ways:  # of the judgments as they are
            now = over_ties(frame, judged, asked, keys, start, max_orders)
            limits = widest([limits, now], keys)
        if baseline is not None:
            assert column is not None
            values, limits = differences(
                documents, held, values, limits, asked, grades, start, ways,
                keys, column, baseline,
            )  # fmt: skip
    apart = baseline is not None
    shown = _shown(values, limits, asked, keys, column, per_query, differences=apart)
    if apart:
        shown = shown.rename({"value": "difference"})
        shown = shown.insert_column(0, pl.lit(baseline).alias("baseline"))
    return shown.rename({new: k for k, new in inner.items()}, strict=False)


# -- arguments


def _require_universe(universe: str | None, baseline: str | None) -> None:
    if universe not in (None, *get_args(Universe)):
        msg = f"universe must be 'retrieved' or 'pool', not {universe!r}"
        raise ValueError(msg)
    if baseline is not None and universe == "retrieved":
        msg = (
            "a difference has the same labels on both sides, of documents that either "
            "system retrieved: leave out universe='retrieved'"
        )
        raise ValueError(msg)


def _require_documents(doc: str | None, label: str | None, judgments: Any) -> None:
    if doc is None:
        msg = "bounds tell documents apart: name the column of their ids with doc="
        raise ValueError(msg)
    if label is None and judgments is None:
        msg = "label=None is for judgments: give qrels=, or name the column of labels"
        raise ValueError(msg)


def _columns(
    frame: Table,
    keys: Sequence[str],
    named: Mapping[str, str],
    where: str,
    without: Sequence[str],
) -> Table:
    schema = frame.collect_schema()
    for k in keys:
        require_columns([k], schema, where=where, argument="query")
    roles = {role: name for role, name in named.items() if role not in without}
    for role, name in roles.items():
        require_columns([name], schema, where=where, argument=role)
    return frame.select(*keys, **{r: pl.col(n) for r, n in roles.items()})


def _scored(run: Table, keys: Sequence[str], descending: bool) -> Table:
    """Scores of which high ones come first, also out of ranks, which are checked."""
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


def _has_ties(run: Table, keys: Sequence[str]) -> bool:
    """Whether any documents of a query have equal scores."""
    tied = run.select(pl.struct(*keys, "score").is_duplicated().any())
    return bool(tied.collect().item())


def _same_integers(
    run: Table, judged: Table, keys: Sequence[str]
) -> tuple[Table, Table]:
    """Ids that are integers of other sizes on both sides as 64 bits."""
    own, other = run.collect_schema(), judged.collect_schema()
    wide = [
        pl.col(k).cast(pl.Int64)
        for k in keys
        if own[k] != other[k] and own[k].is_integer() and other[k].is_integer()
    ]
    return run.with_columns(wide), judged.with_columns(wide)


# -- the answer


def _shown(
    values: Table,
    limits: Table,
    asked: Sequence[Asked],
    keys: Sequence[str],
    system: str | None,
    per_query: bool,
    *,
    differences: bool = False,
) -> pl.DataFrame:
    names = [a.name for a in asked]
    long = values.unpivot(
        names, index=list(keys), variable_name="measure", value_name="value"
    )
    rows = long.join(
        limits, on=[*keys, "measure"], how="left", maintain_order="left",
        nulls_equal=True,
    )  # fmt: skip
    # A judged query without a document to label is what it is, and a bound that is
    # the value, but was computed in another way, must not lie beyond it by rounding.
    value = pl.col("value")
    ends = {"lower": pl.min_horizontal, "upper": pl.max_horizontal}
    rows = rows.with_columns(
        *(
            pl.when(pl.col("exact").is_null() | ((pl.col(c) - value).abs() < ROUNDING))
            .then(value)
            .otherwise(furthest(c, value))
            .alias(c)
            for c, furthest in ends.items()
        ),
        exact=pl.col("exact").fill_null(value=True),
    )
    first = ["value", "lower", "upper"]
    order = pl.Enum(names)
    whose = [] if system is None else [system]
    if per_query:
        return (
            rows.select(*keys, pl.col("measure").cast(order), *first, "exact")
            .sort([*keys, "measure"])
            .with_columns(pl.col("measure").cast(pl.String))
            .collect()
        )
    how = {a.name: a.measure.definition.aggregate for a in asked}
    sums = [n for n, aggregate in how.items() if aggregate == "sum"]
    logs = [n for n, aggregate in how.items() if aggregate == "geometric"]
    by = pl.col("measure")
    if differences and (wrong := [*sums, *logs]):
        msg = f"{wrong[0]} is not a mean over queries: ask for per_query=True"
        raise ValueError(msg)
    # Over the same queries; and exact sums, for which no order matters.
    states = {c: Mean().state(pl.when(value.is_not_null()).then(c)) for c in first}
    return (
        rows.group_by(*whose, by.cast(order))
        .agg(
            pl.col("exact").all(),
            *(
                part.alias(f"{c}_{name}")
                for c, state in states.items()
                for name, part in state.items()
            ),
        )
        .select(
            *whose,
            "measure",
            pl.col("value_n").alias("queries"),
            *(
                pl.when(by.is_in(sums))
                .then(Sum().finish(held))
                .when(by.is_in(logs))
                .then(GeometricMean().finish(held))
                .otherwise(Mean().finish(held))
                .alias(c)
                for c, held in (
                    (c, {name: pl.col(f"{c}_{name}") for name in state})
                    for c, state in states.items()
                )
            ),
            "exact",
        )
        .sort([*whose, "measure"])
        .with_columns(by.cast(pl.String))
        .collect()
    )
