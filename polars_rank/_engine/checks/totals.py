"""Checks of the whole data, which no single row fails.

A few sums over the queries, computed in the same pass, reveal doubtful results; what
they mean is decided in ``warnings``. Rows are read again only if these sums look
suspicious.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from polars_rank._engine.checks.enforce import Frame, passed, raise_or_warn, warn
from polars_rank._engine.checks.warnings import (
    JUDGED_SIDE,
    NO_JUDGMENTS,
    Found,
    assess_judgments,
    assess_labels,
    assess_queries,
    assess_segments,
    assess_unmatched,
)
from polars_rank._engine.inputs import Inputs, bind_inputs
from polars_rank._engine.layout import in_batches
from polars_rank._engine.request import Request
from polars_rank._engine.schema import name_of
from polars_rank.core.rules import NO_COMMON_QUERY, Rule
from polars_rank.core.source import is_rereadable, lazy_source, without_pushdown
from polars_rank.exceptions import DataError
from polars_rank.measures.measure import reads_labels

PASSES = pl.Series([True])
NOTHING = pl.LazyFrame({"queries": [0]}, schema={"queries": pl.get_index_type()})


def check_judgments(
    request: Request, inputs: Inputs, frame: pl.LazyFrame
) -> pl.LazyFrame:
    """Pass the rows of ``frame``, one per query; check run and judgments."""
    ran, known = pl.col("retrieved").is_not_null(), pl.col("judged") > 0
    sums = {
        "rows": pl.col("judged").count(),
        "judged": known.sum(),
        "common": (ran & known).sum(),
        "matched": pl.col("matched").sum(),
        **label_facts(inputs),
    }

    def refuse(rule: Rule) -> None:
        queries = rule is NO_COMMON_QUERY
        columns, kind = (
            (inputs.run.keys, "queries") if queries else (["doc"], "documents")
        )
        _refuse(request, inputs, rule, columns, kind)

    asked = request.queries is not None

    def assess(found: Found) -> None:
        assess_judgments(
            request,
            found,
            asked=asked,
            label=partial(_label, request),
            refuse=refuse,
            strangers=lambda: _no_document_in_common(inputs),
        )
        if not asked:
            assess_unmatched(request, lambda: _unmatched_queries(inputs))

    return _assessed(frame, sums, assess, bounded=request.resources is not None)


def check_queries(
    request: Request, inputs: Inputs, frame: pl.LazyFrame, missing: pl.Expr
) -> pl.LazyFrame:
    """Pass the rows of ``frame``, one for each of ``queries=``; check missing ones."""
    unjudged = pl.lit(0) if request.qrels is None else pl.col("unjudged").sum()

    def refuse(rule: Rule) -> None:
        if inputs.queries is not None:
            _refuse_unknown(request, inputs, inputs.queries, "queries", rule)

    side = JUDGED_SIDE if request.qrels is not None else "rows"
    assess = partial(assess_queries, request, side=side, refuse=refuse)
    sums = {"queries": pl.len(), "missing": missing.sum(), "unjudged": unjudged}
    return _assessed(frame, sums, assess, bounded=request.resources is not None)


def check_segments(
    request: Request,
    inputs: Inputs,
    frame: pl.LazyFrame,
    known: pl.Expr,
    segments: pl.LazyFrame,
) -> pl.LazyFrame:
    """Pass the rows of ``frame``, one per query; check that ``segments=`` fits."""

    def refuse(rule: Rule) -> None:
        _refuse_unknown(request, inputs, segments, "segments", rule)

    assess = partial(assess_segments, refuse=refuse)
    sums = {"queries": pl.len(), "known": known.sum()}
    return _assessed(frame, sums, assess, bounded=request.resources is not None)


def check_sums(request: Request, inputs: Inputs, sums: Frame) -> Frame:
    """Pass the rows of ``sums``; check that there was anything to sum.

    With ``by`` there may be no rows, and an empty stream is never judged; so a segment
    without queries is added for the judgment.
    """
    in_memory = request.grouping == "hash"
    if not request.by or in_memory or isinstance(sums, pl.DataFrame):
        return _check_total(request, inputs, sums)
    judged = _check_total(request, inputs, pl.concat([sums, NOTHING], how="diagonal"))
    return judged.filter(pl.col("queries") > 0)


def _check_total(request: Request, inputs: Inputs, sums: Frame) -> Frame:
    queries = pl.col("queries").sum()
    if inputs.qrels is None:
        return _check_labels(
            request, inputs, sums, queries, bounded=False, needs_rows=True
        )
    qrels = inputs.qrels.frame

    def assess(found: Found) -> None:
        if not found["queries"] and is_rereadable(qrels) and is_empty(qrels):
            warn(NO_JUDGMENTS)

    return _assessed(sums, {"queries": queries}, assess, bounded=False)


def check_labels(request: Request, inputs: Inputs, values: Frame) -> Frame:
    """Pass the rows of ``values``, one per query of a log; check its labels."""
    bounded = request.resources is not None
    return _check_labels(request, inputs, values, pl.len(), bounded=bounded)


def _check_labels(
    request: Request,
    inputs: Inputs,
    frame: Frame,
    queries: pl.Expr,
    *,
    bounded: bool,
    needs_rows: bool = False,
) -> Frame:
    """Pass the rows of ``frame``, values or sums of the queries of a log."""
    sums = {"queries": queries, **label_facts(inputs)}

    assess = partial(
        assess_labels,
        request,
        label=partial(_label, request),
        unlabeled=lambda: _has_no_label(inputs),
        needs_rows=needs_rows,
    )
    return _assessed(frame, sums, assess, bounded=bounded)


def label_facts(inputs: Inputs) -> dict[str, pl.Expr]:
    """Return facts about all labels that may reveal doubtful ones, by name."""
    sums = {"highest": pl.col("highest").max(), "unjudged": pl.col("unjudged").sum()}
    if inputs.graded.has_fractions:
        sums["fractions"] = pl.col("fractions").sum()
    return sums


def _assessed(
    frame: Frame,
    sums: Mapping[str, pl.Expr],
    assess: Callable[[Found], None],
    *,
    bounded: bool,
) -> Frame:
    """Pass the same rows; call ``assess`` with the sums over all of them.

    It is called before any row is passed on, so all rows are held in memory; if memory
    is ``bounded``, after all were passed on. ``highest`` is a maximum, not a sum.
    """
    if bounded and isinstance(frame, pl.LazyFrame):
        return _assessed_at_the_end(frame, sums, assess)

    told: dict[tuple[object, ...], object] = {}

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        found = {n: column.item() for n, column in zip(sums, columns, strict=True)}
        sights = tuple(found.values())
        # A filter may be evaluated twice, at the same time: the first of them judges.
        if told.setdefault(sights, columns) is not columns:
            return PASSES
        try:
            assess(found)
        except DataError:  # comes each time
            del told[sights]
            raise
        return PASSES

    return passed(frame, sums.values(), passes)


def _assessed_at_the_end(
    frame: pl.LazyFrame, sums: Mapping[str, pl.Expr], assess: Callable[[Found], None]
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
        assess(total)

    source = lazy_source(read, schema, name="totals", drain=True)
    return without_pushdown(source)


# -- suspicions confirmed: few rows are read, and only if there is a suspicion


def _has_no_label(inputs: Inputs) -> bool:
    frame = inputs.run.frame
    if not is_rereadable(frame):
        return False
    return is_empty(frame.filter(pl.col("label").is_not_null()))


def _no_document_in_common(inputs: Inputs) -> bool:
    """Return whether no document of the run was judged for any query."""
    assert inputs.qrels is not None
    if not (is_rereadable(inputs.run.frame) and is_rereadable(inputs.qrels.frame)):
        return False
    judged = inputs.qrels.frame.filter(pl.col("label").is_not_null()).select("doc")
    common = inputs.run.frame.select("doc").join(judged.unique(), on="doc", how="semi")
    return is_empty(common)


def _unmatched_queries(inputs: Inputs) -> int:
    """Count the queries of the run that the judgments lack."""
    assert inputs.qrels is not None
    keys, frames = inputs.run.keys, (inputs.run.frame, inputs.qrels.frame)
    if not all(map(is_rereadable, frames)):
        return 0
    ran, judged = (frame.select(keys).drop_nulls().unique() for frame in frames)
    alone = ran.join(judged, on=keys, how="anti").select(pl.len())
    return int(alone.collect(engine="streaming").item())


def plausible(request: Request, sums: pl.DataFrame) -> bool | None:
    """Return whether the ids and labels of a part look plausible; None without any."""
    if request.check == "off":
        return None
    if request.qrels is None:
        if not sums["queries"].sum():
            return None
        known = sums["highest"].max() is not None
        if known or not reads_labels(request.measures):
            return True
        return not _has_no_label(bind_inputs(request))
    if sums["matched"].sum():
        return True
    inputs = bind_inputs(request)
    assert inputs.qrels is not None
    if sums["judged"].sum():
        return not _no_document_in_common(inputs) if sums["found"].sum() else None
    qrels = inputs.qrels.frame
    if not is_rereadable(qrels):
        return True
    if is_empty(qrels):
        return None
    return not is_empty(qrels.filter(pl.col("label").is_not_null()))


def is_empty(frame: pl.LazyFrame) -> bool:
    """Tell whether there are no rows; only the first is read."""
    return frame.head(1).collect(engine="streaming").is_empty()


# -- what is said


def _label(request: Request) -> str:
    label = request.columns.names["label"]
    return "column " + ("" if label is None else repr(name_of(label)))


def _refuse(
    request: Request, inputs: Inputs, rule: Rule, columns: Sequence[str], kind: str
) -> None:
    assert inputs.qrels is not None
    run, qrels = (first_ids(part.frame, columns) for part in (inputs.run, inputs.qrels))
    if "None" in (run, qrels):
        return  # the rule of null ids says so
    message = rule.message.format(run=_holds(run, kind), qrels=qrels)
    raise_or_warn(DataError(message, rule=rule.name), warns=request.check == "warn")


def _holds(ids: str, kind: str) -> str:
    return "is empty" if ids == "nothing" else f"has {kind} like {ids}"


def _refuse_unknown(
    request: Request, inputs: Inputs, frame: pl.LazyFrame, where: str, rule: Rule
) -> None:
    keys, evaluated = inputs.run.keys, inputs.qrels or inputs.run
    message = rule.message.format(
        where=where,
        known=first_ids(frame, keys),
        side="the frame" if inputs.qrels is None else "the judgments",
        found=first_ids(evaluated.frame, keys),
    )
    error = DataError(message, rule=rule.name)
    raise_or_warn(error, warns=request.check == "warn")


def first_ids(frame: pl.LazyFrame, columns: Sequence[str]) -> str:
    """Read some ids for a message, which is made only if it is needed."""
    if not is_rereadable(frame):
        return "(it is read only once)"
    ids = frame.select(columns).head(100).collect()
    rows = ids.unique().sort(pl.all()).head(3).rows()
    shown = (repr(row[0] if len(row) == 1 else row) for row in rows)
    return ", ".join(shown) or "nothing"
