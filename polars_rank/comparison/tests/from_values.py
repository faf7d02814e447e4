"""What needs the values of queries: resampling, ranks, effect sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.comparison.input.procedures import (
    EffectName,
    IntervalName,
    Procedure,
)
from polars_rank.comparison.input.values import Values, cell, lower_is_better
from polars_rank.comparison.tests import estimates, paired_tests
from polars_rank.comparison.tests.bootstrap import bounds, resampled, shift_test
from polars_rank.comparison.tests.effects import cliff
from polars_rank.comparison.tests.estimates import Plan
from polars_rank.comparison.tests.repeats import across_repeats
from polars_rank.core.expr import ratio

Array: TypeAlias = npt.NDArray[np.float64]


def tested(
    frame: pl.DataFrame,
    how: Procedure,
    anova: pl.DataFrame | None,
    plan: Plan,
    held: Values | None,
) -> pl.DataFrame:
    """Replace the t test by the one that is asked for."""
    test = how.test
    if test in ("tukey", "lsd"):
        if anova is None:
            msg = f"test={test!r} needs all pairs, unweighted, of the same queries"
            raise ValueError(msg)
        make = estimates.tukey if test == "tukey" else estimates.fisher_lsd
        return make(frame, anova, plan)
    if test == "tost":
        return estimates.equivalence(
            frame, float(how.margin or 0.0), plan.interval_level
        )
    if test == "sign":
        rows = frame.select("wins", "losses").rows()
        sense = _sense(frame)
        found = [
            paired_tests.sign(*((win, loss) if up else (loss, win)), plan.alternative)
            for (win, loss), up in zip(rows, sense, strict=True)
        ]
        changed = frame.select(changed=pl.col("wins") + pl.col("losses"))
        return _replaced(frame, found, frame["queries"].to_list(), changed.to_series())
    if test == "t":
        if how.repeats == "random" and held is not None:
            return across_repeats(frame, held, plan)
        return frame
    assert held is not None
    found = []
    differ: list[int] = []
    for x, w, matrix, places in _blocks(held, plan):
        differ += np.count_nonzero(x, axis=0).tolist()
        if not len(x):
            found += [paired_tests.Tested(0.0, 1.0)] * len(plan.pairs)
        elif test == "wilcoxon":
            found += [
                paired_tests.wilcoxon(d, plan.alternative, how.zero_method) for d in x.T
            ]
        elif test == "randomization":
            found += paired_tests.randomization(
                paired_tests.rounded(x),
                n_resamples=how.n_resamples,
                seed=how.seed,
                alternative=plan.alternative,
            )
        elif test == "bootstrap":
            drawn = resampled(x, w, n_resamples=how.n_resamples, seed=how.seed)
            found += shift_test(x, w, drawn, plan.alternative)
        else:
            found += paired_tests.randomized_tukey(
                *_by_name(held, matrix, places),
                n_resamples=how.n_resamples,
                seed=how.seed,
            )
    return _replaced(frame, found, frame["n"].to_list(), pl.Series("changed", differ))


def _by_name(
    held: Values, matrix: Array, places: list[tuple[int, int]]
) -> tuple[Array, list[tuple[int, int]]]:
    """Systems in the order of their names: draws must not depend on that of rows."""
    order = sorted(range(len(held.systems)), key=held.systems.__getitem__)
    rank = {i: place for place, i in enumerate(order)}
    return matrix[:, order], [(rank[i], rank[j]) for i, j in places]


def _sense(frame: pl.DataFrame) -> list[bool]:
    """Whether a win is a positive difference, row by row."""
    return [not lower_is_better(name) for name in frame["measure"]]


def _replaced(
    frame: pl.DataFrame,
    found: Sequence[paired_tests.Tested],
    sizes: Sequence[int],
    changed: pl.Series,
) -> pl.DataFrame:
    some = [size is not None and size > 1 for size in sizes]
    rows = [
        (t.statistic, t.p) if known else (None, None)
        for t, known in zip(found, some, strict=True)
    ]
    new = pl.DataFrame(
        rows, schema={"statistic": pl.Float64, "p_value": pl.Float64}, orient="row"
    )
    return frame.with_columns(*new, changed, df=pl.lit(None, dtype=pl.Float64))


def _blocks(
    held: Values, plan: Plan
) -> Iterator[tuple[Array, Array, Array, list[tuple[int, int]]]]:
    """Units of each measure and segment, in the order of the rows of ``.pairs``.

    Sums of weighted differences, sums of weights; the values; places of the pairs.
    """
    places = [(held.systems.index(a), held.systems.index(b)) for a, b in plan.pairs]
    parts = (
        [
            part
            for _, part in held.ordered.sort(held.by, maintain_order=True).group_by(
                held.by, maintain_order=True
            )
        ]
        if held.by
        else [held.ordered]
    )
    for k in range(len(held.measures)):
        for part in parts:
            cells = [cell(k, i) for i in range(len(held.systems))]
            known = part.drop_nulls(cells)
            matrix = known.select(cells).to_numpy()
            n = len(known)
            d = paired_tests.rounded(
                np.column_stack([matrix[:, j] - matrix[:, i] for i, j in places])
            )
            w = (
                known["weight"].cast(pl.Float64).to_numpy()
                if "weight" in known.columns
                else np.ones(n)
            )
            x = d * w[:, None]
            if "cluster" in known.columns:
                codes = known["cluster"].rank("dense").to_numpy() - 1
                groups = int(codes.max()) + 1 if n else 0
                x = np.column_stack(
                    [np.bincount(codes, column, minlength=groups) for column in x.T]
                )
                w = np.bincount(codes, w, minlength=groups)
            yield x, w, matrix, places


def with_bootstrap(
    frame: pl.DataFrame,
    held: Values,
    plan: Plan,
    interval: IntervalName,
    n_resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Replace the intervals by those of resamples."""
    low: list[float] = []
    high: list[float] = []
    above: list[float] = []
    bayesian = interval == "bayesian"
    for x, w, _, places in _blocks(held, plan):
        if len(x) < 2:
            nothing = [float("nan")] * len(places)
            low, high, above = low + nothing, high + nothing, above + nothing
            continue
        drawn = resampled(x, w, n_resamples=n_resamples, seed=seed, bayesian=bayesian)
        ends = bounds(x, w, drawn, interval, plan.interval_level)
        low += ends.low.tolist()
        high += ends.high.tolist()
        above += (drawn.estimate > 0).mean(axis=0).tolist()
    frame = frame.with_columns(
        lower=pl.Series(low).fill_nan(None), upper=pl.Series(high).fill_nan(None)
    )
    if bayesian:
        frame = frame.with_columns(probability=pl.Series(above).fill_nan(None))
    return frame


def with_effect(
    frame: pl.DataFrame,
    effect: EffectName,
    anova: pl.DataFrame | None,
    plan: Plan,
    held: Values | None,
) -> pl.DataFrame:
    """Effect sizes, from sums where these are enough."""
    frame = estimates.with_effect(frame, effect, plan.level)
    if effect == "sakai":
        if anova is None:
            msg = "effect='sakai' needs all pairs, unweighted, of the same queries"
            raise ValueError(msg)
        keys = [*plan.segments, "measure"]
        known = anova.select(*keys, residual=pl.col("variance").sqrt())
        return frame.join(
            known, on=keys, how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(effect=ratio(pl.col("mean"), pl.col("residual")))
    if effect in ("rank_biserial", "cliff"):
        assert held is not None
        found: list[float] = []
        for x, _, matrix, places in _blocks(held, plan):
            if not len(x):
                found += [float("nan")] * len(places)
            elif effect == "cliff":
                found += [cliff(matrix[:, i], matrix[:, j]) for i, j in places]
            else:
                found += [paired_tests.rank_biserial(d) for d in x.T]
        return frame.with_columns(effect=pl.Series(found).fill_nan(None))
    return frame
