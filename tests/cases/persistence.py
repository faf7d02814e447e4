"""Rank-biased precision and its residual."""

from __future__ import annotations

from cases.case import GRADES, NONE, Case

CASES = [
    Case("rbp", [0, 2, 1], 1 / 2 * (1 / 2 * 2 / 2 + 1 / 4 * 1 / 2), {"p": 0.5}),
    Case("rbp", [0, 2, 1], 1 / 2 * 1 / 2 * 2 / 4, {"p": 0.5, "scale": 4, "k": 2}),
    Case("rbp", [0, 2, 1], 0.1 * (0.9 + 0.81), {"gain": "binary"}),
    Case("rbp", [0, 2, 1], 0.1 * 0.9, {"gain": "binary", "rel": 2}),
    Case("rbp", [1], 0.1 * 1 / 3, unretrieved=(3,)),
    # trec_eval -m rbp.1=2,2=5: by 5 where no grade is 2; gains of at most 1 as they are
    Case("rbp", [0, 1], 0.1 * 0.9 * 2 / 5, {"gain": {1: 2, 2: 5}}),
    Case("rbp", [0, 1, 2], 0.1 * (0.9 * 0.2 + 0.81 * 0.5), {"gain": {1: 0.2, 2: 0.5}}),
    Case("rbp", GRADES, 0.1 * (1 + 0.9 * 2 / 3 + 0.81 + 0.9**4 / 3)),
    Case("rbp", NONE, 0.0),
    Case("rbp_residual", [1, None], 1 - 1 / 2, {"p": 0.5}),
    Case("rbp_residual", [1, -1, 0], 1 / 4 + 1 / 8, {"p": 0.5}),
    Case("rbp_residual", [1, 0], 1 / 4, {"p": 0.5}),
    Case("rbp_residual", [1, 0], 0.0, {"p": 0.5, "all_judged": "zero"}),
    Case("rbp_residual", [1, None], 1 / 2, {"p": 0.5, "all_judged": "zero"}),
    Case("rbp_residual", [1, None, 0], 1 / 2, {"p": 0.5, "k": 1}),
]

WHERE = {
    "a better document moved up never costs": ["rbp"],
}
