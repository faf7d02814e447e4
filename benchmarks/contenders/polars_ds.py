"""polars_ds: its nDCG as an expression in a group-by; it has no other measure.

``ignore_ties=True`` is the form that works with Polars 2 and the faster one.
"""

from __future__ import annotations

from task import Contender, Means, Task


def contender(task: Task) -> Contender:
    import polars as pl
    import polars_ds as pds

    ndcg = pds.query_ndcg_score("label", "score", k=10, ignore_ties=True)

    def evaluate(frame: pl.LazyFrame | pl.DataFrame) -> Means:
        values = frame.lazy().group_by("query_id").agg(ndcg.alias("ndcg"))
        return {"ndcg@10": values.select(pl.col("ndcg").mean()).collect().item()}

    return task.read if task.in_memory else task.scan, evaluate
