"""Frames of any library, files and dictionaries, as Polars frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard, cast

import polars as pl
import polars.selectors as cs

from polars_rank.core.source import lazy_source
from polars_rank.io.objects.mappings import from_mapping, from_rows, names_nothing


class ArrowStream(Protocol):
    """Anything that exports Arrow data: frames of pandas, pyarrow, DuckDB, Ibis ..."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Open the stream."""


EagerFrameLike: TypeAlias = (
    pl.DataFrame
    | ArrowStream
    | str
    | os.PathLike[str]
    | Mapping[Any, Any]
    | Iterable[ArrowStream | Mapping[str, Any]]
)
FrameLike: TypeAlias = pl.LazyFrame | EagerFrameLike

_DISTRIBUTED = {
    "pyspark": ("Spark", "write.parquet(folder)", "toArrow()", "polars_rank.spark"),
    "ray": ("Ray", "write_parquet(folder)", "to_pandas()", "polars_rank.ray"),
    "dask": ("Dask", "to_parquet(folder)", "compute()", "polars_rank.dask"),
    "modin": ("Modin", "to_parquet(folder)", "modin.to_pandas()", None),
}


def is_path(given: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether this is the path of a file, of a folder, or a glob."""
    return isinstance(given, str | os.PathLike)


def is_single(given: object) -> bool:
    """Return whether this is a frame or a path, not several."""
    if isinstance(given, Mapping | pl.LazyFrame) or is_path(given):
        return True
    return hasattr(given, "__arrow_c_stream__")


def as_polars(
    source: FrameLike,
    *,
    name: str,
    kind: Literal["run", "qrels"] = "run",
    columns: Sequence[str] = (),
    stream: bool = False,
) -> pl.DataFrame | pl.LazyFrame:
    """Return the rows of ``source`` as a Polars frame.

    Parameters
    ----------
    source
        A Polars frame, which is returned as it is; anything with
        ``__arrow_c_stream__``; a pyarrow ``Dataset``; a path or glob, which is scanned;
        a dictionary, of queries or of columns; rows that are dictionaries; Arrow
        batches, one by one.
    name
        Its name in messages.
    kind
        Contents of TREC text: ``"run"`` or ``"qrels"``.
    columns
        Names of the columns of a dictionary ``{query: {document: value}}``; default:
        the usual ones. With one name, it has attributes: ``{query: {column: value}}``.
        A run ``{query: [document, ...]}`` has ``rank``.
        For other frames, columns that must not be in an index.
    stream
        Whether to keep a stream, which can be read once, or to read it into memory.
    """
    if isinstance(source, pl.LazyFrame):
        _require_schema(source)
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source
    if isinstance(source, str | os.PathLike):
        from polars_rank.io.scan import scan

        return scan(Path(source), kind=kind)
    if isinstance(source, Mapping):
        return from_mapping(source, name, columns, kind)
    library = type(source).__module__.partition(".")[0]
    if library == "narwhals":
        native = getattr(source, "to_native")()  # noqa: B009
        return as_polars(native, name=name, kind=kind, columns=columns, stream=stream)
    if library in _DISTRIBUTED:
        whose, written, collected, adapter = _DISTRIBUTED[library]
        what = f"{whose} {type(source).__name__}"
        msg = f"{name}: a {what} has its rows in many processes; "
        if adapter is not None:
            msg += f"{adapter} has evaluate and per_query for it; otherwise "
        msg += (
            f"write it with .{written} and give the folder, or give what .{collected} "
            "returns if it fits into memory"
        )
        raise TypeError(msg)
    if hasattr(source, "__arrow_c_stream__"):
        _require_columns_outside_index(source, name, columns)
        return _from_stream(cast("ArrowStream", source), name, stream=stream)
    if library == "pyarrow" and hasattr(source, "scanner"):
        return _scan_dataset(source)
    if library == "pyarrow" and hasattr(source, "to_reader"):
        return _from_stream(source.to_reader(), name, stream=stream)
    if isinstance(source, Iterator | list | tuple):
        batches = iter(source)
        first = next(batches, None)
        if hasattr(first, "__arrow_c_stream__"):
            return _from_batches(chain([first], batches), name, stream=stream)
        if isinstance(first, Mapping):
            return from_rows(chain([first], batches), name)
        if isinstance(source, list | tuple):
            if _is_empty(source):  # neither rows nor queries
                return from_mapping({}, name, columns, kind)
            if any(isinstance(row, Mapping) for row in source):
                return from_rows(source, name)
        if first is None and not isinstance(source, list | tuple):
            msg = f"{name} yields no batch, so its columns are unknown"
            raise TypeError(msg)
    msg = (
        f"{name} must be a frame (of Polars, or any that has __arrow_c_stream__, such "
        "as those of pandas, pyarrow and DuckDB), several of these as batches, a path, "
        "rows that are dictionaries, or a dictionary {query: {document: value}}, not "
        f"{type(source).__name__}; wrap it with pl.DataFrame(...)"
    )
    raise TypeError(msg)


def _require_schema(frame: pl.LazyFrame) -> None:
    """Resolve the schema; an error names the file. Polars keeps the schema."""
    try:
        frame.collect_schema()
    except BaseException:
        from polars_rank.io.unreadable import damage_named

        with damage_named([frame]):
            raise


def _require_columns_outside_index(
    source: object, name: str, columns: Sequence[str]
) -> None:
    """Refuse a pandas frame that has a column in its index, which is not read."""
    index = getattr(getattr(source, "index", None), "names", None) or ()
    if lost := [column for column in columns if column in index]:
        msg = (
            f"{name}, a {type(source).__name__}, has {lost[0]!r} in its index, which "
            "is not read; give frame.reset_index()"
        )
        raise TypeError(msg)


def same_ids(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    sources: Sequence[object],
    ids: Iterable[tuple[str, str]],
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Read integer ids as text if one of the ``sources`` is a file without types.

    ``ids`` are columns of the run, each with that of the judgments. Between two sources
    with types, an integer never equals a text. An empty dictionary has ids of any type.
    """
    nothing = [
        names_nothing(s) if isinstance(s, Mapping) else _is_empty(s) for s in sources
    ]
    text = any(isinstance(s, str | os.PathLike) and _is_plain_text(s) for s in sources)
    if not text and not any(nothing):
        return run, qrels
    left, right = run.collect_schema(), qrels.collect_schema()
    for ours, theirs in ids:
        if ours not in left or theirs not in right:
            continue
        kinds = left[ours], right[theirs]
        if any(nothing):
            same = kinds[nothing[0]]
        elif pl.String in kinds and any(kind.is_integer() for kind in kinds):
            same = pl.String()
        else:
            continue
        run = run.with_columns(cs.by_name(ours).cast(same))
        qrels = qrels.with_columns(cs.by_name(theirs).cast(same))
    return run, qrels


def _is_empty(source: object) -> bool:
    return isinstance(source, list | tuple) and not source


def _is_plain_text(source: str | os.PathLike[str]) -> bool:
    from polars_rank.io.formats import format_of

    path = Path(source)
    inside = (
        sorted(p for p in path.rglob("*.*") if p.is_file()) if path.is_dir() else []
    )
    format = format_of(inside[0] if inside else path)
    return format is None or not format.typed


def _from_stream(
    source: ArrowStream, name: str, *, stream: bool
) -> pl.DataFrame | pl.LazyFrame:
    try:
        return pl.scan_arrow_c_stream(source) if stream else pl.DataFrame(source)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        msg = f"{name}, a {type(source).__name__}, cannot be read as Arrow: {error}"
        raise TypeError(msg) from error


def _from_batches(
    batches: Iterator[Any], name: str, *, stream: bool
) -> pl.DataFrame | pl.LazyFrame:
    """Scan batches that Python makes one by one; a stream of them is read once."""
    first = pl.DataFrame(next(batches))
    rows = chain([first], map(pl.DataFrame, batches))

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        for number, batch in enumerate(rows):
            if batch.schema != first.schema:
                msg = (
                    f"{name}: the columns of batch {number} are {_shown(batch)}, but "
                    f"those of the first are {_shown(first)}; make all alike"
                )
                raise TypeError(msg)
            yield batch

    if stream:
        return lazy_source(read, first.schema, name="batches")
    return pl.concat(read(()))


def _shown(frame: pl.DataFrame) -> str:
    return ", ".join(f"{name} ({dtype})" for name, dtype in frame.schema.items())


def _scan_dataset(dataset: Any) -> pl.LazyFrame:
    """Scan a pyarrow dataset batch by batch.

    pyarrow's own threads would read ahead of the evaluation, whatever the readahead.
    """
    empty = pl.DataFrame(dataset.schema.empty_table())

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        batches = dataset.to_batches(
            columns=list(columns),
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        )
        for batch in batches:
            yield pl.DataFrame(batch) if columns else pl.DataFrame(height=len(batch))

    return lazy_source(read, empty.schema, name="pyarrow dataset", rereadable=True)
