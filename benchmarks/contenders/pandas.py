"""pandas: one sort, running counts, sums by query over what is relevant."""

from __future__ import annotations

from task import Contender, Means, Task, split


def contender(task: Task) -> Contender:
    import numpy as np
    import pandas as pd

    by_query = {"by": "query_id", "sort": False}

    def load():
        run = pd.read_parquet(list(task.run), columns=task.columns())
        if task.repeats > 1:
            shifts = (run["query_id"] + i * task.stride for i in range(task.repeats))
            run = pd.concat([run.assign(query_id=query) for query in shifts])
        return run, pd.read_parquet(task.qrels) if task.qrels else run

    def words(run, judged):
        """Relevant documents: rank ``r``, hits ``h``, rank in the ideal order ``i``."""
        keys = ["query_id", "score", *(["doc_id"] if task.ties else [])]
        run = run.sort_values(keys, ascending=[True] + [False] * (len(keys) - 1))
        run["r"] = run.groupby(**by_query).cumcount() + 1
        relevant = run[run["label"] > 0] if not task.qrels else None
        if relevant is None:
            places = run[["query_id", "doc_id", "r"]]
            relevant = judged[judged["label"] > 0]
            relevant = relevant.merge(places, "left", ["query_id", "doc_id"])
            relevant = relevant.sort_values(["query_id", "r"])
        relevant = relevant.assign(h=relevant.groupby(**by_query).cumcount() + 1)
        best = relevant.sort_values(["query_id", "label"], ascending=[True, False])
        relevant["i"] = best.groupby(**by_query).cumcount() + 1
        return relevant

    def evaluate(loaded) -> Means:
        run, judged = loaded
        queries = judged["query_id"].nunique()
        w = words(run, judged)
        gain = w["label"].astype(float)
        dcg, ideal = gain / np.log2(w["r"] + 1), gain / np.log2(w["i"] + 1)
        ap = w["h"] / w["r"]
        at = {k: w["r"] <= (k or np.inf) for _, k in map(split, task.measures)}
        best = {k: w["i"] <= (k or np.inf) for k in at}
        terms = {}
        for m in task.measures:
            name, k = split(m)
            terms |= {
                "ndcg": {m: dcg.where(at[k], 0), f"ideal {m}": ideal.where(best[k], 0)},
                "ap": {m: ap.where(at[k], 0)},
            }.get(name, {m: at[k]})
        frame = pd.DataFrame(terms).assign(query_id=w["query_id"])
        sums = frame.groupby(**by_query).sum()
        sizes = w.groupby(**by_query).agg(r=("r", "min"), relevant=("r", "size"))
        first = 1 / sizes["r"]
        values = {
            "ndcg": lambda m, k: sums[m] / sums[f"ideal {m}"],
            "ap": lambda m, k: sums[m] / sizes["relevant"],
            "rr": lambda m, k: first.where(sums[m] > 0, 0),
            "precision": lambda m, k: sums[m] / k,
            "recall": lambda m, k: sums[m] / sizes["relevant"],
            "accuracy": lambda m, k: sums[m] > 0,
        }
        found = {m: values[split(m)[0]](m, split(m)[1]) for m in task.measures}
        return {m: float(value.sum() / queries) for m, value in found.items()}

    return load, evaluate
