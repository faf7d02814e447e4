"""Moments of parts, such as days, added up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank.comparison.moments import KEYS, ORDER, added, is_moments
from polars_rank.comparison.values import Source, lazy
from polars_rank.core.expr import ratio
from polars_rank.exceptions import DataError

__all__ = ["merge"]


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
    A frame like those of :func:`moments`. Systems, pairs and segments that are missing
    from a part have the sums of the others.

    Raises
    ------
    ValueError
        If there is nothing to merge, or something other than moments.
    DataError
        If parts differ in a measure's definition, or in their columns.

    Notes
    -----
    Parts can be merged in any order and in steps: days to weeks, weeks to years. With
    ``unit="part"`` merge once, since what comes out is a single part.

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
    segments = [n for n in names if n not in {*KEYS, *ORDER, "definition"}]
    keys = [*segments, *KEYS]
    state = added() | (_of_parts() if unit == "part" else {})
    merged = (
        whole.group_by(keys, maintain_order=True)
        .agg(
            *(value.alias(name) for name, value in state.items()),
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
