"""The documents of two runs side by side, by query, in memory or in buckets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal

import polars as pl

from polars_rank._engine.checks.enforce import enforce
from polars_rank._engine.inputs import bind_inputs, normalize
from polars_rank._engine.request import Beside, Request, Resources
from polars_rank._engine.schema import align_ids, require_columns
from polars_rank._engine.schema import names_of as column_names
from polars_rank._engine.spill.progress import Listener
from polars_rank.analysis.contribution_rows import (
    documents_apart,
    documents_of,
    first_documents,
    request_of,
)
from polars_rank.comparison.input.procedures import names_of
from polars_rank.core.rules import DUPLICATE_DOC
from polars_rank.core.source import lazy_source, without_pushdown
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars, is_path
from polars_rank.measures.measure import MeasureLike

LISTS = 8  # bytes that documents in lists take for each byte of the rows
KINDS = ("entered", "left", "up", "down", "same")


@dataclass(frozen=True)
class Names:
    """The names of the columns that both runs have.

    ``about`` are those that describe a query; ``system`` tells several runs apart.
    """

    query: list[str]
    doc: str
    about: list[str]
    system: str | None = None

    @classmethod
    def of(
        cls,
        query: object,
        doc: object,
        about: Sequence[str | None],
        taken: Sequence[str],
        *,
        system: str | None = None,
    ) -> Names:
        """Check the names: none is that of a column of the result."""
        queries = names_of(query)  # type: ignore[arg-type]
        for argument, name in (*(("query", q) for q in queries), ("doc", doc)):
            if not isinstance(name, str):
                msg = (
                    f"{argument} must be the name of a column, not "
                    f"{type(name).__name__}: add expressions with with_columns first"
                )
                raise TypeError(msg)
        described = [n for n in dict.fromkeys(about) if n is not None]
        described = [n for n in described if n not in queries]
        names = cls(queries, str(doc), described, system)
        every = [*names.keys, *described, str(doc)]
        for name in every:
            if name in taken or every.count(name) > 1:
                msg = f"two columns would be called {name!r}; rename the input column"
                raise ValueError(msg)
        return names

    @property
    def keys(self) -> list[str]:
        """The columns that name a query, of a system."""
        return [*([] if self.system is None else [self.system]), *self.query]


def reread(frame: Any, name: str) -> Any:
    """Return what can be read more than once: a stream is read into memory."""
    if frame is None or isinstance(frame, Mapping) or is_path(frame):
        return frame
    return as_polars(frame, name=name)


def documents_of_run(
    function: str,
    frame: FrameLike,
    measure: MeasureLike,
    qrels: FrameLike | None,
    names: Names,
    options: Mapping[str, Any],
    *,
    system: str | None = None,
    part: bool = False,
    beside: Beside | None = None,
    apart: bool = False,
) -> pl.LazyFrame:
    """Return a row per query and document of a run, with the ``about`` that it has.

    ``part`` says that the rows are a part of all. ``beside`` is as
    in a request, a frame one of :func:`first_of_runs`. With ``apart``, each query has a
    row without a document, too.
    """
    request = request_of_run(
        function, frame, measure, qrels, names, options, system=system
    )
    if isinstance(beside, pl.LazyFrame):
        beside = like_those(beside, request)
    request = replace(request, part=part, beside=beside)
    rows = documents_apart(request) if apart else documents_of(request)
    kept = column_names(request.keep)
    return rows.with_columns(
        pl.lit(None).alias(name) for name in names.about if name not in kept
    )


def request_of_run(
    function: str,
    frame: FrameLike,
    measure: MeasureLike,
    qrels: FrameLike | None,
    names: Names,
    options: Mapping[str, Any],
    *,
    system: str | None = None,
) -> Request:
    """Return the checked request for the documents of a run."""
    query = [*([] if system is None else [system]), *names.query]
    known = {*as_polars(frame, name="the run").lazy().collect_schema()}
    described = [(options.get(name), name) for name in ("segments", "queries")]
    for more, kind in (*described, (qrels, "judgments")):
        if more is not None:
            known |= {*as_polars(more, name=kind, kind="qrels").lazy().collect_schema()}
    kept = [name for name in names.about if name in known]
    given = {**options, "query": query, "doc": names.doc, "keep": kept}
    request = request_of(function, frame, measure, qrels, given)
    if request.convention.on_duplicate == "keep_rank":
        msg = (
            f"{function} matches each document with the same one of the other run, and "
            "on_duplicate='keep_rank' leaves several copies in a list; choose "
            "on_duplicate='best', which makes them one"
        )
        raise ValueError(msg)
    return request


def first_of_runs(runs: Sequence[Request], k: int, names: Names) -> pl.LazyFrame:
    """Return the documents among the first k of either run, and some that tie there.

    They are computed once, though several plans read them.
    """
    columns = {f"key{i}": name for i, name in enumerate(names.query)}
    columns["doc"] = names.doc
    before, after = (first_documents(run, k) for run in runs)
    before, after = align_ids(before, after, columns, where=("before", "after"))
    return once(pl.concat([before, after]).unique())


def no_documents(names: Names) -> pl.LazyFrame:
    """Return no document: none is listed beside those that can change a value."""
    columns = [*(f"key{i}" for i in range(len(names.keys))), "doc"]
    return pl.LazyFrame(schema=dict.fromkeys(columns, pl.Null))


def once(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows, held from the first time that they are read."""
    held: list[pl.DataFrame] = []
    lock = Lock()

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with lock:
            if not held:
                held.append(rows.collect(engine="streaming"))
        yield held[0].select(columns)

    schema = rows.collect_schema()
    found = lazy_source(read, schema, name="first documents", rereadable=True)
    return without_pushdown(found)


