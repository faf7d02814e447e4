"""Diversity: subtopics A and B, grades in rank order; unretrieved ones behind None."""

from __future__ import annotations

from math import log2

TWO = {"A": [1, 1], "B": [0, 1]}  # the second document covers both
ONE = {"A": [1, 0, 1]}
LOST = {"A": [0, 1, None, 1], "B": [0, 0, None, 2], "C": [0, -1, None, 0]}

CASES: list[tuple[str, dict, dict, float]] = [
    ("alpha_dcg", TWO, {"k": 2, "norm": "none"}, 1 + 1.5 / log2(3)),
    (
        "alpha_dcg",
        TWO,
        {"k": 2},
        (1 + 1.5 / log2(3)) / (2 * (1 + 0.5 / log2(3))),
    ),
    ("alpha_dcg", TWO, {"k": 1}, 1 / 2),
    ("alpha_dcg", TWO, {"k": 1, "norm": "ndeval"}, 1.0),
    ("alpha_dcg", ONE, {"k": 3, "alpha": 0, "norm": "none"}, 1 + 1 / 2),
    ("alpha_dcg", ONE, {"k": 3, "alpha": 1, "norm": "none"}, 1.0),
    ("alpha_ndcg", TWO, {"k": 2}, (1 + 1.5 / log2(3)) / (2 + 0.5 / log2(3))),
    ("alpha_ndcg", ONE, {}, (1 + 0.5 / 2) / (1 + 0.5 / log2(3))),
    ("alpha_ndcg", LOST, {"k": 2}, (1 / log2(3)) / (2 + 0.5 / log2(3))),
    ("err_ia", TWO, {"k": 2, "norm": "none"}, (1.25 + 0.5) / 2),
    ("err_ia", TWO, {"k": 2}, (1.25 + 0.5) / 2 / 1.25),
    ("err_ia", TWO, {"k": 1, "norm": "ndeval"}, 1.0),
    ("err_ia", TWO, {"k": 1}, 1 / 2),
    ("nerr_ia", TWO, {"k": 2}, (1.25 + 0.5) / (2 + 0.25)),
    ("nrbp", TWO, {}, 0.75 * (1.25 + 0.5) / 2),
    ("nrbp", ONE, {"alpha": 0.2, "beta": 0.9}, 0.28 * (1 + 0.8 * 0.81)),
    ("nnrbp", TWO, {}, (1.25 + 0.5) / (2 + 0.25)),
    ("p_ia", TWO, {"k": 2}, (1 + 1 / 2) / 2),
    ("p_ia", TWO, {}, (1 + 1 / 2) / 2),
    ("p_ia", LOST, {}, (1 / 2 + 0) / 2),
    ("p_ia", LOST, {"k": 4, "empty": "zero"}, (1 / 4 + 0 + 0) / 3),
    ("ap_ia", TWO, {}, (1 + 1 / 2) / 2),
    ("ap_ia", LOST, {}, (1 / 2 / 2 + 0) / 2),
    ("ap_ia", LOST, {"empty": "zero"}, (1 / 2 / 2 + 0 + 0) / 3),
    ("ap_ia", LOST, {"rel": 2}, 0.0),
    ("st_recall", TWO, {"k": 1}, 1 / 2),
    ("st_recall", LOST, {}, 1 / 2),
]
