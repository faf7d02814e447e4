"""Orders of tied documents, among which are the best and the worst.

Each way to order them is a set of orders that holds one with the lowest and one with
the highest value of a measure. They are evaluated as queries of their own, whose rows
come in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from math import factorial
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.weights import custom_gain
from polars_rank.measures.measure import Measure

Way: TypeAlias = Literal["grades", "gains", "judged", "relevant", "inside", "every"]

# "grades": by grade, up or down. Exchanging two tied neighbors so that the better one
# comes first never lowers these (or never raises them: arp, clicks). "gains": the same,
# by a gain that does not rise with the grade. "judged": what is judged first, or last.
# "relevant": the relevant first, then the unjudged, or the reverse. "inside": some
# relevant, or judged, documents of the block that the cutoff divides are inside.
WAYS: Mapping[str, Way] = {
    **dict.fromkeys(
        (
            "accuracy", "precision", "recall", "f1", "f_measure", "rr", "ap", "gm_ap",
            "yaap", "cg", "dcg", "ndcg", "err", "nerr", "pfound", "rbp", "sdcg", "insq",
            "inst", "nerr8", "nerr9", "nerr10", "nerr11", "q_measure", "ncu_rb",
            "o_measure", "r_precision", "interpolated_precision", "eleven_point_ap",
            "bpref", "gm_bpref", "inf_ap", "hits", "compat", "partial_auc",
            "average_ndcg", "r_ndcg", "binary_g_measure", "arp", "first_click",
             "last_click", "mean_click", "mean_rr", "p_skip",
        ),
        "grades",
    ),
    **dict.fromkeys(("judged", "unjudged", "rbp_residual"), "judged"),
    **dict.fromkeys(("fall_out", "mcc", "binary_accuracy"), "relevant"),
    "mean_label": "inside",
}  # fmt: skip
WEIGHED = frozenset(("cg", "dcg", "ndcg", "sdcg", "insq", "rbp"))  # sums of gains
BLOCK, ORDER, TURNED = "tie block", "tie order", "tie turned"  # columns; no user's


def way_of(measure: Measure, arguments: Mapping[str, Any], *, judged: bool) -> Way:
    """Return the smallest set of orders that is known to suffice.

    ``judged`` tells whether every document has a label.
    """
    name, k, rel = measure.metric, arguments.get("k"), arguments.get("rel")
    if not measure.definition.tie_sensitive:
        return "grades"
    if not isinstance(arguments.get("gain", "linear"), str):
        return "gains" if name in WEIGHED else "every"
    if name == "ap" and arguments["divisor"] == "hits" and k is not None:
        return "inside"
    way = WAYS.get(name, "every")
    if way == "inside" and k is None:
        return "grades"
    if way == "grades" and rel is not None and rel <= 0 and not judged:
        return "every"  # a label of 0 is better than none
    return way


class Blocks(NamedTuple):
    """The rows of a run, with labels and the first place of their block of ties."""

    rows: pl.LazyFrame
    keys: list[str]
    columns: list[str]
    judged: pl.LazyFrame | None

    @classmethod
    def of(
        cls,
        run: pl.LazyFrame,
        judged: pl.LazyFrame | None,
        keys: Sequence[str],
        *,
        single: bool,
    ) -> Blocks:
        """Find the blocks of a run; with ``single``, scores count as float32."""
        columns = run.collect_schema().names()
        if judged is not None:
            columns = [name for name in columns if name != "label"]
            on = [name for name in judged.collect_schema() if name != "label"]
            run = run.join(judged, on=on, how="left", nulls_equal=True)
        score = pl.col("score").cast(pl.Float32) if single else pl.col("score")
        block = score.rank("min", descending=True).over(keys).cast(pl.Int64)
        return cls(run.with_columns(block.alias(BLOCK)), [*keys], columns, judged)

    @property
    def within(self) -> list[str]:
        """Return the columns that tell blocks apart."""
        return [*self.keys, BLOCK]

    def sizes(self) -> pl.LazyFrame:
        """Return a row for each block of several documents, with its ``size``."""
        sizes = self.rows.group_by(self.within).agg(size=pl.len().cast(pl.Int64))
        return sizes.filter(pl.col("size") > 1).sort(self.within)

    def most_orders(self) -> float:
        """Count the orders of the query that has most."""
        sizes = self.sizes().collect()
        known = {n: float(factorial(min(n, 100))) for n in sizes["size"].unique()}
        orders = pl.col("size").replace_strict(known, return_dtype=pl.Float64)
        most = sizes.group_by(self.keys).agg(orders.product())["size"].max()
        return 1.0 if most is None else float(most)  # type: ignore[arg-type]

    def in_orders(
        self, way: Way, arguments: Mapping[str, Any]
    ) -> tuple[pl.LazyFrame, pl.LazyFrame | None, list[str]]:
        """Return a run with a query per order, its judgments, and columns of orders.

        The rows of the run come in that order. Queries without rows are left out.
        """
        if way == "every":
            rows, names, within = _every(self)
        elif way == "inside":
            rows, names, within = _inside(self, arguments)
        else:
            rows, names = _turned(self.rows), [TURNED]
            by = SORT_KEYS[way](arguments).cast(pl.Float64)
            within = [pl.when(TURNED).then(-by).otherwise(by)]
        rows = rows.sort([*self.keys, *names, BLOCK, *within], nulls_last=True)
        rows = rows.select(*self.columns, *names)
        if self.judged is None:
            return rows, None, names
        on = [name for name in self.keys if name in self.judged.collect_schema()]
        orders = rows.select(*self.keys, *names).unique()
        return rows, orders.join(self.judged, on=on, nulls_equal=True), names


def _turned(rows: pl.LazyFrame) -> pl.LazyFrame:
    both = pl.LazyFrame({TURNED: [False, True]})
    return rows.join(both, how="cross")


def _by_gain(arguments: Mapping[str, Any]) -> pl.Expr:
    least = max(arguments.get("rel") or 0, 0)
    gain = custom_gain(arguments["gain"])(pl.col("label").cast(pl.Float64))
    return pl.when(pl.col("label") >= least).then(gain).otherwise(0.0)


def _by_judged(_: Mapping[str, Any]) -> pl.Expr:
    return (pl.col("label") >= 0).fill_null(value=False)


def _by_relevance(arguments: Mapping[str, Any]) -> pl.Expr:
    label = pl.col("label")
    relevant, other = label >= max(arguments["rel"], 0), label >= 0
    return pl.when(relevant).then(2).when(other).then(0).otherwise(1)


def _inside(
    blocks: Blocks, arguments: Mapping[str, Any]
) -> tuple[pl.LazyFrame, list[str], list[pl.Expr]]:
    """Put some of those that count inside, of the block that the cutoff divides.

    Those with the best (or worst) labels are, before (or after) the others.
    """
    k, within, label = arguments["k"], blocks.within, pl.col("label")
    least = max(arguments["rel"], 0) if "rel" in arguments else 0
    size = pl.len().over(within).cast(pl.Int64)
    # A block from place BLOCK on has k - BLOCK + 1 places down to the cutoff k. If c of
    # its n documents count, i of them are inside, from slots - (n - c) to c or slots:
    # the value is no monotone function of i (it is divided by i), so all are tried.
    slots = (k - pl.col(BLOCK) + 1).clip(0)
    rows = blocks.rows.with_columns(
        counts=(label >= least).fill_null(value=False),
        slots=pl.min_horizontal(slots, size),
        size=size,
    ).with_columns(
        counted=pl.col("counts").sum().over(within).cast(pl.Int64),
        divided=(pl.col("slots") > 0) & (pl.col("slots") < pl.col("size")),
    )
    others = pl.col("size") - pl.col("counted")
    fewest = (pl.col("slots") - others).clip(0)
    most = pl.min_horizontal("slots", "counted")
    numbers = rows.group_by(blocks.keys).agg(
        fewest=fewest.filter("divided").max().fill_null(0),
        most=most.filter("divided").max().fill_null(0),
    )
    orders = numbers.select(
        *blocks.keys, pl.int_ranges("fewest", pl.col("most") + 1).alias(ORDER)
    ).explode(ORDER)
    rows = _turned(rows.join(orders, on=blocks.keys, nulls_equal=True))
    alike = [*within, ORDER, TURNED, "counts"]
    worth = pl.when("counts").then("label").otherwise(0.0)
    worth = pl.when(TURNED).then(worth).otherwise(-worth)
    place = worth.rank("ordinal").over(alike).cast(pl.Int64)
    room = pl.when("counts").then(ORDER).otherwise(pl.col("slots") - pl.col(ORDER))
    outside = pl.col("divided") & (place > room)
    return rows, [ORDER, TURNED], [outside, pl.col("counts") == pl.col(TURNED)]


def _every(blocks: Blocks) -> tuple[pl.LazyFrame, list[str], list[pl.Expr]]:
    """Return all orders; one is a number whose digits are the orders of the blocks."""
    found = blocks.sizes().collect()
    # Orders of blocks are independent, so those of a query are the product of theirs:
    # number // unit % base is the digit of a block in a mixed radix, and the digit
    # names one of the permutations of its size, which are listed once per size.
    ranks = pl.DataFrame(
        [
            (size, i, place, rank)
            for size in found["size"].unique().sort()
            for i, order in enumerate(permutations(range(size)))
            for place, rank in enumerate(order)
        ],
        schema=dict.fromkeys(("size", "digit", "place", "rank"), pl.Int64()),
        orient="row",
    )
    base = ranks.group_by("size").agg(base=pl.col("digit").max() + 1)
    digits = found.join(base, on="size").sort(blocks.within)
    above = pl.col("base").cum_prod().shift(1, fill_value=1).over(blocks.keys)
    digits = digits.with_columns(unit=above)
    number = pl.col("base").product().over(blocks.keys)
    orders = digits.select(*blocks.keys, count=number).unique()
    several = blocks.rows.join(
        orders.lazy(), on=blocks.keys, how="left", nulls_equal=True
    ).with_columns(place=pl.int_range(pl.len()).over(blocks.within))
    rows = (
        several.with_columns(
            pl.int_ranges(0, pl.col("count").fill_null(1)).alias(ORDER)
        )
        .explode(ORDER)
        .join(digits.lazy(), on=blocks.within, how="left", nulls_equal=True)
        .with_columns(digit=pl.col(ORDER) // pl.col("unit") % pl.col("base"))
        .join(ranks.lazy(), on=["size", "digit", "place"], how="left")
    )
    return rows, [ORDER], [pl.col("rank")]


SORT_KEYS: Mapping[str, Callable[[Mapping[str, Any]], pl.Expr]] = {
    "gains": _by_gain,
    "judged": _by_judged,
    "relevant": _by_relevance,
}
