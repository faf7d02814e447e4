"""Check that baseline and new values are comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_rank.comparison.input.procedures import Columns, measures_of
from polars_rank.comparison.input.reading import require_values
from polars_rank.comparison.input.values import Source, lazy, lower_is_better
from polars_rank.comparison.sums.definition import Definition
from polars_rank.exceptions import DataError
from polars_rank.io.same_columns import concatenated

BASE, NEW = "base", "new"
WHICH = {BASE: "baseline", NEW: "new values"}
GONE = 0.9  # share of queries that lost everything, or of documents that are in no
# list any more: no change of a ranking does that
ENOUGH = 10  # queries or documents, to tell


def require_same_definition(
    base: Definition | None,
    new: Definition | None,
    measures: str | Sequence[str] | None,
) -> None:
    """Refuse values that were computed by other definitions or judgments."""
    if base is None or new is None:
        return
    mine, others = base.by_measure(), new.by_measure()
    for name in measures_of(measures, mine) or mine:
        if name in mine and name in others and mine[name] != others[name]:
            _refuse(
                f"{name!r} is another measure in the baseline ({mine[name]}) than now "
                f"({others[name]}); compute the baseline anew"
            )
    if base.judgments and new.judgments and base.judgments != new.judgments:
        _refuse(
            f"the baseline was computed with other judgments ({base.judgments}, now "
            f"{new.judgments}); compute it anew"
        )


def joined(
    baseline: Source, values: Source, columns: Columns
) -> tuple[pl.DataFrame, list[str]]:
    """Join baseline and new values, told apart by the system, and name the measures."""
    frames = {BASE: lazy(baseline), NEW: lazy(values)}
    schemas = {name: frame.collect_schema() for name, frame in frames.items()}
    keys, roles = columns.keys, columns.about
    names = measures_of(columns.measures, schemas[BASE]) or [
        n for n, t in schemas[BASE].items() if t.is_float() and n not in {*roles, *keys}
    ]
    _require_columns(schemas, columns, names)
    parts = {
        f"the {WHICH[name]}": frame.select(
            pl.lit(name).alias(columns.system),
            *keys,
            *(r for r in roles if r in schemas[name] and r not in keys),
            *(pl.col(m).cast(pl.Float64) for m in names),
        )
        for name, frame in frames.items()
    }
    frame = concatenated(parts, "diagonal_relaxed").collect(engine="streaming")
    _require_one_system(frame, columns, schemas)
    return frame, names


def _require_columns(
    schemas: Mapping[str, pl.Schema], columns: Columns, names: Sequence[str]
) -> None:
    """Require the columns of both sides that the arguments name."""
    for column in columns.about:
        if not any(column in schema for schema in schemas.values()):
            msg = f"no column {column!r} in the values, nor in the baseline"
            raise ValueError(msg)
    for name, schema in schemas.items():
        which = "values of the baseline" if name == BASE else WHICH[name]
        if columns.measures is None:
            require_values(schema, which)
        if lacking := [m for m in [*names, *columns.keys] if m not in schema]:
            _refuse(f"the {which} have no column {', '.join(map(repr, lacking))}")
    if not names:
        _refuse("the baseline has no measure (a column of type Float)")


def _require_one_system(
    frame: pl.DataFrame, columns: Columns, schemas: Mapping[str, pl.Schema]
) -> None:
    """Require a row per query on each side."""
    ids = [columns.system, *columns.keys]
    twice = frame.filter(pl.struct(ids).is_duplicated()).head(1)
    for name, *query in twice.select(ids).iter_rows():
        which = "baseline has" if name == BASE else "new values have"
        way = "keep the rows of one system"
        if "system" in schemas[name]:
            way += ", such as values.filter(pl.col('system') == 'b')"
        shown = query[0] if len(query) == 1 else tuple(query)
        _refuse(f"the {which} several rows for query {shown!r}: {way}")


def attributed(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Fill in segment, weight and cluster of a query that one of both files lacks."""
    keys = columns.keys
    return frame.with_columns(
        pl.coalesce(r, pl.col(r).drop_nulls().first().over(keys)).alias(r)
        for r in columns.about
        if r not in keys
    )


def require_known_values(deltas: pl.DataFrame) -> None:
    """Refuse a measure of which no query has a value: nothing tells how it is."""
    known = pl.col("difference").is_not_null().any()
    for measure, some in deltas.group_by("measure").agg(known).iter_rows():
        if not some:
            _refuse(
                f"no query has a value of {measure!r}: name the measures to gate, "
                "without it"
            )


def require_ids_that_match(deltas: pl.DataFrame) -> None:
    """Refuse values if too many fell to 0: the ids have changed, not the ranking.

    Of losses, 0 is the best.
    """
    had = pl.col("baseline_value") > 0
    lost = had & (pl.col("value") == 0)
    counts = deltas.group_by("measure").agg(had=had.sum(), lost=lost.sum())
    told = [row for row in counts.iter_rows() if not lower_is_better(row[0])]
    if not told or min(had for _, had, _ in told) < ENOUGH:
        return
    least = min(lost / had for _, had, lost in told)
    if least >= GONE:
        _refuse(
            f"in {100 * least:.0f} % of the queries nothing relevant is found any "
            "more: were documents or ids replaced? Then the judgments no longer fit"
        )


def require_known_documents(count: int, gone: int) -> None:
    """Refuse lists that share next to no document with those of the baseline."""
    if count >= ENOUGH and gone >= GONE * count:
        _refuse(
            f"{gone} of {count} documents of the baseline are in no list now: "
            "were documents or ids replaced? Then the judgments no longer fit"
        )


def _refuse(message: str) -> None:
    raise DataError(message, rule="different_definition", count=1)
