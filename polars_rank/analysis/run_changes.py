"""What changed between two runs: documents that entered, left or moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path
from typing import Any, Literal, TypeAlias, Unpack, get_args

import polars as pl

from polars_rank._engine.checks.enforce import enforce
from polars_rank._engine.options import RankingOptions
from polars_rank._engine.schema import align_ids
from polars_rank._engine.spill.progress import Listener
from polars_rank._statistics.intervals import require_level
from polars_rank.analysis.averages import averages
from polars_rank.analysis.contribution_rows import first_documents
from polars_rank.analysis.results import Changes
from polars_rank.analysis.sides import (
    Names,
    documents_of_run,
    held,
    in_buckets,
    kind,
    listed,
    no_documents,
    once,
    request_of_run,
    require_about,
    reread,
    side_by_side,
    side_named,
    with_labels,
)
from polars_rank.comparison.input.procedures import names_of
from polars_rank.conventions.tools import DEFAULT, ConventionLike, convention_of
from polars_rank.core.expr import ratio
from polars_rank.core.parameters import is_whole
from polars_rank.core.rules import Rule
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.uncertainty.bounds.several_runs import Runs, stacked

PairedQueries: TypeAlias = Literal["same", "common", "all"]
OrderOfTies: TypeAlias = Literal["doc_desc", "doc_asc", "order", "distance"]
MEASURES = (
    *("overlap", "jaccard", "rbo", "churn", "same_top", "entered", "left", "moves"),
    "new_unjudged",
)
BY_LABEL = ("optimistic", "pessimistic")
SHARES = ("overlap", "jaccard", "rbo", "churn", "same_top")
TAKEN = {
    *("baseline_rank", "rank", "kind", "label", "measure", "mean", "se", "queries"),
    *("lower", "upper", *MEASURES),
}


def changes(
    before: FrameLike,
    after: Runs,
    k: int = 10,
    *,
    qrels: FrameLike | None = None,
    query: str | Sequence[str] = "query_id",
    doc: str = "doc_id",
    queries: FrameLike | None = None,
    segments: FrameLike | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    system: str | None = None,
    pairs: PairedQueries = "same",
    ties: OrderOfTies | None = None,
    tie: float = 1e-9,
    p: float = 0.9,
    level: float = 0.95,
    convention: ConventionLike = DEFAULT,
    memory_limit: int | str | None = None,
    temp_dir: str | Path | None = None,
    progress: Listener | None = None,
    **options: Unpack[RankingOptions],
) -> Changes:
    """Compare the first k documents of two runs, with judgments or without.

    Parameters
    ----------
    before
        The run that others are compared with.
    after
        The run after the change; or several, in a mapping of names to runs, or in one
        frame with a column ``system``. ``before`` is ranked once for all of them.
    k
        How many of the first documents of a query are compared.
    qrels
        Judgments: they give the documents their ``label``, and tell which of those that
        entered nobody has judged.
    query, doc
        Names of the columns, of the judgments, too.
    queries
        The queries to compare, one row per query; a query that neither run has counts
        as one without documents.
    segments
        Attributes of queries, one row per query, for ``by``, ``weight`` and
        ``cluster``, unless a run has them.
    by, weight, cluster, level
        As in :func:`compare`: segments, weights of queries, queries that depend on each
        other, and the level of the intervals.
    system
        Column of ``after`` that tells several runs apart; that of a mapping is called
        ``"system"``.
    pairs
        ``"same"``: both runs must have the same queries. ``"common"``: the others are
        left out. ``"all"``: a run has no documents for a query that it lacks.
    ties
        Order of equal scores; default: the convention's. ``"distance"``: the order of
        the convention, and ``overlap`` counts every document of ``after`` that scores
        as well as the k-th of ``before``, up to ``tie``. With the exact neighbors in
        ``before`` it is the recall of an approximate search, as ann-benchmarks has it.
    p
        Persistence of ``rbo``: the probability of going on to the next document.
    convention
        Tool whose choices apply: the order of ties, and the precision of scores.
    memory_limit, temp_dir, progress
        As in :func:`per_query`: rows go through buckets on disk, whole queries each.
    **options
        Further arguments of :func:`per_query`: ``score``, ``rank``, ``descending``,
        ``label``, ``check``, ``on_duplicate``, ``layout``, ``max_rank``.

    Returns
    -------
    A :class:`Changes`: prints a table; ``.summary``, ``.segments``, ``.queries`` and
    ``.documents`` are frames. Of a LazyFrame ``before``, ``.documents`` is a LazyFrame.

    Raises
    ------
    ValueError, TypeError
        For wrong arguments, and for runs without a query.
    DataError
        For rows that break a rule, and for queries that one run lacks, unless ``pairs``
        says otherwise.

    Notes
    -----
    A and B are the first k of both, of a and b documents. A value is null if both are
    empty.

    - ``overlap``: ``|A and B| / max(a, b)``; ``jaccard``: ``|A and B| / |A or B|``;
    - ``rbo``: ``(1 - p) / (1 - p^n) sum over d <= n of p^(d-1) X_d / d``, where n is
      the larger of a and b, and X_d the overlap of the first d;
    - ``churn``: the share of the discounted places, ``e = 1 / log2(rank + 1)``, that
      changed hands: half the sum of ``|e_after - e_before|`` over documents, divided by
      the mean of both sums of e; 0 for equal lists, 1 for lists without a common
      document;
    - ``same_top``: whether both begin with the same document;
    - ``entered``, ``left``: numbers of documents; ``moves``: the mean of ``|rank after
      - rank before|`` over common documents, null without any; ``new_unjudged``: those
      that entered and have no label.

    Source: Webber, Moffat and Zobel, TOIS 2010 (RBO; cut at k and divided by its
    largest value); ann-benchmarks (recall by distance). ``jaccard`` and ``rbo`` are
    those of OpenSearch's search relevance, unrounded.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import analysis
    >>> before = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 2, "b": 1}}
    >>> after = {"q1": {"b": 3, "a": 2, "d": 1}, "q2": {"a": 2, "b": 1}}
    >>> found = analysis.changes(before, after, k=3)
    >>> found.queries.select("query_id", "overlap", "entered", "left").rows()
    [('q1', 0.666..., 1, 1), ('q2', 1.0, 0, 0)]
    >>> found.documents.filter(kind="entered").select("doc_id", "rank").rows()
    [('d', 3)]
    """
    require_level(level)
    if not (is_whole(k) and k >= 1):
        msg = f"k must be a whole number of at least 1, not {k!r}"
        raise ValueError(msg)
    if not 0.0 < p < 1.0:
        msg = f"p must lie between 0 and 1, such as 0.9, not {p!r}"
        raise ValueError(msg)
    for name, value, choices in (
        ("pairs", pairs, get_args(PairedQueries)),
        ("ties", ties, (None, *get_args(OrderOfTies))),
    ):
        if value not in choices:
            known = ", ".join(str(choice) for choice in choices)
            msg = f"{name} must be one of {known}, not {value!r}"
            raise ValueError(msg)
    before, qrels = reread(before, "before"), reread(qrels, "the judgments")
    queries, segments = reread(queries, "queries"), reread(segments, "segments")
    runs, column = stacked(after, system)
    about = [*names_of(by), weight, cluster]
    names = Names.of(query, doc, about, [*TAKEN], system=column)
    require_about(names, names_of(by), before, runs, segments, queries)
    segments = _described(names, queries) if segments is None else segments
    study = _Study(
        names=names,
        k=k,
        p=p,
        pairs=pairs,
        tie=tie if ties == "distance" else None,
        judged=qrels is not None,
        best=options.get("on_duplicate") == "best",
    )
    given: dict[str, Any] = {**options, "convention": convention, "segments": segments}
    given["ties"] = None if ties == "distance" else ties
    if given["ties"] is None and convention_of(convention).ties in BY_LABEL:
        given["ties"] = "order"  # no label is better than another
    label = given.pop("label", "label")

    is_lazy = isinstance(before, pl.LazyFrame)
    at_once = not is_lazy and memory_limit is None

    def plan(frames: Mapping[str, Any], part: bool) -> pl.LazyFrame:
        runs = frames["before"], frames["after"]
        both = _both(study, *runs, given, part=part, at_once=at_once)
        asked = frames["queries"]
        if asked is not None:
            wanted = as_polars(asked, name="queries", kind="qrels").lazy()
            both = both.join(
                wanted.select(names.query).unique(), on=names.query, how="semi"
            )
        return _labeled(study, both, frames["qrels"], label)

    frames = {"before": before, "after": runs, "qrels": qrels, "queries": queries}
    sides = {
        "before": partial(_ranked, study, before, given),
        "after": partial(_ranked, study, runs, given, column),
    }
    limits = memory_limit, temp_dir, progress
    with side_named(sides):
        documents = in_buckets(plan, frames, names.query, *limits)
        rows, engine = held(documents, names, before)
        found = _queries(study, rows, queries).collect(engine=engine)
    if found.is_empty():
        msg = "there is no query to compare: both runs are empty"
        raise ValueError(msg)
    measures = [m for m in MEASURES if m in found.columns]
    systems = [] if column is None else [column]
    summary, parts = averages(
        found,
        measures,
        query=names.keys,
        by=[*systems, *names_of(by)],
        weight=weight,
        cluster=cluster,
        level=level,
        whole=len(systems),
        shares=SHARES,
    )
    shown = rows.select(study.shown)
    if is_lazy:  # else they are in order
        shown = shown.sort(*names.keys, "rank", "baseline_rank", nulls_last=True)
    return Changes(
        summary=summary,
        segments=parts if names_of(by) else None,
        queries=found,
        documents=shown if is_lazy else shown.collect(),
        settings={"k": k, "p": p, "level": level, "ties": ties, "pairs": pairs},
    )


@dataclass(frozen=True, kw_only=True)
class _Study:
    """What the stages share; ``tie`` is given where distances count.

    ``best`` says whether the best label of duplicate judgments is taken.
    """

    names: Names
    k: int
    p: float
    pairs: PairedQueries
    tie: float | None
    judged: bool
    best: bool

    @property
    def shown(self) -> list[str]:
        """Name the columns of documents."""
        names = self.names
        label = ["label"] if self.judged else []
        return [
            *names.keys,
            *names.about,
            names.doc,
            "baseline_rank",
            "rank",
            "kind",
            *label,
        ]


SCORE = "score of the document"
ALL = pl.lit(1).alias("label of all documents")


def _described(names: Names, queries: Any) -> pl.LazyFrame | None:
    """Return what the queries that are asked for have about themselves, if anything."""
    if queries is None:
        return None
    frame = as_polars(queries, name="queries", kind="qrels").lazy()
    about = [name for name in names.about if name in frame.collect_schema()]
    return frame.select(*names.query, *about).unique() if about else None


def _both(
    study: _Study,
    before: Any,
    after: Any,
    given: Mapping[str, Any],
    *,
    part: bool,
    at_once: bool,
) -> pl.LazyFrame:
    """Return the documents that either run has among its first k, at both ranks."""
    names, own = study.names, study.names.system
    columns = [*names.query, *names.about, names.doc]
    first = _first_of_both(study, before, after, given)
    old = _ranked(study, before, given, first=first[0], part=part)
    new = _ranked(study, after, given, own, first=first[1], part=part)
    if at_once:
        old, new = (side.collect(engine="streaming").lazy() for side in (old, new))
    old = old.select(*columns, baseline_rank="rank", baseline_score=SCORE)
    if own is not None:
        old = old.join(_systems(after, own), how="cross")
    new = new.select(*names.keys, *names.about, names.doc, "rank", SCORE)
    if study.pairs == "common":
        old, new = (
            side.join(other.select(names.keys).unique(), on=names.keys, how="semi")
            for side, other in ((old, new), (new, old))
        )
    both = side_by_side(old, new, names).with_columns(kind=kind(study.k))
    return both.filter(pl.col("kind").is_not_null())


def _first_of_both(
    study: _Study, before: Any, after: Any, given: Mapping[str, Any]
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return the first documents of both runs, as judgments of either: all relevant.

    So only these are ranked among all.
    """
    names, own = study.names, study.names.system
    asked = {**given, "label": ALL}
    known = [
        request_of_run("changes", frame, "hits", None, names, asked, system=system)
        for frame, system in ((before, None), (after, own))
    ]
    columns = [*names.query, names.doc], [*names.keys, names.doc]
    old, new = (
        first_documents(run, study.k, named)
        for run, named in zip(known, columns, strict=True)
    )
    on = {name: name for name in (*names.query, names.doc)}
    old, new = align_ids(old, new, on, where=("before", "after"))
    if own is None:
        both = once(pl.concat([old, new]).unique())
        return both, both
    old, new = once(old), once(new)
    of_old = pl.concat([old, new.drop(own)]).unique()
    everywhere = old.join(_systems(after, own), how="cross")
    return of_old, pl.concat([everywhere.select(*names.keys, names.doc), new]).unique()


