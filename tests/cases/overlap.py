"""What the rankings by score and by label have in common."""

from __future__ import annotations

from math import log, sqrt

from cases.case import NONE, Case

CASES = [
    # A_1 = 0, A_2 = 1; nothing is known below
    Case("rbo", [1, 2], 1 / 2, {"p": 0.5}, scores=[2, 1]),
    Case(
        "rbo",
        [1, 2],
        1 * (0 + 1 / 4 + 2 * (log(2) - 1 / 2 - 1 / 8)),
        {"p": 0.5, "estimate": "min"},
    ),
    Case("rbo", [1, 2], 0 + 1 / 4 + 1 / 4, {"p": 0.5, "estimate": "max"}),
    Case("rbo", [2, 1], 1.0),
    # tied labels: at depth 1 each is half in
    Case("rbo", [1, 1], (1 / 2) / 2 + 1 / 2, {"p": 0.5}),
    Case("rbo", [1, 1], (2 / 3) / 2 + 1 / 2, {"p": 0.5, "tied": "w"}),
    Case("rbo", [1, 1], (1 / 2 / sqrt(1 / 2)) / 2 + 1 / 2, {"p": 0.5, "tied": "b"}),
    Case("compat", [0, 1], (1 / 2 * 1 / 2) / (1 + 1 / 2 * 1 / 2), {"p": 0.5}),
    Case("compat", [0, 1], (1 / 4) / (1 + 1 / 2), {"p": 0.5, "normalize": False}),
    Case("compat", [2, 2, 1], 1.0),
    Case(
        "compat",
        [1],
        (0 + 1 / 2 / 2) / (1 + 1 / 2),
        {"p": 0.5},
        unretrieved=(2,),
    ),
    Case("compat", NONE, 0.0),
    Case("overlap", [1, 0, 2], 1 / 2, {"k": 2}),
    Case("overlap", [1, None, 2], 2 / 3),
    Case("overlap", [1, 1], 1 / 2, {"k": 2}, unretrieved=(2,)),
    Case("jaccard", [1, 0, 2], 1 / 3, {"k": 2}),
    Case("jaccard", [1, None, 2], 2 / 3),
    Case("unexpectedness", [1, 0, 2], 1 - 1 / 2, {"k": 2}),
    Case("unexpectedness", [1, None, 2], 1 - 2 / 10),
    Case("unexpectedness", [1, 1], 1 - 1 / 2, {"k": 2}, unretrieved=(2,)),
]

WHERE = {
    "the best order is 1": ["compat"],
    "a list shorter than k costs": ["unexpectedness"],
}
