"""Experiments: whether the difference of a measure between arms is more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack, cast

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._engine.request import AnyFrame, like_input
from polars_rank._statistics.distributions import (
    chi_square_tail,
    normal_quantile,
    t_quantile,
    tail,
)
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.behaviour import Traced, cluster_sums, trace
from polars_rank.clicks.impression import Impression
from polars_rank.clicks.log import ClickLog
from polars_rank.clicks.log_options import LogOptions
from polars_rank.clicks.measures import DEFAULT, Measures, parse_behaviour
from polars_rank.clicks.opening import function_of_log
from polars_rank.clicks.plan import in_layout
from polars_rank.clicks.ratios import FEW
from polars_rank.clicks.shallow import shallow_first
from polars_rank.core.aggregate import exact_sum, exact_total
from polars_rank.core.rules import ARMS_MISSING, TWO_ARMS
from polars_rank.core.source import lazy_source
from polars_rank.exceptions import DataError

__all__ = ["compare"]

Adjust: TypeAlias = Literal["holm"]
UNLIKELY = 0.001  # of a split into arms that was planned
TUNED = 5000  # clusters for which always-valid intervals are shortest
NUMBERS = (
    *("control", "treatment", "effect", "se", "lower", "upper", "relative"),
    *("relative_lower", "relative_upper", "p_value", "mde"),
)


@function_of_log
def compare(  # type: ignore[misc]  # two options are named here
    log: AnyFrame,
    measures: Measures = DEFAULT,
    /,
    *,
    arm: str,
    control: object,
    cluster: str | Sequence[str] = "user_id",
    covariates: AnyFrame | None = None,
    level: float = 0.95,
    power: float = 0.8,
    sequential: bool = False,
    adjust: Adjust | None = None,
    expected_split: Mapping[Any, float] | None = None,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Compare the arms of an experiment with its control, measure by measure.

    Errors are those of ratios over clusters (delta method). With fewer than 50 clusters
    in an arm, p-values and intervals are those of Welch's t, which takes the extra
    ``stats``.

    Parameters
    ----------
    log
        One row per document that an impression showed.
    measures
        As in :func:`behaviour`.
    arm
        Column with the arm, constant within a cluster.
    control
        The arm that the others are compared with.
    cluster
        Columns that identify what was assigned to arms, usually the user.
    covariates
        A log of the time before the experiment, with the same columns except the arm:
        it reduces the variance (CUPED). The covariate of a measure is the measure
        itself in that time, cluster by cluster; clusters that it lacks count as 0.
    level, power
        Confidence level; and the power at which ``mde``, the minimum detectable effect,
        is detected.
    sequential
        Whether intervals and p-values hold whenever one looks (always-valid):
        asymptotic confidence sequences, tuned for 5,000 clusters.
    adjust
        ``"holm"`` adds ``p_adjusted``, for all comparisons of the result together.
    expected_split
        The planned share of each arm; equal shares unless given.
    **options
        Columns and options of :class:`LogOptions`.

    Returns
    -------
    A frame like ``log``: a row for each segment, measure and arm but the control, with
    the ``by`` columns, ``measure``, ``arm``, ``control`` and ``treatment`` (the values
    of both), ``effect`` (their difference), ``se``, ``lower``, ``upper``, ``relative``
    (the effect as a share of the control), ``relative_lower``, ``relative_upper``,
    ``p_value``, ``mde``, ``clusters_control``, ``clusters_treatment``, and ``srm_p``:
    the p-value of the test for sample ratio mismatch. Below 0.001 there is a warning.

    Raises
    ------
    DataError
        When collected: a cluster in two arms; null arms; the control alone, or missing.

    Source: Deng, Knoblich and Lu, KDD 2018 (delta method); Deng et al., WSDM 2013
    (CUPED); Waudby-Smith et al., 2023, eq. 9 (sequential); Fabijan et al., KDD 2019
    (sample ratio mismatch).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks, example
    >>> log = pl.scan_parquet(example.clicks_path())
    >>> found = clicks.compare(log, "ctr", arm="arm", control="A").collect()
    >>> found.select("arm", pl.col("effect", "se").round(4)).row(0)
    ('B', 0.01, 0.0026)
    """
    require_level(level)
    require_level(power)
    if adjust not in (None, "holm"):
        msg = f"adjust must be None or 'holm', not {adjust!r}"
        raise ValueError(msg)
    parsed = parse_behaviour(measures)
    given = cast("LogOptions", {**options, "arm": arm, "cluster": cluster})
    bound: ClickLog = ClickLog.of(log, given)
    traced: Traced = trace(bound, parsed)
    before = None
    if covariates is not None:
        same = {n: v for n, v in given.items() if n not in ("arm", "impressions", "by")}
        earlier = cast("LogOptions", same)
        before = ClickLog.of(covariates, earlier)
    design: _Design = _Design(level, power, sequential, expected_split, control)
    schema = _schema(bound, adjust=adjust)

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        def plan(log: ClickLog, vocabulary: type[Impression]) -> pl.LazyFrame:
            words = trace(log, parsed, vocabulary=vocabulary)
            return _moments(log, words, before)

        found = in_layout(bound, lambda log: shallow_first(log, plan))
        moments: pl.DataFrame = found.collect(engine="streaming")
        rows = [*_comparisons(moments, bound, traced, design)]
        yield pl.DataFrame(_adjusted(rows, adjust), schema=schema)

    result = lazy_source(read, schema, name="comparison of arms")
    return like_input(log, result)