def like_those(documents: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """Return documents with the ids of a run; it has none that its type cannot hold."""
    run = bind_inputs(request).run
    schema = normalize(*run, request).collect_schema()
    ids = [*run.keys, "doc"]
    cast = (pl.col(name).cast(schema[name], strict=False) for name in ids)
    return documents.select(cast)


def require_about(names: Names, by: Sequence[str], *frames: FrameLike | None) -> None:
    """Require each column about queries, such as those of ``by``, in some frame."""
    schema = pl.Schema()
    for frame in frames:
        if frame is not None:
            schema |= as_polars(frame, name="the frame").lazy().collect_schema()
    for name in names.about:
        argument = "by" if name in by else "weight"
        require_columns([name], schema, where="the runs", argument=argument)


def with_labels(
    documents: pl.LazyFrame, qrels: FrameLike, names: Names, label: Any, *, best: bool
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return documents and labels with ids of the same types; no label comes twice.

    With ``best``, the largest of several labels of a document counts.
    """
    on = [*names.query, names.doc]
    judged = as_polars(
        qrels, name="the judgments", kind="qrels", columns=[*on, label or "label"]
    ).lazy()
    needed = {**dict.fromkeys(names.query, "query"), names.doc: "doc", label: "label"}
    schema = judged.collect_schema()
    for name, argument in needed.items():
        if name is not None:
            require_columns([name], schema, where="the judgments", argument=argument)
    where = ("the runs", "the judgments")
    documents, judged = align_ids(documents, judged, {n: n for n in on}, where=where)
    value = pl.lit(1.0) if label is None else pl.col(label).cast(pl.Float64)
    labels = judged.group_by(on).agg(label=value.max(), copies=pl.len() - 1)
    if not best:
        labels = enforce(
            labels,
            {"copies": DUPLICATE_DOC},
            example=pl.struct(on),
            check="strict",
            exact_counts=False,
            unit="query and document",
        )
    return documents, labels.drop("copies")


def side_by_side(
    before: pl.LazyFrame,
    after: pl.LazyFrame,
    names: Names,
    near: tuple[pl.Expr, pl.Expr] | None = None,
) -> pl.LazyFrame:
    """Join two sides; columns about queries are those of either side.

    With ``near``, only documents that are so on the one side or on the other.
    """
    on = [*names.keys, names.doc]
    before, after = align_ids(
        before, after, {n: n for n in on}, where=("before", "after")
    )
    if near is not None:  # two joins with few rows take less than one with all
        before, after = before.cache(), after.cache()  # each is read twice
        sides = zip((before, after), near, strict=True)
        few = pl.concat(side.filter(of_side).select(on) for side, of_side in sides)
        few = few.unique()
        before, after = (
            side.join(few, on=on, how="semi", nulls_equal=True)
            for side in (before, after)
        )
    there = {name: f"{name} after" for name in names.about}
    both = before.join(
        after.rename(there), on=on, how="full", coalesce=True, nulls_equal=True
    )
    return both.with_columns(
        pl.coalesce(name, other) for name, other in there.items()
    ).drop(there.values())


def held(
    documents: pl.LazyFrame, names: Names, like: FrameLike
) -> tuple[pl.LazyFrame, Literal["streaming", "in-memory"]]:
    """Return documents in memory, in order, unless lazy ones are asked for.

    Sums over rows in order, in memory, have the same bits each time.
    """
    if isinstance(like, pl.LazyFrame):
        return documents, "streaming"
    rows = documents.collect(engine="streaming")
    order = [*names.keys, "rank", "baseline_rank", names.doc]
    return rows.sort(order, nulls_last=True).lazy(), "in-memory"


@contextmanager
def side_named(sides: Mapping[str, Callable[[], pl.LazyFrame]]) -> Iterator[None]:
    """Name the side whose own rows break the rule, if it is one: all are read again."""
    try:
        yield
    except DataError as error:
        broken = {name: _broken(rows) for name, rows in sides.items()}
        same = {
            n: e for n, e in broken.items() if e is not None and e.rule == error.rule
        }
        if len(same) != 1:
            raise error.with_traceback(None) from None
        ((name, found),) = same.items()
        raise DataError(
            f"{name}: {found}",
            rule=found.rule,
            count=found.count,
            examples=found.examples,
        ) from None


def _broken(rows: Callable[[], pl.LazyFrame]) -> DataError | None:
    try:
        rows().collect(engine="streaming")
    except DataError as error:
        return error
    return None


def kind(k: int | None) -> pl.Expr:
    """Return how the document moved: entered or left the first k, up, down, same."""
    ranks = pl.col("baseline_rank"), pl.col("rank")
    was, now = (listed(rank, k) for rank in ranks)
    moved = ranks[1].cast(pl.Int64) - ranks[0].cast(pl.Int64)
    return (
        pl.when(was & ~now)
        .then(pl.lit("left"))
        .when(now & ~was)
        .then(pl.lit("entered"))
        .when(was & now & (moved < 0))
        .then(pl.lit("up"))
        .when(was & now & (moved > 0))
        .then(pl.lit("down"))
        .when(was & now)
        .then(pl.lit("same"))
    )


def listed(rank: pl.Expr, k: int | None) -> pl.Expr:
    """Return whether the rank is among the first k."""
    within = rank.is_not_null() if k is None else rank <= k
    return within.fill_null(value=False)


def in_buckets(
    plan: Callable[[Mapping[str, Any], bool], pl.LazyFrame],
    frames: Mapping[str, FrameLike | None],
    keys: Sequence[str],
    memory_limit: int | str | None,
    temp_dir: Any,
    progress: Listener | None = None,
) -> pl.LazyFrame:
    """Return the plan of the frames; with a limit, bucket by bucket.

    The plan is told whether its frames are a part of all. Frames without the ``keys``
    of a query are given whole.
    """
    resources = Resources.of(memory_limit, temp_dir, progress)
    if resources is None:
        return plan(frames, False)
    from polars_rank._engine.spill.bounded import bounded  # slow to import

    opened = {
        name: as_polars(
            frame, name=name, kind="run" if "qrels" not in name else "qrels"
        )
        for name, frame in frames.items()
        if frame is not None
    }
    split = {}
    for name, frame in opened.items():
        require_columns(
            keys, frame.lazy().collect_schema(), where=name, argument="query"
        )
        split[name] = frame.lazy()
    return bounded(
        [*split.values()],
        keys,
        lambda parts: plan({**frames, **dict(zip(split, parts, strict=True))}, True),
        limit=resources.memory,
        temp_dir=resources.temp_dir,
        progress=resources.progress,
        fingerprint=os.urandom(16).hex(),
        factor=LISTS,
    )
