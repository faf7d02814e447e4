"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import polars as pl
from cyclopts import CycloptsError, Parameter

import polars_rank
import polars_rank.example
from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.options import Duplicates, Layout, Stat
from polars_rank._engine.plan import Finish, plan_both
from polars_rank._engine.request import Request
from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import private_folder
from polars_rank.cli.bar import Bar
from polars_rank.cli.options import (
    CHOICE,
    COLUMNS,
    DEFAULT_INPUT,
    FILE,
    FILES,
    LESS,
    MEASURES,
    OUTPUT,
    RESOURCE,
    Columns,
    Convention,
    Formats,
    Grade,
    Input,
    MaxRank,
    MissingValue,
    NoRelevantValue,
    OneColumn,
    Options,
    Paths,
    QuoteFormulas,
    TieOrder,
    UnjudgedPlace,
    several,
    with_judgments,
)
from polars_rank.cli.runs import STDIN, Files, Run, open_file
from polars_rank.cli.show import inert, show_means, show_values
from polars_rank.cli.words import remark
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT, convention_of
from polars_rank.io import write
from polars_rank.io.formats import extensions, format_of


def evaluate(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    queries: Annotated[str | None, FILE] = None,
    segments: Annotated[str | None, FILE] = None,
    example: Annotated[bool, Parameter(group=FILES), LESS] = False,
    measure: Annotated[
        tuple[str, ...],
        Parameter(name=("--measure", "-m"), metavar="MEASURE", show_default=" ".join),
        CHOICE,
    ] = MEASURES,
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False,
    subtopic: OneColumn = None,
    rank: OneColumn = None,
    system: OneColumn = None,
    by: Columns = (),
    weight: OneColumn = None,
    stats: Annotated[tuple[Stat, ...], CHOICE, Parameter(show_default=" ".join)] = (
        "mean",
    ),
    keep: Columns = (),
    convention: Convention = DEFAULT,
    no_relevant: NoRelevantValue = None,
    ties: TieOrder = None,
    missing: MissingValue = None,
    unjudged: UnjudgedPlace = None,
    rel: Grade = None,
    check: Annotated[Check, CHOICE] = "strict",
    on_duplicate: Annotated[Duplicates, CHOICE] = "error",
    layout: Annotated[Layout, RESOURCE] = "auto",
    memory_limit: Annotated[str | None, Parameter(metavar="SIZE"), RESOURCE] = None,
    temp_dir: Annotated[str | None, Parameter(metavar="FOLDER"), RESOURCE] = None,
    max_rank: MaxRank = None,
    format: Formats = None,
    per_query: Annotated[str | None, Parameter(group=OUTPUT, metavar="FILE")] = None,
    each: Annotated[bool, Parameter(name="-q", group=OUTPUT), LESS] = False,
    quote_formulas: QuoteFormulas = False,
) -> None:
    """Print the mean of every measure over the queries.

    A single FILE needs scores and labels. Of several, the last holds the judgments and
    the others are runs; with --qrels, or if the last has scores, too, all of them are
    runs. A line on standard error says which is which. A FILE may be a folder, a quoted
    glob or - for standard input; its extension names the format: parquet, arrow, csv,
    tsv, ndjson. With any other extension it is TREC text. Text may be gzipped.

    Parameters
    ----------
    files
        Runs and judgments, as described above.
    queries
        File with the queries to evaluate, one row per query; it may have the columns
        of --by and --weight.
    segments
        File with attributes of queries, one row per query, for --by, --weight and
        --keep; it does not change which queries are evaluated.
    example
        Evaluate the example that ships with the package.
    measure
        Measures to compute, e.g. ndcg@10,ap; or a group: official, all_trec or a
        family; may be repeated; see: polars-rank measures.
    lower_is_better
        Rank low scores first, as for distances.
    subtopic
        Subtopic of the grade, in the judgments (in TREC text: iteration).
    rank
        Rank of the document, counted from 1, to use instead of a score.
    system
        Column that names the systems in one file; with several runs, name of the
        output column with the file names (default: system).
    by
        Column that splits the means into segments, constant within a query; may be
        repeated.
    weight
        Weight of the query in the means.
    stats
        Statistics to print for each measure: the mean, the number of queries that have
        a value (n), their standard deviation (std), the standard error of the mean
        (se); may be repeated.
    keep
        Column to add to the values per query; may be repeated.
    convention
        Tool whose choices to follow; see: polars-rank conventions.
    no_relevant
        Value of a query with nothing relevant.
    ties
        Order of documents with equal scores.
    missing
        Value of a judged query that is missing from the run.
    unjudged
        What to do with unjudged documents: count them as not relevant, or drop them.
    rel
        Lowest grade that counts as relevant.
    check
        What to do about bad rows: strict raises an error, warn warns, off ignores.
    on_duplicate
        What to do about duplicate documents within a query.
    layout
        Order of the rows: contiguous by query (verified), any, or auto to find out.
    memory_limit
        Memory limit, e.g. 2GB; queries are spilled to disk.
    temp_dir
        Folder for spill files; an interrupted evaluation resumes from it.
    max_rank
        Count documents below this rank as not retrieved.
    format
        Default: table on a terminal, csv elsewhere.
    per_query
        Also write the values of every query to this file; with -, print them instead of
        the means.
    each
        Print the values of every query instead of the means.
    quote_formulas
        In CSV and TSV, put ' before text that begins with =, +, - or @, which a
        spreadsheet would run as a formula.
    """
    if example and (files or data.qrels):
        raise CycloptsError(msg="--example brings its own data; give no FILE with it.")
    if example:
        files = (str(polars_rank.example.path()),)
    bar = Bar()
    each = each or per_query == STDIN
    target = None if per_query in (None, STDIN) else _target(per_query)
    measure = several(measure)
    given = data.sort_out(files, rank)
    named = {"queries": queries, "segments": segments}
    described = {side: file for side, file in named.items() if file is not None}
    given = replace(given, about_queries=described)
    about = [*described.values()]
    if len(given.sources) > 1:
        remark(str(given))
    choices = {
        "no_relevant": no_relevant,
        "ties": ties,
        "missing": missing,
        "unjudged": unjudged,
        "rel": rel,
    }
    changed = {n: str(v) for n, v in choices.items() if v is not None}
    options = Options(
        **data.options(given),
        descending=not lower_is_better,
        subtopic=subtopic,
        rank=rank,
        queries=None if queries is None else open_file(queries, "qrels"),
        segments=None if segments is None else open_file(segments, "qrels"),
        keep=keep,
        by=by,
        weight=weight,
        stats=stats,
        convention=convention,
        **choices,
        check=check,
        on_duplicate=on_duplicate,
        layout=layout,
        memory_limit=memory_limit,
        temp_dir=temp_dir,
        progress=None if memory_limit is None else bar.told,
        max_rank=max_rank,
    )
    plans = _plans(given, measure, system, options)
    if each:
        with bar:
            found = _passes(given, [plan.values() for plan in plans])
            values = pl.concat(found, how="vertical_relaxed")
        apart = {*data.query, *keep, *([] if system is None else [system])}
        keys = len(apart) + (len(plans) > 1 and system is None)
        show_values(values, keys=keys, format=format, quote_formulas=quote_formulas)
        return
    with bar:
        means = _collect(given, plans, target, quote_formulas=quote_formulas)
    sources = ["example"] if example else [*given.sources]
    sources += about
    show_means(
        pl.concat(means, how="vertical_relaxed"),
        keys=means[0].columns.index("queries"),
        quote_formulas=quote_formulas,
        notes=[
            " ".join(["convention", convention, *_written(changed)]),
            *([] if max_rank is None else [f"max rank {max_rank}"]),
            *([] if weight is None else [f"weighted by {weight}"]),
            _listed(sources),
        ],
        format=format,
    )


