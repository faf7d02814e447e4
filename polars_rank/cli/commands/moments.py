"""The commands ``moments``, ``merge`` and ``trend``: sums of days that add up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

import polars_rank
from polars_rank.cli.derive import UsageError, options_of
from polars_rank.cli.input.options import QUERY, Systems, evaluating
from polars_rank.cli.input.runs import first_that_differs, open_file, stem
from polars_rank.cli.input.values import open_moments, values_of
from polars_rank.cli.output.words import emit
from polars_rank.cli.shown import Shown
from polars_rank.comparison.sums.definition import Definition
from polars_rank.comparison.sums.merging import (
    definition_of_parts,
    read_moments,
    selected,
)
from polars_rank.comparison.sums.moments import is_moments
from polars_rank.core.exact.state import DEFINITION, DIGESTS
from polars_rank.exceptions import counted

NOTE = "With a baseline: the mean difference, system - baseline."
PERIOD = "period"
DATE = r"(\d{4}-\d{2}-\d{2})"


@options_of(polars_rank.comparison.moments, shared=False)
@evaluating
def moments(
    *files: str, data: Systems, shown: Shown, out: Path | None = None, **options: Any
) -> None:
    """Sum up a day: all that compare and trend need, in a file of a few kilobytes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes. Several runs go by their tags or file
    names, which should be the same every day: 2026-11-22/bm25.run. The sums of days add
    up: see merge.
    """
    values, definition = values_of(files, data, options)
    if "definition" in values.columns:
        msg = "holds moments; add them up with polars-rank merge."
        raise UsageError(f"{files[0]}: {msg}")
    found = polars_rank.comparison.moments(
        values, definition=definition, path=out, **options
    )
    _show(found, definition, out, shown)


@options_of(polars_rank.comparison.merge)
def merge(*files: str, shown: Shown, out: Path | None = None, **options: Any) -> None:
    """Add up moments: days to a month, months to a year.

    The FILEs are those that the command moments or merge wrote. Compare adds up the
    moments that it is given, too; merge keeps the sum.
    """
    if not files:
        raise UsageError("name a FILE with moments.")
    parts = open_moments(files).values()
    found = polars_rank.comparison.merge(parts, path=out, **options)
    _show(found, definition_of_parts(parts), out, shown)


@options_of(
    polars_rank.comparison.trend,
    polars_rank.comparison.moments,
    without=("by", "repeat", "tie", "convention", "part"),
    shared=False,
)
def trend(
    *files: str,
    time: str | None = None,
    query: tuple[str, ...] = QUERY,
    window: int | Literal["none"] = 1,
    shown: Shown,
    plot: Path | None = None,
    mark: tuple[str, ...] = (),
    **options: Any,
) -> None:
    """Follow systems and their differences over time, from moments of days.

    Every FILE is a period: the date in its name, such as 2026-11-22.parquet, or else
    the name, in the order in which the files are given. With --time, a column of the
    files tells the period, and one file with values per query will do.
    """
    names = options.pop("measures", ())
    values, summed = over_time(files, time, options.get("every"), names)
    if summed:
        options.pop("system", None)
    else:
        options["query"] = query
    options |= {"time": time or PERIOD, "window": None if window == "none" else window}
    found = polars_rank.comparison.trend(values, names or None, **options)
    if plot is not None:
        from polars_rank.report import curves

        curves.trend(found, _marks(mark, found.to_series(0))).save(str(plot))
    level = 100 * options.get("level", 0.95)
    title = f"Means and differences with {level:.4g} % intervals"
    shown.frame(found, title, "queries", [NOTE])


def _marks(given: Sequence[str], time: pl.Series) -> dict[object, str]:
    """The events of the command line, by time."""
    marks = {}
    for text in given:
        place, sign, name = text.partition("=")
        event, dtype = pl.Series([place]), time.dtype
        dated = dtype.is_temporal()
        try:
            [when] = event.str.strptime(dtype) if dated else event.cast(dtype)  # type: ignore[arg-type]
        except pl.exceptions.PolarsError:
            sign = ""
        if not sign:
            last = time.cast(pl.String)[-1]
            raise UsageError(f"--mark is PERIOD=NAME, such as {last}=v2, not {text!r}.")
        marks[when] = name
    return marks


def _show(
    found: pl.DataFrame, definition: Definition | None, out: Path | None, shown: Shown
) -> None:
    """Print the sums, or say what was written."""
    if out is None or shown.format is not None:
        shown.frame(found, "Moments", "other", long=(DEFINITION, DIGESTS))
    if out is None:
        return
    alone = found.filter(pl.col("other").is_null())
    per_system = alone.group_by("measure", "system").agg(pl.sum("queries"))
    queries = per_system.select(pl.max("queries")).item()
    systems, measures = (
        ", ".join(map(str, alone[name].unique(maintain_order=True)))
        for name in ("system", "measure")
    )
    judged = [] if definition is None else definition.judged
    if len(judged) > 1:
        judged = [f"{len(judged)} different"]
    told = [
        counted(queries, "query"),
        systems,
        measures,
        *map("judgments {}".format, judged),
    ]
    emit(f"{out}: {'; '.join(told)}\n")


def over_time(
    files: Sequence[str], time: str | None, every: str | None, measures: Sequence[str]
) -> tuple[pl.LazyFrame, bool]:
    """Rows with their periods, and whether they are moments."""
    if not files:
        raise UsageError("name a FILE: moments of days, or values with --time.")
    first = open_file(files[0], "run")
    if len(files) == 1 and not is_moments(first.collect_schema()):
        if time is None:
            msg = "holds no moments; name its column of time with --time"
            raise UsageError(f"{files[0]}: {msg}")
        return first, False
    parts = open_moments(files, {files[0]: first})
    by = [] if time is None else [time]
    frames = [selected(read_moments(p), by, measures).lazy() for p in parts.values()]
    if time is None:
        periods = _periods(list(parts))
        if every is not None and not isinstance(periods.dtype, pl.Date):
            raise UsageError(
                "--every groups dates: name the files after dates, such as "
                "2026-11-22.parquet, or name a column of dates with --time."
            )
        frames = [
            frame.with_columns(pl.lit(period, dtype=periods.dtype).alias(PERIOD))
            for frame, period in zip(frames, periods, strict=True)
        ]
    return pl.concat(frames, how="vertical_relaxed"), True


def _periods(files: Sequence[str]) -> pl.Series:
    """The dates in the names of the files, or else the names, in the order given."""
    names = pl.Series(first_that_differs(list(map(stem, files)), files))
    dates = names.str.extract(DATE).str.to_date("%Y-%m-%d", strict=False)
    return names.cast(pl.Enum(names)) if dates.has_nulls() else dates
