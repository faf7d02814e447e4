"""The command ``gate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from warnings import catch_warnings

import polars as pl

import polars_rank
from polars_rank.analysis.difference_parts import REFUSED, not_shown
from polars_rank.cli.apart import require_apart
from polars_rank.cli.commands.why import before_and_after
from polars_rank.cli.derive import UsageError, assigned, options_of
from polars_rank.cli.input.options import Queried, evaluating
from polars_rank.cli.input.runs import Options, chosen, open_file, recorded
from polars_rank.cli.input.values import Asked
from polars_rank.cli.output.words import STDIN, emit
from polars_rank.cli.shown import written
from polars_rank.comparison.gate.gate_of_runs import explained
from polars_rank.comparison.gate.gate_result import Gate
from polars_rank.exceptions import DataError, counted


@options_of(polars_rank.gate, without=("baseline", "documents"), shared=False)
@evaluating
def gate(
    base: Path,
    /,
    *files: str,
    data: Queried,
    margin: tuple[str, ...] = (),
    floor: tuple[str, ...] = (),
    strict: bool = False,
    update_baseline: bool = False,
    format: Literal["table", "markdown", "json"] = "table",
    report: Path | None = None,
    json_file: Path | None = None,
    **options: Any,
) -> int:
    """Fail if a change made the ranking worse than a baseline.

    BASE is a Parquet file with values per query, as written by --update-baseline or
    evaluate --per-query; or the old run, evaluated here like the new one. The FILEs are
    the new run and its judgments, or one file with its values. Exit status: 0 pass or
    warn, 3 regression, 1 data that do not fit, 2 usage.
    """
    asked = Asked.of(data, options, system=None)
    if update_baseline:
        sources = [*files, *filter(None, (data.qrels, data.queries))]
        require_apart({"--update-baseline": base}, sources)
    elif base == Path(STDIN):
        raise UsageError("BASE -: a baseline is a file, not standard input; name it.")
    elif not base.exists():
        raise DataError(f"{base}: no such file; write it with --update-baseline.")
    place = asked.choices.get("rank", data.score)
    compares = base.exists() and place in data.open(str(base), "run").collect_schema()
    if update_baseline:
        if compares:
            msg = "is a run, not values per query; name another BASE."
            raise DataError(f"{base}: {msg}")
        values, definition = asked.values(files)
        definition.write(values, base)
        told = [counted(len(values), "query"), *definition.measures]
        emit(f"{base}: {', '.join(told)}\n")
        return 0
    if not asked.measures and not compares:
        schema = open_file(str(base), "run").collect_schema()
        others = [*data.query, *asked.beside]
        floats = [n for n, t in schema.items() if t.is_float() and n not in others]
        asked = replace(asked, measures=floats)
    with recorded() as said:
        values, definition = asked.values(files)
        old = asked.values([str(base), *files[1:]])[0] if compares else base
    before = open_file(str(base), "run") if isinstance(old, Path) else old
    listed = all("documents" in own.collect_schema() for own in (before, values))
    own = polars_rank.gate(
        values,
        asked.measures or None,
        baseline=old,
        query=data.query,
        documents="documents" if listed else None,
        margin=margins(margin),
        floors=_by_measure("--floor", floor),
        definition=definition,
        **options,
    )
    own = replace(own, notes=(*said, *own.notes))
    status = own.exit_code(strict=strict)
    if compares and own.verdict == "fail":
        own = _explained(own, [str(base), *files], asked, options)
    for file, form in ((report, "markdown"), (json_file, "json")):
        if file is not None:
            file.write_text(written(own, form) + "\n", encoding="utf-8")
    emit(written(own, format) + "\n")
    return status


def _explained(own: Gate, files: Sequence[str], asked: Asked, options: Options) -> Gate:
    """The gate, and the largest parts of the first failed difference that is a sum.

    The verdict stands whatever comes of it: a note says why there are none. Warnings
    were shown when the runs were evaluated.
    """
    failed = own.checks.filter(pl.col("verdict") == "fail")["measure"]
    measures = failed.unique(maintain_order=True).to_list()
    try:
        with catch_warnings(action="ignore"):
            runs = before_and_after(files, asked.data, dict(asked.choices))
            about = asked.data.segments() | chosen(options, ("by", "weight"))
    except (UsageError, *REFUSED) as error:
        notes = (not_shown(measure, error) for measure in measures)
        return replace(own, notes=(*own.notes, *notes))
    before, after, given = runs
    return explained(own, before, after, measures, **given, **about)


def margins(given: Sequence[str]) -> float | dict[str, float]:
    """The margin of all measures, or that of each."""
    if len(given) != 1 or "=" in given[0]:
        if not all("=" in text for text in given):
            raise UsageError("--margin is one number, or MEASURE=NUMBER repeated.")
        return _by_measure("--margin", given) or 0.0
    try:
        return float(given[0])
    except ValueError:
        raise UsageError(f"--margin: {given[0]!r} is not a number.") from None


def _by_measure(option: str, given: Sequence[str]) -> dict[str, float]:
    return dict(assigned(option, text, "MEASURE=NUMBER", float) for text in given)