def _systems(after: Any, system: str) -> pl.LazyFrame:
    return as_polars(after, name="after").lazy().select(system).unique()


def _ranked(
    study: _Study,
    frame: Any,
    given: Mapping[str, Any],
    system: str | None = None,
    *,
    first: pl.LazyFrame | None = None,
    part: bool = False,
) -> pl.LazyFrame:
    """Return the ``first`` documents with their ranks in a run; None: all of them.

    They have scores where these count.
    """
    # What a document adds to the sum of scores is its score.
    scores = {"scores": lambda r: r.sum(r.relevant() * r.score)}
    measure: Any = "hits" if study.tie is None else scores
    asked = {**given, "label": ALL}
    if first is not None:
        asked = {**given, "unjudged": "nonrelevant", "missing": "skip", "rel": 1}
        first = first.with_columns(label=pl.lit(1))
    found = None if first is None else no_documents(study.names)
    rows = documents_of_run(
        *("changes", frame, measure, first, study.names, asked),
        system=system,
        part=part,
        beside=found,
        apart=first is not None,
    )
    return rows.filter(pl.col("rank").is_not_null()).rename({"contribution": SCORE})


def _labeled(
    study: _Study, documents: pl.LazyFrame, qrels: FrameLike | None, label: Any
) -> pl.LazyFrame:
    """Add the label of the documents."""
    if qrels is None:
        return documents
    names = study.names
    documents, labels = with_labels(documents, qrels, names, label, best=study.best)
    return documents.join(labels, on=[*names.query, names.doc], how="left")


