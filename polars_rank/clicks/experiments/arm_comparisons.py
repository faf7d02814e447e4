"""Compare arms with their control, out of sums of clusters.

A row of sums is that of a segment and an arm: ``clusters``, and for measure i the sums
``i:a``, those of products ``i:ab`` and the largest denominator ``i:largest``. 0 is its
numerator, 1 its denominator; 2 and 3 are their like before the experiment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._statistics.clusters import effective_number, inflation
from polars_rank._statistics.distributions import (
    chi_square_tail,
    normal_of_t,
    normal_quantile,
    t_of_normal,
    t_quantile,
    tail,
)
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.behavior.ratios import FEW, Ratio
from polars_rank.clicks.log.impressions import error_of
from polars_rank.core.parameters import refuse
from polars_rank.core.rules import ARMS_MISSING, TWO_ARMS
from polars_rank.exceptions import DataError

Adjust: TypeAlias = Literal["holm"]
UNLIKELY = 0.001  # of a split into arms that was planned
LARGEST = 700.0  # whose exponential is a float
TUNED = 5000  # clusters for which always-valid intervals are shortest
EFFECTIVE = ("effective_clusters_control", "effective_clusters_treatment")
NUMBERS = (
    *("control", "treatment", "effect", "se", "lower", "upper", "relative"),
    *("relative_lower", "relative_upper", "p_value", "mde"),
    *EFFECTIVE,
)


class Design(NamedTuple):
    """Levels, the planned ``split``, and whether intervals hold whenever one looks."""

    level: float
    power: float
    sequential: bool
    split: Mapping[Any, float] | None
    control: object
    adjust: Adjust | None

    def require_possible(self) -> Design:
        """Return the design, or raise an error for an argument that cannot be."""
        require_level(self.level)
        require_level(self.power, "power")
        if self.adjust not in (None, "holm"):
            refuse("adjust", "None or 'holm'", self.adjust)
        return self


def comparisons(
    moments: pl.DataFrame, by: Sequence[str], ratios: Sequence[Ratio], design: Design
) -> Iterator[dict[str, Any]]:
    """Yield one row per segment, measure and arm but the control."""
    if moments["twice"].max():
        _refuse_two_arms(moments)
    keys = [c for c in moments.columns if c.startswith("by:")]
    # Not a dictionary, in which NaN is never the same key.
    segments = moments.partition_by(keys, maintain_order=True) if keys else [moments]
    arms = moments["arm"].unique(maintain_order=True).sort().to_list()
    if design.control not in arms or len(arms) < 2:
        shown = ", ".join(map(repr, arms)) or "none"
        raise error_of(ARMS_MISSING, control=design.control, arms=shown)
    for segment in segments:
        rows = segment.rows(named=True)
        key = [rows[0][c] for c in keys]
        split = _split(rows, arms, design)
        known = {row["arm"]: row for row in rows}
        base = known.get(design.control)
        for i, ratio in enumerate(ratios):
            for arm in arms:
                if arm == design.control:
                    continue
                numbers = _compared(base, known.get(arm), rows, i, design)
                yield {
                    **dict(zip(by, key, strict=True)),
                    "measure": ratio.name,
                    "arm": arm,
                    **dict(zip(NUMBERS, numbers, strict=True)),
                    "clusters_control": 0 if base is None else base["clusters"],
                    "clusters_treatment": known[arm]["clusters"] if arm in known else 0,
                    "srm_p_value": split,
                }


def _compared(
    control: Mapping[str, Any] | None,
    treatment: Mapping[str, Any] | None,
    rows: Sequence[Mapping[str, Any]],
    measure: int,
    design: Design,
) -> list[float | None]:
    """Compute the numbers of a row, in the order of ``NUMBERS``."""
    if control is None or treatment is None:
        return [None] * len(NUMBERS)
    whole = _Arm.of([control, treatment], measure)
    c, t = (_Arm.of([row], measure) for row in (control, treatment))
    (value_c, var_c), (value_t, var_t) = _value(c, whole), _value(t, whole)
    effect = value_t - value_c
    parts = [var_c / c.n, var_t / t.n]
    se = math.sqrt(sum(parts))
    z, p = _reach(effect, se, parts, (c, t), design)
    low = high = math.nan
    relative = effect / value_c if value_c else math.nan
    if value_c > 0 and value_t > 0:
        spread = math.sqrt(parts[0] / value_c**2 + parts[1] / value_t**2)
        reach = z * spread
        factor = math.inf if reach >= LARGEST else math.exp(reach)
        low, high = (1 + relative) / factor - 1, (1 + relative) * factor - 1
    detectable = normal_quantile(0.5 + design.level / 2) + normal_quantile(design.power)
    numbers = [
        *(value_c, value_t, effect, se, effect - z * se, effect + z * se),
        *(relative, low, high, p, detectable * se, c.effective, t.effective),
    ]
    return [None if math.isnan(number) else number for number in numbers]


def _reach(
    effect: float,
    se: float,
    parts: Sequence[float],
    arms: tuple[_Arm, _Arm],
    design: Design,
) -> tuple[float, float]:
    """Return how many standard errors the interval reaches, and the p-value."""
    if math.isnan(se) or math.isnan(effect):
        return math.nan, math.nan
    if se == 0:
        return 0.0, 1.0 if effect == 0 else 0.0
    alpha, total = 1 - design.level, sum(arm.n for arm in arms)
    if design.sequential:
        # Waudby-Smith et al., 2023, eq. 9, with the rho that makes it short at TUNED.
        rho2 = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / TUNED
        grown = total * rho2 + 1
        scale = 2 * grown / (total * rho2)
        reach = math.sqrt(scale * (math.log(grown) / 2 - math.log(alpha)))
        p = math.sqrt(grown) * math.exp(-((effect / se) ** 2) / scale)
        return reach, min(p, 1.0)
    # Degrees of freedom of Welch and Satterthwaite, of effective numbers of clusters.
    both = zip(parts, arms, strict=True)
    df = sum(parts) ** 2 / sum(v * v / (arm.effective - 1) for v, arm in both)
    if min(arm.effective for arm in arms) >= FEW:
        z = normal_quantile(0.5 + design.level / 2)
        return float(t_of_normal(z, df)), float(tail(normal_of_t(effect / se, df)))
    return float(t_quantile(0.5 + design.level / 2, df)), float(tail(effect / se, df))


def _split(
    rows: Sequence[Mapping[str, Any]], arms: Sequence[Any], design: Design
) -> float:
    """Test the sizes of the arms, and warn if they are very unlikely."""
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


def adjusted(rows: list[dict[str, Any]], adjust: Adjust | None) -> list[dict[str, Any]]:
    """Add Holm's p-values: each times the number of those not smaller."""
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


