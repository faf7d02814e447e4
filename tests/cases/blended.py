"""Precision and cumulative gain in one number."""

from __future__ import annotations

from cases.case import Case

LAST = [0, 1, 2]  # the best order has gathered 2 at rank 1 and 3 from rank 2

CASES = [
    Case("q_measure", [1, 0, 2], (2 / 3 + 5 / 6) / 2),
    Case("q_measure", LAST, (2 / 5 + 5 / 6) / 2),
    Case("q_measure", [1, 0, 0, 2, 1], (2 / 3 + 5 / 8 + 7 / 9) / 3),
    Case("q_measure", LAST, 2 / 5 / 2, {"k": 2}),
    Case("q_measure", LAST, (1 / 2 + 2 / 3) / 2, {"beta": 0}),
    Case("q_measure", [1, None, 3], 2 / 8 / 2, {"k": 2, "gain": {3: 7}}),
    Case("q_measure", [1], (2 / 4 + 0) / 2, unretrieved=(3,)),
    Case("o_measure", LAST, 2 / 5),
    Case("o_measure", LAST, (1 + 2) / (3 + 2), {"rel": 2}),
    Case("p_measure", LAST, 5 / 6),
    Case("p_measure", [1, 2, 0, 2], 5 / 6),
    Case("p_measure", [0, 1], 2 / 7, unretrieved=(4,)),
    Case("p_plus", LAST, (2 / 5 + 5 / 6) / 2),
    Case("p_plus", [2, 0, 2, 1], 3 / 3),
    Case("ncu_gu", [1, 0, 2], (2 / 3 + 2 * 5 / 6) / 3),
    Case("ncu_gu", [1, 0, 2], (1 + 4 * 2 / 3) / 5, {"stop": {2: 4}, "beta": 0}),
    Case("ncu_rb", [1, 0, 2], (2 / 3 + 0.95 * 5 / 6) / 1.95),
    Case("ncu_rb", [1], (2 / 4) / 1.5, {"gamma": 0.5}, unretrieved=(3,)),
]

WHERE = {"the best order is 1": ["q_measure", "o_measure", "ncu_rb"]}
