"""Uniqueness of keys in a stream, in little memory."""

from __future__ import annotations

import polars as pl

from polars_rank.core.source import require_rereadable


class UniquenessCheck:
    """Check that keys are unique while they stream past.

    It keeps a range while keys ascend, a bitmap for dense integers, hashes otherwise.
    Ambiguous cases (a key inside the range, two equal hashes) are recounted exactly,
    from the ``key`` column of ``rows``.
    """

    def __init__(self, rows: pl.LazyFrame, key: str = "query") -> None:
        self.rows = rows
        self.key = key
        self.first: pl.Series | None = None
        self.last: pl.Series | None = None
        self.count = 0
        self.open = False
        self.bitmap: Bitmap | None = None
        self.hashes: list[pl.Series] = []

    def add(self, keys: pl.Series) -> None:
        """Take the next keys."""
        if keys.is_empty():
            return
        self.count += len(keys)
        if self.bitmap is None and not self.hashes and self._ascend(keys):
            self.first = keys.head(1) if self.first is None else self.first
            self.last = keys.tail(1)
            return
        if self.first is not None and self.last is not None:
            # As series: a Python value of a key may be rounded, or not compare.
            inside = (keys >= self.first) & (keys <= self.last)
            self.open |= bool(inside.fill_null(value=True).any())
        if keys.dtype.is_integer():
            self.bitmap = self.bitmap or Bitmap(keys)
            keys = self.bitmap.add(keys)
        self.hashes.append(keys.hash())

    def _ascend(self, keys: pl.Series) -> bool:
        if keys.dtype.is_nested() or keys.null_count():
            return False
        if self.last is not None:
            keys = pl.concat([self.last, keys])
        return bool((keys.slice(1) > keys.head(len(keys) - 1)).all())

    def unique(self) -> bool:
        """Return whether no key came twice; asked once, at the end."""
        if self.bitmap is not None and not self.bitmap.unique():
            return False
        if self.hashes:
            hashes = pl.concat(self.hashes)
            self.hashes.clear()
            hashes = hashes.sort()
            self.open |= bool((hashes.slice(1) == hashes.head(len(hashes) - 1)).any())
        if not self.open:
            return True
        require_rereadable(self.rows)
        queries = self.rows.select(pl.col(self.key).n_unique())
        return bool(queries.collect(engine="streaming").item() == self.count)


class Bitmap:
    """A bit for each integer of the window that holds the smallest of the ``first``.

    It has as many bits as the keys need, at most 8 MB.
    """

    WINDOW = 2**26  # aligned, so that a first key in the middle has room on both sides

    def __init__(self, first: pl.Series) -> None:
        least = first.cast(pl.Int64, strict=False).min()
        self.start = (least if isinstance(least, int) else 0) // self.WINDOW
        self.start *= self.WINDOW
        self.bits = pl.Series(dtype=pl.Boolean)
        self.count = 0

    def add(self, keys: pl.Series) -> pl.Series:
        """Set the bits of these keys; return the keys outside the window."""
        place = keys.cast(pl.Int64, strict=False) - self.start
        inside = place.is_between(0, self.WINDOW - 1).fill_null(value=False)
        place = place.filter(inside)
        self._make_room(place)
        self.bits.scatter(place.cast(pl.UInt32), values=True)
        self.count += len(place)
        return keys.filter(~inside)

    def _make_room(self, place: pl.Series) -> None:
        last, size = place.max(), len(self.bits)
        if isinstance(last, int) and last >= size:
            more = max(last + 1, 2 * size) - size
            self.bits = self.bits.extend_constant(value=False, n=more)

    def unique(self) -> bool:
        """Return whether no key in the window came twice."""
        return self.bits.sum() == self.count
