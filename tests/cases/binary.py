"""Found or not found."""

from __future__ import annotations

from math import log

from cases.case import GRADES, LATE, NONE, ODD, Case

CASES = [
    # accuracy, precision, recall, F1 of the seeds
    *(Case("accuracy", ODD, 1.0, {"k": k}) for k in (1, 5)),
    Case("accuracy", LATE, 0.0, {"k": 4}),
    Case("accuracy", LATE, 1.0, {"k": 5}),
    Case("accuracy", NONE, 0.0),
    *(
        Case("precision", ODD, expected, {"k": k})
        for k, expected in enumerate([1, 1 / 2, 2 / 3, 2 / 4, 3 / 5], 1)
    ),
    *(
        Case("recall", ODD, expected, {"k": k})
        for k, expected in enumerate([1 / 3, 1 / 3, 2 / 3, 2 / 3, 3 / 3], 1)
    ),
    *(
        Case("f1", ODD, 2 * p * r / (p + r), {"k": k})
        for k, (p, r) in enumerate(
            [(1, 1 / 3), (1 / 2, 1 / 3), (2 / 3, 2 / 3), (1 / 2, 2 / 3), (3 / 5, 1)], 1
        )
    ),
    Case("f_measure", ODD, 3 * 2 / (3 + 2 * 3), {"k": 3, "x": 2}),
    Case("f_measure", ODD, 2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4), unretrieved=(1,)),
    Case("set_ap", [1, 0], 1 / 2 * 1),
    Case("set_ap", ODD, 3 / 5 * 3 / 4, unretrieved=(1,)),
    Case("set_ap", NONE, 0.0),
    Case("precision", ODD, 3 / 5),
    Case("precision", ODD, 3 / 10, {"k": 10}),
    Case("precision", ODD, 3 / 5, {"k": 10, "divisor": "retrieved"}),
    Case("precision", ODD, 3 / 3, {"k": 10, "divisor": "min_k_R"}),
    Case("precision", ODD, 2 / 3, {"k": 3, "divisor": "min_k_R"}),
    Case("recall", ODD, 2 / 3, {"k": 3, "divisor": "min_k_R"}),
    Case("recall", ODD, 1 / 2, {"k": 2, "divisor": "min_k_R"}),
    Case("recall", ODD, 3 / 5, unretrieved=(1, 1)),
    Case("recall", ODD, 0.0, {"rel": 2}),
    Case("precision", GRADES, 2 / 5, {"k": 5, "rel": 3}),
    Case("precision", [2, 0.5, 0.4], 2 / 3, {"k": 3, "rel": 0.5}),
    Case("recall", [1, -1, None, 0], 1.0, {"rel": 1}),
    Case("recall", [1, -1, None, 0], 1 / 2, {"k": 1, "rel": 0}),
    # average precision; one seed prints 0.7575, the arithmetic gives 0.7556
    Case("ap", ODD, (1 + 2 / 3 + 3 / 5) / 3),
    Case("ap", [1, 1, 1, 0, 0], 1.0),
    Case("ap", ODD, (1 + 2 / 3) / 3, {"k": 3}),
    Case("ap", ODD, (1 + 2 / 3 + 3 / 5) / 5, unretrieved=(1, 1)),
    Case("ap", ODD, (1 + 2 / 3) / 2, {"k": 3, "divisor": "hits"}),
    Case("ap", ODD, 1 / 2, {"k": 2, "divisor": "min_k_R"}),
    Case("ap", ODD, (1 + 2 / 3) / 4, {"k": 4, "divisor": "k"}),
    Case("ap", ODD, (1 + 2 / 3) / 3, {"k": 4, "divisor": "min_k_R_n"}),
    Case("ap", [1, 1], 2 / 2, {"divisor": "min_k_R_n"}, unretrieved=(1,)),
    Case("ap", [1, 0], 1 / 2, {"k": 5, "divisor": "min_k_R_n"}, unretrieved=(1, 1)),
    Case("ap", LATE, 0.0, {"k": 3, "divisor": "hits"}),
    Case("ap", NONE, 0.0),
    Case("full_recall", [1, 0, 1], 0.0, {"k": 2}),
    Case("full_recall", [1, 0, 1], 1.0, {"k": 3}),
    Case("full_recall", [1, 0, 1], 0.0, unretrieved=(1,)),
    Case("full_recall", [1, 2], 0.0, {"k": 1, "rel": 2}),
    Case("full_recall", [2, 1], 1.0, {"k": 1, "rel": 2}),
    Case("full_recall", NONE, 0.0),
    Case("gm_ap", [0, 1], log(1 / 2)),
    Case("gm_ap", NONE, log(1e-5)),
    Case("yaap", [0, 1], log((1 + 1 / 2) / (1 + 1 - 1 / 2))),
    Case("yaap", [0, 1], log((1 + 1 / 2) / (1 + 2 - 1 / 2)), unretrieved=(1,)),
    # reciprocal rank
    Case("rr", ODD, 1.0),
    Case("rr", LATE, 1 / 5),
    Case("rr", LATE, 0.0, {"k": 4}),
    Case("rr", NONE, 0.0),
    Case("rr", GRADES, 1 / 1, {"rel": 3}),
    Case("rr", [1, 2, 3], 1 / 3, {"rel": 3}),
]

WHERE = {
    "a list shorter than k costs": ["precision", "f1", "f_measure"],
    "it can be negative": ["gm_ap", "yaap"],
    "there is no upper bound": ["yaap"],
    "the best order is 1": ["ap", "recall", "rr", "accuracy"],
}
