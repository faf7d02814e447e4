"""An evaluation as a value: for data in parts, on any engine."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.checks.totals import plausible
from polars_rank._engine.finish import Aggregation
from polars_rank._engine.inputs import places_of
from polars_rank._engine.options import MeanOptions
from polars_rank._engine.plan import plan_result, result_of
from polars_rank._engine.request import AnyFrame, Request, stats_of
from polars_rank._engine.schema import (
    Column,
    columns_of,
    names_of,
    renamed,
    roots_of,
)
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments, convention_of
from polars_rank.core.exact.state import (
    DEFINITION,
    DIGESTS,
    State,
    all_digests,
    defined,
    digest,
    placed,
    require_alike,
    require_definition,
    require_envelope,
    require_once,
)
from polars_rank.core.metric.registry import UNBOUNDED, not_taken
from polars_rank.evaluation.deciding import DECIDING, FRAMES, OPTIONS
from polars_rank.evaluation.evaluate import per_query
from polars_rank.io.frames import FrameLike
from polars_rank.io.states import read_states
from polars_rank.measures.measure import Custom, Measures, parse_measures
from polars_rank.parts.about_items import (
    ABOUT_ITEMS,
    digest_of_items,
    require_same_items,
)
from polars_rank.parts.damaged_partials import (
    require_partial,
    require_rows,
    require_sums,
)
from polars_rank.parts.given import Several, open_both, open_side
from polars_rank.parts.missing_queries import (
    matching,
    places_as_text,
    places_of_all,
    run_of_none,
)
from polars_rank.parts.partial import (
    ATTRIBUTES,
    PLAUSIBLE,
    UNLISTED,
    add_partials,
    as_partial,
    finish_partial,
)
from polars_rank.parts.rows_of_parts import Asked, enforce_total
from polars_rank.parts.spelling import shown, spelled, spelled_measure, spelled_option


class Evaluation:
    """Measures and options without data: :func:`evaluate` for data in parts.

    A small value that pickles. ``partial`` computes what one part of the data adds to
    the means, in any process, on any machine, on any day. ``merge`` computes the means
    from the partials of all parts, with the same bits as :func:`evaluate` on the whole.

    Every part must hold whole queries, each query in one part only. Errors and warnings
    about data are counted in the partials; ``merge`` raises each once, with the total.

    Parameters
    ----------
    measures, options
        As in :func:`evaluate`, without its frames: columns by name or expression.
        Functions (user-defined measures, gains) pickle only if they are importable.

    Raises
    ------
    TypeError
        For options that :func:`evaluate` does not know, and for expressions that do not
        pickle, since they call a Python function.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1, 1, 2], "score": [0.9, 0.8, 0.7], "label": [0, 1, 1]}
    ... )
    >>> evaluation = pr.Evaluation(["rr", "precision@1"])
    >>> monday = evaluation.partial(log.filter(pl.col("query_id") == 1))
    >>> tuesday = evaluation.partial(log.filter(pl.col("query_id") == 2))
    >>> evaluation.merge([monday, tuesday]).equals(
    ...     pr.evaluate(log, ["rr", "precision@1"])
    ... )
    True
    """

    def __init__(self, measures: Measures, **options: Unpack[MeanOptions]) -> None:
        for name, value in options.items():
            if name not in OPTIONS:
                msg = not_taken("an Evaluation", name, [*OPTIONS, *FRAMES])
                if name in FRAMES:
                    way = "give it to partial, with the rows of that part"
                    msg = f"an Evaluation takes no {name}: {way}"
                raise TypeError(msg)
            spelled_option(name, value)
        self._measures = parse_measures(measures)
        self._given = [
            {m.name: m.function} if isinstance(m, Custom) else m for m in self._measures
        ]
        self._options: dict[str, Any] = {**OPTIONS, **options}
        self._aggregation = Aggregation.of(
            self._measures,
            by=names_of(columns_of(self._options["by"])),
            weighted=self._options["weight"] is not None,
            convention=self._convention,
            check=self._options["check"],
            stats=stats_of(self._options["stats"]),
        )

    def __repr__(self) -> str:
        """The call that makes it."""
        texts = {name: shown(value) for name, value in self._options.items()}
        changed = (
            f", {name}={text}"
            for name, text in texts.items()
            if text != shown(OPTIONS[name])
        )
        return f"Evaluation({[m.name for m in self._measures]}{''.join(changed)})"

    def __eq__(self, other: object) -> bool:
        """Whether measures and options are the same."""
        return isinstance(other, Evaluation) and self._value == other._value

    def __hash__(self) -> int:
        """Equal evaluations have one definition."""
        return hash(self.definition)

    @property
    def _value(self) -> tuple[object, ...]:
        options = self._options.items()
        return tuple(self._measures), [spelled_option(n, v) for n, v in options]

    @property
    def has_functions(self) -> bool:
        """Whether a measure is a function of the user, which nobody can compare."""
        return any(isinstance(m, Custom) for m in self._measures)

    @property
    def _about(self) -> Asked:
        options = self._options
        return Asked(
            measures=self._measures,
            convention=self._convention,
            missing_given=options["missing"] is not None,
            no_relevant_given=options["no_relevant"] is not None,
            rel_given=options["rel"] is not None,
        )

    @property
    def _convention(self) -> Convention:
        choices = {name: self._options[name] for name in SHORTCUTS}
        return convention_of(self._options["convention"], **choices)

    @property
    def options(self) -> dict[str, Any]:
        """All options, defaults included."""
        return dict(self._options)

    @property
    def definition(self) -> str:
        """Everything that can change a mean, as JSON.

        The measures with the versions of their definitions, the choices of the
        convention, and all options but those that spare resources. Expressions count as
        Polars serializes them, and functions as the expressions that they make, which
        may change with its version.
        """
        return defined(
            "partial",
            {
                "measures": {m.name: spelled_measure(m) for m in self._measures},
                **{n: spelled(v) for n, v in self._convention.choices.items()},
                **{n: spelled(self._options[n]) for n in DECIDING},
            },
        )

    def columns(self) -> dict[str, tuple[str, ...]]:
        """Columns read from each frame, so that an engine need not move others.

        ``"log"`` is a frame with labels, ``"run"`` one that is evaluated with
        ``"qrels"``. A document id that the options do not name is optional in a log;
        segments and weights may be in one of the frames only, or in ``queries=``.
        """
        options = self._options
        ranked = options["score"] if options["rank"] is None else options["rank"]
        log = (options["doc"], ranked, options["label"], options["weight"])
        run = (options["doc"], ranked, options["weight"])
        judged = (self._qrels_doc, options["label"], options["subtopic"])
        by = columns_of(options["by"])
        read = {
            "log": (*self.query, *log, *by),
            "run": (*self.query, *run, *by),
            "qrels": (*self._qrels_query, *judged, options["weight"], *by),
        }
        return {
            side: tuple(
                dict.fromkeys(n for c in given if c is not None for n in roots_of(c))
            )
            for side, given in read.items()
        }

    def partial(
        self,
        frame: FrameLike,
        *,
        qrels: FrameLike | None = None,
        queries: FrameLike | None = None,
        segments: FrameLike | None = None,
        history: FrameLike | None = None,
        items: FrameLike | None = None,
        broadcast: bool = False,
        keys: bool = False,
        part: str | None = None,
    ) -> pl.DataFrame:
        """Return what a part of the data adds to the means.

        Parameters
        ----------
        frame, qrels, queries
            As in :func:`evaluate`: the rows of whole queries, with the judgments of
            these queries.
        segments
            As in :func:`evaluate`; it may cover the whole data.
        history, items
            As in :func:`evaluate`: all interactions and the whole catalog, for each
            part the same, which ``merge`` verifies by a digest.
        broadcast
            Whether ``qrels`` and ``queries`` cover the whole data. Queries that no part
            has are then added by ``merge``, which needs the same frames.
        keys
            Whether to list the queries: then ``merge`` refuses a query that is in two
            parts. Implied by ``broadcast``.
        part
            Name of the part, such as its day. Two parts of the same content are one
            part, which ``merge`` refuses to count twice, unless they have two names.

        Returns
        -------
        A long frame of a few kB: ``by0`` ..., ``measure`` and the state of its mean; in
        rows without a measure the number of queries and the rules that are broken;
        ``attributes``, the frame that gave each segment and the weight; ``definition``,
        all that can change a value; and ``digests``, eight bytes as text, of the ids of
        the queries and of their values, segments and weights, and of ``part``; where
        they are given, ``about_items``, the same of ``history`` and ``items``.
        """
        if broadcast:
            frame, qrels = open_both(frame, qrels, self._options)
            queries = open_side(queries, "queries", self._options)
            here = frame.select(
                renamed(c, f"key{i}") for i, c in enumerate(self.query)
            ).unique()
            where = "the judgments"
            qrels = matching(qrels, self._qrels_query, here, "semi", where=where)
            queries = matching(queries, self.query, here, "semi")
        frames = {"qrels": qrels, "queries": queries, "segments": segments}
        about = {"history": history, "items": items}
        frames |= {n: open_side(f, n, self._options) for n, f in about.items()}
        listed = keys or broadcast
        return self._partial(frame, part, keys=listed, **frames, **self._options)

    def _partial(
        self, frame: FrameLike, part: str | None, *, keys: bool, **arguments: Any
    ) -> pl.DataFrame:
        request = self._request(frame, result="sums", **arguments)
        sums = result_of(request, without=() if keys else ("keys",))
        by = [f"by{i}" for i in range(len(self._aggregation.by))]
        number = pl.lit(0) if keys else pl.col("queries")
        stamp = {
            ATTRIBUTES: places_as_text(places_of(request)),
            PLAUSIBLE: plausible(request, sums),
            DEFINITION: self.definition,
            DIGESTS: sums.select(digest(by, "content", part)).item(),
        }
        if request.list_depth:
            stamp |= digest_of_items(request.history, request.items)
        sums = sums.with_columns(number.cast(pl.Int64).alias(UNLISTED))
        return as_partial(self._aggregation, sums, stamp)

    def add(self, partials: Several) -> pl.DataFrame:
        """Return the partial of several parts together, added in any order or grouping.

        Partials are frames, or files (folders and globs, too) that hold them.

        Raises
        ------
        DataError
            For partials of another evaluation, with what differs; for the same part
            twice; for frames that are no partials, or damaged ones. The error names the
            file.
        """
        return self._add(partials)[0]

    def _add(self, partials: Several) -> tuple[pl.DataFrame, list[State], pl.DataFrame]:
        """The partial of all, the partials, and their rows with the place of each."""
        states = read_states(partials, "partial")
        if not states:
            msg = "no partials given; merge takes those of at least one part"
            raise ValueError(msg)
        definition = self.definition
        for state in states:
            require_envelope(state, "partial")
            require_definition(state, definition, "those of this evaluation")
            require_partial(state, self._aggregation)
        by = {f"by{i}": name for i, name in enumerate(self._aggregation.by)}
        require_alike(states, by)
        parts = placed(states)
        about = require_same_items(states)
        require_rows(parts, states, self._aggregation)
        require_once(parts, states, [*by, "measure"])
        places = parts[ATTRIBUTES].unique().to_list()
        stamp = {
            ATTRIBUTES: places[0] if len(places) == 1 else None,
            PLAUSIBLE: parts[PLAUSIBLE].max(),
            DEFINITION: definition,
            DIGESTS: all_digests(parts),
            **about,
        }
        return add_partials(self._aggregation, parts, stamp), states, parts

    def merge(
        self,
        partials: Several,
        *,
        qrels: FrameLike | None = None,
        queries: FrameLike | None = None,
        segments: FrameLike | None = None,
        history: FrameLike | None = None,
        items: FrameLike | None = None,
    ) -> pl.DataFrame:
        """Return the means of the whole, as :func:`evaluate` does.

        ``qrels`` and ``queries`` are those that were broadcast: their queries that no
        part has are evaluated here, as missing from the run. ``segments``, ``history``
        and ``items`` describe these, as they described those of the parts.

        Raises
        ------
        DataError
            As ``add``; for rows of any part that break a rule; for queries in two
            parts, where both list them (``keys``). If one part does and another does
            not, nobody can tell, which is a ``DataWarning``.
        ValueError
            If nothing here says in which segment the missing queries are, or what they
            weigh.
        """
        total, states, parts = self._add(partials)
        if qrels is not None or queries is not None:
            given = {"qrels": qrels, "queries": queries, "segments": segments}
            given |= {"history": history, "items": items}
            frames = {n: open_side(f, n, self._options) for n, f in given.items()}
            rest = self._missing(total, **frames)
            total = total if rest is None else self.add([total, rest])
        keys = _keys_of(total) if "keys" in total.columns else None
        enforce_total(total, keys, about=self._about, options=self._options)
        if self._options["check"] == "strict":
            require_sums(parts, states, self._aggregation, self._bounds)
        return finish_partial(self._aggregation, total)

    def per_query(
        self,
        frame: FrameLike,
        *,
        qrels: FrameLike | None = None,
        queries: FrameLike | None = None,
        segments: FrameLike | None = None,
        history: FrameLike | None = None,
        items: FrameLike | None = None,
        keep: str | Sequence[str] | None = None,
    ) -> pl.LazyFrame:
        """Return the values of every query of a part, as :func:`per_query` does.

        Rows that break a rule raise a ``DataError`` with the counts of this part, when
        the result is collected. Nobody is warned of what is true of the whole only,
        such as judged queries that are missing from the run.
        """
        known = inspect.signature(per_query).parameters
        request = self._request(
            frame,
            qrels=qrels,
            queries=queries,
            segments=segments,
            history=history,
            items=items,
            keep=keep,
            result="values",
            **{n: v for n, v in self._options.items() if n in known},
        )
        return plan_result(replace(request, part=True, small=False))

    def _request(self, frame: FrameLike, **arguments: Any) -> Request:
        return Request.of(frame, self._given, **arguments)

    @property
    def query(self) -> tuple[Column, ...]:
        """The query columns."""
        return columns_of(self._options["query"])

    @property
    def _qrels_query(self) -> tuple[Column, ...]:
        return columns_of(self._options["qrels_query"]) or self.query

    @property
    def _qrels_doc(self) -> Column | None:
        own: Column | None = self._options["qrels_doc"]
        return self._options["doc"] if own is None else own

    @property
    def _bounds(self) -> list[tuple[float, float]]:
        """Least and largest value of each measure, as it is summed."""
        choices = self._convention
        return [
            UNBOUNDED
            if isinstance(m, Custom)
            else m.definition.bounds_with(
                complete_arguments(m.definition, m.arguments, convention=choices)
            )
            for m in self._measures
        ]

    def _missing(
        self,
        total: pl.DataFrame,
        *,
        qrels: AnyFrame | None,
        queries: AnyFrame | None,
        segments: AnyFrame | None,
        history: AnyFrame | None,
        items: AnyFrame | None,
    ) -> pl.DataFrame | None:
        """The partial of the queries that no part has: those of an empty run."""
        if "keys" not in total.columns or total[UNLISTED].sum():
            msg = (
                "qrels and queries are for partials made with broadcast=True, which "
                "list their queries: others would count as missing"
            )
            raise ValueError(msg)
        seen = _keys_of(total)
        left = (
            matching(qrels, self._qrels_query, seen.lazy(), "anti"),
            matching(queries, self.query, seen.lazy(), "anti"),
        )
        judged, asked = (None if f is None else f.collect() for f in left)
        if not any(len(f) for f in (judged, asked) if f is not None):
            return None
        frames = {"judged": judged, "queries": asked}
        frames["segments"] = None if segments is None else segments.lazy().collect()
        places = places_of_all(total, frames)
        about_items = {"history": history, "items": items}
        rest = run_of_none(
            seen.schema, self._options, places, **frames, about_items=about_items
        )
        partial = self._partial(part=None, keys=True, **rest)
        about = digest_of_items(**about_items) if ABOUT_ITEMS in partial.columns else {}
        partial = partial.with_columns(pl.lit(v).alias(n) for n, v in about.items())
        return partial.drop("keys").with_columns(pl.lit(None).alias(ATTRIBUTES))


def _keys_of(total: pl.DataFrame) -> pl.DataFrame:
    return total.select(pl.col("keys").explode()).drop_nulls().unnest("keys")
