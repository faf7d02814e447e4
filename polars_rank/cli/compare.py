"""The command ``compare``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

from cyclopts import CycloptsError

import polars_rank
from polars_rank.cli.derive import options_of, told
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    EVALUATING,
    NONE,
    Example,
    Input,
    Parquet,
    Paths,
    Picture,
    Queries,
    QuoteFormulas,
)
from polars_rank.cli.show import Format, inert, show_rows, table_of
from polars_rank.cli.values import values_of_systems
from polars_rank.cli.words import emit, terminal

if TYPE_CHECKING:
    import polars as pl

    from polars_rank.comparison.result import Comparison


WELCH = "Welch's F test: is the difference the same in all segments? p is not adjusted."
TableName: TypeAlias = Literal["means", "pairs", "between_segments"]


@options_of(polars_rank.compare, without=("qrels", "query"), shared=False)
@options_of(polars_rank.per_query, only=EVALUATING)
def compare(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    example: Example = False,
    queries: Queries = None,
    format: Annotated[
        Format | Literal["html", "latex"] | None,
        told(
            "output",
            "Default: table on a terminal, csv (the differences) elsewhere.",
            metavar="CHOICE",
        ),
    ] = None,
    table: Annotated[
        TableName | None,
        told(
            "output",
            "Print this table only; pairs are the differences, between_segments tells "
            "whether they differ between segments. Default: means and pairs; in csv "
            "and tsv pairs.",
        ),
    ] = None,
    plot: Picture = None,
    per_query: Parquet = None,
    quote_formulas: QuoteFormulas = False,
    **options: Any,
) -> None:
    """Compare systems query by query: differences, intervals, tests, effect sizes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes; or files with moments, such as moments
    writes, which are added up, unless --by names their segments (none: no segment).
    """
    if options.get("by") == (NONE,):
        options["by"] = ()
    segments = options.get("by")
    values, definition = values_of_systems(
        files, data, options, example=example, queries=queries
    )
    if per_query is not None and "definition" in values.columns:
        raise CycloptsError(
            msg="--per-query: moments hold no values of single queries; use "
            "polars-rank merge to keep their sums."
        )
    found = polars_rank.compare(values, **options)
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
