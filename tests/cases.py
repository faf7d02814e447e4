"""One row a fact: a metric, a list small enough to check by hand, the formula.

``labels`` stand in rank order; None is unjudged. ``unretrieved`` are grades of judged
documents that the run lacks: only the frame level can know them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import e, log, log2
from typing import Any


@dataclass(frozen=True)
class Case:
    metric: str
    labels: list[float | None]
    expected: float | None
    params: dict[str, Any] = field(default_factory=dict)
    scores: list[float] | None = None
    unretrieved: tuple[float, ...] = ()

    def __str__(self) -> str:
        params = ",".join(f"{n}={v}" for n, v in self.params.items())
        return f"{self.metric}({params})-{self.labels}{self.scores or ''}"


ODD = [1, 0, 1, 0, 1]  # the first, third and fifth of five are relevant
LATE = [0, 0, 0, 0, 1]
NONE = [0, 0, 0, 0, 0]
GRADES = [3, 2, 3, 0, 1]
TOY = [3, 2, 3, 0, 1, 2]  # two more judged documents, 3 and 2, were not retrieved


def exp2(grade: float) -> float:
    return 2**grade - 1


CASES = [
    # accuracy, precision, recall, F1 of the seeds
    *(Case("accuracy", ODD, 1.0, {"k": k}) for k in (1, 5)),
    Case("accuracy", LATE, 0.0, {"k": 4}),
    Case("accuracy", LATE, 1.0, {"k": 5}),
    Case("accuracy", NONE, 0.0),
    *(
        Case("precision", ODD, expected, {"k": k})
        for k, expected in enumerate([1, 1 / 2, 2 / 3, 2 / 4, 3 / 5], 1)
    ),
    *(
        Case("recall", ODD, expected, {"k": k})
        for k, expected in enumerate([1 / 3, 1 / 3, 2 / 3, 2 / 3, 3 / 3], 1)
    ),
    *(
        Case("f1", ODD, 2 * p * r / (p + r), {"k": k})
        for k, (p, r) in enumerate(
            [(1, 1 / 3), (1 / 2, 1 / 3), (2 / 3, 2 / 3), (1 / 2, 2 / 3), (3 / 5, 1)], 1
        )
    ),
    Case("precision", ODD, 3 / 5),
    Case("precision", ODD, 3 / 10, {"k": 10}),
    Case("precision", ODD, 3 / 5, {"k": 10, "divisor": "retrieved"}),
    Case("precision", ODD, 3 / 3, {"k": 10, "divisor": "min_k_R"}),
    Case("precision", ODD, 2 / 3, {"k": 3, "divisor": "min_k_R"}),
    Case("recall", ODD, 2 / 3, {"k": 3, "divisor": "min_k_R"}),
    Case("recall", ODD, 1 / 2, {"k": 2, "divisor": "min_k_R"}),
    Case("recall", ODD, 3 / 5, unretrieved=(1, 1)),
    Case("recall", ODD, 0.0, {"rel": 2}),
    Case("precision", GRADES, 2 / 5, {"k": 5, "rel": 3}),
    Case("precision", [2, 0.5, 0.4], 2 / 3, {"k": 3, "rel": 0.5}),
    Case("recall", [1, -1, None, 0], 1.0, {"rel": 1}),
    Case("recall", [1, -1, None, 0], 1 / 2, {"k": 1, "rel": 0}),
    # average precision; one seed prints 0.7575, the arithmetic gives 0.7556
    Case("ap", ODD, (1 + 2 / 3 + 3 / 5) / 3),
    Case("ap", [1, 1, 1, 0, 0], 1.0),
    Case("ap", ODD, (1 + 2 / 3) / 3, {"k": 3}),
    Case("ap", ODD, (1 + 2 / 3 + 3 / 5) / 5, unretrieved=(1, 1)),
    Case("ap", ODD, (1 + 2 / 3) / 2, {"k": 3, "divisor": "hits"}),
    Case("ap", ODD, 1 / 2, {"k": 2, "divisor": "min_k_R"}),
    Case("ap", ODD, (1 + 2 / 3) / 4, {"k": 4, "divisor": "k"}),
    Case("ap", LATE, 0.0, {"k": 3, "divisor": "hits"}),
    Case("ap", NONE, 0.0),
    # reciprocal rank
    Case("rr", ODD, 1.0),
    Case("rr", LATE, 1 / 5),
    Case("rr", LATE, 0.0, {"k": 4}),
    Case("rr", NONE, 0.0),
    Case("rr", GRADES, 1 / 1, {"rel": 3}),
    Case("rr", [1, 2, 3], 1 / 3, {"rel": 3}),
    # cumulated gain of the seeds
    *(
        Case("cg", GRADES, expected, {"k": k})
        for k, expected in enumerate([3, 5, 8, 8, 9], 1)
    ),
    *(
        Case(
            "dcg",
            GRADES,
            sum(g / log2(i + 1) for i, g in enumerate(GRADES[:k], 1)),
            {"k": k},
        )
        for k in (1, 2, 3, 4, 5)
    ),
    Case("dcg", [3, 2], exp2(3) + exp2(2) / log2(3), {"gain": "exp2"}),
    Case("dcg", [3, 2, 1], 3 + 2 + 1 / log2(3), {"discount": "log2_from_2"}),
    Case("dcg", [3, 2], 3 / 1 + 2 / 2, {"discount": "position"}),
    Case("dcg", [3, 0, 2], 1 + 1 / 2, {"gain": "binary"}),
    Case("dcg", [1, 2], 3.5 + 9 / log2(3), {"gain": {1: 3.5, 2: 9}}),
    Case("dcg", [0, 1], 0.5 + 1 / log2(3), {"gain": {0: 0.5}}),
    Case("dcg", [1, 2], 1 + 4 / log2(3), {"gain": lambda grade: grade**2}),
    Case("dcg", [2, 1], 2 / 2 + 1 / 3, {"discount": lambda rank: rank + 1}),
    Case("dcg", [3, -2, None, 1], 3 + 1 / log2(5)),
    Case("dcg", [3, 1, 2], 3 + 2 / log2(4), {"rel": 2}),
    # nDCG; a judged document that was not retrieved belongs to the ideal
    Case("ndcg", [0, 1], 1 / log2(3)),
    Case("ndcg", [2, 1], 1.0),
    Case("ndcg", NONE, 0.0),
    *(
        Case(
            "ndcg",
            TOY,
            sum(gain(g) / log2(i + 1) for i, g in enumerate(TOY[:k], 1))
            / sum(
                gain(g) / log2(i + 1)
                for i, g in enumerate([3, 3, 3, 2, 2, 2, 1][:k], 1)
            ),
            {"k": k, "gain": name},
            unretrieved=(3, 2),
        )
        for k in (3, 6, 10)
        for name, gain in (("linear", float), ("exp2", exp2))
    ),
    Case(
        "ndcg",
        [0, 1],
        1 / log2(3),
        {"ideal": "retrieved"},
        unretrieved=(3, 2),
    ),
    Case("ndcg", [1, 2], (9 + 1 / log2(3)) / (9 + 1 / log2(3)), {"gain": {1: 9, 2: 1}}),
    # ERR and nERR, on grades 0 to 4
    Case("err", [0, 4], 15 / 16 / 2),
    Case("err", [1, 4], 1 / 16 + (15 / 16) * (15 / 16) / 2),
    Case("err", [0, 2], 3 / 4 / 2, {"max_grade": "query"}),
    Case("err", [3, 0, 1], 7 / 8, {"k": 2, "max_grade": 3}),
    Case("nerr", [0, 4], 1 / 2),
    Case("nerr", [4, 0], 1.0),
    Case(
        "nerr",
        [0, 1],
        (1 / 16 / 2) / (15 / 16 + (1 / 16) * (1 / 16) / 2),
        unretrieved=(4,),
    ),
    # two orders of the same documents
    Case("kendall_distance", [3, 1, 2], 1 / 3, scores=[3, 2, 1]),
    Case("kendall_distance", [1, 2, 3], 1.0, scores=[3, 2, 1]),
    Case("kendall_distance", [3, 2, 2], 0.5 / 3, scores=[3, 2, 1]),
    Case("kendall_distance", [3, 2, 2], 1 / 3, {"penalty": 1.0}, scores=[3, 2, 1]),
    Case("kendall_distance", [2, 2, 1], 0.0, scores=[2, 2, 1]),
    Case("kendall_distance", [3, 1, 2, 0], 1 / 3, {"k": 2}, scores=[4, 3, 2, 1]),
    Case("kendall_distance", [1], None),
    Case("spearman", [3, 1, 2], 1 - 6 * (0 + 1 + 1) / (3 * 8), scores=[3, 2, 1]),
    Case("spearman", [1, 2, 3], -1.0, scores=[3, 2, 1]),
    Case("spearman", [1, 1], None),
    # losses
    Case("squared_error", [2, 1], (1 + 0) / 2, scores=[3, 1]),
    Case("squared_error", [2, 5], 1.0, {"k": 1}, scores=[3, 1]),
    Case("squared_error", [None, 5], 16.0, scores=[3, 1]),
    Case("hinge", [0, 1], 1 - (0.5 - 1), scores=[1, 0.5]),
    Case("hinge", [2, 1, 0], (0 + 0 + 0.5) / 3, scores=[3, 1, 0.5]),
    Case("hinge", [1, 1], None),
    Case("listmle", [1, 0], log(e + 1) - 1 + 0, scores=[1, 0]),
    Case("listmle", [0, 1], log(e + 1) - 0, {"k": 1}, scores=[1, 0]),
]
