"""Check each measure and segment of a gate, and give a verdict on each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import normal_quantile, tail
from polars_rank.comparison.input.procedures import Correction
from polars_rank.comparison.input.values import lower_is_better
from polars_rank.comparison.sums.win_counts import slack
from polars_rank.comparison.tests.corrections import adjusted
from polars_rank.comparison.tests.power_of_t import detectable_effect
from polars_rank.core.metric.registry import closest
from polars_rank.report.comparison import percent

Rule: TypeAlias = Literal["significant", "non_inferior", "threshold"]
ALL = "all"  # the segment of all queries
ROUNDING = 1e-12  # margins are decimal numbers: 0.55 - 0.54 is 0.01, nearly
WORST = 10
STRICTER = 5  # times, to fail rather than to warn; see ``Standard.fail_level``


@dataclass(frozen=True)
class Standard:
    """What a change is held to; see the arguments of the same names of ``gate``."""

    rule: Rule
    margin: float | Mapping[str, float]
    floors: Mapping[str, float]
    correction: Correction
    level: float
    min_queries: int

    @property
    def fail_level(self) -> float:
        """Level at which a drop fails; at ``level`` it warns.

        Of the builds that change nothing, a warning in twenty can be lived with, a
        failure in twenty is a gate that is soon switched off: one in a hundred fails.
        """
        stricter = STRICTER if self.rule == "significant" else 1
        return 1 - (1 - self.level) / stricter

    def __post_init__(self) -> None:
        """Refuse numbers that are not margins."""
        lone = not isinstance(self.margin, Mapping)
        given = [self.margin] if lone else list(self.margin.values())  # type: ignore[union-attr]
        if wrong := [m for m in given if not (isinstance(m, Real) and float(m) >= 0)]:
            msg = (
                f"margin must be 0 or more, a difference of means, not {wrong[0]!r}; "
                "for a share of a mean, multiply it by the mean"
            )
            raise ValueError(msg)
        if wrong := [f for f in self.floors.values() if not math.isfinite(f)]:
            msg = f"a floor must be a finite number, not {wrong[0]!r}"
            raise ValueError(msg)

    def require_measures(self, names: Sequence[str]) -> None:
        """Refuse margins and floors of measures that are not gated."""
        margins = self.margin if isinstance(self.margin, Mapping) else {}
        for what, given in (("margin", margins), ("floor", self.floors)):
            if unknown := [name for name in given if name not in names]:
                near = closest(unknown[0], list(names))
                msg = f"a {what} is set for {unknown[0]!r}, which is not gated{near}"
                raise ValueError(msg)

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Return ``margin``, ``floor`` and ``sense`` (-1: lower is better)."""
        margins = (
            [float(self.margin.get(name, 0.0)) for name in names]
            if isinstance(self.margin, Mapping)
            else [float(self.margin)] * len(names)
        )
        return pl.DataFrame(
            {
                "measure": names,
                "margin": margins,
                "floor": [self.floors.get(name) for name in names],
                "sense": [-1.0 if lower_is_better(name) else 1.0 for name in names],
            },
            schema_overrides={"floor": pl.Float64},
        )


def checked(
    pairs: pl.DataFrame, names: Sequence[str], standard: Standard
) -> pl.DataFrame:
    """Make the checks: a row per measure and segment, from the rows of comparisons.

    ``pairs`` tell ``segment``, and begin with that of all queries.
    """
    overall = pl.col("segment") == ALL
    rows = pairs.join(standard.columns(names), on="measure", maintain_order="left")
    rows = rows.with_columns(
        gain=pl.col("sense") * pl.col("difference"),
        floor=pl.when(overall).then(pl.col("floor")),
        gated=overall | (pl.col("queries") >= standard.min_queries),
    )
    rows = _judged(_tested(rows, standard), standard)
    order = {name: i for i, name in enumerate(names)}
    place = pl.col("measure").replace_strict(order, return_dtype=pl.Int64)
    return rows.sort(place, maintain_order=True).select(
        "measure", "segment", "queries", "wins", "ties", "losses",
        "baseline_mean", "mean", "difference", "se", "lower", "upper", "margin",
        "p_value", "p_adjusted", "detectable", "floor", "verdict", "note",
    )  # fmt: skip


