"""Values of several systems per query: read, checked and aligned."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._engine.layout import in_batches
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import require_columns
from polars_rank._engine.spill.buckets import Bucket, fill
from polars_rank._files.temporary import private_folder
from polars_rank.comparison.arguments import Pairing, names_of
from polars_rank.core.registry import Metric
from polars_rank.core.source import lazy_source
from polars_rank.exceptions import DataError
from polars_rank.io import scan
from polars_rank.measures.measure import Measure

__all__ = [
    "Columns",
    "Source",
    "Values",
    "cell",
    "lazy",
    "lower_is_better",
    "metric_of",
    "read",
    "read_parts",
    "require_values",
]

Source: TypeAlias = AnyFrame | str | Path
SHOWN = 5
WHOLE = 1 << 29  # bytes of rows that are held in memory, rather than in parts
BUCKETS, ROWS_PER_GROUP = 16, 16_384
DEEPEST = 4  # level of buckets: beyond, they are single queries or clusters


@dataclass(frozen=True)
class Columns:
    """Which column is what."""

    system: str = "system"
    query: str | Sequence[str] = "query_id"
    measures: Sequence[str] | None = None
    by: str | Sequence[str] | None = None
    weight: str | None = None
    cluster: str | None = None
    seed: str | None = None

    @property
    def keys(self) -> list[str]:
        """The columns that name a query."""
        return names_of(self.query)

    @property
    def segments(self) -> list[str]:
        """The columns that split queries into segments."""
        return names_of(self.by)


@dataclass(frozen=True)
class Values:
    """One row per query, in any order, with a column per measure and system.

    ``frame`` has the columns ``key0`` ..., ``by0`` ..., ``weight`` and ``cluster``
    where they were named, and ``cell(k, i)`` for measure k and system i. With seeds,
    the values are means over them, and ``seeds`` has a row per query and seed.
    """

    frame: pl.DataFrame
    systems: list[str]
    measures: list[str]
    columns: Columns
    notes: list[str] = field(default_factory=list)
    seeds: pl.DataFrame | None = None
    paired: bool = True  # a query has values of all systems, or of none

    @property
    def by(self) -> list[str]:
        """Own names of the columns of segments."""
        return [f"by{i}" for i in range(len(self.columns.segments))]

    @cached_property
    def order(self) -> npt.NDArray[np.intp] | None:
        """Rows in the order of the queries; None if that is how they are."""
        keys = [f"key{i}" for i in range(len(self.columns.keys))]
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
        """Per measure, pair and query: the values of both, and their difference."""
        wanted = self.measures if measure is None else [measure]
        keys = {f"key{i}": name for i, name in enumerate(self.columns.keys)}
        parts = []
        for name in wanted:
            k = self.measures.index(name)
            for a, b in pairs:
                base, own = (cell(k, self.systems.index(s)) for s in (a, b))
                parts.append(
                    self.ordered.select(
                        pl.lit(name).alias("measure"),
                        pl.lit(a).alias("baseline"),
                        pl.lit(b).alias("system"),
                        *(
                            pl.col(key).alias(own_name)
                            for key, own_name in keys.items()
                        ),
                        pl.col(base).alias("baseline_value"),
                        pl.col(own).alias("value"),
                        (pl.col(own) - pl.col(base)).alias("difference"),
                    )
                )
        return pl.concat(parts)


def cell(measure: int, system: int) -> str:
    """Column of a measure's values of a system."""
    return f"v{measure}_{system}"


@cache
def metric_of(measure: str) -> Metric | None:
    """The registered metric that a column is named after, if it is."""
    try:
        return Measure.parse(measure).definition
    except (ValueError, TypeError):
        return None


def lower_is_better(measure: str) -> bool:
    """Whether a column is named after a loss or a distance."""
    metric = metric_of(measure)
    return metric is not None and metric.better == "lower"


def lazy(values: Source) -> pl.LazyFrame:
    """A lazy frame of what was given: a frame, or a file."""
    if isinstance(values, str | Path):
        return scan(values, kind="run")
    if not isinstance(values, pl.DataFrame | pl.LazyFrame):
        msg = (
            "values are a Polars frame or the path of a file, with a row per system "
            f"and query, not {type(values).__name__}"
        )
        raise TypeError(msg)
    return values.lazy()


def read(values: Source, columns: Columns, pairs: Pairing = "same") -> Values:
    """Read, check and align the values of all systems."""
    frame, measures = _selected(values, columns)
    return _values(frame.collect(engine="streaming"), measures, columns, pairs)


