"""Evaluation on an engine of many processes: all that does not depend on the engine.

An adapter says what is particular to its engine, as a subclass of :class:`Engine`, and
exports the methods ``evaluate``, ``per_query`` and ``map`` of the one object of it.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, Unpack

import polars as pl

from polars_rank._engine.options import MeanOptions, QueryOptions
from polars_rank.core.metric.registry import not_taken
from polars_rank.core.parameters import is_whole, plain
from polars_rank.evaluation.deciding import OPTIONS
from polars_rank.evaluation.evaluate import per_query
from polars_rank.measures.measure import Measures
from polars_rank.parts.engine.job import Job, columns_read
from polars_rank.parts.evaluation import Evaluation
from polars_rank.parts.given import ABOUT_ITEMS, SIDES, open_side

Frame = TypeVar("Frame")


class Engine(ABC, Generic[Frame]):
    """An engine: its frames, and functions that it calls in its processes."""

    def evaluate(
        self,
        frame: Frame,
        measures: Measures,
        *,
        qrels: Any = None,
        queries: Any = None,
        segments: Any = None,
        history: Any = None,
        items: Any = None,
        partitions: int | None = None,
        partitioned: bool = False,
        **options: Unpack[MeanOptions],
    ) -> pl.DataFrame:
        """Mean of each measure over the queries, as :func:`polars_rank.evaluate`.

        The engine brings the rows of a query into one partition; what comes back from a
        partition is a few kB. The means have the same bits as on one machine.

        Parameters
        ----------
        frame, qrels, queries, segments
            As in :func:`polars_rank.evaluate`: frames of the engine. All but the first
            may also be small frames of this process.
        history, items
            As in :func:`polars_rank.evaluate`: frames of this process, which go to
            every partition as a whole.
        measures, options
            As in :class:`polars_rank.Evaluation`. ``memory_limit`` is that of a worker.
        partitions
            Number of partitions; the documentation of the module has the default. Each
            must fit into the memory of a worker, unless that says otherwise. Refused
            with ``partitioned=True``.
        partitioned
            Whether each partition of ``frame`` holds whole queries already: then no row
            is moved, the other frames must be small, and a query in two partitions is
            an error.

        Returns
        -------
        A Polars frame, with a row per segment if ``by`` is given.

        Raises
        ------
        DataError
            As on one machine, once, with the counts of all partitions.
        """
        _require_known(self.evaluate, options)
        frames = (frame, qrels, queries, segments, history, items)
        job, rows = self._job(
            frames, measures, partitions=partitions, partitioned=partitioned, **options
        )
        return job.merge(self.states(job, rows))

    def per_query(
        self,
        frame: Frame,
        measures: Measures,
        *,
        qrels: Any = None,
        queries: Any = None,
        segments: Any = None,
        history: Any = None,
        items: Any = None,
        keep: str | Sequence[str] | None = None,
        partitions: int | None = None,
        **options: Unpack[QueryOptions],
    ) -> Frame:
        """Value of each measure for each query, as a frame of the engine, in any order.

        Nothing is computed before the result is read or written.

        Parameters
        ----------
        frame, measures, qrels, queries, segments, history, items, partitions, options
            As in ``evaluate``.
        keep
            Columns to carry along, as in :func:`polars_rank.per_query`.

        Raises
        ------
        DataError
            In the computation that needs the result, for the first partition with rows
            that break a rule; the engine may wrap it in an error of its own.
        """
        _require_known(self.per_query, options)
        _require_of_queries(options)
        frames = (frame, qrels, queries, segments, history, items)
        job, rows = self._job(
            frames, measures, partitions=partitions, keep=keep, **options
        )
        return self.values(job, rows)

    def _job(
        self,
        frames: Sequence[Any],
        measures: Measures,
        *,
        partitions: int | None,
        partitioned: bool = False,
        keep: str | Sequence[str] | None = None,
        **options: Unpack[MeanOptions],
    ) -> tuple[Job, Any]:
        """The job, and all rows in partitions.

        Frames of this process, such as small judgments, become frames of the engine
        or, if the rows are ``partitioned`` already, are broadcast.
        """
        if options.get("progress") is not None:
            msg = "progress is shown by the engine: leave progress= out"
            raise TypeError(msg)
        _require_partitions(partitions, partitioned=partitioned)
        if not partitioned:
            options["layout"] = "any"
        evaluation = Evaluation(measures, **options)
        _require_named_queries(evaluation)
        given = zip(SIDES, frames, strict=True)
        found = {side: frame for side, frame in given if frame is not None}
        own = self.frame()
        _require_own(found, own, partitioned=partitioned)
        small = {
            side: _read(frame, side, evaluation)
            for side, frame in found.items()
            if not isinstance(frame, own)
        }
        about_items = {side: small.pop(side) for side in ABOUT_ITEMS if side in small}
        moved = {
            side: self.lift(small[side], found["frame"]) if side in small else frame
            for side, frame in found.items()
            if side not in about_items and not (partitioned and side in small)
        }
        keep = (keep,) if isinstance(keep, str) else tuple(keep or ())
        read = columns_read(evaluation, [*moved, *small], keep)
        job = Job.of(
            evaluation,
            {side: self._schema(f, side, read[side]) for side, f in moved.items()},
            small if partitioned else {},
            about_items=about_items,
            keep=keep,
            partitioned=partitioned,
        )
        return job, self.partition(job, moved, plain(partitions))

    def _schema(self, frame: Frame, side: str, read: set[str]) -> pl.Schema:
        """All columns, with the types of those that are read.

        The engine may have others of types that Polars lacks, and of one name.
        """
        names = self.names(frame)
        wanted = [name for name in names if name in read]
        for name in wanted:
            if wanted.count(name) > 1:
                msg = f"{SIDES[side]} has two columns {name!r}; drop or rename one"
                raise ValueError(msg)
        own = self.schema(frame, wanted)
        return pl.Schema({name: own.get(name, pl.Null()) for name in names})

    @abstractmethod
    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterable[Any]:
        """Call a function in tasks, for :func:`polars_rank.parts.evaluate_parts`."""

    @abstractmethod
    def frame(self) -> type[Frame]:
        """The type of its frames; imports the engine."""

    def names(self, frame: Any) -> list[str]:
        """The names of the columns of a frame."""
        return [str(name) for name in frame.columns]

    @abstractmethod
    def schema(self, frame: Frame, names: list[str]) -> pl.Schema:
        """These columns of a frame as Polars will see them."""

    @abstractmethod
    def lift(self, rows: pl.DataFrame, beside: Frame) -> Frame:
        """A frame of this process, as a frame of the engine."""

    @abstractmethod
    def partition(
        self, job: Job, frames: Mapping[str, Frame], partitions: int | None
    ) -> Any:
        """Partition all rows by query, unless ``job.partitioned``."""

    @abstractmethod
    def states(self, job: Job, rows: Any) -> Iterable[bytes]:
        """Compute the state of each partition of ``rows``, for ``job.merge``."""

    @abstractmethod
    def values(self, job: Job, rows: Any) -> Frame:
        """Compute the values of the queries of each partition of ``rows``."""


def _require_partitions(partitions: int | None, *, partitioned: bool) -> None:
    """Require a possible number of partitions, if rows are to be moved to them."""
    if partitions is None:
        return
    if not is_whole(partitions) or partitions < 1:
        msg = f"partitions must be a whole number of at least 1, not {partitions!r}"
        raise ValueError(msg)
    if partitioned:
        msg = "partitioned=True moves no row: leave partitions= out"
        raise TypeError(msg)


def _require_known(function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Require options of the engine, or of an Evaluation."""
    *own, _ = inspect.signature(function).parameters
    for name in options:
        if name not in OPTIONS:
            msg = not_taken(function.__name__, name, [*own, *OPTIONS])
            if name == "partitioned":
                msg = (
                    f"{function.__name__} takes no partitioned: a query in two "
                    "partitions would not be seen; leave it out"
                )
            raise TypeError(msg)


