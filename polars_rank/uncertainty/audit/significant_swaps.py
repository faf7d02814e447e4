"""Which differences of systems are more than noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.schema import columns_of, names_of
from polars_rank.comparison.compare import compare
from polars_rank.conventions.convention import Convention
from polars_rank.evaluation.evaluate import per_query
from polars_rank.uncertainty.bounds.several_runs import keys_of

Pair: TypeAlias = tuple[str, str]


class Pass(NamedTuple):
    """Measures that one plan computes, their convention, and other arguments."""

    measures: Sequence[Any]
    convention: Convention
    options: dict[str, Any]


def significant(
    frame: pl.LazyFrame,
    passes: Iterable[Pass],
    swaps: Sequence[tuple[str, str, list[Pair]]],
    *,
    system: str | None,
    query: str | Sequence[str],
    options: Mapping[str, Any],
) -> list[list[Pair]]:
    """Find the pairs that an alternative swaps and that differ before or after.

    ``swaps`` has the column before, the one after, and the pairs. They differ by the
    paired t test, at 5 %, uncorrected; queries without a value of one of the two are
    left out.
    """
    names = {name for *both, pairs in swaps if pairs for name in both}
    if system is None or not names:
        return [[] for _ in swaps]
    known = signature(per_query).parameters
    own = {name: value for name, value in options.items() if name in known}
    weight = columns_of(options.get("weight"))
    found = set()
    for measures, convention, different in passes:
        wanted = [m for m in measures if _name_of(m) in names]
        if not wanted:
            continue
        values = per_query(
            frame,
            wanted,
            query=keys_of(query, system),
            convention=convention,
            keep=weight,
            **(own | different),
        )
        pairs = compare(
            values.with_columns(pl.col(system).cast(pl.String)),
            system=system,
            query=query,
            measures=[_name_of(m) for m in wanted],
            weight=next(iter(names_of(weight)), None),
            pairs="common",
            correction="none",
        ).pairs
        rows = pairs.filter("significant").select("measure", "baseline", "system")
        found |= {(measure, frozenset(pair)) for measure, *pair in rows.rows()}
    return [
        [pair for pair in pairs if {(b, frozenset(pair)), (a, frozenset(pair))} & found]
        for b, a, pairs in swaps
    ]


def _name_of(measure: Any) -> str:
    """Name a measure as ``evaluate`` takes it."""
    return str(next(iter(measure)) if isinstance(measure, Mapping) else measure.name)
