"""Test whether the difference of a measure between arms is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack, cast

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import align_ids
from polars_rank.clicks.behavior.measures import DEFAULT, Measures, parse_behavior
from polars_rank.clicks.behavior.ratios import Ratio, sums, warn_if_few
from polars_rank.clicks.behavior.shallow import plan_behavior
from polars_rank.clicks.behavior.traced import Traced, cluster_sums, trace
from polars_rank.clicks.experiments.arm_comparisons import (
    EFFECTIVE,
    NUMBERS,
    Adjust,
    Design,
    adjusted,
    comparisons,
)
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import LogOptions, require_distinct
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.core.source import lazy_source


@function_of_log
def compare_arms(  # type: ignore[misc]  # two options are named here
    log: AnyFrame,
    /,
    measures: Measures = DEFAULT,
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

    Errors are those of ratios over clusters (delta method), and allow for clusters of
    unequal sizes. P-values and intervals are those of Welch's t of the effective
    numbers of clusters (below 50 in an arm it takes the extra ``stats``).

    Parameters
    ----------
    log
        One row per document that an impression showed.
    measures
        As in :func:`behavior`.
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
    ``p_value``, ``mde``, ``effective_clusters_control`` and
    ``effective_clusters_treatment`` (how many clusters of one size would tell as much),
    ``clusters_control``, ``clusters_treatment``, and ``srm_p_value``, that of the test
    for sample ratio mismatch. Below 0.001 there is a warning. Errors and p-values are
    null unless two clusters of each arm have a denominator.

    Warns
    -----
    DataWarning
        When collected: fewer than 20 effective clusters in an arm, or a sample ratio
        mismatch.

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
    >>> found = clicks.compare_arms(log, "ctr", arm="arm", control="A").collect()
    >>> found.select("arm", pl.col("effect", "se").round(4)).row(0)
    ('B', 0.01, 0.0026)
    """
    design: Design = Design(
        level, power, sequential, expected_split, control, adjust
    ).require_possible()
    parsed = parse_behavior(measures)
    given = cast("LogOptions", {**options, "arm": arm, "cluster": cluster})
    bound: ClickLog = ClickLog.of(log, given)
    traced: Traced = trace(bound, parsed)
    before = None
    if covariates is not None:
        same = {n: v for n, v in given.items() if n not in ("arm", "impressions", "by")}
        earlier = cast("LogOptions", same)
        before = ClickLog.of(covariates, earlier)
    types = bound.types
    by = {name: types[bound.carried[name]] for name in bound.by}
    schema = schema_of(by, types[bound.carried[arm]], adjust)

    def plan(log: ClickLog, traced: Traced) -> pl.LazyFrame:
        groups = log.segments | {"arm": pl.col(log.carried[arm])}
        clusters, keys, early = cluster_sums(log, traced, groups), [*log.clusters], None
        if before is not None:
            early = cluster_sums(before, traced, {})
            ids = dict(zip(keys, log.cluster or log.key_names, strict=True))
            where = "the log", "the covariates"
            clusters, early = align_ids(clusters, early, ids, where=where)
        return moments_of(clusters, [*groups], keys, traced.ratios, early)

    found = plan_behavior(bound, parsed, None, plan)

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        moments: pl.DataFrame = found.collect(engine="streaming")
        yield compared(moments, bound.by, traced.ratios, design, schema)

    result = lazy_source(read, schema, name="comparison of arms")
    return like_input(log, result)


def compared(
    moments: pl.DataFrame,
    by: Sequence[str],
    ratios: Sequence[Ratio],
    design: Design,
    schema: Mapping[str, pl.DataType],
) -> pl.DataFrame:
    """Compare arms, out of their moments."""
    rows = [*comparisons(moments, by, ratios, design)]
    table = pl.DataFrame(adjusted(rows, design.adjust), schema=schema)
    warn_if_few(pl.concat(table[name].drop_nulls() for name in EFFECTIVE))
    return table


def schema_of(
    by: Mapping[str, pl.DataType], arm: pl.DataType, adjust: Adjust | None
) -> dict[str, pl.DataType]:
    """Return the columns of comparisons."""
    counts = dict.fromkeys(("clusters_control", "clusters_treatment"), pl.UInt32())
    own = {
        "measure": pl.String(),
        "arm": arm,
        **dict.fromkeys(NUMBERS, pl.Float64()),
        **counts,
        "srm_p_value": pl.Float64(),
        **({"p_adjusted": pl.Float64()} if adjust else {}),
    }
    require_distinct([*by, *own])
    return {**by, **own}


# -- moments: of numerator, denominator and their like before the experiment


def moments_of(
    clusters: pl.LazyFrame,
    groups: Sequence[str],
    keys: Sequence[str],
    ratios: Sequence[Ratio],
    before: pl.LazyFrame | None,
) -> pl.LazyFrame:
    """Sum up clusters, values and products per segment and arm.

    ``clusters`` and ``before`` have the ``keys`` of a cluster and the columns of the
    ratios; a cluster that is not in ``before`` counts as 0 there.
    """
    if before is not None:
        columns = dict.fromkeys(name for r in ratios for name in (r.num, r.den))
        early = before.select(
            *keys, *(pl.col(name).alias(f"{name}:before") for name in columns)
        )
        clusters = clusters.join(
            early, on=keys, how="left", nulls_equal=True
        ).with_columns(pl.col([f"{name}:before" for name in columns]).fill_null(0))
    # Polars does not see that moments and arms of clusters are those of one plan.
    clusters = clusters.cache()
    # A covariance is (sum ab - sum a sum b / n) / (n - 1), a small difference of large
    # numbers: sums are exact, so that it does not depend on the order of the rows.
    values: dict[str, pl.Expr] = {}
    for i, r in enumerate(ratios):
        names = [r.num, r.den]
        if before is not None:
            names += [f"{r.num}:before", f"{r.den}:before"]
        variables = [pl.col(name).cast(pl.Float64) for name in names]
        for a, x in enumerate(variables):
            values[f"{i}:{a}"] = x
            values |= {f"{i}:{a}{b}": x * y for b, y in enumerate(variables[: a + 1])}
    counts = {"clusters": pl.len()}
    for i in range(len(ratios)):
        counts[f"{i}:largest"] = pl.col(f"{i}:1").abs().max()
    found = sums(clusters.select(*groups, **values), groups, [*values], counts)
    twice = (
        clusters.drop_nulls(keys)  # of which a rule has warned
        .group_by(keys)
        .agg(arms=pl.col("arm").n_unique())
        .filter(pl.col("arms") > 1)
        .select(twice=pl.len(), examples=pl.struct(keys).head(5).implode())
    )
    return found.join(twice, how="cross").sort(groups, nulls_last=True)
