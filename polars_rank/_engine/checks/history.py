"""Check that the history is about the items, and the users, of the lists.

A few lists are looked at as they pass, and the history until it has one of their items.
Only if it seems to have none are all rows of both read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from polars_rank._engine.checks.enforce import PASSES, passed, raise_or_warn, warn
from polars_rank._engine.checks.totals import first_ids, is_empty
from polars_rank._engine.inputs import Inputs
from polars_rank._engine.request import Request
from polars_rank._engine.stages.rank import LISTED
from polars_rank._engine.stages.recommendation.evaluate_lists import words_of
from polars_rank._engine.stages.recommendation.items import WORDS, bind_items
from polars_rank.core.rules import NO_COMMON_ITEM
from polars_rank.core.source import is_rereadable
from polars_rank.exceptions import DataError

OF_ITEMS, OF_USERS = {*WORDS, "seen"}, {"seen", "past"}
OF_HISTORY = OF_ITEMS | OF_USERS
ENOUGH = 100  # lists that are looked at
NO_COMMON_USER = (
    "{measures}: no user of the lists is in history=, so that all of them count as "
    "new; the lists have users like {listed}, history= like {known}; if these should "
    "be the same users, check query= and the spelling of the ids"
)


class _Ids(NamedTuple):
    """Ids that the history should have some of.

    ``listed`` takes them from lists, ``whole`` has all that there could be; ``tell`` is
    called with examples if the history has none.
    """

    columns: list[str]
    listed: pl.Expr
    whole: pl.LazyFrame
    tell: Callable[[str, str], None]


def check_history(
    request: Request, inputs: Inputs, lists: pl.LazyFrame
) -> pl.LazyFrame:
    """Pass the ``lists``, a row per query; check what measures read of the history.

    A part of the data may well have nothing in common with it, and is not checked.
    """
    if request.history is None or request.check == "off" or request.part:
        return lists
    reads = {m.name: words_of(request, m) for m in request.measures}
    run, frames = inputs.run.frame, (request.history, request.items)
    read = [run, *(frame for frame in frames if frame is not None)]
    if not any(words & OF_HISTORY for words in reads.values()):
        return lists
    if not all(map(is_rereadable, read)):
        return lists
    known = bind_items(request, inputs, lists.collect_schema(), ())
    assert known.history is not None

    def measures(words: set[str]) -> str:
        return ", ".join(name for name, own in reads.items() if own & words)

    def refuse(names: str, where: str, listed: str, found: str) -> None:
        message = NO_COMMON_ITEM.message.format(
            measures=names, where=where, listed=listed, known=found
        )
        error = DataError(message, rule=NO_COMMON_ITEM.name)
        raise_or_warn(error, warns=request.check == "warn")

    def tell(listed: str, found: str) -> None:
        names = measures(OF_USERS)
        warn(NO_COMMON_USER.format(measures=names, listed=listed, known=found))

    items = pl.col(LISTED).explode().struct.field("doc")
    common = []
    if names := measures(OF_ITEMS):
        refused = partial(refuse, names, "the lists")
        common.append(_Ids(["doc"], items, run, refused))
    elif known.items is not None:  # the past is that of items with a feature
        refused = partial(refuse, measures(OF_USERS), "items=")
        common.append(_Ids(["doc"], items, known.items, refused))
    if measures(OF_USERS):
        common.append(_Ids([*known.keys], pl.col(known.keys), run, tell))
    for ids in common:
        lists = _checked(lists, ids, known.history)
    return lists


def _checked(lists: pl.LazyFrame, ids: _Ids, history: pl.LazyFrame) -> pl.LazyFrame:
    """Pass the lists, of which the first that have ids are looked at."""
    read = [LISTED] if ids.columns == ["doc"] else ids.columns
    types = history.collect_schema()
    whole = ids.whole.select(pl.col(n).cast(types[n]) for n in ids.columns)
    looked: list[object] = []  # of several threads, the first

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        if looked:
            return PASSES
        rows = pl.DataFrame(dict(zip(read, columns, strict=True))).head(ENOUGH)
        first = rows.select(ids.listed).drop_nulls().unique()
        if first.is_empty():
            return PASSES
        looked.append(columns)
        if looked[0] is not columns or not _apart(first.lazy(), history, ids.columns):
            return PASSES
        if not is_empty(history) and _apart(whole, history, ids.columns):
            examples = [first_ids(frame, ids.columns) for frame in (whole, history)]
            try:
                ids.tell(*examples)
            except Exception:
                looked.clear()  # an error comes each time, a warning once
                raise
        return PASSES

    return passed(lists, read, passes)


def _apart(left: pl.LazyFrame, history: pl.LazyFrame, columns: list[str]) -> bool:
    """Tell whether the history has none of the ids."""
    return is_empty(history.select(columns).join(left, on=columns, how="semi"))