def _tested(rows: pl.DataFrame, standard: Standard) -> pl.DataFrame:
    """Test for a drop, or for none beyond the margin; adjust over the checks."""
    cautious = standard.rule == "non_inferior"
    shift = pl.col("margin") if cautious else 0.0
    above = pl.col("gain") + shift
    above = pl.when(above.abs() > ROUNDING).then(above).otherwise(0.0)
    constant = pl.when(above == 0.0).then(0.0).otherwise(above.sign() * float("inf"))
    t = pl.when(pl.col("se") == 0.0).then(constant)
    found = rows.select("df", "gated", t=t.otherwise(above / pl.col("se"))).cast(
        {"df": pl.Float64}
    )
    df = found["df"].to_numpy()
    p = np.asarray(tail(found["t"].to_numpy(), df, "greater" if cautious else "less"))
    p = np.where(found["gated"].to_numpy(), p, np.nan)
    n = np.nan_to_num(df) + 1.0
    tests = np.count_nonzero(~np.isnan(p)) if standard.correction != "none" else 1
    alpha = min(0.999, 2 * (1 - standard.fail_level) / max(1, tests))
    effect = detectable_effect(n, alpha=alpha)
    detectable = pl.Series(effect * np.sqrt(n)).fill_nan(None) * pl.col("se")
    if standard.rule == "significant":  # the drop that is seen must exceed the margin
        seen = pl.col("margin") + normal_quantile(0.8) * pl.col("se")
        seen = pl.when(pl.col("margin") > 0).then(seen)
        detectable = pl.max_horizontal(detectable, seen)
    return rows.with_columns(
        p_value=pl.Series(p).fill_nan(None),
        p_adjusted=pl.Series(adjusted(p, standard.correction)).fill_nan(None),
        detectable=pl.when(pl.col("se") == 0).then(0.0).otherwise(detectable),
    )


def _judged(rows: pl.DataFrame, standard: Standard) -> pl.DataFrame:
    """Give the verdict on each check, and a note that says why."""
    gain, floor, new = pl.col("gain"), pl.col("floor"), pl.col("mean")
    turned = pl.col("sense") < 0
    broken = pl.when(turned).then(new > floor).otherwise(new < floor)
    broken = broken.fill_null(value=False)
    sure, likely = (
        (pl.col("p_adjusted") < 1 - level).fill_null(value=False)
        for level in (standard.fail_level, standard.level)
    )
    large = gain < -pl.col("margin") - ROUNDING
    # Ties may be large, and add up to a drop.
    same = (pl.col("wins") + pl.col("losses") == 0) & (gain.abs() <= ROUNDING)
    fails = {
        "significant": sure & large,
        "non_inferior": ~sure & ~same,
        "threshold": large,
    }[standard.rule]
    warns = {
        "significant": likely,
        "non_inferior": large,
        "threshold": pl.lit(value=False),
    }[standard.rule]
    few = ~pl.col("gated")
    seldom = pl.lit(f"fewer than {standard.min_queries} queries")
    likely_only = f"large, but significant at {percent(standard.level)} only"
    beyond = fails & (standard.rule == "non_inferior")
    # The first that holds says why.
    notes = [
        (broken & turned, pl.format("above the limit of {}", "floor")),
        (broken, pl.format("below the floor of {}", "floor")),
        (few, seldom),
        (same, pl.lit("no query changed")),
        (~fails & warns & large, pl.lit(likely_only)),
        (~fails & warns, pl.lit("significant, but within the margin")),
        (~fails & large & (pl.col("margin") > 0), pl.lit("large, but not significant")),
        (beyond, pl.lit("a drop beyond the margin is not excluded")),
    ]
    verdicts = (("fail", broken), ("untested", few), ("fail", fails), ("warn", warns))
    return rows.with_columns(
        verdict=pl.coalesce(
            *(pl.when(holds).then(pl.lit(v)) for v, holds in verdicts),
            pl.lit("pass"),
        ),
        note=pl.coalesce(pl.when(holds).then(note) for holds, note in notes),
    )


def worst_queries(
    deltas: pl.DataFrame, measures: Sequence[str], tie: float
) -> pl.DataFrame:
    """Find the queries that lost the most, measure by measure."""
    named = deltas.drop("baseline", "system")
    parts = []
    for measure in measures:
        lower = lower_is_better(measure)
        values = pl.col("value"), pl.col("baseline_value")
        low, high = reversed(values) if lower else values
        lost = high > low + slack(low, tie)
        own = named.filter(pl.col("measure") == measure, lost)
        parts.append(own.sort(low - high, maintain_order=True).head(WORST))
    worst = pl.concat(parts)
    return worst.select("measure", pl.exclude("measure"))
