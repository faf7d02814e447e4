"""Values per query of the files that a comparison names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from cyclopts import CycloptsError

import polars_rank
from polars_rank.cli.options import (
    EVALUATING,
    MEASURES,
    Input,
    Options,
    several,
    with_judgments,
)
from polars_rank.cli.runs import NONE_YET, Files, open_file
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT, convention_of
from polars_rank.core.registry import closest
from polars_rank.example import systems_path
from polars_rank.exceptions import DataError
from polars_rank.io.frames import same_ids
from polars_rank.io.same_columns import concatenated
from polars_rank.io.unreadable import files_of

if TYPE_CHECKING:
    from polars_rank.comparison.sums.definition import Definition


def values_of_systems(
    files: Sequence[str],
    data: Input,
    options: Options,
    *,
    example: bool,
    queries: str | None,
) -> tuple[pl.DataFrame, Definition]:
    """Values per query, or moments, of the systems, and what they are.

    What says how runs are evaluated is taken out of the options; the columns of the
    values are put in their place.
    """
    if example and (files or data.qrels):
        raise CycloptsError(msg="--example brings its own data; give no FILE with it.")
    choices = {name: options.pop(name) for name in EVALUATING if name in options}
    measures = several(options.pop("measures", ()))
    about = (*options.get("by", ()), options.get("weight"), options.get("cluster"))
    system = options.get("system", "system")
    found = values_of(
        [str(systems_path())] if example else files,
        data,
        queries,
        measures,
        system,
        [*filter(None, about)],
        {"convention": DEFAULT} | choices,
    )
    options |= {"query": data.query, "measures": measures or None}
    return found


def values_of(
    files: Sequence[str],
    data: Input,
    queries: str | None,
    measures: Sequence[str],
    system: str | None,
    attributes: Sequence[str],
    choices: Options,
    *,
    listed: bool = False,
) -> tuple[pl.DataFrame, Definition]:
    """Values per query of the files on the command line, and what they are.

    Those of ``listed`` runs have a column ``documents``: the first of every query.
    """
    from polars_rank.comparison.sums.definition import Definition, fingerprint
    from polars_rank.comparison.sums.merging import definition_of_parts
    from polars_rank.comparison.sums.moments import is_moments

    if not files:
        raise CycloptsError(msg="name a FILE: runs and judgments, or values per query.")
    if system in data.query:
        msg = (
            f"{system!r} is the column of the queries; name that of the systems with "
            "--system, or that of the queries with --query."
        )
        raise CycloptsError(msg=msg)
    place, convention = choices.get("rank", data.score), choices["convention"]
    first = open_file(files[0], "run", data.readings[0])
    names = first.collect_schema().names()
    if is_moments(names):
        days = open_moments(files, {files[0]: first}).values()
        table, known = polars_rank.comparison.merge(days), definition_of_parts(days)
        return table, known or Definition.of([], convention, data.query)
    if len(files) == 1 and data.qrels is None and place not in names:
        values = first.collect(engine="streaming")
        if queries is not None:
            values = _with_attributes(values, files, queries, data.query, attributes)
        told = Definition.read(files[0])
        columns = measures or [n for n, t in values.schema.items() if t.is_float()]
        return values, told or Definition.of(list(columns), convention, data.query)
    chosen = list(measures or MEASURES)
    given = data.sort_out(files, choices.get("rank"), {files[0]: first})
    if system is None and len(given.runs) > 1:
        raise CycloptsError(msg="name one new run, and its judgments.")
    options = data.options(given) | choices
    about = [] if queries is not None else attributes
    parts = {
        run.file: _of_run(
            given, i, options, chosen, system, about, listed=listed
        ).lazy()
        for i, run in enumerate(given.runs)
    }
    values = concatenated(parts, "vertical_relaxed").collect()
    if queries is not None:
        values = _with_attributes(values, files, queries, data.query, attributes)
    judged = None
    if given.qrels is not None:
        ids = [c for c in data.qrels_query or data.query if c != system]
        about = [data.qrels_doc or options["doc"], options["label"]]
        judged = fingerprint(given.qrels, [*ids, *filter(None, about)])
    changed = {n: choices[n] for n in SHORTCUTS if n in choices}
    if changed:
        convention = convention_of(convention, **changed)
    return values, Definition.of(chosen, convention, data.query, judged, options)


def open_moments(
    files: Sequence[str], opened: Mapping[str, pl.LazyFrame] = NONE_YET
) -> dict[str, pl.LazyFrame]:
    """Scan files with moments: one frame per file, also of a quoted glob."""
    from polars_rank.comparison.sums.moments import is_moments

    found: dict[str, pl.LazyFrame] = {}
    for name in files:
        frame = opened[name] if name in opened else open_file(name, "run")
        paths = [str(path) for path in files_of(frame)]
        parts = {p: open_file(p, "run") for p in paths} if len(paths) > 1 else {}
        for file, part in (parts or {name: frame}).items():
            if file in found:
                raise CycloptsError(msg=f"{file} is given twice.")
            if not is_moments(part.collect_schema().names()):
                raise DataError(
                    f"{file}: holds no moments; make them with polars-rank moments."
                )
            found[file] = part
    return found


def _of_run(
    given: Files,
    place: int,
    options: dict[str, Any],
    measures: Sequence[str],
    system: str | None,
    attributes: Sequence[str],
    *,
    listed: bool,
) -> pl.DataFrame:
    from polars_rank.comparison.gate.left_documents import first_documents

    run = given.runs[place]
    several = len(given.runs) > 1
    with given.about(run):
        frame, asked = with_judgments(given, run, options)
        known = frame.collect_schema().names()
        known += [] if given.qrels is None else given.qrels.collect_schema().names()
        for name in attributes:
            if name not in known:
                raise DataError(
                    f"{run.file}: no column {name!r}{closest(name, known) or '.'} It "
                    "must be in the runs, in the judgments or in --queries."
                )
        apart = system is not None and not several
        if apart and system is not None:
            run.require(system, "Name the column of the systems with --system.")
            asked = asked | {"query": [system, *options["query"]]}
            if asked["qrels_query"]:
                asked["qrels_query"] = [system, *asked["qrels_query"]]
        keys = {system, *options["query"]}
        keep = [name for name in dict.fromkeys(attributes) if name not in keys]
        values = polars_rank.per_query(frame, list(measures), keep=keep, **asked)
        if listed and asked["doc"] is not None:
            first = first_documents(
                frame,
                asked["query"],
                asked["doc"],
                asked.get("rank") or asked["score"],
                descending=asked.get("descending", True) and "rank" not in asked,
            )
            values = values.join(
                first, on=list(asked["query"]), how="left", nulls_equal=True
            )
        found: pl.DataFrame = values.collect(engine="streaming")
    if several:
        run.require_room(str(system))
        found = found.select(pl.lit(run.name).alias(str(system)), pl.all())
    return found


def _with_attributes(
    values: pl.DataFrame,
    files: Sequence[str],
    queries: str,
    query: Sequence[str],
    attributes: Sequence[str],
) -> pl.DataFrame:
    """Segment, weight and cluster of the queries, from a file of their own."""
    chosen = open_file(queries, "qrels")
    columns = chosen.collect_schema().names()
    for name in [*query, *attributes]:
        if name not in columns:
            near = closest(name, columns) or "."
            raise DataError(f"{queries}: no column {name!r}{near}")
    about = [name for name in dict.fromkeys(attributes) if name not in query]
    wanted = chosen.select(*query, *about)
    values = values.drop([name for name in about if name in values.columns])
    ids = list(zip(query, query, strict=True))
    left, right = same_ids(values.lazy(), wanted, [files[0], queries], ids)
    joined = left.join(right, on=list(query), how="left", maintain_order="left")
    return joined.collect()
