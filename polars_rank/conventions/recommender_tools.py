"""Recommenders: lists of items, and the items that a user likes."""

from __future__ import annotations

from polars_rank.conventions.tool import ANY_GRADE, ITEMS, ROWS, ZERO, Tool

TOOLS = (
    Tool(
        "recommenders",
        ITEMS.replace(name="recommenders", missing="skip"),
        "binary gain, users without recommendations are left out",
        {"ndcg": "ndcg_at_k", "ap": "map", "precision": "precision_at_k"}
        | {"recall": "recall_at_k"},
    ),
    Tool(
        "RecTools",
        ITEMS.replace(name="rectools", ideal="k"),
        "binary gain, nDCG divides by k hits even where fewer exist",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "Precision", "recall": "Recall", "f1": "F1Beta"},
    ),
    Tool(
        "RePlay",
        ITEMS.replace(name="replay", ties="doc_desc", ap_divisor="min_k_R"),
        "binary gain, ties by item id, AP@k divides by min(k, R)",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "Precision", "recall": "Recall"},
        "A document that a list has twice counts twice: AP can be 2.",
    ),
    Tool(
        "LensKit",
        ITEMS.replace(
            name="lenskit",
            missing="skip",
            no_relevant="null",
            discount="log2_from_2",
            precision_divisor="retrieved",
            recall_divisor="min_k_R",
            ap_divisor="min_k_R_n",
            exceptions={"dcg": ZERO, "precision": ZERO},
        ),
        "discount from rank 2, capped recall, undefined without test items",
        {"ndcg": "NDCG", "dcg": "DCG", "ap": "AveragePrecision", "rr": "RecipRank"}
        | {"precision": "Precision", "recall": "Recall", "accuracy": "Hit"},
        "An item that a list has twice counts twice: Recall and NDCG can be above 1. "
        "AveragePrecision fails for users without test items. Seen in version "
        "2025.8.1.",
    ),
    Tool(
        "Spark MLlib",
        ITEMS.replace(
            name="spark", missing="skip", no_relevant="zero", ap_divisor="min_k_R"
        ),
        "binary gain, AP@k divides by min(k, R)",
        {"ndcg": "ndcgAt", "ap": "meanAveragePrecisionAt", "precision": "precisionAt"}
        | {"recall": "recallAt"},
        "A document that a list has twice counts twice: recall and NDCG can be above "
        "1.",
    ),
    Tool(
        "RecBole",
        ITEMS.replace(name="recbole", ap_divisor="min_k_R"),
        "binary gain, AP@k divides by min(k, R), every list has k items",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "Hit"}
        | {"precision": "Precision", "recall": "Recall"},
        "Never above 1. Users without test items are not evaluated. A sampled "
        "evaluation ranks a few drawn items, so its numbers are others.",
    ),
    Tool(
        "Evidently",
        ROWS.replace(
            name="evidently",
            no_relevant="skip",
            rel=ANY_GRADE,
            precision_divisor="retrieved",
        ),
        "rows with labels, users who like nothing left out, P@k divides by the rows",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "PrecisionTopK", "recall": "RecallTopK"},
        "MAP is wrong for rows in another than rank order, and above 1 for users with "
        "fewer than k rows, the last of them liked. Equal scores share a rank, the "
        "mean one rounded down. FBeta is that of the mean precision and recall. The "
        "table of NDCG and MRR says k + 1 for k. Seen in version 0.7.23.",
    ),
)
