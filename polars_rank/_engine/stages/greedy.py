"""The greedy ideal order of documents that are judged for several subtopics.

The best order itself is NP-complete to find (Carterette, Information Retrieval 14,
2011); the greedy one defines the measure (Clarke et al., SIGIR 2008).

Each rank depends on those above it, so there is a loop over ranks: a step fills one
rank of all queries at once. For twenty ranks this takes a sixth of the time of twenty
levels of windows in the plan, and the depth is not limited.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    import numpy as np


class Ideal(NamedTuple):
    """Lowest relevant grade, and the factor between documents of a subtopic."""

    alpha: float
    rel: float


def with_greedy_ranks(
    rows: pl.LazyFrame, depths: Mapping[str, tuple[Ideal, int]]
) -> pl.LazyFrame:
    """Add a column for each ideal order: the document's rank, null if it has none.

    ``rows`` are judgments: query, subtopic, doc, label. They come in any order.
    """
    if not depths:
        return rows
    schema = {**rows.collect_schema(), **dict.fromkeys(depths, pl.Float64())}

    def ranked(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(
            greedy_ranks(frame, ideal, depth).alias(name)
            for name, (ideal, depth) in depths.items()
        )

    return rows.map_batches(
        ranked,
        schema=schema,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        validate_output_schema=False,
    )


_TEXT = pl.col("doc").cast(pl.String)
UNIT = 2.0**48  # whole numbers: equal gains have equal sums, in whatever order


def greedy_ranks(frame: pl.DataFrame, ideal: Ideal, depth: int) -> pl.Series:
    """Rank of each row's document, down to that depth; null if it has none."""
    import numpy as np  # a tenth of a second, for those who ask for it

    places = np.full(len(frame), np.nan)
    text = pl.col("doc") if frame.schema["doc"] == pl.Binary else _TEXT
    rows = (
        frame.select("query", "subtopic", "label", text, row=pl.int_range(pl.len()))
        .filter(pl.col("label") >= max(ideal.rel, 0))
        .sort("query", "doc", descending=[False, True])
    )
    if rows.is_empty():
        return pl.Series(places).fill_nan(None)
    rows = rows.with_columns(query=pl.col("query").rle_id()).select(
        "row",
        "query",
        doc=pl.struct("query", "doc").rle_id(),
        cell=pl.struct("query", "subtopic").rank("dense") - 1,
    )
    doc, cell = rows["doc"].to_numpy(), rows["cell"].to_numpy()
    first_row = _starts(doc)
    query = rows["query"].to_numpy()[first_row]  # of a document
    first_doc = _starts(query)
    gain = np.ones(cell.max() + 1)
    place = np.full(len(query), np.nan)
    longest = np.diff(np.append(first_doc, len(query))).max()
    for step in range(1, min(depth, int(longest)) + 1):
        units = np.rint(gain * UNIT).astype(np.int64)
        value = np.add.reduceat(units[cell], first_row)
        value[~np.isnan(place)] = -1
        most = np.maximum.reduceat(value, first_doc)
        best = np.flatnonzero((value == most[query]) & (value >= 0))
        chosen = best[_starts(query[best])]
        place[chosen] = step
        gain[cell[place[doc] == step]] *= 1.0 - ideal.alpha
    places[rows["row"].to_numpy()] = place[doc]
    return pl.Series(places).fill_nan(None)


def _starts(run: np.ndarray) -> np.ndarray:
    """Return the positions at which a value differs from the one before."""
    import numpy as np

    return np.flatnonzero(np.append(True, run[1:] != run[:-1]))
