"""Effect sizes of paired differences, and the interval of d_z."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._statistics.distributions import special
from polars_rank._statistics.noncentral import noncentrality
from polars_rank.comparison.tests.estimates import Study, both_sd, with_known
from polars_rank.comparison.tests.from_values import blocks
from polars_rank.comparison.tests.paired_tests import rank_biserial
from polars_rank.core.expr import ratio

Array: TypeAlias = npt.NDArray[np.float64]


def with_effect(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Add the effect size, and the interval of d_z or Hedges' g."""
    effect = study.how.effect
    d, n = pl.col("mean"), pl.col("queries").cast(pl.Float64)
    null = pl.lit(None, dtype=pl.Float64)
    frame = frame.with_columns(
        d_z=ratio(d, pl.col("sd")), effect_lower=null, effect_upper=null
    )
    if effect in ("d_z", "hedges"):
        return _with_d_z(frame, study)
    if effect in ("rank_biserial", "cliff"):
        return frame.with_columns(effect=_of_rows(study))
    if effect == "sakai":
        if study.anova is None:
            msg = "effect='sakai' needs all pairs, unweighted, of the same queries"
            raise ValueError(msg)
        residual = pl.col("variance").sqrt().alias("residual")
        frame = with_known(frame, study.anova.select(*study.keys, residual), study.keys)
    value = {
        "d_av": ratio(d, both_sd()),
        "glass": ratio(d, pl.col("sd_base")),
        "sakai": ratio(d, pl.col("residual")),
        "dominance": (pl.col("wins").cast(pl.Float64) - pl.col("losses")) / n,
    }[effect]
    return frame.with_columns(effect=value)


def _with_d_z(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    n, factor = frame["queries"].to_numpy(), pl.lit(1.0)
    if study.how.effect == "hedges":
        factor = pl.lit(pl.Series(hedges_factor(n))).fill_nan(None)
    ends = d_z_interval(frame["d_z"].to_numpy(), n, study.how.level)
    low, high = (pl.Series(end).fill_nan(None) * factor for end in ends)
    known = pl.col("d_z").is_not_null()
    return frame.with_columns(
        effect=pl.col("d_z") * factor,
        effect_lower=pl.when(known).then(low),
        effect_upper=pl.when(known).then(high),
    )


def _of_rows(study: Study) -> pl.Series:
    found: list[float] = []
    for block in blocks(study):
        if not len(block.x):
            found += [float("nan")] * len(block.places)
        elif study.how.effect == "cliff":
            found += [cliff(*block.matrix[:, pair].T) for pair in block.places]
        else:
            found += [rank_biserial(d) for d in block.x.T]
    return pl.Series(found).fill_nan(None)


def hedges_factor(n: npt.ArrayLike) -> Array:
    """Compute Hedges' J, which removes the bias of d_z in n queries."""
    gammaln = special().gammaln
    df = np.asarray(n, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2)
        )


def d_z_interval(
    d: npt.ArrayLike, n: npt.ArrayLike, level: float
) -> tuple[Array, Array]:
    """Compute the interval of d_z: the noncentralities that make it as extreme.

    Source: Cumming and Finch, 2001.
    """
    n = np.asarray(n, dtype=np.float64)
    t = np.asarray(d, dtype=np.float64) * np.sqrt(n)
    tail = (1 - level) / 2
    low, high = (noncentrality(p, n - 1, t) / np.sqrt(n) for p in (1 - tail, tail))
    return low, high


def cliff(a: Array, b: Array) -> float:
    """Compute Cliff's delta of unpaired values: P(b > a) - P(b < a)."""
    ranked = np.sort(a)
    above = np.searchsorted(ranked, b, side="left").sum()
    below = len(a) * len(b) - np.searchsorted(ranked, b, side="right").sum()
    return float((above - below) / (len(a) * len(b)))
