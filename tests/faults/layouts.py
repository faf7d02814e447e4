"""Forged layouts.

Logs whose order is claimed falsely: by a sorted flag, by what a Parquet file says of
its row groups, or by `layout="contiguous"`. Rows come from memory, files of small row
groups or a source in Python, and queries return late, early, often or not at all. The
means must be those of a plain loop, or the claim must be refused.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

import polars_rank as pr
from faults import Trial
from polars_rank.core.source import lazy_source

FEW, MANY = 8, 60
MEASURES = ["rr", "num_ret", "num_rel_ret"]
LAYOUTS = ("auto", "any", "contiguous")


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """Forge a log, and evaluate it in every layout."""
    draw = random.Random(2026)
    for _ in range(rounds):
        order, queries = made(draw)
        log = pl.DataFrame(
            {
                "query_id": queries,
                "score": draw.sample(range(len(queries)), len(queries)),
                "label": [draw.randrange(2) for _ in queries],
            }
        )
        if draw.random() < 0.5:
            log = log.with_columns(pl.col("query_id").cast(pl.String))
        expected = plain(log.rows())
        contiguous = runs(queries) == len(set(queries))
        for source, frame in sources(draw, log, folder / "log").items():
            for layout in LAYOUTS:
                lost = wrong(frame, layout, expected, refusable=not contiguous)
                about = f": {order}, {layout}, {queries[:20]}"
                yield Trial(source, lost and lost + about)


def made(draw: random.Random) -> tuple[str, list[int]]:
    """Ids of queries in an order that is almost, or not at all, contiguous."""
    sizes = [draw.choice([1, 1, 2, 5, 40]) for _ in range(draw.choice([1, 3, 30]))]
    rows = [query for query, size in enumerate(sizes) for _ in range(size)]
    order = draw.choice(["contiguous", "late", "swapped", "interleaved", "shuffled"])
    if order == "contiguous":
        names = draw.sample(range(100), len(sizes))
        rows = [names[query] for query in rows]
    elif order == "late":
        rows.append(draw.choice(rows))
    elif order == "swapped":
        i, j = (draw.randrange(len(rows)) for _ in range(2))
        rows[i], rows[j] = rows[j], rows[i]
    elif order == "interleaved":
        rows = [i % len(sizes) for i in range(len(rows))]
    else:
        draw.shuffle(rows)
    return order, rows


def sources(
    draw: random.Random, log: pl.DataFrame, path: Path
) -> dict[str, pl.LazyFrame]:
    """The same rows from several places, each with a claim that may be false."""
    down = draw.random() < 0.5
    flagged = log.with_columns(pl.col("query_id").set_sorted(descending=down))
    column = pq.SortingColumn(0, descending=down)
    size = draw.choice([1, 7, len(log)])
    pq.write_table(log.to_arrow(), path, sorting_columns=[column], row_group_size=size)
    flagged.write_ipc(path.with_suffix(".arrow"), record_batch_size=size)
    parts = [flagged.slice(i, size) for i in range(0, len(log), size)]

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from (part.select(columns) for part in parts)

    return {
        "sorted flag in memory": flagged.lazy(),
        "set_sorted on a plan": log.lazy().set_sorted("query_id", descending=down),
        "Parquet that claims an order": pl.scan_parquet(path),
        "Arrow IPC that claims an order": pl.scan_ipc(path.with_suffix(".arrow")),
        "batches from Python": lazy_source(
            read, log.schema, name="forged", rereadable=True
        ),
    }


def runs(queries: Sequence[int]) -> int:
    """How often a query begins."""
    before = [None, *queries]
    return sum(a != b for a, b in zip(before, queries, strict=False))


def plain(rows: Sequence[tuple]) -> tuple[int, float, float, float]:
    """Number of queries, mean reciprocal rank, documents, relevant documents."""
    lists: dict = {}
    for query, score, label in rows:
        lists.setdefault(query, []).append((-score, label))
    total = 0.0
    for docs in lists.values():
        places = [place for place, (_, label) in enumerate(sorted(docs), 1) if label]
        total += 1 / places[0] if places else 0
    relevant = sum(label for *_, label in rows)
    return len(lists), total / len(lists), len(rows), relevant


def wrong(frame: pl.LazyFrame, layout: str, expected: tuple, *, refusable: bool) -> str:
    """What is wrong with the means in this layout, if anything."""
    try:
        found = pr.evaluate(frame, MEASURES, layout=layout).collect(engine="streaming")
    except pr.DataError as error:
        refused = error.rule == "not_contiguous" and layout == "contiguous"
        return "" if refused and refusable else f"refused: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    values = found.row(0)
    same = all(abs(a - b) < 1e-12 for a, b in zip(values, expected, strict=True))
    if not same:
        return f"{values} for {expected}"
    return "a false claim is believed" if layout == "contiguous" and refusable else ""
