"""Split a log of interactions into train and test, lazily and by hash."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.schema import require_columns
from polars_rank._engine.spill.bounded import bounded
from polars_rank.core.exact.stable_hash import key_text, stable_hash
from polars_rank.core.parameters import is_whole
from polars_rank.core.source import is_rereadable, lazy_source, require_rereadable
from polars_rank.exceptions import DataError, counted
from polars_rank.io.frames import FrameLike, as_polars

How: TypeAlias = Literal["last", "time", "users"]
Ties: TypeAlias = Literal["item", "hash"]
HOWS, TIES = ("last", "time", "users"), ("item", "hash")
PLACE, SINCE = "polars_rank.place", "polars_rank.since"
MEMORY = 500_000_000  # bytes: the ids and times of more rows go into buckets on disk
CUTS = 4096  # intervals of times that are counted


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
        For an id or a time that is null: ``rule="null_key"``. For ``"last"``, and for
        ``"time"`` without ``test_start``, of rows that can be read only once:
        ``rule="read_once"``.

    Notes
    -----
    The hash is that of the text ``seed``, unit separator (U+001F), user; for ties, with
    another separator and the item. Each byte b in UTF-8, at place i from 0 on, gives
    what SplitMix64 returns from the state b + 256 i (it adds 0x9E3779B97F4A7C15, then
    mixes). The hash is what it returns from their sum plus the number of bytes, modulo
    2^64; it depends on no version of Polars. A user is in the test if the hash is below
    ``test_share`` x 2^64.

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
            key = stable_hash([pl.lit(str(seed)), key_text(user, schema[user])])
            tested = key < int(test_share * 2**64)
        elif test_start is not None:
            tested = pl.col(time) >= test_start
        else:
            rows, tested = _newest(rows, time, test_share)
        train, test = (rows.filter(t).select(schema.names()) for t in (~tested, tested))
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
    keys = [key_text(name, schema[name]) for name in (user, item)]
    later = stable_hash([pl.lit(str(seed)), *keys]) if ties == "hash" else pl.col(item)
    placed = rows.with_row_index(PLACE)
    order = {"user": pl.col(user), "time": pl.col(time), "later": later}

    def last(parts: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        ordered = parts[0].sort(*order, PLACE).group_by("user", maintain_order=True)
        return ordered.agg(pl.col(PLACE).tail(n)).select(pl.col(PLACE).explode())

    found = bounded(
        [placed.select(PLACE, **order)],
        ["user"],
        last,
        limit=MEMORY,
        temp_dir=None,
        progress=None,
        fingerprint="",
    )
    places = _apart(
        "last rows of users",
        rows,
        found.collect_schema(),
        lambda: found.collect(engine="streaming"),
    )
    train = placed.join(places, on=PLACE, how="anti", maintain_order="left")
    test = placed.join(places, on=PLACE, how="semi", maintain_order="left")
    return train.drop(PLACE), test.drop(PLACE)


def _newest(
    rows: pl.LazyFrame, time: str, share: float
) -> tuple[pl.LazyFrame, pl.Expr]:
    """Return the rows and which of them are after the last time of train."""
    times = rows.select(pl.col(time).alias(SINCE))
    last = _apart(
        "last time of train",
        rows,
        times.collect_schema(),
        lambda: last_of_train(times, share),
    )
    marked = rows.join(last, how="cross", maintain_order="left")
    after = (pl.col(time) > pl.col(SINCE)).alias(SINCE)
    return marked.with_columns(after), pl.col(SINCE)


def _apart(
    name: str, rows: pl.LazyFrame, schema: pl.Schema, found: Callable[[], pl.DataFrame]
) -> pl.LazyFrame:
    """Read what is found in the rows by a plan of its own.

    In one plan with them, Polars would hold all rows so as to read them once.
    """

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        require_rereadable(rows)
        yield found()

    return lazy_source(read, schema, name=name, rereadable=is_rereadable(rows))


def last_of_train(times: pl.LazyFrame, share: float) -> pl.DataFrame:
    """Return the time up to which all but at most the share of the rows come.

    Some times cut all into intervals, whose rows are counted; rows of the one that has
    the time are counted by time. By rank, not by quantile: a float does not hold
    nanoseconds exactly.
    """
    time, interval, end = pl.col(SINCE), pl.col("interval"), pl.col("end")
    size = times.select(pl.len()).collect(engine="streaming").item()
    if not size:
        return times.select(time.max()).collect()
    # As it is written: 1 - 0.7 as a float is more than 0.3.
    nth = size - math.floor(Fraction(str(share)) * size)
    every = times.with_row_index(PLACE).filter(pl.col(PLACE) % (size // CUTS + 1) == 0)
    cuts = every.select(time).unique().collect(engine="streaming").to_series().sort()
    within = time.map_batches(
        cuts.search_sorted, return_dtype=pl.UInt32, is_elementwise=True
    )

    def counted(rows: pl.LazyFrame, by: pl.Expr) -> pl.DataFrame:
        counts = rows.group_by(by.alias("interval")).len().collect(engine="streaming")
        return counts.sort("interval").with_columns(end=pl.col("len").cum_sum())

    number, count, last = counted(times, within).filter(end >= nth).row(0)
    rest = counted(times.filter(within == number), time)
    later = rest.filter(end + last - count >= nth)
    return later.select(interval.first().alias(SINCE))


def not_null(name: str) -> pl.Expr:
    """Refuse null in a column when it passes."""

    def passed(values: pl.Series) -> pl.Series:
        if count := values.null_count():
            msg = (
                f"{name!r} is null in {counted(count, 'row')}: drop or fill them first"
            )
            raise DataError(msg, rule="null_key", count=count)
        return values

    return pl.col(name).map_batches(
        passed, return_dtype=pl.self_dtype(), is_elementwise=True
    )
