"""Compare arms out of the states of parts, such as days."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.clicks.behavior.cluster_states import by_cluster
from polars_rank.clicks.behavior.kept import Kept, read_behavior, require_clusters
from polars_rank.clicks.behavior.ratios import Ratio
from polars_rank.clicks.experiments.arm_comparisons import (
    Adjust,
    Design,
)
from polars_rank.clicks.experiments.arms import compared, moments_of, schema_of
from polars_rank.core.exact.state import differences
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike

OWN = ("arm", "impressions")  # choices that the time before need not have


def merge_arms(
    parts: FrameLike | Iterable[FrameLike],
    /,
    *,
    arm: str,
    control: object,
    covariates: FrameLike | Iterable[FrameLike] | None = None,
    level: float = 0.95,
    power: float = 0.8,
    sequential: bool = False,
    adjust: Adjust | None = None,
    expected_split: Mapping[Any, float] | None = None,
) -> pl.DataFrame:
    """Compare the arms of an experiment out of the states of parts, such as days.

    Parameters
    ----------
    parts
        Results of :func:`behavior_state` with ``keep_clusters=True`` and the arm in
        ``by=``, of the same measures: frames of any library, or paths.
    arm
        Column with the arm, one of ``by``; the others are segments of the result.
    covariates
        States of the time before the experiment, whose clusters are kept, too, of the
        same measures, columns and options.
    control, level, power, sequential, adjust, expected_split
        As in :func:`compare_arms`.

    Returns
    -------
    What :func:`compare_arms` of all parts together returns: a cluster that comes back
    is one, and in one arm.

    Raises
    ------
    ValueError
        For wrong arguments.
    DataError
        If states do not keep their clusters; as :func:`merge_behavior`, also where
        the covariates have other definitions; and as :func:`compare_arms`.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks, example
    >>> log = pl.scan_parquet(example.clicks_path())
    >>> options = {"by": "arm", "cluster": "user_id", "keep_clusters": True}
    >>> states = [
    ...     clicks.behavior_state(day, "ctr", **options)
    ...     for day in (log.filter(pl.col("impression_id") % 3 == i) for i in range(3))
    ... ]
    >>> found = clicks.merge_arms(states, arm="arm", control="A")
    >>> found.select("arm", pl.col("effect", "se").round(4)).row(0)
    ('B', 0.01, 0.0026)
    """
    design = Design(
        level, power, sequential, expected_split, control, adjust
    ).require_possible()
    kept = read_behavior(parts)
    require_clusters(kept, "the parts")
    rows, by = kept.rows.lazy(), kept.by
    if arm not in by:
        msg = f"arm={arm!r} is none of the segments of the states, which are {by}"
        raise ValueError(msg)
    segments = [name for name in by if name != arm]
    names = {name: f"by:{i}" for i, name in enumerate(segments)} | {arm: "arm"}
    rows = rows.rename(names)
    ratios = [Ratio(m, f"x{i}", f"d{i}") for i, m in enumerate(kept.definitions)]
    before = None
    if covariates is not None:
        early = read_behavior(covariates, "covariate")
        require_clusters(early, "the covariates")
        _require_same_measures(early, kept)
        before = _wide(early.rows.lazy(), [], ratios)
    clusters = _wide(rows, [*names.values()], ratios)
    moments = moments_of(clusters, [*names.values()], ["cluster"], ratios, before)
    types = rows.collect_schema()
    own = {name: types[names[name]] for name in segments}
    return compared(
        moments.collect(engine="streaming"),
        segments,
        ratios,
        design,
        schema_of(own, types["arm"], adjust),
    )


def _require_same_measures(early: Kept, kept: Kept) -> None:
    """Refuse covariates that are other measures than those of the experiment."""
    for measure, definition in kept.definitions.items():
        there = early.definitions.get(measure)
        if there is None:
            told = "they lack it" if early.definitions else ""
        else:
            told = differences(there, definition, OWN)
        if told:
            msg = (
                f"{measure!r} of the covariates is not that of the parts: {told}; make "
                "all states with the same measures, columns and options"
            )
            raise DataError(msg, rule="different_definition", count=1)


def _wide(
    rows: pl.LazyFrame, groups: Sequence[str], ratios: Sequence[Ratio]
) -> pl.LazyFrame:
    """Sum every measure, one row per group and cluster."""
    sums = {}
    for ratio in ratios:
        here = pl.col("measure") == ratio.name
        for column, name in (("x", ratio.num), ("d", ratio.den)):
            sums[name] = pl.col(column).filter(here).sum()  # of one row, or none
    return by_cluster(rows, groups).group_by(*groups, "cluster").agg(**sums)
