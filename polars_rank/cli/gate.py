"""The command ``gate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
from cyclopts import CycloptsError, Parameter

import polars_rank
from polars_rank.cli.options import (
    CHOICE,
    COLUMNS,
    DEFAULT_INPUT,
    DEFAULT_RULES,
    FILE,
    FILES,
    LESS,
    OUT,
    OUTPUT,
    Columns,
    Convention,
    Input,
    MissingValue,
    OneColumn,
    Paths,
    Rules,
    SomeMeasures,
    several,
)
from polars_rank.cli.outputs import require_apart
from polars_rank.cli.runs import open_file, recorded
from polars_rank.cli.show import emit
from polars_rank.cli.values import choices_of, values_of
from polars_rank.comparison.input.procedures import Correction
from polars_rank.conventions.tools import DEFAULT
from polars_rank.exceptions import DataError

if TYPE_CHECKING:
    from polars_rank.comparison.sums.definition import Definition


MARGIN = Parameter(metavar="[MEASURE=]NUMBER")
FLOOR = Parameter(metavar="MEASURE=NUMBER")


def gate(
    base: Annotated[Path, Parameter(group=FILES)],
    /,
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    queries: Annotated[str | None, FILE] = None,
    measure: SomeMeasures = (),
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False,
    rank: OneColumn = None,
    by: Columns = (),
    weight: OneColumn = None,
    cluster: OneColumn = None,
    convention: Convention = DEFAULT,
    missing: MissingValue = None,
    margin: Annotated[tuple[str, ...], MARGIN, CHOICE, LESS] = (),
    floor: Annotated[tuple[str, ...], FLOOR, CHOICE, LESS] = (),
    rule: Annotated[
        Literal["significant", "non_inferior", "threshold"], CHOICE
    ] = "significant",
    correction: Annotated[Correction, CHOICE] = "holm",
    level: Annotated[float, CHOICE] = 0.95,
    least_queries: Annotated[int, CHOICE] = 20,
    strict: Annotated[bool, CHOICE, LESS] = False,
    update_baseline: Annotated[bool, CHOICE, LESS] = False,
    format: Annotated[
        Literal["table", "markdown", "json"], Parameter(group=OUTPUT)
    ] = "table",
    report: Annotated[Path | None, OUT] = None,
    json_file: Annotated[Path | None, OUT, Parameter(name="--json")] = None,
) -> int:
    """Fail if a change made the ranking worse than a baseline.

    BASE is a Parquet file with values per query, as written by --update-baseline or
    evaluate --per-query; or the old run, evaluated here like the new one. The FILEs are
    the new run and its judgments, or one file with its values. Exit status: 0 pass or
    warn, 3 regression, 1 data that do not fit, 2 usage.

    Parameters
    ----------
    base
        Values of the ranking that is live, or its run.
    files
        The new run and the judgments; or one file with values.
    queries
        File with one row per query: --by, --weight, --cluster. Without it, they are
        columns of the runs or judgments.
    measure
        Measure to gate; may be repeated; default: all of the baseline.
    lower_is_better
        Rank low scores first, as for distances.
    rank
        Rank of the document, from 1, instead of a score.
    by
        Column with segments, each a check of its own; may be repeated.
    weight
        Weight of the query.
    cluster
        Group of queries that depend on each other, such as the user.
    convention
        Tool whose choices are followed; see: polars-rank conventions.
    missing
        Value of a judged query that is missing from the run.
    margin
        Largest drop that does not matter: 0.01, or ndcg@10=0.01 for one measure.
    floor
        Lowest mean that is allowed, such as ndcg@10=0.42.
    rule
        When to fail: the drop is larger than the margin, and significant at a fifth of
        the error (significant alone, it warns); it is not shown to be smaller than the
        margin; it is larger than the margin.
    correction
        Correction of the p-values for the number of checks.
    level
        Confidence level.
    least_queries
        Segments with fewer queries are shown, not gated.
    strict
        Fail on warnings, too.
    update_baseline
        Write the new values to BASE, and check nothing.
    format
        What to print.
    report
        Write Markdown for a pull request to this file.
    json_file
        Write everything to this file as JSON.
    """
    if update_baseline:
        sources = [*files, *filter(None, (data.qrels, queries))]
        require_apart({"--update-baseline": base}, sources)
    known = [*by, *filter(None, (weight, cluster))]
    if not update_baseline and not base.exists():
        raise DataError(f"{base}: no such file; write it with --update-baseline.")
    wanted, ran = several(measure), _is_run(base, data, rank)
    if ran and update_baseline:
        raise DataError(f"{base}: is a run, not values per query; name another BASE.")
    if not wanted and base.exists() and not update_baseline and not ran:
        wanted = tuple(_measures_of(base, [*data.query, *known]))
    options = choices_of(
        convention=convention,
        missing=missing,
        rank=rank,
        descending=not lower_is_better,
        **asdict(rules),
    )

    def read(files: Sequence[str]) -> tuple[pl.DataFrame, Definition]:
        return values_of(
            files, data, queries, wanted, None, known, options, listed=True
        )

    with recorded() as said:
        values, definition = read(files)
        compares = ran and not update_baseline
        old = read([str(base), *files[1:]])[0] if compares else base
    if update_baseline:
        definition.write(values, base)
        emit(f"{base}: {len(values)} queries, {', '.join(definition.measures)}\n")
        return 0
    own = polars_rank.gate(
        old,
        values,
        query=data.query,
        measures=wanted or None,
        by=by or None,
        weight=weight,
        cluster=cluster,
        documents=_lists_of(old, values),
        margin=_margins(margin),
        rule=rule,
        floors=dict(_assigned("--floor", f) for f in floor),
        correction=correction,
        level=level,
        least=least_queries,
        definition=definition,
    )
    own = replace(own, notes=(*said, *own.notes))
    told = json.dumps(own.to_dict(), indent=2, ensure_ascii=False)
    if report is not None:
        report.write_text(own.to_markdown() + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(told + "\n", encoding="utf-8")
    text = {"table": str(own), "markdown": own.to_markdown(), "json": told}[format]
    emit(text + "\n")
    return own.exit_code(strict=strict)


def _is_run(base: Path, data: Input, rank: str | None) -> bool:
    if not base.exists():
        return False
    schema = open_file(str(base), "run", data.readings[0]).collect_schema()
    return (rank or data.score) in schema


def _measures_of(base: Path, taken: Sequence[str]) -> list[str]:
    schema = open_file(str(base), "run").collect_schema()
    return [n for n, t in schema.items() if t.is_float() and n not in taken]


def _lists_of(base: Path | pl.DataFrame, values: pl.DataFrame) -> str | None:
    """The column with the first documents of every query, where both have it."""
    old = base if isinstance(base, pl.DataFrame) else open_file(str(base), "run")
    schemas = (values.schema, old.collect_schema())
    return "documents" if all("documents" in schema for schema in schemas) else None


def _margins(given: Sequence[str]) -> float | dict[str, float]:
    single = [m for m in given if "=" not in m]
    if single and len(given) > 1:
        raise CycloptsError(msg="--margin is one number, or MEASURE=NUMBER repeated.")
    if single:
        return _number("--margin", single[0])
    return dict(_assigned("--margin", m) for m in given) if given else 0.0


def _assigned(option: str, text: str) -> tuple[str, float]:
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise CycloptsError(msg=f"{option} is MEASURE=NUMBER, not {text!r}.")
    return name, _number(option, value)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CycloptsError(msg=f"{option}: {text!r} is not a number.") from None
