"""Make judgments of clicks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, Unpack, cast

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._statistics.distributions import special
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.bias.apply import Propensities, faults_first, with_propensities
from polars_rank.clicks.judgments.relevance import Prior, estimated
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import bounded_by
from polars_rank.clicks.log.log_columns import (
    LogOptions,
    refuse_options,
    require_arguments,
    require_distinct,
)
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.log.position_counts import (
    position_totals,
    shown,
    unless_faulty,
)
from polars_rank.core.parameters import is_number, refuse

JudgmentMethod: TypeAlias = Literal["ratio", "ips", "ctr", "coec", "affine"]


@function_of_log
def judgments(
    log: AnyFrame,
    /,
    method: JudgmentMethod | None = None,
    *,
    propensities: Propensities = None,
    grades: int | Sequence[float] | None = None,
    grades_within: Literal["log", "query"] = "log",
    min_impressions: int = 10,
    min_clicks: int = 0,
    prior: Prior = None,
    level: float | None = 0.95,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Make judgments of queries and documents from clicks.

    Parameters
    ----------
    log
        One row per document that an impression showed, or totals (``count=``).
    method
        None: ``"ratio"`` where propensities are given, or logged in a column that
        ``propensity=`` names; else ``"coec"``, which needs none.

        ``"ratio"``: clicks divided by the expected number of examinations,
        ``sum clicks / sum propensity``: the maximum of the Poisson likelihood, with a
        smaller error than ``"ips"`` and the same mean.

        ``"ips"``: ``sum clicks / propensity`` per impression.

        ``"affine"``: ``sum (clicked - beta) / sum alpha``, under trust bias.

        ``"coec"``: clicks over those expected of the positions' mean click rates.

        ``"ctr"``: clicks per impression, which position bias distorts.
    propensities
        As in :func:`counterfactual`; not for ``"ctr"`` and ``"coec"``.
    grades
        None: the label is the estimate, a probability: for measures with gains, or with
        a lower ``rel=`` than 1. Thresholds in rising order: the label is the
        number of thresholds that the estimate reaches. A whole number n: grades from 0
        to n - 1, each for about as many documents.
    grades_within
        Whether the grades split all documents of the log, or those of each query.
    min_impressions, min_clicks
        A document with fewer has a null label: it is not judged.
    prior
        Clicks and examinations that are added to those of each document; or ``"log"``
        or ``"query"``: found by the method of moments (empirical Bayes), towards the
        mean of all, or of the query. For ``"ratio"``, ``"coec"`` and ``"ctr"``.
    level
        Confidence level; None: no intervals. All but those of ``"ctr"`` without a
        prior take the extra ``stats``.
    **options
        Columns and options of :class:`LogOptions`; ``by``, ``weight``, ``cluster``
        and ``impressions`` are refused.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, one row per query and
    document that was shown, sorted: their columns, ``label``, ``estimate``, ``lower``,
    ``upper`` (Poisson, of Garwood; Wilson for ``"ctr"``; gamma with a prior),
    ``impressions`` and ``clicks``. It can be given to ``evaluate(qrels=...)``.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Source: Zhang and Jones, WWW 2007 (COEC); Joachims, Swaminathan and Schnabel, WSDM
    2017 (IPS); Garwood, Biometrika 1936; Wilson, JASA 1927.

    Examples
    --------
    >>> import polars_rank as pr
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, n_queries=50, seed=1)
    >>> qrels = clicks.judgments(
    ...     simulation.draw(), propensities=simulation.propensities, grades=[0.1, 0.3]
    ... )
    >>> qrels.head(2).select("query_id", "doc_id", "label", "clicks").rows()
    [(0, 0, 2, 506), (0, 1, 0, 79)]
    """
    if method is None:
        logged = options.get("propensity") is not None
        method = "ratio" if logged or propensities is not None else "coec"
    require_arguments(method=(JudgmentMethod, method))
    least = {"min_impressions": min_impressions, "min_clicks": min_clicks}
    for name, number in least.items():
        if type(number) is not int or number < 0:
            refuse(name, "a whole number", number)
    _require_choices(method, grades, grades_within, prior, level, options)
    plain = method in ("ctr", "coec")
    if plain and propensities is not None:
        msg = f'propensities= is not for method "{method}"'
        raise ValueError(msg)
    bound: ClickLog = ClickLog.of(log, options, needs=["query", "doc"], totals=True)
    table = _table(bound, propensities, method)
    found = estimated(table, method, prior, level)
    judged = pl.col("impressions") >= min_impressions
    judged = judged & (pl.col("clicks") >= min_clicks)
    label = pl.when(judged).then(pl.col("estimate"))
    found = found.with_columns(label=_graded(label, grades, grades_within))
    names = {role: bound.roles[role] for role in ("query", "doc")}
    columns = ["label", "estimate", "lower", "upper", "impressions", "clicks"]
    require_distinct([*names.values(), *columns])
    found = found.select(*names, *columns).sort(*names)
    found = unless_faulty(found, bound)
    return like_input(log, faults_first(found, bound).rename(names))


