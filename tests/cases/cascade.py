"""The user stops when satisfied; grades 0 to 4."""

from __future__ import annotations

from cases.case import Case

CASES = [
    Case("err", [0, 4], 15 / 16 / 2),
    Case("err", [1, 4], 1 / 16 + (15 / 16) * (15 / 16) / 2),
    Case("err", [0, 2], 3 / 4 / 2, {"max_grade": "query"}),
    Case("err", [3, 0, 1], 7 / 8, {"k": 2, "max_grade": 3}),
    Case("err", [1, 3], 1 / 4 + 3 / 4 * 3 / 4 / 2, {"stop": "linear", "max_grade": 3}),
    Case("err", [0.5, 0.25], 0.5 + 0.5 * 0.25 / 2, {"stop": "grade", "max_grade": 1}),
    Case("nerr", [0, 4], 1 / 2),
    Case("nerr", [0, 3], 1 / 2, {"stop": "linear"}),
    Case("nerr", [4, 0], 1.0),
    Case(
        "nerr",
        [0, 1],
        (1 / 16 / 2) / (15 / 16 + (1 / 16) * (1 / 16) / 2),
        unretrieved=(4,),
    ),
    Case("pfound", [0, 4], 0.85),
    Case("pfound", [0.5, 0, 1], 0.5 + 0.5 * 0.25, {"decay": 0.5, "max_grade": 1}),
    Case("pfound", [2, 4], 1 / 2, {"k": 1}),
    Case("pfound", [1, 2], 1 / 2 + 1 / 2 * 0.85, {"max_grade": "query"}),
]

WHERE = {
    "the best order is 1": ["nerr"],
    "a better document moved up never costs": ["err", "nerr", "pfound"],
}
