"""Estimate from a log how likely each position is examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import require_columns
from polars_rank.clicks.behavior.ratios import warn_of_users
from polars_rank.clicks.bias.cluster_sizes import with_intervals
from polars_rank.clicks.bias.position_rows import (
    COLUMNS,
    Estimator,
    Normalize,
    PropensityMethod,
    Row,
    Task,
    Weighting,
    is_by_query,
)
from polars_rank.clicks.bias.rates import rows_of_rates
from polars_rank.clicks.bias.swaps import rows_of_fair_pairs, rows_of_swaps
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import (
    LogOptions,
    column_of,
    refuse_options,
    require_distinct,
    several,
)
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.log.position_counts import rows_with_known
from polars_rank.core.source import is_rereadable, lazy_source


@function_of_log
def propensities(
    log: AnyFrame,
    /,
    method: PropensityMethod = "harvest",
    *,
    estimator: Estimator = "poisson",
    weighting: Weighting = "harmonic",
    min_impressions: int | None = None,
    randomized: str | None = None,
    shuffled: int | None = None,
    swap: str | None = None,
    swapped: str | None = None,
    relevance: str | None = None,
    within: str | Sequence[str] | None = None,
    normalize: Normalize = "first",
    level: float = 0.95,
    max_steps: int = 500,
    tol: float = 1e-6,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Estimate how likely each position is examined, relative to the first one.

    ``P(click) = theta_k * attractiveness`` of a document at position k. Without an
    experiment, use ``"harvest"``; a shuffled or swapped slice of the traffic assumes
    less; ``"ctr"`` is biased, and is there for comparison only.

    Parameters
    ----------
    log
        One row per document that an impression showed. ``"ctr"``, ``"harvest"``,
        ``"em"`` and ``"trust"`` also take totals (``count=``).
    method
        ``"harvest"``: from documents that were shown at several positions of the same
        query. It assumes the position-based model above, so it is wrong under trust
        bias; and that where they were shown does not depend on anything else that moves
        clicks, such as the user or the season; else see ``within``.

        ``"randomized"``: clicks per impression, where the list was shuffled.

        ``"swap"``: where a coin decided whether the first document and the one at
        another position change places.

        ``"fair_pairs"``: where coins decided whether neighbors change places.

        ``"ctr"``: clicks per impression, of all: relevance counts as examination.

        ``"em"``: the likeliest position-based model (the fixed point of expectation
        maximization, by Newton's method). Unbiased for documents with many impressions
        only.

        ``"regression_em"``: the same with the attractiveness of a model, in a column of
        ``relevance``, so that rare documents do no harm. For a model that is fitted to
        the examined clicks, alternate: fit it, and call this again.

        ``"trust"``: with trust bias, ``P(click) = alpha_k * relevance + beta_k``; takes
        a column of ``relevance``, since clicks alone do not identify the two.
    estimator
        Estimator of ``"harvest"``: ``"poisson"`` (conditional likelihood of a
        document's clicks over its positions), or those of Agarwal et al.:
        ``"all_pairs"``, ``"pivot_one"`` (each position against the reference),
        ``"chain"`` (against its neighbor).
    weighting
        Weights of the documents in those of Agarwal et al.: ``"equal"``, as published,
        or ``"harmonic"``, by the inverse of the variance.
    min_impressions
        Documents of a query with fewer impressions are left out by ``"harvest"`` and
        ``"em"``. Default 50 for ``"em"``, else 1.
    randomized
        Boolean column: the impression was shuffled.
    shuffled
        How many positions were shuffled, from the top. Default: all.
    swap
        Column with the position that took part in the swap with the first, of all
        impressions whose coin was tossed, swapped or not; else null. For
        ``"fair_pairs"``: the neighboring position that this row was paired with. It
        counts from ``first_position``, as positions do; with ``page``, over all pages.
    swapped
        Boolean column: whether the two documents were swapped. With it both halves have
        the same weight, so the coin need not be fair.
    relevance
        Column with the probability that the document is clicked if examined and
        trusted, or a binary judgment; null: not known, the row is not used.
    within
        Columns, constant within an impression, such as the day: documents are compared
        within their values only.
    normalize
        Position whose propensity is set to 1: the ``"first"`` of the log, or the one
        with the ``"max"``.
    level
        Confidence level.
    max_steps, tol
        Limits of iterative fits: they end when a whole step of Newton's method changes
        no propensity by more than ``tol``, relatively. After ``max_steps`` propensities
        are null.
    **options
        Columns and options of :class:`LogOptions`. ``cluster`` is the impression by
        default, and the query for ``"harvest"`` and ``"em"``.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, one row per segment and
    position: the ``by`` columns, ``position``, ``propensity`` (can exceed 1), its
    standard error ``se``, ``lower`` and ``upper`` (computed for the logarithm, so above
    0; null where a single cluster ties the position to the reference), ``impressions``
    and ``clicks`` of the log, ``support`` (the impressions that the estimate rests on),
    ``clusters``, ``effective_clusters`` (if ``cluster=`` names others than queries: how
    many of one size would tell as much; errors allow for unequal sizes), and ``note``:
    why the propensity is null. Fits also have ``steps`` and
    ``converged``, those by EM ``log_likelihood``; ``"trust"`` has ``alpha``,
    ``alpha_se``, ``beta``, ``beta_se``.

    Warns
    -----
    DataWarning
        When collected: positions that cannot be compared with the reference; a fit
        that did not converge, whose propensities are null; fewer than 20 effective
        clusters, if they are named.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Source: Agarwal et al., WSDM 2019 (harvest); Hausman, Hall and Griliches, 1984
    (fixed-effects Poisson); Wang et al., SIGIR 2016 (randomized); Joachims,
    Swaminathan and Schnabel, WSDM 2017 (swap); Radlinski and Joachims, AAAI 2006
    (FairPairs); Wang et al., WSDM 2018 (EM, regression-EM); Vardasbi, Oosterhuis and de
    Rijke, CIKM 2020 (trust).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> log = clicks.simulate(50_000, k=3, n_queries=2000, seed=1).draw()  # truth: 1/k
    >>> found = clicks.propensities(log)
    >>> found.select(pl.col("position", "propensity", "se").round(2)).rows()
    [(1, 1.0, 0.0), (2, 0.5, 0.01), (3, 0.32, 0.01)]
    """
    given: dict[str, Any] = {
        "randomized": randomized,
        "swap": swap,
        "swapped": swapped,
        "relevance": relevance,
    }
    by: list[str] = [*several(options.get("by"))]
    inside: list[str] = [*several(within)]
    task: Task = Task(
        method=method,
        estimator=estimator,
        weighting=weighting,
        normalize=normalize,
        min_impressions=min_impressions,
        max_steps=max_steps,
        tol=tol,
        level=level,
        by=[f"by:{i}" for i in range(len(by))],
        within=[f"within:{i}" for i in range(len(inside))],
        shuffled=shuffled,
        halves=swapped is not None,
    )
    _require_columns_of(method, given, shuffled)
    refuse_options(
        options,
        ["weight"],
        "propensities take no {name}=; filter the log, or split it with by=",
    )
    _require_within(inside, log, options.get("impressions"))
    wide = cast("LogOptions", {**options, "by": [*dict.fromkeys([*by, *inside])]})
    pairs = method in ("harvest", "em")
    needs: list[str] = ["query", "doc"] if pairs else []
    summed: bool = options.get("count") is not None
    bound: ClickLog = ClickLog.of(
        log,
        wide,
        needs=[*needs, *(["query"] if summed else [])],
        totals=method not in ("randomized", "swap", "fair_pairs"),
        columns={n: c for n, c in given.items() if c is not None},
    )
    bound = rows_with_known(bound)
    if pairs and estimator != "poisson" and not is_by_query(bound):
        msg = (
            f'estimator="{estimator}" leaves out queries in turn; cluster= is for '
            'estimator="poisson"'
        )
        raise ValueError(msg)
    own = dict(zip(task.by, bound.own(by), strict=True))
    own |= dict(zip(task.within, bound.own(inside), strict=True))
    rows = bound.rows.with_columns(pl.col(c).alias(n) for n, c in own.items())
    bound = replace(bound, rows=rows)
    types = rows.collect_schema()
    if not pairs:
        warn_of_users(bound)
    schema = {name: types[name] for name in task.by} | {"position": pl.Int64()}
    schema |= COLUMNS | task.columns | {"note": pl.String()}
    require_distinct([*by, *(schema.keys() - task.by)])

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        found = pl.DataFrame([*_rows(task, bound)], schema=schema, orient="row")
        found = with_intervals(found, task, bound)
        yield found.sort(*task.by, "position", nulls_last=True)

    result = lazy_source(
        read, schema, name="propensities", rereadable=is_rereadable(bound.rows)
    )
    titles = dict(zip(task.by, by, strict=True))
    return like_input(log, result.rename(titles))


