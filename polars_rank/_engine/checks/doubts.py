"""Doubts: results that are not what they seem, although no row breaks a rule.

A few sums over the queries, which the plan computes in the same pass, reveal them. The
rows are read again only if these sums look suspicious.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank._engine.checks.enforce import raise_or_warn, warn
from polars_rank._engine.inputs import Inputs
from polars_rank._engine.layout import in_batches
from polars_rank._engine.request import Request
from polars_rank._engine.schema import name_of
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.rules import (
    NO_COMMON_DOC,
    NO_COMMON_QUERY,
    NO_QUERY_FOUND,
    Rule,
)
from polars_rank.core.source import is_rereadable, lazy_source, without_pushdown
from polars_rank.exceptions import DataError
from polars_rank.measures.measure import Custom, Measure

__all__ = [
    "doubt_judgments",
    "doubt_labels",
    "doubt_queries",
    "doubt_segments",
    "doubt_sums",
    "label_facts",
    "warn_of_missing",
    "warn_of_scale",
]

Found = Mapping[str, Any]
NO_ROWS = "the frame has no rows, so no query is evaluated"
NO_JUDGMENTS = "the judgments have no rows, so no query is evaluated"
NOTHING = pl.LazyFrame({"queries": [0]}, schema={"queries": pl.get_index_type()})
MISSING = {"zero": "counts as 0", "skip": "is left out"}


def doubt_judgments(
    request: Request, inputs: Inputs, frame: pl.LazyFrame
) -> pl.LazyFrame:
    """The rows of ``frame``, one per judged query, unless run and judgments differ."""
    ran, known = pl.col("retrieved").is_not_null(), pl.col("judged") > 0
    sums = {
        "rows": pl.len(),
        "judged": known.sum(),
        "common": (ran & known).sum(),
        "matched": pl.col("matched").sum(),
        **label_facts(inputs),
    }

    def judge(found: Found) -> None:
        missing = found["judged"] - found["common"]
        if not found["judged"]:
            if found["rows"]:
                warn(f"{_label(request)} of the judgments {_IS_NULL}")
        elif not found["common"]:
            _refuse(request, inputs, NO_COMMON_QUERY, inputs.run.keys, "queries")
        elif not found["matched"] and _no_document_in_common(inputs):
            _refuse(request, inputs, NO_COMMON_DOC, ["doc"], "documents")
        if missing and not request.missing_given and request.queries is None:
            warn_of_missing(request.convention, missing, found["judged"])
        _warn_of_labels(request, found)

    return _judged(frame, sums, judge, bounded=request.resources is not None)


def doubt_queries(
    request: Request, inputs: Inputs, frame: pl.LazyFrame, missing: pl.Expr
) -> pl.LazyFrame:
    """The rows of ``frame``, one for each of ``queries=``, some of them ``missing``."""
    policy = request.convention.missing
    silent = policy not in MISSING or request.missing_given
    side = "rows" if request.qrels is None else "judgments"

    def judge(found: Found) -> None:
        count = found["missing"]
        if count and count == found["queries"] and inputs.queries is not None:
            _refuse_unknown(request, inputs, inputs.queries, "queries")
        elif count and not silent:
            warn(
                f"{count} of the {found['queries']} queries in queries= "
                + ("has" if count == 1 else "have")
                + f" no {side}: such a query {MISSING[policy]}; if that is meant, say "
                f'missing="{policy}"; a frame that only describes queries is segments='
            )

    sums = {"queries": pl.len(), "missing": missing.sum()}
    return _judged(frame, sums, judge, bounded=request.resources is not None)


def doubt_segments(
    request: Request,
    inputs: Inputs,
    frame: pl.LazyFrame,
    known: pl.Expr,
    segments: pl.LazyFrame,
) -> pl.LazyFrame:
    """The rows of ``frame``, one per query; ``segments=`` describes the ``known``."""

    def judge(found: Found) -> None:
        if found["queries"] and not found["known"]:
            _refuse_unknown(request, inputs, segments, "segments")

    sums = {"queries": pl.len(), "known": known.sum()}
    return _judged(frame, sums, judge, bounded=request.resources is not None)


def doubt_sums(request: Request, inputs: Inputs, sums: pl.LazyFrame) -> pl.LazyFrame:
    """The rows of ``sums``, unless there was nothing to sum up.

    With ``by`` that gives no rows, and a stream of none is never judged; so a segment
    without queries is judged along with them.
    """
    if not request.by or request.grouping == "hash":  # or is in memory
        return _doubt_total(request, inputs, sums)
    judged = _doubt_total(request, inputs, pl.concat([sums, NOTHING], how="diagonal"))
    return judged.filter(pl.col("queries") > 0)


def _doubt_total(request: Request, inputs: Inputs, sums: pl.LazyFrame) -> pl.LazyFrame:
    queries = pl.col("queries").sum()
    if inputs.qrels is None:
        return _doubt_labels(
            request, inputs, sums, queries, bounded=False, needs_rows=True
        )
    qrels = inputs.qrels.frame

    def judge(found: Found) -> None:
        if not found["queries"] and is_rereadable(qrels) and _is_empty(qrels):
            warn(NO_JUDGMENTS)

    return _judged(sums, {"queries": queries}, judge, bounded=False)


def doubt_labels(
    request: Request, inputs: Inputs, values: pl.LazyFrame
) -> pl.LazyFrame:
    """The rows of ``values``, one per query of a log."""
    bounded = request.resources is not None
    return _doubt_labels(request, inputs, values, pl.len(), bounded=bounded)


def _doubt_labels(
    request: Request,
    inputs: Inputs,
    frame: pl.LazyFrame,
    queries: pl.Expr,
    *,
    bounded: bool,
    needs_rows: bool = False,
) -> pl.LazyFrame:
    """The rows of ``frame``, values or sums of the queries of a log."""
    sums = {"queries": queries, **label_facts(inputs)}

    def judge(found: Found) -> None:
        if not found["queries"]:
            if needs_rows:
                warn(NO_ROWS)
        elif found["highest"] is None and _has_no_label(inputs):
            warn(f"{_label(request)} of the frame {_IS_NULL}")
        _warn_of_labels(request, found)

    return _judged(frame, sums, judge, bounded=bounded)


def label_facts(inputs: Inputs) -> dict[str, pl.Expr]:
    """Facts about the labels of all queries that may reveal doubtful ones, by name."""
    sums = {"highest": pl.col("highest").max()}
    if inputs.graded.has_fractions:
        sums["fractions"] = pl.col("fractions").sum()
    return sums


def _warn_of_labels(request: Request, found: Found) -> None:
    measures, convention = request.measures, request.convention
    fractions = 0 if request.rel_given else found.get("fractions") or 0
    warn_of_scale(measures, convention, found["highest"], fractions)


def _judged(
    frame: pl.LazyFrame,
    sums: Mapping[str, pl.Expr],
    judge: Callable[[Found], None],
    *,
    bounded: bool,
) -> pl.LazyFrame:
    """The same rows, and ``judge`` sees the sums over all of them.

    It does so before any row is passed on, which holds all of them in memory; if that
    is ``bounded``, when all have been passed on. ``highest`` is a maximum, not a sum.
    """
    if bounded:
        return _judged_at_the_end(frame, sums, judge)

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        judge({n: column.item() for n, column in zip(sums, columns, strict=True)})
        return pl.Series([True])

    return frame.filter(
        pl.map_batches(
            list(sums.values()), passes, return_dtype=pl.Boolean, is_elementwise=True
        )
    )


def _judged_at_the_end(
    frame: pl.LazyFrame, sums: Mapping[str, pl.Expr], judge: Callable[[Found], None]
) -> pl.LazyFrame:
    schema = frame.collect_schema()
    needed = [name for value in sums.values() for name in value.meta.root_names()]
    whole = [pl.max(n) if n == "highest" else pl.sum(n) for n in sums]

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        found = [pl.DataFrame(schema=schema).select(**sums)]
        for batch in in_batches(frame.select(*dict.fromkeys([*columns, *needed]))):
            found.append(batch.select(**sums))
            yield batch
        (total,) = pl.concat(found).select(whole).to_dicts()
        judge(total)

    source = lazy_source(read, schema, name="doubts", drain=True)
    return without_pushdown(source)


# -- suspicions confirmed: few rows are read, and only if there is a suspicion


def _has_no_label(inputs: Inputs) -> bool:
    frame = inputs.run.frame
    if not is_rereadable(frame):
        return False
    return _is_empty(frame.filter(pl.col("label").is_not_null()))


def _no_document_in_common(inputs: Inputs) -> bool:
    """Whether no query at all retrieved a document that was judged for any query."""
    assert inputs.qrels is not None
    if not (is_rereadable(inputs.run.frame) and is_rereadable(inputs.qrels.frame)):
        return False
    judged = inputs.qrels.frame.filter(pl.col("label").is_not_null()).select("doc")
    common = inputs.run.frame.select("doc").join(judged.unique(), on="doc", how="semi")
    return _is_empty(common)


def _is_empty(frame: pl.LazyFrame) -> bool:
    return frame.head(1).collect(engine="streaming").is_empty()


# -- what is said


_IS_NULL = (
    "is null in every row: without grades nothing is relevant; name the column of "
    "grades with label="
)


def _label(request: Request) -> str:
    label = request.columns.names["label"]
    return "column " + ("" if label is None else repr(name_of(label)))


def _refuse(
    request: Request, inputs: Inputs, rule: Rule, columns: Sequence[str], kind: str
) -> None:
    assert inputs.qrels is not None
    run, qrels = (
        _first_ids(part.frame, columns) for part in (inputs.run, inputs.qrels)
    )
    if "None" in (run, qrels):
        return  # the rule of null ids says so
    message = rule.message.format(run=_holds(run, kind), qrels=qrels)
    raise_or_warn(DataError(message, rule=rule.name), warns=request.check == "warn")


def _holds(ids: str, kind: str) -> str:
    return "is empty" if ids == "nothing" else f"has {kind} like {ids}"


def _refuse_unknown(
    request: Request, inputs: Inputs, frame: pl.LazyFrame, where: str
) -> None:
    keys, evaluated = inputs.run.keys, inputs.qrels or inputs.run
    message = NO_QUERY_FOUND.message.format(
        where=where,
        known=_first_ids(frame, keys),
        side="the frame" if inputs.qrels is None else "the judgments",
        found=_first_ids(evaluated.frame, keys),
    )
    error = DataError(message, rule=NO_QUERY_FOUND.name)
    raise_or_warn(error, warns=request.check == "warn")


def _first_ids(frame: pl.LazyFrame, columns: Sequence[str]) -> str:
    """Some ids for a message; read only when the message is needed."""
    if not is_rereadable(frame):
        return "(it is read only once)"
    ids = frame.select(columns).head(100).collect()
    rows = ids.unique(maintain_order=True).head(3).rows()
    shown = (repr(row[0] if len(row) == 1 else row) for row in rows)
    return ", ".join(shown) or "nothing"


def warn_of_missing(convention: Convention, missing: int, judged: int) -> None:
    """Warn of judged queries that the run lacks, unless the convention refuses them."""
    policy = convention.missing
    if policy not in MISSING:
        return
    warn(
        f"{missing} of {judged} judged queries "
        + ("is" if missing == 1 else "are")
        + f" missing from the run: such a query {MISSING[policy]}, as the convention "
        f'has it; if that is meant, say missing="{policy}"'
    )


def warn_of_scale(
    measures: Sequence[Measure | Custom],
    convention: Convention,
    highest: float | None,
    fractions: int = 0,
) -> None:
    """Warn of labels that never reach the ``rel`` of a measure.

    And of ``fractions``, the number of labels between 0 and 1, where the ``rel`` of a
    measure is 1 without being given.
    """
    if highest is None or highest <= 0:
        return
    for m in measures:
        if not isinstance(m, Measure):
            continue
        name = m.definition.named("rel")
        if name is None:
            continue
        given = complete_arguments(m.definition, m.arguments, convention=convention)
        if highest < given[name]:
            warn(
                f"no document is relevant to {m.name}: the largest label is "
                f"{highest:g}, and relevant is a grade of at least {given[name]:g}; "
                "set rel= to a lower grade, or rescale the labels"
            )
            return
        if fractions and given[name] == 1 and name not in m.arguments:
            warn(
                f"{fractions} "
                + ("label lies" if fractions == 1 else "labels lie")
                + f" between 0 and 1, which is not relevant to {m.name}; if they are "
                "probabilities, set rel= to the lowest one that is relevant, or to 1 "
                "if this is meant"
            )
            return
