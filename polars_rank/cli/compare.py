"""The command ``compare``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter
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
from polars_rank.cli.show import Format, emit, show_rows, terminal
from polars_rank.cli.values import choices_of, values_of
from polars_rank.comparison.arguments import (
    Correction,
    EffectName,
    Family,
    IntervalName,
    Pairing,
    TestName,
    ZeroMethod,
)
from polars_rank.conventions.tools import DEFAULT

__all__ = ["compare"]

SYSTEM = Parameter(metavar="SYSTEM")

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
    seeds: Annotated[Literal["fixed", "random"], CHOICE] = "fixed",
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
    effect: Annotated[EffectName, CHOICE] = "d_z",
    zero_method: Annotated[ZeroMethod, CHOICE] = "wilcox",
    tie: Annotated[float, CHOICE] = 1e-9,
    least_queries: Annotated[int, CHOICE] = 20,
    resamples: Annotated[int, CHOICE] = 9999,
    random_state: Annotated[int, CHOICE] = 0,
    pairs: Annotated[Pairing, CHOICE] = "same",
    format: Annotated[
        Format | Literal["html", "latex"] | None,
        Parameter(group=OUTPUT, metavar="CHOICE"),
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
    seeds
        Whether conclusions hold for these runs, or for runs of other seeds, too.
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
    effect
        Effect size.
    zero_method
        What --test wilcoxon does with differences of 0.
    tie
        Differences up to this size are ties.
    least_queries
        Segments with fewer queries are shown, not tested.
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
    options = choices_of(
        convention=convention,
        missing=missing,
        rank=rank,
        descending=not lower_is_better,
        **asdict(rules),
    )
    attributes = [*by, *filter(None, (weight, cluster))]
    values, definition = values_of(
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
        seeds=seeds,
        test=test,
        alternative=alternative,
        correction=correction,
        family=family,
        interval=interval,
        level=level,
        margin=margin,
        effect=effect,
        zero_method=zero_method,
        tie=tie,
        least=least_queries,
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
