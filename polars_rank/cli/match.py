"""The command ``match-report``: whether the ids of a run and its judgments match."""

from __future__ import annotations

from cyclopts import CycloptsError

import polars_rank
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    Formats,
    Input,
    Paths,
    with_judgments,
)
from polars_rank.cli.show import show_pairs, show_rows
from polars_rank.cli.words import terminal


def match_report(
    *files: Paths, data: Input = DEFAULT_INPUT, format: Formats = None
) -> None:
    """Report how the ids of a run match those of its judgments: counts and shares."""
    given = data.sort_out(files)
    if given.qrels is None or len(given.runs) > 1:
        raise CycloptsError(msg="give one run and its judgments.")
    [run] = given.runs
    with given.about(run):
        frame, asked = with_judgments(given, run, data.options(given))
        found = polars_rank.match_report(frame, **asked).collect(engine="streaming")
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "table":
        show_pairs("", "value", {n: _counted(n, v) for n, v in found.rows()})
    else:
        show_rows(found, chosen, keys=1)


def _counted(item: str, value: float | None) -> float | None:
    """A count as a whole number, a share as it is."""
    return value if value is None or "share" in item else int(value)
