"""The floor: five measures in one compiled pass over rows that stand query by query.

Compiled with numba for all cores, and before the clock starts. It checks nothing,
allows no choice, and trusts the order of the rows.
"""

from __future__ import annotations

from task import MEASURES, Contender, Means, Task


def contender(task: Task) -> Contender:
    import numba as nb
    import numpy as np
    import polars as pl

    if task.measures != MEASURES[5] or task.qrels or task.ties:
        msg = "the floor knows five measures of a log"
        raise ValueError(msg)

    @nb.njit(parallel=True, cache=True)
    def kernel(start, score, label, discount):
        out = np.zeros((len(start) - 1, 5))
        for q in nb.prange(len(start) - 1):
            a, b = start[q], start[q + 1]
            order = np.argsort(-score[a:b])
            hits, ap, rr, dcg, p10, r100 = 0, 0.0, 0.0, 0.0, 0, 0
            for i in range(b - a):
                grade = label[a + order[i]]
                if grade > 0:
                    hits += 1
                    ap += hits / (i + 1)
                    if rr == 0.0:
                        rr = 1 / (i + 1)
                    if i < 10:
                        dcg += grade * discount[i]
                        p10 += 1
                    if i < 100:
                        r100 += 1
            best = np.sort(label[a:b])
            ideal = 0.0
            for i in range(min(10, b - a)):
                ideal += best[b - a - 1 - i] * discount[i]
            if hits > 0:
                out[q, 0] = dcg / ideal
                out[q, 1] = ap / hits
                out[q, 2] = rr
                out[q, 3] = p10 / 10
                out[q, 4] = r100 / hits
        return out

    def evaluate(frame) -> Means:
        frame = frame.lazy().select(task.columns()).collect()
        query, score, label = (read_only(frame[c]) for c in task.columns())
        starts = np.flatnonzero(query[1:] != query[:-1]) + 1
        start = np.concatenate([[0], starts, [len(query)]])
        means = kernel(start, score, label, discount).mean(0).tolist()
        return dict(zip(task.measures, means, strict=True))

    def read_only(column):
        """Numba compiles for read-only and writable arrays apart: only the former."""
        values = column.to_numpy()
        values.setflags(write=False)
        return values

    discount = 1 / np.log2(np.arange(2, 12))
    one = pl.DataFrame({"score": [1], "label": [1]})
    one = one.cast({"score": pl.Float32, "label": pl.Int8})
    kernel(np.array([0, 1]), read_only(one["score"]), read_only(one["label"]), discount)
    return task.read if task.in_memory else task.scan, evaluate
