"""A hash of ids that never changes: states are kept for years.

Each byte b at place i of the text of an id gives what SplitMix64 returns from the state
b + 256 i, and the hash is what it returns from their sum plus the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

if TYPE_CHECKING:
    import numpy as np

    Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


def key_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Write the values of a key as text."""
    key = pl.col(name)
    return key.bin.encode("hex") if dtype == pl.Binary else key.cast(pl.String)


def stable_hash(texts: Sequence[pl.Expr]) -> pl.Expr:
    """Hash what all texts are together to a number of 64 bits.

    Polars' own hashes may change with its version. Of a hundred million ids two have
    the same number with probability 0.0003.
    """
    text = pl.concat_str(texts, separator="\x1f")
    return text.map_batches(_hashes, return_dtype=pl.UInt64, is_elementwise=True)


def _hashes(text: pl.Series) -> pl.Series:
    """Sum mixed bytes, each with its place in the text, and mix once more."""
    import numpy as np

    joined = np.frombuffer(text.str.join("").item().encode(), np.uint8)
    length = text.str.len_bytes().fill_null(0).to_numpy()
    ends = np.cumsum(length, dtype=np.int64)
    place = np.arange(len(joined)) - np.repeat(ends - length, length)
    mixed = _mixed(joined + place.astype(np.uint64) * np.uint64(256))
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed)])
    total = running[ends] - running[ends - length]
    return pl.Series(text.name, _mixed(total + length.astype(np.uint64)))


def _mixed(numbers: Hashes) -> Hashes:
    """Return what SplitMix64 does from each state (Steele, Lea and Flood, 2014)."""
    import numpy as np

    steps = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in steps:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
