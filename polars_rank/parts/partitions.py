"""Data in partitions, and any ``map`` that visits them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

import polars as pl

from polars_rank._engine.options import MeanOptions
from polars_rank._engine.schema import Column, renamed
from polars_rank._engine.spill.digest import digest_of
from polars_rank._engine.spill.progress import Listener, Progress
from polars_rank.core.parameters import is_whole
from polars_rank.io.frames import FrameLike, as_polars, is_path, is_single
from polars_rank.io.scan import scan, scan_each
from polars_rank.measures.measure import Measures
from polars_rank.parts.evaluation import Evaluation
from polars_rank.parts.given import held, open_side
from polars_rank.parts.store import Store, sealed
from polars_rank.parts.task_errors import with_plain_errors

Map = Callable[[Callable[["Part"], Any], Iterable["Part"]], Iterable[Any]]


class Hashed(NamedTuple):
    """What proves that a query is in no other part: a bucket of a call, by columns."""

    call: str
    number: int
    query: tuple[str, ...]


class Part(NamedTuple):
    """A part of the data, wherever its rows are; it pickles if its frames do.

    Attributes
    ----------
    frame
        A frame, or a scan or path that a worker reads.
    qrels, queries
        Judgments and queries of this part; None: those of the whole, or none.
    cut
        Whether the first and the last query may continue in the neighboring parts.
        Such a part has no ``qrels`` or ``queries`` of its own.
    bucket
        Of a part of :func:`bucketed`.
    """

    frame: FrameLike
    qrels: FrameLike | None = None
    queries: FrameLike | None = None
    cut: bool = False
    bucket: Hashed | None = None


class Visited(NamedTuple):
    """Result of a part: its partial, and the rows of queries that were cut."""

    partial: pl.DataFrame | None = None
    edges: pl.DataFrame | None = None


def files(paths: str | Path | Iterable[str | Path]) -> list[Part]:
    """One part per file, also of a folder or a glob.

    Each file holds whole queries, which is verified. Files in folders such as
    ``day=2026-11-20`` have a column ``day``, also if they are listed one by one.
    """
    alone = isinstance(paths, str | Path)
    several = [paths] if isinstance(paths, str | Path) else paths
    return [
        Part(frame) for one in several for frame in scan_each(one, listed=not alone)
    ]


def cut(frame: FrameLike, n_parts: int) -> list[Part]:
    """Cut contiguous rows into ``n_parts`` parts, for :func:`evaluate_parts`.

    Queries that were cut in two are put together and evaluated at the end.
    """
    if not (is_whole(n_parts) and n_parts >= 1):
        msg = f"n_parts must be a whole number of at least 1, not {n_parts!r}"
        raise ValueError(msg)
    frame = held(as_polars(frame, name="the first argument")).lazy()
    rows = frame.select(pl.len()).collect(engine="streaming").item()
    starts = [rows * i // n_parts for i in range(n_parts + 1)]
    parts = [
        Part(frame.slice(start, end - start), cut=True)
        for start, end in pairwise(starts)
        if end > start
    ]
    return parts or [Part(frame)]


def evaluate_parts(
    parts: Iterable[Part | FrameLike],
    measures: Measures,
    *,
    qrels: FrameLike | None = None,
    queries: FrameLike | None = None,
    segments: FrameLike | None = None,
    history: FrameLike | None = None,
    items: FrameLike | None = None,
    map: Map = map,
    resume: str | PathLike[str] | None = None,
    progress: Listener | None = None,
    **options: Unpack[MeanOptions],
) -> pl.DataFrame:
    """Means over all parts, as :func:`evaluate` gives them for the whole.

    Parameters
    ----------
    parts
        From :func:`files`, :func:`cut` or :func:`bucketed`, or your own: any iterable
        of :class:`Part`, or of frames and paths that hold whole queries.
    measures, options
        As in :func:`evaluate`.
    qrels, queries, segments, history, items
        Judgments, queries and what describes them, past interactions and the catalog,
        of the whole, if they are small: every worker gets them.
    map
        Function that visits the parts: the builtin, ``executor.map`` of a process pool,
        ``polars_rank.ray.map``, ``polars_rank.spark.map`` or ``polars_rank.dask.map``.
        It gives a result for each part, in any order.
    resume
        Folder that keeps the results of parts, so that an interrupted evaluation goes
        on with the parts that it lacks. It must be one that all processes reach, or a
        URL of object storage as in :func:`bucketed`. Results are data, never code; a
        damaged one is computed again. (Parts that are not in local files, and
        user-defined functions, begin anew.)
    progress
        Called with a :class:`Progress` as the results of parts come in, as soon as
        ``map`` hands them on.

    Raises
    ------
    DataError
        As :func:`evaluate`; and for a query in two parts.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> from polars_rank.parts import cut, evaluate_parts
    >>> log = pl.scan_parquet(pr.example.path())
    >>> means = evaluate_parts(cut(log, 4), ["ndcg@10", "ap"])
    >>> means.equals(pr.evaluate(log, ["ndcg@10", "ap"]).collect())
    True
    """
    evaluation = Evaluation(measures, **options)
    if is_single(parts) or isinstance(parts, Part):
        msg = (
            "parts must be several, e.g. from polars_rank.parts.files or cut; "
            f"pr.evaluate takes one {type(parts).__name__}"
        )
        raise TypeError(msg)
    given = {"qrels": qrels, "queries": queries, "segments": segments}
    given |= {"history": history, "items": items}
    frames: Any = {
        side: f if is_path(f) or f is None else _opened(f, side, evaluation)
        for side, f in given.items()
    }
    visit: Any = partial(_visit, evaluation=evaluation, **frames)
    if resume is not None:
        visit = partial(_kept, visit=visit, store=Store.of(resume, name="resume"))
    if progress is not None:
        parts = list(parts)
    own = _disjoint(part if isinstance(part, Part) else Part(part) for part in parts)
    visited: list[Visited] = []
    for result in with_plain_errors(map, Visited)(visit, own):
        visited.append(result)
        if progress is not None:
            total = len(cast("list[Part]", parts))
            progress(Progress("evaluate", len(visited), total, "parts"))
    edges = [v.edges for v in visited if v.edges is not None and len(v.edges)]
    partials = [v.partial for v in visited if v.partial is not None]
    if edges:
        whole = Part(pl.concat(edges, how="vertical_relaxed"))
        rest = visit(whole).partial
        partials += [] if rest is None else [rest]
    return evaluation.merge(partials, **frames)


def _disjoint(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts; of one call of ``bucketed``, or of none; own judgments are whole."""
    seen: set[Hashed] = set()
    calls: set[str | None] = set()
    for part in parts:
        calls.add(part.bucket.call if part.bucket else None)
        if part.bucket in seen or len(calls) > 1:
            msg = (
                "parts of bucketed hold whole queries only if all are of one call, and "
                "each is given once: give all frames to one call"
            )
            raise ValueError(msg)
        if part.cut and (part.qrels is not None or part.queries is not None):
            msg = (
                "a part with cut=True takes no qrels or queries of its own, which its "
                "first and last query, put together at the end, would lack: give those "
                "of the whole to evaluate_parts"
            )
            raise ValueError(msg)
        if part.bucket is not None:
            seen.add(part.bucket)
        yield part


