"""The commands ``orders`` and ``discriminative``: what measures say of systems."""

from __future__ import annotations

from typing import Any

import polars_rank
from polars_rank.cli.derive import options_of
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    EVALUATING,
    Example,
    Formats,
    Input,
    Paths,
    Queries,
)
from polars_rank.cli.show import show_frame
from polars_rank.cli.values import values_of_systems
from polars_rank.cli.words import terminal

COMPARING = (
    *("system", "measures", "weight", "cluster", "repeat", "test", "correction"),
    *("level", "n_resamples", "seed"),
)


@options_of(polars_rank.compare, only=COMPARING, shared=False)
@options_of(polars_rank.per_query, only=EVALUATING)
def orders(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    example: Example = False,
    queries: Queries = None,
    format: Formats = None,
    **options: Any,
) -> None:
    """Compare the orders in which measures put the systems: rank correlation, swaps.

    The FILEs are those that compare takes. One row per pair of measures: Kendall's tau
    and AP correlation (tau_ap, with other as the truth) of the means; the pairs of
    systems that are swapped, and how many of these differ significantly in either
    measure.
    """
    values, _ = values_of_systems(
        files, data, options, example=example, queries=queries
    )
    found = polars_rank.comparison.orders(values, **options)
    show_frame(found, "Orders of the systems", keys=2, format=format)


@options_of(polars_rank.compare, only=COMPARING, shared=False, test="randomized_tukey")
@options_of(polars_rank.per_query, only=EVALUATING)
def discriminative(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    example: Example = False,
    queries: Queries = None,
    format: Formats = None,
    **options: Any,
) -> None:
    """Measure discriminative power: how many pairs of systems a measure tells apart.

    The FILEs are those that compare takes; moments need another test, such as tukey.
    One row per measure: the number of pairs, the share that differs significantly, the
    smallest difference that does (sufficient), and in csv, tsv and json all adjusted
    p-values, from the largest.
    """
    values, _ = values_of_systems(
        files, data, options, example=example, queries=queries
    )
    found = polars_rank.comparison.discriminative(values, **options)
    chosen = format or ("table" if terminal() else "csv")
    if chosen in ("table", "markdown"):
        found = found.drop("p_adjusted")
    level = options.get("level", 0.95)
    title = f"Pairs of systems that differ at significance level {1 - level:g}"
    show_frame(found, title, keys=1, format=chosen)
