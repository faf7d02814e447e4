"""ranx: its own structures from data frames, then numba on all cores.

The first evaluation in a process compiles, or reads what an earlier one compiled.
"""

from __future__ import annotations

from task import Contender, Means, Task, split

NAMES = {"ap": "map", "rr": "mrr", "accuracy": "hit_rate"}


def contender(task: Task) -> Contender:
    import polars as pl
    import ranx

    asked = {m: name(m) for m in task.measures}

    def table(frame: pl.DataFrame, value: str, dtype: type[pl.DataType]):
        columns = frame.select("query_id", "doc_id", pl.col(value).cast(dtype))
        texts = {"query_id": object, "doc_id": object}
        return columns.to_pandas().astype(texts), "query_id", "doc_id", value

    def load():
        frame = task.judged()
        judged = pl.read_parquet(task.qrels) if task.qrels else frame
        qrels = ranx.Qrels.from_df(*table(judged, "label", pl.Int64))
        return qrels, ranx.Run.from_df(*table(frame, "score", pl.Float64))

    def evaluate(loaded) -> Means:
        found = ranx.evaluate(*loaded, list(asked.values()))
        if len(asked) == 1:
            return {m: float(found) for m in asked}
        return {m: float(found[name]) for m, name in asked.items()}

    return load, evaluate


def name(measure: str) -> str:
    metric, k = split(measure)
    return NAMES.get(metric, metric) + (f"@{k}" if k else "")
