"""Libraries that train and test models: rows with labels and scores."""

from __future__ import annotations

import math

from polars_rank.conventions.tool import ONE, ROWS, ZERO, Tool

ONE_UNWEIGHTED = {"no_relevant": "one_unweighted"}
UNDEFINED_ZERO = {"undefined": 0}
ONE_CLASS_ZERO = {"one_class": 0}

TOOLS = (
    Tool(
        "scikit-learn",
        ROWS.replace(
            name="sklearn",
            ties="expected",
            negative_grade="error",
            exceptions={
                "lrap": ONE,
                "ranking_loss": ONE_CLASS_ZERO,
                "coverage_error": UNDEFINED_ZERO,
            },
        ),
        "mean over the orders of ties, ideal over the rows, no negative grades",
        {"ndcg": "ndcg_score", "dcg": "dcg_score"},
    ),
    Tool(
        "LightGBM",
        ROWS.replace(
            name="lightgbm",
            gain="exp2",
            no_relevant="one",
            negative_grade="error",
            ap_divisor="min_k_R",
            exceptions={"ndcg": ONE_UNWEIGHTED},
        ),
        "gain 2^g - 1, ideal over the rows, 1 where nothing is relevant",
        {"ndcg": "ndcg@k", "ap": "map@k"},
        "A mean with weights can be above 1: a query with nothing relevant adds 1, "
        "not its weight.",
    ),
    Tool(
        "XGBoost",
        ROWS.replace(
            name="xgboost",
            score_dtype="float32",
            gain="exp2",
            no_relevant="one",
            negative_grade="error",
            precision_divisor="retrieved",
            ap_divisor="min_k_R",
            exceptions={"precision": ZERO, "ndcg": ONE_UNWEIGHTED},
        ),
        "as LightGBM with float32 scores; P@k divides by min(k, n)",
        {"ndcg": "ndcg@k", "ap": "map@k", "precision": "pre@k"},
        "A mean with weights can be above 1: a query with nothing relevant adds 1, "
        "not its weight.",
    ),
    Tool(
        "CatBoost",
        ROWS.replace(
            name="catboost",
            ties="pessimistic",
            rel=math.nextafter(0.5, 1),  # above its border of 0.5
            precision_divisor="retrieved",
            ap_divisor="min_k_R",
            exceptions={
                "ndcg": ONE,
                "recall": ONE,
                "auc": ONE_CLASS_ZERO,
                "pair_accuracy": {"tied_score": 0},
                "err": {"stop": "grade", "max_grade": 1},  # labels are probabilities
                "pfound": {"max_grade": 1},
            },
        ),
        "ties with the worst first, relevant above 0.5, ERR of probabilities",
        {"ndcg": "NDCG", "dcg": "DCG", "ap": "MAP", "rr": "MRR", "err": "ERR"}
        | {"precision": "PrecisionAt", "recall": "RecallAt"},
    ),
    Tool(
        "torchmetrics",
        ROWS.replace(
            name="torchmetrics",
            score_dtype="float32",
            ap_divisor="hits",
            exceptions={"auc": ONE_CLASS_ZERO, "fall_out": UNDEFINED_ZERO},
        ),
        "float32 scores, linear gain over the rows, AP@k divides by the hits",
        {"ndcg": "retrieval_normalized_dcg", "ap": "retrieval_average_precision"}
        | {"rr": "retrieval_reciprocal_rank", "precision": "retrieval_precision"}
        | {"recall": "retrieval_recall", "accuracy": "retrieval_hit_rate"},
    ),
)
