"""Counts, and the worth of a set by its counts."""

from __future__ import annotations

from cases.case import Case

MIXED = [1, 0, None, -1, 2]

CASES = [
    Case("num_q", MIXED, 1.0),
    Case("num_ret", MIXED, 5.0, unretrieved=(1, 0)),
    Case("num_ret", MIXED, 2.0, {"rel": 1}, unretrieved=(1, 0)),
    Case("num_ret", MIXED, 1.0, {"rel": 2}),
    Case("num_rel", MIXED, 3.0, unretrieved=(1, 0)),
    Case("num_rel_ret", MIXED, 2.0, unretrieved=(1, 0)),
    Case("num_rel_ret", MIXED, 1.0, {"rel": 2}, unretrieved=(2,)),
    Case("num_nonrel_judged_ret", MIXED, 1.0, unretrieved=(1, 0)),
    Case("num_nonrel_judged_ret", MIXED, 2.0, {"rel": 2}),
    Case("utility", [1, 0, 0], 1.0 - 2),
    Case(
        "utility",
        MIXED,
        2 * 2 + 0.5 * 3 - 1 * 1 + 0.25 * (10 - 6),
        {"tp": 2, "fp": 0.5, "fn": -1, "tn": 0.25, "collection": 10},
        unretrieved=(1,),
    ),
]

WHERE = {"it can be negative": ["utility"]}
