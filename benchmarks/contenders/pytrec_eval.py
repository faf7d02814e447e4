"""pytrec_eval-terrier: dictionaries of dictionaries, then trec_eval's C."""

from __future__ import annotations

from task import Contender, Means, Task, split

NAMES = {
    "ndcg": "ndcg_cut",
    "ap": "map_cut",
    "rr": "recip_rank",
    "precision": "P",
    "recall": "recall",
    "accuracy": "success",
}


def contender(task: Task) -> Contender:
    import polars as pl
    import pytrec_eval

    asked = {m: name(m) for m in task.measures}

    def nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, float]]:
        lists = frame.group_by("query_id").agg("doc_id", value)
        rows = lists.iter_rows()
        return {q: dict(zip(docs, values, strict=True)) for q, docs, values in rows}

    def load():
        frame = task.judged()
        judged = pl.read_parquet(task.qrels) if task.qrels else frame
        wanted = {dotted(name) for name in asked.values()}
        evaluator = pytrec_eval.RelevanceEvaluator(nested(judged, "label"), wanted)
        return evaluator, nested(frame, "score")

    def evaluate(loaded) -> Means:
        evaluator, run = loaded
        found = evaluator.evaluate(run).values()
        return {m: sum(q[n] for q in found) / len(found) for m, n in asked.items()}

    return load, evaluate


def name(measure: str) -> str:
    """Our name as pytrec_eval returns it, ``ndcg_cut_10``."""
    metric, k = split(measure)
    if k is None:
        return {"ap": "map", "rr": "recip_rank"}[metric]
    return f"{NAMES[metric]}_{k}"


def dotted(name: str) -> str:
    """``P_10`` as it is asked for, ``P.10``."""
    head, _, k = name.rpartition("_")
    return f"{head}.{k}" if k.isdigit() else name
