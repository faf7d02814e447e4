"""Values of several systems side by side, a row per query, and what they must keep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.comparison.input.procedures import Pairing
from polars_rank.comparison.input.values import Columns, Values, cell
from polars_rank.exceptions import DataError

SHOWN = 5


def require_finite(values: Values) -> None:
    """Refuse values that are NaN or infinite."""
    keys = [f"key{i}" for i in range(len(values.columns.keys))]
    for k, name in enumerate(values.measures):
        rows = pl.concat(
            values.frame.select(*keys, pl.col(cell(k, i)).alias("v0"))
            for i in range(len(values.systems))
        )
        require_finite_rows(rows, values.columns, [name])


def aligned(
    held: pl.DataFrame,
    measures: list[str],
    columns: Columns,
    pairs: Pairing,
    systems: list[str] | None = None,
    fewest: int = 2,
) -> Values:
    """Check rows and align the systems, which are ``fewest`` or more."""
    _require_keys(held, columns)
    parts = _by_system(held)
    if systems is not None:
        nothing = held.drop("system").clear()
        parts = {name: parts.get(name, nothing) for name in systems}
    systems = list(parts)
    if len(systems) < fewest:
        only = f"one system, {systems[0]!r}" if systems else "no rows"
        msg = (
            f"nothing to compare: the values hold {only}; concatenate the values of "
            f"several, told apart by the column {columns.system!r}"
        )
        raise ValueError(msg)
    keys = [f"key{i}" for i in range(len(columns.keys))]
    repeats = None
    if columns.repeat is not None:
        repeats = held
        parts = _by_system(_mean_over_repeats(held, keys, columns))
    wide, notes = _side_by_side(parts, keys, len(measures), columns, pairs)
    apart = None
    if repeats is not None:
        keyed, runs = [*keys, "repeat"], _by_system(repeats)
        apart, _ = _side_by_side(runs, keyed, len(measures), columns, "common")
    paired = pairs != "independent"
    return Values(wide, systems, measures, columns, notes, apart, paired)


def require_finite_rows(
    held: pl.DataFrame, columns: Columns, measures: Sequence[str]
) -> None:
    """Refuse rows of which a value is NaN or infinite."""
    sums = held.select(pl.col(f"v{k}").sum() for k in range(len(measures))).row(0)
    for k, name in enumerate(measures):
        if math.isfinite(sums[k]):  # so are all values
            continue
        wrong = held.filter(~pl.col(f"v{k}").is_finite())
        if len(wrong):
            msg = (
                f"{name!r} is NaN or infinite in {len(wrong)} rows, e.g. of the "
                f"{_listed(wrong, columns)}; an undefined value is null"
            )
            _fail("nan_value", msg, len(wrong))


def _require_keys(held: pl.DataFrame, columns: Columns) -> None:
    for name, said in (("system", columns.system), *_keys(columns)):
        if nulls := held[name].null_count():
            _fail(
                "null_key", f"{nulls} rows have no {said!r}; fill or drop them", nulls
            )
    if columns.weight is not None:
        weight = pl.col("weight").cast(pl.Float64)
        wrong = held.filter(~(weight.is_finite() & (weight > 0)).fill_null(False))
        if len(wrong):
            msg = (
                f"weights must be above 0: {columns.weight!r} is not in {len(wrong)} "
                f"rows, e.g. of {_listed(wrong, columns)}; drop these rows"
            )
            _fail("invalid_weight", msg, len(wrong))
    if columns.cluster is not None and (nulls := held["cluster"].null_count()):
        msg = (
            f"{nulls} rows have no {columns.cluster!r}; drop them, or give each such "
            "query a cluster of its own"
        )
        _fail("null_cluster", msg, nulls)


def _mean_over_repeats(
    held: pl.DataFrame, keys: list[str], columns: Columns
) -> pl.DataFrame:
    _require_unique(held, [*keys, "repeat"], columns)
    values = [c for c in held.columns if c[0] == "v"]
    others = [c for c in held.columns if c not in {"system", "repeat", *keys, *values}]
    means = held.group_by("system", *keys, maintain_order=True).agg(
        pl.col(others).first(),
        pl.when(pl.col(values).null_count() == 0).then(pl.col(values).mean()),
        runs=pl.len(),
    )
    uneven = means.filter(pl.col("runs") != pl.col("runs").max().over("system"))
    if len(uneven):
        msg = (
            f"{len(uneven)} times a system has fewer repeats of a query than of "
            f"others, e.g. {_listed(uneven, columns)}; every query needs every repeat"
        )
        _fail("missing_repeat", msg, len(uneven))
    return means.drop("runs")


def _by_system(held: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each system: slices if they are contiguous, in blocks of one size."""
    name = held["system"]
    size = low = len(held)
    if size:  # rows before the second system, if those of the first come at once
        low = 1
    while low < size:
        middle = (low + size) // 2
        if name[middle] == name[0]:
            low = middle + 1
        else:
            size = middle
    firsts = name.gather_every(size) if size else name
    if size and len(held) % size == 0 and firsts.is_unique().all():
        parts = {s: held.slice(i * size, size) for i, s in enumerate(firsts)}
        if all((part["system"] == s).all() for s, part in parts.items()):
            return {s: part.drop("system") for s, part in parts.items()}
    groups = held.partition_by("system", as_dict=True, maintain_order=True)
    return {name: part.drop("system") for (name,), part in groups.items()}