class _Design(NamedTuple):
    level: float
    power: float
    sequential: bool
    split: Mapping[Any, float] | None
    control: object


def _schema(log: ClickLog, *, adjust: Adjust | None) -> dict[str, pl.DataType]:
    rows = log.rows.collect_schema()
    known = {} if log.impressions is None else log.impressions.collect_schema()
    dtypes = {**rows, **known}
    arm = dtypes[log.carried[log.roles["arm"]]]
    counts = dict.fromkeys(("clusters_control", "clusters_treatment"), pl.Int64())
    return {
        **{name: dtypes[log.carried[name]] for name in log.by},
        "measure": pl.String(),
        "arm": arm,
        **dict.fromkeys(NUMBERS, pl.Float64()),
        **counts,
        "srm_p": pl.Float64(),
        **({"p_adjusted": pl.Float64()} if adjust else {}),
    }


# -- moments: of numerator, denominator and their like before the experiment


def _moments(log: ClickLog, traced: Traced, before: ClickLog | None) -> pl.LazyFrame:
    """One row per segment and arm: clusters, sums and products of each measure."""
    groups = {f"by:{i}": pl.col(own) for i, own in enumerate(log.own(log.by))}
    groups["arm"] = pl.col(log.carried[log.roles["arm"]])
    clusters, keys = cluster_sums(log, traced, groups)
    columns = {name: name for name in traced.parts}
    if before is not None:
        early, early_keys = cluster_sums(before, traced, {})
        names = {name: f"{name}:before" for name in traced.parts}
        early = early.select(*early_keys, *traced.parts).rename(names)
        clusters = clusters.join(
            early, left_on=keys, right_on=early_keys, how="left", nulls_equal=True
        ).with_columns(pl.col([*names.values()]).fill_null(0))
    state: dict[str, pl.Expr] = {"clusters": pl.len()}
    for i, r in enumerate(traced.ratios):
        variables = [columns[r.num], columns[r.den]]
        if before is not None:
            variables += [f"{r.num}:before", f"{r.den}:before"]
        values = [pl.col(v).cast(pl.Float64) for v in variables]
        for a, x in enumerate(values):
            state |= exact_sum(f"{i}:{a}", x)
            for b, y in enumerate(values[: a + 1]):
                state |= exact_sum(f"{i}:{a}{b}", x * y)
    found = clusters.group_by(*groups).agg(**state)
    sums = [n.removesuffix("_plain") for n in state if n.endswith("_plain")]
    totals = [exact_total(name, _Columns()).alias(name) for name in sums]
    twice = (
        clusters.drop_nulls(keys)  # of which a rule has warned
        .group_by(keys)
        .agg(arms=pl.col("arm").n_unique())
        .filter(pl.col("arms") > 1)
        .select(twice=pl.len(), examples=pl.struct(keys).head(5).implode())
    )
    both = found.select(*groups, "clusters", *totals).join(twice, how="cross")
    return both.sort(*groups, nulls_last=True)


