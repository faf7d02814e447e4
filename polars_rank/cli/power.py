"""The command ``power``."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from cyclopts import Parameter

import polars_rank
from polars_rank.cli.options import (
    CHOICE,
    COLUMN,
    FILES,
    LESS,
    OUTPUT,
    QUERY,
    Query,
    SomeMeasures,
    several,
)
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import Format, show_frame

SYSTEM = Parameter(metavar="SYSTEM")


def power(
    file: Annotated[str | None, Parameter(group=FILES)] = None,
    /,
    *,
    sd: Annotated[float | None, CHOICE] = None,
    difference: Annotated[float | None, CHOICE] = None,
    queries: Annotated[int | None, CHOICE] = None,
    width: Annotated[float | None, CHOICE] = None,
    systems: Annotated[int, CHOICE] = 2,
    unpaired: Annotated[bool, CHOICE, LESS] = False,
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
    unpaired
        The systems have different queries: sd is that of the values of one system, and
        the analysis is one-way.
    level
        Confidence level.
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
        paired=not unpaired,
        level=level,
        power=power,
        measures=several(measure) or None,
        query=query,
        system=system,
        baseline=baseline or None,
    )
    labels = [c for c in found.columns if found[c].dtype == pl.String]
    test = "Paired t test"
    if systems > 2 or unpaired:
        test = f"{'One' if unpaired else 'Two'}-way analysis of variance"
    title = f"{test} at significance level {1 - level:g}"
    show_frame(found, title, keys=len(labels), format=format)
