"""Turn sums into means and differences, with errors, intervals and t tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import special
from polars_rank._statistics.intervals import interval, p_value, wilson
from polars_rank.comparison.input.procedures import Procedure, names_of, require_names
from polars_rank.comparison.input.values import ROUNDING as OF_VALUES
from polars_rank.comparison.input.values import Columns, Values, cell, is_geometric
from polars_rank.core.exact.aggregate import ROUNDING
from polars_rank.core.expr import ratio
from polars_rank.core.extras import require

OWN = ("measure", "system")


@dataclass(frozen=True, kw_only=True)
class Study:
    """What all stages of a comparison share: who is compared, where and how.

    ``held`` are the values of the queries, if they are in memory; ``anova`` is the
    analysis of variance, where all pairs are known. ``levels`` are those of intervals
    of differences by measure, where all of a family hold at once: higher than the
    procedure's.
    """

    how: Procedure
    columns: Columns
    systems: list[str]
    pairs: list[tuple[str, str]]
    segments: list[str]
    levels: Mapping[str, float] = field(default_factory=dict)
    held: Values | None = None
    anova: pl.DataFrame | None = None

    @property
    def keys(self) -> list[str]:
        """Columns that name a family of pairs, or of systems."""
        return [*self.segments, "measure"]

    @property
    def interval_level(self) -> float | pl.Expr:
        """Level of the intervals of differences."""
        level = self.how.level
        if not self.levels:
            return level
        return pl.col("measure").replace_strict(
            self.levels, default=level, return_dtype=pl.Float64
        )

    def level_of(self, measure: str) -> float:
        """Return the level of the intervals of differences in a measure."""
        return self.levels.get(measure, self.how.level)


def with_known(
    frame: pl.DataFrame, known: pl.DataFrame, on: Sequence[str], suffix: str = "_right"
) -> pl.DataFrame:
    """Add what is known of the rows, by their keys; the rows keep their order."""
    return frame.join(
        known, on=on, how="left", nulls_equal=True, maintain_order="left", suffix=suffix
    )


def pairs_of(
    systems: Sequence[str], baseline: str | Sequence[str] | None
) -> list[tuple[str, str]]:
    """Name baseline and system of every comparison."""
    if baseline is None:
        return [(a, b) for i, a in enumerate(systems) for b in systems[i + 1 :]]
    baselines = names_of(baseline)
    require_names(baselines, systems, "system")
    if len({*baselines}) < len(baselines):
        msg = f"a baseline is named twice: {', '.join(baselines)}"
        raise ValueError(msg)
    return [
        (a, b)
        for i, a in enumerate(baselines)
        for b in systems
        if b != a and b not in baselines[:i]
    ]


def estimated(table: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Add ``mean``, ``error``, ``df`` and ``sd``, the deviation of one query, to sums.

    The error is HC1 of a weighted mean, and CR1 over clusters. A spread within the
    rounding of the values is 0; a mean difference up to ``rounding`` is none.
    """
    n, queries = (pl.col(c).cast(pl.Float64) for c in ("n", "queries"))
    d, dd, ee, squares = (pl.col(c) for c in ("d", "dd", "ee", "squares"))
    table = table.with_columns(
        mean=ratio(pl.col("x"), d),
        df=pl.when(n > 1).then(n - 1.0),
        size=ratio(d * d, dd),
    )
    keys = [*segments, "measure"]
    square = ratio(squares, d) + pl.col("mean") ** 2
    for role in ("system", "other"):
        own = table.filter(pl.col("other").is_null()).select(
            *keys, pl.col("system").alias(role), square.alias(f"square_of_{role}")
        )
        table = with_known(table, own, [*keys, role])
    both = pl.sum_horizontal("square_of_system", "square_of_other")
    ee = pl.when(ee > ROUNDING**2 * both * dd).then(ee).otherwise(0.0)
    squares = pl.when(squares > ROUNDING**2 * both * d).then(squares).otherwise(0.0)
    return table.with_columns(
        error=pl.when(n > 1).then((ee / (1.0 - 1.0 / n)).sqrt() / d),
        sd=pl.when(queries > 1).then((squares / d / (1.0 - 1.0 / queries)).sqrt()),
        rounding=OF_VALUES * both.sqrt(),
    ).drop("square_of_system", "square_of_other")


