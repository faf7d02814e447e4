"""Evaluate a frame: one ranking pass for any number of measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.frame_function import frame_function, like_input
from polars_rank._engine.options import DOC, Layout, Stat
from polars_rank._engine.plan import plan_result, result_of
from polars_rank._engine.request import Request
from polars_rank._engine.schema import Column
from polars_rank._engine.spill.progress import Progress
from polars_rank.conventions.choices import Duplicates, Missing, Unjudged
from polars_rank.conventions.tools import DEFAULT, ConventionLike
from polars_rank.core.words.ranking import NoRelevant, Ties
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Measures


def evaluated(frame: FrameLike, request: Request) -> pl.DataFrame | pl.LazyFrame:
    """Return the result of a request about the frame: lazy for a LazyFrame."""
    at_once = request.few and not isinstance(frame, pl.LazyFrame)
    result = partial(result_of, request) if at_once else plan_result(request)
    return like_input(frame, result, request=request)


@frame_function
def per_query(
    frame: FrameLike,
    measures: Measures,
    *,
    qrels: FrameLike | None = None,
    query: Column | Sequence[Column] = "query_id",
    doc: Column | None = DOC,
    score: Column = "score",
    label: Column | None = "label",
    subtopic: Column | None = None,
    rank: Column | None = None,
    descending: bool = True,
    qrels_query: Column | Sequence[Column] | None = None,
    qrels_doc: Column | None = None,
    queries: FrameLike | None = None,
    segments: FrameLike | None = None,
    history: FrameLike | None = None,
    items: FrameLike | None = None,
    keep: Column | Sequence[Column] | None = None,
    convention: ConventionLike = DEFAULT,
    ties: Ties | None = None,
    missing: Missing | None = None,
    no_relevant: NoRelevant | None = None,
    unjudged: Unjudged | None = None,
    rel: float | None = None,
    on_duplicate: Duplicates | None = None,
    check: Check = "strict",
    layout: Layout = "auto",
    memory_limit: int | str | None = None,
    temp_dir: str | Path | None = None,
    progress: Callable[[Progress], object] | None = None,
    max_rank: int | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Compute every measure for every query.

    Parameters
    ----------
    frame
        A log with one row per document: ``query``, ``label`` and ``score`` (or
        ``rank``); ``doc`` breaks ties if it exists. With ``qrels``: the run, with
        ``query``, ``doc`` and ``score`` (or ``rank``). Wherever a frame is taken, so is
        anything with ``__arrow_c_stream__`` (frames of pandas, pyarrow, DuckDB ...),
        batches of these, a pyarrow dataset, a path or glob, and ``{query: {document:
        value}}``.
    measures
        One or more of: text such as ``"ndcg@10"`` or ``"ndcg(gain=exp2)@10"`` (names of
        trec_eval, ir_measures and ranx work too), a :class:`Measure`, or a mapping
        ``name -> function of a Ranking`` for user-defined measures.
    qrels
        The judgments: ``query``, ``doc``, ``label``. Their queries are evaluated.
    query, doc, score, label
        Columns: names or expressions. ``query`` may be several, e.g. ``["system",
        "query_id"]``; judgments without ``system`` apply to all systems. Without
        document ids (``doc=None``, or a single frame without the default ``doc_id``
        column), ties keep the input order. With ``label=None``, every judged
        document is relevant.
    subtopic
        Column of the judgments with the subtopic (intent, aspect) that the grade is
        for, or with the assessor who gave it: one row per query, document and subtopic.
        Measures of diversity need it (``"alpha_ndcg@10"``); a user-defined measure is
        then a function of the :class:`Subtopics`.
    rank
        Column with the 1-based rank of the document, used instead of a score.
    descending
        Whether high scores come first; False for distances, whose sign is changed: for
        measures that use scores themselves, such as ``pearson``, too.
    qrels_query, qrels_doc
        ``query`` and ``doc`` in the judgments, where they differ.
    queries
        The queries to evaluate, one row per query, judged or not: nothing is relevant
        to those that nobody judged. If the id of a query is several columns, some of
        them may be left out here.
    segments
        Attributes of queries, one row per query; the evaluated queries stay the same.
    history, items
        For measures of recommenders, such as ``"novelty@10"``: the interactions that
        the users had before, one row each with ``query`` (the user) and ``doc`` (the
        item); and the catalog, one row per item, with the columns that measures name:
        ``"ild(feature=genre)@10"``. Without ``items``, the catalog is what the history
        has. Both are held in memory as far as measures need them.
    keep
        Columns to carry along, taken from ``segments``, ``queries``, ``frame`` or
        ``qrels``, where they must be constant within a query.
    convention
        Name of a convention, or a :class:`Convention`: every disputed choice.
    ties, missing, no_relevant, unjudged, rel
        Replace this choice of the convention for all measures: order of equal scores,
        value of a judged query that is missing from the run, value of a query with
        nothing relevant, treatment of unjudged documents, lowest relevant grade (of
        measures that are binary: nDCG, for one, takes grades as they are). Parameters
        of a measure take precedence.
    on_duplicate
        Replaces the choice of the convention for a document that a query has twice:
        ``"error"``, ``"best"`` (one document, with the best score and label) or
        ``"keep_rank"`` (the first copy counts; others keep their ranks and gain
        nothing).
    check
        What to do about bad data: ``"strict"`` raises, ``"warn"`` warns, ``"off"`` does
        not check.
    layout
        ``"contiguous"``: the rows of each query are contiguous, with the queries in any
        order. Such rows are streamed without a sort, in little memory; the claim is
        verified, and a false one is an error. ``"any"``: rows in any order. ``"auto"``
        tries the first and falls back to the second.
    memory_limit
        Memory limit of the process, e.g. ``"2GB"``, for any number of rows: queries are
        spilled to disk in buckets and evaluated in turn. Contiguous rows need no limit.
    temp_dir
        Folder for spill files. If set, an interrupted evaluation resumes from it.
    progress
        Called with a :class:`Progress` as buckets are filled and evaluated.
    max_rank
        Documents below this rank count as not retrieved, for every measure; they
        remain judged.

    Returns
    -------
    The query columns, those of ``keep`` and a Float64 column per measure, sorted by
    query: a LazyFrame for a LazyFrame (only schemas are read until it is collected), a
    DataFrame otherwise.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Warns
    -----
    DataWarning
        When collected: a frame or judgments without rows, judged queries that are
        missing from the run (unless ``missing`` is given), queries without a label
        (unless ``no_relevant`` is given), labels that are all null, that never reach
        ``rel``, or that lie between 0 and 1 where ``rel`` is 1 by default.

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
    request = Request.of(
        frame,
        measures,
        result="values",
        qrels=qrels,
        query=query,
        doc=doc,
        score=score,
        label=label,
        subtopic=subtopic,
        rank=rank,
        descending=descending,
        qrels_query=qrels_query,
        qrels_doc=qrels_doc,
        queries=queries,
        segments=segments,
        history=history,
        items=items,
        keep=keep,
        convention=convention,
        ties=ties,
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        rel=rel,
        on_duplicate=on_duplicate,
        check=check,
        layout=layout,
        memory_limit=memory_limit,
        temp_dir=temp_dir,
        progress=progress,
        max_rank=max_rank,
    )
    return evaluated(frame, request)


@frame_function
def evaluate(
    frame: FrameLike,
    measures: Measures,
    *,
    qrels: FrameLike | None = None,
    query: Column | Sequence[Column] = "query_id",
    doc: Column | None = DOC,
    score: Column = "score",
    label: Column | None = "label",
    subtopic: Column | None = None,
    rank: Column | None = None,
    descending: bool = True,
    qrels_query: Column | Sequence[Column] | None = None,
    qrels_doc: Column | None = None,
    queries: FrameLike | None = None,
    segments: FrameLike | None = None,
    history: FrameLike | None = None,
    items: FrameLike | None = None,
    by: Column | Sequence[Column] | None = None,
    weight: Column | None = None,
    stats: Stat | Sequence[Stat] = "mean",
    convention: ConventionLike = DEFAULT,
    ties: Ties | None = None,
    missing: Missing | None = None,
    no_relevant: NoRelevant | None = None,
    unjudged: Unjudged | None = None,
    rel: float | None = None,
    on_duplicate: Duplicates | None = None,
    check: Check = "strict",
    layout: Layout = "auto",
    memory_limit: int | str | None = None,
    temp_dir: str | Path | None = None,
    progress: Callable[[Progress], object] | None = None,
    max_rank: int | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Average every measure over the queries.

    The parameters are those of :func:`per_query` except ``keep``, and:

    Parameters
    ----------
    by
        Columns that split the mean into segments, one output row per segment; taken
        from the same frames as ``keep`` (null for a judged query that has no row
        there).
    weight
        Column with the query's weight in the mean, e.g. its traffic; taken from the
        same frames as ``by``. Counts such as ``num_rel`` are summed with weights, too.
    stats
        Statistics of each measure: ``"mean"``, in a column with its name; ``"n"``,
        the number of queries that have a value, in ``<name>_n``; ``"std"``, their
        standard deviation (divisor n - 1), in ``<name>_std``; and ``"se"``, the
        standard error of the mean, in ``<name>_se``. The last two are null for counts
        and geometric means, and refuse ``weight``. Of the values themselves:
        ``"median"``; quantiles such as ``"p10"`` and ``"p99.5"``, interpolated as by
        ``numpy.quantile``; ``"min"``, ``"max"``; and ``"worst_tenth"``, the mean of
        the worst tenth (expected shortfall, or conditional value at risk, at 10 %),
        whose last query counts in part. Of a measure that is better if lower, high
        values are the worst. With ``weight``, a quantile is the least value with which
        the weights reach its share (``inverted_cdf`` of numpy), and the worst tenth is
        one of the weights. These are null for geometric means. They are exact, and
        hold the distinct values of queries in memory; with ``memory_limit`` and more
        than 65,536 of them, values are first rounded to 16 bits (a relative error of at
        most 2^-16), except for the ends. Of a measure of the catalog, which has no
        values of queries, ``"n"`` is the number of lists, and ``"se"`` the error of a
        jackknife that leaves 20 groups of users out in turn (t: 19 degrees of freedom).

    Returns
    -------
    The ``by`` columns, ``queries``, and a Float64 column for each measure: one row, or
    one per segment, sorted. ``queries`` is the number of evaluated queries; a measure
    that is undefined for some of them is averaged over the others: see ``stats``.

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
    request = Request.of(
        frame,
        measures,
        result="means",
        qrels=qrels,
        query=query,
        doc=doc,
        score=score,
        label=label,
        subtopic=subtopic,
        rank=rank,
        descending=descending,
        qrels_query=qrels_query,
        qrels_doc=qrels_doc,
        queries=queries,
        segments=segments,
        history=history,
        items=items,
        by=by,
        weight=weight,
        stats=stats,
        convention=convention,
        ties=ties,
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        rel=rel,
        on_duplicate=on_duplicate,
        check=check,
        layout=layout,
        memory_limit=memory_limit,
        temp_dir=temp_dir,
        progress=progress,
        max_rank=max_rank,
    )
    return evaluated(frame, request)
