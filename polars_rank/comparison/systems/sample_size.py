"""Plan a comparison: queries needed, differences that can be detected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import special, t_quantile
from polars_rank._statistics.intervals import require_level
from polars_rank.comparison.compare import compare
from polars_rank.comparison.input.values import Source
from polars_rank.comparison.tests.power import (
    MOST,
    detectable_effect,
    power_of_t,
    queries_for,
)


def power(
    values: Source | None = None,
    *,
    sd: float | None = None,
    difference: float | None = None,
    queries: int | None = None,
    width: float | None = None,
    systems: int = 2,
    paired: bool = True,
    level: float = 0.95,
    power: float = 0.8,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    measures: str | Sequence[str] | None = None,
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
        ``systems`` above 2: that of the residuals, the root of ``variance`` in
        ``.anova`` of a comparison: the deviation of differences divided by sqrt(2).
    difference
        Mean difference to detect; the number of ``queries`` follows.
    queries
        Number of queries; the difference that they detect follows or, with
        ``difference``, the power. Default, with ``values`` and without ``difference``:
        as many as there are.
    width
        Instead of a difference: expected width of the interval of the mean difference;
        the number of queries follows.
    systems
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
    system, query, measures, baseline
        As in :func:`compare`.

    Returns
    -------
    ``measure``, ``baseline`` and ``system`` (with ``values``), ``sd``, ``difference``,
    ``queries`` and ``power``; with ``width``: ``width`` instead of the last two.
    ``queries`` is null for a difference of 0 or an sd of 0.

    Source: Sakai, Information Retrieval Journal 2016, whose analysis of many systems is
    one-way, with m (n - 1) degrees of freedom; of paired systems it is two-way here,
    with (m - 1) (n - 1), which for two systems is the paired t test. Equal to
    ``TTestPower`` and ``FTestAnovaPower`` of statsmodels, rounded up.

    Examples
    --------
    >>> import polars_rank as pr
    >>> pr.power(sd=0.2, difference=0.02)["queries"].item()
    787
    >>> round(pr.power(sd=0.2, queries=200)["difference"].item(), 4)
    0.0398
    """
    require_level(level)
    if not 0 < power < 1:
        msg = f"power must lie between 0 and 1, not {power!r}"
        raise ValueError(msg)
    if (values is None) == (sd is None):
        msg = "name either the values of a pilot or sd=, not both or neither"
        raise ValueError(msg)
    for name, given in (("sd", sd), ("difference", difference), ("width", width)):
        if given is not None and not (math.isfinite(given) and given >= 0):
            msg = f"{name} must be a number of 0 or more, not {given!r}"
            raise ValueError(msg)
    if queries is not None and queries < 2:
        msg = f"queries must be at least 2, not {queries}"
        raise ValueError(msg)
    if width is not None and (difference is not None or queries is not None):
        msg = "width= says how many queries are needed: leave out the others"
        raise ValueError(msg)
    many = systems > 2 or not paired
    if many and (difference is None or queries is not None or values is not None):
        what = "systems= needs" if paired else "a plan of other queries needs"
        msg = f"{what} sd= and difference=, and finds the queries"
        raise ValueError(msg)
    if values is None and difference is None and queries is None and width is None:
        msg = "name difference=, queries= or width=: the others follow"
        raise ValueError(msg)
    pilot = _pilot(values, sd, system, query, measures, baseline)
    alpha = 1 - level
    spread = pilot["sd"].to_list()
    if width is not None:
        found = [_for_width(s, width, level) for s in spread]
        return pilot.drop("pilot").with_columns(
            width=pl.lit(float(width)), queries=pl.Series(found, dtype=pl.Int64)
        )
    if many:
        assert difference is not None
        assert sd is not None
        n, reached = _for_many(sd, difference, systems, paired, alpha, power)
        return pilot.drop("pilot").with_columns(
            difference=pl.lit(difference), queries=pl.lit(n), power=pl.lit(reached)
        )
    if difference is not None and queries is None:
        needed = [
            None if not s else queries_for(difference / s, alpha=alpha, power=power)
            for s in spread
        ]
        reached_each = [
            None
            if n is None or not s
            else float(power_of_t(difference / s, n, alpha=alpha))
            for s, n in zip(spread, needed, strict=True)
        ]
        return pilot.drop("pilot").with_columns(
            difference=pl.lit(float(difference)),
            queries=pl.Series(needed, dtype=pl.Int64),
            power=pl.Series(reached_each, dtype=pl.Float64),
        )
    counts = [queries if queries is not None else n for n in pilot["pilot"]]
    if difference is not None:
        found_power = [
            None if not s else float(power_of_t(difference / s, n, alpha=alpha))
            for s, n in zip(spread, counts, strict=True)
        ]
        differences = [float(difference)] * len(spread)
    else:
        effects = detectable_effect(np.array(counts), alpha=alpha, power=power)
        differences = [e * s for e, s in zip(effects.tolist(), spread, strict=True)]
        found_power = [power] * len(spread)
    return pilot.drop("pilot").with_columns(
        difference=pl.Series(differences, dtype=pl.Float64),
        queries=pl.Series(counts, dtype=pl.Int64),
        power=pl.Series(found_power, dtype=pl.Float64),
    )


def _pilot(
    values: Source | None,
    sd: float | None,
    system: str,
    query: str | Sequence[str],
    measures: str | Sequence[str] | None,
    baseline: str | Sequence[str] | None,
) -> pl.DataFrame:
    """Standard deviations, and the number of queries that they come from."""
    if values is None:
        return pl.DataFrame({"sd": [float(sd or 0.0)], "pilot": [0]})
    pairs = compare(
        values, system=system, query=query, measures=measures, baseline=baseline
    ).pairs
    deviation = pl.col("difference") / pl.col("effect")  # d_z
    margin = pl.col("upper") - pl.col("lower")
    return pairs.select(
        "measure",
        "baseline",
        "system",
        sd=pl.when(margin == 0).then(0.0).otherwise(deviation),
        pilot="queries",
    )


def _for_width(sd: float | None, width: float, level: float) -> int | None:
    """Smallest n with an expected width of the t interval of at most ``width``."""
    if not sd or not width:
        return None
    gammaln = special().gammaln

    def expected(n: int) -> float:
        f = n - 1
        spread = math.exp(gammaln((f + 1) / 2) - gammaln(f / 2)) * math.sqrt(2 / f)
        t = float(t_quantile((1 + level) / 2, f))
        return 2 * t * spread * sd / math.sqrt(n)

    low, high = 1, 2
    while expected(high) > width and high < MOST:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if expected(middle) > width else (low, middle)
    return high


def _for_many(
    sd: float,
    difference: float,
    systems: int,
    paired: bool,
    alpha: float,
    power: float,
) -> tuple[int | None, float | None]:
    """Smallest n of an analysis of variance, and the power that it has.

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

    low, high = 1, 2
    while reached(high) < power and high < MOST:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reached(middle) < power else (low, middle)
    return high, reached(high)
