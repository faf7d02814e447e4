"""The commands ``moments``, ``merge`` and ``trend``: sums of days that add up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import polars as pl
from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

import polars_rank
from polars_rank.cli.options import (
    CHOICE,
    COLUMN,
    DEFAULT_INPUT,
    DEFAULT_RULES,
    DEFAULT_SYSTEMS,
    FILES,
    LESS,
    OUTPUT,
    QUERY,
    Columns,
    Formats,
    Input,
    OneColumn,
    Options,
    Picture,
    Query,
    Rules,
    SomeMeasures,
    Systems,
    several,
)
from polars_rank.cli.runs import open_file, short_names
from polars_rank.cli.show import Format, emit, show_frame, terminal
from polars_rank.cli.values import choices_of, open_moments, values_of_systems
from polars_rank.core.state import DEFINITION, DIGESTS

if TYPE_CHECKING:
    from polars_rank.comparison.sums.definition import Definition


PERIOD = "period"
UNIT = Parameter(metavar="row|part|COLUMN")
MARK = Parameter(group=OUTPUT, metavar="PERIOD=NAME")
DATE = r"(\d{4}-\d{2}-\d{2})"

Paths: TypeAlias = Annotated[str, Parameter(name="FILE", group=FILES)]
Out: TypeAlias = Annotated[
    Path | None,
    Parameter(
        name=("--out", "-o"),
        group=OUTPUT,
        metavar="FILE",
        validator=PathRule(ext=("parquet",)),
    ),
]


def moments(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    systems: Systems = DEFAULT_SYSTEMS,
    by: Columns = (),
    tie: Annotated[float, CHOICE] = 1e-9,
    part: Annotated[str | None, Parameter(metavar="NAME"), CHOICE] = None,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Sum up a day: all that compare and trend need, in a file of a few kilobytes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes. Several runs go by their file names,
    which should be the same every day: 2026-11-22/bm25.run. The sums of days add up:
    see merge.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one file with values.
    by
        Column with segments, which are summed up one by one; may be repeated.
    tie
        Differences up to this size are ties.
    part
        Name of the part, such as its day. Two parts of the same values are one part,
        which merge refuses to count twice, unless they have two names.
    format
        Default: table on a terminal, csv elsewhere; nothing with --out.
    out
        Write the sums to this Parquet file, with measures, convention and judgments.
    """
    values, definition = values_of_systems(files, data, systems, rules, by)
    if "definition" in values.columns:
        raise CycloptsError(
            msg=f"{files[0]}: holds moments; add them up with polars-rank merge."
        )
    found = polars_rank.moments(
        values,
        **systems.arguments(data),
        by=by or None,
        tie=tie,
        definition=definition,
        part=part,
        path=out,
    )
    _show(found, definition, out, format)


def merge(
    *files: Paths,
    unit: Annotated[str, UNIT, CHOICE] = "row",
    format: Formats = None,
    out: Out = None,
) -> None:
    """Add up moments: days to a month, months to a year.

    Compare adds up the moments that it is given, too; merge keeps the sum.

    Parameters
    ----------
    files
        Files that the command moments or merge wrote.
    unit
        Independent observation: row, since every file has queries of its own; or part,
        a file as a whole, since the same queries come back (ten files or more); or the
        name of a segment, such as query_id of moments --by query_id; or cluster, since
        every cluster lies in one file.
    format
        Default: table on a terminal, csv elsewhere; nothing with --out.
    out
        Write the sums to this Parquet file, with measures, convention and judgments.
    """
    from polars_rank.comparison.sums.merging import definition_of_parts

    if not files:
        raise CycloptsError(msg="name a FILE with moments.")
    parts = open_moments(files).values()
    found = polars_rank.merge(parts, unit=unit, path=out)
    _show(found, definition_of_parts(parts), out, format)


def trend(
    *files: Paths,
    time: OneColumn = None,
    every: Annotated[str | None, Parameter(metavar="PERIOD"), CHOICE] = None,
    window: Annotated[int | Literal["none"], CHOICE] = 1,
    sequential: Annotated[bool, CHOICE, LESS] = False,
    measure: SomeMeasures = (),
    baseline: Annotated[
        tuple[str, ...], Parameter(metavar="SYSTEM"), CHOICE, LESS
    ] = (),
    level: Annotated[float, CHOICE] = 0.95,
    query: Query = QUERY,
    system: Annotated[str, COLUMN] = "system",
    weight: OneColumn = None,
    cluster: OneColumn = None,
    format: Formats = None,
    plot: Picture = None,
    mark: Annotated[tuple[str, ...], MARK, LESS] = (),
) -> None:
    """Follow systems and their differences over time, from moments of days.

    Every FILE is a period: the date in its name, such as 2026-11-22.parquet, or else
    the name, in the order in which the files are given. With --time, a column of the
    files tells the period, and one file with values per query will do.

    Parameters
    ----------
    files
        Files that the command moments wrote; or one file with values.
    time
        Column of time.
    every
        Group dates into periods, such as 1w or 1mo.
    window
        Periods, up to the present one, that each row sums up; none: all so far.
    sequential
        Intervals that hold for all periods at once, however often one looks; needs
        --window none.
    measure
        Measure to follow; may be repeated.
    baseline
        System that all others are compared with; may be repeated; default: all pairs.
    level
        Confidence level.
    query
        Query id of the values; repeat the option if several columns make up the id.
    system
        Column of the values that tells systems apart.
    weight
        Weight of the query, in the values.
    cluster
        Group of queries that depend on each other, such as the user.
    format
        Default: table on a terminal, csv elsewhere.
    plot
        Draw means and differences over time into this file.
    mark
        Event to mark in the picture, such as 2026-11-22=release 7; may be repeated.
    """
    names = several(measure)
    values, summed = _over_time(files, time, every, names)
    columns = choices_of(weight=weight, cluster=cluster)
    if not summed:
        columns |= Options(query=query, system=system)
    found = polars_rank.trend(
        values,
        time=time or PERIOD,
        every=every,
        window=None if window == "none" else window,
        sequential=sequential,
        measures=names or None,
        baseline=baseline or None,
        level=level,
        **columns,
    )
    if plot is not None:
        from polars_rank.report import curves

        curves.trend(found, _marks(mark, found.to_series(0))).save(str(plot))
    show_frame(
        found,
        f"Means and differences with {100 * level:.4g} % intervals",
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
