"""Values of several systems side by side, a row per query, and what they must keep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank.comparison.input.procedures import Columns, Pairing
from polars_rank.comparison.input.values import Values, cell
from polars_rank.exceptions import DataError, counted

SHOWN = 5


def require_finite(values: Values) -> None:
    """Refuse values that are NaN or infinite."""
    for k, name in enumerate(values.measures):
        rows = pl.concat(
            values.frame.select(*values.columns.own_keys, v0=cell(k, i))
            for i in range(len(values.systems))
        )
        require_finite_rows(rows, [name])


def require_finite_rows(held: pl.DataFrame, measures: Sequence[str]) -> None:
    """Refuse rows of which a value is NaN or infinite."""
    sums = held.select(pl.col(f"v{k}").sum() for k in range(len(measures))).row(0)
    for k, name in enumerate(measures):
        if math.isfinite(sums[k]):  # so are all values
            continue
        wrong = held.filter(~pl.col(f"v{k}").is_finite())
        if len(wrong):
            msg = (
                f"{name!r} is NaN or infinite in {counted(len(wrong), 'row')}, e.g. of "
                f"the {_listed(wrong)}; an undefined value is null"
            )
            _fail("nan_value", msg, len(wrong))


@dataclass(frozen=True)
class Alignment:
    """How rows of systems become one row per query."""

    columns: Columns
    measures: list[str]
    pairs: Pairing = "same"
    fewest: int = 2

    def of(self, held: pl.DataFrame, systems: Sequence[str] | None = None) -> Values:
        """Check rows and align the systems, which are ``fewest`` or more."""
        self._require_keys(held)
        parts = _by_system(held)
        if systems is not None:
            nothing = held.drop("system").clear()
            parts = {name: parts.get(name, nothing) for name in systems}
        names = list(parts)
        if len(names) < self.fewest:
            only = f"one system, {names[0]!r}" if names else "no rows"
            msg = (
                f"nothing to compare: the values hold {only}; concatenate the values "
                f"of several, told apart by the column {self.columns.system!r}"
            )
            raise ValueError(msg)
        keys, apart = self.columns.own_keys, None
        if self.columns.repeat is not None:
            parts = _by_system(self._mean_over_repeats(held, keys))
        wide, notes = self._side_by_side(parts, keys, self.pairs)
        if self.columns.repeat is not None:
            runs = _by_system(held)
            apart, _ = self._side_by_side(runs, [*keys, "repeat"], "common")
        paired = self.pairs != "independent"
        return Values(wide, names, self.measures, self.columns, notes, apart, paired)

    def _require_keys(self, held: pl.DataFrame) -> None:
        columns = self.columns
        names = [columns.system, *columns.keys]
        for name, said in zip(["system", *columns.own_keys], names, strict=True):
            if nulls := held[name].null_count():
                msg = f"{said!r} is null in {counted(nulls, 'row')}; fill or drop them"
                _fail("null_key", msg, nulls)
        if columns.weight is not None:
            weight = pl.col("weight").cast(pl.Float64)
            wrong = held.filter(~(weight.is_finite() & (weight > 0)).fill_null(False))
            if len(wrong):
                msg = (
                    f"weights must be above 0: {columns.weight!r} is not in "
                    f"{counted(len(wrong), 'row')}, e.g. of {_listed(wrong)}; drop "
                    "these rows"
                )
                _fail("invalid_weight", msg, len(wrong))
        if columns.cluster is not None and (nulls := held["cluster"].null_count()):
            msg = (
                f"{columns.cluster!r} is null in {counted(nulls, 'row')}; drop them, "
                "or give each such query a cluster of its own"
            )
            _fail("null_cluster", msg, nulls)

    def _mean_over_repeats(self, held: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
        _require_unique(held, [*keys, "repeat"])
        values = [c for c in held.columns if c[0] == "v"]
        named = {"system", "repeat", *keys, *values}
        about = [c for c in held.columns if c not in named]
        means = held.group_by("system", *keys, maintain_order=True).agg(
            pl.col(about).drop_nulls().unique(maintain_order=True),
            pl.when(pl.col(values).null_count() == 0).then(pl.col(values).mean()),
            runs=pl.len(),
        )
        for name in about:
            varying = means.filter(pl.col(name).list.len() > 1).select(keys).unique()
            self._require_one(name, varying.sort(keys), "repeats")
        uneven = means.filter(pl.col("runs") != pl.col("runs").max().over("system"))
        if len(uneven):
            msg = (
                f"{len(uneven)} times a system has fewer repeats of a query than of "
                f"others, e.g. {_listed(uneven)}; every query needs every repeat"
            )
            _fail("missing_repeat", msg, len(uneven))
        return means.drop("runs").with_columns(pl.col(about).list.first())

    def _side_by_side(
        self, parts: dict[str, pl.DataFrame], keys: list[str], pairs: Pairing
    ) -> tuple[pl.DataFrame, list[str]]:
        """Put the values of all systems side by side, in one row per query."""
        systems = list(parts)
        columns = parts[systems[0]].columns
        numbers = range(len(self.measures))
        named = {"repeat", *keys, *(f"v{k}" for k in numbers)}
        notes: list[str] = []
        same = _same_queries(parts, keys)
        if not same:
            parts = {name: part.sort(keys) for name, part in parts.items()}
            same = _same_queries(parts, keys)
        queries = parts[systems[0]].select(keys)
        different = [queries] if same else [p.select(keys) for p in parts.values()]
        if any(map(_repeated, different)):
            _require_unique(_named(parts, keys), keys)
        if not same:
            queries, notes = _common(parts, keys, pairs)
            parts = {
                name: queries.join(part, on=keys, how="left", maintain_order="left")
                for name, part in parts.items()
            }
        wide = queries.with_columns(
            *(
                self._attribute(name, [part[name] for part in parts.values()], queries)
                for name in columns
                if name not in named
            ),
            *(
                part[f"v{k}"].alias(cell(k, i))
                for i, part in enumerate(parts.values())
                for k in numbers
            ),
        )
        if pairs != "independent":
            for k in numbers:
                cells = [cell(k, i) for i in range(len(systems))]
                wide = _paired(wide, cells, pairs, notes)
        return wide, notes

    def _attribute(
        self, name: str, series: list[pl.Series], queries: pl.DataFrame
    ) -> pl.Series:
        """Find the segment, weight or cluster of queries: the same for all systems."""
        known = pl.DataFrame([s.alias(str(i)) for i, s in enumerate(series)])
        first = known.select(pl.coalesce(pl.all()).alias(name)).to_series()
        for column in known:
            wrong = ~(column.eq_missing(first) | column.is_null())
            self._require_one(name, queries.filter(wrong), "systems")
        return first

    def _require_one(self, name: str, varying: pl.DataFrame, between: str) -> None:
        """Refuse queries of which a segment, weight or cluster varies."""
        if not len(varying):
            return
        said = {f"by{i}": c for i, c in enumerate(self.columns.segments)}
        msg = (
            f"{(said | self.columns.roles)[name]!r} differs between {between} for "
            f"{counted(len(varying), 'query')}, e.g. {_listed(varying)}; give each "
            "query one"
        )
        _fail("varying_segment", msg, len(varying))


def _by_system(held: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Split rows by system: slices if they are contiguous, in blocks of one size."""
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


