"""Precision where recall reaches a level, or at a multiple of R."""

from __future__ import annotations

from cases.case import LATE, NONE, ODD, Case

CASES = [
    Case("r_precision", ODD, 2 / 3),
    Case("r_precision", ODD, 3 / 5, unretrieved=(1, 1)),
    Case("r_precision", ODD, 1.0, {"multiple": 0.2}),
    Case("r_precision", ODD, 3 / 6, {"multiple": 2}),
    Case("r_precision", [2, 1, 0], 1.0, {"rel": 2}),
    Case("r_precision", NONE, 0.0),
    *(
        Case("interpolated_precision", [0, 1, 1], expected, {"recall": recall})
        for recall, expected in ((0.0, 2 / 3), (0.5, 2 / 3), (1.0, 2 / 3))
    ),
    Case("interpolated_precision", ODD, 2 / 3, {"recall": 0.5}),
    Case("interpolated_precision", ODD, 3 / 5, {"recall": 0.9}),
    # half of one relevant document is rounded to one
    Case("interpolated_precision", [0, 0, 1], 1 / 3, {"recall": 0.5}),
    Case("interpolated_precision", ODD, 0.0, {"recall": 1.0}, unretrieved=(1,)),
    # 0.4 of 3 is 1.2: one document, or two
    Case("interpolated_precision", ODD, 1.0, {"recall": 0.4}),
    Case("interpolated_precision", ODD, 2 / 3, {"recall": 0.4, "rounding": "up"}),
    Case("eleven_point_ap", [0, 1], 1 / 2),
    # of 3: none or one for recall to 0.4, two to 0.8, three to 1
    Case("eleven_point_ap", ODD, (5 * 1 + 4 * 2 / 3 + 2 * 3 / 5) / 11),
    Case(
        "eleven_point_ap",
        ODD,
        (4 * 1 + 4 * 2 / 3 + 3 * 3 / 5) / 11,  # 0.7 * 3 + 0.9 is a little below 3
        {"rounding": "up"},
    ),
    Case("eleven_point_ap", LATE, 1 / 5),
]

WHERE = {
    "the best order is 1": ["r_precision", "interpolated_precision", "eleven_point_ap"],
}
