"""Check a split into train and test: leaks, cold users and items, repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from polars_rank._engine.schema import require_columns
from polars_rank._engine.spill.bounded import bounded
from polars_rank.io.frames import FrameLike, as_polars, same_ids
from polars_rank.recommend.split_log import not_null

Rule: TypeAlias = Literal[
    "global_leak",
    "user_leak",
    "item_leak",
    "cold_users",
    "cold_items",
    "pairs_in_both",
    "repeats_in_train",
    "repeats_in_test",
]
EXAMPLES = 5
MEMORY = 1_000_000_000  # bytes: the rows of more go into buckets on disk
MESSAGES = {
    "global_leak": "test rows before the newest train row: split by time",
    "user_leak": "test rows before the newest train row of their user: "
    "split by last or time",
    "item_leak": "train rows after the first test row of their item: split by time",
    "cold_users": "users of the test without a train row: drop them, or report them "
    "as a group of their own",
    "cold_items": "items of the test without a train row: drop them, or report them "
    "as a group of their own",
    "pairs_in_both": "pairs of user and item in train and test: drop them from the "
    "test, unless repeats are to be predicted",
    "repeats_in_train": "train rows beyond the first of a pair: fine as weights; else "
    "keep one",
    "repeats_in_test": "test rows beyond the first of a pair: keep one, since a "
    "document has one judgment",
}


@dataclass(frozen=True, eq=False)
class SplitReport:
    """The result of :func:`check_split`; printing it shows all findings.

    Attributes
    ----------
    findings
        One row per rule: ``rule``; ``count`` (rows, users, items or pairs that break
        it); ``share`` of all rows (leaks and repeats: of the part they are in), users,
        items or pairs of the test; up to five ``examples`` as text, smallest first; and
        what it is and the way out in ``message``.
    """

    findings: pl.DataFrame

    def __str__(self) -> str:
        """Show each finding with its examples and the way out."""
        lines = []
        for rule, count, share, examples, message in self.findings.rows():
            told = "" if share is None else f" ({share:.1%})"
            lines.append(f"{rule}: {count:,}{told}")
            if count:
                lines += [f"  {message}", f"  e.g. {', '.join(examples)}"]
        return "\n".join(lines)

    __repr__ = __str__


def check_split(
    train: FrameLike,
    test: FrameLike,
    /,
    *,
    user: str = "user_id",
    item: str = "item_id",
    time: str | None = "time",
) -> SplitReport:
    """Check a split into train and test for leaks, cold ids and repeats.

    Rows of the same time are no leak. Files are scanned: users, items, and pairs that
    are there twice are held in memory.

    Parameters
    ----------
    train, test
        One row per interaction.
    user, item, time
        Columns of both; without a time there are no leaks to find.

    Raises
    ------
    DataError
        For an id or a time that is null: ``rule="null_key"``.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import recommend
    >>> train = pl.DataFrame({"user_id": [1], "item_id": [5], "time": [2]})
    >>> test = pl.DataFrame({"user_id": [1], "item_id": [6], "time": [1]})
    >>> recommend.check_split(train, test).findings.select("rule", "count").row(0)
    ('global_leak', 1)
    """
    names = (user, item) if time is None else (user, item, time)
    old, new = same_ids(
        as_polars(train, name="train").lazy(),
        as_polars(test, name="test").lazy(),
        (train, test),
        [(user, user), (item, item)],
    )
    parts = []
    for of, rows in (("train", old), ("test", new)):
        own = dict(zip(("user", "item", "time"), names, strict=False))
        for role, name in own.items():
            require_columns([name], rows.collect_schema(), where=of, argument=role)
        parts.append(rows.select(not_null(c).alias(n) for n, c in own.items()))
    old, new = parts
    plans = _plans(old, new, timed=time is not None)
    found = pl.collect_all(
        [p for pair in plans.values() for p in pair], engine="streaming"
    )
    rows_of = []
    for i, rule in enumerate(plans):
        counted, whole = found[2 * i], found[2 * i + 1].item()
        count = counted["count"].item()
        share = count / whole if whole else None
        rows_of.append(
            (rule, count, share, counted["examples"].item().to_list(), MESSAGES[rule])
        )
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "rule": pl.String,
        "count": pl.Int64,
        "share": pl.Float64,
        "examples": pl.List(pl.String),
        "message": pl.String,
    }
    return SplitReport(pl.DataFrame(rows_of, schema, orient="row"))


def _plans(
    old: pl.LazyFrame, new: pl.LazyFrame, *, timed: bool
) -> dict[str, tuple[pl.LazyFrame, pl.LazyFrame]]:
    """Return the plans of the rows that break each rule, and of how many there are."""
    pair = ["user", "item"]
    size_old, size_new = old.select(pl.len()), new.select(pl.len())
    plans = {}
    if timed:
        newest = old.select(newest=pl.col("time").max())
        late = new.join(newest, how="cross").filter(pl.col("time") < pl.col("newest"))
        own = old.group_by("user").agg(newest=pl.col("time").max())
        later = new.join(own, on="user").filter(pl.col("time") < pl.col("newest"))
        first = new.group_by("item").agg(first=pl.col("time").min())
        after = old.join(first, on="item").filter(pl.col("time") > pl.col("first"))
        shown = ["user", "item", "time"]
        plans["global_leak"] = _counted(late, shown), size_new
        plans["user_leak"] = _counted(later, shown), size_new
        plans["item_leak"] = _counted(after, shown), size_old
    for name in pair:
        known = old.select(name).unique()
        cold = new.select(name).unique().join(known, on=name, how="anti")
        whole = new.select(pl.col(name).n_unique())
        plans[f"cold_{name}s"] = _counted(cold, [name]), whole
    odd = bounded(
        [old.select(pair), new.select(pair)],
        ["user"],
        _odd_pairs,
        limit=MEMORY,
        temp_dir=None,
        progress=None,
        fingerprint="",
    )
    # Three rules read it. In many small chunks, concat_str of Polars 2.1 panics.
    odd = odd.collect(engine="streaming").rechunk().lazy()
    tested = new.select(pair).unique().select(pl.len())
    common = odd.filter(pl.min_horizontal("in0", "in1") > 0)
    plans["pairs_in_both"] = _counted(common, pair), tested
    for i, (part, size) in enumerate((("train", size_old), ("test", size_new))):
        more, beyond = pl.col(f"in{i}") > 1, pl.col(f"in{i}").sum() - pl.len()
        plans[f"repeats_in_{part}"] = _counted(odd.filter(more), pair, beyond), size
    return plans


def _odd_pairs(parts: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Count how often each pair that is there twice is in train and in test."""
    both = [
        rows.with_columns(
            pl.lit(int(i == j), pl.UInt32).alias(f"in{j}") for j in (0, 1)
        )
        for i, rows in enumerate(parts)
    ]
    counts = pl.concat(both).group_by("user", "item").agg(pl.col("in0", "in1").sum())
    return counts.filter(pl.col("in0") + pl.col("in1") > 1)


def _counted(
    rows: pl.LazyFrame, shown: list[str], count: pl.Expr | None = None
) -> pl.LazyFrame:
    """Count rows and show the smallest as text."""
    counted = pl.len() if count is None else count
    text = pl.concat_str([pl.format(f"{n} {{}}", n) for n in shown], separator=", ")
    return rows.select(
        counted.cast(pl.Int64).alias("count"),
        text.bottom_k(EXAMPLES).sort().implode().alias("examples"),
    )
