"""The named conventions: the choices of each tool, and the metrics tested with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeAlias

from polars_rank.conventions.convention import Convention
from polars_rank.core.registry import Metric, closest

DEFAULT = "trec_eval"  # whose choices hold where the user makes none
ConventionLike: TypeAlias = str | Convention


class Tool(NamedTuple):
    """A tool whose convention has a name.

    Attributes
    ----------
    name
        Its name in tables.
    convention
        Its choices.
    follows
        The convention in a sentence.
    equal
        Metrics that a parity test compares with the tool, and the tool's name for each.
    """

    name: str
    convention: Convention
    follows: str
    equal: Mapping[str, str]


_TREC = Convention(
    name="trec_eval",
    ties="doc_desc",
    score_dtype="given",
    missing="zero",
    no_relevant="zero",
    unjudged="nonrelevant",
    on_duplicate="error",
    judgments="judged",
    negative_grade="zero",
    rel=1,
    gain="linear",
    discount="log2",
    ideal="judged",
    max_grade=4,
    precision_divisor="k",
    recall_divisor="R",
    ap_divisor="R",
)
# Tools that rank rows with labels: there are no judgments beside the rows.
_ROWS = _TREC.replace(ties="order", judgments="retrieved", missing="skip")
# Recommenders: the relevant items of a user are listed, the others are unknown.
_ITEMS = _TREC.replace(ties="order", gain="binary", no_relevant="skip")
_ZERO, _ONE = {"no_relevant": "zero"}, {"no_relevant": "one"}
_ONE_UNWEIGHTED = {"no_relevant": "one_unweighted"}
_UNDEFINED_ZERO = {"undefined": 0}
_ONE_CLASS_ZERO = {"one_class": 0}
_UP = {"rounding": "up"}
_LEVELS_9 = {"eleven_point_ap": _UP, "interpolated_precision": _UP}

_TOOLS = (
    Tool(
        "trec_eval -c 10",
        _TREC,
        "ties by document id, linear gain, a missing query is 0",
        {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "precision": "P"}
        | {"recall": "recall", "accuracy": "success", "f1": "set_F"},
    ),
    Tool(
        "trec_eval 9, pytrec_eval",
        _TREC.replace(
            name="trec_eval_9",
            score_dtype="float32",
            missing="skip",
            exceptions=_LEVELS_9,
        ),
        "as trec_eval; scores are float32, a missing query is left out",
        {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "precision": "P"}
        | {"recall": "recall", "accuracy": "success", "f1": "set_F"},
    ),
    Tool(
        "ir_measures",
        _TREC.replace(name="ir_measures", score_dtype="float32", exceptions=_LEVELS_9),
        "as trec_eval; scores are float32 (its default provider is pytrec_eval)",
        {"ndcg": "nDCG", "ap": "AP", "rr": "RR", "precision": "P"}
        | {"recall": "R", "accuracy": "Success", "f1": "SetF"},
    ),
    Tool(
        "gdeval (TREC Web track)",
        _TREC.replace(name="gdeval", gain="exp2"),
        "nDCG with gain 2^g - 1, ERR of grades 0 to 4",
        {"ndcg": "nDCG(dcg='exp-log2')@k", "err": "ERR@k"},
    ),
    Tool(
        "MS MARCO (RR@k of ir_measures)",
        _TREC.replace(name="msmarco", ties="doc_asc"),
        "ties by document id, ascending; a missing query is 0",
        {"rr": "RR@k"},
    ),
    Tool(
        "ranx",
        _TREC.replace(name="ranx", ties="order", missing="error"),
        "ties in input order, linear gain, a missing query is an error",
        {"ndcg": "ndcg", "dcg": "dcg", "ap": "map", "rr": "mrr", "f1": "f1"}
        | {"precision": "precision", "recall": "recall", "accuracy": "hit_rate"},
    ),
    Tool(
        "scikit-learn",
        _ROWS.replace(
            name="sklearn",
            ties="expected",
            negative_grade="error",
            exceptions={
                "lrap": _ONE,
                "ranking_loss": _ONE_CLASS_ZERO,
                "coverage_error": _UNDEFINED_ZERO,
            },
        ),
        "mean over the orders of ties, ideal over the rows, no negative grades",
        {"ndcg": "ndcg_score", "dcg": "dcg_score"},
    ),
    Tool(
        "LightGBM",
        _ROWS.replace(
            name="lightgbm",
            gain="exp2",
            no_relevant="one",
            negative_grade="error",
            ap_divisor="min_k_R",
            exceptions={"ndcg": _ONE_UNWEIGHTED},
        ),
        "gain 2^g - 1, ideal over the rows, 1 where nothing is relevant",
        {"ndcg": "ndcg@k", "ap": "map@k"},
    ),
    Tool(
        "XGBoost",
        _ROWS.replace(
            name="xgboost",
            score_dtype="float32",
            gain="exp2",
            no_relevant="one",
            negative_grade="error",
            precision_divisor="retrieved",
            ap_divisor="min_k_R",
            exceptions={"precision": _ZERO, "ndcg": _ONE_UNWEIGHTED},
        ),
        "as LightGBM with float32 scores; P@k divides by min(k, n)",
        {"ndcg": "ndcg@k", "ap": "map@k", "precision": "pre@k"},
    ),
    Tool(
        "CatBoost",
        _ROWS.replace(
            name="catboost",
            ties="pessimistic",
            rel=math.nextafter(0.5, 1),  # above its border of 0.5
            precision_divisor="retrieved",
            ap_divisor="min_k_R",
            exceptions={
                "ndcg": _ONE,
                "recall": _ONE,
                "auc": _ONE_CLASS_ZERO,
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
        _ROWS.replace(
            name="torchmetrics",
            score_dtype="float32",
            ap_divisor="hits",
            exceptions={"auc": _ONE_CLASS_ZERO, "fall_out": _UNDEFINED_ZERO},
        ),
        "float32 scores, linear gain over the rows, AP@k divides by the hits",
        {"ndcg": "retrieval_normalized_dcg", "ap": "retrieval_average_precision"}
        | {"rr": "retrieval_reciprocal_rank", "precision": "retrieval_precision"}
        | {"recall": "retrieval_recall", "accuracy": "retrieval_hit_rate"},
    ),
    Tool(
        "recommenders",
        _ITEMS.replace(name="recommenders", missing="skip"),
        "binary gain, users without recommendations are left out",
        {"ndcg": "ndcg_at_k", "ap": "map", "precision": "precision_at_k"}
        | {"recall": "recall_at_k"},
    ),
    Tool(
        "RecTools",
        _ITEMS.replace(name="rectools", ideal="k"),
        "binary gain, nDCG divides by k hits even where fewer exist",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "Precision", "recall": "Recall", "f1": "F1Beta"},
    ),
    Tool(
        "RePlay",
        _ITEMS.replace(name="replay", ties="doc_desc", ap_divisor="min_k_R"),
        "binary gain, ties by item id, AP@k divides by min(k, R)",
        {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "accuracy": "HitRate"}
        | {"precision": "Precision", "recall": "Recall"},
    ),
    Tool(
        "LensKit",
        _ITEMS.replace(
            name="lenskit",
            missing="skip",
            no_relevant="null",
            discount="log2_from_2",
            precision_divisor="retrieved",
            recall_divisor="min_k_R",
            ap_divisor="min_k_R_n",
            exceptions={"dcg": _ZERO, "precision": _ZERO},
        ),
        "discount from rank 2, capped recall, undefined without test items",
        {"ndcg": "NDCG", "dcg": "DCG", "ap": "AveragePrecision", "rr": "RecipRank"}
        | {"precision": "Precision", "recall": "Recall", "accuracy": "Hit"},
    ),
    Tool(
        "Spark MLlib",
        _ITEMS.replace(
            name="spark", missing="skip", no_relevant="zero", ap_divisor="min_k_R"
        ),
        "binary gain, AP@k divides by min(k, R)",
        {"ndcg": "ndcgAt", "ap": "meanAveragePrecisionAt", "precision": "precisionAt"}
        | {"recall": "recallAt"},
    ),
    Tool(
        "Elasticsearch _rank_eval",
        _TREC.replace(
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
    ),
)
TOOLS: dict[str, Tool] = {tool.convention.name: tool for tool in _TOOLS}


class Conventions(dict[str, Convention]):
    """Conventions by name; the error for an unknown name suggests the closest ones."""

    def __missing__(self, name: object) -> NoReturn:
        """Raise the error for an unknown name."""
        raise KeyError(_unknown(name))


CONVENTIONS = Conventions({name: tool.convention for name, tool in TOOLS.items()})


def convention_of(convention: ConventionLike, **choices: Any) -> Convention:
    """Look up a convention by name; ``choices`` that are not None replace its own."""
    if isinstance(convention, Convention):
        return convention.with_choices(**choices)
    if convention not in CONVENTIONS:
        raise ValueError(_unknown(convention))
    return CONVENTIONS[convention].with_choices(**choices)


def complete_arguments(
    metric: Metric,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    convention: Convention = CONVENTIONS[DEFAULT],
) -> dict[str, Any]:
    """Complete the arguments of a metric by the convention's, then by its own.

    If the metric does not allow the convention's choice, the default convention's
    applies.
    """
    chosen = metric.defaults | convention.defaults(metric.name) | dict(given)
    if len(chosen) < len(metric.parameters):
        chosen = CONVENTIONS[DEFAULT].defaults(metric.name) | chosen
    return {name: chosen[name] for name in metric.parameters}


def _unknown(name: object) -> str:
    near = closest(str(name), list(CONVENTIONS))
    return f"unknown convention {name!r}{near or '; known: ' + ', '.join(CONVENTIONS)}"
