"""The request: the arguments of an evaluation, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, Unpack, get_args

import polars as pl

from polars_rank._engine.checks.column_roles import (
    require_distinct_roles,
    require_no_other_ids,
)
from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.opening import (
    Opened,
    by_rank_without_scores,
    open_about_queries,
    open_frames,
)
from polars_rank._engine.options import (
    DOC,
    STATS,
    Layout,
    RequestOptions,
    Stat,
)
from polars_rank._engine.schema import (
    Column,
    Columns,
    columns_by_role,
    columns_of,
    names_of,
    require_columns_given,
)
from polars_rank._engine.spill.progress import Listener
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import convention_of
from polars_rank.core.exact.distribution import percent_of
from polars_rank.core.fork import warn_if_forked
from polars_rank.core.parameters import is_whole
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import (
    Custom,
    Measure,
    Measures,
    depth_of,
    is_of_catalog,
    is_of_lists,
    is_of_totals,
    needs_relevant_items,
    parse_measures,
    reads_labels,
)

AnyFrame: TypeAlias = pl.DataFrame | pl.LazyFrame
BY_GRADE = ("optimistic", "pessimistic")
Beside: TypeAlias = pl.LazyFrame | Literal["all"]
Grouping: TypeAlias = Literal["sort", "contiguous", "hash"]
Result: TypeAlias = Literal["values", "means", "both", "sums"]


class Resources(NamedTuple):
    """A memory limit in bytes, the folder for spill files, the progress callback."""

    memory: int
    temp_dir: str | Path | None
    progress: Listener | None

    @classmethod
    def of(
        cls,
        memory_limit: int | str | None,
        temp_dir: str | Path | None,
        progress: Listener | None,
    ) -> Resources | None:
        """Check the arguments; None without a limit."""
        if memory_limit is not None:
            from polars_rank._engine.spill.budget import parse_memory_limit

            return cls(parse_memory_limit(memory_limit), temp_dir, progress)
        for name, value in (("temp_dir", temp_dir), ("progress", progress)):
            if value is not None:
                msg = f"{name} is for bounded memory: give memory_limit too"
                raise ValueError(msg)
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """An evaluation: its frames, measures and options.

    Attributes
    ----------
    queries, segments
        The queries to evaluate; attributes of queries.
    history, items
        Past interactions of users with items; the catalog, with features of items.
    columns, qrels_columns
        The columns of the run (or log), and of the judgments.
    result
        Values per query, their means, both, or the sums that means are made of.
    by, weight, keep
        Segments and weights of the mean; columns to carry along with values per query.
    stats
        Statistics of the values of queries.
    missing_given, no_relevant_given, rel_given
        Whether the user has chosen the value of a missing query; of one with nothing
        relevant; the lowest relevant grade.
    small
        Whether all frames are in memory and small, so that streaming does not pay.
    part
        Whether the frames are a part of the data: then there is no warning about what
        may hold for a part only, such as missing queries.
    unclaimed
        Whether ``layout="contiguous"`` is a guess, not the user's claim: it is given up
        as soon as the first rows contradict it.
    contributions
        Whether the documents of a query come with its value, and what each adds to it.
    beside
        Documents to list in any order after those that can change the value, "all" or
        a frame under the internal names of the run, where judgments tell which can.
        None: all are listed by rank.
    """

    frame: pl.LazyFrame
    qrels: pl.LazyFrame | None
    queries: pl.LazyFrame | None
    segments: pl.LazyFrame | None
    history: pl.LazyFrame | None
    items: pl.LazyFrame | None
    columns: Columns
    qrels_columns: Columns
    measures: tuple[Measure | Custom, ...]
    result: Result
    by: tuple[Column, ...]
    weight: Column | None
    keep: tuple[Column, ...]
    stats: tuple[Stat, ...]
    convention: Convention
    missing_given: bool
    no_relevant_given: bool
    rel_given: bool
    check: Check
    layout: Layout
    resources: Resources | None
    max_rank: int | None
    small: bool
    part: bool = False
    unclaimed: bool = False
    contributions: bool = False
    beside: Beside | None = None

    @classmethod
    def of(
        cls,
        frame: FrameLike,
        measures: Measures,
        *,
        result: Result,
        **options: Unpack[RequestOptions],
    ) -> Request:
        """Check the arguments of ``evaluate``, or of ``per_query``.

        All options are there, except those that only one of the two takes. Only schemas
        are read.
        """
        warn_if_forked()
        _require_valid(options)
        by, keep = options.get("by"), options.get("keep")
        weight, qrels = options.get("weight"), options["qrels"]
        require_columns_given(("by", "keep"), by=by, keep=keep, weight=weight)
        parsed = parse_measures(measures)
        _require_vocabulary(parsed, subtopics=options["subtopic"] is not None)
        if result in ("values", "both"):
            _require_values_of_queries(parsed)
        columns, of_qrels = columns_by_role(
            query=options["query"],
            doc=options["doc"],
            score=options["score"],
            label=options["label"],
            rank=options["rank"],
            descending=options["descending"],
            qrels_query=options["qrels_query"],
            qrels_doc=options["qrels_doc"],
            subtopic=options["subtopic"],
        )
        about = {  # before the rows: these may be a stream of the same connection
            name: None if f is None else open_about_queries(f, name, columns.query)
            for name, f in (
                ("queries", options["queries"]),
                ("segments", options["segments"]),
            )
        }
        resources = (options["memory_limit"], options["temp_dir"], options["progress"])
        opened = open_frames(
            frame,
            qrels,
            (columns, of_qrels),
            stream=options["layout"] == "contiguous" or resources[0] is not None,
        )
        columns = by_rank_without_scores(columns, opened.run)
        columns = _without_labels(columns, opened, parsed)
        require_distinct_roles(columns, of_qrels, judged=opened.qrels is not None)
        roles = [*columns.query, *columns.names.values()]
        by, keep = columns_of(by), columns_of(keep)
        used = [*roles, *by, *keep, weight]
        doc = _known_doc(options["doc"], opened, used)
        convention = convention_of(
            options["convention"],
            ties=options["ties"],
            missing=options["missing"],
            no_relevant=options["no_relevant"],
            unjudged=options["unjudged"],
            rel=options["rel"],
            on_duplicate=options["on_duplicate"],
        )
        if doc is None and convention.on_duplicate != "error":
            msg = "doc must name the column of document ids: duplicates are found by it"
            raise ValueError(msg)
        _require_items(parsed, doc, convention)
        request = cls(
            frame=opened.run,
            qrels=opened.qrels,
            queries=about["queries"],
            segments=about["segments"],
            history=_about_items(options, "history"),
            items=_about_items(options, "items"),
            columns=columns._replace(names={**columns.names, "doc": doc}),
            qrels_columns=of_qrels,
            measures=tuple(parsed),
            result=result,
            by=by,
            weight=weight,
            keep=keep,
            stats=stats_of(options.get("stats", "mean")),
            convention=convention,
            missing_given=options["missing"] is not None,
            no_relevant_given=options["no_relevant"] is not None,
            rel_given=options["rel"] is not None,
            check=options["check"],
            layout=options["layout"],
            resources=Resources.of(*resources),
            max_rank=options["max_rank"],
            small=opened.small,
            part=result == "sums",
        )
        if result in ("values", "both"):
            request._require_distinct_names(per_query=True)
        if result != "values":
            request._require_distinct_names(per_query=False)
        return request

    @cached_property
    def grouping(self) -> Grouping:
        """The way in which the rows of a query are grouped."""
        if self.layout == "contiguous":
            return "contiguous"
        return "hash" if self.few else "sort"

    @cached_property
    def few(self) -> bool:
        """Whether the rows are few, in memory, and evaluated there."""
        return self.small and self.resources is None

    @cached_property
    def relevant_items(self) -> bool:
        """Whether the relevant items of a user are needed that the list lacks."""
        return any(map(needs_relevant_items, self.measures))

    @cached_property
    def by_doc(self) -> bool:
        """Whether ids order ties: of equal labels only where documents are told apart.

        These are interchangeable for a value, but may be returned, or have subtopics.
        """
        if self.convention.ties in BY_GRADE:
            subtopics = self.columns.names["subtopic"] is not None
            return self.contributions or self.list_depth > 0 or subtopics
        return self.convention.ties in ("doc_desc", "doc_asc")

    @property
    def inputs(self) -> list[pl.LazyFrame]:
        """All frames."""
        about_queries = (self.queries, self.segments)
        frames = (self.frame, self.qrels, *about_queries, self.history, self.items)
        return [f for f in frames if f is not None]

    @cached_property
    def list_depth(self) -> float:
        """How many of the first documents are needed as a list; 0: none."""
        return max((depth_of(m) for m in self.measures if is_of_lists(m)), default=0)

    @cached_property
    def attributes(self) -> list[tuple[str, Column]]:
        """The columns that describe queries, each after the argument that names it."""
        weight = [] if self.weight is None else [("weight", self.weight)]
        by = [("by", column) for column in self.by]
        return [*by, *weight, *(("keep", column) for column in self.keep)]

    def _require_distinct_names(self, *, per_query: bool) -> None:
        others = [*self.columns.query, *self.keep] if per_query else self.by
        stats: tuple[Stat, ...] = ("mean",) if per_query else self.stats
        names = [
            *names_of(others),
            *([] if per_query else ["queries"]),
            *(stat_name(m.name, stat) for m in self.measures for stat in stats),
        ]
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            way_out = (
                "rename the input column, or name the measure with pr.measure(name=...)"
            )
            if per_query and {*duplicates} <= {*names_of(self.columns.query)}:
                way_out = "leave out keep= for query columns, which the result has"
            msg = (
                f"two output columns would be called "
                f"{', '.join(map(repr, duplicates))}; {way_out}"
            )
            raise ValueError(msg)


def _require_valid(options: RequestOptions) -> None:
    """Raise an error for words that are not known, and for options without a frame."""
    for name, value, choices in (
        ("check", options["check"], get_args(Check)),
        ("layout", options["layout"], get_args(Layout)),
    ):
        if value not in choices:
            msg = f"{name} must be one of {', '.join(choices)}, not {value!r}"
            raise ValueError(msg)
    depth = options["max_rank"]
    if depth is not None and not (is_whole(depth) and 0 < depth < 2**63):
        msg = f"max_rank must be a whole number of at least 1, or None, not {depth!r}"
        raise ValueError(msg)
    if options["qrels"] is not None:
        return
    if options["label"] is None:
        msg = "label=None is for judgments that are all relevant: give qrels="
        raise ValueError(msg)
    if options["subtopic"] is not None:
        msg = "subtopic names a column of the judgments: give them with qrels="
        raise ValueError(msg)
    for name, named in (
        ("qrels_query", options["qrels_query"]),
        ("qrels_doc", options["qrels_doc"]),
    ):
        if named is not None:
            msg = f"{name} names a column of the judgments: give them with qrels="
            raise ValueError(msg)


def _about_items(
    options: RequestOptions, name: Literal["history", "items"]
) -> pl.LazyFrame | None:
    given = options.get(name)
    return None if given is None else as_polars(given, name=name).lazy()


def stats_of(stats: Stat | Sequence[Stat]) -> tuple[Stat, ...]:
    """Return the checked statistics of the values of queries."""
    listed = isinstance(stats, Iterable) and not isinstance(stats, str)
    several = (*stats,) if listed else (stats,)
    if not several or not all(map(_is_stat, several)):
        msg = (
            f"stats must be one or more of {', '.join(STATS)} and quantiles such as "
            f"'p10' or 'p99.5', not {stats!r}"
        )
        raise ValueError(msg)
    return tuple(dict.fromkeys(several))


def _is_stat(stat: object) -> bool:
    return isinstance(stat, str) and (stat in STATS or percent_of(stat) is not None)


def stat_name(measure: str, stat: Stat) -> str:
    """Name of the column: that of the measure, with a suffix for all but the mean."""
    return measure if stat == "mean" else f"{measure}_{stat}"


def _known_doc(
    doc: Column | None, opened: Opened, used: Sequence[Column | None]
) -> Column | None:
    """Return the document id, or None for a single frame without the default column."""
    if opened.qrels is not None and doc is None:
        msg = "doc must name the column of document ids: judgments are joined by it"
        raise ValueError(msg)
    default = isinstance(doc, str) and doc == DOC and opened.qrels is None
    schema = opened.run.collect_schema()
    if not default or DOC in schema:
        return doc
    require_no_other_ids(schema, used)
    return None


def _require_items(
    measures: Sequence[Measure | Custom], doc: Column | None, convention: Convention
) -> None:
    """Require items, each once, for measures of lists."""
    names = ", ".join(m.metric for m in measures if is_of_lists(m))
    if names and doc is None:
        msg = f"doc must name the column of items, which {names} are about"
        raise ValueError(msg)
    if names and convention.on_duplicate == "keep_rank":
        msg = (
            "on_duplicate='keep_rank' leaves copies of items in the lists, which "
            f"{names} would count: choose on_duplicate='best'"
        )
        raise ValueError(msg)


def _without_labels(
    columns: Columns, opened: Opened, measures: Sequence[Measure | Custom]
) -> Columns:
    """Let lists go without labels, where no measure asks for them."""
    label = columns.names["label"]
    default = isinstance(label, str) and label == "label" and opened.qrels is None
    if not default or "label" in opened.run.collect_schema():
        return columns
    if reads_labels(measures):
        return columns
    none = pl.lit(None, pl.UInt8).alias("label")
    return columns._replace(names={**columns.names, "label": none})


def _require_values_of_queries(measures: Sequence[Measure | Custom]) -> None:
    """Refuse measures of all lists together where values of queries are asked for."""
    for m in measures:
        if is_of_catalog(m) or is_of_totals(m):
            msg = (
                f"{m.metric} is a number of all lists together, which no single query "
                "has: ask evaluate for it"
            )
            raise ValueError(msg)


def _require_vocabulary(
    measures: Sequence[Measure | Custom], *, subtopics: bool
) -> None:
    """Require subtopics for measures of diversity, single grades for the others."""
    for m in measures:
        needs = not isinstance(m, Custom) and m.definition.vocabulary == "subtopics"
        if isinstance(m, Custom) or needs is subtopics:
            continue
        if subtopics:
            msg = (
                f"{m.metric} needs one grade per document, not one per subtopic: ask "
                "for it without subtopic=, with judgments such as "
                "qrels.group_by('query_id', 'doc_id').agg(pl.col('label').max())"
            )
        else:
            msg = (
                f"{m.metric} needs subtopics: give judgments (qrels=) and name "
                "their column with subtopic="
            )
        raise ValueError(msg)
