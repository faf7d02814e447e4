"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

import polars_rank
import polars_rank.example
from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import private_folder
from polars_rank.cli.derive import UsageError, accepted, options_of
from polars_rank.cli.input.options import MEASURES, Input, convention_in
from polars_rank.cli.input.runs import Files, Options, Run, chosen, opened, taken
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.words import STDIN, remark
from polars_rank.cli.shown import SEPARATORS, Shown, inert
from polars_rank.comparison.sums.definition import Definition
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT
from polars_rank.evaluation.both import both_from_file
from polars_rank.io import write
from polars_rank.io.formats import extensions, format_of
from polars_rank.measures.measure import parse_measures, reads_labels

Evaluating: TypeAlias = Callable[..., pl.LazyFrame]  # evaluate, or per_query
BESIDE = ("queries", "segments", "history", "items")  # files beside runs and judgments


@options_of(polars_rank.evaluate, polars_rank.per_query, measures=MEASURES)
def evaluate(
    *files: str,
    data: Input,
    example: bool = False,
    system: str | None = None,
    shown: Shown,
    per_query: str | None = None,
    each: bool = False,
    quote_formulas: bool = False,
    **options: Any,
) -> None:
    """Print the mean of every measure over the queries.

    A single FILE needs scores and labels. Of several, the last holds the judgments and
    the others are runs; with --qrels, or if the last has scores, too, all of them are
    runs. A line on standard error says which is which. A FILE may be a folder, a quoted
    glob or - for standard input; its extension names the format: parquet, arrow, csv,
    tsv, ndjson, json. With any other extension it is TREC text, or svmlight text if
    its lines have a qid:. Text may be gzipped.
    """
    if example:
        files = data.only_example(files, polars_rank.example.path())
    target = None if per_query in (None, STDIN) else _target(per_query)
    measures = options.pop("measures")
    described = taken(options, BESIDE)
    judged = reads_labels(parse_measures(measures))
    given = data.sort_out(files, options.get("rank"), judged=judged)
    given = replace(given, beside=described)
    if len(given.sources) > 1:
        remark(str(given))
    asked = data.options(given) | opened(described) | options
    bar = Bar(asked)
    every = each or per_query == STDIN
    functions: list[Evaluating] = [polars_rank.evaluate]
    functions += [polars_rank.per_query] * (every or target is not None)
    plans = _plans(given, measures, system, asked, functions)
    with bar:
        if target is None or every:
            plans_of = [plan.of(functions[-1]) for plan in plans]
            found = pl.concat(_passes(given, plans_of), how="vertical_relaxed")
        else:
            found = _write(given, plans, target, system, quoted=quote_formulas)
    if quote_formulas and shown.form in SEPARATORS:
        found = inert(found)
    if every:
        named = {*data.query, *options.get("keep", ()), *filter(None, [system])}
        shown.values(found, len(named) + (len(plans) > 1 and system is None))
    else:
        sources = ["example"] if example else given.sources
        shown.means(found, _notes(options, [*sources, *described.values()]))


def _notes(options: Options, files: Sequence[str]) -> list[str]:
    """Say below the means what they are."""
    convention = ["convention", options.get("convention", DEFAULT)]
    for name, choice in chosen(options, SHORTCUTS).items():
        convention.append(f"--{name.replace('_', '-')} {choice}")
    said = {"max_rank": "max rank", "weight": "weighted by"}
    more = [f"{said[name]} {value}" for name, value in chosen(options, said).items()]
    listed = files if len(files) < 8 else [*files[:6], f"and {len(files) - 6} more"]
    return [" ".join(convention), *more, ", ".join(listed)]


def _target(file: str) -> Path:
    """The file for the values of every query."""
    if not file.lower().endswith(tuple(extensions())):
        names = ", ".join(extensions())
        raise UsageError(f"--per-query {file}: its name must end in a format: {names}.")
    return Path(file)


@dataclass(frozen=True)
class Plan:
    """What to compute for one run, and the column that names it."""

    run: Run
    frame: pl.LazyFrame
    measures: Sequence[str]
    options: Options
    column: str | None

    def of(self, function: Evaluating) -> pl.LazyFrame:
        """Means alone, or values per query alone."""
        options = accepted(function, self.options)
        return self._named(function(self.frame, self.measures, **options))

    def write(self, target: Path) -> pl.DataFrame:
        """Write the values of every query, and return the means."""
        kept = target.with_name(f"rows-{target.name}")
        both = both_from_file(self.frame, self.measures, kept, **self.options)
        means, values = map(self._named, both)
        result = means.collect(engine="streaming")
        values.sink_parquet(target, engine="streaming")
        kept.unlink()
        return result

    def _named(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame if self.column is None else self.run.named(frame, self.column)


def _plans(
    given: Files,
    measures: Sequence[str],
    system: str | None,
    options: Options,
    functions: Sequence[Evaluating],
) -> list[Plan]:
    """Plan each run for these functions; a single run is split by its systems."""
    column = None if len(given.runs) == 1 else system or "system"
    if column is None and system is not None:
        options = given.runs[0].apart(system, options)
        options["by"] = [system, *(n for n in options.get("by", ()) if n != system)]
    if column in (*options["query"], *options.get("by", ()), "queries", *measures):
        raise UsageError(f"{column} is taken; choose another name with --system.")

    def planned(run: Run, frame: pl.LazyFrame, own: Options) -> Plan:
        plan = Plan(run, frame, measures, own, column)
        for function in functions:  # for wrong arguments, before anything is read
            plan.of(function)
        return plan

    return given.each(planned, options)


def _passes(given: Files, frames: Sequence[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """Read one run after the other."""
    for run, frame in zip(given.runs, frames, strict=True):
        with given.about(run):
            yield frame.collect(engine="streaming")


def _write(
    given: Files,
    plans: Sequence[Plan],
    target: Path,
    system: str | None,
    *,
    quoted: bool,
) -> pl.DataFrame:
    """Compute the means and, in the same pass, the values of every query."""
    means = []
    with private_folder(target.parent) as folder, full_disk(target):
        parts = [folder / f"{i}.parquet" for i in range(len(plans))]
        for plan, part in zip(plans, parts, strict=True):
            with given.about(plan.run), full_disk(target):
                means.append(plan.write(part))
        values = pl.concat(map(pl.scan_parquet, parts), how="vertical_relaxed")
        format = format_of(target)
        if quoted and format is not None and format.separator:
            values = inert(values)
        write(values, target, metadata=_about(plans[0], values, system))
    return pl.concat(means, how="vertical_relaxed")


def _about(plan: Plan, values: pl.LazyFrame, system: str | None) -> dict[str, str]:
    """Metadata of a file of values: version, measures, convention, query."""
    options = plan.options
    others = {
        *options["query"],
        *options.get("keep", ()),
        system,
        options.get("weight"),
    }
    schema = values.collect_schema()
    measures = [n for n, t in schema.items() if t.is_float() and n not in others]
    query = [name for name in options["query"] if name != system]
    how = convention_in(options), query
    return Definition.of(measures, *how, options=options).metadata()
