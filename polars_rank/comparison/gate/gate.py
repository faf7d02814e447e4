"""A gate for changes: it says whether a ranking got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, cast, get_args

import polars as pl

from polars_rank._statistics.intervals import require_level
from polars_rank.comparison.compare import compare
from polars_rank.comparison.explained import reread
from polars_rank.comparison.gate.comparability import (
    BASE,
    NEW,
    attributed,
    joined,
    require_ids_that_match,
    require_known_documents,
    require_known_values,
    require_same_definition,
)
from polars_rank.comparison.gate.gate_of_runs import explained, values_of_both
from polars_rank.comparison.gate.gate_result import Gate, Verdict
from polars_rank.comparison.gate.left_documents import Lists
from polars_rank.comparison.gate.verdicts import (
    ALL,
    Rule,
    Standard,
    checked,
    worst_queries,
)
from polars_rank.comparison.input.procedures import (
    Columns,
    Correction,
    require_choice,
)
from polars_rank.comparison.input.run_values import RunOptions
from polars_rank.comparison.input.values import Source, lazy
from polars_rank.comparison.sums.definition import Definition, definition_of
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike


def gate(
    values: Source | FrameLike,
    measures: str | Sequence[str] | None = None,
    *,
    baseline: Source | FrameLike,
    query: str | Sequence[str] = "query_id",
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    documents: str | None = None,
    margin: float | Mapping[str, float] = 0.0,
    rule: Rule = "significant",
    floors: Mapping[str, float] | None = None,
    correction: Correction = "holm",
    level: float = 0.95,
    min_queries: int = 20,
    tie: float = 1e-9,
    definition: Definition | None = None,
    qrels: FrameLike | None = None,
    **options: Unpack[RunOptions],
) -> Gate:
    """Decide whether a change of a ranking may ship.

    Parameters
    ----------
    values, baseline
        Values per query of the new ranking, and of the one that is live, as
        :func:`per_query` returns them: frames or files. Or, with ``qrels``, both runs.
    measures
        Columns to gate; default: all Float columns of the baseline. Of runs, the
        measures to compute.
    query
        Columns that name the query.
    by
        Columns with segments; each segment is a check of its own.
    weight, cluster
        As in :func:`compare`.
    documents
        Column of both with the list of document ids of the query, best first, such as
        the first ten: tells which documents left, and whether ids were replaced.
    margin
        Largest drop that does not matter: one number, or one per measure.
    rule
        ``"significant"``: warn if a drop is significant (one-sided); fail if it is
        larger than the margin, and significant at a fifth of the error: of builds that
        change nothing, 5 % warn at most and 1 % fail, over all checks.
        ``"non_inferior"``: fail unless it is significant that the drop is smaller than
        the margin. ``"threshold"``: fail if the drop is larger than the margin,
        significant or not.
    floors
        Lowest mean that is allowed, by measure (the highest, where lower is better).
    correction, level
        Correction of the p-values for the number of checks; adjusted p-values below 1 -
        level are significant, and those below (1 - level) / 5 so that a drop fails.
    min_queries
        Segments with fewer queries are shown, not gated.
    tie
        Differences up to this size, and those within rounding, are ties.
    definition
        Definition of ``values``, unless they are a file that holds it.
    qrels
        Judgments of ``values`` and ``baseline`` that are runs. If a check fails, they
        are read again, and the largest parts of the difference are shown: segments, and
        documents that were lost, gained or moved.
    **options
        Further arguments of :func:`per_query` for runs, such as ``ties``.

    Returns
    -------
    A :class:`Gate`. Inputs that do not fit (other queries, definitions or judgments,
    measures that are missing or without any value, a run whose ids no longer match) are
    not errors: the verdict is ``"invalid"``, with the reason. Ids no longer match if
    90 % of the documents of the baseline are in no list now; without ``documents=``, if
    90 % of the queries that had a value above 0 have 0 now.

    Raises
    ------
    ValueError
        For wrong arguments.
    FileNotFoundError
        If the file of the baseline or of the values does not exist.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> base = pl.DataFrame({"query_id": range(40), "rr": [0.5, 1.0] * 20})
    >>> new = base.with_columns(rr=pl.col("rr") - 0.1 * (pl.col("query_id") % 3 > 0))
    >>> pr.gate(new, baseline=base, margin=0.01).verdict
    'fail'
    """
    require_choice("rule", rule, Rule)
    require_choice("correction", correction, Correction)
    require_level(level)
    standard = Standard(rule, margin, floors or {}, correction, level, min_queries)
    settings = {
        "rule": rule, "margin": margin, "correction": correction, "level": level,
        "fail_level": standard.fail_level, "min_queries": min_queries,
        "weight": weight, "cluster": cluster,
    }  # fmt: skip
    columns = Columns("_system", query, measures, by, weight, cluster)
    rest: dict[str, Any] = {"documents": documents, "tie": tie}
    if qrels is None:
        if options:
            msg = (
                f"{next(iter(options))}= is for runs, which are evaluated: give qrels="
            )
            raise TypeError(msg)
        both = cast("Source", values), cast("Source", baseline)
        for given in both:
            _require_there(given)
        known = definition or definition_of(both[0])
        return _decided(*both, columns, standard, settings, known, **rest)
    after, before = reread(values, "the run"), reread(baseline, "the baseline")
    qrels = reread(qrels, "the judgments")
    new, old, made = values_of_both(after, before, columns, qrels, **options)
    columns = replace(columns, measures=[*made.measures])
    known = definition or made
    own = _decided(new, old, columns, standard, settings, known, **rest)
    if own.verdict != "fail":
        return own
    about = {"query": query, "by": by, "weight": weight, "qrels": qrels}
    return explained(own, before, after, measures or (), **about, **options)


def _decided(
    values: Source,
    baseline: Source,
    columns: Columns,
    standard: Standard,
    settings: dict[str, Any],
    known: Definition | None,
    *,
    documents: str | None,
    tie: float,
) -> Gate:
    """Compare values of queries, and decide."""
    lists = documents and Lists(baseline, values, columns.keys, documents)
    counts = lists.counts() if lists else None
    notes = lists.notes() if lists else ()
    try:
        require_same_definition(definition_of(baseline), known, columns.measures)
        frame, names = joined(baseline, values, columns)
        standard.require_measures(names)
        pairs, deltas = _compared(
            frame, replace(columns, measures=names), level=standard.level, tie=tie
        )
        require_known_values(deltas)
        if not lists:
            require_ids_that_match(deltas)
        checks = checked(pairs, names, standard)
        if counts is not None and (checks["verdict"] == "fail").any():
            require_known_documents(**counts)
    except DataError as error:
        told = settings, str(error), known, None, notes
        return Gate("invalid", pl.DataFrame(), pl.DataFrame(), *told)
    worst = worst_queries(deltas, names, tie)
    if lists:
        worst = lists.first_that_left(worst)
    found, order = {*checks["verdict"]}, get_args(Verdict)[2::-1]  # the worst first
    verdict = next(worst for worst in order if worst in found or worst == "pass")
    return Gate(verdict, checks, worst, settings, None, known, counts, notes)


def _require_there(given: Source) -> None:
    """Refuse a file that does not exist: a wrong path says nothing of a ranking."""
    try:
        lazy(given)
    except DataError as error:
        if isinstance(error.__cause__, OSError):
            raise FileNotFoundError(str(error)) from error


def _compared(
    frame: pl.DataFrame, columns: Columns, *, level: float, tie: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare both systems, over all queries and by segment; and query by query."""
    parts = []
    for column in [None, *columns.segments]:
        own = replace(columns, by=column)
        try:
            found = compare(
                attributed(frame, own),
                baseline=BASE,
                level=level,
                min_queries=2,
                tie=tie,
                **vars(own),
            )
        except ValueError as error:
            if isinstance(error, DataError) or "nothing to compare" not in str(error):
                raise
            raise DataError(str(error), rule="one_system", count=1) from error
        label = pl.lit(ALL)
        if column is not None:
            shown = pl.col(column).cast(pl.String).fill_null("-")
            label = pl.format("{} = {}", pl.lit(column), shown)
        own_columns = pl.exclude(column) if column else pl.all()
        parts.append(found.pairs.select(own_columns, label.alias("segment")))
        if column is None:
            assert found.values is not None
            deltas = found.values.differences([(BASE, NEW)])
    return pl.concat(parts), deltas
