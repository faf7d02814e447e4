"""Which differences of systems are more than noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias

import polars as pl

from polars_rank._engine.schema import columns_of, names_of
from polars_rank.comparison.compare import compare
from polars_rank.conventions.convention import Convention
from polars_rank.evaluation.evaluate import per_query
from polars_rank.uncertainty.bounds.several_runs import keys_of

# Measures that one plan computes, their convention, and other arguments.
Pass: TypeAlias = tuple[Sequence[Any], Convention, dict[str, Any]]


def significant_pairs(
    frame: pl.LazyFrame,
    passes: Iterable[Pass],
    *,
    system: str,
    query: str | Sequence[str],
    options: Mapping[str, Any],
) -> set[tuple[str, frozenset[str]]]:
    """Find measures and pairs that differ by the paired t test, at 5 %, uncorrected.

    Queries without a value of one of the two are left out.
    """
    known = signature(per_query).parameters
    own = {name: value for name, value in options.items() if name in known}
    weight = columns_of(options.get("weight"))
    found = set()
    for measures, convention, different in passes:
        values = per_query(
            frame,
            measures,
            query=keys_of(query, system),
            convention=convention,
            keep=weight,
            **(own | different),
        )
        pairs = compare(
            values.with_columns(pl.col(system).cast(pl.String)),
            system=system,
            query=query,
            measures=[name_of(m) for m in measures],
            weight=next(iter(names_of(weight)), None),
            pairs="common",
            correction="none",
        ).pairs
        rows = pairs.filter("significant").select("measure", "baseline", "system")
        found |= {(measure, frozenset(pair)) for measure, *pair in rows.rows()}
    return found


def name_of(measure: Any) -> str:
    """Name a measure as ``evaluate`` takes it."""
    return str(next(iter(measure)) if isinstance(measure, Mapping) else measure.name)
