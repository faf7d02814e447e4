"""The cube of slices: exact sums of every combination of features, by half.

A cell has the number of its queries, the sum of their values and that of their squares,
so that cells add up to slices, days to weeks, and what is left of a whole without a
slice is a difference of sums: the same bits in any order, from any split into parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from polars_rank._engine.schema import require_columns
from polars_rank.comparison.input.procedures import names_of
from polars_rank.comparison.input.values import Source, lazy
from polars_rank.core.exact.aggregate import RatioMoments, exact_total
from polars_rank.core.exact.stable_hash import key_text, stable_hash
from polars_rank.core.exact.state import (
    DEFINITION,
    DIGESTS,
    PLACE,
    State,
    Type,
    damaged,
    defined,
    digest,
    hashed,
)
from polars_rank.core.parameters import is_number, is_whole
from polars_rank.exceptions import DataError

HALF, SEARCH, CHECK = "half", "search", "check"  # the half that is searched, or tests
SUMS = RatioMoments()
STATE = (*SUMS.state(pl.lit(0.0)),)
TYPES: dict[str, Type] = {
    "measure": "text",
    HALF: "text",
    **dict.fromkeys(STATE, "number"),
}
CONTENT = "polars_rank.content"  # a number of the rows that were summed
NEAR = 1e-9  # of a sum: beyond any rounding


@dataclass(frozen=True)
class Asked:
    """What a cube is made of: values of queries, and the features of these.

    ``edges`` are those that are given; ``n_bins`` those of other numbers.
    """

    values: pl.LazyFrame
    features: list[str]
    of: str
    keys: list[str]
    n_bins: int
    edges: Mapping[str, list[float]]

    @classmethod
    def of_rows(
        cls,
        values: Source,
        features: str | Sequence[str],
        of: str,
        query: str | Sequence[str],
        n_bins: int,
        edges: Mapping[str, Sequence[float]] | None,
    ) -> Asked:
        """Check the arguments; queries without a value are left out."""
        names, keys = names_of(features), names_of(query)
        if not (is_whole(n_bins) and n_bins >= 2):
            msg = f"n_bins must be a whole number, at least 2, not {n_bins!r}"
            raise ValueError(msg)
        if not names or len({*names}) < len(names):
            msg = "features must name one or more columns, each once"
            raise ValueError(msg)
        frame = lazy(values)
        schema = frame.collect_schema()
        for columns, argument in ((names, "features"), ([of], "of"), (keys, "query")):
            require_columns(columns, schema, where="the values", argument=argument)
        given = {name: _edges(name, cut) for name, cut in (edges or {}).items()}
        for name in given:
            if name not in names or not schema[name].is_numeric():
                msg = f"edges= cuts numbers among the features, and {name!r} is none"
                raise ValueError(msg)
        known = frame.filter(pl.col(of).is_not_null())
        return cls(known, names, of, keys, n_bins, given)

    def cube(self) -> Cube:
        """Sum the values of each combination of features, in one more pass."""
        edges = self._checked_edges()
        schema = self.values.collect_schema()
        texts = {
            name: _text(name, edges.get(name)).fill_null("null")
            for name in self.features
        }
        number = stable_hash([key_text(key, schema[key]) for key in self.keys])
        half = pl.when(number % 2 == 0).then(pl.lit(SEARCH)).otherwise(pl.lit(CHECK))
        own, content = _own(self.features), [*self.keys, *self.features, self.of]
        cells = (
            self.values.select(
                half.alias(HALF),
                pl.col(self.of).cast(pl.Float64).alias("value"),
                hashed([*dict.fromkeys(content)]).alias(CONTENT),
                **{f: texts[name] for f, name in own.items()},
            )
            .group_by(HALF, *own)
            .agg(**SUMS.state(pl.col("value")), content=pl.col(CONTENT).sum())
            .with_columns(pl.col("n").cast(pl.Int64))
            .sort(HALF, *own)
            .collect(engine="streaming")
        )
        if not (cells["x_plain"].is_finite() & cells["xx_plain"].is_finite()).all():
            msg = (
                f"{self.of!r} is NaN or infinite in some rows; an undefined value is "
                "null"
            )
            raise DataError(msg, rule="nan_value", count=None)
        about = {
            name: {"type": _kind(schema[name]), "edges": edges.get(name)}
            for name in self.features
        }
        choices = {"of": self.of, "query": self.keys, "features": about}
        return Cube(cells, self.features, defined("slices", choices))

    def _checked_edges(self) -> dict[str, list[float]]:
        """Return where numbers are cut; refuse queries with several rows, or no id."""
        schema = self.values.collect_schema()
        cuts = [i / self.n_bins for i in range(1, self.n_bins)]
        open_ones = [n for n in self.features if n not in self.edges]
        numbers = [name for name in open_ones if schema[name].is_numeric()]
        key = pl.struct(self.keys) if len(self.keys) > 1 else pl.col(self.keys[0])
        row = (
            self.values.select(
                pl.len().alias("rows"),
                key.n_unique().alias("different"),
                pl.any_horizontal(pl.col(self.keys).is_null()).sum().alias("unnamed"),
                *(pl.col(n).n_unique().alias(f"{n} n") for n in numbers),
                *(
                    pl.col(n).cast(pl.Float64).quantile(cut).alias(f"{n} {i}")
                    for n in numbers
                    for i, cut in enumerate(cuts)
                ),
            )
            .collect(engine="streaming")
            .row(0, named=True)
        )
        if unnamed := int(row["unnamed"] or 0):
            named = " or ".join(map(repr, self.keys))
            msg = f"{named} is null in some rows; name every query"
            raise DataError(msg, rule="null_query", count=unnamed)
        if row["rows"] > row["different"]:
            self._refuse_several_rows(row["rows"], row["different"])
        found = dict(self.edges)
        for name in numbers:
            if row[f"{name} n"] > self.n_bins:
                ends = (row[f"{name} {i}"] for i in range(len(cuts)))
                found[name] = sorted({float(f"{e:.4g}") for e in ends if e is not None})
        return found

    def _refuse_several_rows(self, rows: int, different: int) -> None:
        """They would count as so many observations."""
        again = self.values.group_by(self.keys).len().filter(pl.col("len") > 1)
        first = again.sort(self.keys).head(1).collect(engine="streaming")
        example = first.row(0)[:-1]
        msg = (
            f"{rows} values are of {different} queries, e.g. several of query "
            f"{', '.join(map(repr, example))}; give one row per query: filter the "
            "system and the measure, or name all columns of a query with query="
        )
        raise DataError(msg, rule="several_rows_per_query", examples=[example])


@dataclass(frozen=True)
class Cube:
    """Cells with the columns ``f0`` ..., for each feature, and the sums of values."""

    cells: pl.DataFrame
    features: list[str]
    definition: str

    def state(self, of: str, part: str | None) -> pl.DataFrame:
        """Return a frame to keep, with the names of the features."""
        total = self.cells["content"].sum() if len(self.cells) else 0
        table = self.cells.with_columns(pl.lit(total, pl.UInt64).alias(CONTENT))
        own = (pl.col(f).alias(name) for f, name in _own(self.features).items())
        return table.with_columns(digest([], CONTENT, part)).select(
            *own,
            pl.lit(of, pl.String).alias("measure"),
            HALF,
            *STATE,
            pl.lit(self.definition, pl.String).alias(DEFINITION),
            DIGESTS,
        )

    @classmethod
    def of_states(cls, whole: pl.DataFrame) -> Cube:
        """Add up the cells of all parts."""
        features = features_of(whole.columns)
        names = {name: f for f, name in _own(features).items()}
        cells = whole.rename(names).group_by(HALF, *names.values()).agg(**added())
        definition = whole[DEFINITION][0] if len(whole) else ""
        return cls(cells.sort(HALF, *names.values()), features, definition)

    def in_one(self) -> Cube:
        """Let all queries be searched, and test as well."""
        own = [*_own(self.features)]
        cells = self.cells.group_by(own).agg(**added()).sort(own)
        whole = cells.with_columns(pl.lit(SEARCH, pl.String).alias(HALF))
        return Cube(whole, self.features, self.definition)

    @property
    def named(self) -> dict[str, pl.Expr]:
        """The text of each feature in the name of a slice."""
        return {
            f: pl.format("{}={}", pl.lit(name), pl.col(f))
            for f, name in _own(self.features).items()
        }


def added() -> dict[str, pl.Expr]:
    """Add up cells."""
    return {name: SUMS.merge(name, pl.col(name)) for name in STATE}


def features_of(columns: Iterable[str]) -> list[str]:
    """Name the columns of a state that are features."""
    return [name for name in columns if name not in {*TYPES, DEFINITION, DIGESTS}]


def require_free(features: Sequence[str]) -> None:
    """Refuse features with the name of a column of a state."""
    taken = {*TYPES, DEFINITION, DIGESTS}
    if odd := [name for name in features if name in taken]:
        msg = f"a state has a column {odd[0]!r}; rename the feature"
        raise ValueError(msg)


def require_possible(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse cells that no values make."""
    n, high = pl.col("n").cast(pl.Float64), pl.col("x_high").cast(pl.Float64)
    totals: Mapping[str, pl.Expr] = {name: pl.col(name) for name in STATE}
    x, xx = (exact_total(name, totals) for name in ("x", "xx"))
    near, nearer = NEAR * (n * high + 1.0), NEAR * (n * high * high + 1.0)
    texts = [*features_of(name for name in whole.columns if name != PLACE), HALF]
    right = {
        "a value is null": ~pl.any_horizontal(pl.col(*texts, *STATE).is_null()),
        "the half is none of search and check": pl.col(HALF).is_in([SEARCH, CHECK]),
        "a number of queries is below 1": n >= 1.0,
        "a sum is none that its queries can have": (
            ((x - pl.col("x_plain")).abs() <= near)
            & ((xx - pl.col("xx_plain")).abs() <= nearer)
            & (x.abs() <= n * high + near)
            & (xx <= n * high * high + nearer)
            & (xx * n >= x * x - n * nearer)
        ),
    }
    for fault, kept in right.items():
        wrong = whole.filter(~kept.fill_null(value=False))
        for place, measure in wrong.select(PLACE, "measure").rows():
            of = f"in the sums of {measure!r} {fault}"
            raise damaged(states[place].name, f"{of}; make them anew")


