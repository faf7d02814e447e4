"""Clicks as labels."""

from __future__ import annotations

from cases.case import NONE, Case

CASES = [
    Case("first_click", [0, 1, 1], 2.0),
    Case("first_click", [1, 0, 3], 3.0, {"rel": 2}),
    Case("first_click", NONE, None),
    Case("last_click", [0, 1, 1, 0], 3.0),
    Case("last_click", [1], 1.0),
    Case("last_click", NONE, None),
    Case("mean_click", [0, 1, 1, 0], (2 + 3) / 2),
    Case("mean_click", NONE, None),
    Case("mean_rr", [1, 1, 0], (1 + 1 / 2) / 2),
    Case("mean_rr", NONE, 0.0),
    Case("p_skip", [0, 1, 1, 0], (3 - 2) / 3),
    Case("p_skip", [1, 1], 0.0),
    Case("p_skip", [0, 0, 0, 1], (4 - 1) / 4),
    Case("p_skip", NONE, None),
]