def _require_within(
    names: Sequence[str], log: AnyFrame, impressions: AnyFrame | None
) -> None:
    known = set() if impressions is None else {*impressions.lazy().collect_schema()}
    missing = [name for name in names if name not in known]
    schema = log.lazy().collect_schema()
    require_columns(missing, schema, where="the log", argument="within")


def _require_columns_of(
    method: str, given: dict[str, str | None], shuffled: int | None
) -> None:
    """Require the columns that the method takes, and refuse others."""
    takes = {
        "randomized": ["randomized"],
        "swap": ["swap"],
        "fair_pairs": ["swap"],
        "regression_em": ["relevance"],
        "trust": ["relevance"],
    }
    needed = takes.get(method, [])
    for name in needed:
        if given[name] is None:
            msg = f'method "{method}" needs {column_of(name)}'
            raise ValueError(msg)
    allowed = [*needed, *(["swapped"] if method == "swap" else [])]
    for name, column in given.items():
        if column is not None and name not in allowed:
            msg = f'{name}= is not for method "{method}"'
            raise ValueError(msg)
    if shuffled is not None and method != "randomized":
        msg = f'shuffled= is for method "randomized", not for "{method}": leave it out'
        raise ValueError(msg)
    if shuffled is not None and shuffled < 2:
        msg = f"shuffled must be at least 2 positions, or None for all, not {shuffled}"
        raise ValueError(msg)


def _rows(task: Task, log: ClickLog) -> Iterator[Row]:
    """Estimate one row per segment and position."""
    if task.method in ("harvest", "em"):
        from polars_rank.clicks.bias.several_positions.harvest import rows_of_pairs

        return rows_of_pairs(task, log)
    if task.method == "regression_em":
        from polars_rank.clicks.bias.em import rows_of_regression_em

        return rows_of_regression_em(task, log)
    if task.method == "fair_pairs":
        return rows_of_fair_pairs(task, log)
    return (rows_of_swaps if task.method == "swap" else rows_of_rates)(task, log)
