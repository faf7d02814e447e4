"""Evaluators in the tradition of trec_eval."""

from __future__ import annotations

from polars_rank.conventions.tool import ITEMS, TREC, Tool

UP = {"rounding": "up"}
LEVELS_9 = {"eleven_point_ap": UP, "interpolated_precision": UP}
TREC_9 = TREC.replace(
    name="trec_eval_9", score_dtype="float32", missing="skip", exceptions=LEVELS_9
)

TOOLS = (
    Tool(
        "trec_eval -c 10",
        TREC,
        "ties by document id, linear gain, a missing query is 0",
        {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "precision": "P"}
        | {"recall": "recall", "accuracy": "success", "f1": "set_F"},
    ),
    Tool(
        "trec_eval 9, pytrec_eval",
        TREC_9,
        "as trec_eval; scores are float32, a missing query is left out",
        {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "precision": "P"}
        | {"recall": "recall", "accuracy": "success", "f1": "set_F"},
    ),
    Tool(
        "ir_measures",
        TREC.replace(name="ir_measures", score_dtype="float32", exceptions=LEVELS_9),
        "as trec_eval; scores are float32 (its default provider is pytrec_eval)",
        {"ndcg": "nDCG", "ap": "AP", "rr": "RR", "precision": "P"}
        | {"recall": "R", "accuracy": "Success", "f1": "SetF"},
    ),
    Tool(
        "gdeval (TREC Web track)",
        TREC.replace(name="gdeval", gain="exp2"),
        "nDCG with gain 2^g - 1, ERR of grades 0 to 4",
        {"ndcg": "nDCG(dcg='exp-log2')@k", "err": "ERR@k"},
    ),
    Tool(
        "MS MARCO (RR@k of ir_measures)",
        TREC.replace(name="msmarco", ties="doc_asc"),
        "ties by document id, ascending; a missing query is 0",
        {"rr": "RR@k"},
    ),
    Tool(
        "ranx",
        TREC.replace(name="ranx", ties="order", missing="error"),
        "ties in input order, linear gain, a missing query is an error",
        {"ndcg": "ndcg", "dcg": "dcg", "ap": "map", "rr": "mrr", "f1": "f1"}
        | {"precision": "precision", "recall": "recall", "accuracy": "hit_rate"},
    ),
    Tool(
        "BEIR",
        TREC_9.replace(name="beir"),
        "pytrec_eval; means have five decimals",
        {"ndcg": "NDCG", "ap": "MAP", "recall": "Recall", "precision": "P"}
        | {"rr": "MRR", "accuracy": "Accuracy of evaluate_custom"},
        "Never above 1. Documents whose id is that of the query are removed. MRR, "
        "Accuracy, R_cap (recall with divisor=min_k_R) and Hole keep ties in input "
        "order. Hole is the share of documents that no query has judged; unjudged is "
        "that of this query.",
    ),
    Tool(
        "MTEB",
        TREC_9.replace(name="mteb"),
        "pytrec_eval; means have five decimals",
        {"ndcg": "ndcg", "ap": "map", "recall": "recall", "precision": "precision"}
        | {"rr": "MRR", "accuracy": "hit_rate"},
        "Never above 1. MRR compares scores as float64; before "
        "embeddings-benchmark/mteb#5092, its ties kept the input order. nAUC, p-MRR "
        "and Hole are of several queries.",
    ),
    Tool(
        "sentence-transformers",
        ITEMS.replace(
            name="sentence_transformers", ties="doc_asc", ap_divisor="min_k_R"
        ),
        "binary gain, ties by document id, ascending, AP@k divides by min(k, R)",
        {"ndcg": "ndcg", "ap": "map", "rr": "mrr", "precision": "precision"}
        | {"recall": "recall", "accuracy": "accuracy"},
        "Never above 1. This is InformationRetrievalEvaluator from version 6.0 on; "
        "before, ties kept the input order. RerankingEvaluator calls scikit-learn.",
    ),
)
