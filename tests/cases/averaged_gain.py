"""Gain against the best order, looked at where documents are found."""

from __future__ import annotations

from math import log2

from cases.case import NONE, Case

CASES = [
    Case("average_ndcg", [0, 1], 1 / log2(3)),
    Case("average_ndcg", [1, 0, 0], (1 + 1 / (1 + 1 / log2(3))) / 2, unretrieved=(1,)),
    Case("average_ndcg", [2, 1], 1.0),
    Case(
        "average_ndcg",
        [1, 2],
        (1 / 9 + (1 + 9 / log2(3)) / (9 + 1 / log2(3))) / 2,
        {"gain": {2: 9}},
    ),
    Case("average_ndcg", NONE, 0.0),
    Case("r_ndcg", [0, 2, 1], (2 / log2(3) / (2 + 1 / log2(3))) / 2),
    Case("r_ndcg", [0, 0, 1], (0 + 1 / 2) / 2),
    Case("r_ndcg", [0, 1], 0.0),  # a list longer by 1 has no end of its own
    Case("r_ndcg", [3, 1], (1 + 1) / 2),
    Case("r_ndcg", [0, 2], (2 / log2(3) / (2 + 2 / log2(3))), unretrieved=(2,)),
    Case("g_measure", [0, 0, 1], 1 / log2(2 + 2)),
    Case("g_measure", [0, 1], 1 / log2(3)),
    Case("g_measure", [0, 2], (2 / log2(2 + 4 - 2)) / 4, unretrieved=(2,)),
    # the best order has 2, 1 and then 1 for every rank
    Case(
        "g_measure", [0, 0, 0, 2], (2 / log2(2 + 2 + 1 + 2 - 2)) / 3, unretrieved=(1,)
    ),
    Case("g_measure", [0, 4, 2], (4 / log2(4) + 2 / log2(3)) / 6),
    Case("g_measure", [0, 2, 4], (2 / log2(6) + 4 / log2(3)) / 6),
    Case("g_measure", [0, 2, 1], (1 / log2(3) + 1 / log2(3)) / 2, {"gain": "binary"}),
    Case("binary_g_measure", [0, 2, 1], 1 / log2(3)),
    Case("binary_g_measure", [0, 2, 1], 1 / log2(3), {"rel": 2}),
]

WHERE = {
    "the best order is 1": ["average_ndcg", "r_ndcg", "g_measure", "binary_g_measure"],
    # of 0, 4, 2 it is (4 / log2(4) + 2 / log2(3)) / 6, of the worst order 0, 2, 4 it is
    # (2 / log2(6) + 4 / log2(3)) / 6, which is more
    "a better order can cost": ["g_measure", "binary_g_measure"],
}