def oriented(table: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Turn sums and estimates of the wanted pairs to ``system - baseline``."""
    schema = {"baseline": pl.String, "system": pl.String}
    wanted = pl.DataFrame(study.pairs, schema, orient="row").with_row_index("place")
    ahead = table.filter(pl.col("other").is_not_null()).rename(
        {"system": "baseline", "other": "system"}
    )
    turned = ahead.rename({"system": "baseline", "baseline": "system"}).with_columns(
        -pl.col("x"), -pl.col("ed"), -pl.col("mean"),
        wins=pl.col("losses"), losses=pl.col("wins"),
    )  # fmt: skip
    both = pl.concat([ahead, turned.select(ahead.columns)])
    order = table.select("measure").unique(maintain_order=True).with_row_index("rank")
    return (
        both.join(wanted, on=["baseline", "system"])
        .join(order, on="measure")
        .sort("rank", *study.segments, "place")
        .drop("rank", "place")
    )


def counts_once(table: pl.DataFrame) -> bool:
    """Tell whether every query is a unit of its own, and has the weight 1.

    Weights whose mean is 1 have the right sum ``d``, but not the sum of squares ``dd``.
    """
    n, d, dd, queries = (pl.col(c) for c in ("n", "d", "dd", "queries"))
    return bool(table.select(((n == queries) & (d == n) & (dd == n)).all()).item())


def means_of(
    own: pl.DataFrame,
    segments: Sequence[str],
    level: float,
    held: Values | None = None,
) -> pl.DataFrame:
    """Compute means of systems with intervals: Wilson's, if all values are 0 or 1.

    ``held`` are the values, if they are in memory.
    """
    mean, error = pl.col("mean"), pl.col("error")
    low, high = interval(mean, error, pl.col("df"), level=level)
    own = with_known(own, _shares(own, segments, held), [*segments, *OWN])
    binary = pl.col("all_0_or_1").is_not_null()
    # Of queries that depend on each other, as many count as would have this error.
    clustered = (pl.col("n") < pl.col("queries")) & (error > 0)
    size = pl.when(clustered).then(mean * (1.0 - mean) / error**2).otherwise("size")
    for_shares = wilson(mean, size, level=level)
    low, high = (
        pl.when(binary).then(share).otherwise(end)
        for share, end in zip(for_shares, (low, high), strict=True)
    )
    natural = pl.col("measure").is_in(geometric(own))
    scale = pl.when(natural).then(mean.exp()).otherwise(1.0)  # by the delta method
    ends = own.with_columns(lower=low, upper=high)  # once: each is named twice below
    return ends.select(
        *segments,
        "measure",
        "system",
        "queries",
        mean=_raised(mean, natural),
        se=error * scale,
        lower=_raised(pl.col("lower"), natural),
        upper=_raised(pl.col("upper"), natural),
    )


def _shares(
    own: pl.DataFrame, segments: Sequence[str], held: Values | None
) -> pl.DataFrame:
    """Name the segments, measures and systems whose values are all 0 or 1.

    The sum of their squares is that of the values. So it is, among others, of 2 and
    eight times 0.5, which sums cannot tell from nine values of which six are 1; where
    the values are held, they tell.
    """
    keys = [*segments, *OWN]
    square = ratio(pl.col("squares"), pl.col("d")) + pl.col("mean") ** 2
    alike = (square - pl.col("mean")).abs() <= OF_VALUES * square
    found = own.filter(alike).select(*keys, all_0_or_1=True)
    if held is None or not len(found):
        return found
    by = [pl.col(b).alias(name) for b, name in zip(held.by, segments, strict=True)]
    others = []
    for measure, system in found.select(OWN).unique().rows():
        place = held.measures.index(measure), held.systems.index(system)
        values = held.frame.select(*by, x=cell(*place))
        other = values.filter(~pl.col("x").is_in([0.0, 1.0]))
        named = {"measure": pl.lit(measure), "system": pl.lit(system)}
        others.append(other.with_columns(**named).drop("x"))
    return found.join(pl.concat(others), on=keys, how="anti", nulls_equal=True)


def geometric(table: pl.DataFrame) -> list[str]:
    """Name the measures whose values are logarithms, which a geometric mean takes."""
    return [n for n in table["measure"].unique(maintain_order=True) if is_geometric(n)]


def _raised(value: pl.Expr, natural: pl.Expr) -> pl.Expr:
    """Return from logarithms to values, where they are ``natural`` logarithms."""
    return pl.when(natural).then(value.exp()).otherwise(value)


def compared(pairs: pl.DataFrame, own: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Compute the differences with interval and t test."""
    kept = own.select(*study.keys, "system", "mean", "sd", "error", "df", "queries")
    base = kept.rename({"system": "baseline"})
    frame = with_known(pairs, base, [*study.keys, "baseline"], "_base")
    frame = with_known(frame, kept, [*study.keys, "system"], "_own")
    base_mean, own_mean = pl.col("mean_base"), pl.col("mean_own")
    if study.how.pairs == "independent":  # Welch
        a, b = pl.col("error_base") ** 2, pl.col("error_own") ** 2
        df_base, df_own = pl.col("df_base"), pl.col("df_own")
        frame = frame.with_columns(
            mean=own_mean - base_mean,
            error=(a + b).sqrt(),
            # Of constants, the least that it can be: any tells of them as much.
            df=pl.when(a + b == 0)
            .then(pl.min_horizontal(df_base, df_own))
            .otherwise((a + b) ** 2 / (a**2 / df_base + b**2 / df_own)),
            sd=both_sd(),
            queries=pl.min_horizontal("queries_base", "queries_own"),
            **{c: pl.lit(None, dtype=pl.UInt32) for c in ("wins", "ties", "losses")},
        )
    natural = pl.col("measure").is_in(geometric(own))
    return t_tested(frame, study).with_columns(
        relative=pl.when(natural)
        .then(pl.col("mean").exp() - 1.0)
        .otherwise(ratio(pl.col("mean"), base_mean)),
        baseline_mean=_raised(base_mean, natural),
        system_mean=_raised(own_mean, natural),
        logarithmic=natural,
    )


def both_sd() -> pl.Expr:
    """Pool the deviations of the two systems: their root mean square."""
    return ((pl.col("sd_base") ** 2 + pl.col("sd_own") ** 2) / 2).sqrt()


def t_tested(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Add interval, statistic and p-value of t, from ``mean``, ``error`` and ``df``."""
    mean, error, df = pl.col("mean"), pl.col("error"), pl.col("df")
    alternative = study.how.alternative
    low, high = interval(
        mean, error, df, level=study.interval_level, alternative=alternative
    )
    frame = frame.with_columns(
        statistic=_statistic(mean, error), se=error, lower=low, upper=high
    )
    p = p_value(pl.col("statistic"), df, alternative)
    nothing = (error == 0) & (pl.col("statistic") == 0)
    return frame.with_columns(p_value=pl.when(nothing).then(1.0).otherwise(p))


def _statistic(mean: pl.Expr, error: pl.Expr) -> pl.Expr:
    """Divide mean by error; 0 for no difference at all, infinite for a constant one."""
    nothing = mean.abs() <= pl.col("rounding")
    constant = pl.when(nothing).then(0.0).otherwise(mean.sign() * float("inf"))
    return pl.when(error == 0).then(constant).otherwise(mean / error)


def equivalence(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Make two one-sided tests: the difference lies within the margin (TOST).

    ``p_value`` is the larger of both; it is below 1 - level if and only if the interval
    of level 1 - 2 (1 - level) lies within the margin.
    """
    mean, error, df = pl.col("mean"), pl.col("error"), pl.col("df")
    margin = float(study.how.margin or 0.0)
    low, high = interval(mean, error, df, level=2 * study.interval_level - 1)
    above = _statistic(mean + margin, error)
    below = _statistic(mean - margin, error)
    return (
        frame.with_columns(above=above, below=below, lower=low, upper=high)
        .with_columns(
            p_value_lower=p_value(pl.col("above"), df, "greater"),
            p_value_upper=p_value(pl.col("below"), df, "less"),
        )
        .with_columns(
            p_value=pl.max_horizontal("p_value_lower", "p_value_upper"),
            statistic=pl.when(pl.col("p_value_lower") > pl.col("p_value_upper"))
            .then(pl.col("above"))
            .otherwise(pl.col("below")),
        )
    )


# -- many systems


def analysis_of_variance(
    table: pl.DataFrame, own: pl.DataFrame, study: Study
) -> pl.DataFrame | None:
    """Analyze the variance of systems and queries: two-way, without replication.

    None if pairs are missing, or if queries are weighted, clustered or not paired, or
    some lack a system. The residual variance is half the mean variance of the
    differences.
    """
    m, keys, columns = len(study.systems), study.keys, study.columns
    paired = study.how.pairs != "independent"
    complete = len(table) - len(own) == len(own) // m * m * (m - 1) // 2
    plain = paired and not columns.weight and not columns.cluster
    if not (plain and complete and counts_once(table)):
        return None
    queries = pl.col("queries")  # of systems and of pairs: parts may lack a system
    if not table.select((queries == queries.max().over(keys)).all()).item():
        return None
    table = table.filter(pl.col("other").is_not_null())
    residual = (
        table.group_by(keys, maintain_order=True)
        .agg(pairs=pl.len(), residual=(pl.col("sd") ** 2).mean() / 2)
        .filter(pl.col("pairs") == m * (m - 1) // 2)
    )
    q = pl.col("queries").cast(pl.Float64)
    between = (
        own.group_by(keys, maintain_order=True)
        .agg(
            pl.col("queries").first(),
            ss_system=((pl.col("mean") - pl.col("mean").mean()) ** 2).sum(),
            ss_within=pl.col("squares").sum(),
        )
        .with_columns(ss_system=q * pl.col("ss_system"))
        .join(residual, on=keys, nulls_equal=True, maintain_order="left")
    )
    df_error = (q - 1.0) * (m - 1)
    frame = between.with_columns(
        df_system=pl.lit(m - 1.0),
        df_error=df_error,
        ss_error=pl.col("residual") * df_error,
        ss_total=pl.col("ss_within") + pl.col("ss_system"),
        f=ratio(pl.col("ss_system") / (m - 1), pl.col("residual")),
    )
    numbers = (frame[name].to_numpy() for name in ("df_system", "df_error", "f"))
    p = special().fdtrc(*numbers)
    system, error, v = pl.col("ss_system"), pl.col("ss_error"), pl.col("residual")
    return frame.select(
        *keys,
        "queries",
        "ss_system",
        ss_query=pl.col("ss_total") - system - error,
        ss_error=error,
        variance=v,
        f="f",
        df_system="df_system",
        df_error="df_error",
        p_value=pl.Series(np.asarray(p, dtype=np.float64)).fill_nan(None),
        omega_squared=ratio(system - (m - 1) * v, pl.col("ss_total") + v),
        partial_eta_squared=ratio(system, system + error),
    )


def pooled(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Test the differences by the residual variance of all systems."""
    test = study.how.test
    if study.anova is None:
        msg = f"test={test!r} needs all pairs, unweighted, of the same queries"
        raise ValueError(msg)
    known = study.anova.select(*study.keys, "variance", "df_error")
    make = _tukey if test == "tukey" else _fisher_lsd
    return make(with_known(frame, known, study.keys), study)


def _tukey(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Test by Tukey's honestly significant difference for paired systems.

    The statistic is the difference by the root of residual variance / queries; it
    controls the whole family. Source: Carterette, TOIS 2012.
    """
    distribution = require("scipy.stats", "stats").studentized_range
    m = len(study.systems)
    assert study.anova is not None
    rows = study.anova.select(*study.keys, "variance", "df_error")
    critical = [  # once for each family, since it takes milliseconds
        None
        if v is None or not df > 0
        else float(distribution.ppf(study.how.level, m, df))
        for *_, v, df in rows.rows()
    ]
    known = rows.select(study.keys).with_columns(
        critical=pl.Series(critical, dtype=pl.Float64)
    )
    mean, reach = pl.col("mean"), pl.col("critical")
    scale = (pl.col("variance") / pl.col("queries")).sqrt()
    frame = with_known(frame, known, study.keys).with_columns(
        statistic=_statistic(mean.abs(), scale),
        df=pl.col("df_error"),
        se=scale * 2.0**0.5,
        lower=mean - reach * scale,
        upper=mean + reach * scale,
    )
    p = [
        None if q is None or not df > 0 else float(distribution.sf(q, m, df))
        for q, df in frame.select("statistic", "df").rows()
    ]
    return frame.with_columns(p_value=pl.Series(p, dtype=pl.Float64))


def _fisher_lsd(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Test by Fisher's least significant difference: t with the pooled variance."""
    mean, df = pl.col("mean"), pl.col("df_error")
    error = (2.0 * pl.col("variance") / pl.col("queries")).sqrt()
    low, high = interval(mean, error, df, level=study.interval_level)
    return frame.with_columns(
        statistic=_statistic(mean, error), df=df, se=error, lower=low, upper=high
    ).with_columns(p_value=p_value(pl.col("statistic"), pl.col("df")))
