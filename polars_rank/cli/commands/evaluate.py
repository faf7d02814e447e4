"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    if each and target is not None:
        raise UsageError("-q prints what --per-query FILE writes: choose one of them.")
    measures = options.pop("measures")
    described = taken(options, BESIDE)
    judged = reads_labels(parse_measures(measures))
    given = data.sort_out(files, options.get("rank"), judged=judged)
    given = replace(given, beside=described)
    if len(given.sources) > 1:
        remark(str(given))
    asked = data.options(given) | opened(described) | options
    bar, every = Bar(asked), each or per_query == STDIN
    wanted = Evaluation.of(given, measures, asked, system)
    plans = wanted.planned(polars_rank.evaluate)
    if every or target is not None:
        plans = wanted.planned(polars_rank.per_query)
    with bar:
        if every or target is None:
            found = wanted.read(plans)
        else:
            found = wanted.write(target, quoted=quote_formulas)
    if quote_formulas and shown.form in SEPARATORS:
        found = inert(found)
    if every:
        named = {*data.query, *options.get("keep", ()), *filter(None, [system])}
        shown.values(found, len(named) + (system is None and wanted.column is not None))
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
class Evaluation:
    """What to compute for each run, and the column that names it.

    A single run is split by its systems, if ``system`` is a column that tells them.
    """

    given: Files
    measures: Sequence[str]
    options: Options
    system: str | None
    column: str | None

    @classmethod
    def of(
        cls, given: Files, measures: Sequence[str], options: Options, system: str | None
    ) -> Evaluation:
        """Plan to tell the runs apart, or the systems of one."""
        column = None if len(given.runs) == 1 else system or "system"
        if column is None and system is not None:
            options = given.runs[0].apart(system, options)
            options["by"] = [system, *(n for n in options.get("by", ()) if n != system)]
        if column in (*options["query"], *options.get("by", ()), "queries", *measures):
            raise UsageError(f"{column} is taken; choose another name with --system.")
        return cls(given, measures, options, system, column)

    def planned(self, function: Evaluating) -> list[pl.LazyFrame]:
        """A plan for each run; wrong arguments are told before anything is read."""

        def plan(run: Run, frame: pl.LazyFrame, own: Options) -> pl.LazyFrame:
            found = function(frame, self.measures, **accepted(function, own))
            return self._named(run, found)

        return self.given.each(plan, self.options)

    def read(self, plans: Sequence[pl.LazyFrame]) -> pl.DataFrame:
        """Read one run after the other."""
        found = []
        for run, plan in zip(self.given.runs, plans, strict=True):
            with self.given.about(run):
                found.append(plan.collect(engine="streaming"))
        return pl.concat(found, how="vertical_relaxed")

    def write(self, target: Path, *, quoted: bool) -> pl.DataFrame:
        """Compute the means and, in the same pass, write the values of every query."""
        with private_folder(target.parent) as folder, full_disk(target):
            rows, parts = folder / "rows.parquet", list[Path]()

            def part(run: Run, frame: pl.LazyFrame, own: Options) -> pl.DataFrame:
                parts.append(folder / f"{len(parts)}.parquet")
                with full_disk(target):
                    both = both_from_file(frame, self.measures, rows, **own)
                    means, values = (self._named(run, plan) for plan in both)
                    found = means.collect(engine="streaming")
                    values.sink_parquet(parts[-1], engine="streaming")
                rows.unlink()
                return found

            found = self.given.each(part, self.options)
            whole = pl.concat(map(pl.scan_parquet, parts), how="vertical_relaxed")
            format = format_of(target)
            if quoted and format is not None and format.separator:
                whole = inert(whole)
            write(whole, target, metadata=self._about(whole))
        return pl.concat(found, how="vertical_relaxed")

    def _named(self, run: Run, frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame if self.column is None else run.named(frame, self.column)

    def _about(self, values: pl.LazyFrame) -> dict[str, str]:
        """Metadata of a file of values: version, measures, convention, query."""
        options, schema = self.options, values.collect_schema()
        query = [name for name in options["query"] if name != self.system]
        others = {*query, *options.get("keep", ()), self.system, options.get("weight")}
        measures = [n for n, t in schema.items() if t.is_float() and n not in others]
        how = convention_in(options), query
        return Definition.of(measures, *how, options=options).metadata()
