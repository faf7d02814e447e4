"""History and items of an evaluation in parts: digests prove that all have the same."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.core.exact.state import State, hashed
from polars_rank.exceptions import DataError

ABOUT_ITEMS = "about_items"  # column of a partial: digests of the history and the items


def digest_of_items(history: AnyFrame | None, items: AnyFrame | None) -> dict[str, str]:
    """Return the column with the digests of the history and the items, if there is one.

    What a part has, such as the interactions of one day, would make another popularity
    of the items in every part.
    """
    frames = {"history": history, "items": items}
    digests = (f"{n} {_digest(f.lazy())}" for n, f in frames.items() if f is not None)
    text = "; ".join(digests)
    return {ABOUT_ITEMS: text} if text else {}


def _digest(frame: pl.LazyFrame) -> str:
    rows = frame.select(hashed([*frame.collect_schema()]).sum())
    return f"p{rows.collect(engine='streaming').item()}"


def require_same_items(states: Sequence[State]) -> dict[str, str]:
    """Refuse partials of different histories or items; return the column of all."""
    first: tuple[str, str] | None = None
    for name, frame in states:
        if ABOUT_ITEMS not in frame.columns:
            continue
        for text in frame[ABOUT_ITEMS].drop_nulls().unique().to_list():
            first = first or (name, text)
            if text != first[1]:
                msg = (
                    f"{name} was made with another history or other items than "
                    f"{first[0]}: give all parts all interactions, and the whole "
                    "catalog, with the same columns and types"
                )
                raise DataError(msg, rule="different_items", count=1)
    return {} if first is None else {ABOUT_ITEMS: first[1]}