# -- moments of an arm


class _Arm(NamedTuple):
    """Moments of a ratio over the clusters of an arm: means, and covariances.

    Beside them how many clusters of one size tell as much, and the factor on the error.
    Covariances are NaN unless two clusters have a denominator: of one they say nothing,
    as the ratio is its own.
    """

    n: int
    mean: list[float]
    cov: list[list[float]]
    effective: float
    inflation: float

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], measure: int) -> _Arm:
        """Compute the moments of one row of sums, or of several arms together."""
        n = sum(row["clusters"] for row in rows)
        size = 4 if f"{measure}:3" in rows[0] else 2
        total = [math.fsum(r[f"{measure}:{a}"] for r in rows) for a in range(size)]
        squares = math.fsum(r[f"{measure}:11"] for r in rows)
        several = squares < total[1] ** 2
        effective = effective_number(total[1], squares) if squares else math.nan
        factor = 1.0
        if several:
            largest = max(r[f"{measure}:largest"] for r in rows)
            factor = inflation(n, total[1], squares, largest)
        cov = [[0.0] * size for _ in range(size)]
        for a in range(size):
            for b in range(a + 1):
                product = math.fsum(r[f"{measure}:{a}{b}"] for r in rows)
                above = product - total[a] * total[b] / n
                cov[a][b] = cov[b][a] = above / (n - 1) if several else math.nan
        return cls(n, [t / n for t in total], cov, effective, factor)

    def ratio(self, a: int = 0) -> float:
        """Divide the means of the measure, or with 2 those of the time before."""
        return self.mean[a] / self.mean[a + 1] if self.mean[a + 1] else math.nan

    def covariance(self, a: int = 0, b: int = 0) -> float:
        """Compute that of linearized ratios, (Y - R X) / mean X (delta method)."""
        r, s = self.ratio(a), self.ratio(b)
        c = self.cov
        inner = c[a][b] - r * c[a + 1][b] - s * c[a][b + 1] + r * s * c[a + 1][b + 1]
        return inner / (self.mean[a + 1] * self.mean[b + 1])


def _value(arm: _Arm, whole: _Arm) -> tuple[float, float]:
    """Return the measure and its variance, adjusted for the time before."""
    estimate = arm.ratio()
    if math.isnan(estimate):
        return math.nan, math.nan
    variance = arm.covariance()
    if len(arm.mean) == 4 and arm.mean[3] and whole.mean[3]:
        spread = whole.covariance(2, 2)
        theta = whole.covariance(0, 2) / spread if spread > 0 else 0.0
        estimate -= theta * (arm.ratio(2) - whole.ratio(2))
        variance += theta * (theta * arm.covariance(2, 2) - 2 * arm.covariance(0, 2))
    return estimate, max(variance, 0.0) * arm.inflation**2
