"""The unjudged documents that are worth judging next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.options import RankingChoices
from polars_rank.analysis.label_effects import (
    RUN,
    VALUE,
    WEIGHT,
    Pool,
    effects_of_labels,
)
from polars_rank.analysis.mixture import require_weights
from polars_rank.analysis.order_changes import Orders
from polars_rank.analysis.sides import (
    Names,
    documents_of_run,
    listed,
    require_about,
    reread,
    with_labels,
)
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import DEFAULT, ConventionLike, convention_of
from polars_rank.core.parameters import is_number, is_whole
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import Measure, MeasureLike, parse_measures
from polars_rank.uncertainty.bounds.several_runs import Runs, stacked, system_asked

TAKEN = ("rank", "systems", "stake", "reverses", "label", "contribution", RUN)


def to_judge(
    runs: Runs,
    measure: MeasureLike,
    *,
    qrels: FrameLike,
    n_judgments: int | None = 100,
    max_grade: float | None = None,
    query: str | Sequence[str] = "query_id",
    doc: str = "doc_id",
    system: str | None = None,
    segments: FrameLike | None = None,
    weight: str | None = None,
    convention: ConventionLike = DEFAULT,
    **options: Unpack[RankingChoices],
) -> pl.DataFrame:
    """Name the unjudged documents whose label can change a value, or an order, most.

    Parameters
    ----------
    runs
        A run; or several, in a mapping of names to runs, or in one frame with a column
        ``system``.
    measure
        What is at stake: one measure. Its cutoff is how deep documents are looked at.
    qrels
        The judgments. A document without a label is unjudged.
    n_judgments
        How many documents to return; None: all.
    max_grade
        The label that a document may get. Default: the largest of the judgments, and at
        least 1.
    query, doc
        Columns of runs and judgments, as in :func:`evaluate`.
    system
        Column that tells several runs apart, in a single frame.
    segments
        Attributes of queries, one row per query, for ``weight``.
    weight
        Column of the runs, of ``segments`` or of the judgments with the weight of each
        query.
    convention, **options
        As in :func:`evaluate`, but for ``missing`` and ``no_relevant``: undefined
        values count as 0.

    Returns
    -------
    One row per query and document, those first whose label can reverse the order of two
    runs, then by ``stake``: the columns ``query`` and ``doc``; ``rank``, the best that
    a run gives it; ``label``, null, to be filled in; and

    - ``stake``: how far the label ``max_grade`` alone moves the mean. With several
      runs, how far it moves the difference of two of them, at most: a document that all
      of them have at the same rank decides nothing between them.
    - ``systems`` (several runs): how many have it among the documents looked at.
    - ``reverses`` (several runs): whether it moves the difference of two runs towards
      zero, and labels of these documents together reach it. That no row has it is exact
      for sums over documents whose divisor no label changes, such as dcg, precision and
      rbp; and for ndcg and recall, whose differences have exact bounds, over all grades
      up to a whole ``max_grade`` (:func:`bounds`, which are asked where one label in
      each query is not enough). Else it is near: the documents count as if each moved
      the difference by its own stake, whatever the labels of the others. Documents
      below the cutoff, which count in the best order, keep none.

    With labels in the last column, the frame goes back in as judgments, beside the old
    ones. Rows whose label stays null are unjudged, as they were.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        For wrong arguments.
    DataError
        For rows that break a rule, and if every document that is looked at is judged.

    Notes
    -----
    A query whose value is undefined until something is relevant counts as 0 before.
    Where a document adds a term of its own rank and label, as to dcg, ndcg, precision,
    recall and rbp, one candidate of each query is evaluated with its label, and the
    others differ from it by their terms. Else, as for ap, rr and err, every candidate
    makes a copy of its query: for a cutoff of k at most k copies of k documents. The
    documents within the cutoff and the judgments are held in memory.

    Source: Carterette, Allan and Sitaraman, SIGIR 2006 (minimal test collections): the
    stake is a document's weight in a difference.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import analysis
    >>> runs = {"old": {"q": list("abcd")}, "new": {"q": list("bxad")}}
    >>> qrels = {"q": {"a": 1, "b": 0}}
    >>> asked = analysis.to_judge(runs, "dcg@3", qrels=qrels)
    >>> asked.select("doc_id", "rank", pl.col("stake").round(3), "reverses").rows()
    [('x', 2, 0.631, True), ('c', 3, 0.5, False)]
    """
    asked = _one(measure)
    n = n_judgments
    if n is not None and not (is_whole(n) and n > 0):
        msg = f"n_judgments must be a whole number of at least 1, or None, not {n!r}"
        raise ValueError(msg)
    frame, column = stacked(runs, system)
    names = Names.of(query, doc, [weight], TAKEN, system=column)
    frame, segments, qrels = (
        reread(given, name)
        for given, name in (
            (frame, "the run"),
            (segments, "segments"),
            (qrels, "the judgments"),
        )
    )
    require_about(names, [], frame, segments, qrels)
    given: dict[str, Any] = {**options}
    changed = {name: given.pop(name) for name in SHORTCUTS if name in given}
    convention = convention_of(convention, **changed)
    given |= {
        "convention": convention,
        "label": pl.lit(1).alias("label of all documents"),
        "segments": _with_weights(names, frame, segments, qrels),
    }
    lists = documents_of_run(
        "to_judge", frame, "hits", None, names, given, system=column
    )
    best = convention.on_duplicate == "best"
    label = options.get("label", "label")
    lists, labels = with_labels(lists.drop("label"), qrels, names, label, best=best)
    lists = lists.join(labels, on=[*names.query, names.doc], how="left")
    lists = lists.filter(listed(pl.col("rank"), _depth(asked, convention)))
    if column is None:
        lists = lists.with_columns(pl.lit("").alias(RUN))
    known = labels.filter(pl.col("label").is_not_null())
    with system_asked(frame, system):
        rows, judged = pl.collect_all([lists, known], engine="streaming")
    if weight is not None:
        _require_weights(rows, names, weight)
    grade = _grade(judged, max_grade)
    pool = Pool(rows, judged, names, asked, convention, grade, weight)
    found = _at_stake(pool)
    several = [] if column is None else ["systems", "reverses"]
    # Stakes of one size, of queries that are alike, can differ in the last digits.
    stake, ids = pl.col("stake").round_sig_figs(12), [*names.query, names.doc]
    order = [*map(pl.col, several[1:]), stake]
    found = found.sort(
        *order, *ids, descending=[True] * len(order) + [False] * len(ids)
    )
    return found.head(found.height if n is None else n).select(
        *names.query,
        names.doc,
        "rank",
        *several[:1],
        "stake",
        *several[1:],
        label=pl.lit(None, pl.Float64),
    )


def _one(measure: MeasureLike) -> Measure:
    found = parse_measures(measure)
    if len(found) != 1 or not isinstance(found[0], Measure):
        named = ", ".join(m.name for m in found) or "none"
        msg = f"to_judge looks at one registered measure, not at {named}"
        raise ValueError(msg)
    return found[0]


def _with_weights(
    names: Names, frame: Any, segments: FrameLike | None, qrels: FrameLike
) -> FrameLike | None:
    """Return the attributes of queries; those of the judgments where the weight is."""
    known = (given for given in (frame, segments) if given is not None)
    for given in known:
        columns = as_polars(given, name="the frame").lazy().collect_schema()
        if all(name in columns for name in names.about):
            return segments
    judged = as_polars(qrels, name="the judgments", kind="qrels").lazy()
    return judged.select(*names.query, *names.about).unique()


def _require_weights(rows: pl.DataFrame, names: Names, weight: str) -> None:
    """Refuse weights that make no mean."""
    value = pl.col(weight)
    queries = rows.group_by(names.query).agg(value.drop_nulls().first())
    require_weights(queries, weight, value)
    if not queries[weight].sum():
        msg = (
            "no query has a weight above 0, so there is no mean; give queries a "
            "weight, or leave out the weights"
        )
        raise DataError(msg, rule="invalid_weight")


def _depth(measure: Measure, convention: Convention) -> int | None:
    """Return how deep a value looks; None: at all documents."""
    k = measure.arguments.get(measure.definition.cutoff)
    condensed = convention.unjudged == "drop"
    return k if is_whole(k) and not condensed else None  # k may be "R"


def _grade(judged: pl.DataFrame, max_grade: float | None) -> float:
    if max_grade is None:
        largest = judged["label"].max()
        return max(1.0, float(largest or 0.0))  # type: ignore[arg-type]
    if not is_number(max_grade) or not max_grade > 0:
        msg = f"max_grade must be a number above 0, not {max_grade!r}"
        raise ValueError(msg)
    return float(max_grade)


def _at_stake(pool: Pool) -> pl.DataFrame:
    """Return each unjudged document, its stake, and whether it can reverse an order."""
    names, query = pool.names, pool.names.query
    unjudged = pool.lists.filter(pl.col("label").is_null())
    if unjudged.is_empty():
        msg = "every document that is looked at is judged: nothing is at stake"
        raise DataError(msg, rule="nothing_to_judge")
    found = unjudged.group_by(*query, names.doc, maintain_order=True).agg(
        pl.col("rank").min(), systems=pl.len().cast(pl.UInt32)
    )
    found = found.join(pool.queries, on=query, how="left", maintain_order="left")
    values, asked = [], found.select(*query, names.doc)
    for i, run in enumerate(pool.runs):
        rows = pool.lists.filter(pl.col(pool.run).eq_missing(pl.lit(run)))
        before = pool.values(rows, pool.judged)
        own = pool.queries.join(before, on=query, how="left", maintain_order="left")
        values.append(own[VALUE].fill_null(0.0))
        moved = effects_of_labels(pool, rows, before, asked)
        found = found.with_columns(moved.alias(f"effect{i}"))
    effects = [pl.col(WEIGHT) * pl.col(f"effect{i}") for i in range(len(values))]
    if len(values) == 1:
        return found.with_columns(stake=effects[0].abs(), reverses=pl.lit(value=False))
    stake = pl.max_horizontal(effects) - pl.min_horizontal(effects)
    reverses = Orders(pool, found, values).reversed_by()
    return found.with_columns(stake=stake, reverses=reverses)
