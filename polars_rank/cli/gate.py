"""The command ``gate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import polars as pl
from cyclopts import CycloptsError, Parameter

import polars_rank
from polars_rank.cli.derive import GROUPS, options_of, told
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    EVALUATING,
    Input,
    Options,
    Paths,
    Queries,
    several,
)
from polars_rank.cli.outputs import require_apart
from polars_rank.cli.runs import open_file, recorded
from polars_rank.cli.values import values_of
from polars_rank.cli.words import emit
from polars_rank.conventions.tools import DEFAULT
from polars_rank.exceptions import DataError

if TYPE_CHECKING:
    from polars_rank.comparison.sums.definition import Definition


@options_of(
    polars_rank.gate,
    without=("qrels", "query", "baseline", "documents"),
    shared=False,
)
@options_of(polars_rank.per_query, only=EVALUATING)
def gate(
    base: Annotated[
        Path,
        Parameter(
            group=GROUPS["file"],
            help="Values of the ranking that is live, or its run.",
        ),
    ],
    /,
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    queries: Queries = None,
    margin: Annotated[
        tuple[str, ...],
        told(
            "choice",
            "Largest drop that does not matter: 0.01, or ndcg@10=0.01 for one measure.",
            metavar="[MEASURE=]NUMBER",
        ),
    ] = (),
    floor: Annotated[
        tuple[str, ...],
        told(
            "choice",
            "Lowest mean that is allowed, such as ndcg@10=0.42.",
            metavar="MEASURE=NUMBER",
        ),
    ] = (),
    strict: Annotated[bool, told("choice", "Fail on warnings, too.")] = False,
    update_baseline: Annotated[
        bool,
        told(
            "output",
            "Write the new values to BASE, and check nothing.",
        ),
    ] = False,
    format: Annotated[
        Literal["table", "markdown", "json"], told("output", "What to print.")
    ] = "table",
    report: Annotated[
        Path | None,
        told(
            "output", "Write Markdown for a pull request to this file.", metavar="FILE"
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        told(
            "output",
            "Write everything to this file as JSON.",
            name="--json",
            metavar="FILE",
        ),
    ] = None,
    **options: Any,
) -> int:
    """Fail if a change made the ranking worse than a baseline.

    BASE is a Parquet file with values per query, as written by --update-baseline or
    evaluate --per-query; or the old run, evaluated here like the new one. The FILEs are
    the new run and its judgments, or one file with its values. Exit status: 0 pass or
    warn, 3 regression, 1 data that do not fit, 2 usage.
    """
    if update_baseline:
        sources = [*files, *filter(None, (data.qrels, queries))]
        require_apart({"--update-baseline": base}, sources)
    by, weight, cluster = (options.get(name) for name in ("by", "weight", "cluster"))
    known = [*(by or ()), *filter(None, (weight, cluster))]
    if not update_baseline and not base.exists():
        raise DataError(f"{base}: no such file; write it with --update-baseline.")
    wanted = several(options.pop("measures", ()))
    choices: Options = {"convention": DEFAULT}
    choices |= {name: options.pop(name) for name in EVALUATING if name in options}
    ran = _is_run(base, data, choices.get("rank"))
    if ran and update_baseline:
        raise DataError(f"{base}: is a run, not values per query; name another BASE.")
    if not wanted and base.exists() and not update_baseline and not ran:
        wanted = tuple(_measures_of(base, [*data.query, *known]))

    def read(files: Sequence[str]) -> tuple[pl.DataFrame, Definition]:
        return values_of(
            files, data, queries, wanted, None, known, choices, listed=True
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
        values,
        wanted or None,
        baseline=old,
        query=data.query,
        documents=_lists_of(old, values),
        margin=_margins(margin),
        floors=dict(_assigned("--floor", f) for f in floor),
        definition=definition,
        **options,
    )
    own = replace(own, notes=(*said, *own.notes))
    told_whole = json.dumps(own.to_dict(), indent=2, ensure_ascii=False)
    if report is not None:
        report.write_text(own.to_markdown() + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(told_whole + "\n", encoding="utf-8")
    shown = {"table": str(own), "markdown": own.to_markdown(), "json": told_whole}
    emit(shown[format] + "\n")
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