def _is_proved(part: Part, evaluation: Evaluation) -> bool:
    """Tell whether the hash of all its rows says that no other part has its queries.

    That takes the place of a list of all queries.
    """
    if part.bucket is None or evaluation.options["qrels_query"] is not None:
        return False
    names = [column for column in evaluation.query if isinstance(column, str)]
    return all(column in names for column in part.bucket.query)


def _opened(given: FrameLike, side: str, evaluation: Evaluation) -> FrameLike:
    """Open a frame of the whole, which every part reads."""
    frame = open_side(given, side, evaluation.options)
    assert frame is not None
    return held(frame)


def _visit(
    part: Part,
    *,
    evaluation: Evaluation,
    qrels: FrameLike | None,
    queries: FrameLike | None,
    segments: FrameLike | None,
    history: FrameLike | None,
    items: FrameLike | None,
) -> Visited:
    frame, edges = part.frame, None
    if part.cut:
        rows = held(as_polars(part.frame, name="a part")).lazy()
        frame, edges = _without_edges(rows, evaluation.query)
    own = part.qrels is not None or part.queries is not None
    result = evaluation.partial(
        frame,
        qrels=part.qrels if own else qrels,
        queries=part.queries if own else queries,
        segments=segments,
        history=history,
        items=items,
        broadcast=not own and (qrels is not None or queries is not None),
        keys=not _is_proved(part, evaluation),
    )
    return Visited(result, edges)


def _kept(part: Part, *, visit: partial[Visited], store: Store) -> Visited:
    """Return the result of a part, from the store if it is there."""
    digest = _digest(part, **visit.keywords)
    if digest is None:
        return visit(part)
    kept = store.unsealed(digest)
    if kept is None:
        result = visit(part)
        store.write(digest, sealed(_packed(result)))
        return result
    return _unpacked(kept)


def _packed(result: Visited) -> bytes:
    """Pack as Arrow, which no reader runs: a row with a list of rows per frame."""
    frames = result._asdict().items()
    lists = [f.to_struct(n).implode() for n, f in frames if f is not None]
    packed = BytesIO()
    pl.DataFrame(lists).write_ipc(packed)
    return packed.getvalue()


def _unpacked(packed: bytes) -> Visited:
    lists = pl.read_ipc(BytesIO(packed))
    return Visited(**{n: lists[n][0].struct.unnest() for n in lists.columns})


def _digest(
    part: Part, *, evaluation: Evaluation, **others: FrameLike | None
) -> str | None:
    """Digest all that decides the result; return None if that cannot be known."""
    about = f"{evaluation!r} {evaluation.definition} {part.cut}"
    if evaluation.has_functions or "<" in about:  # they look alike and differ
        return None
    frames: list[Any] = [part.frame, part.qrels, part.queries, *others.values()]
    scans = []
    for i, given in enumerate(frames):
        frame = scan(Path(given), kind="qrels") if is_path(given) else given
        if isinstance(frame, pl.DataFrame):
            about += f" {i} {sha256(pickle.dumps(frame)).hexdigest()}"
        elif isinstance(frame, pl.LazyFrame):
            scans.append(frame)
        elif frame is not None:  # a stream, perhaps
            return None
    about += str([f is None for f in frames])
    if not scans:
        return sha256(about.encode()).hexdigest()[:32]
    return digest_of(scans, scans[0], about)


def _without_edges(
    frame: pl.LazyFrame, query: Sequence[Column]
) -> tuple[pl.LazyFrame, pl.DataFrame]:
    """Split off the rows of the first and the last query from those of the others."""
    names = {f"key{i}": renamed(c, f"key{i}") for i, c in enumerate(query)}
    key = pl.struct(names.values())
    first, last = frame.select(
        key.first().alias("first"), key.last().alias("last")
    ).collect(engine="streaming")
    at_edge = pl.any_horizontal(
        pl.all_horizontal(
            column.eq_missing(pl.lit(end.struct.field(name)).first())
            for name, column in names.items()
        )
        for end in (first, last)
    )
    return frame.filter(~at_edge), frame.filter(at_edge).collect(engine="streaming")
