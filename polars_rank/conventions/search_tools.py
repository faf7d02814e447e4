"""Search servers, and workbenches for their relevance."""

from __future__ import annotations

from polars_rank.conventions.tool import ANY_GRADE, TREC, Tool

TOOLS = (
    Tool(
        "Elasticsearch _rank_eval",
        TREC.replace(
            name="elasticsearch",
            ties="order",
            gain="exp2",
            ideal="min_k_n",
            precision_divisor="retrieved",
        ),
        "gain 2^g - 1, ideal no longer than the hits, P@k divides by the hits",
        {"ndcg": "dcg with normalize", "dcg": "dcg", "precision": "precision"}
        | {"recall": "recall", "rr": "mean_reciprocal_rank"}
        | {"err": "expected_reciprocal_rank"},
        "Never above 1, but a short list has a short ideal "
        "(elastic/elasticsearch#154362).",
    ),
    Tool(
        "OpenSearch Search Relevance Workbench",
        TREC.replace(
            name="opensearch",
            ties="order",
            rel=ANY_GRADE,
            gain="exp2",
            precision_divisor="retrieved",
        ),
        "gain 2^g - 1, any grade above 0 is relevant, P@k divides by the hits",
        {"ndcg": "NDCG@k", "ap": "MAP@k", "precision": "Precision@k"}
        | {"judged": "Coverage@k of the results"},
        "The value of each query is rounded to two decimals, before the mean. A "
        "document that a list has twice counts twice, so MAP and NDCG can be above 1; "
        "a user saw 1.31 (opensearch-project/search-relevance#191). Read at d8be5d1.",
    ),
    Tool(
        "Quepid",
        TREC.replace(
            name="quepid",
            ties="order",
            rel=ANY_GRADE,
            gain="exp2",
            max_grade=3,
            precision_divisor="retrieved",
            exceptions={"cg": {"gain": "linear"}},
        ),
        "gain 2^g - 1, any grade above 0 is relevant, P@k divides by the hits",
        {"ndcg": "ndcg_cut", "dcg": "DCG", "cg": "CG", "ap": "AP", "rr": "RR"}
        | {"precision": "P", "err": "ERR"},
        "NDCG@10 divides by the ideal of all rated documents: it is ndcg with "
        "max_rank=10; NDCG_CUT@10 is ndcg@10. CG and DCG are 0 for a list with an "
        "unrated document. ERR takes the top of the scale from the scorer. A document "
        "that a list has twice counts twice: AP and NDCG can be above 1. Read at "
        "f80322f.",
    ),
)
