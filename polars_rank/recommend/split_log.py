"""Split a log of interactions into train and test, lazily and by hash."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.schema import require_columns
from polars_rank.clicks.behavior.cluster_states import hashed, key_text
from polars_rank.core.parameters import is_whole
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars

How: TypeAlias = Literal["last", "time", "users"]
Ties: TypeAlias = Literal["item", "hash"]
HOWS, TIES = ("last", "time", "users"), ("item", "hash")


class Split(NamedTuple):
    """Both parts of a log; every row is in one of them, in the order of the log."""

    train: Any
    test: Any


def split(
    log: FrameLike,
    how: How = "last",
    *,
    user: str = "user_id",
    item: str = "item_id",
    time: str = "time",
    n_last: int = 1,
    ties: Ties = "item",
    test_start: Any = None,
    test_share: float = 0.2,
    seed: int = 0,
) -> Split:
    """Split interactions into train and test; the same on every machine.

    Parameters
    ----------
    log
        One row per interaction.
    how
        ``"last"``: the last ``n_last`` rows of each user are the test (RecTools
        ``LastNSplitter``); a user with no more than these has no row in train.
        ``"time"``: rows from ``test_start`` on are; without ``test_start``, from the
        time on after which at most ``test_share`` of the rows come. Rows of one time
        stay together. ``"users"``: all rows of a ``test_share`` of the users, by hash.
    user, item, time
        Columns; ``"users"`` needs the user alone, and ``"time"`` the time.
    n_last
        Test rows per user.
    ties
        Which of two rows of a user at one time is later: that with the larger
        ``"item"``, or that with the larger ``"hash"`` of seed, user and item. Rows that
        agree in all three keep their order in the log.
    test_start
        First time of the test.
    test_share
        Share of rows (``"time"``) or users (``"users"``), between 0 and 1.
    seed
        Seed of the hash.

    Returns
    -------
    ``train`` and ``test``: lazy for a LazyFrame or a file.

    Raises
    ------
    ValueError
        For a word that is none of the above, ``n_last`` below 1, or ``test_share`` not
        between 0 and 1.
    DataError
        For an id or a time that is null: ``rule="null_key"``.

    Notes
    -----
    The hash is that of the text ``seed``, unit separator (U+001F), user: each byte b at
    place i gives the finalizer of SplitMix64 of b + 256 i, and the finalizer of their
    sum plus the length is the hash. It depends on no version of Polars. A user is in
    the test if the hash is below ``test_share`` x 2^64.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import recommend
    >>> log = pl.DataFrame({"user_id": [1, 1], "item_id": [5, 6], "time": [1, 2]})
    >>> recommend.split(log, "last").test.row(0)
    (1, 6, 2)
    """
    for name, given, known in (("how", how, HOWS), ("ties", ties, TIES)):
        if given not in known:
            msg = f"{name} must be one of {', '.join(known)}, not {given!r}"
            raise ValueError(msg)
    if not is_whole(n_last) or n_last < 1:
        msg = f"n_last must be a whole number of at least 1, not {n_last!r}"
        raise ValueError(msg)
    if not 0 < test_share < 1:
        msg = f"test_share must be between 0 and 1, not {test_share}"
        raise ValueError(msg)
    frame = as_polars(log, name="log")
    rows = frame.lazy()
    schema = rows.collect_schema()
    roles = {"user": user, "item": item, "time": time}
    needed = {"last": ("user", "item", "time"), "time": ("time",), "users": ("user",)}
    for role in needed[how]:
        require_columns([roles[role]], schema, where="the log", argument=role)
    rows = rows.with_columns(not_null(roles[role]) for role in needed[how])
    if how == "last":
        train, test = _last(rows, schema, (user, item, time), n_last, ties, seed)
    else:
        if how == "users":
            key = hashed([pl.lit(str(seed)), key_text(user, schema[user])])
            tested = key < int(test_share * 2**64)
        elif test_start is not None:
            tested = pl.col(time) >= test_start
        else:
            # By rank, not by quantile: a float does not hold nanoseconds exactly.
            before = pl.col(time).rank("min") - 1
            tested = before >= (1 - test_share) * pl.len()
        train, test = rows.filter(~tested), rows.filter(tested)
    if isinstance(frame, pl.DataFrame):
        return Split(train.collect(), test.collect())
    return Split(train, test)


def _last(
    rows: pl.LazyFrame,
    schema: pl.Schema,
    columns: tuple[str, str, str],
    n: int,
    ties: Ties,
    seed: int,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    user, item, time = columns
    place, newest = "polars_rank.place", "polars_rank.newest"
    keys = [key_text(name, schema[name]) for name in (user, item)]
    broken = hashed([pl.lit(str(seed)), *keys]) if ties == "hash" else pl.col(item)
    placed = rows.with_row_index(place)
    # Only rows at the last times of their user are sorted: a log need not be held.
    since = rows.group_by(user).agg(pl.col(time).top_k(n).min().alias(newest))
    places = (
        placed.join(since, on=user)
        .filter(pl.col(time) >= pl.col(newest))
        .sort(user, time, broken, place)
        .group_by(user)
        .agg(pl.col(place).tail(n))
        .select(pl.col(place).explode())
    )
    train = placed.join(places, on=place, how="anti", maintain_order="left")
    test = placed.join(places, on=place, how="semi", maintain_order="left")
    return train.drop(place), test.drop(place)


def not_null(name: str) -> pl.Expr:
    """Refuse null in a column when it passes."""

    def passed(values: pl.Series) -> pl.Series:
        if count := values.null_count():
            msg = f"{name!r} is null in {count} rows: drop or fill them first"
            raise DataError(msg, rule="null_key", count=count)
        return values

    return pl.col(name).map_batches(passed, is_elementwise=True)
