"""The commands ``compare``, ``gate`` and ``power``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import polars as pl
from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

import polars_rank
from polars_rank.cli.evaluate import require_apart
from polars_rank.cli.options import (
    CHOICE,
    COLUMN,
    COLUMNS,
    DEFAULT_INPUT,
    DEFAULT_RULES,
    FILE,
    FILES,
    LESS,
    MEASURES,
    OUT,
    OUTPUT,
    QUERY,
    Columns,
    Convention,
    Input,
    MissingValue,
    OneColumn,
    Options,
    Paths,
    Query,
    Rules,
    SomeMeasures,
    several,
    with_judgments,
)
from polars_rank.cli.runs import Files, open_file
from polars_rank.cli.show import Format, emit, show_rows, terminal
from polars_rank.comparison.arguments import (
    Correction,
    Family,
    IntervalName,
    Pairing,
    TestName,
)
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT, convention_of
from polars_rank.core.registry import closest
from polars_rank.exceptions import DataError
from polars_rank.io.frames import same_ids

if TYPE_CHECKING:
    from polars_rank.comparison.definition import Definition

__all__ = ["compare", "gate", "power"]

SYSTEM = Parameter(metavar="SYSTEM")
MARGIN = Parameter(metavar="[MEASURE=]NUMBER")
FLOOR = Parameter(metavar="MEASURE=NUMBER")

Parquet: TypeAlias = Annotated[
    Path | None, OUT, Parameter(validator=PathRule(ext=("parquet",)))
]
Picture: TypeAlias = Annotated[
    Path | None, OUT, Parameter(validator=PathRule(ext=("png", "svg", "html", "pdf")))
]


def compare(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    queries: Annotated[str | None, FILE] = None,
    measure: SomeMeasures = (),
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False,
    rank: OneColumn = None,
    system: Annotated[str, COLUMN] = "system",
    by: Columns = (),
    weight: OneColumn = None,
    cluster: OneColumn = None,
    seed: OneColumn = None,
    convention: Convention = DEFAULT,
    missing: MissingValue = None,
    baseline: Annotated[tuple[str, ...], SYSTEM, CHOICE, LESS] = (),
    test: Annotated[TestName, CHOICE] = "t",
    alternative: Annotated[
        Literal["two-sided", "greater", "less"], CHOICE
    ] = "two-sided",
    correction: Annotated[Correction | None, CHOICE] = None,
    family: Annotated[Family, CHOICE] = "measure",
    interval: Annotated[IntervalName, CHOICE] = "t",
    level: Annotated[float, CHOICE] = 0.95,
    margin: Annotated[float | None, CHOICE] = None,
    resamples: Annotated[int, CHOICE] = 9999,
    random_state: Annotated[int, CHOICE] = 0,
    pairs: Annotated[Pairing, CHOICE] = "same",
    format: Annotated[
        Format | Literal["html", "latex"] | None, Parameter(group=OUTPUT)
    ] = None,
    plot: Picture = None,
    per_query: Parquet = None,
) -> None:
    """Compare systems query by query: differences, intervals, tests, effect sizes.

    The FILEs are runs and their judgments, as for evaluate; or one file with values per
    query, such as evaluate --per-query writes, or with moments.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one file with values.
    queries
        File with one row per query: --by, --weight, --cluster. Without it, they are
        columns of the runs or judgments.
    measure
        Measure to compute, or column of the values; may be repeated.
    lower_is_better
        Whether low scores come first, as distances do.
    rank
        Rank of the document, from 1, instead of a score.
    system
        Column that tells systems apart.
    by
        Column with segments, which are compared one by one.
    weight
        Weight of the query.
    cluster
        Group of queries that depend on each other, such as the user.
    seed
        Column of the values that tells several runs of a system apart.
    convention
        Tool whose choices are followed; see: polars-rank conventions.
    missing
        Value of a judged query that is missing from a run.
    baseline
        System that all others are compared with; may be repeated; default: all pairs.
    test
        Test of the differences.
    alternative
        Direction of the differences that the test looks for.
    correction
        Correction of the p-values for the number of tests; default: holm.
    family
        Tests that are corrected together.
    interval
        Interval of the difference.
    level
        Level of intervals and tests.
    margin
        Largest difference that does not matter, for --test tost.
    resamples
        Number of draws, for randomisation and bootstrap.
    random_state
        Seed of the draws.
    pairs
        What to do about queries that some systems lack.
    format
        Default: table on a terminal, csv (the differences) elsewhere.
    plot
        Draw differences and intervals into this file.
    per_query
        Also write the values of every query to this file.
    """
    require_apart(per_query, files)
    measure = several(measure)
    options = _choices(
        convention=convention,
        missing=missing,
        rank=rank,
        descending=not lower_is_better,
        **asdict(rules),
    )
    attributes = [*by, *filter(None, (weight, cluster))]
    values, definition = _values(
        files, data, queries, measure, system, attributes, options
    )
    found = polars_rank.compare(
        values,
        system=system,
        query=data.query,
        measures=measure or None,
        baseline=baseline or None,
        by=by or None,
        weight=weight,
        cluster=cluster,
        seed=seed,
        test=test,
        alternative=alternative,
        correction=correction,
        family=family,
        interval=interval,
        level=level,
        margin=margin,
        resamples=resamples,
        random_state=random_state,
        pairs=pairs,
    )
    if per_query is not None:
        definition.write(values, per_query)
    if plot is not None:
        (found.plot.segments if by else found.plot.forest)().save(str(plot))
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "csv" or chosen == "tsv":
        show_rows(found.pairs, chosen, keys=len(by) + 3)
    else:
        emit(_written(found, chosen) + "\n")


def _written(found: Any, format: str) -> str:
    if format == "json":
        return json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
    write = {
        "table": found.__str__,
        "markdown": found.to_markdown,
        "html": found.to_html,
        "latex": found.to_latex,
    }[format]
    return str(write())


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
    evaluate --per-query. The FILEs are the new run and its judgments, or one file with
    its values. Exit status: 0 pass or warn, 3 regression, 1 data that do not fit, 2
    usage.

    Parameters
    ----------
    base
        Values of the ranking that is live.
    files
        The new run and the judgments; or one file with values.
    queries
        File with one row per query: --by, --weight, --cluster. Without it, they are
        columns of the runs or judgments.
    measure
        Measure to gate; may be repeated; default: all of the baseline.
    lower_is_better
        Whether low scores come first, as distances do.
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
        When to fail: the drop is significant and larger than the margin; it is not
        shown to be smaller than the margin; it is larger than the margin.
    correction
        Correction of the p-values for the number of checks.
    level
        Level of intervals and tests.
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
    known = [*by, *filter(None, (weight, cluster))]
    if not update_baseline and not base.exists():
        raise DataError(f"{base}: no such file; write it with --update-baseline.")
    wanted = several(measure)
    if not wanted and base.exists() and not update_baseline:
        wanted = tuple(_measures_of(base, [*data.query, *known]))
    options = _choices(
        convention=convention,
        missing=missing,
        rank=rank,
        descending=not lower_is_better,
        **asdict(rules),
    )
    values, definition = _values(files, data, queries, wanted, None, known, options)
    if update_baseline:
        definition.write(values, base)
        emit(f"{base}: {len(values)} queries, {', '.join(definition.measures)}\n")
        return 0
    own = polars_rank.gate(
        base,
        values,
        query=data.query,
        measures=wanted or None,
        by=by or None,
        weight=weight,
        cluster=cluster,
        margin=_margins(margin),
        rule=rule,
        floors=dict(_assigned("--floor", f) for f in floor),
        correction=correction,
        level=level,
        least=least_queries,
        definition=definition,
    )
    told = json.dumps(own.to_dict(), indent=2, ensure_ascii=False)
    if report is not None:
        report.write_text(own.to_markdown() + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(told + "\n", encoding="utf-8")
    text = {"table": str(own), "markdown": own.to_markdown(), "json": told}[format]
    emit(text + "\n")
    return own.exit_code(strict=strict)


def _measures_of(base: Path, taken: Sequence[str]) -> list[str]:
    schema = open_file(str(base), "run").collect_schema()
    return [n for n, t in schema.items() if t.is_float() and n not in taken]


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


def power(
    file: Annotated[str | None, Parameter(group=FILES)] = None,
    /,
    *,
    sd: Annotated[float | None, CHOICE] = None,
    difference: Annotated[float | None, CHOICE] = None,
    queries: Annotated[int | None, CHOICE] = None,
    width: Annotated[float | None, CHOICE] = None,
    systems: Annotated[int, CHOICE] = 2,
    level: Annotated[float, CHOICE] = 0.95,
    power: Annotated[float, CHOICE] = 0.8,
    measure: SomeMeasures = (),
    query: Query = QUERY,
    system: Annotated[str, COLUMN] = "system",
    baseline: Annotated[tuple[str, ...], SYSTEM, CHOICE, LESS] = (),
    format: Annotated[Format | None, Parameter(group=OUTPUT)] = None,
) -> None:
    """Plan a comparison: queries needed, or the difference that can be detected.

    Parameters
    ----------
    file
        Values of a pilot, such as evaluate --per-query writes; or use --sd.
    sd
        Standard deviation of the differences.
    difference
        Difference to detect; the number of queries follows.
    queries
        Number of queries; the difference that they can detect follows.
    width
        Expected width of the interval; the number of queries follows.
    systems
        Number of systems; more than two are planned for a two-way analysis of variance.
    level
        Level of the interval and the test.
    power
        Probability of detecting the difference.
    measure
        Column of the values; may be repeated.
    query
        Query id; repeat the option if several columns make up the id.
    system
        Column that tells systems apart.
    baseline
        System that all others are compared with; may be repeated.
    format
        Default: table on a terminal, csv elsewhere.
    """
    found = polars_rank.power(
        None if file is None else open_file(file, "run"),
        sd=sd,
        difference=difference,
        queries=queries,
        width=width,
        systems=systems,
        level=level,
        power=power,
        measures=several(measure) or None,
        query=query,
        system=system,
        baseline=baseline or None,
    )
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "table":
        from polars_rank.report.table import Cell, Table, as_text, number

        labels = [c for c in found.columns if found[c].dtype == pl.String]
        rows = [
            [Cell(number(v) if isinstance(v, float) else str(v)) for v in row]
            for row in found.rows()
        ]
        title = f"Paired t test at level {level:g}"
        emit(as_text(Table(title, found.columns, rows, len(labels))) + "\n")
    else:
        show_rows(found, chosen, keys=1)


# -- files


def _choices(**options: Any) -> dict[str, Any]:
    """Arguments of ``per_query``, without those that the convention decides."""
    return {name: value for name, value in options.items() if value is not None}


def _values(
    files: Sequence[str],
    data: Input,
    queries: str | None,
    measures: Sequence[str],
    system: str | None,
    attributes: Sequence[str],
    choices: Options,
) -> tuple[pl.DataFrame, Definition]:
    """Values per query of what the command line named, and what they are."""
    from polars_rank.comparison.definition import Definition, fingerprint

    if not files:
        raise CycloptsError(msg="name a FILE: runs and judgments, or values per query.")
    place, convention = choices.get("rank", data.score), choices["convention"]
    one = len(files) == 1 and data.qrels is None
    alone = open_file(files[0], "run", data.readings[0]) if one else None
    if alone is not None and place not in alone.collect_schema():
        values = alone.collect(engine="streaming")
        told = Definition.read(files[0])
        names = measures or [n for n, t in values.schema.items() if t.is_float()]
        return values, told or Definition.of(list(names), convention, data.query)
    chosen = list(measures or MEASURES)
    given = data.sort_out(files, choices.get("rank"))
    if system is None and len(given.runs) > 1:
        raise CycloptsError(msg="name one new run, and its judgments.")
    options = data.options(given) | choices
    about = [] if queries is not None else attributes
    parts = [
        _of_run(given, i, options, chosen, system, about)
        for i in range(len(given.runs))
    ]
    values = pl.concat(parts, how="vertical_relaxed")
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


def _of_run(
    given: Files,
    place: int,
    options: dict[str, Any],
    measures: Sequence[str],
    system: str | None,
    attributes: Sequence[str],
) -> pl.DataFrame:
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
            run.require(system, "Name the one that tells systems apart with --system.")
            asked = asked | {"query": [system, *options["query"]]}
            if asked["qrels_query"]:
                asked["qrels_query"] = [system, *asked["qrels_query"]]
        keys = {system, *options["query"]}
        keep = [name for name in dict.fromkeys(attributes) if name not in keys]
        values = polars_rank.per_query(frame, list(measures), keep=keep, **asked)
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
    wanted = chosen.select(*query, *attributes)
    ids = list(zip(query, query, strict=True))
    left, right = same_ids(values.lazy(), wanted, [files[0], queries], ids)
    joined = left.join(right, on=list(query), how="left", maintain_order="left")
    return joined.collect()
