"""Preferences: which of two documents is better, according to one or more assessors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import polars as pl

from polars_rank._engine.checks.enforce import Check, enforce
from polars_rank._engine.frame_function import frame_function, like_input
from polars_rank._engine.opening import by_rank_without_scores, open_run_and_qrels
from polars_rank._engine.schema import (
    Column,
    bind_run_and_qrels,
    columns_by_role,
    columns_of,
    names_of,
    require_columns,
)
from polars_rank.core.expr import ratio
from polars_rank.core.rules import (
    DUPLICATE_PREFERENCE,
    INFINITE_GRADE,
    NAN_SCORE,
    NULL_SCORE,
    Violation,
)
from polars_rank.io.frames import FrameLike

PreferenceTies: TypeAlias = Literal["doc_desc", "doc_asc", "expected"]
COUNTS = {"preferences", "satisfied", "prefs_simp", "prefs_pair", "prefs_avgjg"}
Unretrieved: TypeAlias = Literal["below", "leave_out"]


@frame_function
def preferences(
    run: FrameLike,
    qrels: FrameLike,
    *,
    query: Column | Sequence[Column] = "query_id",
    doc: Column = "doc_id",
    score: Column = "score",
    label: Column = "label",
    rank: Column | None = None,
    descending: bool = True,
    qrels_query: Column | Sequence[Column] | None = None,
    qrels_doc: Column | None = None,
    by: Column | Sequence[Column] | None = None,
    ties: PreferenceTies = "doc_desc",
    unretrieved: Unretrieved = "below",
    check: Check = "strict",
) -> pl.DataFrame | pl.LazyFrame:
    """Count the preferences that the run satisfies, per query.

    Of two documents of a group, the one with the higher label is preferred; equal
    labels express no preference. The run satisfies a preference if it ranks that
    document higher.

    Parameters
    ----------
    run
        ``query``, ``doc`` and ``score`` (or ``rank``); the rows may be in any order.
    qrels
        The judgments: ``query``, ``doc``, ``label`` and the columns of ``by``, one row
        per document. Their queries are evaluated. Every pair within a group is
        compared, so groups should be judgment pools, not whole collections.
    query, doc, score, label, rank, descending, qrels_query, qrels_doc, check
        As in :func:`evaluate`.
    by
        Columns that separate the judgments of a query into groups, e.g. the assessor:
        documents of different groups are not compared. None: one group per query.
    ties
        Which of two documents with equal scores ranks higher: by document id as text
        (``"doc_desc"``, ``"doc_asc"``), or ``"expected"``: half a preference each.
    unretrieved
        ``"below"``: documents that were not retrieved rank below all that were, and a
        pair of them is in no order, so not satisfied; ``"leave_out"``: only pairs of
        retrieved documents count.

    Returns
    -------
    A frame like ``run``, sorted by query: the query columns, ``preferences`` (how many
    there are), ``satisfied`` (how many of them), ``prefs_simp`` (their share, all
    groups pooled), ``prefs_pair`` (mean over pairs of documents of the share of the
    pair's preferences) and ``prefs_avgjg`` (mean over groups of the group's share).
    Shares of nothing are null.

    Errors: among the judged documents, NaN or null scores, labels that are not finite,
    duplicate documents in the run or within a group.

    Source: Carterette, Bennett, Chickering and Dumais, ECIR 2008; the names are those
    of trec_eval's measures of the same idea.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> run = pl.DataFrame(
    ...     {"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "score": [3, 2, 1]}
    ... )
    >>> better = pl.DataFrame(
    ...     {"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "label": [1, 0, 2]}
    ... )
    >>> pr.preferences(run, better).row(0, named=True)["prefs_simp"]  # of a>b, c>a, c>b
    0.3333333333333333
    """
    for name, given, allowed in (
        ("ties", ties, get_args(PreferenceTies)),
        ("unretrieved", unretrieved, get_args(Unretrieved)),
        ("check", check, get_args(Check)),
    ):
        if given not in allowed:
            msg = f"{name} must be one of {', '.join(allowed)}, not {given!r}"
            raise ValueError(msg)
    names = names_of(columns_of(query))
    if clashes := sorted(COUNTS & {*names}):
        msg = (
            f"two output columns would be called {', '.join(map(repr, clashes))}; "
            "rename the query column"
        )
        raise ValueError(msg)
    groups = {f"by{i}": column for i, column in enumerate(columns_of(by))}
    columns = columns_by_role(
        query=query,
        doc=doc,
        score=score,
        label=label,
        rank=rank,
        descending=descending,
        qrels_query=qrels_query,
        qrels_doc=qrels_doc,
    )
    frames = open_run_and_qrels(run, qrels, columns)
    columns = by_rank_without_scores(columns[0], frames[0]), columns[1]
    rank = columns[0].names["rank"]
    require_columns(
        list(groups.values()),
        frames[1].collect_schema(),
        where="the judgments",
        argument="by",
    )
    ran, judged = bind_run_and_qrels(
        *frames,
        *columns,
        run_roles=["score", "rank", "doc"],
        qrels_roles=["label", "doc"],
        carry=groups,
    )
    keys: list[str] = [f"key{i}" for i in range(len(names))]
    place = pl.col("score") if rank is None else -pl.col("rank").cast(pl.Int64)
    ran = ran.select(*keys, "doc", place=place, retrieved=pl.lit(value=True))
    judged = judged.join(ran, on=[*keys, "doc"], how="left").cache()  # pairs, rules
    cell = [*keys, *groups]
    pairs = _pairs(judged, cell, ties, unretrieved)
    result = _sound_queries(judged, keys, cell, check)
    for frame in (_of_groups(pairs, keys, cell), _of_documents(pairs, keys)):
        result = result.join(frame, on=keys, how="left", nulls_equal=True)
    return like_input(
        run,
        result.sort(keys).select(
            *(pl.col(key).alias(name) for key, name in zip(keys, names, strict=True)),
            pl.col("preferences").fill_null(0),
            pl.col("satisfied").fill_null(0.0),
            ratio(pl.col("satisfied"), pl.col("preferences")).alias("prefs_simp"),
            "prefs_pair",
            "prefs_avgjg",
        ),
    )


def _pairs(
    judged: pl.LazyFrame,
    cell: list[str],
    ties: PreferenceTies,
    unretrieved: Unretrieved,
) -> pl.LazyFrame:
    """Make a row per preference: the better document, ``_other``, and whether first."""
    pairs = judged.join(judged, on=cell, suffix="_other", nulls_equal=True).filter(
        pl.col("label") > pl.col("label_other")
    )
    place, other = pl.col("place"), pl.col("place_other")
    if unretrieved == "leave_out":
        pairs = pairs.filter(place.is_not_null() & other.is_not_null())
    text, text_other = (pl.col(c).cast(pl.String) for c in ("doc", "doc_other"))
    first_of_equals = {
        "doc_desc": (text > text_other).cast(pl.Float64),
        "doc_asc": (text < text_other).cast(pl.Float64),
        "expected": pl.lit(0.5),
    }[ties]
    first = (
        pl.when(place.is_null())
        .then(0.0)
        .when(other.is_null())
        .then(1.0)
        .when(place == other)
        .then(first_of_equals)
        .otherwise((place > other).cast(pl.Float64))
    )
    return pairs.with_columns(first=first)


def _of_groups(pairs: pl.LazyFrame, keys: list[str], cell: list[str]) -> pl.LazyFrame:
    return (
        pairs.group_by(cell)
        .agg(pl.len().alias("preferences"), pl.col("first").sum().alias("satisfied"))
        .with_columns(share=pl.col("satisfied") / pl.col("preferences"))
        .group_by(keys)
        .agg(
            pl.col("preferences", "satisfied").sum(),
            pl.col("share").mean().alias("prefs_avgjg"),
        )
    )


def _of_documents(pairs: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    doc, other = pl.col("doc"), pl.col("doc_other")
    low = pl.when(doc < other).then(doc).otherwise(other)
    high = pl.when(doc < other).then(other).otherwise(doc)
    return (
        pairs.group_by(*keys, low.alias("low"), high.alias("high"))
        .agg(pl.col("first").mean())
        .group_by(keys)
        .agg(pl.col("first").mean().alias("prefs_pair"))
    )


def _sound_queries(
    judged: pl.LazyFrame, keys: list[str], cell: list[str], check: Check
) -> pl.LazyFrame:
    """Return the queries; an error if documents break a rule."""
    place, label = pl.col("place").cast(pl.Float64), pl.col("label").cast(pl.Float64)
    violations = {
        "nan": Violation(NAN_SCORE, place.is_nan().sum()),
        "null": Violation(NULL_SCORE, (pl.col("retrieved") & place.is_null()).sum()),
        "infinite": Violation(INFINITE_GRADE, (~label.is_finite()).sum()),
        "copies": Violation(DUPLICATE_PREFERENCE, pl.len() - pl.col("doc").n_unique()),
    }
    queries = (
        judged.group_by(cell)
        .agg(v.count.alias(name) for name, v in violations.items())
        .group_by(keys)
        .agg(pl.col(list(violations)).sum())
    )
    rules = {name: v.rule for name, v in violations.items()}
    return enforce(
        queries, rules, example=keys[0], check=check, exact_counts=False
    ).select(keys)
