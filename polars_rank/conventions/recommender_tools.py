"""Recommenders: lists of items, and the items that a user likes."""

from __future__ import annotations

from polars_rank.conventions.tool import ANY_GRADE, ITEMS, ROWS, ZERO, Tool

BY_N = {"normalize": False}

TOOLS = (
    Tool(
        "recommenders",
        ITEMS.replace(
            name="recommenders",
            missing="skip",
            exceptions={"novelty": {"of": "interactions"}},
        ),
        "binary gain, users without recommendations are left out",
        {"ndcg": "ndcg_at_k", "ap": "map", "precision": "precision_at_k"}
        | {"recall": "recall_at_k"},
        "Lists must have nothing that their users had before. novelty leaves out items "
        "without interactions, and is the mean of all rows, not of users; coverage "
        "divides by the items of the history. Items are alike by vectors, as here, or "
        "by users in common, as in a recipe of the guide.",
        {"novelty": "novelty", "ild": "diversity (of vectors)"}
        | {"content_serendipity": "serendipity (of vectors)"}
        | {"coverage": "catalog_coverage", "entropy": "distributional_coverage"},
    ),
    Tool(
        "RecTools",
        ITEMS.replace(name="rectools", ideal="k", exceptions={"ild": {"undefined": 0}}),
        "binary gain, nDCG divides by k hits even where fewer exist",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "Precision", "recall": "Recall", "f1": "F1Beta"},
        "CatalogCoverage is a number of items unless normalize=True. SufficientReco of "
        "k items is user_coverage(least=k)@k.",
        {"novelty": "MeanInvUserFreq", "mean_popularity": "AvgRecPopularity"}
        | {"serendipity": "Serendipity", "ild": "IntraListDiversity"}
        | {"coverage": "CatalogCoverage", "user_coverage": "CoveredUsers"},
    ),
    Tool(
        "RePlay",
        ITEMS.replace(name="replay", ties="doc_desc", ap_divisor="min_k_R"),
        "binary gain, ties by item id, AP@k divides by min(k, R)",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "Precision", "recall": "Recall"},
        "A document that a list has twice counts twice: AP can be 2. Novelty is what "
        "is new to a user, of all users of the history. Coverage divides by its items.",
        {"surprisal": "Surprisal", "unseen": "Novelty (to the user)"}
        | {"category_diversity": "CategoricalDiversity", "coverage": "Coverage"},
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
            exceptions={"dcg": ZERO, "precision": ZERO, "gini": BY_N},
        ),
        "discount from rank 2, capped recall, undefined without test items",
        {"ndcg": "NDCG", "dcg": "DCG", "ap": "AveragePrecision", "rr": "RecipRank"}
        | {"precision": "Precision", "recall": "Recall", "accuracy": "Hit"},
        "An item that a list has twice counts twice: Recall and NDCG can be above 1. "
        "AveragePrecision fails for users without test items. ExposureGini weighs "
        "items by rank, and MeanPopRank is a mean quantile of popularity: neither is a "
        "measure here. Seen in version 2025.8.1.",
        {"gini": "ListGini"},
    ),
    Tool(
        "Elliot",
        ITEMS.replace(
            name="elliot",
            missing="skip",
            gain="exp2",
            exceptions={"ndcg": {"rel": 1}},
        ),
        "gain 2^grade - 1, users without recommendations are left out",
        {"ndcg": "nDCG", "rr": "MRR", "accuracy": "HR"}
        | {"precision": "Precision", "recall": "Recall", "f1": "F1"},
        "This is relevance_threshold=1; it is 0 unless set. With another one, subtract "
        "it from the labels and add 1, since a grade gains 2^(grade - threshold + 1) - "
        "1. nDCGRendle2020 is ndcg with gain=binary. MAP@k is the mean of precision@1 "
        "to precision@k, and MAR@k that of recall. Gini is 1 less gini, and "
        "ItemCoverage a number of items. ShannonEntropy gives every list the same "
        "weight, whatever its length. The head of APLT, ACLT, PopRSP and PopREO ends "
        "at one item among equally popular ones, and cold items are in no tail; in EFD "
        "they are as rare as the rarest. AUC, GAUC and LAUC count items that no list "
        "has: they are no measures here. Run at fc27efe.",
        {"epc": "EPC", "efd": "EFD", "mean_popularity": "ARP of items"}
        | {"tail_share": "APLT", "tail_items": "ACLT"}
        | {"pop_rsp": "PopRSP", "pop_reo": "PopREO"},
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
        ITEMS.replace(name="recbole", ap_divisor="min_k_R", exceptions={"gini": BY_N}),
        "binary gain, AP@k divides by min(k, R), every list has k items",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "Hit"}
        | {"precision": "Precision", "recall": "Recall"},
        "Never above 1. Users without test items are not evaluated. A sampled "
        "evaluation ranks a few drawn items, so its numbers are others. Its catalog "
        "has one item more, which fills up sequences. ShannonEntropy is in nats, and "
        "divided by the number of different items in the lists; the tail of "
        "TailPercentage is a share of the items, not of the interactions.",
        {"coverage": "ItemCoverage", "mean_popularity": "AveragePopularity"}
        | {"gini": "GiniIndex"},
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