def _queries(
    study: _Study, documents: pl.LazyFrame, asked: FrameLike | None
) -> pl.LazyFrame:
    """Return a row per query with what changed, unless a run lacks a query."""
    names, k, p = study.names, study.k, study.p
    old, new = pl.col("baseline_rank"), pl.col("rank")
    was, now = listed(old, k), listed(new, k)
    common = was & now
    # X_d / d is summed over the common documents: each counts from its lower rank on.
    steps = [0.0]
    for d in range(1, k + 1):
        steps.append(steps[-1] + p ** (d - 1) / d)
    lower = pl.max_horizontal(old, new)
    above = pl.when(common).then(_looked_up(lower - 1, steps)).otherwise(0.0)
    e_old, e_new = (
        pl.when(inside)
        .then(1.0 / (rank.cast(pl.Float64) + 1.0).log(2.0))
        .otherwise(0.0)
        for inside, rank in ((was, old), (now, new))
    )
    entered = now & ~was
    sums: dict[str, pl.Expr] = {
        "a": was.sum(),
        "b": now.sum(),
        "x": common.sum(),
        "above": above.sum(),
        "moved": (e_new - e_old).abs().sum(),
        "top": (common & (old == 1) & (new == 1)).sum(),
        "steps": pl.when(common).then((new.cast(pl.Int64) - old).abs()).sum(),
    }
    if study.judged:
        sums["unjudged"] = (entered & pl.col("label").is_null()).sum()
    if study.tie is not None:
        kth = pl.col("baseline_score").filter(was).min()
        sums["near"] = (now & (pl.col(SCORE) >= kth - study.tie)).sum()
    found = documents.group_by(names.keys).agg(
        *(pl.col(n).drop_nulls().first() for n in names.about), **sums
    )
    if asked is not None:
        found = _asked(names, found, asked, [*sums])
    rules = {}
    if study.pairs == "same":
        found = found.with_columns(
            lacks=((pl.col("a") == 0) != (pl.col("b") == 0)).cast(pl.UInt32)
        )
        rules["lacks"] = Rule(
            "missing_query",
            "queries have documents in one run only; leave them out with "
            'pairs="common", or count them as empty lists with pairs="all"',
        )
    example = names.keys[0] if len(names.keys) == 1 else pl.struct(names.keys)
    found = enforce(found, rules, example=example, check="strict", exact_counts=False)
    return found.select(*names.keys, *names.about, **_measures(study, steps)).sort(
        names.keys
    )


