"""Values per query of the files that a comparison names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import polars as pl

import polars_rank
from polars_rank.cli.derive import UsageError
from polars_rank.cli.input.options import (
    ABOUT_ITEMS,
    EVALUATING,
    MEASURES,
    NONE_YET,
    Queried,
    Systems,
    convention_in,
)
from polars_rank.cli.input.runs import (
    Files,
    Options,
    Run,
    open_file,
    opened,
    require_column,
    taken,
)
from polars_rank.comparison.gate.left_documents import first_documents
from polars_rank.comparison.sums.definition import Definition
from polars_rank.comparison.sums.merging import definition_of_parts
from polars_rank.comparison.sums.moments import is_moments
from polars_rank.conventions.tools import DEFAULT
from polars_rank.example import systems_path
from polars_rank.exceptions import DataError
from polars_rank.io.frames import same_ids
from polars_rank.io.same_columns import concatenated
from polars_rank.io.unreadable import files_of
from polars_rank.measures.measure import parse_measures, reads_labels

Values: TypeAlias = tuple[pl.DataFrame, Definition]


def values_of(files: Sequence[str], data: Systems, options: Options) -> Values:
    """Values per query, or moments, of the systems, and what they are.

    The columns of the values are added to the options; see ``Asked.of``.
    """
    if data.example:
        files = data.only_example(files, systems_path())
    asked = Asked.of(data, options, options.get("system", "system"))
    options |= {"query": data.query, "measures": asked.measures or None}
    if data.wide is not None:
        if asked.measures or len(files) != 1:
            raise UsageError("--wide names the measure of one FILE, without --measure.")
        return asked.of_table(files[0], data.wide)
    return asked.values(files)


@dataclass(frozen=True)
class Asked:
    """What is wanted of files: the values of measures, and columns beside them.

    Without a ``system`` there is one only, whose values have a column ``documents``:
    the first of every query. ``about_items`` are files with the history and the items.
    """

    data: Queried
    measures: Sequence[str]
    beside: Sequence[str]
    choices: Options
    system: str | None = None
    about_items: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Queried, options: Options, system: str | None) -> Asked:
        """Take what says how runs are evaluated out of the options."""
        choices = {"convention": DEFAULT} | taken(options, EVALUATING)
        about_items = taken(options, ABOUT_ITEMS)
        measures = options.pop("measures", ())
        about = (*options.get("by", ()), options.get("weight"), options.get("cluster"))
        beside = [name for name in about if name is not None]
        return cls(data, measures, beside, choices, system, about_items)

    def values(self, files: Sequence[str]) -> Values:
        """Values per query of the files on the command line, and what they are."""
        data, choices = self.data, self.choices
        if not files:
            raise UsageError("name a FILE: runs and judgments, or values per query.")
        if self.system in data.query:
            raise UsageError(
                f"{self.system!r} is the column of the queries; name that of the "
                "systems with --system, or that of the queries with --query."
            )
        first = data.open(files[0], "run")
        names = first.collect_schema().names()
        if is_moments(names):
            days = open_moments(files, {files[0]: first}).values()
            none = Definition.of([], choices["convention"], data.query)
            return polars_rank.comparison.merge(days), definition_of_parts(days) or none
        place = choices.get("rank", data.score)
        if len(files) > 1 or data.qrels is not None or place in names:
            found, known = self._defined(files, first)
        else:
            found, known = self._read(files[0], first)
        return self.joined(found, files[0]), known

    def of_table(self, file: str, measure: str) -> Values:
        """Values of a table with a column for each system."""
        table = self.data.open(file, "run")
        known = [n for n in self.beside if n in table.collect_schema().names()]
        beside = [] if self.data.queries is not None else known
        keys = [*dict.fromkeys([*self.data.query, *beside])]
        try:
            values = polars_rank.from_wide(table, measure, query=keys)
        except (TypeError, pl.exceptions.ColumnNotFoundError) as error:
            msg = str(error).partition("; name the columns of systems")
            way = "; name it with --by, or leave it out of the file" * bool(msg[1])
            raise DataError(f"{file}: {msg[0]}{way}") from None
        if self.system not in (None, "system"):
            values = values.rename({"system": str(self.system)})
        found, definition = self._read(file, values)
        return self.joined(found, file), definition

    def _read(self, file: str, frame: pl.LazyFrame) -> Values:
        """Values that somebody wrote."""
        values = frame.collect(engine="streaming")
        floats = [name for name, dtype in values.schema.items() if dtype.is_float()]
        measures = list(self.measures or floats)
        convention = self.choices["convention"]
        known = Definition.read(file)
        return values, known or Definition.of(measures, convention, self.data.query)

    def _defined(self, files: Sequence[str], first: pl.LazyFrame) -> Values:
        """Values of runs."""
        data, choices = self.data, self.choices
        measures = list(self.measures or MEASURES)
        labeled = reads_labels(parse_measures(measures))
        opened = {files[0]: first}
        given = data.sort_out(files, choices.get("rank"), opened, judged=labeled)
        given = replace(given, beside=self.about_items)
        if self.system is None and len(given.runs) > 1:
            raise UsageError("name one new run, and its judgments.")
        values, options = self.of_runs(given), data.options(given) | choices
        judged = data.fingerprint(given, self.system)
        how = convention_in(choices), data.query, judged, options
        return values, Definition.of(measures, *how)

    def of_runs(self, given: Files) -> pl.DataFrame:
        """Values per query of runs; a single one may hold several systems."""
        system, single = self.system, len(given.runs) == 1
        beside = [] if self.data.queries is not None else [*dict.fromkeys(self.beside)]
        hint = "It must be in the runs, in the judgments or in --queries."

        def values_of(run: Run, frame: pl.LazyFrame, asked: Options) -> pl.DataFrame:
            frames = [one for one in (frame, given.qrels) if one is not None]
            known = [name for one in frames for name in one.collect_schema()]
            for name in beside:
                require_column(run.file, name, known, hint)
            keep = [n for n in beside if n not in {system, *asked["query"]}]
            if system is not None and single:
                asked = run.apart(system, asked)
            measures = list(self.measures or MEASURES)
            values = polars_rank.per_query(frame, measures, keep=keep, **asked)
            if system is None and asked["doc"] is not None:
                ids, doc = list(asked["query"]), asked["doc"]
                place = asked.get("rank") or asked["score"]
                high = asked.get("descending", True) and "rank" not in asked
                first = first_documents(frame, ids, doc, place, descending=high)
                values = values.join(first, on=ids, how="left", nulls_equal=True)
            found = values.collect(engine="streaming")
            return found if single else run.named(found, str(system))

        options = self.data.options(given) | self.choices | opened(self.about_items)
        found = given.each(values_of, options)
        parts = {
            run.file: own.lazy() for run, own in zip(given.runs, found, strict=True)
        }
        return concatenated(parts, "vertical_relaxed").collect()

    def joined(self, values: pl.DataFrame, file: str) -> pl.DataFrame:
        """Values with segment, weight and cluster, if a file has those of queries."""
        query, queries = self.data.query, self.data.queries
        if queries is None:
            return values
        chosen = open_file(queries, "qrels")
        columns = chosen.collect_schema().names()
        for name in [*query, *self.beside]:
            require_column(queries, name, columns, hint="")
        about = [name for name in dict.fromkeys(self.beside) if name not in query]
        values = values.drop([name for name in about if name in values.columns])
        wanted, ids = chosen.select(*query, *about), [(name, name) for name in query]
        left, right = same_ids(values.lazy(), wanted, [file, queries], ids)
        joined = left.join(right, on=list(query), how="left", maintain_order="left")
        return joined.collect()


def open_moments(
    files: Sequence[str], opened: Mapping[str, pl.LazyFrame] = NONE_YET
) -> dict[str, pl.LazyFrame]:
    """Scan files with moments: one frame per file, also of a quoted glob."""
    found: dict[str, pl.LazyFrame] = {}
    for name in files:
        frame = opened[name] if name in opened else open_file(name, "run")
        paths = [str(path) for path in files_of(frame)]
        parts = {p: open_file(p, "run") for p in paths} if len(paths) > 1 else {}
        for file, part in (parts or {name: frame}).items():
            if file in found:
                raise UsageError(f"{file} is given twice.")
            if not is_moments(part.collect_schema().names()):
                raise DataError(
                    f"{file}: holds no moments; make them with polars-rank moments."
                )
            found[file] = part
    return found