def _require_of_queries(options: Mapping[str, Any]) -> None:
    """Require options of ``per_query``, not those of a mean."""
    known = inspect.signature(per_query).parameters
    for name in options:
        if name in OPTIONS and name not in known:
            msg = (
                f"per_query gives values of queries, no means: leave {name}= out "
                "(keep= carries columns along)"
            )
            raise TypeError(msg)


def _require_named_queries(evaluation: Evaluation) -> None:
    """Require query columns by name: the engine partitions all frames by them."""
    computed = not all(isinstance(column, str) for column in evaluation.query)
    for name, wrong in (
        ("query", computed),
        ("qrels_query", evaluation.options["qrels_query"] is not None),
    ):
        if wrong:
            msg = (
                "an engine brings the rows of a query together by columns that all "
                f"frames have: leave {name}= out, and name or compute these columns "
                "beforehand"
            )
            raise TypeError(msg)


def _require_own(frames: Mapping[str, Any], own: type, *, partitioned: bool) -> None:
    """Require rows in a frame of the engine, and none where they are broadcast."""
    for side in ABOUT_ITEMS:
        if isinstance(frames.get(side), own):
            msg = (
                f"{side} must be a frame of this process, which goes to every "
                f"partition as a whole, not a {_told(own)}: collect it first"
            )
            raise TypeError(msg)
    whose, found = _told(own), _told(type(frames["frame"]))
    if not isinstance(frames["frame"], own):
        msg = (
            f"the first argument must be a {whose}, not a {found}; pr.evaluate takes "
            "frames of one process"
        )
        raise TypeError(msg)
    if not partitioned:
        return
    for side, frame in frames.items():
        if side != "frame" and isinstance(frame, own):
            msg = (
                f"with partitioned=True, {SIDES[side]} must be a frame of this "
                f"process, which goes to every partition as a whole, not a {whose}: "
                "leave partitioned= out if it is large"
            )
            raise TypeError(msg)


def _told(kind: type) -> str:
    """Name a kind of frame by its library: frames of several have one name."""
    library = kind.__module__.partition(".")[0]
    return kind.__name__ + ("" if library == "builtins" else f" of {library}")


def _read(frame: Any, side: str, evaluation: Evaluation) -> pl.DataFrame:
    """Read a frame of this process: small judgments, a file, a dictionary."""
    rows = open_side(frame, side, evaluation.options)
    assert rows is not None
    return rows.lazy().collect(engine="streaming")
