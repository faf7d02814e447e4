"""The disputed choices: what each decides, and what each of its values means.

``explain``, the documentation and the help of the command all use this table. A
:class:`~polars_rank.Convention` has a field per choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

ScoreType: TypeAlias = Literal["given", "float32"]
Missing: TypeAlias = Literal["zero", "skip", "error"]
Unjudged: TypeAlias = Literal["nonrelevant", "drop"]
NegativeGrade: TypeAlias = Literal["zero", "error"]
Duplicates: TypeAlias = Literal["error", "best", "keep_rank"]


# Choices that are also keywords beside ``convention=``.
SHORTCUTS = ("ties", "missing", "no_relevant", "unjudged", "rel", "on_duplicate")


class Disputed(NamedTuple):
    """A choice on which tools differ.

    Attributes
    ----------
    decides
        What is chosen.
    values
        The values with a name, and what a measure does under each.
    others
        Values without a name.
    """

    decides: str
    values: Mapping[Any, str]
    others: str = ""


OUTCOMES = {
    "zero": "counts as 0",
    "one": "counts as 1",
    "one_unweighted": "adds 1 (not its weight) to the sum, its weight to the divisor",
    "skip": "is left out of the mean",
    "null": "has no value, and neither has the mean",
    "error": "is an error",
}
_DIVIDED = "the sum is divided by"
_BY = {
    "k": f"{_DIVIDED} k, however many are retrieved (by n without a cutoff)",
    "retrieved": f"{_DIVIDED} min(k, n), where n documents are retrieved",
    "R": f"{_DIVIDED} R, the number of relevant documents, retrieved or not",
    "min_k_R": f"{_DIVIDED} min(k, R), where R documents are relevant",
    "min_k_R_n": f"{_DIVIDED} min(k, R, n), where R are relevant and n retrieved",
    "hits": f"{_DIVIDED} the number of relevant documents among the first k",
}
_FUNCTION = "a function"

CHOICES: dict[str, Disputed] = {
    "ties": Disputed(
        "order of equal scores",
        {
            "doc_desc": "equal scores are ordered by document id as text, descending "
            "(without ids: in input order)",
            "doc_asc": "equal scores are ordered by document id as text, ascending "
            "(without ids: in input order)",
            "order": "equal scores keep the input order",
            "expected": "the value is the mean over all orders of equal scores",
            "optimistic": "of equal scores, the best grade comes first, the "
            "unjudged last",
            "pessimistic": "of equal scores, the unjudged come first, then the "
            "worst grade",
        },
    ),
    "score_dtype": Disputed(
        "type in which scores are compared",
        {
            "given": "scores are compared as they are, the highest first",
            "float32": "scores are compared as float32, the highest first",
        },
    ),
    "missing": Disputed(
        "judged query that is missing from the run",
        {
            name: f"a judged query that is missing from the run {OUTCOMES[name]}"
            for name in ("zero", "skip", "error")
        },
    ),
    "no_relevant": Disputed(
        "query with nothing relevant",
        {
            name: f"a query with nothing relevant {outcome}"
            for name, outcome in OUTCOMES.items()
        },
    ),
    "unjudged": Disputed(
        "unjudged document",
        {
            "nonrelevant": "an unjudged document is not relevant and keeps its place",
            "drop": "unjudged documents and negative grades are removed from the list",
        },
    ),
    "on_duplicate": Disputed(
        "document that a list has twice",
        {
            "error": "a document that comes twice in a query is an error",
            "best": "copies of a document are one, with its best score and label",
            "keep_rank": "the first copy of a document counts, the others keep their "
            "ranks as unjudged documents",
        },
    ),
    "judgments": Disputed(
        "judgments that count",
        {
            "judged": "judgments of documents that were not retrieved also count",
            "retrieved": "only judgments of retrieved documents count",
        },
    ),
    "negative_grade": Disputed(
        "negative grade",
        {
            "zero": "a negative grade is not relevant and gains 0",
            "error": "a negative grade is an error",
        },
    ),
    "rel": Disputed("lowest relevant grade", {}, "any number"),
    "gain": Disputed(
        "gain of a grade",
        {
            "linear": "the gain of a document is its grade",
            "exp2": "the gain of a document is 2^grade - 1",
            "binary": "the gain of a document is 1 if its grade is positive, else 0",
        },
        f"a mapping, {_FUNCTION}",
    ),
    "discount": Disputed(
        "discount of a rank",
        {
            "log2": "the gain at rank i is divided by log2(i + 1)",
            "log2_from_2": "the gain at rank i is divided by max(1, log2(i))",
            "position": "the gain at rank i is divided by i",
        },
        _FUNCTION,
    ),
    "ideal": Disputed(
        "documents in the ideal order",
        {
            "judged": "the best order of all documents whose judgments count",
            "retrieved": "the best order of the retrieved documents",
            "min_k_n": "the best order of the judged documents, cut at the length "
            "of the list",
            "k": "k documents of the highest judged grade, whether they exist or not",
        },
    ),
    "max_grade": Disputed(
        "top of the scale of grades",
        {"query": "the highest grade of the query is the top of the scale"},
        "any number above 0",
    ),
    "precision_divisor": Disputed(
        "divisor of precision", {n: _BY[n] for n in ("k", "retrieved", "min_k_R")}
    ),
    "recall_divisor": Disputed(
        "divisor of recall", {n: _BY[n] for n in ("R", "min_k_R")}
    ),
    "ap_divisor": Disputed(
        "divisor of average precision",
        {n: _BY[n] for n in ("R", "min_k_R", "min_k_R_n", "hits", "k")},
    ),
}
_NUMBERS = {
    "k": "the first {} documents",
    "rel": "a grade of at least {:g} is relevant",
    "optional_rel": "a grade below {:g} has no gain",
    "max_grade": "{:g} is the top of the scale",
}


def just_below(level: Any) -> float | None:
    """Return the number that a level excludes, if it is the next number above it."""
    near = round(level, 9) if isinstance(level, float) else None
    return near if near is not None and level == math.nextafter(near, 2e9) else None


def sentence(choice: str, value: Any) -> str | None:
    """Put a value of a choice, or of a parameter of that meaning, in words."""
    if isinstance(value, Mapping):
        return "gains as listed; the gain of any other grade is the grade"
    if callable(value):
        return "a user-defined function"
    if choice in CHOICES and value in CHOICES[choice].values:
        return CHOICES[choice].values[value]
    if choice == "rel" and (excluded := just_below(value)) is not None:
        return f"a grade above {excluded:g} is relevant"
    if choice in _NUMBERS and value is not None:
        return _NUMBERS[choice].format(value)
    return None
