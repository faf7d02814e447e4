"""Lazy frames whose rows a Python function reads; which frames can be read twice.

Polars hands such a function the columns, the filter and the number of rows that the
plan around it needs. A number of rows always comes first: ``head(5).filter(...)``
reaches the function as both, ``filter(...).head(5)`` as the filter alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from polars_rank.core.fork import note_run
from polars_rank.core.rules import READ_ONCE
from polars_rank.exceptions import DataError

Read: TypeAlias = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
Narrow: TypeAlias = Callable[[pl.Expr], Read | None]


def lazy_source(
    read: Read,
    schema: pl.Schema | dict[str, pl.DataType],
    *,
    name: str,
    detail: str | None = None,
    drain: bool = False,
    rereadable: bool = False,
    files: Sequence[Path] = (),
    narrow: Narrow | None = None,
) -> pl.LazyFrame:
    """Scan what ``read`` yields.

    Parameters
    ----------
    read
        Given the names of columns, yields frames that have at least these.
    schema
        All columns.
    name, detail
        What ``explain`` shows.
    drain
        Whether to read to the end even when enough rows were seen, because ``read``
        verifies something at the end.
    rereadable
        Whether ``read`` yields the same rows however often it is called.
    files
        Local files, if they and a picklable ``read`` determine the rows: then an
        interrupted evaluation can be resumed.
    narrow
        Given a filter, a ``read`` that may leave out rows that do not pass it, or None.
    """
    source = Source(read, tuple(schema), drain, rereadable, tuple(files), narrow)
    return pl.LazyFrame._scan_python_function(
        schema=schema,
        scan_fn=source,
        pyarrow=False,
        validate_schema=True,
        is_pure=True,
        explain_name=name,
        explain_detail=detail,
    )


@dataclass(frozen=True, eq=False)
class Source:
    """The callable of a scan; as an object it can be recognized in a plan, and pickled.

    ``register_io_source`` would hide it in a function.
    """

    read: Read
    columns: tuple[str, ...]
    drain: bool
    rereadable: bool
    files: tuple[Path, ...]
    narrow: Narrow | None = None

    def __call__(
        self,
        columns: list[str] | None,
        predicate: bytes | None,
        n_rows: int | None,
        _batch_size: int | None,
    ) -> tuple[Iterator[pl.DataFrame], bool]:
        """Return the batches, and whether they are filtered."""
        try:
            parsed = pl.Expr.deserialize(predicate) if predicate else None
        except Exception:  # then Polars filters
            return self._batches(columns, None, n_rows), False
        if parsed is not None and not parsed.meta.root_names():
            # Of 16,384 rows, Polars 2.1 cannot filter a frame in memory by a constant.
            return self._batches(columns, None, n_rows), False
        return self._batches(columns, parsed, n_rows), True

    def _batches(
        self, columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        note_run()
        asked = self.columns if columns is None else columns
        left, read = n_rows, self.read
        if predicate is not None and n_rows is None and self.narrow is not None:
            read = self.narrow(predicate) or read
        for batch in _told(read(asked)):
            if left is not None:
                batch = batch.head(left)
                left -= batch.height
            if predicate is not None:
                batch = batch.filter(predicate)
            # A frame without columns still has its height.
            yield batch.select(asked) if asked else pl.DataFrame(height=len(batch))
            if left == 0 and not self.drain:
                return


def _told(batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Pass on the batches; tell a panic of Polars as an error.

    Else ``collect_batches`` of a plan around it would end without one, and without the
    rest of the rows.
    """
    try:
        yield from batches
    except pl.exceptions.PanicException as error:
        msg = f"Polars panicked, which is a fault of its own: {error}"
        raise RuntimeError(msg) from error


END = "end of the rows"


def batches_of(frame: pl.LazyFrame, **how: Any) -> Iterator[pl.DataFrame]:
    """Yield the rows batch by batch, on the streaming engine, to the last one.

    Where a thread of Polars 2.1 panics, ``collect_batches`` ends as if there were no
    more rows. So a row of its own comes behind all others, and must be there.
    """
    schema = frame.collect_schema()
    if not schema:  # rows without a column can only be counted
        yield from frame.collect_batches(engine="streaming", lazy=True, **how)
        return
    last = pl.DataFrame(schema=schema).clear(1).with_columns(pl.lit(True).alias(END))
    ended = frame.with_columns(pl.lit(None, pl.Boolean).alias(END))
    batches = pl.concat([ended, last.lazy()]).collect_batches(
        engine="streaming", lazy=True, **how
    )
    complete = False
    for place, batch in enumerate(batches):
        if len(batch) and batch.get_column(END).item(-1):
            complete, batch = True, batch.head(-1)
            if place and batch.is_empty():
                break
        yield batch.drop(END)
    if not complete:
        msg = (
            "Polars stopped before the end of the rows without an error, which is a "
            "fault of its own: what it wrote to standard error tells where"
        )
        raise RuntimeError(msg)


def without_pushdown(source: pl.LazyFrame) -> pl.LazyFrame:
    """Block predicate pushdown: Python filters would have to be pickled."""
    return source.map_batches(
        lambda rows: rows, predicate_pushdown=False, streamable=True
    )


def is_rereadable(frame: pl.LazyFrame) -> bool:
    """Return whether every collection of the frame is known to see the same rows.

    True for data in memory, files, and the sources of this package. Unknown for others
    that Python reads: a stream such as ``pl.scan_arrow_c_stream(reader)`` is spent
    after one pass.
    """
    return all(map(_is_rereadable, _leaves(frame)))


def has_source(frame: pl.LazyFrame) -> bool:
    """Return whether a Python function reads some of the rows."""
    return any(_scan_of(plan) is not None for plan in _leaves(frame))


def _leaves(frame: pl.LazyFrame) -> Iterator[Any]:
    """Return the plan at each of its source nodes."""
    # Polars 2.1 has no public way to ask for the sources of a plan. This is the view of
    # it that other engines get; text such as ``explain`` names no Python object.
    plan = frame._ldf.visit()
    left = [plan.get_node()]
    while left:
        plan.set_node(left.pop())
        inputs = plan.get_inputs()
        if not inputs:
            yield plan
        left += inputs


def _is_rereadable(plan: Any) -> bool:
    options = _scan_of(plan)
    if options is None:
        return True
    scan, _, kind, *_ = options
    return (isinstance(scan, Source) and scan.rereadable) or kind == "pyarrow"


def _scan_of(plan: Any) -> Sequence[Any] | None:
    """Return the options of a scan by a Python function, or None."""
    try:
        node = plan.view_current_node()
    except NotImplementedError:  # a scan of Polars' own that it does not show
        return None
    return node.options if type(node).__name__ == "PythonScan" else None


def require_rereadable(*frames: pl.LazyFrame) -> None:
    """Raise ``DataError`` if a frame that was read cannot be read again.

    If that is unknown, the rows are counted twice: a stream that was partly read first
    gives the rest of its rows, and then none.
    """
    for frame in frames:
        if not is_rereadable(frame):
            first, second = (_rows(frame) for _ in range(2))
            if first != second or not first:
                raise DataError(READ_ONCE.message, rule=READ_ONCE.name)


def _rows(frame: pl.LazyFrame) -> int:
    rows: int = frame.select(pl.len()).collect(engine="streaming").item()
    return rows
