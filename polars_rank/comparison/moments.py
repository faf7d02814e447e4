"""Sums of values and of differences that add up: a year from 365 daily files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polars_rank.comparison.definition import Definition
from polars_rank.comparison.row_sums import row_sums
from polars_rank.comparison.values import (
    Columns,
    Source,
    Values,
    cell,
    lazy,
    lower_is_better,
    read,
)
from polars_rank.conventions.tools import DEFAULT, ConventionLike
from polars_rank.core.aggregate import RatioMoments
from polars_rank.exceptions import DataError

__all__ = ["KEYS", "STATE", "is_moments", "merge", "moments", "sums_of"]

KEYS = ["measure", "system", "other"]
SUMS = RatioMoments(exact=False)
STATE = ["n", "x", "d", "xx", "xd", "dd"]
# What equals what where queries are units of weight 1.
SAME = {"queries": "n", "squares": "xx", "d": "n", "dd": "n", "xd": "x"}
ORDER = ["queries", *STATE, "squares", "win", "tie", "loss"]
ROW_SUMS = {
    "n": pl.Int64,
    "x": pl.Float64,
    "xx": pl.Float64,
    "win": pl.Int64,
    "loss": pl.Int64,
}
COUNTS = ["queries", "squares", "win", "tie", "loss"]


def moments(
    values: Source,
    *,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    measures: Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    seed: str | None = None,
    tie: float = 1e-9,
    convention: ConventionLike = DEFAULT,
    path: str | Path | None = None,
) -> pl.DataFrame:
    """Compute the sums that a comparison of systems needs, which add up over days.

    Parameters
    ----------
    values, system, query, measures, by, weight, cluster, seed, tie
        As in :func:`compare`. Clusters must not span the parts that are merged.
    convention
        The convention that the values were computed under: it is part of the
        definition, and sums of different definitions are not merged.
    path
        Parquet file to write as well, with version, measures and convention in its
        metadata.

    Returns
    -------
    One row per segment, measure and system (``other`` is null), and per pair of
    systems, with the sums of the differences ``other - system``: ``queries``, their
    number; ``squares``, the weighted sum of squares; ``win``, ``tie``, ``loss`` of the
    ``other``; and over the units (queries or clusters) ``n``, their number, and the
    sums of numerators ``x``, denominators ``d`` and their products. ``definition``
    tells measure and convention. m systems have m (m + 1) / 2 rows per measure.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> day = pl.DataFrame(
    ...     {"system": ["a", "a", "b", "b"], "query_id": [1, 2] * 2,
    ...      "rr": [0.5, 1.0, 1.0, 1.0]}
    ... )
    >>> monday = pr.moments(day)
    >>> week = pr.merge([monday] * 5)
    >>> pr.compare(week).pairs.select("queries", "difference").row(0)
    (10, 0.25)
    """
    columns = Columns(system, query, measures, by, weight, cluster, seed)
    held = read(values, columns)
    definition = Definition.of(held.measures, convention, columns.keys)
    table = (
        sums_of(held, list(combinations(range(len(held.systems)), 2)), tie)
        .rename(dict(zip(held.by, columns.segments, strict=True)))
        .with_columns(
            definition=pl.col("measure").replace_strict(definition.by_measure())
        )
    )
    if path is not None:
        definition.write(table, path)
    return table


def merge(parts: Source | Iterable[Source], *, unit: str = "row") -> pl.DataFrame:
    """Add up moments of parts, such as days.

    Parameters
    ----------
    parts
        Results of :func:`moments`, or files (globs, too) that hold them.
    unit
        Independent observation: ``"row"``: the queries or clusters of each part are new
        ones; ``"part"``: a part as a whole is one observation, since the same queries
        come back every day. That needs about ten parts or more.

    Returns
    -------
    A frame like those of :func:`moments`.

    Raises
    ------
    DataError
        If parts differ in a measure's definition, or in their columns.
    """
    single = isinstance(parts, str | Path | pl.DataFrame | pl.LazyFrame)
    given: list[Any] = [parts] if single else list(parts)  # type: ignore[arg-type]
    if not given:
        msg = "nothing to merge: name at least one part"
        raise ValueError(msg)
    if unit not in ("row", "part"):
        msg = f"unit must be one of row, part, not {unit!r}"
        raise ValueError(msg)
    frames = [lazy(part) for part in given]
    names = frames[0].collect_schema().names()
    for frame in frames:
        found = frame.collect_schema().names()
        if not is_moments(found):
            msg = "only moments can be merged; make them with pr.moments(values)"
            raise ValueError(msg)
        if sorted(found) != sorted(names):
            odd = ", ".join(sorted({*found} ^ {*names}))
            msg = f"the parts have different columns: {odd}; use the same by= in all"
            raise DataError(msg, rule="different_columns", count=1)
    whole = pl.concat([f.select(names) for f in frames], how="vertical_relaxed")
    sums = [*STATE, *COUNTS]
    segments = [n for n in names if n not in {*KEYS, *sums, "definition"}]
    keys = [*segments, *KEYS]
    if unit == "part":
        over = RatioMoments(pl.col("d"), exact=False).state(pl.col("x"))
        state = {name: over[name] for name in STATE}
    else:
        state = {name: SUMS.merge(name, pl.col(name)) for name in STATE}
    merged = (
        whole.group_by(keys, maintain_order=True)
        .agg(
            *(value.alias(name) for name, value in state.items()),
            *(pl.col(name).sum() for name in COUNTS),
            pl.col("definition").first(),
            definitions=pl.col("definition").unique(),
        )
        .collect()
    )
    mixed = merged.filter(pl.col("definitions").list.len() > 1)
    if len(mixed):
        row = mixed.row(0, named=True)
        shown = " and ".join(map(repr, row["definitions"]))
        msg = (
            f"{row['measure']!r} is not the same in all parts: {shown}; compute one of "
            "them anew"
        )
        raise DataError(msg, rule="different_definition", count=len(mixed))
    return merged.select(names)


def is_moments(columns: Iterable[str]) -> bool:
    """Tell moments from values per query."""
    return {*KEYS, *STATE, *COUNTS, "definition"} <= {*columns}


def sums_of(
    values: Values, pairs: Sequence[tuple[int, int]], tie: float
) -> pl.DataFrame:
    """The sums of every system and of the pairs, by segment."""
    systems = range(len(values.systems))
    weighted, clustered = (
        "weight" in values.frame.columns,
        "cluster" in values.frame.columns,
    )
    weight = pl.col("weight").cast(pl.Float64) if weighted else None
    if values.paired and not (weighted or clustered or values.by):
        return _unweighted(values, pairs, tie)
    parts = []
    for k, measure in enumerate(values.measures):
        sense = -1.0 if lower_is_better(measure) else 1.0
        variables: dict[tuple[int, int | None], pl.Expr] = {
            (i, None): pl.col(cell(k, i)) for i in systems
        }
        variables |= {(i, j): pl.col(cell(k, j)) - pl.col(cell(k, i)) for i, j in pairs}
        steps: dict[str, pl.Expr] = {}
        for place, ((_, j), value) in enumerate(variables.items()):
            named = {}
            if weighted or clustered:  # else n and xx are the same
                square = value * value
                named["squares"] = (square if weight is None else square * weight).sum()
                named["queries"] = value.count()
            if j is not None:
                named["win"] = (value * sense > tie).sum()
                named["loss"] = (value * sense < -tie).sum()
            if clustered:
                w = pl.lit(1.0) if weight is None else weight
                named["above"] = (value * w).sum()
                named["below"] = pl.when(value.is_not_null()).then(w).sum()
            else:
                named |= SUMS.state(value, weight)
            steps |= {f"{place}|{n}": v for n, v in named.items()}
        frame = values.ordered.lazy()
        if clustered:
            frame = _grouped(frame, [*values.by, "cluster"], steps)
            steps = {}
            for place in range(len(variables)):
                below = pl.col(f"{place}|below")
                below = pl.when(below > 0).then(below)
                state = RatioMoments(below, exact=False).state(pl.col(f"{place}|above"))
                counts = [n for n in COUNTS if n != "tie"]
                state |= {
                    n: pl.col(f"{place}|{n}").sum()
                    for n in counts
                    if _has(n, place, len(systems))
                }
                steps |= {f"{place}|{n}": v for n, v in state.items()}
        sums = _grouped(frame, values.by, steps).collect()
        parts.append(_rows(sums, values, measure, list(variables)))
    return pl.concat(parts)


def _unweighted(
    values: Values, pairs: Sequence[tuple[int, int]], tie: float
) -> pl.DataFrame:
    """Of whole columns, one measure per thread."""
    columns = range(len(values.systems))
    names: list[tuple[str, str | None]] = [(name, None) for name in values.systems]
    names += [(values.systems[i], values.systems[j]) for i, j in pairs]

    def of_measure(k: int) -> pl.DataFrame:
        measure = values.measures[k]
        table = values.frame.select(cell(k, i) for i in columns)
        rows = values.order
        if table.to_series(0).null_count():  # then those of all systems are null
            known = table.to_series(0).is_not_null().to_numpy()
            rows = np.flatnonzero(known) if rows is None else rows[known[rows]]
        found = row_sums([c.to_numpy() for c in table], pairs, tie, rows)
        turned = {"win": "loss", "loss": "win"} if lower_is_better(measure) else {}
        sums = pl.DataFrame(found, schema=ROW_SUMS, orient="row").rename(turned)
        labels = pl.DataFrame(names, schema=["system", "other"], orient="row")
        n = pl.col("n").cast(pl.Float64)
        return pl.concat([labels, sums], how="horizontal").select(
            pl.lit(measure).alias("measure"),
            "system",
            "other",
            "n",
            "x",
            "xx",
            "win",
            "loss",
            queries="n",
            d=n,
            xd="x",
            dd=n,
            squares="xx",
            tie=pl.col("n") - pl.col("win") - pl.col("loss"),
        )

    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        tables = list(threads.map(of_measure, range(len(values.measures))))
    return pl.concat(tables).select(*KEYS, *ORDER)


def _has(name: str, place: int, systems: int) -> bool:
    return name in ("queries", "squares") or place >= systems


def _grouped(
    frame: pl.LazyFrame, by: Sequence[str], steps: dict[str, pl.Expr]
) -> pl.LazyFrame:
    named = [value.alias(name) for name, value in steps.items()]
    return frame.group_by(by).agg(named).sort(by) if by else frame.select(named)


def _rows(
    sums: pl.DataFrame,
    values: Values,
    measure: str,
    variables: Sequence[tuple[int, int | None]],
) -> pl.DataFrame:
    """A row for each segment and variable: columns come one below the other."""
    segments, held = len(sums), {s.name: s for s in sums}
    named: dict[str, list[pl.Series]] = {}
    none = pl.repeat(None, segments, dtype=pl.Int64, eager=True)
    for place in range(len(variables)):
        for name in ("queries", "squares", "win", "loss", *STATE):
            same = SAME.get(name, name)  # of what is not there
            series = held.get(f"{place}|{name}", held.get(f"{place}|{same}", none))
            kind = pl.Int64 if name in ("queries", "win", "loss", "n") else pl.Float64
            named.setdefault(name, []).append(series.cast(kind).alias(name))
    frame = pl.DataFrame([pl.concat(series) for series in named.values()])
    names = [
        (values.systems[i], None if j is None else values.systems[j])
        for i, j in variables
    ]
    labels = pl.DataFrame(
        [(measure, *pair) for pair in names for _ in range(segments)],
        schema=dict.fromkeys(KEYS, pl.String),
        orient="row",
    )
    segment = (
        pl.concat([sums.select(values.by)] * len(variables))
        if values.by
        else pl.DataFrame()
    )
    tie = pl.col("queries") - pl.col("win") - pl.col("loss")
    return pl.concat(
        [segment, labels, frame.with_columns(tie=tie)], how="horizontal"
    ).select(*values.by, *KEYS, *ORDER)
