"""Add up moments of parts, such as days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank.comparison.input.procedures import measures_of, require_names
from polars_rank.comparison.input.values import Source, lazy
from polars_rank.comparison.sums.definition import Definition, write_defined
from polars_rank.comparison.sums.moments import KEYS, ORDER, WON, added
from polars_rank.core.exact.state import (
    DEFINITION,
    DIGESTS,
    PLACE,
    State,
    Type,
    added_up,
    all_digests,
    chosen,
    damaged,
)
from polars_rank.core.expr import ratio
from polars_rank.exceptions import DataError
from polars_rank.io.frames import is_single
from polars_rank.io.states import Opened, collected, open_states, read_states
from polars_rank.io.unreadable import files_of

AT_ONCE = 16  # parts whose rows are held
TYPES: dict[str, Type] = {
    **dict.fromkeys(KEYS, "text"),
    **dict.fromkeys(ORDER, "number"),
}
COUNTED = ("queries", "n")
NEAR = 1e-9  # of a sum: beyond any rounding
MOST = 10  # of 14 names: no values of queries have as many by chance
AGAIN = "make them anew with moments, and keep them in Parquet"


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
        ones, and ``"cluster"`` says so of clusters; ``"part"``: a part as a whole is
        one observation, since the same queries come back every day. That needs about
        ten parts or more. Or the name of a segment, such as ``"query_id"`` of moments
        by query or ``"user_id"`` of those by user: all rows of a query, or user, are
        one observation, on whatever days they come (CR1).
    path
        Parquet file to write as well. Its metadata are those of the parts, if these are
        files that have some, with the judgments of all of them.

    Returns
    -------
    A frame like those of :func:`moments`. Systems, pairs and segments that are missing
    from a part have the sums of the others; the order of the systems may differ.

    Warns
    -----
    DataWarning
        If the parts are sums over clusters, which may be in several of them: each part
        counts them anew, so errors are too small.

    Raises
    ------
    ValueError
        If there is nothing to merge.
    DataError
        If a part is no moments, or damaged; if the same part is there twice, by the
        digest of its content; if parts differ in a measure's definition, or in their
        columns. It names the file, and what differs.

    Notes
    -----
    Parts can be merged in any order and in steps: days to weeks, weeks to years. With
    any other ``unit`` than ``"row"`` and ``"cluster"``, merge only once, and last: the
    result is a single part. Moments by query are a state that does not grow with the
    days: it has a row per query where ``compare(cluster="query_id")`` would need all
    values of all days.

    Source: Chan, Golub and LeVeque, 1979, for ratios.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> def day(*values):
    ...     return pr.comparison.moments(
    ...         pl.DataFrame(
    ...             {"system": ["a", "b"], "query_id": [1, 1], "rr": values}
    ...         )
    ...     )
    >>> week = pr.comparison.merge([day(0.5, 1.0), day(0.25, 0.5), day(1.0, 1.0)])
    >>> week.filter(system="a", other="b").select("queries", "wins", "ties").row(0)
    (3, 2, 1)
    """
    given: list[Any] = [parts] if is_single(parts) else list(parts)  # type: ignore[arg-type]
    opened = open_states(given, "part")
    names = opened[0][1].collect_schema().names() if opened else []
    whole = _added_up(opened, segments_of(names), unit)
    if unit not in (known := ["row", "part", *segments_of(names), "cluster"]):
        msg = (
            f"unit must be one of {', '.join(known)}, not {unit!r}; segments are "
            "chosen when moments are made"
        )
        raise ValueError(msg)
    if unit == "row":
        warn_of_returning(whole)
    table = summed(whole, segments_of(names), unit)
    if path is not None:
        write_defined(table, path, definition_of_parts(map(lazy, given)))
    return table


def read_moments(given: Source | Iterable[Source]) -> pl.DataFrame:
    """Read the rows of all moments: whole, of one definition, each there once.

    Errors name the file.
    """
    return _checked(read_states(given, "part"))


def _checked(states: Sequence[State]) -> pl.DataFrame:
    return added_up(states, "moments", TYPES, _require_possible)


