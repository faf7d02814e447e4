"""What one contender is asked to do in one process; written and read as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

Means = dict[str, float]
Contender = tuple[Callable[[], Any], Callable[[Any], Means]]
"""Load the data into the contender's own structures; evaluate what was loaded."""

CUTOFFS = (1, 5, 10, 20, 100)
MEASURES = {
    1: ("ndcg@10",),
    5: ("ndcg@10", "ap", "rr", "precision@10", "recall@100"),
    30: tuple(
        f"{name}@{k}"
        for name in ("ndcg", "ap", "rr", "precision", "recall", "accuracy")
        for k in CUTOFFS
    ),
}


def split(measure: str) -> tuple[str, int | None]:
    """``"ndcg@10"`` is ``("ndcg", 10)``, ``"ap"`` is ``("ap", None)``."""
    name, _, k = measure.partition("@")
    return name, int(k) if k else None


@dataclass(frozen=True)
class Task:
    """Files, measures and the choices of one measurement."""

    contender: str
    run: tuple[str, ...]  # Parquet: query_id, score, label (and doc_id if ids are text)
    qrels: str | None = None  # then the run has no label
    measures: tuple[str, ...] = MEASURES[5]
    ties: bool = False  # documents of equal score: by id, descending
    layout: str = "auto"
    memory_limit: str | None = None
    repeats: int = 1  # the files listed again, with ids shifted by stride
    stride: int = 0
    in_memory: bool = False
    calls: int = 1  # warm evaluations after the first

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        given = json.loads(text)
        lists = {name: tuple(given[name]) for name in ("run", "measures")}
        return cls(**given | lists)

    def columns(self) -> list[str]:
        """The columns of the run that are needed."""
        doc = ["doc_id"] if self.ties or self.qrels else []
        return ["query_id", *doc, "score", *([] if self.qrels else ["label"])]

    def scan(self) -> pl.LazyFrame:
        """The run as a lazy frame."""
        import polars as pl

        once = pl.scan_parquet(list(self.run))
        if self.repeats == 1:
            return once
        shift = (pl.col("query_id") + i * self.stride for i in range(self.repeats))
        return pl.concat([once.with_columns(query_id) for query_id in shift])

    def read(self) -> pl.DataFrame:
        """The columns that are needed, in memory."""
        return self.scan().select(self.columns()).collect()

    def judged(self) -> pl.DataFrame:
        """The run or log with text ids, as tools for TREC files want them.

        A log with int ids has no document ids; it gets the row number for one. Ids are
        as long as the text ids of the other files: ranx compiles for every length.
        """
        import polars as pl

        frame = self.scan()
        if "doc_id" in frame.collect_schema():
            return frame.collect()
        query, doc = pl.col("query_id").cast(pl.String), pl.int_range(pl.len())
        ids = query.str.zfill(8), doc.cast(pl.String).str.zfill(9).alias("doc_id")
        return frame.with_columns(ids).collect()
