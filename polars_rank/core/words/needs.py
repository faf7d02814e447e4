"""What a formula needs, read before there is any data."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import polars as pl

from polars_rank.core.words.noting import (
    Columns,
    Formula,
    Kind,
    Noted,
    noting_ranking,
)

NAMED = Columns(*(pl.col(name) for name in Columns._fields))


class Needs(NamedTuple):
    """What a formula needs, whatever the columns are called.

    Attributes
    ----------
    whole
        Whether it is computed in one piece: it reads documents other than by hooks.
    depth
        How many of the first documents can change the sums; None: all.
    columns
        The fields of :class:`Columns` that the sums read. If each reads the labels,
        once, and nothing else, there is one.
    joint
        Whether a sum reads documents in ideal order beside those in rank order.
    once
        Whether the value names some sums and counts, none of them twice: Polars would
        compute it twice.
    """

    whole: bool
    depth: int | None
    columns: list[str]
    joint: bool
    once: bool


def needs_of(formula: Formula, scored: bool, expected: bool, whole: bool) -> Needs:
    """Read a formula without data: columns are names, and so are sums."""

    def read(depth: int | None) -> tuple[pl.Expr, Noted]:
        noted = Noted(_named)
        ranking = noting_ranking(NAMED, depth, noted, scored=scored, expected=expected)
        return ranking.whole(formula) if whole else formula(ranking), noted

    value, noted = read(None)
    # A sum beside documents is not there yet, and Polars 2.1 takes no lists of fields.
    if not whole and (noted.beside or ".list.eval(" in str(value)):
        return needs_of(formula, scored, expected, True)
    depth = noted.cutoffs.depth
    if depth is not None:
        _, noted = read(depth)
    read_by = [value.meta.root_names() for value in noted.sums.values()]
    named = value.meta.root_names()
    once = not whole and 0 < len(named) == len({*named})
    if all(columns == ["label"] for columns in read_by):
        return Needs(whole, depth, ["label"], False, once)
    several = {"number", *(name for columns in read_by for name in columns)}
    joint = any({"ideal"} < {*columns} - {"number"} for columns in read_by)
    return Needs(whole, depth, sorted(several), joint, once)


known_needs_of = lru_cache(maxsize=256)(needs_of)


def _named(_: Kind, name: str) -> pl.Expr:
    return pl.col(name)
