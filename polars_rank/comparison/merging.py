"""Moments of parts, such as days, added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank.comparison.arguments import require_names
from polars_rank.comparison.definition import Definition, write_defined
from polars_rank.comparison.moments import KEYS, ORDER, WON, added, is_moments
from polars_rank.comparison.values import Source, lazy
from polars_rank.core.expr import ratio
from polars_rank.exceptions import DataError
from polars_rank.io.scan import scan_each
from polars_rank.io.unreadable import files_of

AT_ONCE = 16  # parts whose rows are held

__all__ = ["definition_of_parts", "merge", "segments_of", "selected"]


def merge(
    parts: Source | Iterable[Source],
    *,
    unit: str = "row",
    path: str | Path | None = None,
) -> pl.DataFrame:
    """Add up moments of parts, such as days.

    Parameters
    ----------
    parts
        Results of :func:`moments`, or files (globs, too) that hold them.
    unit
        Independent observation: ``"row"``: the queries or clusters of each part are new
        ones; ``"part"``: a part as a whole is one observation, since the same queries
        come back every day. That needs about ten parts or more. Or the name of a
        segment, such as ``"query_id"`` of moments by query: all rows of a query are
        one observation, on whatever days they come (CR1).
    path
        Parquet file to write as well. Its metadata are those of the parts, if these are
        files that have some, with the judgments of all of them.

    Returns
    -------
    A frame like those of :func:`moments`. Systems, pairs and segments that are missing
    from a part have the sums of the others; the order of the systems may differ.

    Raises
    ------
    ValueError
        If there is nothing to merge, or something other than moments.
    DataError
        If parts differ in a measure's definition, or in their columns.

    Notes
    -----
    Parts can be merged in any order and in steps: days to weeks, weeks to years. With
    any ``unit`` other than ``"row"``, merge only once, and last: the result is a single
    part. Moments by query are a state that does not grow with the days: it has a row
    per query where ``compare(cluster="query_id")`` would need all values of all days.

    Source: Chan, Golub and LeVeque, 1979, for ratios.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> def day(*values):
    ...     return pr.moments(
    ...         pl.DataFrame(
    ...             {"system": ["a", "b"], "query_id": [1, 1], "rr": values}
    ...         )
    ...     )
    >>> week = pr.merge([day(0.5, 1.0), day(0.25, 0.5), day(1.0, 1.0)])
    >>> week.filter(system="a", other="b").select("queries", "win", "tie").row(0)
    (3, 2, 1)
    """
    single = isinstance(parts, str | Path | pl.DataFrame | pl.LazyFrame)
    given: list[Any] = [parts] if single else list(parts)  # type: ignore[arg-type]
    if not given:
        msg = "nothing to merge: name at least one part"
        raise ValueError(msg)
    frames = [frame for part in given for frame in _opened(part)]
    names = frames[0].collect_schema().names()
    for frame in frames:
        found = frame.collect_schema().names()
        if not is_moments(found):
            msg = "only moments can be merged; make them with pr.moments(values)"
            raise ValueError(msg)
        if sorted(found) != sorted(names):
            odd = ", ".join(sorted({*found} ^ {*names}))
            msg = f"the parts have different columns: {odd}; all need the same segments"
            raise DataError(msg, rule="different_columns", count=1)
    if unit not in (known := ["row", "part", *segments_of(names)]):
        msg = (
            f"unit must be one of {', '.join(known)}, not {unit!r}; segments are "
            "chosen when moments are made"
        )
        raise ValueError(msg)
    segments = segments_of(names)
    whole = _collected([f.select(names) for f in frames], segments, unit)
    table = _summed(whole, segments, unit)
    if path is not None:
        write_defined(table, path, definition_of_parts(frames))
    return table


def _opened(part: Source) -> list[pl.LazyFrame]:
    """The frame, or one for each file."""
    return scan_each(part) if isinstance(part, str | Path) else [lazy(part)]


def _collected(
    frames: Sequence[pl.LazyFrame], segments: Sequence[str], unit: str
) -> pl.DataFrame:
    """The rows of all parts; those of a unit are added up, some parts at a time.

    They are as many in every part, and would be held once for each day of a year.
    """
    if unit not in segments:
        return pl.concat(frames, how="vertical_relaxed").collect()
    state: list[pl.LazyFrame] = []
    for start in range(0, len(frames), AT_ONCE):
        some = [*state, *frames[start : start + AT_ONCE]]
        rows = pl.concat(some, how="vertical_relaxed").collect()
        state = [_summed(rows, segments).lazy()]
    return state[0].collect()


def definition_of_parts(frames: Iterable[pl.LazyFrame]) -> Definition | None:
    """What the files that frames read say about themselves."""
    try:
        files = [file for frame in frames for file in files_of(frame)]
    except ValueError:  # a frame in memory
        return None
    return Definition.of_parts([Definition.read(file) for file in files])


def segments_of(columns: Iterable[str]) -> list[str]:
    """The columns of moments that tell segments apart."""
    return [n for n in columns if n not in {*KEYS, *ORDER, "definition"}]


def selected(
    values: Source, by: Sequence[str], measures: Sequence[str] = ()
) -> pl.DataFrame:
    """Moments of these measures (default: all), added up over parts.

    Segments are added up, too, except those that ``by`` tells apart.
    """
    whole = lazy(values).collect()
    if odd := [name for name in by if name not in segments_of(whole.columns)]:
        msg = f"no segments by {odd[0]!r}: by= is chosen when moments are made"
        raise ValueError(msg)
    if measures:
        known = whole["measure"].unique(maintain_order=True).to_list()
        require_names(measures, known, "measure")
        whole = whole.filter(pl.col("measure").is_in(measures))
    return _summed(whole, by)


def _require_one_definition(whole: pl.DataFrame) -> None:
    """Refuse sums of a measure that was computed in two ways."""
    found = whole.group_by("measure").agg(pl.col("definition").unique().sort())
    mixed = found.filter(pl.col("definition").list.len() > 1).sort("measure")
    if len(mixed):
        measure, definitions = mixed.row(0)
        shown = " and ".join(map(repr, definitions))
        msg = (
            f"{measure!r} is not the same in all parts: {shown}; compute one of "
            "them anew"
        )
        raise DataError(msg, rule="different_definition", count=len(mixed))


def _summed(
    whole: pl.DataFrame, segments: Sequence[str], unit: str = "row"
) -> pl.DataFrame:
    """Sums by segment in the order of moments: systems, then pairs in one direction."""
    _require_one_definition(whole)
    alone = pl.col("other").is_null()
    systems = whole.filter(alone)["system"].unique(maintain_order=True)
    measures = whole["measure"].unique(maintain_order=True)
    first, second = (_place(systems, name) for name in ("system", "other"))
    turned = pl.when(second < first)
    oriented = whole.with_columns(
        *(turned.then(-pl.col(n)).otherwise(n).alias(n) for n in ("x", "ed")),
        *(
            turned.then(b).otherwise(a).alias(a)
            for one, other in (("system", "other"), ("win", "loss"))
            for a, b in ((one, other), (other, one))
        ),
    )
    if unit in segments:
        kept = [s for s in segments if s != unit]
        return _summed(_summed(whole, segments), kept, "part")
    state = added() | (_of_parts() if unit == "part" else {})
    return (
        oriented.group_by(*segments, *KEYS, maintain_order=True)
        .agg(**state, definition=pl.col("definition").first())
        .with_columns(pl.when(~alone).then(pl.col(WON)))
        .sort(_place(measures, "measure"), ~alone, first, second, *segments)
        .select(*segments, *KEYS, *ORDER, "definition")
    )


def _place(names: pl.Series, column: str) -> pl.Expr:
    """The place of a name among all."""
    return pl.col(column).replace_strict(names, range(len(names)), default=None)


def _of_parts() -> dict[str, pl.Expr]:
    """Sums over parts as units."""
    x, d = pl.col("x"), pl.col("d")
    rest = x - ratio(x.sum(), d.sum()) * d
    return {
        "n": (d > 0).sum().cast(pl.Int64),
        "dd": (d * d).sum(),
        "ee": (rest * rest).sum(),
        "ed": (rest * d).sum(),
    }
