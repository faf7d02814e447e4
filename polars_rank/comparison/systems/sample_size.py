"""Plan a comparison: queries needed, differences that can be detected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import special, t_quantile
from polars_rank._statistics.intervals import require_level
from polars_rank.comparison.compare import compare
from polars_rank.comparison.input.values import Source
from polars_rank.comparison.tests.power_of_t import (
    MOST,
    detectable_effect,
    power_of_t,
    queries_for,
)


def power(
    values: Source | None = None,
    measures: str | Sequence[str] | None = None,
    *,
    sd: float | None = None,
    difference: float | None = None,
    n_queries: int | None = None,
    width: float | None = None,
    n_systems: int = 2,
    paired: bool = True,
    level: float = 0.95,
    power: float = 0.8,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    baseline: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Plan a paired t test: compute queries, detectable difference or power.

    Parameters
    ----------
    values
        Values of a pilot, as for :func:`compare`: the standard deviations of their
        differences are used, one row per measure and pair.
    sd
        The standard deviation of the differences, instead of ``values``. With
        ``n_systems`` above 2: that of the residuals, the root of ``variance`` in
        ``.anova`` of a comparison: the deviation of differences divided by sqrt(2).
    difference
        Mean difference to detect; the number of queries follows.
    n_queries
        Number of queries; the difference that they detect follows or, with
        ``difference``, the power. Default, with ``values`` and without ``difference``:
        as many as there are.
    width
        Instead of a difference: expected width of the interval of the mean difference;
        the number of queries follows.
    n_systems
        Number of systems. With more than two, ``queries`` are those that a two-way
        analysis of variance (systems and queries) needs to detect a ``difference``
        between the best and the worst system, if the others lie halfway.
    paired
        Whether all systems have the same queries. If not, ``sd`` is the deviation of
        the values of one system, and ``queries`` are those of each system in a one-way
        analysis of variance, which for two systems is the t test of two samples.
    level, power
        Confidence level (1 - level is the significance level of the two-sided test),
        and power.
    measures, system, query, baseline
        As in :func:`compare`.

    Returns
    -------
    ``measure``, ``baseline`` and ``system`` (with ``values``), ``sd``, ``difference``,
    ``queries`` and ``power``; with ``width``: ``width`` instead of the last two.
    ``queries`` is null for a difference of 0 or an sd of 0, and ``sd`` with all that
    follows from it where a pilot has fewer than two queries.

    Source: Sakai, Information Retrieval Journal 2016, whose analysis of many systems is
    one-way, with m (n - 1) degrees of freedom; of paired systems it is two-way here,
    with (m - 1) (n - 1), which for two systems is the paired t test. Equal to
    ``TTestPower`` and ``FTestAnovaPower`` of statsmodels, rounded up.

    Examples
    --------
    >>> import polars_rank as pr
    >>> pr.comparison.power(sd=0.2, difference=0.02)["queries"].item()
    787
    >>> round(pr.comparison.power(sd=0.2, n_queries=200)["difference"].item(), 4)
    0.0398
    """
    _require_numbers(power, level, n_queries, sd=sd, difference=difference, width=width)
    _require_one_goal(values, sd, difference, n_queries, width)
    many = n_systems > 2 or not paired
    if many and (difference is None or n_queries is not None or sd is None):
        what = "n_systems= needs" if paired else "a plan of other queries needs"
        msg = f"{what} sd= and difference=, and finds the queries"
        raise ValueError(msg)
    pilot = _pilot(values, measures, sd, system, query, baseline)
    alpha = 1 - level
    spread, counts = pilot["sd"].to_list(), pilot["pilot"].to_list()
    pilot = pilot.drop("pilot")
    found: dict[str, Sequence[float | None]]
    if width is not None:
        found = {
            "width": [float(width)] * len(spread),
            "queries": [_for_width(s, width, level) for s in spread],
        }
    elif difference is None:
        counts = counts if n_queries is None else [n_queries] * len(spread)
        effects = detectable_effect(np.array(counts), alpha=alpha, power=power)
        found = {
            "difference": [
                None if s is None else e * s
                for e, s in zip(effects.tolist(), spread, strict=True)
            ],
            "queries": counts,
            "power": [power] * len(spread),
        }
    else:
        plans = [
            _for_many(s, difference, n_systems, paired, alpha, power)
            if many
            else _for_two(s, difference, n_queries, alpha, power)
            for s in spread
        ]
        needed, reached = zip(*plans, strict=True)
        found = {
            "difference": [float(difference)] * len(spread),
            "queries": needed,
            "power": reached,
        }
    # A small difference may need more queries than UInt32 holds.
    return pilot.with_columns(
        pl.Series(name, column, pl.Int64 if name == "queries" else pl.Float64)
        for name, column in found.items()
    )


