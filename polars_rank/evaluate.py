"""Evaluate a frame: one ranking pass for any number of measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict, get_args

import polars as pl
import polars.selectors as cs

from polars_rank.convention import Convention, convention_of
from polars_rank.engine import (
    AnyFrame,
    Check,
    Columns,
    Frame,
    Job,
    Log,
    PerQuery,
    align_ids,
    bind,
    like,
    per_query_plan,
    raise_faults,
    require_columns,
    unpack,
)
from polars_rank.engine.check import report
from polars_rank.measure import Custom, Measure, Measures, parse_measures

__all__ = ["EvaluateOptions", "PerQueryOptions", "evaluate", "per_query"]

Duplicates: TypeAlias = Literal["error", "best"]

DOC = "doc_id"


class PerQueryOptions(TypedDict, total=False):
    """Keyword arguments of :func:`per_query`."""

    qrels: AnyFrame | None
    query: str | Sequence[str]
    doc: str | None
    score: str
    label: str
    rank: str | None
    queries: AnyFrame | None
    convention: str | Convention
    check: Check
    on_duplicate: Duplicates


class EvaluateOptions(PerQueryOptions, total=False):
    """Keyword arguments of :func:`evaluate`."""

    by: str | Sequence[str] | None
    weight: str | None


def per_query(
    frame: Frame,
    measures: Measures,
    *,
    qrels: AnyFrame | None = None,
    query: str | Sequence[str] = "query_id",
    doc: str | None = DOC,
    score: str = "score",
    label: str = "label",
    rank: str | None = None,
    queries: AnyFrame | None = None,
    convention: str | Convention = "trec_eval",
    check: Check = "strict",
    on_duplicate: Duplicates = "error",
) -> Frame:
    """Value of every measure for every query.

    Parameters
    ----------
    frame
        A log: a row a document, with ``query``, ``label`` and ``score`` (or ``rank``);
        ``doc`` where it exists breaks ties. With ``qrels``: the run, with ``query``,
        ``doc`` and ``score`` (or ``rank``).
    measures
        One or more of: text such as ``"ndcg@10"`` or ``"ndcg(gain=exp2)@10"`` (names of
        trec_eval, ir_measures and ranx work too), a :class:`Measure`, or a mapping
        ``name -> function of a Ranking`` for measures of your own.
    qrels
        The judgments: ``query``, ``doc``, ``label``. Their queries are evaluated.
    query, doc, score, label
        Column names. ``query`` may be several columns, e.g. ``["system", "query_id"]``;
        judgments without the ``system`` column serve all systems. ``doc=None``: no
        document ids, ties keep the input order; so does a single frame without the
        default ``doc_id`` column.
    rank
        Column with the 1-based place of the document: nothing is ranked by score.
    queries
        One row a query: it fixes which queries are evaluated.
    convention
        Name of a convention, or a :class:`Convention`: every disputed choice.
    check
        What happens on bad data: ``"strict"`` raises, ``"warn"`` warns, ``"off"``
        does not look, ``"full"`` also compares every pair of query and document.
    on_duplicate
        ``"best"`` keeps the best score and label of a document that stands twice.

    Returns
    -------
    The query columns and a Float64 column for each measure, sorted by query; a
    DataFrame for a DataFrame, a LazyFrame for a LazyFrame (nothing but schemas is read
    until it is collected).

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1, 1, 2], "score": [0.9, 0.8, 0.7], "label": [0, 1, 1]}
    ... )
    >>> pr.per_query(log, ["rr", "precision@1"])
    shape: (2, 3)
    ┌──────────┬─────┬─────────────┐
    │ query_id ┆ rr  ┆ precision@1 │
    │ ---      ┆ --- ┆ ---         │
    │ i64      ┆ f64 ┆ f64         │
    ╞══════════╪═════╪═════════════╡
    │ 1        ┆ 0.5 ┆ 0.0         │
    │ 2        ┆ 1.0 ┆ 1.0         │
    └──────────┴─────┴─────────────┘
    """
    request = _request(
        frame, measures, qrels, query, doc, score, label, rank, queries, convention,
        check, on_duplicate,
    )  # fmt: skip
    request.require_distinct(request.columns.query)
    plan = _plan(request, carry=())
    return like(frame, _per_query_frame(request, plan))


def evaluate(
    frame: Frame,
    measures: Measures,
    *,
    qrels: AnyFrame | None = None,
    query: str | Sequence[str] = "query_id",
    doc: str | None = DOC,
    score: str = "score",
    label: str = "label",
    rank: str | None = None,
    queries: AnyFrame | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    convention: str | Convention = "trec_eval",
    check: Check = "strict",
    on_duplicate: Duplicates = "error",
) -> Frame:
    """Mean of every measure over the queries.

    Parameters are those of :func:`per_query`, and:

    Parameters
    ----------
    by
        Columns that split the mean into segments, one output row each; taken from
        ``queries``, else from ``frame``, where they must be constant within a query.
    weight
        Column with the query's weight (its traffic) in the mean; found like ``by``.

    Returns
    -------
    The ``by`` columns, ``queries`` (how many), and a Float64 column for each measure:
    one row, or one for each segment, sorted.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1, 1, 2], "score": [0.9, 0.8, 0.7], "label": [0, 1, 1]}
    ... )
    >>> pr.evaluate(log, ["rr", "precision@1"])
    shape: (1, 3)
    ┌─────────┬──────┬─────────────┐
    │ queries ┆ rr   ┆ precision@1 │
    │ ---     ┆ ---  ┆ ---         │
    │ u32     ┆ f64  ┆ f64         │
    ╞═════════╪══════╪═════════════╡
    │ 2       ┆ 0.75 ┆ 0.5         │
    └─────────┴──────┴─────────────┘
    """
    request = _request(
        frame, measures, qrels, query, doc, score, label, rank, queries, convention,
        check, on_duplicate,
    )  # fmt: skip
    groups: list[str] = [by] if isinstance(by, str) else list(by or [])
    request.require_distinct([*groups, "queries"])
    carry = [*groups, *([] if weight is None else [weight])]
    plan = _plan(request, carry=carry)
    return like(frame, _mean_frame(request, plan, groups, weight is not None))


# -- what is asked for


@dataclass(frozen=True)
class _Request:
    frame: pl.LazyFrame
    qrels: pl.LazyFrame | None
    queries: pl.LazyFrame | None
    columns: Columns
    measures: list[Measure | Custom]
    convention: Convention
    check: Check
    on_duplicate: Duplicates

    def require_distinct(self, others: Sequence[str]) -> None:
        """Output columns must have different names."""
        names = [*others, *(m.name for m in self.measures)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            msg = (
                f"two output columns would be called {', '.join(map(repr, twice))}; "
                "rename the input column, or name the measure with pr.measure(name=...)"
            )
            raise ValueError(msg)

    def relevance(self, i: int) -> bool:
        """Whether measure i is 0 for a query without an answer."""
        m = self.measures[i]
        return isinstance(m, Measure) and m.definition.relevance


def _request(
    frame: AnyFrame,
    measures: Measures,
    qrels: AnyFrame | None,
    query: str | Sequence[str],
    doc: str | None,
    score: str,
    label: str,
    rank: str | None,
    queries: AnyFrame | None,
    convention: str | Convention,
    check: Check,
    on_duplicate: Duplicates,
) -> _Request:
    for name, given, allowed in (
        ("check", check, get_args(Check)),
        ("on_duplicate", on_duplicate, get_args(Duplicates)),
    ):
        if given not in allowed:
            msg = f"{name} must be one of {', '.join(allowed)}, not {given!r}"
            raise ValueError(msg)
    keys = (query,) if isinstance(query, str) else tuple(query)
    if not keys:
        msg = "query must name at least one column"
        raise ValueError(msg)
    lazy = _lazy(frame, "the first argument")
    if doc == DOC and qrels is None and doc not in lazy.collect_schema():
        doc = None
    if doc is None and (qrels is not None or on_duplicate == "best"):
        reason = "judgments are joined" if qrels is not None else "duplicates are found"
        msg = f"doc must name the column of document ids: {reason} by it"
        raise ValueError(msg)
    return _Request(
        lazy,
        None if qrels is None else _lazy(qrels, "qrels"),
        None if queries is None else _lazy(queries, "queries"),
        Columns(keys, doc, score, label, rank),
        parse_measures(measures),
        convention_of(convention),
        check,
        on_duplicate,
    )


def _lazy(frame: AnyFrame, name: str) -> pl.LazyFrame:
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        msg = (
            f"{name} must be a polars DataFrame or LazyFrame, not "
            f"{type(frame).__name__}; wrap it with pl.DataFrame(...)"
        )
        raise TypeError(msg)
    return frame.lazy()


# -- from the request to a plan


def _plan(request: _Request, carry: Sequence[str]) -> PerQuery:
    """Per-query values under our names: key0 ..., by0 ..., m0 ..., fault0 ..."""
    segments = {f"by{i}": name for i, name in enumerate(carry)}
    asked = None
    if request.queries is not None:
        asked, segments = _bind_queries(request, request.queries, segments)
    log, qrels = _bind_frames(request, list(segments.values()))
    inside = [f"by{i}" for i in range(len(segments))]
    job = Job(log, qrels, request.measures, request.convention, request.check, inside)
    plan = per_query_plan(job)
    frame = unpack(plan.frame, log.keys).rename(
        dict(zip(inside, segments, strict=True)), strict=False
    )
    faults = dict(plan.faults)
    if request.check != "off":
        nameless = pl.any_horizontal(pl.col(log.keys).is_null())
        frame = frame.with_columns(nameless=nameless.cast(pl.UInt32))
        faults["nameless"] = NO_QUERY
    if qrels is not None:
        frame = _missing_queries(frame, request.convention.missing, faults)
    if asked is not None:
        frame = _only_asked(request, frame, asked, log.keys, faults)
    return PerQuery(frame, faults)


def _bind_frames(request: _Request, carry: Sequence[str]) -> tuple[Log, Log | None]:
    columns, ties = request.columns, request.convention.ties
    schema = request.frame.collect_schema()
    require_columns(carry, schema, where="the frame", argument="by")
    if request.qrels is None:
        needs = ["score", "label"]
        if (
            ties in ("doc_desc", "doc_asc")
            or request.check == "full"
            or (request.on_duplicate == "best")
        ):
            needs.append("doc")
        log = bind(request.frame, columns, where="the frame", needs=needs, carry=carry)
        return _prepared(log, request), None
    log = bind(
        request.frame, columns, where="the run", needs=["score", "doc"], carry=carry
    )
    found = request.qrels.collect_schema()
    shared = [i for i, name in enumerate(columns.query) if name in found]
    if not shared:
        require_columns(columns.query, found, where="the judgments", argument="query")
    inner = dataclasses.replace(columns, query=tuple(columns.query[i] for i in shared))
    qrels = bind(request.qrels, inner, where="the judgments", needs=["label", "doc"])
    positions = {f"key{n}": f"key{i}" for n, i in enumerate(shared)}
    judged = qrels.frame.rename(positions)
    names = {f"key{i}": columns.query[i] for i in shared} | {"doc": columns.doc or ""}
    run, judged = align_ids(
        log.frame, judged, names, where=("the run", "the judgments")
    )
    others = [key for key in log.keys if key not in positions.values()]
    if others:
        judged = judged.join(run.select(others).unique(), how="cross")
    log = dataclasses.replace(log, frame=run)
    qrels = dataclasses.replace(qrels, frame=judged, keys=log.keys)
    return _prepared(log, request), _prepared(qrels, request)


def _prepared(log: Log, request: _Request) -> Log:
    """Documents that stand twice, ids as text where they order ties, score type."""
    frame = log.frame
    if request.on_duplicate == "best":
        schema = frame.collect_schema()
        on = [*log.keys, "doc"]
        worst = {"rank": pl.col("rank").min()}
        best = [
            worst.get(name, pl.col(name).max()) for name in schema if name not in on
        ]
        frame = frame.group_by(on).agg(best)
    if log.has_doc and request.convention.ties in ("doc_desc", "doc_asc"):
        frame = frame.with_columns(pl.col("doc").cast(pl.String))
    if request.convention.score_dtype == "float32" and log.score_type is not None:
        frame = frame.with_columns(pl.col("score").cast(pl.Float32))
    return dataclasses.replace(log, frame=frame)


def _bind_queries(
    request: _Request, queries: pl.LazyFrame, segments: dict[str, str]
) -> tuple[pl.LazyFrame, dict[str, str]]:
    """The queries asked for, with their segments; and segments still to be found."""
    schema = queries.collect_schema()
    columns = dataclasses.replace(request.columns, doc=None, rank=None)
    here = {own: name for own, name in segments.items() if name in schema}
    bound = bind(queries, columns, where="queries", needs=[])
    taken = queries.select(
        *(cs.by_name(name).alias(f"key{i}") for i, name in enumerate(columns.query)),
        *(cs.by_name(name).alias(own) for own, name in here.items()),
    )
    once = taken.group_by(bound.keys).agg(
        *(pl.col(own).first() for own in here), copies=pl.len() - 1
    )
    return once, {own: name for own, name in segments.items() if own not in here}


def _missing_queries(
    frame: pl.LazyFrame, missing: str, faults: dict[str, str]
) -> pl.LazyFrame:
    absent = pl.col("retrieved").is_null()
    if missing == "skip":
        return frame.filter(~absent)
    if missing == "error":
        faults["absent"] = ABSENT
        return frame.with_columns(absent=absent.cast(pl.UInt32))
    return frame


def _only_asked(
    request: _Request,
    frame: pl.LazyFrame,
    asked: pl.LazyFrame,
    keys: Sequence[str],
    faults: dict[str, str],
) -> pl.LazyFrame:
    """Exactly the queries of ``queries``; those without rows count as missing."""
    names = dict(zip(keys, request.columns.query, strict=True))
    asked, frame = align_ids(asked, frame, names, where=("queries", "the frame"))
    missing = request.convention.missing
    frame = frame.with_columns(known=pl.lit(value=True))
    joined = asked.join(frame, on=list(keys), how="left").sort(keys)
    unknown = pl.col("known").is_null()
    if missing == "skip":
        joined = joined.filter(~unknown)
    if missing == "error":
        faults["unknown"] = ABSENT
        joined = joined.with_columns(unknown=unknown.cast(pl.UInt32))
    if missing == "zero":
        zeros = [f"m{i}" for i in range(len(request.measures)) if request.relevance(i)]
        joined = joined.with_columns(
            pl.when(~unknown).then(pl.col(name)).otherwise(0.0).alias(name)
            for name in zeros
        )
    if request.check != "off":
        faults["copies"] = QUERY_TWICE
    return joined


# -- from the plan to the result


def _per_query_frame(request: _Request, plan: PerQuery) -> pl.LazyFrame:
    keys = request.columns.query
    frame = raise_faults(plan.frame, plan.faults, example="key0", check=request.check)
    if request.qrels is not None and request.check != "off":
        matched = pl.col("retrieved").is_not_null().sum()
        frame = frame.filter(_in_common(request, matched, pl.len()))
    return frame.select(
        *(pl.col(f"key{i}").alias(name) for i, name in enumerate(keys)),
        *(pl.col(f"m{i}").alias(m.name) for i, m in enumerate(request.measures)),
    )


def _mean_frame(
    request: _Request, plan: PerQuery, groups: list[str], weighted: bool
) -> pl.LazyFrame:
    weight = pl.col(f"by{len(groups)}").cast(pl.Float64) if weighted else None
    by = [f"by{i}" for i in range(len(groups))]
    faults = dict(plan.faults)
    frame = plan.frame
    if weight is not None and request.check != "off":
        bad = weight.is_null() | ~(weight >= 0) | ~weight.is_finite()
        frame = frame.with_columns(bad_weight=bad.fill_null(value=True).cast(pl.UInt32))
        faults["bad_weight"] = BAD_WEIGHT
    examples = [
        pl.when(pl.col(name) > 0).then(pl.col("key0")).drop_nulls().first().alias(name)
        for name in faults
    ]
    policy = request.convention.no_relevant
    values = [
        pl.len().alias("queries"),
        *(
            _mean(f"m{i}", weight, spread=policy == "null" and request.relevance(i))
            for i in range(len(request.measures))
        ),
        *(pl.col(name).sum() for name in faults),
        *([pl.struct(examples).alias("example")] if faults else []),
    ]
    if request.qrels is not None:
        values.append(pl.col("retrieved").count().alias("matched"))
    means = frame.group_by(by).agg(values) if by else frame.select(values)
    means = raise_faults(means, faults, example="example", check=request.check)
    if request.qrels is not None and request.check != "off":
        total = pl.col("matched").sum(), pl.col("queries").sum()
        means = means.filter(_in_common(request, *total))
    return means.sort(by).select(
        *(pl.col(own).alias(name) for own, name in zip(by, groups, strict=True)),
        "queries",
        *(pl.col(f"m{i}").alias(m.name) for i, m in enumerate(request.measures)),
    )


def _mean(name: str, weight: pl.Expr | None, *, spread: bool) -> pl.Expr:
    """Mean of the defined values; with ``spread``, null as soon as one is null."""
    value = pl.col(name)
    if weight is None:
        mean = value.mean()
    else:
        mean = (value * weight).sum() / pl.when(value.is_not_null()).then(weight).sum()
        mean = mean.fill_nan(None)
    if spread:
        mean = pl.when(value.null_count() == 0).then(mean)
    return mean.alias(name)


def _in_common(request: _Request, matched: pl.Expr, queries: pl.Expr) -> pl.Expr:
    """True; or an error if judged queries exist and none of them is in the run."""

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        found, judged = columns
        if judged.sum() and not found.sum():
            report(_disjoint(request), len(judged), "", request.check)
        return pl.repeat(True, len(found), dtype=pl.Boolean, eager=True)

    return pl.map_batches(
        [matched, queries], passes, return_dtype=pl.Boolean, is_elementwise=True
    )


def _disjoint(request: _Request) -> str:
    assert request.qrels is not None
    sides = [
        frame.select(cs.by_name(*request.columns.query, require_all=False))
        .head(3)
        .collect()
        .rows()
        for frame in (request.frame, request.qrels)
    ]
    ids = [
        ", ".join(repr(row[0] if len(row) == 1 else row) for row in rows) or "nothing"
        for rows in sides
    ]
    return (
        "no judged query is in the run: the run has queries like "
        f"{ids[0]}, the judgments {ids[1]}; check query= and the spelling of the ids"
    )


NO_QUERY = "query ids are null; drop these rows or name their queries"
ABSENT = (
    'judged queries are missing from the run; evaluate them as 0 with missing="zero" '
    'or leave them out with missing="skip"'
)
QUERY_TWICE = "queries= has more than one row for a query; give one row each"
BAD_WEIGHT = "weights that are null, negative or not finite; give each query a weight"
