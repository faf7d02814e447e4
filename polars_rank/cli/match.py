"""The command ``match-report``: what a run and its judgments have in common."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group, Parameter

import polars_rank
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import Format, show_pairs, show_rows, terminal
from polars_rank.io.frames import same_ids

__all__ = ["match_report"]

COLUMN = Parameter(group=Group("Columns", sort_key=2), metavar="COLUMN")


def match_report(
    run: str,
    qrels: str,
    /,
    *,
    query: Annotated[tuple[str, ...], COLUMN, Parameter(show_default=" ".join)] = (
        "query_id",
    ),
    doc: Annotated[str, COLUMN] = "doc_id",
    score: Annotated[str, COLUMN] = "score",
    label: Annotated[str, COLUMN] = "label",
    format: Format | None = None,
) -> None:
    """Report how the ids of a run match those of its judgments: counts and shares.

    Parameters
    ----------
    run
        File with the run, as for evaluate.
    qrels
        File with the judgments.
    query
        Query id; repeat the option if several columns make up the id.
    doc
        Document id.
    score
        Score of the document.
    label
        Grade of the document.
    format
        Default: table on a terminal, csv elsewhere.
    """
    frame, judgments = open_file(run, "run"), open_file(qrels, "qrels")
    columns = [*query, doc]
    ids = zip(columns, columns, strict=True)
    frame, judgments = same_ids(frame, judgments, [run, qrels], ids)
    report = polars_rank.match_report(
        frame, judgments, query=query, doc=doc, score=score, label=label
    ).collect(engine="streaming")
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "table":
        show_pairs("", "value", {n: _counted(n, v) for n, v in report.rows()})
    else:
        show_rows(report, chosen, keys=1)


def _counted(item: str, value: float | None) -> float | None:
    """A count as a whole number, a share as it is."""
    return value if value is None or "share" in item else int(value)