def _require_choices(
    method: str,
    grades: int | Sequence[float] | None,
    within: str,
    prior: Prior,
    level: float | None,
    options: LogOptions,
) -> None:
    refuse_options(
        options,
        ["by", "weight", "cluster", "impressions"],
        "judgments take no {name}=: there is one row per query and document",
    )
    if within not in ("log", "query"):
        refuse("grades_within", "'log' or 'query'", within)
    if isinstance(grades, int):
        if isinstance(grades, bool) or grades < 2:
            refuse("grades", "at least 2", grades)
    elif grades is not None:
        finite = len(grades) > 0 and all(is_number(grade) for grade in grades)
        if not finite or list(grades) != sorted(set(grades)):
            refuse("grades", "finite thresholds in rising order", grades)
        if within == "query":
            msg = "grades_within='query' is for a number of grades, not for thresholds"
            raise ValueError(msg)
    if prior is not None:
        if method in ("ips", "affine"):
            msg = f'prior= is for "ratio", "coec" and "ctr", not "{method}"'
            raise ValueError(msg)
        pair = isinstance(prior, Sequence) and not isinstance(prior, str)
        if not (prior in ("log", "query") if not pair else len(prior) == 2):
            refuse(
                "prior", "a pair of clicks and examinations, 'log' or 'query'", prior
            )
        numbers = cast("tuple[float, float]", prior) if pair else ()
        if not all(is_number(x) and x > 0 for x in numbers):
            refuse("prior", "above 0 and finite", prior)
    if level is not None:
        require_level(level)
        if method != "ctr" or prior is not None:  # all but those of Wilson
            special()


def _table(log: ClickLog, propensities: Propensities, method: str) -> pl.LazyFrame:
    """Sum up how often each document of a query was shown, clicked, examined."""
    weighed = _weighed(log, propensities, method)
    pair = ["query", "doc"]
    # A logged propensity can vary between the rows of a position.
    cell = [*pair, "position", "alpha", "beta"]
    rows = weighed.select(*cell, n=shown(log), c=pl.col("clicked").cast(pl.Int64))
    n, c = pl.col("n"), pl.col("c")
    alpha, beta = pl.col("alpha"), pl.col("beta")

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        cells = rows.group_by(cell).agg(n.sum(), c.sum())
        # In this order, so that sums do not depend on the order of the rows.
        ordered = cells.sort(cell).group_by(pair, maintain_order=True)
        return ordered.agg(
            impressions=n.sum(),
            clicks=c.sum(),
            exposure=(n * alpha).sum(),
            weighted=(c / alpha).sum(),
            background=(n * beta).sum(),
        )

    return bounded_by(log, rows, ["query"], summed, f"judgments {method}")


def _weighed(log: ClickLog, propensities: Propensities, method: str) -> pl.LazyFrame:
    """Add ``alpha`` and ``beta``: what is divided by, and subtracted."""
    if method == "ctr":
        return log.rows.with_columns(alpha=1.0, beta=0.0)
    if method == "coec":
        rates = position_totals(log, []).select(
            "position", alpha=pl.col("clicks") / pl.col("impressions"), beta=0.0
        )
        return log.rows.join(rates, on="position")
    return with_propensities(log, propensities, trust=method == "affine").rows


def _graded(
    estimate: pl.Expr, grades: int | Sequence[float] | None, within: str
) -> pl.Expr:
    """Grade: the estimate, how many thresholds it reaches, or its part."""
    if grades is None:
        return estimate
    if isinstance(grades, int):
        below = (estimate.rank("min") - 1).cast(pl.Int64)
        part = (below * grades).floordiv(estimate.count().cast(pl.Int64))
        part = part.over("query") if within == "query" else part
        return part.cast(pl.Int32)
    reached = pl.sum_horizontal((estimate >= t).cast(pl.Int32) for t in grades)
    return pl.when(estimate.is_not_null()).then(reached).cast(pl.Int32)