class _Columns(dict[str, pl.Expr]):
    """The parts of a state: columns of their names."""

    def __missing__(self, name: str) -> pl.Expr:
        return pl.col(name)


class _Arm(NamedTuple):
    """Moments of a ratio over the clusters of an arm: means, and covariances."""

    n: int
    mean: list[float]
    cov: list[list[float]]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], measure: int) -> _Arm:
        """Of one row of sums, or of several arms together."""
        n = sum(row["clusters"] for row in rows)
        size = 4 if f"{measure}:3" in rows[0] else 2
        total = [math.fsum(r[f"{measure}:{a}"] for r in rows) for a in range(size)]
        cov = [[0.0] * size for _ in range(size)]
        for a in range(size):
            for b in range(a + 1):
                product = math.fsum(r[f"{measure}:{a}{b}"] for r in rows)
                above = product - total[a] * total[b] / n
                cov[a][b] = cov[b][a] = above / (n - 1) if n > 1 else math.nan
        return cls(n, [t / n for t in total], cov)

    def ratio(self, a: int = 0) -> float:
        """Of the measure, or with 2 of the time before."""
        return self.mean[a] / self.mean[a + 1] if self.mean[a + 1] else math.nan

    def covariance(self, a: int = 0, b: int = 0) -> float:
        """Of the linearised ratios: (Y - R X) / mean X, by the delta method."""
        r, s = self.ratio(a), self.ratio(b)
        c = self.cov
        inner = c[a][b] - r * c[a + 1][b] - s * c[a][b + 1] + r * s * c[a + 1][b + 1]
        return inner / (self.mean[a + 1] * self.mean[b + 1])


def _value(arm: _Arm, whole: _Arm) -> tuple[float, float]:
    """The measure and the variance of a cluster; adjusted for the time before."""
    estimate = arm.ratio()
    if math.isnan(estimate):
        return math.nan, math.nan
    variance = arm.covariance()
    if len(arm.mean) == 4 and arm.mean[3] and whole.mean[3]:
        spread = whole.covariance(2, 2)
        theta = whole.covariance(0, 2) / spread if spread > 0 else 0.0
        estimate -= theta * (arm.ratio(2) - whole.ratio(2))
        variance += theta * (theta * arm.covariance(2, 2) - 2 * arm.covariance(0, 2))
    return estimate, max(variance, 0.0)


# -- comparisons


def _comparisons(
    moments: pl.DataFrame, log: ClickLog, traced: Traced, design: _Design
) -> Iterator[dict[str, Any]]:
    if moments["twice"].max():
        _refuse_two_arms(moments)
    by = [c for c in moments.columns if c.startswith("by:")]
    segments: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in moments.iter_rows(named=True):
        segments.setdefault(tuple(row[c] for c in by), []).append(row)
    arms = moments["arm"].unique(maintain_order=True).sort().to_list()
    if design.control not in arms or len(arms) < 2:
        shown = ", ".join(map(repr, arms)) or "none"
        raise DataError(
            ARMS_MISSING.message.format(control=design.control, arms=shown),
            rule=ARMS_MISSING.name,
        )
    for key, rows in segments.items():
        split = _split(rows, arms, design)
        known = {row["arm"]: row for row in rows}
        base = known.get(design.control)
        for i, ratio in enumerate(traced.ratios):
            for arm in arms:
                if arm == design.control:
                    continue
                numbers = _compared(base, known.get(arm), rows, i, design)
                yield {
                    **dict(zip(log.by, key, strict=True)),
                    "measure": ratio.name,
                    "arm": arm,
                    **dict(zip(NUMBERS, numbers, strict=True)),
                    "clusters_control": 0 if base is None else base["clusters"],
                    "clusters_treatment": known[arm]["clusters"] if arm in known else 0,
                    "srm_p": split,
                }


