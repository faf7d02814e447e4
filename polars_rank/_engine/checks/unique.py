"""Whether keys are unique, as they pass."""

from __future__ import annotations

import polars as pl

from polars_rank.core.source import require_rereadable

__all__ = ["Keys", "Ticks"]


class Keys:
    """Whether keys are unique, in constant memory while they ascend.

    The ascending keys at the start are a range. Of the others, whole numbers near each
    other are ticked off; of the rest a hash is kept. What these leave open (a key
    inside the range, two equal hashes) is counted again, among the ``query`` of
    ``rows``.
    """

    def __init__(self, rows: pl.LazyFrame) -> None:
        self.rows = rows
        self.first: pl.Series | None = None
        self.last: pl.Series | None = None
        self.count = 0
        self.open = False
        self.ticks: Ticks | None = None
        self.hashes: list[pl.Series] = []

    def add(self, keys: pl.Series) -> None:
        """Take the next keys."""
        if keys.is_empty():
            return
        self.count += len(keys)
        if self.ticks is None and not self.hashes and self._ascend(keys):
            self.first = keys.head(1) if self.first is None else self.first
            self.last = keys.tail(1)
            return
        if self.first is not None and self.last is not None:
            # As series: a Python value of a key may be rounded, or not compare.
            inside = (keys >= self.first) & (keys <= self.last)
            self.open |= bool(inside.fill_null(value=True).any())
        if keys.dtype.is_integer():
            self.ticks = self.ticks or Ticks(keys)
            keys = self.ticks.add(keys)
        self.hashes.append(keys.hash())

    def _ascend(self, keys: pl.Series) -> bool:
        if keys.dtype.is_nested() or keys.null_count():
            return False
        if self.last is not None:
            keys = pl.concat([self.last, keys])
        return bool((keys.slice(1) > keys.head(len(keys) - 1)).all())

    def unique(self) -> bool:
        """Whether no key came twice; asked once, at the end."""
        if self.ticks is not None and not self.ticks.unique():
            return False
        if self.hashes:
            hashes = pl.concat(self.hashes)
            self.hashes.clear()
            hashes = hashes.sort()
            self.open |= bool((hashes.slice(1) == hashes.head(len(hashes) - 1)).any())
        if not self.open:
            return True
        require_rereadable(self.rows)
        found = self.rows.select(pl.col("query").n_unique()).collect(engine="streaming")
        return bool(found.item() == self.count)


class Ticks:
    """A bit for each whole number of the window that holds the least of the ``first``.

    There are as many bits as the keys need, at most 8 MB.
    """

    WINDOW = 2**26

    def __init__(self, first: pl.Series) -> None:
        least = first.cast(pl.Int64, strict=False).min()
        self.start = (least if isinstance(least, int) else 0) // self.WINDOW
        self.start *= self.WINDOW
        self.ticked = pl.Series(dtype=pl.Boolean)
        self.count = 0

    def add(self, keys: pl.Series) -> pl.Series:
        """Tick these keys off; those that are not in the window."""
        place = keys.cast(pl.Int64, strict=False) - self.start
        inside = place.is_between(0, self.WINDOW - 1).fill_null(value=False)
        place = place.filter(inside)
        self._make_room(place)
        self.ticked.scatter(place.cast(pl.UInt32), values=True)
        self.count += len(place)
        return keys.filter(~inside)

    def _make_room(self, place: pl.Series) -> None:
        last, size = place.max(), len(self.ticked)
        if isinstance(last, int) and last >= size:
            more = max(last + 1, 2 * size) - size
            self.ticked = self.ticked.extend_constant(value=False, n=more)

    def unique(self) -> bool:
        """Whether no key in the window came twice."""
        return self.ticked.sum() == self.count
