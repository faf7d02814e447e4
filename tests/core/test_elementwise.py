"""Gains and discounts look at one row, measures of your own give one number."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_rank as pr

LOG = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2],
        "score": [2.0, 1.0, 2.0, 1.0],
        "label": [0, 1, 2, 3],
    }
)
MIXING = {
    "rank": lambda e: e.rank(),
    "less the mean": lambda e: e - e.mean() + 9,
    "shift": lambda e: e.shift(1).fill_null(0),
    "cumulative": lambda e: e.cum_sum(),
    "the first": lambda e: e.head(1),
    "sum": lambda e: e.sum(),
    "sum over": lambda e: e.sum().over(e),
    "maximum of all": lambda e: pl.max_horizontal(e, e.max()),
    "Python, of all": lambda e: e.map_batches(lambda s: s / s.max()),
    "a number": lambda e: 1.0,
}
SINGLE = {
    "root": lambda e: e.sqrt(),
    "a third": lambda e: e / 3,
    "logarithm": lambda e: (e + 1).log(2),
    "constant": lambda e: pl.lit(1.0),
    "constants": lambda e: e * (pl.lit(2) + 1),
    "named": lambda e: (e + 1).alias("gain"),
    "member": lambda e: e.is_in([1.0, 2.0]).cast(pl.Float64),
    "table": lambda e: pl.lit([0.0, 1.0, 3.0]).list.get(
        e.cast(pl.Int64).clip(0, 2), null_on_oob=True
    ),
    "numpy": lambda e: np.log2(e + 1),
    "strict": lambda e: e.replace_strict({0: 0, 1: 3, 2: 7, 3: 15}),
    "steps": lambda e: pl.when(e > 1).then(e).otherwise(0.5),
    "Python": lambda e: e.map_batches(lambda s: s + 1),
    "Python, by one": lambda e: e.map_elements(
        lambda x: x * 2, return_dtype=pl.Float64
    ),
}
PLACES = {
    "measure": lambda f: pr.measure("ndcg", gain=f),
    "discount": lambda f: pr.measure("dcg", discount=f),
    "convention": lambda f: pr.CONVENTIONS["trec_eval"].replace(gain=f),
    "expression": lambda f: pl.col("label").rank_eval.ndcg("score", gain=f),
    "own measure": lambda f: pr.per_query(LOG, {"own": lambda r: r.sum(r.gain(f))}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MIXING)
def test_functions_that_mix_rows_are_refused(name, place):
    with pytest.raises(ValueError, match="is not elementwise: a function"):
        PLACES[place](MIXING[name])


def far(e, value):
    """A branch that small grades do not reach."""
    return pl.when(e > 10_000).then(value).otherwise(e)


HIDDEN = {
    "shift": lambda e: far(e, e.shift(1)),
    "sum": lambda e: far(e, e.sum()),
    "rank": lambda e: far(e, e.rank()),
    "sort": lambda e: far(e, e.sort()),
    "order": lambda e: far(e, e.sort_by(-e)),
    "cumulative": lambda e: far(e, e.cum_sum()),
    "over": lambda e: far(e, e.min().over(pl.lit(1))),
    "length": lambda e: far(e, pl.len()),
    "quantile": lambda e: far(e, e.quantile(0.5)),
    "nulls": lambda e: e.fill_null(e.mean()),
    "nulls, forward": lambda e: e.forward_fill(),
    "condition": lambda e: pl.when((e > 10_000).any()).then(0.0).otherwise(e),
    "added zero": lambda e: e + e.null_count(),
    "filter": lambda e: e.filter(e >= 0),
    "another column": lambda e: pl.col("score") * e,
    "the first column": lambda e: pl.first(),
    "all columns": lambda e: pl.all(),
    "element": lambda e: pl.element(),
    "other values": lambda e: e * pl.lit(pl.Series([1, 2, 3])),
    "Python, neighbors": lambda e: e.map_batches(
        lambda s: pl.Series(np.gradient(s.fill_null(0).to_numpy()))
    ),
    "Python, nulls": lambda e: e.map_batches(lambda s: s.fill_null(s.mean())),
    "Python, large grades": lambda e: e.map_batches(
        lambda s: s if s.max() < 50 else s - s.mean()
    ),
    "Python, all at once": lambda e: pl.map_groups([e], lambda s: s[0] - s[0].mean()),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_mixing_that_few_grades_would_show(name):
    with pytest.raises(ValueError, match="is not elementwise: a function"):
        pr.measure("ndcg", gain=HIDDEN[name])


def test_a_function_of_grades_that_the_probe_lacks_is_taken():
    pr.measure("ndcg", gain=lambda e: e.replace_strict({20: 0, 30: 3}))


@pytest.mark.filterwarnings("ignore::polars.exceptions.PolarsInefficientMapWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SINGLE)
def test_functions_of_one_row_are_taken(name, place):
    PLACES[place](SINGLE[name])


def test_a_gain_means_the_same_in_every_query():
    """As in a frame of each query alone."""
    measure = pr.measure("dcg", gain=lambda e: e * e)
    together = pr.per_query(LOG, measure)
    alone = [pr.per_query(part, measure) for part in LOG.partition_by("query_id")]
    assert together.equals(pl.concat(alone))


PER_DOCUMENT = {
    "gain": lambda r: r.gain(),
    "rank": lambda r: r.gain().rank(),
    "some": lambda r: r.gain().filter(r.rank == 1),
    "over": lambda r: r.gain().sum().over(r.label),
}


@pytest.mark.parametrize("name", PER_DOCUMENT)
def test_a_measure_of_your_own_gives_one_number(name):
    own = PER_DOCUMENT[name]
    for frame in (LOG, LOG.lazy()):
        with pytest.raises(TypeError, match="'mine', must return one number for each"):
            pr.per_query(frame, {"mine": own})
    with pytest.raises(TypeError, match="one number for each group"):
        pr.metric_expr(own, "label", score="score")