def _compared(
    control: Mapping[str, Any] | None,
    treatment: Mapping[str, Any] | None,
    rows: Sequence[Mapping[str, Any]],
    measure: int,
    design: _Design,
) -> list[float | None]:
    """The numbers of a row, in the order of ``NUMBERS``."""
    if control is None or treatment is None:
        return [None] * len(NUMBERS)
    whole = _Arm.of([control, treatment], measure)
    c, t = (_Arm.of([row], measure) for row in (control, treatment))
    (value_c, var_c), (value_t, var_t) = _value(c, whole), _value(t, whole)
    effect = value_t - value_c
    parts = [var_c / c.n, var_t / t.n]
    se = math.sqrt(sum(parts))
    z, p = _reach(effect, se, parts, (c.n, t.n), design)
    low = high = math.nan
    relative = effect / value_c if value_c else math.nan
    if value_c > 0 and value_t > 0:
        spread = math.sqrt(parts[0] / value_c**2 + parts[1] / value_t**2)
        low, high = (
            (1 + relative) * math.exp(sign * z * spread) - 1 for sign in (-1, 1)
        )
    detectable = normal_quantile(0.5 + design.level / 2) + normal_quantile(design.power)
    numbers = [
        *(value_c, value_t, effect, se, effect - z * se, effect + z * se),
        *(relative, low, high, p, detectable * se),
    ]
    return [None if math.isnan(number) else number for number in numbers]


def _reach(
    effect: float,
    se: float,
    parts: Sequence[float],
    n: tuple[int, int],
    design: _Design,
) -> tuple[float, float]:
    """How many standard errors the interval reaches to each side, and the p-value."""
    if math.isnan(se) or math.isnan(effect):
        return math.nan, math.nan
    if se == 0:
        return 0.0, 1.0 if effect == 0 else 0.0
    alpha, total = 1 - design.level, sum(n)
    if design.sequential:
        rho2 = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / TUNED
        grown = total * rho2 + 1
        scale = 2 * grown / (total * rho2)
        reach = math.sqrt(scale * (math.log(grown) / 2 - math.log(alpha)))
        p = math.sqrt(grown) * math.exp(-((effect / se) ** 2) / scale)
        return reach, min(p, 1.0)
    if min(n) >= FEW:
        return normal_quantile(0.5 + design.level / 2), float(tail(effect / se))
    df = sum(parts) ** 2 / sum(v * v / (m - 1) for v, m in zip(parts, n, strict=True))
    return float(t_quantile(0.5 + design.level / 2, df)), float(tail(effect / se, df))


def _split(
    rows: Sequence[Mapping[str, Any]], arms: Sequence[Any], design: _Design
) -> float:
    """Probability of arms at least as uneven as these; a warning if it is tiny."""
    shares = design.split or dict.fromkeys(arms, 1.0)
    if {*shares} != {*arms} or not all(share > 0 for share in shares.values()):
        msg = (
            f"expected_split must have a positive share for each of the arms "
            f"{', '.join(map(repr, arms))}, not {dict(shares)!r}"
        )
        raise ValueError(msg)
    seen = {row["arm"]: row["clusters"] for row in rows}
    n, whole = sum(seen.values()), sum(shares.values())
    expected = {arm: n * shares[arm] / whole for arm in arms}
    statistic = sum((seen.get(a, 0) - e) ** 2 / e for a, e in expected.items())
    p = chi_square_tail(statistic, len(arms) - 1)
    if p < UNLIKELY:
        counts = ", ".join(f"{arm!r}: {seen.get(arm, 0)}" for arm in arms)
        warn(
            f"the arms are not of the planned sizes ({counts}; p = {p:.1g}): the "
            "assignment or the log is broken, so do not trust the comparison"
        )
    return p


def _refuse_two_arms(moments: pl.DataFrame) -> None:
    count = moments["twice"].max()
    examples = [
        next(iter(e.values())) if len(e) == 1 else e for e in moments["examples"][0]
    ]
    shown = ", ".join(map(repr, examples))
    raise DataError(
        f"{TWO_ARMS.message} ({count!r} found, e.g. {shown})",
        rule=TWO_ARMS.name,
        count=cast("int", count),
        examples=examples,
    )


def _adjusted(
    rows: list[dict[str, Any]], adjust: Adjust | None
) -> list[dict[str, Any]]:
    """Holm's p-values: each times the number of those not smaller, never falling."""
    if adjust is None:
        return rows
    known = sorted(
        (r for r in rows if r["p_value"] is not None), key=lambda r: r["p_value"]
    )
    least = 0.0
    for i, row in enumerate(known):
        least = max(least, min(1.0, row["p_value"] * (len(known) - i)))
        row["p_adjusted"] = least
    return rows
