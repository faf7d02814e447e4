"""The results of an analysis: frames, and tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.core.parameters import is_whole
from polars_rank.report.table import Cell, Shown, Table, number

NUMBERS = {"mean", "se", "lower", "upper", "difference", "share", "baseline_share"}
NUMBERS |= {"baseline_mean", "within", "mix", "contribution"}
NOTHING = 1e-12
MOST = 20  # rows of segments in a table
MOVES = {  # of a document, by its kind
    "entered": "gained {document} in {top}",
    "left": "lost {document} from {top}",
    "up": "rank {document} higher",
    "down": "rank {document} lower",
    "same": "keep {document} at its rank",
    "query": "are in one run only, with {document}",
    "other": "have {document} below {top}",
}


@dataclass(frozen=True, eq=False, repr=False)
class Changes(Shown):
    """What changed between two runs: frames, and a table.

    Attributes
    ----------
    summary
        Per measure (and system, where there are several): ``queries`` that have a
        value, its ``mean`` with the standard error ``se``, and ``lower`` and ``upper``
        of its interval. The measures are ``overlap``, ``jaccard``, ``rbo``, ``churn``,
        ``same_top``, ``entered``, ``left``, ``moves`` and, with judgments,
        ``new_unjudged``.
    segments
        The same for each segment, with ``by``; else None.
    queries
        A row per query, sorted, with a column for each measure.
    documents
        A row per document that either run has among its first k, by query and rank:
        ``baseline_rank`` and ``rank``, beyond k too (null: not retrieved); its
        ``kind``, ``"entered"``, ``"left"``, ``"up"``, ``"down"`` or ``"same"``; and,
        with judgments, its ``label``.
    settings
        The arguments.
    """

    summary: pl.DataFrame
    segments: pl.DataFrame | None
    queries: pl.DataFrame
    documents: AnyFrame
    settings: dict[str, Any]

    def tables(self) -> list[Table]:
        """Return the table of all queries, and that of segments."""
        k, level = self.settings["k"], self.settings["level"]
        title = f"Changes of the first {k}, with {100 * level:.4g}% intervals"
        found = [as_table(title, self.summary)]
        if self.segments is not None:
            found.append(as_table(f"{title}, by segment", self.segments))
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Shown):
    """Why a mean moved: frames with the parts of the difference, and tables.

    Attributes
    ----------
    summary
        A row per ``part`` and ``item``: the ``difference`` that it adds, its ``share``
        of the whole, and its standard error ``se`` with ``lower`` and ``upper``, where
        the runs are paired. Within each part the items sum to the whole:
        ``"difference"``, the whole itself; ``"effect"`` of ``rank``, ``label`` (where
        judgments changed) and ``mix`` (where queries or weights did); ``"kind"`` of the
        documents, ``entered``, ``left``, ``up``, ``down``, ``same`` and ``query``;
        their ``"label"``, ``relevant``, ``not relevant`` and ``unjudged``, but
        ``query`` where a query has a value in one run only; and ``"segments"``,
        ``within`` and ``mix``.
    segments
        With ``by``: per segment ``queries``, ``baseline_mean``, ``mean`` and their
        ``difference`` with its interval; ``baseline_share`` and ``share`` of the
        weights; what the segment adds ``within`` and by the ``mix``, and the sum of
        both, its ``contribution``.
    queries
        A row per query that has a value: ``baseline_value``, ``value``, ``difference``,
        and its ``contribution``, whose mean is the difference of the means; with
        ``qrels_before``, ``rank_effect`` and ``label_effect``.
    documents
        A row per document that adds to the difference, or that either run has within
        the cutoff and ``max_documents``, by query and rank: ``baseline_rank``,
        ``rank``, ``kind``, ``label`` (and ``baseline_label``), ``contribution``, and
        the same effects. Of a query with a value in one run only, those of that run.
    settings
        The arguments.
    """

    summary: pl.DataFrame
    segments: pl.DataFrame | None
    queries: pl.DataFrame
    documents: AnyFrame
    settings: dict[str, Any]

    def largest(self, n_parts: int = 5) -> pl.DataFrame:
        """Return the largest parts: segments, and documents by what became of them.

        One row per part, the largest first: ``item`` in words, how many ``queries`` it
        has, the ``difference`` that it adds and its ``share`` in the whole. Segments
        sum to the difference, and so do documents: two views of it. With several
        columns in ``by``, those of each alone and those of all sum to it.

        Raises
        ------
        ValueError
            If ``n_parts`` is no whole number of at least 1.
        """
        if not is_whole(n_parts) or n_parts < 1:
            msg = f"n_parts must be a whole number of at least 1, not {n_parts!r}"
            raise ValueError(msg)
        names = self.queries.columns[: self.queries.columns.index("baseline_value")]
        names = [n for n in names if n in self.documents.collect_schema()]
        moves = (
            self.documents.lazy()
            .filter(pl.col("contribution").abs() > 0)
            .group_by("kind", "label")
            .agg(
                queries=pl.struct(names).n_unique().cast(pl.UInt32),
                difference=pl.col("contribution").sum() / len(self.queries),
            )
            .collect(engine="streaming")
        )
        k = self.settings["k"]
        top = "the list" if k is None else f"the first {k}"
        told = [
            MOVES.get(kind, MOVES["other"]).format(
                document="an unjudged document"
                if label is None
                else f"a document of grade {label:g}",
                top=top,
            )
            for kind, label in moves.select("kind", "label").iter_rows()
        ]
        found = moves.select(
            pl.Series("item", told, dtype=pl.String), "queries", "difference"
        )
        found = pl.concat([*self._by_segments(), found])
        total = self.summary["difference"].item(0)
        known = found.filter(pl.col("difference").abs() > NOTHING)
        # Parts of one size, up and down, can differ in the last digits alone.
        size = pl.col("difference").abs().round_sig_figs(9)
        shares = known.with_columns(share=pl.col("difference") / (total or None))
        return shares.sort(-size, "item").head(n_parts)

    def _by_segments(self) -> list[pl.DataFrame]:
        """Return what segments add; of several columns, each alone adds up, too."""
        if self.segments is None:
            return []
        by = self.segments.columns[: self.segments.columns.index("queries")]
        alone = [[name] for name in by] if len(by) > 1 else []
        return [
            self.segments.group_by(names, maintain_order=True)
            .agg(pl.col("queries", "contribution").sum())
            .select(
                pl.format(
                    ", ".join(f"{name} = {{}}" for name in names),
                    *(pl.col(n).cast(pl.String).fill_null("-") for n in names),
                ).alias("item"),
                pl.col("queries").cast(pl.UInt32),
                difference="contribution",
            )
            for names in [*alone, by]
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the tables do not show at once, such as Simpson's paradox."""
        found = []
        items = {(part, item): d for part, item, d in self._items()}
        total = items["difference", "difference"]
        within = items.get(("segments", "within"), total)
        if total * within < 0 and min(abs(total), abs(within)) > NOTHING:
            found.append(
                "Simpson's paradox: within segments the mean moved by "
                f"{within:+.4f}, in all by {total:+.4f}, since their mix changed."
            )
        if self.summary["se"].item(0) is None and len(self.queries) > 1:
            found.append("Queries or weights changed: without pairs, no intervals.")
        return tuple(found)

    def _items(self) -> list[tuple[str, str, float]]:
        return self.summary.select("part", "item", "difference").rows()

    def tables(self) -> list[Table]:
        """Return the table of parts, and that of segments."""
        name, level = self.settings["measure"], self.settings["level"]
        old, new = (number(self.settings[n]) for n in ("baseline_mean", "mean"))
        title = f"Why {name} moved from {old} to {new}"
        title += f", with {100 * level:.4g}% intervals"
        found = [as_table(title, self.summary, self.notes)]
        if self.segments is not None:
            found.append(as_table(f"{name} by segment", self.segments))
        if isinstance(self.documents, pl.DataFrame):  # a plan is not run to be shown
            found.append(as_table("The largest parts", self.largest()))
        return found


