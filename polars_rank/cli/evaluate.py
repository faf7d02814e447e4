"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import CycloptsError

import polars_rank
import polars_rank.example
from polars_rank._engine.plan import Finish, plan_both
from polars_rank._engine.request import Request
from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import private_folder
from polars_rank.cli.bar import Bar
from polars_rank.cli.derive import options_of, told
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    MEASURES,
    Example,
    Formats,
    Input,
    Options,
    Paths,
    QuoteFormulas,
    several,
    with_judgments,
)
from polars_rank.cli.runs import Files, Run, open_file
from polars_rank.cli.show import inert, show_means, show_values
from polars_rank.cli.words import STDIN, remark
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT, convention_of
from polars_rank.evaluation.deciding import FRAMES, OPTIONS
from polars_rank.io import write
from polars_rank.io.formats import extensions, format_of


@options_of(
    polars_rank.evaluate,
    polars_rank.per_query,
    without=("qrels", "query", "doc", "score", "label", "qrels_query", "qrels_doc"),
    measures=MEASURES,
)
def evaluate(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    example: Example = False,
    queries: Annotated[str | None, told("queries")] = None,
    segments: Annotated[str | None, told("segments")] = None,
    system: Annotated[
        str | None,
        told(
            "column",
            "Column that names the systems in one file; with several runs, name of the "
            "output column with the file names (default: system).",
        ),
    ] = None,
    format: Formats = None,
    per_query: Annotated[
        str | None,
        told(
            "output",
            "Also write the values of every query to this file; with -, print them "
            "instead of the means.",
            metavar="FILE",
        ),
    ] = None,
    each: Annotated[
        bool,
        told(
            "output",
            "Print the values of every query instead of the means.",
            name="-q",
        ),
    ] = False,
    quote_formulas: QuoteFormulas = False,
    **chosen: Any,
) -> None:
    """Print the mean of every measure over the queries.

    A single FILE needs scores and labels. Of several, the last holds the judgments and
    the others are runs; with --qrels, or if the last has scores, too, all of them are
    runs. A line on standard error says which is which. A FILE may be a folder, a quoted
    glob or - for standard input; its extension names the format: parquet, arrow, csv,
    tsv, ndjson, json. With any other extension it is TREC text, or svmlight text if
    its lines have a qid:. Text may be gzipped.
    """
    if example and (files or data.qrels):
        raise CycloptsError(msg="--example brings its own data; give no FILE with it.")
    if example:
        files = (str(polars_rank.example.path()),)
    bar = Bar()
    each = each or per_query == STDIN
    target = None if per_query in (None, STDIN) else _target(per_query)
    measure = several(chosen.pop("measures"))
    rank, weight = chosen.get("rank"), chosen.get("weight")
    given = data.sort_out(files, rank)
    named = {"queries": queries, "segments": segments}
    described = {side: file for side, file in named.items() if file is not None}
    given = replace(given, about_queries=described)
    about = [*described.values()]
    if len(given.sources) > 1:
        remark(str(given))
    changed = {n: str(chosen[n]) for n in SHORTCUTS if n in chosen}
    frames = {side: open_file(file, "qrels") for side, file in described.items()}
    options = Options(**data.options(given), **frames, **chosen)
    if "memory_limit" in chosen:
        options["progress"] = bar.told
    convention = chosen.get("convention", DEFAULT)
    max_rank, keep = chosen.get("max_rank"), chosen.get("keep", ())
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
        whole: Options = dict.fromkeys(FRAMES[2:]) | OPTIONS | self.options
        rows, finish = plan_both(
            Request.of(self.frame, self.measures, result="means", **whole)
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
    taken = [*options["query"], *options.get("by", ()), "queries", *measures]
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
    chosen = {name: options.get(name) for name in SHORTCUTS}
    keep, weight = options.get("keep", ()), options.get("weight")
    others = {*options["query"], *keep, plan.system, weight}
    schema = values.collect_schema()
    measures = [n for n, t in schema.items() if t.is_float() and n not in others]
    convention = convention_of(options.get("convention", DEFAULT), **chosen)
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
    by = [system, *(name for name in options.get("by", ()) if name != system)]
    other = options["qrels_query"] and [system, *options["qrels_query"]]
    return options | Options(query=query, by=by, qrels_query=other)


def _written(changed: Mapping[str, str]) -> list[str]:
    return [f"--{name.replace('_', '-')} {value}" for name, value in changed.items()]


def _listed(files: Sequence[str]) -> str:
    more = len(files) - 6
    return ", ".join(files if more < 2 else [*files[:6], f"and {more} more"])
