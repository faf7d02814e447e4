"""How many of the first documents a sum needs, by words that are 0 below a rank."""

from __future__ import annotations

import polars as pl
import pytest

from polars_rank.core.expr import operands
from polars_rank.core.words.cutoffs import Cutoffs

A, B, C = (pl.col(name) for name in "abc")
WEIGHT = pl.when(A <= 3).then(1.0 / A).otherwise(0.0)
TOP = (A <= 5).fill_null(value=False)


def noted() -> Cutoffs:
    cutoffs = Cutoffs()
    cutoffs.note(WEIGHT, 3)
    cutoffs.note(TOP, 5)
    cutoffs.note(C, None)
    cutoffs.note(C, pl.col("depth"))  # known with the data alone
    return cutoffs


@pytest.mark.parametrize(
    ("term", "depth"),
    [
        (WEIGHT, 3),
        (B * WEIGHT, 3),
        (WEIGHT * B, 3),
        (C * B * WEIGHT, 3),
        ((B > 0) & TOP, 5),
        (B * (C * TOP), 5),
        (B, None),
        (C * B, None),
        (B + WEIGHT, None),
        ((B > 0) | TOP, None),
        (WEIGHT.fill_null(1.0), None),
        (1.0 - WEIGHT, None),
    ],
)
def test_a_term_is_0_where_a_factor_is(term, depth):
    assert noted().of(term) == depth


def test_sums_together_need_the_deepest():
    cutoffs = noted()
    assert cutoffs.depth is None
    cutoffs.add(B * WEIGHT)
    assert cutoffs.depth == 3
    cutoffs.add(B * TOP)
    assert cutoffs.depth == 5
    cutoffs.add(B)
    assert cutoffs.depth is None


def test_words_that_only_look_alike_are_two():
    """All literal series of a length have one text."""
    one, other = (pl.lit(pl.Series([n, 0.0])) for n in (1.0, 2.0))
    assert str(one) == str(other)
    cutoffs = Cutoffs()
    cutoffs.note(one, 1)
    assert (cutoffs.of(B * one), cutoffs.of(B * other)) == (1, None)


def test_operands_are_those_of_the_operator():
    joined = operands(A * B, "*", "&")
    assert [str(one) for one in joined] == [str(A), str(B)]
    assert not operands(A * B, "&")
    assert not operands(A + B, "*", "&")
    assert not operands(A.fill_null(B), "*", "&")