@dataclass(frozen=True, eq=False, repr=False)
class SeveralReasons(Shown):
    """Why the means of several runs differ from one: a :class:`Reasons` for each.

    Attributes
    ----------
    of
        The reasons by the name of the run.
    system
        The name of the column of runs, which is the first of the frames.
    """

    of: dict[str, Reasons]
    system: str

    @property
    def summary(self) -> pl.DataFrame:
        """The parts of all differences."""
        return self._together({n: why.summary for n, why in self.of.items()})

    @property
    def segments(self) -> pl.DataFrame | None:
        """The segments of all differences; None: there are none."""
        known = {n: why.segments for n, why in self.of.items()}
        frames = {n: frame for n, frame in known.items() if frame is not None}
        return self._together(frames) if frames else None

    @property
    def queries(self) -> pl.DataFrame:
        """The queries of all differences."""
        return self._together({n: why.queries for n, why in self.of.items()})

    @property
    def documents(self) -> AnyFrame:
        """The documents of all differences."""
        frames = {n: why.documents.lazy() for n, why in self.of.items()}
        every = pl.concat(frame.select(self._named(n)) for n, frame in frames.items())
        held = all(isinstance(w.documents, pl.DataFrame) for w in self.of.values())
        return every.collect() if held else every

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments; ``mean`` has the mean of each run."""
        known = {name: why.settings for name, why in self.of.items()}
        means = {name: settings["mean"] for name, settings in known.items()}
        return {**next(iter(known.values())), "mean": means}

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the tables do not show at once, with the name of the run."""
        return tuple(f"{n}: {note}" for n, why in self.of.items() for note in why.notes)

    def largest(self, n_parts: int = 5) -> pl.DataFrame:
        """Return the largest parts of each difference, as :meth:`Reasons.largest`."""
        return self._together({n: w.largest(n_parts) for n, w in self.of.items()})

    def tables(self) -> list[Table]:
        """Return the tables of each difference."""
        return [
            replace(table, title=f"{name}: {table.title}")
            for name, found in self.of.items()
            for table in found.tables()
        ]

    def _named(self, name: str) -> list[pl.Expr]:
        return [pl.lit(name).alias(self.system), pl.all()]

    def _together(self, frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(frame.select(self._named(n)) for n, frame in frames.items())


def as_table(title: str, frame: pl.DataFrame, notes: Sequence[str] = ()) -> Table:
    """Return a frame as a table: text and counts, then numbers with four decimals."""
    notes = [*notes]
    if len(frame) > MOST:
        notes.append(f"The first {MOST} of {len(frame)} rows.")
    rows = [
        [
            Cell(number(value) if name in NUMBERS else _text(value))
            for name, value in row.items()
        ]
        for row in frame.head(MOST).iter_rows(named=True)
    ]
    labels = 0
    while labels < len(frame.columns) and frame.dtypes[labels] == pl.String:
        labels += 1
    return Table(title, frame.columns, rows, labels, notes)


def _text(value: object) -> str:
    return "-" if value is None else str(value)
