"""Cumulative gain."""

from __future__ import annotations

from math import log2

from cases.case import GRADES, NONE, TOY, Case, exp2

CASES = [
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
    Case(
        "ndcg",
        [0, 2],
        (2 / log2(3)) / (3 + 2 / log2(3)),
        {"ideal": "min_k_n"},
        unretrieved=(3, 1),
    ),
    Case("ndcg", [3, 2], (3 + 2 / log2(3)) / (3 + 2 / log2(3)), {"ideal": "min_k_n"}),
    Case(
        "ndcg",
        [0, 2, 1],
        (2 / log2(3) + 1 / log2(4)) / (2 * (1 + 1 / log2(3) + 1 / log2(4))),
        {"ideal": "k"},
    ),
    Case("ndcg", [1, 0], 1 / (1 + 1 / log2(3) + 1 / log2(4)), {"ideal": "k", "k": 3}),
    Case("ndcg", [1, 2], (9 + 1 / log2(3)) / (9 + 1 / log2(3)), {"gain": {1: 9, 2: 1}}),
]

WHERE = {
    "there is no upper bound": ["cg", "dcg"],
    "the best order is 1": ["ndcg"],
    "a better document moved up never costs": ["cg", "dcg", "ndcg"],
}
