"""The commands ``moments``, ``merge`` and ``trend``: sums of days that add up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import polars as pl
from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

import polars_rank
from polars_rank.cli.derive import options_of, told
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    EVALUATING,
    QUERY,
    Example,
    Formats,
    Input,
    Paths,
    Picture,
    Queries,
    several,
)
from polars_rank.cli.runs import open_file, short_names
from polars_rank.cli.show import Format, show_frame
from polars_rank.cli.values import open_moments, values_of_systems
from polars_rank.cli.words import emit, terminal
from polars_rank.core.state import DEFINITION, DIGESTS

if TYPE_CHECKING:
    from polars_rank.comparison.sums.definition import Definition


PERIOD = "period"
DATE = r"(\d{4}-\d{2}-\d{2})"

Out: TypeAlias = Annotated[
    Path | None,
    told(
        "output",
        "Write the sums to this Parquet file, with measures, convention and judgments; "
        "they are printed then only with --format.",
        name=("--out", "-o"),
        metavar="FILE",
    ),
    Parameter(validator=PathRule(ext=("parquet",))),
]


@options_of(polars_rank.comparison.moments, without=("qrels", "query"), shared=False)
@options_of(polars_rank.per_query, only=EVALUATING)
def moments(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    example: Example = False,
    queries: Queries = None,
    format: Formats = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Sum up a day: all that compare and trend need, in a file of a few kilobytes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes. Several runs go by their file names,
    which should be the same every day: 2026-11-22/bm25.run. The sums of days add up:
    see merge.
    """
    values, definition = values_of_systems(
        files, data, options, example=example, queries=queries
    )
    if "definition" in values.columns:
        raise CycloptsError(
            msg=f"{files[0]}: holds moments; add them up with polars-rank merge."
        )
    found = polars_rank.comparison.moments(
        values, definition=definition, path=out, **options
    )
    _show(found, definition, out, format)


@options_of(polars_rank.comparison.merge)
def merge(
    *files: Paths, format: Formats = None, out: Out = None, **options: Any
) -> None:
    """Add up moments: days to a month, months to a year.

    The FILEs are those that the command moments or merge wrote. Compare adds up the
    moments that it is given, too; merge keeps the sum.
    """
    from polars_rank.comparison.sums.merging import definition_of_parts

    if not files:
        raise CycloptsError(msg="name a FILE with moments.")
    parts = open_moments(files).values()
    found = polars_rank.comparison.merge(parts, path=out, **options)
    _show(found, definition_of_parts(parts), out, format)


@options_of(
    polars_rank.comparison.trend,
    polars_rank.comparison.moments,
    only=(
        *("time", "every", "sequential", "measures", "baseline", "level", "query"),
        *("system", "weight", "cluster"),
    ),
)
def trend(
    *files: Paths,
    time: Annotated[str | None, told("time")] = None,
    query: Annotated[tuple[str, ...], told("query")] = QUERY,
    window: Annotated[int | Literal["none"], told("window")] = 1,
    format: Formats = None,
    plot: Picture = None,
    mark: Annotated[
        tuple[str, ...],
        told(
            "output",
            "Event to mark in the picture, such as 2026-11-22=release 7; may be "
            "repeated.",
            metavar="PERIOD=NAME",
        ),
    ] = (),
    **options: Any,
) -> None:
    """Follow systems and their differences over time, from moments of days.

    Every FILE is a period: the date in its name, such as 2026-11-22.parquet, or else
    the name, in the order in which the files are given. With --time, a column of the
    files tells the period, and one file with values per query will do.
    """
    names = several(options.pop("measures", ()))
    values, summed = _over_time(files, time, options.get("every"), names)
    columns = {"query": query, "system": options.pop("system", "system")}
    found = polars_rank.comparison.trend(
        values,
        time=time or PERIOD,
        window=None if window == "none" else window,
        measures=names or None,
        **({} if summed else columns),
        **options,
    )
    if plot is not None:
        from polars_rank.report import curves

        curves.trend(found, _marks(mark, found.to_series(0))).save(str(plot))
    show_frame(
        found,
        f"Means and differences with {100 * options.get('level', 0.95):.4g} % "
        "intervals",
        keys=found.columns.index("queries"),
        format=format,
        notes=["With a baseline: the mean difference, system - baseline."],
    )


