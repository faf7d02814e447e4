"""The least that any contender must do with the files.

A log: decode the columns. A run and its judgments: decode them and join what is
relevant to the run.
"""

from __future__ import annotations

from task import Contender, Means, Task


def contender(task: Task) -> Contender:
    import polars as pl
    import polars.selectors as cs

    def evaluate(frame: pl.LazyFrame) -> Means:
        if task.qrels:
            relevant = pl.scan_parquet(task.qrels).filter(pl.col("label") > 0)
            frame = frame.join(relevant, on=["query_id", "doc_id"])
            sums = pl.col("score", "label").sum()
        else:
            frame = frame.select(task.columns())
            sums = [cs.numeric().sum(), cs.string().str.len_bytes().sum()]
        frame.select(sums).collect(engine="streaming")
        return {}

    return task.scan, evaluate