def _target(file: str) -> Path:
    """The file for the values of every query."""
    if not file.lower().endswith(tuple(extensions())):
        names = ", ".join(extensions())
        raise CycloptsError(
            msg=f"--per-query {file}: its name must end in a format: {names}."
        )
    return Path(file)


@dataclass(frozen=True)
class Plan:
    """What to compute for one run: the arguments, and the column that names it."""

    frame: pl.LazyFrame
    measures: Sequence[str]
    options: Options
    label: tuple[str, str] | None = None
    system: str | None = None  # column that tells systems within one file apart

    def means(self) -> pl.LazyFrame:
        """Means alone."""
        options = {n: v for n, v in self.options.items() if n != "keep"}
        return self._labeled(polars_rank.evaluate(self.frame, self.measures, **options))

    def values(self) -> pl.LazyFrame:
        """Values per query alone."""
        only_means = ("by", "weight", "stats")
        options = {n: v for n, v in self.options.items() if n not in only_means}
        return self._labeled(
            polars_rank.per_query(self.frame, self.measures, **options)
        )

    def both(self) -> tuple[pl.LazyFrame, Finish]:
        """One row per query, and functions that make means and values of these rows."""
        rows, finish = plan_both(
            Request.of(self.frame, self.measures, result="means", **self.options)
        )

        def labeled(kept: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
            means, values = finish(kept)
            return self._labeled(means), self._labeled(values)

        return rows, labeled

    def _labeled(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Put a column with the name of the run first."""
        if self.label is None:
            return frame
        column, name = self.label
        return frame.select(pl.lit(name).alias(column), pl.all())


def _plans(
    given: Files, measures: Sequence[str], system: str | None, options: Options
) -> list[Plan]:
    """Plan each run; a single run is split by its systems."""
    alone = len(given.runs) == 1
    if alone:
        options = _apart(given.runs[0], system, options)
    column = system or "system"
    taken = [*options["query"], *(options["by"] or ()), "queries", *measures]
    if not alone and column in taken:
        raise CycloptsError(
            msg=f"{column} is taken; choose another name with --system."
        )
    plans = []
    for run in given.runs:
        with given.about(run):
            frame, changed = with_judgments(given, run, options)
            label = None if alone else (column, run.name)
            plan = Plan(frame, measures, changed, label, system)
            for planned in (plan.means, plan.values):
                planned()  # for errors in the arguments, before anything is read
        if not alone:
            run.require_room(column)
        plans.append(plan)
    return plans


def _collect(
    given: Files, plans: Sequence[Plan], target: Path | None, *, quote_formulas: bool
) -> list[pl.DataFrame]:
    """Compute the means, run by run; in the same pass, the values for ``target``."""
    if target is None:
        return list(_passes(given, [plan.means() for plan in plans]))
    means = []
    with private_folder(target.parent) as folder, full_disk(target):
        parts = [folder / f"{i}.parquet" for i in range(len(plans))]
        for run, plan, part in zip(given.runs, plans, parts, strict=True):
            with given.about(run), full_disk(target):
                means.append(_write_both(plan, part))
        values = pl.concat(map(pl.scan_parquet, parts), how="vertical_relaxed")
        format = format_of(target)
        if quote_formulas and format is not None and format.separator:
            values = inert(values)
        write(values, target, metadata=_about(plans[0], values))
    return means


def _about(plan: Plan, values: pl.LazyFrame) -> dict[str, str]:
    """Metadata of a file of values: version, measures, convention, query."""
    from polars_rank.comparison.sums.definition import Definition

    options = plan.options
    chosen = {name: options[name] for name in SHORTCUTS}
    others = {*options["query"], *options["keep"], plan.system, options["weight"]}
    schema = values.collect_schema()
    measures = [n for n, t in schema.items() if t.is_float() and n not in others]
    convention = convention_of(options["convention"], **chosen)
    query = [name for name in options["query"] if name != plan.system]
    return Definition.of(measures, convention, query, options=options).metadata()


def _passes(given: Files, frames: Sequence[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """Read one run after the other."""
    for run, frame in zip(given.runs, frames, strict=True):
        with given.about(run):
            yield frame.collect(engine="streaming")


def _write_both(plan: Plan, part: Path) -> pl.DataFrame:
    """Write the values of every query, and return the means."""
    rows, finish = plan.both()
    kept = part.with_name(f"rows-{part.name}")
    rows.sink_parquet(kept, compression="lz4", engine="streaming")
    means, values = finish(pl.scan_parquet(kept, glob=False))
    result = means.collect(engine="streaming")
    values.sink_parquet(part, engine="streaming")
    kept.unlink()
    return result


def _apart(run: Run, system: str | None, options: Options) -> Options:
    """Evaluate the systems of one file separately: as part of the query id."""
    if system is None:
        return options
    run.require(system, "Name the column of the systems with --system.")
    query = [system, *(name for name in options["query"] if name != system)]
    by = [system, *(name for name in options["by"] or () if name != system)]
    other = options["qrels_query"] and [system, *options["qrels_query"]]
    return options | Options(query=query, by=by, qrels_query=other)


def _written(changed: Mapping[str, str]) -> list[str]:
    return [f"--{name.replace('_', '-')} {value}" for name, value in changed.items()]


def _listed(files: Sequence[str]) -> str:
    more = len(files) - 6
    return ", ".join(files if more < 2 else [*files[:6], f"and {more} more"])
