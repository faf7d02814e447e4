"""Types of parameters that metrics share: their rule, meaning and description, once.

``gain`` and ``discount`` are in ``polars_rank.core.weights``.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from polars_rank.core.parameters import Allowed, Doc, Meaning, Range, is_whole

__all__ = [
    "ApDivisor",
    "Cutoff",
    "FiniteCutoff",
    "IdealOrder",
    "MaxGrade",
    "OptionalRel",
    "Persistence",
    "PrecisionDivisor",
    "RecallDivisor",
    "Rel",
    "Share",
    "TopGrade",
    "Undefined",
]

Share: TypeAlias = Annotated[float, Range(least=0, most=1)]
Persistence: TypeAlias = Annotated[
    float,
    Range(above=0, below=1),
    Doc("probability that the user goes on to the next document"),
]

Cutoff: TypeAlias = Annotated[
    int | None,
    Allowed(
        "a whole number of at least 1, or None for no cutoff",
        lambda k: k is None or (is_whole(k) and k >= 1),
    ),
    Meaning("k"),
    Doc("cutoff: only the first k places count", {None: "no cutoff: the whole list"}),
]
FiniteCutoff: TypeAlias = Annotated[
    int,
    Range(least=1, most=1_000_000),  # its places are listed
    Meaning("k"),
    Doc("cutoff: only the first k places count"),
]
Rel: TypeAlias = Annotated[float, Meaning("rel"), Doc("lowest grade that is relevant")]
OptionalRel: TypeAlias = Annotated[
    float | None,
    Meaning("optional_rel"),
    Doc("lowest grade that gains anything", {None: "every positive grade gains"}),
]

Undefined: TypeAlias = Annotated[
    float | None,
    Doc("value where it is undefined", {None: "no value where it is undefined"}),
]

MaxGrade: TypeAlias = Annotated[
    Annotated[float, Range(above=0)] | Literal["query"],
    Meaning("max_grade"),
    Doc("top of the scale of grades"),
]
TopGrade: TypeAlias = Annotated[
    float,
    Range(above=0),
    Meaning("max_grade"),
    Doc("top of the scale of grades: gain 1"),
]
IdealOrder: TypeAlias = Annotated[
    Literal["judged", "retrieved", "min_k_n", "k"],
    Meaning("ideal"),
    Doc("documents that the best order is made of"),
]

PrecisionDivisor: TypeAlias = Annotated[
    Literal["k", "retrieved", "min_k_R"],
    Meaning("precision_divisor"),
    Doc("number that the hits are divided by"),
]
RecallDivisor: TypeAlias = Annotated[
    Literal["R", "min_k_R"],
    Meaning("recall_divisor"),
    Doc("number that the hits are divided by"),
]
ApDivisor: TypeAlias = Annotated[
    Literal["R", "min_k_R", "min_k_R_n", "hits", "k"],
    Meaning("ap_divisor"),
    Doc("number that the sum of precisions is divided by"),
]
