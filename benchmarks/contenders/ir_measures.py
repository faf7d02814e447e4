"""ir_measures: pandas frames in, its pytrec_eval provider inside."""

from __future__ import annotations

from task import Contender, Means, Task, split

NAMES = {
    "ndcg": "nDCG",
    "ap": "AP",
    "rr": "RR",
    "precision": "P",
    "recall": "R",
    "accuracy": "Success",
}


def contender(task: Task) -> Contender:
    import ir_measures
    import polars as pl

    asked = {m: ir_measures.parse_measure(name(m)) for m in task.measures}

    def load():
        frame = task.judged()
        judged = pl.read_parquet(task.qrels) if task.qrels else frame
        qrels = judged.select("query_id", "doc_id", relevance="label").to_pandas()
        run = frame.select("query_id", "doc_id", "score").to_pandas()
        return ir_measures.evaluator(list(asked.values()), qrels), run

    def evaluate(loaded) -> Means:
        evaluator, run = loaded
        found = evaluator.calc_aggregate(run)
        return {m: float(found[measure]) for m, measure in asked.items()}

    return load, evaluate


def name(measure: str) -> str:
    metric, k = split(measure)
    return NAMES[metric] + (f"@{k}" if k else "")
