"""Pairs of documents."""

from __future__ import annotations

from cases.case import LATE, NONE, ODD, Case

BY_DIFFERENCE = {"weigh": "by_difference"}

CASES = [
    Case("auc", [1, 0, 1], 1 / 2),
    Case("auc", ODD, (2 + 1 + 0) / (3 * 2)),
    Case("auc", [1, 0], 1 / 2, scores=[2, 2]),
    Case("auc", [1, 0, 0, 1], (1 / 2 + 1) / (2 * 2), scores=[2, 2, 1, 0]),
    Case("auc", [1, 0, 1, 0], 1 / 1, {"k": 2}),
    Case("auc", [1, None, 1, 0], 1.0),
    Case("auc", NONE, None),
    Case("auc", NONE, 0.5, {"one_class": 0.5}),
    Case("auc", [1, 1], 0.5, {"one_class": 0.5}),
    # up to a false positive rate of 1/2: the area is 1/4 of at most 1/2, chance 1/8
    Case(
        "auc",
        [1, 0, 0, 1],
        (1 + (1 / 4 - 1 / 8) / (1 / 2 - 1 / 8)) / 2,
        {"max_fpr": 0.5},
    ),
    Case("relevant_above", [1, 0, 1], 1 - (0 + 1) / (2 * 1)),
    Case("relevant_above", [None, 1, 0], 1 / 2),
    Case("relevant_above", [0, 1, 0, 1], 0 / 1, {"k": 2}),
    Case("relevant_above", [1, 1], None),
    Case("relevant_above", [1, 1], 1.0, {"one_class": 1}),
    Case("partial_auc", [0, 1, 0], (2 - 1) / 2, {"k": 2}),
    Case("partial_auc", [1, 0, 0, 1], (2 + 0) / (2 * 2), {"k": 2}),
    Case("partial_auc", [1, 0], (3 + 0) / (3 * 2), {"k": 3}, unretrieved=(1,)),
    Case("partial_auc", [1, 0, 1], 1 / 1, {"k": 1, "positives": "k"}),
    Case("partial_auc", [1, 0, 1], (1 + 0) / (1 * 2)),
    Case("partial_auc", [1, 1], 2 / 3, unretrieved=(1,)),
    Case("partial_auc", LATE, 0.0),
    Case("pair_accuracy", [2, 0, 1], 2 / 3),
    Case("pair_accuracy", [2, 0, 1], (1 + 1 + 1 / 2) / 3, scores=[3, 2, 2]),
    Case("pair_accuracy", [2, 0, 1], 2 / 3, {"tied_score": 0}, scores=[3, 2, 2]),
    Case("pair_accuracy", [2, 0, 1], 1 / 1, {"k": 2}),
    Case("pair_accuracy", [2, 2], None),
    Case("pair_accuracy", [2, 0, 1], (2 + 1) / (2 + 1 + 1), BY_DIFFERENCE),
    Case("pair_accuracy", [2, 0, 1], (3 + 1 / 2) / 4, BY_DIFFERENCE, scores=[3, 2, 2]),
    Case("opa", [2, 0, 1], 2 / 3),
    Case("opa", [1, 3, 0, 1], 3 / 5),
    Case("opa", [2, 0, 1], 2 / 3, scores=[3, 2, 2]),
    Case("opa", [2, 2], None),
    Case("ranking_loss", [1, 0, 1], 1 / 2),
    Case("ranking_loss", [1, 0], 1.0, scores=[2, 2]),
    Case("ranking_loss", [1, 1], None),
    Case("ranking_loss", [1, 1], 0.0, {"one_class": 0}),
    Case("lrap", [1, 0], 1 / 2, scores=[2, 2]),
    Case("lrap", ODD, (1 + 2 / 3 + 3 / 5) / 3),
    Case("lrap", NONE, 0.0),
    Case("coverage_error", [1, 0, 1, 0], 3.0),
    Case("coverage_error", [1, 0, 1, 0], 4.0, scores=[4, 3, 2, 2]),
    Case("coverage_error", NONE, None),
    Case("coverage_error", NONE, 0.0, {"undefined": 0}),
]

WHERE = {
    "a list shorter than k costs": ["partial_auc"],
    "the best order is 1": ["partial_auc", "lrap"],
    "a better document moved up never costs": ["partial_auc", "lrap"],
}