def _asked(
    names: Names, found: pl.LazyFrame, asked: FrameLike, sums: Sequence[str]
) -> pl.LazyFrame:
    """Add the queries that neither run has."""
    wanted = as_polars(asked, name="queries", kind="qrels").lazy()
    wanted = wanted.select(names.query).unique()
    if names.system is not None:
        wanted = wanted.join(found.select(names.system).unique(), how="cross")
    return wanted.join(found, on=names.keys, how="left").with_columns(
        pl.col(sums).fill_null(0)
    )


def _measures(study: _Study, steps: Sequence[float]) -> dict[str, pl.Expr]:
    """Return the measures of a query in terms of its sums."""
    a, b, x = (pl.col(name).cast(pl.Float64) for name in ("a", "b", "x"))
    longer = pl.max_horizontal("a", "b")
    n, known = longer.cast(pl.Float64), longer > 0
    places = [0.0]
    for rank in range(1, study.k + 1):
        places.append(places[-1] + 1.0 / log2(rank + 1))
    half = (_looked_up(pl.col("a"), places) + _looked_up(pl.col("b"), places)) / 2.0
    agreed = x * _looked_up(longer, steps) - pl.col("above")
    near = pl.col("near" if study.tie is not None else "x").cast(pl.Float64)
    found: dict[str, pl.Expr] = {
        "overlap": ratio(near, n),
        "jaccard": ratio(x, a + b - x),
        "rbo": pl.when(known).then((1.0 - study.p) / (1.0 - study.p**n) * agreed),
        "churn": ratio(pl.col("moved") / 2.0, half),
        "same_top": pl.when(known).then((pl.col("top") > 0).cast(pl.Float64)),
        "entered": (pl.col("b") - pl.col("x")).cast(pl.UInt32),
        "left": (pl.col("a") - pl.col("x")).cast(pl.UInt32),
        "moves": ratio(pl.col("steps").cast(pl.Float64), x),
    }
    if study.judged:
        found["new_unjudged"] = pl.col("unjudged").cast(pl.UInt32)
    return found


def _looked_up(place: pl.Expr, values: Sequence[float]) -> pl.Expr:
    """Return the value at a place, counted from 0."""
    places = range(len(values))
    return place.cast(pl.UInt32).replace_strict(
        [*places], [*values], default=None, return_dtype=pl.Float64
    )