def _require_numbers(
    power: float, level: float, n_queries: int | None, **sizes: float | None
) -> None:
    """Refuse numbers that no plan has."""
    require_level(level)
    if not 0 < power < 1:
        msg = f"power must lie between 0 and 1, not {power!r}"
        raise ValueError(msg)
    for name, given in sizes.items():
        if given is not None and not (math.isfinite(given) and given >= 0):
            msg = f"{name} must be a number of 0 or more, not {given!r}"
            raise ValueError(msg)
    if n_queries is not None and n_queries < 2:
        msg = f"n_queries must be at least 2, not {n_queries}"
        raise ValueError(msg)


def _require_one_goal(
    values: Source | None,
    sd: float | None,
    difference: float | None,
    n_queries: int | None,
    width: float | None,
) -> None:
    """Require one spread, and enough for the others to follow."""
    if (values is None) == (sd is None):
        msg = "name either the values of a pilot or sd=, not both or neither"
        raise ValueError(msg)
    goals = difference, n_queries
    if width is not None and goals != (None, None):
        msg = "width= says how many queries are needed: leave out the others"
        raise ValueError(msg)
    if values is None and width is None and goals == (None, None):
        msg = "name difference=, n_queries= or width=: the others follow"
        raise ValueError(msg)


def _for_two(
    sd: float | None, difference: float, n: int | None, alpha: float, power: float
) -> tuple[int | None, float | None]:
    """Find the queries that a paired t test needs, unless given, and its power."""
    if not sd:
        return n, None
    effect = difference / sd
    n = n or queries_for(effect, alpha=alpha, power=power)
    return n, None if n is None else float(power_of_t(effect, n, alpha=alpha))


def _smallest(enough: Callable[[int], bool]) -> int:
    """Find the smallest n of at least 2 that is enough, by halving a bracket."""
    low, high = 1, 2
    while not enough(high) and high < MOST:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _pilot(
    values: Source | None,
    measures: str | Sequence[str] | None,
    sd: float | None,
    system: str,
    query: str | Sequence[str],
    baseline: str | Sequence[str] | None,
) -> pl.DataFrame:
    """Return standard deviations, and the number of queries that they come from."""
    if values is None:
        return pl.DataFrame({"sd": [float(sd or 0.0)], "pilot": [0]})
    pairs = compare(
        values, measures, system=system, query=query, baseline=baseline
    ).pairs
    # Of sums over clusters, as many independent queries would have the same error.
    return pairs.select(
        "measure",
        "baseline",
        "system",
        sd=pl.col("se") * pl.col("queries").sqrt(),
        pilot="queries",
    )


def _for_width(sd: float | None, width: float, level: float) -> int | None:
    """Find the smallest n with an expected width of the t interval of ``width``."""
    if not sd or not width:
        return None
    gammaln = special().gammaln

    def expected(n: int) -> float:
        f = n - 1
        spread = math.exp(gammaln((f + 1) / 2) - gammaln(f / 2)) * math.sqrt(2 / f)
        t = float(t_quantile((1 + level) / 2, f))
        return 2 * t * spread * sd / math.sqrt(n)

    return _smallest(lambda n: not expected(n) > width)


def _for_many(
    sd: float | None,
    difference: float,
    systems: int,
    paired: bool,
    alpha: float,
    power: float,
) -> tuple[int | None, float | None]:
    """Find the smallest n of an analysis of variance, and the power that it has.

    Of paired systems it is two-way, with systems and queries, else one-way.
    """
    if not sd or not difference:
        return None, None
    functions = special()

    def reached(n: int) -> float:
        first = systems - 1
        second = (first if paired else systems) * (n - 1)
        critical = functions.fdtri(first, second, 1 - alpha)
        noncentral = n * difference**2 / (2 * sd**2)
        return float(1 - functions.ncfdtr(first, second, noncentral, critical))

    n = _smallest(lambda n: not reached(n) < power)
    return n, reached(n)
