"""What each document adds to the value of its query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.frame_function import frame_function, like_input
from polars_rank._engine.inputs import bind_inputs, normalize
from polars_rank._engine.layout import in_batches
from polars_rank._engine.options import EvaluationOptions
from polars_rank._engine.plan import plan_result
from polars_rank._engine.request import Request
from polars_rank._engine.schema import Column, name_of, names_of
from polars_rank._engine.spill.progress import Progress
from polars_rank._engine.tracing.shares import DOCUMENTS, FACTORS, OTHERS
from polars_rank.conventions.tools import DEFAULT, ConventionLike
from polars_rank.core.metric.registry import not_taken
from polars_rank.core.source import lazy_source, without_pushdown
from polars_rank.evaluation.deciding import OPTIONS
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import MeasureLike, is_of_lists

AGGREGATED = ("by", "weight", "stats")
OF_RESULT = ("rank", "label", "contribution")


@frame_function
def contributions(
    frame: FrameLike,
    measure: MeasureLike,
    *,
    qrels: FrameLike | None = None,
    query: Column | Sequence[Column] = "query_id",
    queries: FrameLike | None = None,
    segments: FrameLike | None = None,
    keep: Column | Sequence[Column] | None = None,
    convention: ConventionLike = DEFAULT,
    progress: Callable[[Progress], object] | None = None,
    **options: Unpack[EvaluationOptions],
) -> pl.DataFrame | pl.LazyFrame:
    """Compute what each document adds to the value of its query.

    The contributions of a query's documents sum to what :func:`per_query` returns.

    Parameters
    ----------
    frame, qrels, query, queries, segments, keep, convention, progress
        As in :func:`per_query`.
    measure
        A measure whose value is a sum over documents, such as ``"ndcg@10"``,
        ``"precision@5"``, ``"recall@100"``, ``"ap"``, ``"rr"``, ``"rbp"`` or
        ``"err"``; or one of your own, ``{name: function}``, that sums with
        ``r.sum(...)``.
    **options
        Further arguments of :func:`per_query`, such as ``doc``, ``ties``, ``missing``,
        ``on_duplicate``, ``layout`` and ``memory_limit``.

    Returns
    -------
    One row per query and document, retrieved or judged, sorted by query and rank (with
    ``memory_limit``, queries come in any order): a LazyFrame for a LazyFrame, a
    DataFrame otherwise. Columns of the query, those of
    ``keep``, the document id (if there is one), ``rank`` (null if it was not
    retrieved), ``label`` (null if nobody judged it) and ``contribution``: null where
    the measure is undefined. What no document adds has a row of its own without a
    document: the 1 of ``no_relevant="one"``, or the value of a query without documents.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments, and for a measure that is not a sum over
        documents, such as ``"kendall_tau"``, ``"rbo"`` or ``"gm_ap"``.
    DataError
        When collected, for rows that break a rule.

    Notes
    -----
    A document adds its term of the sum that the measure is linear in, given the others:
    its discounted gain, divided by the ideal DCG, to nDCG. A reciprocal rank belongs to
    the first relevant document. The hits of average precision are pairs of relevant
    documents: ``ap = 1/R sum over pairs r_j <= r_i of 1/r_i``; each of the two is given
    one half, and a document the whole of its pair with itself. Terms that depend on the
    documents above, such as those of ERR, belong to the document at the rank of the
    term.

    With ``ties="expected"``, contributions are means over the orders of tied documents.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import analysis
    >>> log = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1],
    ...      "label": [1, 0, 1]}
    ... )
    >>> analysis.contributions(log, "precision@3")
    shape: (3, 5)
    ┌──────────┬────────┬──────┬───────┬──────────────┐
    │ query_id ┆ doc_id ┆ rank ┆ label ┆ contribution │
    │ ---      ┆ ---    ┆ ---  ┆ ---   ┆ ---          │
    │ i64      ┆ str    ┆ u32  ┆ f64   ┆ f64          │
    ╞══════════╪════════╪══════╪═══════╪══════════════╡
    │ 1        ┆ a      ┆ 1    ┆ 1.0   ┆ 0.333333     │
    │ 1        ┆ b      ┆ 2    ┆ 0.0   ┆ 0.0          │
    │ 1        ┆ c      ┆ 3    ┆ 1.0   ┆ 0.333333     │
    └──────────┴────────┴──────┴───────┴──────────────┘
    """
    given: dict[str, Any] = {"query": query, "keep": keep, "convention": convention}
    given |= {"queries": queries, "segments": segments, "progress": progress}
    request = request_of("contributions", frame, measure, qrels, given | options)
    result = documents_of(request).drop(VALUE)
    in_memory = request.grouping == "hash"
    return like_input(frame, result, in_memory=in_memory, request=request)


VALUE = "value of the query"
QUERIES = 1_000  # whose documents are made at a time, where memory is limited


def request_of(
    function: str,
    frame: FrameLike,
    measure: MeasureLike,
    qrels: FrameLike | None,
    options: dict[str, Any],
) -> Request:
    """Return the checked request for the documents of one measure.

    ``function`` is named where an option is unknown.
    """
    known = {name: o for name, o in OPTIONS.items() if name not in AGGREGATED}
    known |= dict.fromkeys(("queries", "segments", "keep", "qrels"))
    for name in options:
        if name not in known:
            raise TypeError(not_taken(function, name, [*known]))
    if options.get("subtopic") is not None:
        msg = (
            f"{function} has no subtopics: their measures are not sums over documents; "
            "leave out subtopic="
        )
        raise ValueError(msg)
    request = Request.of(
        frame, measure, result="values", **known | options | {"qrels": qrels}
    )
    if len(request.measures) != 1:
        named = ", ".join(m.name for m in request.measures)
        msg = f"{function} are of one measure, not of {named or 'none'}"
        raise ValueError(msg)
    if is_of_lists(request.measures[0]):
        msg = (
            f"{function} are of measures of relevance, such as 'ndcg@10', not of "
            f"{request.measures[0].name}, which is about what is known of the items"
        )
        raise ValueError(msg)
    request = replace(request, contributions=True)
    _require_distinct_names(request)
    return request


def documents_of(request: Request) -> pl.LazyFrame:
    """Return a row per query and document, with the value of the query beside it."""
    rows = plan_result(request)
    if request.resources is None:
        return _exploded(rows, request)
    schema = _exploded(rows, request).collect_schema()

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in in_batches(rows):
            for few in batch.iter_slices(QUERIES):  # their documents are many rows
                documents = _exploded(few.lazy(), request).select(columns)
                yield documents.collect(engine="in-memory")

    return without_pushdown(lazy_source(read, schema, name="documents", drain=True))


def first_documents(
    request: Request, k: int, names: Sequence[str] | None = None
) -> pl.LazyFrame:
    """Return the documents that may be among the first k, under internal names.

    With ``names`` of the ids, they are as in the run: some are text within a plan.
    With equal scores they are more than k: all that one order or another has there.
    """
    run = bind_inputs(request).run
    rows, keys = normalize(*run, request), [*run.keys]
    columns = [pl.col(name) for name in (*keys, "doc")]
    if names is not None:
        types = run.frame.collect_schema()
        columns = [
            pl.col(own).cast(types[own]).alias(name)
            for own, name in zip((*keys, "doc"), names, strict=True)
        ]
    if "rank" in run.schema.roles:
        return rows.filter(pl.col("rank") <= k).select(columns)
    score = pl.col("score")
    # last(), since min() of sorted rows is wrong in a stream of one group (Polars 2.1)
    last = score.sort(descending=True, nulls_last=True).head(k).last().over(keys)
    near = (score >= last).fill_null(value=True)  # without a score documents are last
    return rows.filter(near).select(columns)


def documents_apart(request: Request) -> pl.LazyFrame:
    """Return the same in any order, and for each query a row without a document.

    That row has what no document adds, be it 0, so that no value is lost with the
    documents that a caller leaves out.
    """
    (measure,) = request.measures
    rows = plan_result(request).cache()  # read for each list
    known = rows.collect_schema()
    there = OWN.field("rank").is_not_null() | OWN.field("label").is_not_null()
    documents = [
        _of_lists(rows.with_columns(pl.col(name).alias(DOCUMENTS)), request, there)
        for name in (DOCUMENTS, OTHERS)
        if name in known
    ]
    schema = documents[0].collect_schema()
    names = [*names_of(request.columns.query), *names_of(request.keep)]
    empty = pl.col(DOCUMENTS).list.len().fill_null(0) == 0
    rest = pl.col(FACTORS).struct.field("rest")
    of_none = pl.when(empty).then(_of_none(measure.name)).otherwise(rest)
    columns = {
        "contribution": of_none,
        VALUE: pl.col(measure.name),
        **{name: pl.col(name) for name in names},
    }
    alone = rows.select(
        columns.get(name, pl.lit(None, dtype=dtype)).alias(name)
        for name, dtype in schema.items()
    )
    return pl.union([*documents, alone])


def _exploded(rows: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """Return the documents in the lists of the queries."""
    rest, inside = pl.col(FACTORS).struct.field("rest"), rows.collect_schema()
    # A list with a last row of no document, where it adds something.
    none = pl.lit(None, dtype=_document(inside))
    longer = pl.concat_list(DOCUMENTS, none)
    rows = rows.with_columns(
        pl.when(rest != 0).then(longer).otherwise(DOCUMENTS).alias(DOCUMENTS)
    )
    # A query without documents has a row of nulls: one such row is enough.
    twice = OWN.field("t0").is_not_null() & (rest != 0) & OWN.field("rank").is_null()
    twice &= OWN.field("label").is_null()
    return _of_lists(rows, request, ~twice.fill_null(value=False))


OWN = pl.col(DOCUMENTS).struct


def _document(schema: pl.Schema) -> pl.Struct:
    inside = schema[DOCUMENTS]
    assert isinstance(inside, pl.List)
    document = inside.inner
    assert isinstance(document, pl.Struct)
    return document


def _of_none(measure: str) -> pl.Expr:
    return pl.coalesce(pl.col(FACTORS).struct.field("rest"), pl.col(measure))


def _of_lists(rows: pl.LazyFrame, request: Request, kept: pl.Expr) -> pl.LazyFrame:
    (measure,) = request.measures
    names = [*names_of(request.columns.query), *names_of(request.keep)]
    fields = [field.name for field in _document(rows.collect_schema()).fields]
    slope = pl.col(FACTORS).struct.field
    terms = [name for name in fields if name.startswith("t")]
    added = pl.sum_horizontal(
        (slope(f"slope{i}") * OWN.field(term) for i, term in enumerate(terms)),
        ignore_nulls=False,
    )
    has_term = OWN.field("t0").is_not_null()
    doc = [_doc(request)] if "doc" in fields else []
    rows = rows.explode(DOCUMENTS, empty_as_null=True)
    return rows.filter(kept).select(
        *names,
        *doc,
        OWN.field("rank").cast(pl.UInt32),
        OWN.field("label"),
        pl.when(has_term)
        .then(added)
        .otherwise(_of_none(measure.name))
        .alias("contribution"),
        pl.col(measure.name).alias(VALUE),
    )


def _doc(request: Request) -> pl.Expr:
    """Return the document id under its name, of the type it had: text orders ties."""
    doc = request.columns.names["doc"]
    assert doc is not None
    dtype = bind_inputs(request).run.frame.collect_schema()["doc"]
    found = pl.col(DOCUMENTS).struct.field("doc")
    if request.convention.on_duplicate == "keep_rank":  # with the number of the copy
        found = found.struct.field("doc")
    return found.cast(dtype).alias(name_of(doc))


def _require_distinct_names(request: Request) -> None:
    doc = request.columns.names["doc"]
    names = [*names_of(request.columns.query), *names_of(request.keep)]
    names += [*([] if doc is None else [name_of(doc)]), *OF_RESULT]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = (
            f"two columns would be called {', '.join(map(repr, twice))}; rename the "
            "input column"
        )
        raise ValueError(msg)