def read_parts(values: Source, columns: Columns) -> Iterator[Values]:
    """Read lazy frames and files in parts of whole queries and clusters, in one pass.

    Rows of up to ``WHOLE`` bytes are one part; more of them go through temporary files.
    """
    if isinstance(values, pl.DataFrame) or columns.seed is not None:
        yield read(values, columns)
        return
    frame, measures = _selected(values, columns)
    batches = in_batches(frame)
    held, size = [pl.DataFrame(schema=frame.collect_schema())], 0
    for batch in batches:
        held.append(batch)
        size += int(batch.estimated_size())
        if size > WHOLE:
            break
    else:
        yield _values(pl.concat(held), measures, columns, "same")
        return
    schema = frame.collect_schema()
    keys = [f"key{i}" for i in range(len(columns.keys))]
    systems: dict[str, None] = {}  # in the order in which they come

    def seen(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in chain(_released(held), batches):
            found = batch["system"].drop_nulls().unique(maintain_order=True)
            systems.update(dict.fromkeys(found))
            yield batch.select(wanted)

    rows = lazy_source(seen, schema, name="values of systems")
    with private_folder(Path(tempfile.gettempdir()).absolute()) as folder:
        whole = keys if columns.cluster is None else ["cluster"]
        for bucket in _buckets(rows, whole, folder):
            part = bucket.frames([schema])[0].collect(engine="streaming")
            bucket.remove()
            try:
                aligned = _values(part, measures, columns, "same", list(systems))
            except DataError as error:
                msg = f"{error} (This counts a part of the queries: the rows are many.)"
                raise DataError(
                    msg, rule=error.rule, count=error.count, examples=error.examples
                ) from None
            yield aligned


def _released(held: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    while held:
        yield held.pop(0)


def _buckets(
    rows: pl.LazyFrame, keys: Sequence[str], folder: Path, level: int = 0
) -> Iterator[Bucket]:
    """Rows by the hash of their keys; what is still too large is split again."""
    for files in fill(
        rows,
        keys,
        folder / str(level),
        buckets=BUCKETS,
        level=level,
        rows_per_group=ROWS_PER_GROUP,
    ):
        bucket = Bucket((files,))
        if sum(file.stat().st_size for file in files) > WHOLE and level < DEEPEST:
            part = bucket.frames([rows.collect_schema()])[0]
            yield from _buckets(part, keys, folder / str(level), level + 1)
            bucket.remove()
        elif files:
            yield bucket


def _selected(values: Source, columns: Columns) -> tuple[pl.LazyFrame, list[str]]:
    """The columns under names of their own, and the names of the measures."""
    frame = lazy(values)
    schema = frame.collect_schema()
    if columns.measures is None:
        require_values(schema, "values")
    roles = {
        "system": [columns.system],
        "query": columns.keys,
        "by": columns.segments,
        "weight": names_of(columns.weight),
        "cluster": names_of(columns.cluster),
        "seed": names_of(columns.seed),
    }
    for argument, names in roles.items():
        require_columns(names, schema, where="the values", argument=argument)
    measures = _measures(
        columns, schema, {n for names in roles.values() for n in names}
    )
    own = frame.select(
        pl.col(columns.system).cast(pl.String).alias("system"),
        *(pl.col(name).alias(f"key{i}") for i, name in enumerate(columns.keys)),
        *(pl.col(name).alias(f"by{i}") for i, name in enumerate(columns.segments)),
        *(
            pl.col(name).alias(role)
            for role in ("weight", "cluster", "seed")
            for name in roles[role]
        ),
        *(pl.col(n).cast(pl.Float64).alias(f"v{k}") for k, n in enumerate(measures)),
    )
    return own, measures


def _values(
    held: pl.DataFrame,
    measures: list[str],
    columns: Columns,
    pairs: Pairing,
    systems: list[str] | None = None,
) -> Values:
    """Check rows and align the systems."""
    _require_numbers(held, columns, measures)
    parts = _by_system(held)
    if systems is not None:
        nothing = held.drop("system").clear()
        parts = {name: parts.get(name, nothing) for name in systems}
    systems = list(parts)
    if len(systems) < 2:
        only = f"one system, {systems[0]!r}" if systems else "no rows"
        msg = (
            f"nothing to compare: the values hold {only}; concatenate the values of "
            f"several, told apart by the column {columns.system!r}"
        )
        raise ValueError(msg)
    keys = [f"key{i}" for i in range(len(columns.keys))]
    seeds = None
    if columns.seed is not None:
        seeds = held
        parts = _by_system(_mean_over_seeds(held, keys, columns))
    wide, notes = _aligned(parts, keys, len(measures), columns, pairs)
    apart = None
    if seeds is not None:
        keyed, runs = [*keys, "seed"], _by_system(seeds)
        apart, _ = _aligned(runs, keyed, len(measures), columns, "common")
    paired = pairs != "independent"
    return Values(wide, systems, measures, columns, notes, apart, paired)


def require_values(schema: pl.Schema, which: str) -> None:
    """Refuse rows of documents, whose scores would be taken for a measure."""
    if "doc_id" in schema and "score" in schema:
        msg = (
            f"the {which} should have a row per query, but 'doc_id' and 'score' tell "
            "of documents; evaluate these first, e.g. with "
            "log.rank_eval.per_query(['ndcg@10'], query=['system', 'query_id']), or "
            "compare them at once with log.rank_eval.compare(['ndcg@10'])"
        )
        raise ValueError(msg)


def _measures(columns: Columns, schema: pl.Schema, taken: set[str]) -> list[str]:
    if columns.measures is None:
        names = [n for n, t in schema.items() if t.is_float() and n not in taken]
        if not names:
            msg = "the values have no Float column to compare; name some with measures="
            raise ValueError(msg)
    else:
        names = names_of(columns.measures)
        if not names:
            msg = "no measure to compare: name at least one with measures="
            raise ValueError(msg)
        require_columns(names, schema, where="the values", argument="measures")
    for name in names:
        if not (schema[name].is_numeric() or schema[name] == pl.Boolean):
            msg = f"the measure {name!r} must be numeric, not {schema[name]}"
            raise TypeError(msg)
        metric = metric_of(name)
        if metric is not None and metric.aggregate == "sum":
            msg = (
                f"{name!r} is a count that is summed over queries, no mean to compare; "
                "choose others with measures="
            )
            raise ValueError(msg)
    return names


def _require_numbers(
    held: pl.DataFrame, columns: Columns, measures: Sequence[str]
) -> None:
    for name, said in (("system", columns.system), *_keys(columns)):
        if nulls := held[name].null_count():
            _fail(
                "null_key", f"{nulls} rows have no {said!r}; fill or drop them", nulls
            )
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
    if columns.weight is not None:
        weight = pl.col("weight").cast(pl.Float64)
        wrong = held.filter(~(weight.is_finite() & (weight > 0)).fill_null(False))
        if len(wrong):
            msg = (
                f"weights must be above 0: {columns.weight!r} is not in {len(wrong)} "
                f"rows, e.g. of the {_listed(wrong, columns)}"
            )
            _fail("invalid_weight", msg, len(wrong))
    if columns.cluster is not None and (nulls := held["cluster"].null_count()):
        _fail("null_cluster", f"{nulls} rows have no {columns.cluster!r}", nulls)


def _mean_over_seeds(
    held: pl.DataFrame, keys: list[str], columns: Columns
) -> pl.DataFrame:
    _require_unique(held, [*keys, "seed"], columns)
    values = [c for c in held.columns if c[0] == "v"]
    others = [c for c in held.columns if c not in {"system", "seed", *keys, *values}]
    means = held.group_by("system", *keys, maintain_order=True).agg(
        pl.col(others).first(),
        pl.when(pl.col(values).null_count() == 0).then(pl.col(values).mean()),
        runs=pl.len(),
    )
    uneven = means.filter(pl.col("runs") != pl.col("runs").max().over("system"))
    if len(uneven):
        msg = (
            f"{len(uneven)} times a system has fewer seeds for a query than for "
            f"others, e.g. {_listed(uneven, columns)}; every query needs every seed"
        )
        _fail("missing_seed", msg, len(uneven))
    return means.drop("runs")


def _by_system(held: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each system: slices if they are contiguous, in blocks of one size."""
    name = held["system"]
    size = len(held)
    if size:
        size = (name != name[0]).arg_max() or size  # rows before the second system
    firsts = name.gather_every(size) if size else name
    if size and len(held) % size == 0 and firsts.is_unique().all():
        parts = {s: held.slice(i * size, size) for i, s in enumerate(firsts)}
        if all((part["system"] == s).all() for s, part in parts.items()):
            return {s: part.drop("system") for s, part in parts.items()}
    groups = held.partition_by("system", as_dict=True, maintain_order=True)
    return {name: part.drop("system") for (name,), part in groups.items()}


def _aligned(
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
    others = [c for c in first.columns if c not in {"seed", *keys, *values}]
    notes: list[str] = []
    same = _same_queries(parts, keys)
    if not same:
        parts = {name: part.sort(keys) for name, part in parts.items()}
        same = _same_queries(parts, keys)
    queries = parts[systems[0]].select(keys)
    different = [queries] if same else [p.select(keys) for p in parts.values()]
    if any(table.is_duplicated().any() for table in different):
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
        "query counts 0, or compare the others with pairs='common'."
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
            f"{len(uneven)} queries have a value of some systems only, null for "
            f"others, e.g. the {_listed(uneven, columns)}. The same judgments cannot "
            "give that; leave these queries out with pairs='common'."
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
                f"e.g. the {_listed(queries.filter(wrong), columns)}; a query has one"
            )
            _fail("varying_segment", msg, int(wrong.sum()))
    return first


def _require_unique(held: pl.DataFrame, keys: list[str], columns: Columns) -> None:
    copies = held.select("system", *keys).is_duplicated()
    if copies.any():
        wrong = held.filter(copies).unique(["system", *keys], maintain_order=True)
        among = "" if "seed" in keys else "; several runs of a system need seed="
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
    return "queries " + ", ".join(map(repr, _rows(frame)))


def _fail(rule: str, message: str, count: int) -> None:
    raise DataError(message, rule=rule, count=count)
