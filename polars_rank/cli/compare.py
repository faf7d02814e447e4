"""The command ``compare``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

import polars_rank
from polars_rank.cli.options import (
    CHOICE,
    DEFAULT_INPUT,
    DEFAULT_RULES,
    DEFAULT_SYSTEMS,
    LESS,
    NONE,
    OUT,
    OUTPUT,
    Columns,
    Input,
    Paths,
    Picture,
    QuoteFormulas,
    Rules,
    Systems,
)
from polars_rank.cli.show import Format, emit, inert, show_rows, table_of, terminal
from polars_rank.cli.values import values_of_systems
from polars_rank.comparison.input.procedures import (
    Correction,
    EffectName,
    Family,
    IntervalName,
    Order,
    Pairing,
    TestName,
    ZeroMethod,
)

if TYPE_CHECKING:
    import polars as pl

    from polars_rank.comparison.result import Comparison


SYSTEM = Parameter(metavar="SYSTEM")
WELCH = "Welch's F test: is the difference the same in all segments? p is not adjusted."

Parquet: TypeAlias = Annotated[
    Path | None, OUT, Parameter(validator=PathRule(ext=("parquet",)))
]
TableName: TypeAlias = Literal["means", "pairs", "between_segments"]


def compare(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    systems: Systems = DEFAULT_SYSTEMS,
    by: Columns = (),
    seeds: Annotated[Literal["fixed", "random"], CHOICE] = "fixed",
    baseline: Annotated[tuple[str, ...], SYSTEM, CHOICE, LESS] = (),
    test: Annotated[TestName, CHOICE] = "t",
    alternative: Annotated[
        Literal["two-sided", "greater", "less"], CHOICE
    ] = "two-sided",
    correction: Annotated[Correction | None, CHOICE] = None,
    family: Annotated[Family, CHOICE] = "measure",
    interval: Annotated[IntervalName, CHOICE] = "t",
    simultaneous: Annotated[bool, CHOICE, LESS] = False,
    level: Annotated[float, CHOICE] = 0.95,
    margin: Annotated[float | None, CHOICE] = None,
    effect: Annotated[EffectName, CHOICE] = "d_z",
    zero_method: Annotated[ZeroMethod, CHOICE] = "wilcox",
    tie: Annotated[float, CHOICE] = 1e-9,
    least_queries: Annotated[int, CHOICE] = 20,
    resamples: Annotated[int, CHOICE] = 9999,
    random_state: Annotated[int, CHOICE] = 0,
    pairs: Annotated[Pairing, CHOICE] = "same",
    order: Annotated[Order, Parameter(group=OUTPUT, metavar="CHOICE")] = "mean",
    format: Annotated[
        Format | Literal["html", "latex"] | None,
        Parameter(group=OUTPUT, metavar="CHOICE"),
    ] = None,
    table: Annotated[TableName | None, Parameter(group=OUTPUT)] = None,
    plot: Picture = None,
    per_query: Parquet = None,
    quote_formulas: QuoteFormulas = False,
) -> None:
    """Compare systems query by query: differences, intervals, tests, effect sizes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes; or files with moments, such as moments
    writes, which are added up.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one file with values; or moments.
    by
        Column with segments, which are compared one by one; may be repeated. Default,
        of moments: all that they have; none: they are added up.
    seeds
        Whether conclusions hold for these runs, or for runs of other seeds, too.
    baseline
        System that all others are compared with; may be repeated; default: all pairs.
    test
        Test of the differences.
    alternative
        Direction of the differences that the test looks for.
    correction
        Correction of the p-values for the number of tests; default: holm.
    family
        Tests that are corrected together.
    interval
        Interval of the difference.
    simultaneous
        All intervals of a family hold at once.
    level
        Confidence level.
    margin
        Largest difference that does not matter, for --test tost.
    effect
        Effect size.
    zero_method
        What --test wilcoxon does with differences of 0.
    tie
        Differences up to this size are ties.
    least_queries
        Segments with fewer queries are shown, not tested.
    resamples
        Number of draws, for randomization and bootstrap.
    random_state
        Seed of the draws.
    pairs
        What to do about queries that some systems lack.
    order
        Order of the systems: the best mean of the first measure first, by name, or as
        they are given.
    format
        Default: table on a terminal, csv (the differences) elsewhere.
    table
        Print this table only; pairs are the differences, between_segments tells whether
        they differ between segments. Default: means and pairs; in csv and tsv pairs.
    plot
        Draw differences and intervals into this file.
    per_query
        Also write the values of every query to this file.
    quote_formulas
        In CSV and TSV, put ' before text that begins with =, +, - or @, which a
        spreadsheet would run as a formula.
    """
    segments: Sequence[str] | None = () if by == (NONE,) else by or None
    values, definition = values_of_systems(files, data, systems, rules, segments or ())
    if per_query is not None and "definition" in values.columns:
        raise CycloptsError(
            msg="--per-query: moments hold no values of single queries; use "
            "polars-rank merge to keep their sums."
        )
    found = polars_rank.compare(
        values,
        **systems.arguments(data),
        baseline=baseline or None,
        by=segments,
        seeds=seeds,
        test=test,
        alternative=alternative,
        correction=correction,
        family=family,
        interval=interval,
        simultaneous=simultaneous,
        level=level,
        margin=margin,
        effect=effect,
        zero_method=zero_method,
        tie=tie,
        least=least_queries,
        resamples=resamples,
        random_state=random_state,
        pairs=pairs,
        order=order,
    )
    if per_query is not None:
        definition.write(values, per_query)
    if plot is not None:
        (found.plot.segments if segments else found.plot.forest)().save(str(plot))
    chosen = format or ("table" if terminal() else "csv")
    if table is not None or chosen in ("csv", "tsv"):
        _show(found, table or "pairs", chosen, quote_formulas=quote_formulas)
    else:
        emit(_written(found, chosen) + "\n")


def _written(found: Comparison, format: str) -> str:
    if format == "json":
        return json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
    write = {
        "table": found.__str__,
        "markdown": found.to_markdown,
        "html": found.to_html,
        "latex": found.to_latex,
    }[format]
    return str(write())


def _show(
    found: Comparison, name: TableName, format: str, *, quote_formulas: bool
) -> None:
    """Print one of the tables: as rows, or as it is among the others."""
    from polars_rank.report import table as report

    tabled = dict(zip(("means", "pairs"), found.in_order(), strict=True))
    rows: pl.DataFrame | None = tabled.get(name, found.between_segments)
    if rows is None:
        raise CycloptsError(msg="--table between_segments needs segments: name --by.")
    first = {"means": "queries", "pairs": "queries", "between_segments": "segments"}
    keys = rows.columns.index(first[name])
    if quote_formulas and format in ("csv", "tsv"):
        rows = inert(rows)
    if format in ("json", "csv", "tsv"):
        show_rows(rows, cast("Literal['json', 'csv', 'tsv']", format), keys=keys)
        return
    tables = dict(zip(("means", "pairs"), found.tables(), strict=True))
    title = "Differences between segments"
    tables[name] = tables.get(name) or table_of(rows, title, keys, [WELCH])
    write = {
        "table": report.as_text,
        "markdown": report.as_markdown,
        "html": report.as_html,
        "latex": report.as_latex,
    }[format]
    emit(write(tables[name]) + "\n")
