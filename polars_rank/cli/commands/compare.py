"""The commands that compare systems: ``compare``, ``orders`` and others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

import polars_rank
from polars_rank.cli.derive import UsageError, options_of
from polars_rank.cli.input.options import (
    ABOUT_ITEMS,
    EVALUATING,
    NONE,
    Systems,
    evaluating,
)
from polars_rank.cli.input.runs import Options, chosen, open_file, opened
from polars_rank.cli.input.values import values_of
from polars_rank.cli.output.words import emit
from polars_rank.cli.shown import (
    SEPARATORS,
    Reported,
    Shown,
    as_form,
    inert,
    table_of,
    written,
)
from polars_rank.comparison.explained import with_parts
from polars_rank.comparison.input.values import metric_of
from polars_rank.comparison.result import Comparison
from polars_rank.measures.measure import parse_measures, reads_labels

WELCH = "Welch's F test: is the difference the same in all segments? p is not adjusted."
COMPARING = (
    *("system", "measures", "weight", "cluster", "repeat", "test", "correction"),
    *("level", "n_resamples", "seed"),
)
TableName: TypeAlias = Literal["means", "pairs", "between_segments"]


@options_of(polars_rank.compare, without=("largest_parts",), shared=False)
@evaluating
def compare(
    *files: str,
    data: Systems,
    shown: Reported,
    table: TableName | None = None,
    largest_parts: bool = False,
    plot: Path | None = None,
    per_query: Path | None = None,
    quote_formulas: bool = False,
    **options: Any,
) -> None:
    """Compare systems query by query: differences, intervals, tests, effect sizes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes; or files with moments, such as moments
    writes, which are added up, unless --by names their segments (none: no segment).
    """
    if options.get("by") == (NONE,):
        options["by"] = ()
    if largest_parts and (table is not None or shown.form not in ("table", "markdown")):
        raise UsageError(
            "--largest-parts goes with the tables: --format table or markdown."
        )
    choices = chosen(options, EVALUATING)
    catalog = next(filter(_is_of_catalog, options.get("measures", ())), None)
    if catalog is not None:
        if per_query is not None:
            raise UsageError(f"--per-query: {catalog} has no values of queries.")
        found = _of_runs(files, data, choices, options)
    else:
        values, definition = values_of(files, data, options)
        if per_query is not None and "definition" in values.columns:
            raise UsageError(
                "--per-query: moments hold no values of single queries; use "
                "polars-rank merge to keep their sums."
            )
        found = polars_rank.compare(values, **options)
        if per_query is not None:
            definition.write(values, per_query)
    if plot is not None:
        draw = found.plot.segments if options.get("by") else found.plot.forest
        draw().save(str(plot))
    if largest_parts:
        found = _with_parts(found, files, data, choices, options)
    if table is None and shown.form not in SEPARATORS:
        emit(written(found, shown.form) + "\n")
    else:
        _show(found, table or "pairs", shown, quoted=quote_formulas)


def _is_of_catalog(name: str) -> bool:
    metric = metric_of(name)
    return metric is not None and metric.vocabulary == "catalog"


def _of_runs(
    files: Sequence[str], data: Systems, choices: Options, options: Options
) -> Comparison:
    """Compare runs themselves: of a catalog there are no values per query."""
    judged = reads_labels(parse_measures(options["measures"]))
    runs, given = data.runs(files, choices, judged=judged)
    if not isinstance(runs, dict) and given["qrels"] is None:
        raise UsageError("name two runs or more, each a FILE.")
    given |= opened(chosen(options, ABOUT_ITEMS)) | data.segments()
    return polars_rank.compare(runs, **{**options, **given})


def _with_parts(
    found: Comparison,
    files: Sequence[str],
    data: Systems,
    choices: Options,
    options: Options,
) -> Comparison:
    """Add the largest parts of the differences."""
    own = () if data.example else files
    runs, given = data.runs(own, dict(choices), judged=False) if own else ({}, {})
    if not isinstance(runs, dict) or not runs:
        raise UsageError(
            "--largest-parts needs runs: name two runs or more, each a FILE."
        )
    given |= data.segments()
    given |= {name: options.get(name) or None for name in ("by", "weight", "cluster")}
    measures = found.pairs["measure"].unique(maintain_order=True).to_list()
    return with_parts(found, runs, measures, options.get("baseline"), **given)


def _show(found: Comparison, name: TableName, shown: Shown, *, quoted: bool) -> None:
    """Print one of the tables: as rows, or as it is among the others."""
    named = dict(zip(("means", "pairs"), found.in_order(), strict=True))
    rows = named.get(name, found.between_segments)
    if rows is None:
        raise UsageError("--table between_segments needs segments: name --by.")
    keys = rows.columns.index("segments" if name == "between_segments" else "queries")
    if shown.form == "json":
        shown.rows(rows, keys)
    elif shown.form in SEPARATORS:
        shown.rows(inert(rows) if quoted else rows, keys)
    else:
        tables = dict(zip(("means", "pairs"), found.tables(), strict=True))
        own = table_of(rows, "Differences between segments", keys, [WELCH])
        emit(as_form(tables.get(name, own), shown.form) + "\n")


@options_of(polars_rank.compare, only=COMPARING, shared=False)
@evaluating
def orders(*files: str, data: Systems, shown: Shown, **options: Any) -> None:
    """Compare the orders in which measures put the systems: rank correlation, swaps.

    The FILEs are those that compare takes. One row per pair of measures: Kendall's tau
    and AP correlation (tau_ap, with other as the truth) of the means; the pairs of
    systems that are swapped, and how many of these differ significantly in either
    measure.
    """
    values, _ = values_of(files, data, options)
    found = polars_rank.comparison.orders(values, **options)
    shown.frame(found, "Orders of the systems", 2)


@options_of(polars_rank.compare, only=COMPARING, shared=False, test="randomized_tukey")
@evaluating
def discriminative(*files: str, data: Systems, shown: Shown, **options: Any) -> None:
    """Measure discriminative power: how many pairs of systems a measure tells apart.

    The FILEs are those that compare takes; moments need another test, such as tukey.
    One row per measure: the number of pairs, the share that differs significantly, the
    smallest difference that does (sufficient), and in csv, tsv and json all adjusted
    p-values, from the largest.
    """
    values, _ = values_of(files, data, options)
    found = polars_rank.comparison.discriminative(values, **options)
    level = options.get("level", 0.95)
    title = f"Pairs of systems that differ at significance level {1 - level:g}"
    shown.frame(found, title, long=["p_adjusted"])


@options_of(polars_rank.comparison.power)
def power(file: str | None = None, /, *, shown: Shown, **options: Any) -> None:
    """Plan a comparison: queries needed, or the difference that can be detected."""
    values = None if file is None else open_file(file, "run")
    found = polars_rank.comparison.power(values, **options)
    labels = [c for c in found.columns if found[c].dtype == pl.String]
    test, paired = "Paired t test", options.get("paired", True)
    if options.get("n_systems", 2) > 2 or not paired:
        test = f"{'Two' if paired else 'One'}-way analysis of variance"
    title = f"{test} at significance level {1 - options.get('level', 0.95):g}"
    shown.frame(found, title, len(labels))
