"""The commands ``changes``, ``reasons`` and others: why a value moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import polars as pl

from polars_rank import analysis
from polars_rank.cli.commands.audit import runs_of
from polars_rank.cli.derive import UsageError, options_of, told, told_output
from polars_rank.cli.input.options import Formats, Input, Paths
from polars_rank.cli.input.runs import Options, open_file
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.show import chosen, show_frame, table_of, written
from polars_rank.cli.output.words import emit
from polars_rank.core.state import DEFINITION
from polars_rank.io.write import write
from polars_rank.report.table import Table, as_markdown, as_text

Part: TypeAlias = Literal["summary", "segments", "queries", "documents"]
Chosen = Annotated[
    Part | None,
    told(
        "output",
        "Print this table only. Default: summary and segments; in csv, tsv and json "
        "summary.",
    ),
]
OURS = ("after", "qrels", "system")
OF_SUMS = ("of", "query", "bins", "part")


@options_of(analysis.changes, without=OURS)
def changes(
    *files: Paths,
    data: Input,
    table: Chosen = None,
    format: Formats = None,
    **options: Any,
) -> None:
    """Compare the first documents of two runs: overlap, moves, what entered and left.

    The FILEs are the run before the change, the run after it, or several, and, if there
    are any, the judgments.
    """
    before, after, options = before_and_after(files, data, options)
    with Bar.of(options):
        found = analysis.changes(before, after, **options)
    _show(found, table, format)


@options_of(analysis.reasons, without=OURS, measure="ndcg@10")
def reasons(
    *files: Paths,
    data: Input,
    table: Chosen = None,
    format: Formats = None,
    **options: Any,
) -> None:
    """Take a difference apart: documents, kinds of moves, labels, segments.

    The FILEs are the run before the change, the run after it, or several, and the
    judgments.
    """
    before, after, options = before_and_after(files, data, options)
    if options["qrels"] is None:
        raise UsageError("name the judgments, last or with --qrels.")
    if "qrels_before" in options:
        old = data.open(options["qrels_before"], "qrels")
        options["qrels_before"] = data.renamed(old)
    with Bar.of(options):
        found = analysis.reasons(before, after, **options)
    _show(found, table, format)


@options_of(analysis.to_judge, without=OURS, measure="ndcg@10")
def to_judge(
    *files: Paths, data: Input, format: Formats = None, **options: Any
) -> None:
    """Name the unjudged documents whose label can change a mean, or an order, most.

    The FILEs are one run or several, and the judgments. With labels in its last column,
    what is printed as csv is a file of judgments.
    """
    runs, options = runs_of(files, data, options)
    if options["qrels"] is None:
        raise UsageError("name the judgments, last or with --qrels.")
    with Bar():
        found = analysis.to_judge(runs, **options)
    title = f"To judge, for {options['measure']}"
    show_frame(found, title, keys=len(data.query) + 1, format=format)


@options_of(analysis.contributions, without=OURS, measure="ndcg@10")
def contributions(
    *files: Paths, data: Input, format: Formats = None, **options: Any
) -> None:
    """Print what each document adds to the value of its query.

    The FILEs are a run and its judgments, or a log.
    """
    run, options = runs_of(files, data, options)
    if isinstance(run, dict):
        raise UsageError("name one run, and its judgments.")
    with Bar.of(options):
        found = analysis.contributions(run, **options).lazy().collect()
    title = f"What documents add to {options['measure']}"
    show_frame(found, title, keys=len(data.query) + 1, format=format)


@options_of(analysis.slices, analysis.slices_state)
def slices(
    *files: Paths,
    features: Annotated[tuple[str, ...], told("features")] = (),
    edges: Annotated[
        tuple[str, ...],
        told(
            "choice",
            "Where a number is cut, instead of --bins, such as words=2,4; may be "
            "repeated.",
            metavar="FEATURE=NUMBERS",
        ),
    ] = (),
    out: Annotated[
        Path | None,
        told_output(
            "Write the sums of FILE, which add up over days, to this Parquet file, and "
            "search nothing.",
            "parquet",
            name=("--out", "-o"),
        ),
    ] = None,
    format: Formats = None,
    **options: Any,
) -> None:
    """Find the slices of queries whose mean is far from that of the others.

    The FILE has a row per query, such as reasons --table queries writes, with columns
    of features. Or the FILEs are sums of days, which --out wrote, and add up.
    """
    if not files:
        raise UsageError("name a FILE: values per query, or sums that --out wrote.")
    made = {name: options.pop(name) for name in OF_SUMS if name in options}
    made |= {"edges": dict(map(_edges, edges))} if edges else {}
    values = open_file(files[0], "run")
    if DEFINITION in values.collect_schema():
        if features or made or out is not None:
            raise UsageError(f"{files[0]}: holds sums, whose features are chosen.")
        found = analysis.merge_slices(files, **options)
    elif len(files) > 1 or not features:
        raise UsageError("name one FILE with values per query, and its --features.")
    elif out is not None:
        sums = analysis.slices_state(values, features, **made)
        write(sums, out)
        emit(f"{out}: {sums['n'].sum()} queries; {', '.join(features)}\n")
        return
    elif "part" in made:
        raise UsageError("--part names the sums that --out writes.")
    else:
        found = analysis.slices(values, features, **made, **options)
    show_frame(found, "Slices, the largest impact first", keys=1, format=format)


def _edges(text: str) -> tuple[str, list[float]]:
    name, sign, numbers = text.rpartition("=")
    try:
        found = [float(number) for number in numbers.split(",")]
    except ValueError:
        sign = ""
    if not sign or not name:
        raise UsageError(
            f"--edges is FEATURE=NUMBERS, such as words=2,4, not {text!r}."
        )
    return name, found


def before_and_after(
    files: Sequence[str], data: Input, options: Options
) -> tuple[pl.LazyFrame, Any, Options]:
    """The first run, the other or others by name, and the options about them."""
    if len(files) < 2:
        raise UsageError("name two runs or more, the one before the change first.")
    runs, options = runs_of(files, data, options, judged=False)
    if not isinstance(runs, dict):
        raise UsageError("name two runs or more, and the judgments last.")
    (_, before), *others = runs.items()
    after = others[0][1] if len(others) == 1 else dict(others)
    return before, after, options


Explained: TypeAlias = analysis.Reasons | analysis.SeveralReasons


def _show(
    found: analysis.Changes | Explained, part: Part | None, format: str | None
) -> None:
    form = chosen(format)
    if part is None and form not in ("csv", "tsv", "json"):
        told = written(found, form)
        if not isinstance(found, analysis.Changes):
            told += shown(largest_parts(found), form)
        emit(told + "\n")
        return
    name = part or "summary"
    rows = getattr(found, name)
    if rows is None:
        raise UsageError("--table segments needs segments: name --by.")
    rows = rows.lazy().collect(engine="streaming")
    texts = [*takewhile(lambda dtype: dtype == pl.String, rows.dtypes)]
    show_frame(rows, name.capitalize(), keys=len(texts), format=form)


def largest_parts(found: Explained) -> Table:
    """The largest parts of differences; files are read for them once more."""
    parts = found.largest()
    title = f"The largest parts of the difference in {found.settings['measure']}"
    return table_of(parts, title, parts.columns.index("queries"))


def shown(table: Table, format: str) -> str:
    """A table below others, in the format that they have."""
    return "\n\n" + (as_markdown if format == "markdown" else as_text)(table)
