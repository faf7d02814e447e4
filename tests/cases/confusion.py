"""Counts in the first k."""

from __future__ import annotations

from math import sqrt

from cases.case import NONE, ODD, Case

CASES = [
    Case("hits", [1, 0, 1], 1.0, {"k": 2}),
    Case("hits", [1, 0, 1], 2.0),
    Case("hits", NONE, 0.0),
    Case("fall_out", [1, 0, 0], 1 / 2, {"k": 2}),
    Case("fall_out", [1, 1], 0.0, {"undefined": 0}),
    Case("fall_out", [1, None, 0], 0 / 1, {"k": 2}),
    Case("fall_out", [1, None, 0], 1 / (10 - 1), {"k": 2, "catalog": 10}),
    Case("fall_out", [1, 1], None),
    Case("binary_accuracy", [1, 0, 0], (1 + 1) / 3, {"k": 2}),
    Case("binary_accuracy", [1, 0, 0], (1 + 8) / 10, {"k": 2, "catalog": 10}),
    Case("binary_accuracy", ODD, (2 + 1) / 5, {"k": 3}),
    Case("mcc", [1, 0, 0], (1 * 1 - 1 * 0) / sqrt(2 * 1 * 2 * 1), {"k": 2}),
    Case(
        "mcc",
        [1, 0, 1],
        (1 * 7 - 1 * 1) / sqrt(2 * 2 * 8 * 8),
        {"k": 2, "catalog": 10},
    ),
    Case("mcc", [1, 0, 0], 0.0),
    Case("mean_label", [3, 0, 1], 3 / 2, {"k": 2}),
    Case("mean_label", [3, None, 1], 3.0, {"k": 2}),
    Case("mean_label", [3, -1, 1], 1.0),
    Case("mean_label", [None, 2], None, {"k": 1}),
    Case("arp", [3, 0, 1], (3 * 1 + 1 * 3) / 4),
    Case("arp", [3, 0, 1], (7 * 1 + 1 * 3) / 8, {"gain": "exp2"}),
    Case("arp", NONE, None),
]

WHERE = {
    "there is no upper bound": ["hits"],
    "it can be negative": ["mcc", "mean_label"],
    "a better document moved up never costs": ["hits"],
}
