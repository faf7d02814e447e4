"""scikit-learn: ``ndcg_score`` on a matrix of queries by documents.

It has no other of the measures, needs as many documents for every query, more than
one, and rows that stand query by query. ``ignore_ties=True`` is its fast form.
"""

from __future__ import annotations

from task import Contender, Means, Task


def contender(task: Task) -> Contender:
    from sklearn.metrics import ndcg_score

    def load():
        frame = task.read()
        shape = (frame["query_id"].n_unique(), -1)
        return [frame[c].to_numpy().reshape(shape) for c in ("label", "score")]

    def evaluate(loaded) -> Means:
        label, score = loaded
        return {"ndcg@10": float(ndcg_score(label, score, k=10, ignore_ties=True))}

    return load, evaluate
