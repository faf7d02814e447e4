"""Learning-to-rank losses."""

from __future__ import annotations

from math import e, log

from cases.case import Case

CASES = [
    Case("squared_error", [2, 1], (1 + 0) / 2, scores=[3, 1]),
    Case("squared_error", [2, 5], 1.0, {"k": 1}, scores=[3, 1]),
    Case("squared_error", [None, 5], 16.0, scores=[3, 1]),
    Case("hinge", [0, 1], 1 - (0.5 - 1), scores=[1, 0.5]),
    Case("hinge", [2, 1, 0], (0 + 0 + 0.5) / 3, scores=[3, 1, 0.5]),
    Case("hinge", [1, 1], None),
    Case("listmle", [1, 0], log(e + 1) - 1 + 0, scores=[1, 0]),
    Case("listmle", [0, 1], log(e + 1) - 0, {"k": 1}, scores=[1, 0]),
]
