"""Two orders of the same documents."""

from __future__ import annotations

from math import sqrt

from cases.case import Case

CASES = [
    Case("kendall_distance", [3, 1, 2], 1 / 3, scores=[3, 2, 1]),
    Case("kendall_distance", [1, 2, 3], 1.0, scores=[3, 2, 1]),
    Case("kendall_distance", [3, 2, 2], 0.5 / 3, scores=[3, 2, 1]),
    Case("kendall_distance", [3, 2, 2], 1 / 3, {"penalty": 1.0}, scores=[3, 2, 1]),
    Case("kendall_distance", [2, 2, 1], 0.0, scores=[2, 2, 1]),
    Case("kendall_distance", [3, 1, 2, 0], 1 / 3, {"k": 2}, scores=[4, 3, 2, 1]),
    Case("kendall_distance", [1], None),
    Case("spearman", [3, 1, 2], 1 - 6 * (0 + 1 + 1) / (3 * 8), scores=[3, 2, 1]),
    Case("spearman", [1, 2, 3], -1.0, scores=[3, 2, 1]),
    Case("spearman", [1, 1], None),
    Case("kendall_tau", [3, 1, 2], (2 - 1) / 3, scores=[3, 2, 1]),
    Case("kendall_tau", [3, 2, 2], 2 / sqrt(3 * 2), scores=[3, 2, 1]),
    Case("kendall_tau", [3, 2, 2], 2 / 3, {"variant": "a"}, scores=[3, 2, 1]),
    Case("kendall_tau", [3, 2, 2], 2 * 2 / (9 / 2), {"variant": "c"}),
    Case("kendall_tau", [3, 1, 2, None], -1.0, {"k": 1}, scores=[3, 4, 2, 5]),
    Case("kendall_tau", [1, 1], None),
    Case("kendall_tau", [1, 1], 0.0, {"variant": "a"}),
    Case("tau_ap", [3, 1, 2], 2 / 2 * (1 / 1 + 1 / 2) - 1, scores=[3, 2, 1]),
    Case("tau_ap", [2, 3, 1], 2 / 2 * (0 / 1 + 2 / 2) - 1, scores=[3, 2, 1]),
    Case("tau_ap", [1, 1], 0.0),
    Case("tau_ap", [1, 1], None, {"variant": "b"}),
    Case("tau_ap", [3, 2, 2], 1 / 1 + (1 + 1 / 2) / 2 - 1),
    Case(
        "tau_ap",
        [3, 2, 2],
        ((2 * (1 + 1 / 2) / 2 - 1) + (2 * (1 + 1) / 2 - 1)) / 2,
        {"variant": "b"},
    ),
    Case("weighted_tau", [1, 2], -1.0, scores=[2, 1]),
    Case(
        "weighted_tau",
        [3, 1, 2],
        ((3 / 2 + 4 / 3 - 5 / 6) + (4 / 3 + 3 / 2 - 5 / 6)) / 2 / (11 / 3),
    ),
    Case("weighted_tau", [3, 3], None),
    Case("pearson", [3, 1, 2], 1 / 2, scores=[3, 2, 1]),
    Case("pearson", [2, 4, 6], -1.0),
    Case("pearson", [2, 2], None),
]

WHERE = {
    "it can be negative": [
        "spearman",
        "kendall_tau",
        "tau_ap",
        "weighted_tau",
        "pearson",
    ]
}
