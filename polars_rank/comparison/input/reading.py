"""Values of several systems per query, read: whole, or in parts of whole queries."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import polars as pl

from polars_rank._engine.layout import in_batches
from polars_rank._engine.schema import require_columns
from polars_rank._engine.spill.buckets import Bucket, fill
from polars_rank._files.temporary import private_folder
from polars_rank.comparison.input.alignment import Alignment, require_finite_rows
from polars_rank.comparison.input.procedures import Pairing, measures_of, names_of
from polars_rank.comparison.input.values import Columns, Source, Values, lazy, metric_of
from polars_rank.core.source import lazy_source
from polars_rank.exceptions import DataError
from polars_rank.io.unreadable import damage_named

WHOLE = 1 << 29  # bytes of rows that are held in memory, rather than in parts
BUCKETS, ROWS_PER_GROUP = 16, 16_384
# Columns of results, and of the sums and steps on the way: no segment may be one.
RESULTS = {
    "measure", "system", "other", "baseline", "queries", "n", "x", "d", "dd", "ed",
    "ee", "squares", "wins", "ties", "losses", "baseline_mean", "system_mean", "mean",
    "difference", "relative", "variance", "sd", "error", "se", "lower", "upper",
    "ss_system", "ss_query", "ss_error", "ss_total", "ss_within", "residual", "place",
    "pairs", "row", "df_system", "df_residual", "probability", "statistic", "df",
    "p_value", "p_value_lower", "p_value_upper", "p_adjusted", "significant",
    "better", "middle", "effect", "effect_lower", "effect_upper", "detectable", "note",
    "rank", "definition", "digests", "size", "rounding", "logarithmic", "above",
    "below", "d_z", "f", "df_error", "omega_squared", "partial_eta_squared", "critical",
    "square_of_system", "square_of_other", "all_0_or_1",
    *(
        f"{name}_{of}"
        for name in ("mean", "sd", "error", "df", "queries")
        for of in ("base", "own")
    ),
}  # fmt: skip
DEEPEST = 4  # level of buckets: beyond, they are single queries or clusters


def read(
    values: Source,
    columns: Columns,
    pairs: Pairing = "same",
    *,
    summed: bool = False,
    fewest: int = 2,
) -> Values:
    """Read, check and align the values of all systems.

    Of values that will be ``summed`` it is the sums that tell whether all are finite:
    see :func:`require_finite`.
    """
    frame, measures = _selected(values, columns)
    with damage_named([frame]):
        held = frame.collect(engine="streaming")
    if not summed or pairs != "same" or columns.repeat is not None:
        require_finite_rows(held, measures)
    return Alignment(columns, measures, pairs, fewest).of(held)


def read_parts(
    values: Source, columns: Columns, *, fewest: int = 2
) -> Iterator[Values]:
    """Read lazy frames and files in parts of whole queries and clusters, in one pass.

    Rows of up to ``WHOLE`` bytes are one part; more of them go through temporary files.
    Whether all values are finite is left to the sums: see :func:`require_finite`.
    """
    if isinstance(values, pl.DataFrame) or columns.repeat is not None:
        yield read(values, columns, summed=True, fewest=fewest)
        return
    frame, measures = _selected(values, columns)
    alignment = Alignment(columns, measures, fewest=fewest)
    batches, schema = _batches(frame), frame.collect_schema()
    held, size = [pl.DataFrame(schema=schema)], 0
    for batch in batches:
        held.append(batch)
        size += int(batch.estimated_size())
        if size > WHOLE:
            break
    else:
        yield alignment.of(pl.concat(held))
        return
    systems: dict[str, None] = {}  # in the order in which they come

    def seen(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in chain(_released(held), batches):
            found = batch["system"].drop_nulls().unique(maintain_order=True)
            systems.update(dict.fromkeys(found))
            yield batch.select(wanted)

    rows = lazy_source(seen, schema, name="values of systems")
    with private_folder(Path(tempfile.gettempdir()).absolute()) as folder:
        whole = columns.own_keys if columns.cluster is None else ["cluster"]
        for bucket in _buckets(rows, whole, folder):
            part = bucket.frames([schema])[0].collect(engine="streaming")
            bucket.remove()
            try:
                made = alignment.of(part, list(systems))
            except DataError as error:
                msg = f"{error} (This counts a part of the queries: the rows are many.)"
                raise DataError(
                    msg, rule=error.rule, count=error.count, examples=error.examples
                ) from None
            yield made


def _batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    with damage_named([frame]):
        yield from in_batches(frame)


def _released(held: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    while held:
        yield held.pop(0)


def _buckets(
    rows: pl.LazyFrame, keys: Sequence[str], folder: Path, level: int = 0
) -> Iterator[Bucket]:
    """Split rows by the hash of their keys, and again what is still too large."""
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
    """Select columns under names of their own; name the measures, too."""
    frame = lazy(values)
    schema = frame.collect_schema()
    if columns.measures is None:
        require_values(schema, "values")
    roles = {
        "system": [columns.system],
        "query": columns.keys,
        "by": columns.segments,
        **{role: names_of(name) for role, name in columns.roles.items()},
    }
    for argument, names in roles.items():
        require_columns(names, schema, where="the values", argument=argument)
    if clash := next((name for name in columns.segments if name in RESULTS), None):
        msg = (
            f"by= names the column {clash!r}, and a column of the result is called so, "
            f"too; rename it, e.g. values.rename({{{clash!r}: 'by_{clash}'}})"
        )
        raise ValueError(msg)
    taken = {name for names in roles.values() for name in names}
    measures = _measures(columns, schema, taken)
    own = {
        **dict(zip(columns.own_keys, columns.keys, strict=True)),
        **{f"by{i}": name for i, name in enumerate(columns.segments)},
        **{role: name for role, name in columns.roles.items() if name is not None},
    }
    return frame.select(
        pl.col(columns.system).cast(pl.String).alias("system"),
        *(pl.col(name).alias(new) for new, name in own.items()),
        *(pl.col(n).cast(pl.Float64).alias(f"v{k}") for k, n in enumerate(measures)),
    ), measures


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
        names = measures_of(columns.measures, schema)
        if not names:
            msg = "no measure to compare: name at least one with measures="
            raise ValueError(msg)
        if not {*names} <= {*schema}:
            require_values(schema, "values")
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
