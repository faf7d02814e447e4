"""The rules that the rows of all parts keep together: one error, one warning each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from polars_rank._engine.checks.enforce import raise_or_warn, report, warn
from polars_rank._engine.checks.warnings import (
    JUDGED_SIDE,
    NO_JUDGMENTS,
    assess_judgments,
    assess_labels,
    assess_queries,
    assess_segments,
)
from polars_rank._engine.schema import name_of
from polars_rank.conventions.convention import Convention
from polars_rank.core.rules import (
    NO_COMMON_DOC,
    NO_COMMON_QUERY,
    NO_QUERY_FOUND,
    Rule,
)
from polars_rank.exceptions import DataError
from polars_rank.measures.measure import Custom, Measure
from polars_rank.parts.partial import PLAUSIBLE, UNLISTED

QUERY_IN_TWO_PARTS = Rule(
    "query_in_two_parts",
    "queries whose rows are in more than one part of the data; partition by query (an "
    "engine does so without partitioned=True), or cut contiguous rows with "
    "polars_rank.parts.cut",
)
NOT_LISTED = (
    "{} of {} queries are in partials that do not list them, so nobody can tell "
    "whether one is in two parts; make all partials with keys=True, or none"
)
IN_NO_PART = {
    NO_COMMON_QUERY: "no judged query is in the run, in any part; check query= and the "
    "spelling of the ids",
    NO_COMMON_DOC: "no judged document was retrieved by any query, in any part; check "
    "doc= and the spelling of the ids (prefixes, blanks, leading zeros)",
    NO_QUERY_FOUND: "none of the queries evaluated is in {where}=, in any part; ids "
    "must be equal, prefixes and blanks included",
}


class Asked(NamedTuple):
    """What was asked for: the measures and choices of an evaluation."""

    measures: Sequence[Measure | Custom]
    convention: Convention
    missing_given: bool
    no_relevant_given: bool
    rel_given: bool


def enforce_total(
    total: pl.DataFrame,
    keys: pl.DataFrame | None,
    *,
    about: Asked,
    options: Mapping[str, Any],
) -> None:
    """Raise, or warn of, what the rows of all parts break; ``keys`` are the queries."""
    if keys is not None:
        twice = keys.filter(keys.is_duplicated()).unique()
        if len(twice):
            examples = twice.head(3).rows()
            queries = [e[0] if len(e) == 1 else e for e in examples]
            report(QUERY_IN_TWO_PARTS, len(twice), queries, exact=True, warns=False)
    check = options["check"]
    unlisted = int(total[UNLISTED].sum())
    if check != "off" and unlisted and keys is not None:
        warn(NOT_LISTED.format(unlisted, int(total["queries"].sum())))
    if check != "off":
        _judge(total, about, options)
    broken = (
        total.select(pl.col("violations").explode())
        .drop_nulls()
        .unnest("violations")
        .group_by("rule", "message", "always", maintain_order=True)
        .agg(pl.col("count").sum(), pl.col("example").drop_nulls().head(5))
    )
    for name, message, always, count, examples in broken.rows():
        if always or check != "off":
            warns = check == "warn" and not always
            rule = Rule(name, message, always=always)
            report(rule, count, examples, exact=True, warns=warns)


def _judge(total: pl.DataFrame, about: Asked, options: Mapping[str, Any]) -> None:
    """Tell what is doubtful of the whole, as one machine would."""
    heads = total.filter(pl.col("measure").is_null())
    facts = [name for name in heads.columns if heads[name].dtype.is_numeric()]
    largest = pl.col("highest").max() if "highest" in facts else pl.lit(None)
    sums = pl.col([name for name in facts if name != "highest"]).sum()
    found = heads.select(sums, largest.alias("highest")).row(0, named=True)
    plausible = total[PLAUSIBLE].max()
    judged = "judged" in found
    label = options["label"]

    def refuse(rule: Rule, where: str = "") -> None:
        error = DataError(IN_NO_PART[rule].format(where=where), rule=rule.name)
        raise_or_warn(error, warns=options["check"] == "warn")

    def is_implausible() -> bool:
        return plausible is False

    def named() -> str:
        return "column" if label is None else f"column {name_of(label)!r}"

    if judged:
        found["common"], found["rows"] = found["found"], is_implausible()
    if "asked" in found:
        asked = {"queries": found["asked"], "missing": found["unknown"]}
        asked["unjudged"] = found.get("unjudged", 0) if judged else 0
        side = JUDGED_SIDE if judged else "rows"
        assess_queries(about, asked, side=side, refuse=partial(refuse, where="queries"))
    if judged:
        assess_judgments(
            about,
            found,
            asked="asked" in found,
            label=named,
            refuse=refuse,
            strangers=is_implausible,
        )
        if not found["judged"] and plausible is None:
            warn(NO_JUDGMENTS)
    if "described" in found:
        described = {"queries": found["queries"], "known": found["described"]}
        assess_segments(described, refuse=partial(refuse, where="segments"))
    if not judged:
        assess_labels(
            about, found, label=named, unlabeled=is_implausible, needs_rows=True
        )
