"""Why a mean moved: the exact parts of a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import polars as pl

from polars_rank._engine.options import RankingChoices
from polars_rank._engine.request import Beside
from polars_rank._engine.spill.progress import Listener
from polars_rank._statistics.intervals import require_level
from polars_rank.analysis.contribution_rows import VALUE
from polars_rank.analysis.mixture import (
    effects,
    segments_of,
    summary_of,
    weighted_queries,
    with_mixture,
)
from polars_rank.analysis.results import Reasons, SeveralReasons
from polars_rank.analysis.sides import (
    KINDS,
    Names,
    documents_of_run,
    first_of_runs,
    held,
    in_buckets,
    kind,
    listed,
    no_documents,
    request_of_run,
    require_about,
    reread,
    side_by_side,
    side_named,
)
from polars_rank.comparison.input.procedures import names_of
from polars_rank.conventions.tools import (
    DEFAULT,
    ConventionLike,
    complete_arguments,
    convention_of,
)
from polars_rank.core.parameters import is_whole
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Measure, MeasureLike, parse_measures
from polars_rank.uncertainty.bounds.several_runs import Runs, apart

LABELS = ("relevant", "not relevant", "unjudged")
TAKEN = {
    *("baseline_rank", "rank", "kind", "baseline_label", "label", "contribution"),
    *("rank_effect", "label_effect", "baseline_value", "value", "difference", "mean"),
    *("queries", "baseline_mean", "se", "lower", "upper", "baseline_share", "share"),
    *("within", "mix", "part", "item"),
}


def reasons(
    before: FrameLike,
    after: Runs,
    measure: MeasureLike,
    *,
    qrels: FrameLike | None = None,
    qrels_before: FrameLike | None = None,
    query: str | Sequence[str] = "query_id",
    doc: str = "doc_id",
    queries: FrameLike | None = None,
    segments: FrameLike | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    weight_before: str | None = None,
    cluster: str | None = None,
    system: str | None = None,
    max_documents: int | None = 20,
    level: float = 0.95,
    convention: ConventionLike = DEFAULT,
    memory_limit: int | str | None = None,
    temp_dir: str | Path | None = None,
    progress: Listener | None = None,
    **options: Unpack[RankingChoices],
) -> Reasons | SeveralReasons:
    """Take the difference of two means apart, into parts that sum to it exactly.

    Parameters
    ----------
    before, after
        The runs, or logs with their own labels. ``after`` may be several, in a mapping
        of names to runs, or in one frame with a column ``system``: each is compared
        with ``before``.
    measure
        A measure that is a sum over documents: see :func:`contributions`.
    qrels
        The judgments.
    qrels_before
        The judgments of ``before``, if they have changed since.
    query, doc
        Names of the columns, of the judgments, too.
    queries
        The queries to evaluate, as in :func:`per_query`.
    segments
        Attributes of queries, one row per query, for ``by``, ``weight``,
        ``weight_before`` and ``cluster``, unless a run or the judgments have them.
    by, weight, cluster, level
        As in :func:`compare`.
    weight_before
        Column with the weight that a query had before; default: ``weight``. A query of
        weight 0 counts nothing.
    system
        Column of ``after`` that tells several runs apart; that of a mapping is called
        ``"system"``.
    max_documents
        Lowest rank, in either run, to which documents that add nothing are shown, too:
        those among the first k alone, if the measure has a cutoff k. None: all of these
        are shown, which of long lists takes several times as long; 0: none.
    convention, memory_limit, temp_dir, progress
        As in :func:`per_query`. With a limit, rows go through buckets on disk.
    **options
        Further arguments of :func:`per_query`: ``score``, ``rank``, ``descending``,
        ``label``, ``ties``, ``missing``, ``no_relevant``, ``unjudged``, ``rel``,
        ``check``, ``on_duplicate``, ``layout``, ``max_rank``.

    Returns
    -------
    A :class:`Reasons`: prints tables; ``.summary``, ``.segments``, ``.queries`` and
    ``.documents`` are frames. Of a LazyFrame ``before``, ``.documents`` is a LazyFrame.
    Of several runs, a :class:`SeveralReasons` with the same frames, whose first column
    tells the runs apart.

    Raises
    ------
    ValueError, TypeError
        For wrong arguments, and for a measure that is not a sum over documents.
    DataError
        For rows that break a rule.

    Notes
    -----
    A document adds ``contribution`` after less before, times the number of queries and
    the weight of its query by all weights. So the sum of ``contribution``, divided by
    the number of queries, is the difference of the means, that of :func:`compare` where
    all queries have a value in both runs, or in neither. Intervals are those of a
    comparison: the parts are means over queries, 0 where a query has no such part. They
    are null where queries or weights changed, and the runs are not paired.

    ``kind`` is that of the move within the cutoff of the measure; "query" are the
    documents of queries that have a value in one run only. The label is that of today,
    or else that of before.

    Where judgments changed, the effects of ranks and of labels are the means over both
    orders of the two changes (Shapley, 1953): ``rank = 1/2 {[v(after, old) - v(before,
    old)] + [v(after, new) - v(before, new)]}``, and likewise for labels. Where queries
    or weights changed, the rest is the effect of the mix of queries.

    With ``by``, a segment of share w and mean m adds (Kitagawa, 1955) ``within = (w +
    w') / 2 (m' - m)`` and ``mix = ((m + m') / 2 - M) (w' - w)``, where M is the mean of
    both means of all queries: more queries of a segment add to the mean if theirs is
    above it. A segment that is there once is all mix. If the sum within segments has
    another sign than the difference, that is Simpson's paradox, and a note says so.

    Source: Kitagawa, JASA 1955; Shapley, 1953; Simpson, JRSS B 1951.

    Examples
    --------
    >>> from polars_rank import analysis
    >>> before = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"d": 2, "e": 1}}
    >>> after = {"q1": {"b": 3, "a": 2, "c": 1}, "q2": {"e": 2, "x": 1}}
    >>> qrels = {"q1": {"a": 1}, "q2": {"d": 1, "e": 1}}
    >>> found = analysis.reasons(before, after, "precision@2", qrels=qrels)
    >>> found.documents.filter(contribution=-0.5).select("doc_id", "kind").rows()
    [('d', 'left')]
    >>> found.summary.filter(part="kind", item="left")["difference"].item()
    -0.25
    """
    require_level(level)
    depth = 0 if max_documents is None else max_documents
    if not is_whole(depth) or depth < 0:
        msg = f"max_documents must be a whole number, or None, not {max_documents!r}"
        raise ValueError(msg)
    parsed, *others = parse_measures(measure)
    if others:
        msg = f"reasons are of one measure, such as 'ndcg@10', not of {measure!r}"
        raise ValueError(msg)
    if isinstance(parsed, Measure) and parsed.definition.aggregate == "sum":
        msg = f"{parsed.name} is a count that is summed over queries, not a mean"
        raise ValueError(msg)
    if qrels_before is not None and qrels is None:
        msg = "qrels_before= are the judgments before the change: give qrels= too"
        raise ValueError(msg)
    runs, column = apart(after, system)
    taken = [*TAKEN, *([] if column is None else [column])]
    names = Names.of(query, doc, [*names_of(by), weight, weight_before, cluster], taken)
    before = reread(before, "before")
    runs = {name: reread(run, "after") for name, run in runs.items()}
    qrels = reread(qrels, "the judgments")
    qrels_before = reread(qrels_before, "the judgments before")
    queries, segments = reread(queries, "queries"), reread(segments, "segments")
    for run in runs.values():
        require_about(names, names_of(by), before, run, segments, queries, qrels)
    given: dict[str, Any] = {**options, "convention": convention}
    given |= {"segments": segments, "queries": queries}
    rel = _lowest_relevant(parsed, convention, options.get("rel"))
    relabeled = qrels_before is not None
    study = _Study(
        *(measure, parsed.name, names, _cutoff(parsed), max_documents, rel, relabeled),
        given,
    )

    roles: dict[str, Any] = {"weight": weight, "cluster": cluster, "level": level}
    roles |= {"query": names.query, "by": names_of(by)}
    frames = {"before": before, "qrels": qrels, "qrels_before": qrels_before}
    limits = (memory_limit, temp_dir, progress)
    found = {
        name: _explained(study, frames | {"after": run}, roles, weight_before, limits)
        for name, run in runs.items()
    }
    return found[""] if column is None else SeveralReasons(found, column)


def _explained(
    study: _Study,
    frames: Mapping[str, Any],
    roles: Mapping[str, Any],
    weight_before: str | None,
    limits: tuple[Any, Any, Any],
) -> Reasons:
    """Take the difference of two runs apart."""
    names, before, weight = study.names, frames["before"], roles["weight"]

    is_lazy = isinstance(before, pl.LazyFrame)
    at_once = not is_lazy and limits[0] is None

    def plan(frames: Mapping[str, Any], part: bool) -> pl.LazyFrame:
        return study.documents(frames, part=part, at_once=at_once)

    own = {side.run: partial(study.side, side, frames) for side in study.sides[:2]}
    with side_named(own):
        documents = in_buckets(plan, frames, names.query, *limits)
        rows, engine = held(documents, names, before)
        found = study.queries(rows).collect(engine=engine)
    if found.is_empty():
        msg = f"no query has a value of {study.name} in either run"
        raise ValueError(msg)
    found, paired = weighted_queries(found, weight, weight_before, study.parts)
    summary = summary_of(found, study.items(paired), paired, roles)
    parts = segments_of(found, paired, roles) if roles["by"] else None
    shown = study.shown(rows, found, in_order=not is_lazy)
    means = {
        name: (found[f"scale{side}"] * found[f"v{side}"]).fill_null(0.0).mean()
        for name, side in (("baseline_mean", "00"), ("mean", "11"))
    }
    return Reasons(
        summary=summary if parts is None else with_mixture(summary, parts),
        segments=parts,
        queries=found.select(study.of_queries),
        documents=shown if is_lazy else shown.collect(),
        settings={
            "measure": study.name,
            "k": study.k,
            "max_documents": study.max_documents,
            "level": roles["level"],
            **means,
        },
    )


class _Side(NamedTuple):
    """A run under some judgments: 0 is before and 1 after, of the run and of them."""

    name: str
    run: str
    judgments: str


@dataclass(frozen=True)
class _Study:
    """What is asked, and how documents become queries.

    ``k`` is the cutoff of the measure; ``rel`` the lowest relevant grade, or None for
    any above 0; ``relabeled`` says whether judgments changed.
    """

    measure: MeasureLike
    name: str
    names: Names
    k: int | None
    max_documents: int | None
    rel: float | None
    relabeled: bool
    given: Mapping[str, Any]

    @property
    def depth(self) -> int | None:
        """The lowest rank that is shown of a document that adds nothing."""
        ranks = (self.k, self.max_documents)
        return min((rank for rank in ranks if rank is not None), default=None)

    @property
    def sides(self) -> list[_Side]:
        """Each run under its own judgments; if they changed, under the others, too."""
        old = "qrels_before" if self.relabeled else "qrels"
        found = [_Side("00", "before", old), _Side("11", "after", "qrels")]
        if self.relabeled:
            found += [_Side("01", "before", "qrels"), _Side("10", "after", old)]
        return found

    @property
    def parts(self) -> dict[str, pl.Expr]:
        """The documents of each part of a query's difference."""
        kinds = {f"kind {name}": pl.col("kind") == name for name in KINDS}
        other = {"kind other": pl.col("kind").is_null()}
        labels = {f"label {name}": pl.col("of_label") == name for name in LABELS}
        return kinds | other | labels

    def items(self, paired: bool) -> dict[str, tuple[str, str]]:
        """The part and item of each column of queries that the summary averages."""
        found = {"contribution": ("difference", "difference")}
        found["rank_effect"] = ("effect", "rank")
        if self.relabeled:
            found["label_effect"] = ("effect", "label")
        whole = [] if paired else ["query"]
        if not paired:
            found["mix_effect"] = ("effect", "mix")
        for part, items in (("kind", (*KINDS, "other")), ("label", LABELS)):
            found |= {f"{part} {item}": (part, item) for item in [*items, *whole]}
        return found

    @property
    def of_queries(self) -> list[str]:
        """Name the columns of queries."""
        effects = ["rank_effect", "label_effect"] if self.relabeled else []
        values = ["baseline_value", "value", "difference", "contribution"]
        return [*self.names.query, *self.names.about, *values, *effects]

    def side(
        self,
        side: _Side,
        frames: Mapping[str, Any],
        *,
        part: bool = False,
        beside: Beside | None = None,
    ) -> pl.LazyFrame:
        """Return the documents of a run, and what they add under the judgments.

        Ranks and labels are those of each run under its own judgments.
        """
        rows = documents_of_run(
            "reasons",
            frames[side.run],
            self.measure,
            frames[side.judgments],
            self.names,
            self.given,
            part=part,
            beside=beside,
            apart=True,
        )
        rows = rows.rename({"contribution": f"c{side.name}", VALUE: f"v{side.name}"})
        if side.name == "00":
            return rows.rename({"rank": "baseline_rank", "label": "baseline_label"})
        return rows if side.name == "11" else rows.drop("rank", "label")

    def documents(
        self, frames: Mapping[str, Any], *, part: bool, at_once: bool
    ) -> pl.LazyFrame:
        """Return both ranks of all documents, and what they add on every side.

        Where all is held in memory, sides are made ``at_once``, one by one: in one plan
        their threads would get in each other's way, a tenth of the time.
        """
        own = self.sides[:2]  # of the others only what documents add is read
        known, none = self.beside(frames), no_documents(self.names)
        sides = (
            self.side(side, frames, part=part, beside=known if side in own else none)
            for side in self.sides
        )
        if at_once:
            sides = (rows.collect(engine="streaming").lazy() for rows in sides)
        before, after, *others = sides
        near = None if isinstance(known, pl.LazyFrame) else self._near
        both = side_by_side(before, after, self.names, near)
        joined = reduce(partial(side_by_side, names=self.names), others, both)
        rows = joined.with_columns(kind=kind(self.k), of_label=self._of_label)
        return rows.filter(self._matters)

    def beside(self, frames: Mapping[str, Any]) -> Beside | None:
        """Return the documents to list though they add nothing; None: all of them.

        Those that are shown in neither run need no rank, unless judgments decide which
        documents are ranked.
        """
        if frames["qrels"] is None:
            return None
        if self.depth is None:
            return "all"
        runs = [
            request_of_run(
                "reasons", frames[run], self.measure, frames[judged], self.names,
                self.given,
            )
            for _, run, judged in self.sides[:2]
        ]  # fmt: skip
        if any(run.convention.unjudged == "drop" for run in runs):
            return "all"
        if not self.depth:
            return no_documents(self.names)
        return first_of_runs(runs, self.depth, self.names)

    @property
    def _near(self) -> tuple[pl.Expr, pl.Expr] | None:
        """Which documents of either run are shown, or add something."""
        if self.depth is None:
            return None
        of_query = pl.col(self.names.doc).is_null()
        ranks = {"00": "baseline_rank", "11": "rank"}
        before, after = (
            listed(pl.col(rank), self.depth) | (pl.col(f"c{side}") != 0) | of_query
            for side, rank in ranks.items()
        )
        return before, after

    @property
    def _of_label(self) -> pl.Expr:
        """Which of ``LABELS`` a document has: by the label of today, or of before."""
        label = pl.coalesce("label", "baseline_label")
        relevant = label > 0 if self.rel is None else label >= max(self.rel, 0.0)
        return (
            pl.when(label.is_null())
            .then(pl.lit("unjudged"))
            .when(relevant)
            .then(pl.lit("relevant"))
            .otherwise(pl.lit("not relevant"))
        )

    @property
    def _matters(self) -> pl.Expr:
        """Whether a row is to be shown, adds something, or has a query's values."""
        added = (
            (pl.col(f"c{side.name}") != 0).fill_null(value=False) for side in self.sides
        )
        ranks = (pl.col(name) for name in ("baseline_rank", "rank"))
        shown = (listed(rank, self.depth) for rank in ranks)
        return pl.any_horizontal(*shown, pl.col(self.names.doc).is_null(), *added)

    def queries(self, documents: pl.LazyFrame) -> pl.LazyFrame:
        """Return a row per query: its values, and the sums of the parts of each."""
        values = [f"v{side.name}" for side in self.sides]
        sums = {
            f"{part} {side}": pl.col(f"c{side}").filter(of_part).sum()
            for part, of_part in self.parts.items()
            for side in ("00", "11")
        }
        known = pl.any_horizontal(pl.col("v00", "v11").is_not_null())
        return (
            documents.group_by(self.names.query)
            .agg(
                *(pl.col(n).drop_nulls().first() for n in (*self.names.about, *values)),
                **sums,
            )
            .filter(known)
            .sort(self.names.query)
        )

    def shown(
        self, documents: pl.LazyFrame, queries: pl.DataFrame, *, in_order: bool
    ) -> pl.LazyFrame:
        """Return the documents that moved, or that add to the difference, in order."""
        names = self.names
        scales = queries.lazy().select(*names.query, "scale00", "scale11", "one_sided")
        rows = documents.join(
            scales, on=names.query, nulls_equal=True, maintain_order="left"
        )
        c = {s.name: pl.col(f"c{s.name}").fill_null(0.0) for s in self.sides}
        old, new = (pl.col(f"scale{side}") for side in ("00", "11"))
        parts = {"contribution": new * c["11"] - old * c["00"]}
        if self.relabeled:
            parts |= effects(c, (old + new) / 2.0, pl.col("one_sided"))
        of_query = pl.when("one_sided").then(pl.lit("query")).otherwise("kind")
        old_rank, new_rank = pl.col("baseline_rank"), pl.col("rank")
        within = listed(old_rank, self.depth) | listed(new_rank, self.depth)
        moved = pl.any_horizontal(pl.col(name) != 0 for name in parts)
        before = ["baseline_label"] if self.relabeled else []
        label = pl.coalesce("label", "baseline_label")
        label = pl.col("label") if self.relabeled else label
        order = [*names.query, "rank", "baseline_rank", names.doc]
        found = rows.with_columns(kind=of_query, label=label, **parts)
        found = found.filter(within | moved).select(
            *names.query,
            *names.about,
            names.doc,
            "baseline_rank",
            "rank",
            "kind",
            *before,
            "label",
            *parts,
        )
        return found if in_order else found.sort(order, nulls_last=True)


def _cutoff(measure: Any) -> int | None:
    """Return the cutoff of a measure of documents; None: it has none."""
    if not isinstance(measure, Measure):
        return None
    k = measure.arguments.get(measure.definition.cutoff)
    return k if isinstance(k, int) else None


def _lowest_relevant(
    measure: Any, convention: ConventionLike, rel: float | None
) -> float | None:
    """Return the lowest relevant grade; None: any above 0."""
    if not isinstance(measure, Measure):
        return rel
    chosen = convention_of(convention, rel=rel)
    arguments = complete_arguments(
        measure.definition, measure.arguments, convention=chosen
    )
    found = arguments.get(measure.definition.meanings.get("rel", ""))
    return float(found) if isinstance(found, int | float) else None
