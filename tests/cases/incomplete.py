"""Partial judgments."""

from __future__ import annotations

from math import log

from cases.case import NONE, Case

E = 1e-5

CASES = [
    Case("bpref", [1, 0, 1], (1 + (1 - 1 / 1)) / 2),
    Case("bpref", [1, None, 1], (1 + 1) / 2),
    Case("bpref", [0, 1, 1], (2 - 1 / 2 - 1 / 2) / 2, unretrieved=(0,)),
    Case("bpref", [0, -1, 1, 0, 1], (2 - 1 / 2 - 2 / 2) / 2),
    Case("bpref", [0, 0, 1], 0.0),
    Case("bpref", [1, 2], (1 - 1 / 1) / 1, {"rel": 2}),
    Case("bpref", NONE, 0.0),
    Case("gm_bpref", [1, 0, 1], log(1 / 2)),
    Case("gm_bpref", NONE, log(1e-5)),
    Case("inf_ap", [1, None, None], 1.0),
    Case("inf_ap", [None, 1], 1 / 2),
    Case("inf_ap", [1, 0, -1, 1], (1 + (1 + 3 * (1 + E) / (2 + 2 * E)) / 4) / 2),
    Case(
        "inf_ap",
        [1, None, 1],
        (1 + (1 + 1 * (1 + E) / (1 + 2 * E)) / 3) / 3,
        unretrieved=(1,),
    ),
    Case("judged", [1, None], 1 / 2, {"k": 5}),
    Case("judged", [1, -1, None, 0], 2 / 3, {"k": 3}),
    Case("judged", [1, -1, None, 0], 3 / 4, unretrieved=(1,)),
    Case("hole", [1, None, -1], 1 / 5, {"k": 5}),
    Case("hole", [None, 1, None, 0], 1 / 2, {"k": 2}),
    Case("hole", [None, 1, None], 2 / 3, unretrieved=(1,)),
    Case("unjudged", [1, None], 1 / 5, {"k": 5}),
    Case("unjudged", [1, -1, None, 0], 2 / 3, {"k": 3}),
    Case("unjudged", [1, -1, None, 0], 2 / 4, unretrieved=(1,)),
]

WHERE = {
    "a list shorter than k costs": ["hole", "unjudged"],
    "it can be negative": ["gm_bpref"],
    "the best order is 1": ["bpref"],
}
