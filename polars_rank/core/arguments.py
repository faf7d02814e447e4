"""Types of parameters that metrics share: their rule, meaning and description, once.

``gain`` and ``discount`` are in ``polars_rank.core.weights``.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from polars_rank.core.parameters import Allowed, Doc, Meaning, Range, is_whole

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
    Doc("cutoff: only the first k documents count", {None: "no cutoff"}),
]
FiniteCutoff: TypeAlias = Annotated[
    int,
    Range(least=1, most=1_000_000),  # its places are listed
    Meaning("k"),
    Doc("cutoff: only the first k documents count"),
]
Rel: TypeAlias = Annotated[
    float, Meaning("rel"), Doc("lowest grade that counts as relevant")
]
OptionalRel: TypeAlias = Annotated[
    float | None,
    Meaning("optional_rel"),
    Doc("lowest grade with a gain", {None: "every positive grade has a gain"}),
]

Undefined: TypeAlias = Annotated[
    float | None,
    Doc(
        "value of a query for which the measure is undefined",
        {None: "no value where the measure is undefined"},
    ),
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
    Doc("top of the scale of grades, which gains 1"),
]
IdealOrder: TypeAlias = Annotated[
    Literal["judged", "retrieved", "min_k_n", "k"],
    Meaning("ideal"),
    Doc("documents in the ideal order"),
]

PrecisionDivisor: TypeAlias = Annotated[
    Literal["k", "retrieved", "min_k_R"],
    Meaning("precision_divisor"),
    Doc("divisor of the number of hits"),
]
RecallDivisor: TypeAlias = Annotated[
    Literal["R", "min_k_R"],
    Meaning("recall_divisor"),
    Doc("divisor of the number of hits"),
]
ApDivisor: TypeAlias = Annotated[
    Literal["R", "min_k_R", "min_k_R_n", "hits", "k"],
    Meaning("ap_divisor"),
    Doc("divisor of the sum of precisions"),
]