def _own(features: Sequence[str]) -> dict[str, str]:
    return {f"f{i}": name for i, name in enumerate(features)}


def _edges(name: str, given: Any) -> list[float]:
    """Return the edges of a number, in order."""
    cut = [*given] if isinstance(given, Sequence) and not isinstance(given, str) else []
    if not cut or not all(map(is_number, cut)):
        msg = f"edges of {name!r} must be one or more numbers, not {given!r}"
        raise ValueError(msg)
    return sorted({*map(float, cut)})


def _kind(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Null):
        return "text"
    if dtype.is_integer():
        return "integer"
    return "float" if dtype.is_numeric() else str(dtype)


def _text(name: str, edges: Sequence[float] | None) -> pl.Expr:
    """Return the value of a feature as text: of a number that is cut, its interval."""
    column = pl.col(name)
    if not edges:
        return column.cast(pl.String)
    ends = ["-inf", *map(_short, edges), "inf"]
    shown = [f"({low}, {high}]" for low, high in pairwise(ends)]
    shown[-1] = f"({ends[-2]}, inf)"
    place = pl.sum_horizontal((column > edge).cast(pl.Int64) for edge in edges)
    found = place.replace_strict([*range(len(shown))], shown, return_dtype=pl.String)
    return pl.when(column.is_not_null()).then(found)


def _short(edge: float) -> str:
    text = f"{edge:g}"
    return text if float(text) == edge else repr(edge)
