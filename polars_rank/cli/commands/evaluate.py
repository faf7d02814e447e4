"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

import polars_rank
import polars_rank.example
from polars_rank._engine.plan import plan_both
from polars_rank._engine.request import Request
from polars_rank._files.errors import full_disk
from polars_rank._files.temporary import private_folder
from polars_rank.cli.derive import UsageError, options_of
from polars_rank.cli.input.options import MEASURES, Input, convention_in
from polars_rank.cli.input.runs import Files, Options, Run, open_file
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.show import inert, show_means, show_values
from polars_rank.cli.output.words import STDIN, remark
from polars_rank.cli.shown import Shown
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT
from polars_rank.evaluation.deciding import FRAMES, OPTIONS
from polars_rank.io import write
from polars_rank.io.formats import extensions, format_of
from polars_rank.measures.measure import parse_measures, reads_labels

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
    described = {name: options.pop(name) for name in BESIDE if name in options}
    judged = reads_labels(parse_measures(measures))
    given = data.sort_out(files, options.get("rank"), judged=judged)
    given = replace(given, beside=described)
    if len(given.sources) > 1:
        remark(str(given))
    frames = {side: open_file(file, "qrels") for side, file in described.items()}
    asked = Options(**data.options(given), **frames, **options)
    quoted = quote_formulas and shown.form in ("csv", "tsv")
    bar = Bar.of(asked)
    means_alone = per_query is None and not each
    plans = _plans(given, measures, system, asked, means_alone=means_alone)
    if each or per_query == STDIN:
        with bar:
            values = _passes(given, [plan.values() for plan in plans])
        named = {*data.query, *options.get("keep", ()), *filter(None, [system])}
        keys = len(named) + (len(plans) > 1 and system is None)
        values = inert(values) if quoted else values
        show_values(values, keys=keys, format=shown.form)
        return
    with bar:
        if target is None:
            means = _passes(given, [plan.means() for plan in plans])
        else:
            means = _write(given, plans, target, quote_formulas=quote_formulas)
    sources = ["example"] if example else given.sources
    notes = _notes(options, [*sources, *described.values()])
    keys = means.columns.index("queries")
    means = inert(means) if quoted else means
    show_means(means, notes, keys=keys, format=shown.form)


def _notes(chosen: Options, files: Sequence[str]) -> list[str]:
    """Say below the means what they are."""
    convention = ["convention", chosen.get("convention", DEFAULT)]
    for name in SHORTCUTS:
        if name in chosen:
            convention.append(f"--{name.replace('_', '-')} {chosen[name]}")
    said = {"max_rank": "max rank", "weight": "weighted by"}
    more = [f"{words} {chosen[name]}" for name, words in said.items() if name in chosen]
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
    column: str | None = None
    system: str | None = None  # column that tells systems within one file apart

    def means(self) -> pl.LazyFrame:
        """Means alone."""
        return self._of(polars_rank.evaluate, "keep")

    def values(self) -> pl.LazyFrame:
        """Values per query alone."""
        return self._of(polars_rank.per_query, "by", "weight", "stats")

    def _of(self, function: Callable[..., pl.LazyFrame], *lacks: str) -> pl.LazyFrame:
        options = {n: v for n, v in self.options.items() if n not in lacks}
        return self._named(function(self.frame, self.measures, **options))

    def write(self, target: Path) -> pl.DataFrame:
        """Write the values of every query, and return the means."""
        whole: Options = dict.fromkeys(FRAMES[2:]) | OPTIONS | self.options
        rows, finish = plan_both(
            Request.of(self.frame, self.measures, result="means", **whole)
        )
        kept = target.with_name(f"rows-{target.name}")
        rows.sink_parquet(kept, compression="lz4", engine="streaming")
        means, values = map(self._named, finish(pl.scan_parquet(kept, glob=False)))
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
    *,
    means_alone: bool,
) -> list[Plan]:
    """Plan each run; a single run is split by its systems."""
    alone, column = len(given.runs) == 1, system or "system"
    if alone and system is not None:
        options = given.runs[0].apart(system, options)
        options["by"] = [system, *(n for n in options.get("by", ()) if n != system)]
    taken = [*options["query"], *options.get("by", ()), "queries", *measures]
    if not alone and column in taken:
        raise UsageError(f"{column} is taken; choose another name with --system.")
    plans = []
    for run in given.runs:
        with given.about(run):
            frame, own = given.with_judgments(run, options)
            named = None if alone else column
            plans.append(Plan(run, frame, measures, own, named, system))
            plans[-1].means()  # for errors in the arguments, before anything is read
            if not means_alone:
                plans[-1].values()
    return plans


def _passes(given: Files, frames: Sequence[pl.LazyFrame]) -> pl.DataFrame:
    """Read one run after the other."""
    found = []
    for run, frame in zip(given.runs, frames, strict=True):
        with given.about(run):
            found.append(frame.collect(engine="streaming"))
    return pl.concat(found, how="vertical_relaxed")


def _write(
    given: Files, plans: Sequence[Plan], target: Path, *, quote_formulas: bool
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
        if quote_formulas and format is not None and format.separator:
            values = inert(values)
        write(values, target, metadata=_about(plans[0], values))
    return pl.concat(means, how="vertical_relaxed")


def _about(plan: Plan, values: pl.LazyFrame) -> dict[str, str]:
    """Metadata of a file of values: version, measures, convention, query."""
    from polars_rank.comparison.sums.definition import Definition

    options = plan.options
    keep, weight = options.get("keep", ()), options.get("weight")
    others = {*options["query"], *keep, plan.system, weight}
    schema = values.collect_schema()
    measures = [n for n, t in schema.items() if t.is_float() and n not in others]
    convention = convention_in(options)
    query = [name for name in options["query"] if name != plan.system]
    return Definition.of(measures, convention, query, options=options).metadata()
