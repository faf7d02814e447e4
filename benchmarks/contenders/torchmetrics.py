"""torchmetrics: its retrieval metrics on tensors, one after the other, on the CPU.

They take a document whose score is 0 or less for not relevant; the scores of the
benchmark are positive. Judgments cannot come apart from the run.
"""

from __future__ import annotations

from task import Contender, Means, Task


def contender(task: Task) -> Contender:
    import polars as pl
    import torchmetrics.retrieval as tr

    metrics = {
        "ndcg@10": tr.RetrievalNormalizedDCG(top_k=10),
        "ap": tr.RetrievalMAP(),
        "rr": tr.RetrievalMRR(),
        "precision@10": tr.RetrievalPrecision(top_k=10),
        "recall@100": tr.RetrievalRecall(top_k=100),
    }

    def load():
        frame = task.read()
        if frame["query_id"].dtype == pl.String:  # it wants numbers
            frame = frame.with_columns(pl.col("query_id").rank("dense").cast(pl.Int64))
        label = frame["label"].cast(pl.Int64).to_torch()
        return frame["score"].to_torch(), label, frame["query_id"].to_torch()

    def evaluate(loaded) -> Means:
        score, label, query = loaded
        found = {}
        for m in task.measures:
            metrics[m].reset()
            target = label if m.startswith("ndcg") else label > 0
            metrics[m].update(score, target, indexes=query)
            found[m] = float(metrics[m].compute())
        return found

    return load, evaluate