def _same_queries(parts: Mapping[str, pl.DataFrame], keys: list[str]) -> bool:
    """Tell whether all systems have the same queries in the same order."""
    tables = [part.select(keys) for part in parts.values()]
    return all(table.equals(tables[0]) for table in tables)


def _repeated(queries: pl.DataFrame) -> bool:
    """Tell whether a query comes twice."""
    first = queries.to_series()
    if queries.width == 1 and first.is_sorted():
        return bool((first.slice(1) == first.slice(0, max(len(first) - 1, 0))).any())
    return bool(queries.is_duplicated().any())


def _named(parts: Mapping[str, pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    return pl.concat(
        part.select(*keys, system=pl.lit(name)) for name, part in parts.items()
    )


def _common(
    parts: Mapping[str, pl.DataFrame], keys: list[str], pairs: Pairing
) -> tuple[pl.DataFrame, list[str]]:
    """Find the queries of all systems, or of any; refuse to leave some out unasked."""
    seen = _named(parts, keys).group_by(keys).agg(pl.col("system")).sort(keys)
    if pairs == "independent":
        return seen.select(keys), []
    whole = pl.col("system").list.len() == len(parts)
    partial = seen.filter(~whole)
    lacking = [
        f"{name!r} lacks {len(seen) - len(part)}"
        for name, part in parts.items()
        if len(part) < len(seen)
    ]
    listed, count = ", ".join(lacking[:SHOWN]), len(partial)
    if pairs == "common":
        note = f"{counted(count, 'query')} left out that not every system has: {listed}"
        return seen.filter(whole).select(keys), [note]
    has = "has" if count == 1 else "have"
    msg = (
        f"{counted(count, 'query')} {has} no value of every system ({listed}), e.g. "
        f"the {_listed(partial)}. Evaluate with missing='zero', so that a missing "
        "query counts 0, or leave them out, as pairs='common' of compare does."
    )
    raise DataError(msg, rule="unpaired_query", count=count, examples=_rows(partial))


def _paired(
    wide: pl.DataFrame, cells: list[str], pairs: Pairing, notes: list[str]
) -> pl.DataFrame:
    """Require that a value that is null for one system is null for all."""
    if not any(wide[c].null_count() for c in cells):
        return wide
    nulls = pl.sum_horizontal(pl.col(c).is_null() for c in cells)
    uneven = wide.filter((nulls > 0) & (nulls < len(cells)))
    if not len(uneven):
        return wide
    count = counted(len(uneven), "query")
    if pairs == "common":
        notes.append(f"{count} left out for a null of some system")
        return wide.with_columns(pl.when(nulls == 0).then(pl.col(cells)))
    msg = (
        f"some systems only have a value of {count}, null for others, e.g. "
        f"{_listed(uneven)}. The same judgments cannot give that; leave these queries "
        "out, as pairs='common' of compare does."
    )
    _fail("null_value", msg, len(uneven))
    return wide


def _require_unique(held: pl.DataFrame, keys: list[str]) -> None:
    copies = held.select("system", *keys).is_duplicated()
    if copies.any():
        wrong = held.filter(copies).unique(["system", *keys], maintain_order=True)
        among = "" if "repeat" in keys else "; several runs of a system need repeat="
        msg = (
            f"{len(wrong)} times a system has several rows for a query, e.g. "
            f"{_listed(wrong)}{among}"
        )
        _fail("duplicate_value", msg, len(wrong))


def _rows(frame: pl.DataFrame) -> list[Any]:
    keys = [c for c in frame.columns if c.startswith("key")]
    rows = frame.select(keys).unique(maintain_order=True).head(SHOWN).rows()
    return [row[0] if len(row) == 1 else row for row in rows]


def _listed(frame: pl.DataFrame) -> str:
    rows = _rows(frame)
    return ("queries " if len(rows) > 1 else "query ") + ", ".join(map(repr, rows))


def _fail(rule: str, message: str, count: int) -> None:
    raise DataError(message, rule=rule, count=count)
