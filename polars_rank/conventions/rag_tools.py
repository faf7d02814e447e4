"""Libraries that evaluate retrieval for language models."""

from __future__ import annotations

from polars_rank.conventions.tool import SKIP, TREC, Tool

TOOLS = (
    Tool(
        "MLflow",
        TREC.replace(
            name="mlflow",
            ties="order",
            gain="binary",
            ideal="min_k_n",
            precision_divisor="retrieved",
        ),
        "binary gain, ideal no longer than the list, P@k divides by min(k, n)",
        {"ndcg": "ndcg_at_k", "precision": "precision_at_k", "recall": "recall_at_k"},
        "Never above 1, but a short list has a short ideal (mlflow/mlflow#24541). "
        "nDCG and recall are 1 where nothing is relevant and nothing retrieved. A "
        "document that a list has twice counts twice in precision, and in nDCG, where "
        "its copy is one more relevant document. Seen in version 3.17.2.",
    ),
    Tool(
        "Ragas",
        TREC.replace(
            name="ragas",
            ties="order",
            precision_divisor="retrieved",
            ap_divisor="hits",
            exceptions={"recall": SKIP},
        ),
        "context precision is AP divided by the relevant documents that are found",
        {"ap": "context_precision", "precision": "id_based_context_precision of ids"}
        | {"recall": "id_based_context_recall of ids"},
        "Never above 1, but a list does not lose by what it misses. It adds 1e-10 to "
        "the divisor. Context precision counts each copy of a document; the measures "
        "of ids count it once, as on_duplicate='best' does. Measures by a language "
        "model of sentences (context recall, faithfulness, relevancy) are no ranking "
        "measures.",
    ),
    Tool(
        "DeepEval",
        TREC.replace(name="deepeval", ties="order", ap_divisor="hits"),
        "contextual precision is AP divided by the relevant documents that are found",
        {"ap": "ContextualPrecision"},
        "Never above 1, but a list does not lose by what it misses. A language model "
        "says which documents are relevant. Contextual recall and relevancy count its "
        "verdicts on sentences: they are no ranking measures.",
    ),
    Tool(
        "Haystack",
        TREC.replace(name="haystack", ties="order", on_duplicate="keep_rank"),
        "linear gain of the documents' scores, a repeated document counts once",
        {
            "ndcg": "score of DocumentNDCGEvaluator",
            "ap": "score of DocumentMAPEvaluator",
        }
        | {"rr": "score of DocumentMRREvaluator"}
        | {"recall": "multi_hit of DocumentRecallEvaluator"}
        | {"accuracy": "single_hit of DocumentRecallEvaluator"},
        "Never above 1 from version 3.1 on; before, a document that a list has twice "
        "counts twice in nDCG and MAP. It compares contents unless told to compare "
        "ids, and has no cutoff: cut the lists. Faithfulness and context relevance, "
        "by a language model, are no ranking measures.",
    ),
    Tool(
        "TruLens",
        TREC.replace(
            name="trulens",
            ties="order",
            no_relevant="skip",
            on_duplicate="keep_rank",
            precision_divisor="retrieved",
        ),
        "linear gain, a repeated chunk counts once, P@k divides by min(k, n)",
        {"ndcg": "ndcg_at_k", "precision": "precision_at_k", "recall": "recall_at_k"}
        | {"rr": "mrr", "accuracy": "ir_hit_rate of GroundTruthAgreement"},
        "Never above 1 from version 2.14 on; before, a chunk that a list has twice "
        "counts twice in nDCG and recall, as it still does in precision. Given "
        "scores, precision and recall take all chunks that are tied with the k-th. An "
        "expected chunk with a score of 0 is relevant to all but nDCG. Groundedness "
        "and relevance by a language model are no ranking measures.",
    ),
    Tool(
        "LlamaIndex",
        TREC.replace(
            name="llamaindex",
            ties="order",
            missing="error",
            no_relevant="error",
            gain="binary",
            precision_divisor="retrieved",
        ),
        "binary gain, no cutoff, an empty list is an error, P divides by the list",
        {"ndcg": "ndcg", "ap": "ap", "rr": "mrr", "precision": "precision"}
        | {"recall": "recall", "accuracy": "hit_rate"},
        "A document that a list has twice counts twice in ap and ndcg, which can be "
        "above 1, and once in precision and recall, as on_duplicate='best' does. With "
        "use_granular_hit_rate, hit_rate is recall. Seen in version 0.14.25. "
        "Faithfulness and relevancy, by a language model, are no ranking measures.",
    ),
)