def _added_up(
    opened: Sequence[Opened], segments: Sequence[str], unit: str
) -> pl.DataFrame:
    """Collect the rows of all parts; add up those of a unit, some parts at a time.

    They are as many in every part, and would be held once for each day of a year.
    """
    if unit not in segments:
        return _checked(collected(opened))
    held: list[State] = []
    for start in range(0, len(opened), AT_ONCE):
        rows = _checked([*held, *collected(opened[start : start + AT_ONCE])])
        held = [State("the sum of the parts before", summed(rows, segments))]
    return held[0].frame


def definition_of_parts(frames: Iterable[pl.LazyFrame]) -> Definition | None:
    """Read what the files that frames read say about themselves."""
    try:
        files = [file for frame in frames for file in files_of(frame)]
    except ValueError:  # a frame in memory
        return None
    return Definition.of_parts([Definition.read(file) for file in files])


def segments_of(columns: Iterable[str]) -> list[str]:
    """Name the columns of moments that tell segments apart."""
    return [n for n in columns if n not in {*KEYS, *ORDER, DEFINITION, DIGESTS}]


def selected(
    whole: pl.DataFrame,
    by: Sequence[str],
    measures: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Select moments of these measures (default: all), and add up their parts.

    Segments are added up, too, except those that ``by`` tells apart.
    """
    if odd := [name for name in by if name not in segments_of(whole.columns)]:
        msg = f"no segments by {odd[0]!r}: by= is chosen when moments are made"
        raise ValueError(msg)
    if measures:
        known = whole["measure"].unique(maintain_order=True).to_list()
        names = measures_of(measures, known)
        require_names(names, known, "measure")
        whole = whole.filter(pl.col("measure").is_in(names))
    warn_of_returning(whole)
    return summed(whole, by)


def warn_of_returning(whole: pl.DataFrame) -> None:
    """Warn where clusters of several parts are counted, which may be the same."""
    texts = whole[DEFINITION].unique()
    named = whole.filter(
        pl.col(DEFINITION).is_in([text for text in texts if chosen(text, "cluster")])
    )
    if named.select(*segments_of(whole.columns), *KEYS).is_duplicated().any():
        warn(
            "clusters, such as users, are counted anew in every part: if they come "
            "back, there are fewer of them, and the errors are larger. Make moments "
            "by= the column of the cluster, and name it in merge(..., unit=); or say "
            'that every cluster lies in one part: merge(..., unit="cluster")'
        )


def _require_possible(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse sums that no values have."""
    queries, n, x, d = (pl.col(name) for name in ("queries", "n", "x", "d"))
    pair = pl.col("other").is_not_null()
    sums = ["x", "d", "ee", "ed", "dd", "squares"]
    near = -NEAR * (1.0 + ratio(x, d).fill_null(0.0) ** 2)
    right = {
        "a value is null": ~pl.any_horizontal(
            pl.col("measure", "system", *COUNTED, *sums).is_null()
        ),
        "a sum is infinite or NaN": pl.all_horizontal(
            pl.col(sums).cast(pl.Float64).is_finite()
        ),
        "n is not between 0 and the number of queries": n.is_between(0, queries),
        "d and dd are not those of n units": ((n > 0) == (d > 0))
        & ((n > 0) == (pl.col("dd") > 0)),
        "a sum of squares is below 0": (pl.col("ee") >= near * pl.col("dd"))
        & (pl.col("squares") >= near * d),
        "wins, ties and losses do not add up to the queries": ~pair
        | ((pl.sum_horizontal(WON) == queries) & (pl.min_horizontal(WON) >= 0)),
    }
    for fault, kept in right.items():
        wrong = whole.filter(~kept.fill_null(value=False))
        for place, measure, system in wrong.select(PLACE, "measure", "system").rows():
            of = f"in the sums of {measure!r} of {system!r} {fault}"
            raise damaged(states[place].name, f"{of}; make them anew")


def summed(
    whole: pl.DataFrame, segments: Sequence[str], unit: str = "row"
) -> pl.DataFrame:
    """Sum by segment in the order of moments: systems, then pairs in one direction."""
    alone = pl.col("other").is_null()
    systems = whole.filter(alone)["system"].unique(maintain_order=True)
    measures = whole["measure"].unique(maintain_order=True)
    first, second = (_place(systems, name) for name in ("system", "other"))
    turned = pl.when(second < first)
    oriented = whole.with_columns(
        *(turned.then(-pl.col(n)).otherwise(n).alias(n) for n in ("x", "ed")),
        *(
            turned.then(b).otherwise(a).alias(a)
            for one, other in (("system", "other"), ("wins", "losses"))
            for a, b in ((one, other), (other, one))
        ),
    )
    if unit in segments:
        kept = [s for s in segments if s != unit]
        return summed(summed(whole, segments), kept, "part")
    state = added() | (_of_parts() if unit == "part" else {})
    return (
        oriented.group_by(*segments, *KEYS, maintain_order=True)
        .agg(**state, definition=pl.col(DEFINITION).first())
        .with_columns(pl.when(~alone).then(pl.col(WON)))
        .sort(_place(measures, "measure"), ~alone, first, second, *segments)
        .select(*segments, *KEYS, *ORDER, DEFINITION)
        .with_columns(pl.lit(all_digests(whole)).alias(DIGESTS))
    )


def _place(names: pl.Series, column: str) -> pl.Expr:
    """Find the place of a name among all."""
    return pl.col(column).replace_strict(names, range(len(names)), default=None)


def _of_parts() -> dict[str, pl.Expr]:
    """Sum over parts as units."""
    x, d = pl.col("x"), pl.col("d")
    rest = x - ratio(x.sum(), d.sum()) * d
    return {
        "n": (d > 0).sum(),
        "dd": (d * d).sum(),
        "ee": (rest * rest).sum(),
        "ed": (rest * d).sum(),
    }


# -- moments that lack something


def require_columns_of_moments(schema: pl.Schema) -> None:
    """Refuse moments of which columns are missing.

    They would be read as values of queries that lack a column ``query_id``.
    """
    lacking = [name for name in TYPES if name not in schema]
    if len(lacking) > len(TYPES) - MOST:
        return
    if lacking:
        msg = f"these are moments without {', '.join(map(repr, lacking))}; {AGAIN}"
        raise DataError(msg, rule="missing_column", count=len(lacking))


def require_rows_of_moments(table: pl.DataFrame, segments: Sequence[str]) -> None:
    """Refuse moments that lack the sums of a pair's system, or those of all pairs."""
    keys = [*segments, "measure"]
    own = table.filter(pl.col("other").is_null()).select(*keys, "system")
    pairs = table.filter(pl.col("other").is_not_null()).select(*keys, *KEYS[1:])
    for role in ("system", "other"):
        known = own.rename({"system": role})
        lost = pairs.join(known, on=[*keys, role], how="anti", nulls_equal=True)
        if len(lost):
            measure, system = lost.select("measure", role).row(0)
            msg = (
                f"these moments have differences of {system!r} in {measure!r}, but "
                f"no sums of {system!r} alone (a row whose 'other' is null); {AGAIN}"
            )
            raise DataError(msg, rule="missing_row", count=len(lost))
    systems = own["system"].unique(maintain_order=True).to_list()
    if len(systems) > 1 and not len(pairs):
        named = " and ".join(map(repr, systems[:2]))
        msg = (
            f"these moments have no differences between {named}: only moments of "
            f"values that hold both systems do; {AGAIN}"
        )
        raise DataError(msg, rule="missing_row", count=1)


def never_together(pairs: pl.DataFrame, wanted: Sequence[tuple[str, str]]) -> list[str]:
    """Note which of the wanted pairs no part of the moments holds."""
    held = {*pairs.select("baseline", "system").rows()}
    lost = [" and ".join(pair) for pair in wanted if pair not in held]
    if not lost:
        return []
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    return [f"Not compared, since no part holds both: {', '.join(lost[:3])}{more}."]
