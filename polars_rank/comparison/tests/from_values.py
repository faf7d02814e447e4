"""Tests and intervals that need the values of queries: resampling, signs and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.comparison.input.values import cell, lower_is_better
from polars_rank.comparison.tests import estimates, paired_tests
from polars_rank.comparison.tests.bootstrap import bounds, resampled, shift_test
from polars_rank.comparison.tests.estimates import Study
from polars_rank.comparison.tests.paired_tests import Tested
from polars_rank.comparison.tests.repeats import across_repeats, parts_by, pigeonhole

Array: TypeAlias = npt.NDArray[np.float64]


class Block(NamedTuple):
    """Units, which are queries or clusters, of a ``measure`` and segment.

    ``x`` holds sums of weighted differences, a column for each pair, and ``w`` sums of
    weights; ``size`` is the largest value of each pair, which tells what is rounding;
    ``matrix`` the values of the queries, a column for each system, and ``places`` which
    of these make a pair.
    """

    measure: str
    x: Array
    w: Array
    size: Array
    matrix: Array
    places: list[list[int]]


def blocks(study: Study) -> Iterator[Block]:
    """Yield the units of each measure and segment, in the order of ``.pairs``."""
    held = study.held
    assert held is not None
    places = [[held.systems.index(name) for name in pair] for pair in study.pairs]
    parts = parts_by(held.ordered, held.by)
    for k, measure in enumerate(held.measures):
        cells = [cell(k, i) for i in range(len(held.systems))]
        for part in parts:
            known = part.drop_nulls(cells)
            matrix = known.select(cells).to_numpy()
            w: Array = np.ones(len(known))
            if "weight" in known.columns:
                w = known["weight"].cast(pl.Float64).to_numpy()
            largest = np.abs(matrix).max(axis=0, initial=0.0)
            size = np.array([max(largest[i], largest[j]) for i, j in places])
            differences = [matrix[:, j] - matrix[:, i] for i, j in places]
            x = paired_tests.rounded(np.column_stack(differences), size) * w[:, None]
            if "cluster" in known.columns:
                codes = known["cluster"].rank("dense").to_numpy() - 1
                groups = int(codes.max()) + 1 if len(known) else 0
                x = np.column_stack(
                    [np.bincount(codes, d, minlength=groups) for d in x.T]
                )
                w = np.asarray(np.bincount(codes, w, minlength=groups), np.float64)
            yield Block(measure, x, w, size, matrix, places)


# -- tests


def tested(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Replace the t test by the one that is asked for."""
    test = study.how.test
    if test in ("tukey", "lsd"):
        return estimates.pooled(frame, study)
    if test == "tost":
        return estimates.equivalence(frame, study)
    if test == "t":
        return across_repeats(frame, study) if _of_other_runs(study) else frame
    if test == "sign":
        return _by_signs(frame, study)
    found: list[Tested] = []
    differ: list[int] = []
    for block in blocks(study):
        differ += np.count_nonzero(block.x, axis=0).tolist()
        nothing = [Tested(0.0, 1.0)] * len(study.pairs)
        found += _of_block(block, study) if len(block.x) else nothing
    return _replaced(frame, found, frame["n"].to_list(), pl.Series("changed", differ))


def _of_other_runs(study: Study) -> bool:
    return study.how.repeats == "random" and study.held is not None


def _of_block(block: Block, study: Study) -> list[Tested]:
    """Test every pair in a segment, by a test that looks at its rows."""
    how, x = study.how, block.x
    draws: dict[str, Any] = {"n_resamples": how.n_resamples, "seed": how.seed}
    if how.test == "wilcoxon":
        return [paired_tests.wilcoxon(d, how.alternative, how.zero_method) for d in x.T]
    if how.test == "randomization":
        units = paired_tests.rounded(x, block.size * block.w.max())
        return paired_tests.randomization(units, **draws, alternative=how.alternative)
    if how.test == "bootstrap":
        drawn = resampled(x, block.w, **draws)
        return shift_test(x, block.w, block.size, drawn, how.alternative)
    # Systems in the order of their names: draws must not depend on that of rows.
    assert study.held is not None
    systems = study.held.systems
    order = sorted(range(len(systems)), key=systems.__getitem__)
    pairs = [(order.index(i), order.index(j)) for i, j in block.places]
    return paired_tests.randomized_tukey(block.matrix[:, order], pairs, **draws)


def _by_signs(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    rows = frame.select("measure", "wins", "losses").rows()
    found = [  # a win is a positive difference, unless lower is better
        paired_tests.sign(
            *((loss, win) if lower_is_better(measure) else (win, loss)),
            study.how.alternative,
        )
        for measure, win, loss in rows
    ]
    changed = frame.select(changed=pl.col("wins") + pl.col("losses")).to_series()
    return _replaced(frame, found, frame["queries"].to_list(), changed)


def _replaced(
    frame: pl.DataFrame,
    found: Sequence[Tested],
    sizes: Sequence[int | None],
    changed: pl.Series,
) -> pl.DataFrame:
    """Replace the results of t by others, of which few units have none."""
    rows = [
        result if size is not None and size > 1 else (None, None, None)
        for result, size in zip(found, sizes, strict=True)
    ]
    schema = dict.fromkeys(("statistic", "p_value", "middle"), pl.Float64)
    new = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(*new, changed, df=pl.lit(None, dtype=pl.Float64))


# -- intervals


def resampled_intervals(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Replace the intervals by those of resamples, if these are asked for."""
    how = study.how
    if how.interval == "t" or study.held is None:
        return frame
    ends = pigeonhole(study) if how.repeats == "random" else _bootstrap(study)
    names = dict.fromkeys(("lower", "upper", "probability"), pl.Float64)
    found = pl.DataFrame([*ends], names, orient="row").fill_nan(None)
    return frame.with_columns(
        *(found if how.interval == "bayesian" else found.drop("probability"))
    )


def _bootstrap(study: Study) -> Iterator[tuple[float | None, ...]]:
    """Yield the ends of every interval, and the share of resamples above 0."""
    how = study.how
    for measure, x, w, size, *_ in blocks(study):
        if len(x) < 2:
            yield from [(None, None, None)] * len(study.pairs)
            continue
        bayesian = how.interval == "bayesian"
        drawn = resampled(
            x, w, n_resamples=how.n_resamples, seed=how.seed, bayesian=bayesian
        )
        level = study.level_of(measure)
        low, high = bounds(x, w, size, drawn, how.interval, level)
        above = (drawn.estimate > 0).mean(axis=0)
        yield from zip(low.tolist(), high.tolist(), above.tolist(), strict=True)
