"""Read kept sums: each file on its own, so that an error can name it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, cast

import polars as pl

from polars_rank.core.exact.state import State, named
from polars_rank.io.files import given_name
from polars_rank.io.frames import FrameLike, as_polars, is_path, is_single
from polars_rank.io.scan import scan_each
from polars_rank.io.unreadable import damage_named, files_of

Opened: TypeAlias = tuple[str, pl.LazyFrame]
Given: TypeAlias = tuple[str, pl.DataFrame | pl.LazyFrame]


def read_states(given: FrameLike | Iterable[FrameLike], one: str) -> list[State]:
    """Read the states in frames of any library and in files; ``one`` names one."""
    return collected(_named_frames(given, one))


def open_states(given: FrameLike | Iterable[FrameLike], one: str) -> list[Opened]:
    """Open the same states without reading them: one for each file."""
    return [(name, frame.lazy()) for name, frame in _named_frames(given, one)]


def _named_frames(given: FrameLike | Iterable[FrameLike], one: str) -> list[Given]:
    """Name the states, one for each file."""
    single = is_single(given) or not isinstance(given, Iterable)
    several = [given] if single else list(cast("Iterable[FrameLike]", given))
    frames = [frame for source in several for frame in _frames(source, one)]
    names = named((_file(frame) for frame in frames), one)
    return list(zip(names, frames, strict=True))


def collected(opened: Sequence[Given]) -> list[State]:
    """Read these states, unless they are in memory."""
    with damage_named([f for _, f in opened if isinstance(f, pl.LazyFrame)]):
        return [
            State(name, frame if isinstance(frame, pl.DataFrame) else frame.collect())
            for name, frame in opened
        ]


def _frames(source: object, one: str) -> Iterator[pl.DataFrame | pl.LazyFrame]:
    if is_path(source):
        yield from scan_each(source)
    else:
        yield as_polars(cast("FrameLike", source), name=one)


def _file(frame: pl.DataFrame | pl.LazyFrame) -> str | None:
    """Return the file that a frame reads, if it reads one."""
    if isinstance(frame, pl.DataFrame):
        return None
    try:
        files = files_of(frame)
    except ValueError:
        return None
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{given_name(files[0])}{more}" if files else None