def _marks(given: Sequence[str], time: pl.Series) -> dict[object, str]:
    """The events of the command line, by time."""
    marks = {}
    for text in given:
        place, sign, name = text.partition("=")
        event = pl.Series([place])
        dated = time.dtype.is_temporal()
        try:
            [when] = event.str.strptime(time.dtype) if dated else event.cast(time.dtype)  # type: ignore[arg-type]
        except pl.exceptions.PolarsError:
            sign = ""
        if not sign:
            last = time.cast(pl.String).to_list()[-1]
            msg = f"--mark is PERIOD=NAME, such as {last}=v2, not {text!r}."
            raise CycloptsError(msg=msg)
        marks[when] = name
    return marks


def _show(
    found: pl.DataFrame,
    definition: Definition | None,
    out: Path | None,
    format: Format | None,
) -> None:
    """Print the sums, or say what was written."""
    if out is None or format is not None:
        keys = found.columns.index("other") + 1
        read = (format or ("table" if terminal() else "csv")) in ("csv", "tsv", "json")
        shown = found if read else found.drop(DEFINITION, DIGESTS)  # long texts
        show_frame(shown, "Moments", keys=keys, format=format)
    if out is not None:
        alone = found.filter(pl.col("other").is_null())
        per_system = alone.group_by("measure", "system").agg(pl.col("queries").sum())
        queries = per_system.select(pl.col("queries").max()).item()
        systems, measures = (
            ", ".join(map(str, alone[name].unique(maintain_order=True).to_list()))
            for name in ("system", "measure")
        )
        judged = [] if definition is None else definition.judged
        if len(judged) > 1:
            judged = [f"{len(judged)} different"]
        told = [f"{queries} queries", systems, measures]
        told += [f"judgments {judgments}" for judgments in judged]
        emit(f"{out}: {'; '.join(told)}\n")


def _over_time(
    files: Sequence[str], time: str | None, every: str | None, measures: Sequence[str]
) -> tuple[pl.LazyFrame, bool]:
    """Rows with their periods, and whether they are moments."""
    from polars_rank.comparison.sums.merging import read_moments, selected
    from polars_rank.comparison.sums.moments import is_moments

    if not files:
        raise CycloptsError(msg="name a FILE: moments of days, or values with --time.")
    first = open_file(files[0], "run")
    if len(files) == 1 and not is_moments(first.collect_schema()):
        if time is None:
            raise CycloptsError(
                msg=f"{files[0]}: holds no moments; name its column of time with --time"
            )
        return first, False
    parts = open_moments(files, {files[0]: first})
    by = [] if time is None else [time]
    whole = (read_moments(part) for part in parts.values())
    frames = [selected(rows, by, measures).lazy() for rows in whole]
    if time is None:
        periods = _periods(list(parts))
        if every is not None and not isinstance(periods.dtype, pl.Date):
            raise CycloptsError(
                msg="--every groups dates: name the files after dates, such as "
                "2026-11-22.parquet, or name a column of dates with --time."
            )
        labels = [pl.lit(periods[i : i + 1]).first() for i in range(len(periods))]
        frames = [
            frame.with_columns(label.alias(PERIOD))
            for frame, label in zip(frames, labels, strict=True)
        ]
    return pl.concat(frames, how="vertical_relaxed"), True


def _periods(files: Sequence[str]) -> pl.Series:
    """The dates in the names of the files, or else the names, in the order given."""
    names = pl.Series(short_names(files))
    dates = names.str.extract(DATE).str.to_date("%Y-%m-%d", strict=False)
    return names.cast(pl.Enum(names)) if dates.has_nulls() else dates
