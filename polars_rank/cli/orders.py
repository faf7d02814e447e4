"""The commands ``orders`` and ``discriminative``: what measures say of systems."""

from __future__ import annotations

from typing import Annotated

import polars_rank
from polars_rank.cli.options import (
    CHOICE,
    DEFAULT_INPUT,
    DEFAULT_RULES,
    DEFAULT_SYSTEMS,
    Formats,
    Input,
    Paths,
    Rules,
    Systems,
)
from polars_rank.cli.show import show_frame, terminal
from polars_rank.cli.values import values_of_systems
from polars_rank.comparison.input.procedures import Correction, TestName


def orders(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    systems: Systems = DEFAULT_SYSTEMS,
    test: Annotated[TestName, CHOICE] = "t",
    correction: Annotated[Correction | None, CHOICE] = None,
    level: Annotated[float, CHOICE] = 0.95,
    resamples: Annotated[int, CHOICE] = 9999,
    random_state: Annotated[int, CHOICE] = 0,
    format: Formats = None,
) -> None:
    """Compare the orders in which measures put the systems: rank correlation, swaps.

    The FILEs are those that compare takes. One row per pair of measures: Kendall's tau
    and AP correlation (tau_ap, with other as the truth) of the means; the pairs of
    systems that are swapped, and how many of these differ significantly in either
    measure.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one file with values; or moments.
    test
        Test that says which swaps are significant.
    correction
        Correction of the p-values for the number of tests; default: holm.
    level
        Confidence level; 1 - level is the significance level.
    resamples
        Number of draws, for randomization and bootstrap.
    random_state
        Seed of the draws.
    format
        Default: table on a terminal, csv elsewhere.
    """
    values, _ = values_of_systems(files, data, systems, rules)
    found = polars_rank.orders(
        values,
        **systems.arguments(data),
        test=test,
        correction=correction,
        level=level,
        resamples=resamples,
        random_state=random_state,
    )
    show_frame(found, "Orders of the systems", keys=2, format=format)


def discriminative(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    systems: Systems = DEFAULT_SYSTEMS,
    test: Annotated[TestName, CHOICE] = "randomized_tukey",
    correction: Annotated[Correction | None, CHOICE] = None,
    level: Annotated[float, CHOICE] = 0.95,
    resamples: Annotated[int, CHOICE] = 9999,
    random_state: Annotated[int, CHOICE] = 0,
    format: Formats = None,
) -> None:
    """Measure discriminative power: how many pairs of systems a measure tells apart.

    The FILEs are those that compare takes. One row per measure: the number of pairs,
    the share that differs significantly, the smallest difference that does
    (sufficient), and in csv, tsv and json all adjusted p-values, from the largest.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one file with values; or moments, with another
        test, such as tukey.
    test
        Test of all pairs.
    correction
        Correction of the p-values for the number of tests; default: holm, and none for
        tests of all pairs at once.
    level
        Confidence level; 1 - level is the significance level.
    resamples
        Number of draws, for randomization and bootstrap.
    random_state
        Seed of the draws.
    format
        Default: table on a terminal, csv elsewhere.
    """
    values, _ = values_of_systems(files, data, systems, rules)
    found = polars_rank.discriminative(
        values,
        **systems.arguments(data),
        test=test,
        correction=correction,
        level=level,
        resamples=resamples,
        random_state=random_state,
    )
    chosen = format or ("table" if terminal() else "csv")
    if chosen in ("table", "markdown"):
        found = found.drop("p")
    title = f"Pairs of systems that differ at significance level {1 - level:g}"
    show_frame(found, title, keys=1, format=chosen)
