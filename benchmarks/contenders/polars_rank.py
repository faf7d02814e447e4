"""This library: a lazy plan over the files, or a call on a frame in memory."""

from __future__ import annotations

from task import Contender, Means, Task


def contender(task: Task) -> Contender:
    import polars as pl

    import polars_rank as pr

    options = {
        "doc": "doc_id" if "doc_id" in task.columns() else None,
        "layout": task.layout,
        "memory_limit": task.memory_limit,
    }
    if task.qrels:
        ties = "doc_desc" if task.ties else "order"
        options["convention"] = pr.CONVENTIONS["trec_eval"].replace(ties=ties)

    def load():
        if task.in_memory:
            return task.read(), task.qrels and pl.read_parquet(task.qrels)
        return task.scan(), task.qrels and pl.scan_parquet(task.qrels)

    def evaluate(loaded) -> Means:
        frame, qrels = loaded
        done = pr.evaluate(frame, list(task.measures), qrels=qrels, **options)
        row = done.lazy().collect().row(0, named=True)
        return {name: row[name] for name in task.measures}

    return load, evaluate
