"""The commands ``changes``, ``reasons`` and others: why a value moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_rank import analysis
from polars_rank.cli.derive import UsageError, assigned, options_of
from polars_rank.cli.input.options import Input
from polars_rank.cli.input.runs import Options, open_file, taken
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.words import emit
from polars_rank.cli.shown import SEPARATORS, Shown, as_form, table_of, written
from polars_rank.core.exact.state import DEFINITION
from polars_rank.exceptions import counted
from polars_rank.io.write import write

Part: TypeAlias = Literal["summary", "segments", "queries", "documents"]
Explained: TypeAlias = analysis.Reasons | analysis.SeveralReasons
OURS = ("after", "qrels", "system")


@options_of(analysis.changes, without=OURS)
def changes(
    *files: str, data: Input, table: Part | None = None, shown: Shown, **options: Any
) -> None:
    """Compare the first documents of two runs: overlap, moves, what entered and left.

    The FILEs are the run before the change, the run after it, or several, and, if there
    are any, the judgments.
    """
    before, after, options = before_and_after(files, data, options)
    with Bar(options):
        found = analysis.changes(before, after, **options)
    _show(found, table, shown)


@options_of(analysis.reasons, without=OURS, measure="ndcg@10")
def reasons(
    *files: str, data: Input, table: Part | None = None, shown: Shown, **options: Any
) -> None:
    """Take a difference apart: documents, kinds of moves, labels, segments.

    The FILEs are the run before the change, the run after it, or several, and the
    judgments.
    """
    before, after, options = before_and_after(files, data, options)
    _require_judgments(options)
    if "qrels_before" in options:
        old = data.open(options["qrels_before"], "qrels")
        options["qrels_before"] = data.renamed(old)
    if table != "documents":  # the others do not have them
        options["max_documents"] = 0
    with Bar(options):
        found = analysis.reasons(before, after, **options)
    _show(found, table, shown)


@options_of(analysis.to_judge, without=OURS, measure="ndcg@10")
def to_judge(*files: str, data: Input, shown: Shown, **options: Any) -> None:
    """Name the unjudged documents whose label can change a mean, or an order, most.

    The FILEs are one run or several, and the judgments. With labels in its last column,
    what is printed as csv is a file of judgments.
    """
    runs, options = data.runs(files, options)
    _require_judgments(options)
    with Bar():
        found = analysis.to_judge(runs, **options)
    title = f"To judge, for {options['measure']}"
    shown.frame(found, title, len(data.query) + 1)


@options_of(analysis.contributions, without=OURS, measure="ndcg@10")
def contributions(*files: str, data: Input, shown: Shown, **options: Any) -> None:
    """Print what each document adds to the value of its query.

    The FILEs are a run and its judgments, or a log.
    """
    run, options = data.runs(files, options)
    if isinstance(run, dict):
        raise UsageError("name one run, and its judgments.")
    with Bar(options):
        found = analysis.contributions(run, **options).lazy().collect()
    title = f"What documents add to {options['measure']}"
    shown.frame(found, title, len(data.query) + 1)


@options_of(analysis.slices, analysis.slices_state)
def slices(
    *files: str,
    features: tuple[str, ...] = (),
    edges: tuple[str, ...] = (),
    out: Path | None = None,
    shown: Shown,
    **options: Any,
) -> None:
    """Find the slices of queries whose mean is far from that of the others.

    The FILE has a row per query, such as reasons --table queries writes, with columns
    of features. Or the FILEs are sums of days, which --out wrote, and add up.
    """
    if not files:
        raise UsageError("name a FILE: values per query, or sums that --out wrote.")
    made = taken(options, ("of", "query", "n_bins", "part"))
    if edges:
        form = "FEATURE=NUMBERS, such as words=2,4"
        made["edges"] = dict(assigned("--edges", e, form, _numbers) for e in edges)
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
        queries = counted(int(sums["n"].sum()), "query")
        emit(f"{out}: {queries}; {', '.join(features)}\n")
        return
    elif "part" in made:
        raise UsageError("--part names the sums that --out writes.")
    else:
        found = analysis.slices(values, features, **made, **options)
    shown.frame(found, "Slices, the largest impact first")


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _require_judgments(options: Options) -> None:
    if options["qrels"] is None:
        raise UsageError("name the judgments, last or with --qrels.")


def before_and_after(
    files: Sequence[str], data: Input, options: Options
) -> tuple[pl.LazyFrame, Any, Options]:
    """The first run, the other or others by name, and the options about them."""
    if len(files) < 2:
        raise UsageError("name two runs or more, the one before the change first.")
    runs, options = data.runs(files, options, judged=False)
    if not isinstance(runs, dict):
        raise UsageError("name two runs or more, and the judgments last.")
    return *first_and_others(runs), options


def first_and_others(runs: dict[str, pl.LazyFrame]) -> tuple[pl.LazyFrame, Any]:
    """The first run, and the other one or the others by name."""
    (_, before), *others = runs.items()
    return before, others[0][1] if len(others) == 1 else dict(others)


def _show(found: analysis.Changes | Explained, part: Part | None, shown: Shown) -> None:
    form = shown.form
    if part is None and form not in (*SEPARATORS, "json"):
        told = written(found, form)
        if not isinstance(found, analysis.Changes):  # files are read once more
            parts = found.largest()
            title = (
                f"The largest parts of the difference in {found.settings['measure']}"
            )
            keys = parts.columns.index("queries")
            told += "\n\n" + as_form(table_of(parts, title, keys), form)
        emit(told + "\n")
        return
    name = part or "summary"
    rows = getattr(found, name)
    if rows is None:
        raise UsageError("--table segments needs segments: name --by.")
    rows = rows.lazy().collect(engine="streaming")
    texts = [*takewhile(lambda dtype: dtype == pl.String, rows.dtypes)]
    shown.frame(rows, name.capitalize(), len(texts))
