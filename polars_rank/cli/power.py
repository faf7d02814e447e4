"""The command ``power``."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl
from cyclopts import Parameter

import polars_rank
from polars_rank.cli.derive import GROUPS, options_of
from polars_rank.cli.options import Formats, several
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import show_frame


@options_of(polars_rank.comparison.power)
def power(
    file: Annotated[
        str | None,
        Parameter(
            group=GROUPS["file"],
            help="Values of a pilot, such as evaluate --per-query writes; or use --sd.",
        ),
    ] = None,
    /,
    *,
    format: Formats = None,
    **options: Any,
) -> None:
    """Plan a comparison: queries needed, or the difference that can be detected."""
    options["measures"] = several(options.get("measures", ())) or None
    values = None if file is None else open_file(file, "run")
    found = polars_rank.comparison.power(values, **options)
    labels = [c for c in found.columns if found[c].dtype == pl.String]
    test, paired = "Paired t test", options.get("paired", True)
    if options.get("n_systems", 2) > 2 or not paired:
        test = f"{'Two' if paired else 'One'}-way analysis of variance"
    title = f"{test} at significance level {1 - options.get('level', 0.95):g}"
    show_frame(found, title, keys=len(labels), format=format)