def _side_by_side(
    parts: dict[str, pl.DataFrame],
    keys: list[str],
    measures: int,
    columns: Columns,
    pairs: Pairing,
) -> tuple[pl.DataFrame, list[str]]:
    """One row per query: values of all systems side by side."""
    systems = list(parts)
    first = parts[systems[0]]
    values = [f"v{k}" for k in range(measures)]
    others = [c for c in first.columns if c not in {"repeat", *keys, *values}]
    notes: list[str] = []
    same = _same_queries(parts, keys)
    if not same:
        parts = {name: part.sort(keys) for name, part in parts.items()}
        same = _same_queries(parts, keys)
    queries = parts[systems[0]].select(keys)
    different = [queries] if same else [p.select(keys) for p in parts.values()]
    if any(map(_repeated, different)):
        named = [part.select(*keys, system=pl.lit(n)) for n, part in parts.items()]
        _require_unique(pl.concat(named), keys, columns)
    if not same:
        queries, notes = _common(parts, keys, columns, pairs)
        parts = {
            name: queries.join(part, on=keys, how="left", maintain_order="left")
            for name, part in parts.items()
        }
    attributes = [
        _attribute(name, [parts[s][name] for s in systems], queries, columns)
        for name in others
    ]
    wide = queries.with_columns(
        *attributes,
        *(
            parts[s][f"v{k}"].alias(cell(k, i))
            for i, s in enumerate(systems)
            for k in range(measures)
        ),
    )
    return (
        wide
        if pairs == "independent"
        else _paired(wide, systems, measures, columns, pairs, notes)
    ), notes


def _same_queries(parts: Mapping[str, pl.DataFrame], keys: list[str]) -> bool:
    """Whether all systems have the same queries in the same order."""
    tables = [part.select(keys) for part in parts.values()]
    return all(table.equals(tables[0]) for table in tables)


def _repeated(queries: pl.DataFrame) -> bool:
    """Whether a query comes twice."""
    first = queries.to_series()
    if queries.width == 1 and first.is_sorted():
        return bool((first.slice(1) == first.slice(0, max(len(first) - 1, 0))).any())
    return bool(queries.is_duplicated().any())


def _common(
    parts: Mapping[str, pl.DataFrame],
    keys: list[str],
    columns: Columns,
    pairs: Pairing,
) -> tuple[pl.DataFrame, list[str]]:
    """The queries of all systems, or of any; an error if they must be the same."""
    seen = (
        pl.concat([part.select(*keys, system=pl.lit(n)) for n, part in parts.items()])
        .group_by(keys)
        .agg(pl.col("system"))
        .sort(keys)
    )
    partial = seen.filter(pl.col("system").list.len() < len(parts))
    if pairs == "independent":
        return seen.select(keys), []
    lacking = {
        name: len(seen) - len(part)
        for name, part in parts.items()
        if len(part) < len(seen)
    }
    listed = ", ".join(
        f"{name!r} lacks {n}" for name, n in list(lacking.items())[:SHOWN]
    )
    if pairs == "common":
        kept = seen.filter(pl.col("system").list.len() == len(parts)).select(keys)
        left = _counted(len(partial))
        note = f"{left} left out that not every system has: {listed}"
        return kept, [note]
    has = "has" if len(partial) == 1 else "have"
    msg = (
        f"{_counted(len(partial))} {has} no value of every system ({listed}), e.g. the "
        f"{_listed(partial, columns)}. Evaluate with missing='zero', so that a missing "
        "query counts 0, or leave them out, as pairs='common' of compare does."
    )
    raise DataError(
        msg, rule="unpaired_query", count=len(partial), examples=_rows(partial)
    )


