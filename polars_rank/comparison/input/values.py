"""Values of several systems per query: what they are, and which column is what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.comparison.input.procedures import Columns as Columns
from polars_rank.core.metric.registry import Metric
from polars_rank.io import scan
from polars_rank.io.frames import ArrowStream, as_polars
from polars_rank.measures.measure import Measure

Source: TypeAlias = AnyFrame | ArrowStream | str | Path
ROUNDING = 1e-12  # of the size of values: 0.4 - 0.3 is 0.1, nearly


@dataclass(frozen=True)
class Values:
    """One row per query, in any order, with a column per measure and system.

    ``frame`` has the columns ``key0`` ..., ``by0`` ..., ``weight`` and ``cluster``
    where they were named, and ``cell(k, i)`` for measure k and system i. With repeats,
    the values are means over them, and ``repeats`` has a row per query and repeat.
    """

    frame: pl.DataFrame
    systems: list[str]
    measures: list[str]
    columns: Columns
    notes: list[str] = field(default_factory=list)
    repeats: pl.DataFrame | None = None
    paired: bool = True  # a query has values of all systems, or of none

    @property
    def by(self) -> list[str]:
        """Own names of the columns of segments."""
        return [f"by{i}" for i in range(len(self.columns.segments))]

    @cached_property
    def order(self) -> npt.NDArray[np.intp] | None:
        """Rows in the order of the queries; None if that is how they are."""
        keys = self.columns.own_keys
        if len(keys) == 1 and self.frame[keys[0]].is_sorted():
            return None
        order = self.frame.select(pl.arg_sort_by(keys)).to_series()
        return None if order.is_sorted() else order.to_numpy().astype(np.intp)

    @cached_property
    def ordered(self) -> pl.DataFrame:
        """The frame, sorted by query."""
        return self.frame if self.order is None else self.frame[self.order]

    def differences(
        self, pairs: Sequence[tuple[str, str]], measure: str | None = None
    ) -> pl.DataFrame:
        """Return both values and their difference by measure, pair and query."""
        columns = self.columns
        named = zip(columns.own_keys, columns.keys, strict=True)
        keys = [pl.col(key).alias(name) for key, name in named]
        parts = []
        for name in self.measures if measure is None else [measure]:
            k = self.measures.index(name)
            for pair in pairs:
                base, own = (pl.col(cell(k, self.systems.index(s))) for s in pair)
                labels = zip(
                    ("measure", "baseline", "system"), (name, *pair), strict=True
                )
                parts.append(
                    self.ordered.select(
                        *(pl.lit(text).alias(label) for label, text in labels),
                        *keys,
                        baseline_value=base,
                        value=own,
                        difference=own - base,
                    )
                )
        return pl.concat(parts)


def cell(measure: int, system: int) -> str:
    """Name the column of a measure's values of a system."""
    return f"v{measure}_{system}"


@cache
def metric_of(measure: str) -> Metric | None:
    """Find the registered metric that a column is named after, if it is."""
    try:
        return Measure.parse(measure).definition
    except (ValueError, TypeError):
        return None


def lower_is_better(measure: str) -> bool:
    """Tell whether a column is named after a loss or a distance."""
    metric = metric_of(measure)
    return metric is not None and metric.better == "lower"


def is_geometric(measure: str) -> bool:
    """Tell whether a column holds logarithms, which a geometric mean takes."""
    metric = metric_of(measure)
    return metric is not None and metric.aggregate == "geometric"


def lazy(values: Source) -> pl.LazyFrame:
    """Return a lazy frame of what was given: a frame, or a file."""
    given = read_once(values)
    return scan(given, kind="run") if isinstance(given, str | Path) else given.lazy()


def read_once(values: Source) -> AnyFrame | str | Path:
    """Return files and frames of Polars as they are, the rest as a frame in memory.

    A generator or reader has nothing left for a second look.
    """
    if isinstance(values, str | Path | pl.DataFrame | pl.LazyFrame):
        return values
    if isinstance(values, Mapping | list | tuple):
        msg = (
            "values are a frame (of Polars, pandas, pyarrow ...) or the path of a "
            f"file, with a row per system and query, not {type(values).__name__}"
        )
        raise TypeError(msg)
    return as_polars(values, name="values")
