"""The largest parts of a difference, for results that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from warnings import catch_warnings

import polars as pl

from polars_rank.analysis.difference_reasons import reasons
from polars_rank.analysis.results import Reasons, SeveralReasons
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import MeasureLike, parse_measures
from polars_rank.uncertainty.bounds.several_runs import Runs

REFUSED = (
    *(TypeError, ValueError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


def parts_of(
    before: FrameLike, after: Runs, measure: MeasureLike, **options: Any
) -> pl.DataFrame | str:
    """Return the largest parts of a difference, or say why there are none.

    Runs are evaluated again: warnings were shown the first time.
    """
    try:
        with catch_warnings(action="ignore"):
            found = reasons(before, after, measure, max_documents=0, **options)
            return found.largest()
    except REFUSED as error:
        (parsed,) = parse_measures(measure)
        return not_shown(parsed.name, error)


def reasons_of(
    before: FrameLike, after: Runs, measures: Sequence[str], **options: Any
) -> tuple[list[Reasons | SeveralReasons], list[str]]:
    """Return the reasons by measure, and a note about each measure that has none.

    The error of the first is raised if none has any.
    """
    found: list[Reasons | SeveralReasons] = []
    errors: dict[str, Exception] = {}
    for measure in measures:
        try:
            found.append(reasons(before, after, measure, **options))
        except REFUSED as error:
            errors[measure] = error
    if not found:
        raise next(iter(errors.values()))
    return found, [not_shown(measure, error) for measure, error in errors.items()]


def not_shown(measure: str, error: Exception) -> str:
    """Return a note why no parts of a difference are shown."""
    reason = str(error).rstrip(".")
    return f"The parts of the difference in {measure} are not shown: {reason}"