def _counted(queries: int) -> str:
    return "1 query" if queries == 1 else f"{queries} queries"


def _paired(
    wide: pl.DataFrame,
    systems: list[str],
    measures: int,
    columns: Columns,
    pairs: Pairing,
    notes: list[str],
) -> pl.DataFrame:
    """A value that is null for one system must be null for all."""
    for k in range(measures):
        cells = [cell(k, i) for i in range(len(systems))]
        if not any(wide[c].null_count() for c in cells):
            continue
        nulls = pl.sum_horizontal(pl.col(c).is_null() for c in cells)
        uneven = wide.filter((nulls > 0) & (nulls < len(systems)))
        if not len(uneven):
            continue
        if pairs == "common":
            wide = wide.with_columns(
                pl.when(nulls == 0).then(pl.col(c)).alias(c) for c in cells
            )
            left = _counted(len(uneven))
            notes.append(f"{left} left out for a null of some system")
            continue
        msg = (
            f"some systems only have a value of {_counted(len(uneven))}, null for "
            f"others, e.g. {_listed(uneven, columns)}. The same judgments cannot "
            "give that; leave these queries out, as pairs='common' of compare does."
        )
        _fail("null_value", msg, len(uneven))
    return wide


def _attribute(
    name: str, series: list[pl.Series], queries: pl.DataFrame, columns: Columns
) -> pl.Series:
    """Segment, weight or cluster of the queries: the same for all systems."""
    known = pl.DataFrame([s.alias(str(i)) for i, s in enumerate(series)])
    first = known.select(pl.coalesce(pl.all()).alias(name)).to_series()
    for column in known:
        wrong = ~(column.eq_missing(first) | column.is_null())
        if wrong.any():
            said = dict(
                zip(
                    ["weight", "cluster"],
                    [columns.weight, columns.cluster],
                    strict=True,
                )
            )
            said |= {f"by{i}": c for i, c in enumerate(columns.segments)}
            msg = (
                f"{said[name]!r} differs between systems for {wrong.sum()} queries, "
                f"e.g. {_listed(queries.filter(wrong), columns)}; give each query "
                "one"
            )
            _fail("varying_segment", msg, int(wrong.sum()))
    return first


def _require_unique(held: pl.DataFrame, keys: list[str], columns: Columns) -> None:
    copies = held.select("system", *keys).is_duplicated()
    if copies.any():
        wrong = held.filter(copies).unique(["system", *keys], maintain_order=True)
        among = "" if "repeat" in keys else "; several runs of a system need repeat="
        msg = (
            f"{len(wrong)} times a system has several rows for a query, e.g. "
            f"{_listed(wrong, columns)}{among}"
        )
        _fail("duplicate_value", msg, len(wrong))


def _keys(columns: Columns) -> list[tuple[str, str]]:
    return [(f"key{i}", name) for i, name in enumerate(columns.keys)]


def _rows(frame: pl.DataFrame) -> list[Any]:
    keys = [c for c in frame.columns if c.startswith("key")]
    rows = frame.select(keys).unique(maintain_order=True).head(SHOWN).rows()
    return [row[0] if len(row) == 1 else row for row in rows]


def _listed(frame: pl.DataFrame, columns: Columns) -> str:
    rows = _rows(frame)
    return ("queries " if len(rows) > 1 else "query ") + ", ".join(map(repr, rows))


def _fail(rule: str, message: str, count: int) -> None:
    raise DataError(message, rule=rule, count=count)
