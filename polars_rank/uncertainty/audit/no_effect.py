"""Why a choice changes nothing on a log: what is true of all its queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.core.words.ranking import Ranking
from polars_rank.uncertainty.audit.alternatives import DEPTH, Alternative


class Fact(NamedTuple):
    """What makes a choice idle: whether it is true of a query, and in words."""

    holds: Callable[[Ranking], pl.Expr]
    told: str


FACTS = {
    "ties": Fact(
        lambda r: r.sum(r.raw_score == r.raw_score.shift(1)) == 0,
        "no scores of a query are equal",
    ),
    "unjudged": Fact(
        lambda r: r.count(~(r.label >= 0).fill_null(value=False)) == 0,
        "every retrieved document is judged",
    ),
    "judgments": Fact(
        lambda r: r.sum(r.rank.is_null() & (r.label > 0)) == 0,
        "every document with a grade above 0 is retrieved",
    ),
    "no_relevant": Fact(
        lambda r: r.relevant_count() > 0, "every query has a relevant document"
    ),
    "gain": Fact(
        lambda r: r.sum((r.label > 0) & (r.label != 1)) == 0, "every grade is 0 or 1"
    ),
}
PRESENT = Fact(lambda _: pl.lit(1.0), "no judged query is missing")


def facts(found: Sequence[Alternative], *, subtopics: bool) -> dict[str, Fact]:
    """Return the facts that can tell why a choice that is tried changes nothing."""
    tried: dict[str, list[Any]] = {}
    for a in found:
        tried.setdefault(a.choice, []).append(a.value)
    several = {} if subtopics else FACTS  # facts are about one grade per document
    known = {name: several[name] for name in tried if name in several}
    if "missing" in tried:
        known["missing"] = PRESENT
    if subtopics:
        return known
    for name in ("k", DEPTH):
        if depths := [v for v in tried.get(name, []) if v is not None]:
            known[name] = _no_longer_than(min(depths))
    return known


def _no_longer_than(depth: int) -> Fact:
    return Fact(
        lambda r: r.retrieved_count() <= depth, f"no list is longer than {depth}"
    )


def neutral(convention: Convention) -> Convention:
    """Return the convention under which a log shows what its queries hold."""
    return convention.with_choices(
        ties="doc_desc",
        missing="skip",
        no_relevant="zero",
        unjudged="nonrelevant",
        judgments="judged",
        negative_grade="zero",
    )


def reasons(
    known: dict[str, Fact], shares: pl.DataFrame, tables: Sequence[pl.DataFrame]
) -> dict[str, str]:
    """Tell why choices are idle: by facts that hold for all queries of all systems.

    ``shares`` of the queries for which each fact holds are about those of the run;
    ``tables`` under the alternatives may count those that are missing, too.
    """
    told = {
        name: fact.told
        for name, fact in known.items()
        if len(shares) and (shares[name] == 1.0).all(ignore_nulls=False)
    }
    if len({table["queries"].sum() for table in (shares, *tables)}) > 1:
        told.pop("missing", None)
    return told
