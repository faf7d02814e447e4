"""Make measures of a catalog from counts of ranks among sampled negatives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._statistics.distributions import t_quantile
from polars_rank.clicks.bias.position_rows import segments_of
from polars_rank.measures.measure import Measure, Measures, parse_measures
from polars_rank.recommend.rank_counts import LISTS, SAMPLED, THINNED
from polars_rank.recommend.rank_estimators import (
    Cells,
    Numbers,
    cells,
    chances,
    decreasing,
    em,
    jackknife,
    least_squares,
)

Method: TypeAlias = Literal["em", "decreasing", "rank", "least_squares"]
METHODS = ("em", "decreasing", "rank", "least_squares")
WITHIN = 3  # ranks that have most of the weight: what intervals need, by simulation
VALUES: dict[str, pl.DataType | type[pl.DataType]] = {
    "measure": pl.String,
    "naive": pl.Float64,
    "estimate": pl.Float64,
    "se": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "users": pl.UInt32,
    "negatives": pl.Float64,
    "min_negatives": pl.Int64,
}
GAINS: Mapping[str, Callable[[Numbers], Numbers]] = {
    "hits": np.ones_like,
    "recall": np.ones_like,
    "ndcg": lambda rank: 1.0 / np.log2(rank + 1.0),
    "rr": lambda rank: 1.0 / rank,
    "ap": lambda rank: 1.0 / rank,
}


class OfRank(NamedTuple):
    """A measure of one relevant item: a function of its rank up to k."""

    name: str
    metric: str
    k: float

    def at(self, ranks: Numbers) -> Numbers:
        """Return its value at each rank."""
        return np.where(ranks <= self.k, GAINS[self.metric](ranks), 0.0)

    def over(self, ranks: Cells) -> Numbers:
        """Return its mean over each cell of ranks."""
        within = np.clip(self.k - ranks.first + 1, 0, ranks.sizes) / ranks.sizes
        means: Numbers = GAINS[self.metric](ranks.middle) * within
        return means

    @property
    def told_from(self) -> float:
        """How many first ranks have to be told from the next ones."""
        return self.k if self.metric in ("hits", "recall") else min(self.k, WITHIN)


def of_ranks(measures: Measures) -> list[OfRank]:
    """Read measures of a rank; of others an error says which there are."""
    found = []
    for one in parse_measures(measures):
        if not isinstance(one, Measure) or one.metric not in GAINS:
            msg = f"{one.name!r} is no measure of one rank: take {', '.join(GAINS)}"
            raise ValueError(msg)
        given = one.arguments
        if more := sorted(given.keys() - {"k"}):
            msg = (
                f"{one.name!r}: of one rank there is no {', '.join(more)}; give k alone"
            )
            raise ValueError(msg)
        k = given.get("k")
        if k is None and one.metric in ("hits", "recall"):
            msg = f"{one.name!r} is 1 of any list: give a cutoff, as in '{one.name}@10'"
            raise ValueError(msg)
        found.append(OfRank(one.name, one.metric, np.inf if k is None else float(k)))
    return found


class Counts(NamedTuple):
    """Counts of lists by group (rows) and by negatives m and number x above (columns).

    ``share`` is the probability that a draw is one certain item, None of distinct ones.
    """

    m: Numbers
    x: Numbers
    groups: Numbers
    items: int
    share: float | None

    @classmethod
    def of(
        cls, rows: pl.DataFrame, items: int, share: float | None, each: int
    ) -> Counts:
        """Sum up the rows of a segment; ``each`` list has so many counts."""
        cells = rows.explode(*LISTS).group_by("group", *LISTS[:2])
        table = cells.agg(pl.col("counts").sum()).sort("negatives", "above", "group")
        pairs = table.select(pl.struct(*LISTS[:2]).rle_id()).to_series().to_numpy()
        groups, row = np.unique(table["group"].to_numpy(), return_inverse=True)
        counts = np.zeros((len(groups), int(pairs.max()) + 1))
        counts[row, pairs] = table["counts"].to_numpy() / each
        kept = table.select(*LISTS[:2]).unique(maintain_order=True)
        m, x = (kept[name].to_numpy().astype(np.float64) for name in LISTS[:2])
        return cls(m, x, counts, items, share)

    @property
    def whole(self) -> Numbers:
        """The counts of all groups."""
        total: Numbers = self.groups.sum(axis=0)
        return total

    @property
    def rows(self) -> Numbers:
        """The counts of all groups and, if there are several, without each of them."""
        whole = self.whole[None, :]
        return np.vstack([whole, whole - self.groups][: len(self.groups)])

    def mean(self, values: Numbers) -> Numbers:
        """Return the mean of a value of each column, for each of ``rows``."""
        rows = self.rows
        means: Numbers = rows @ values / rows.sum(axis=1)
        return means

    @property
    def negatives(self) -> float:
        """How many negatives a list has, on average."""
        whole = self.whole
        return float(whole @ self.m / whole.sum())

    @property
    def each(self) -> float:
        """How likely a draw is one certain item."""
        return 1.0 / self.items if self.share is None else self.share

    def table(self) -> tuple[Numbers, Numbers]:
        """Return the chances of the cells that are there, and the counts in them."""
        tables, counts, rows = [], [], self.rows
        for m in np.unique(self.m):
            own = self.m == m
            there, back = np.unique(self.places(own, m), return_inverse=True)
            tables.append(chances(self.items, int(m), self.share)[:, there])
            counts.append(_in_cells(rows[:, own], back, len(there)))
        return np.hstack(tables), np.hstack(counts)

    def places(self, own: Any, m: float) -> Any:
        """Return the cell of x of some columns, all of m negatives."""
        return np.searchsorted(cells(int(m) + 1).last, self.x[own] + 1)


def _in_cells(rows: Numbers, place: Any, size: int) -> Numbers:
    found = np.zeros((len(rows), size))
    np.add.at(found.T, place, rows.T)
    return found


def _by_em(counts: Counts, measures: Sequence[OfRank]) -> Numbers:
    ranks = cells(counts.items)
    found = em(*counts.table(), ranks.sizes / counts.items)
    return found @ np.column_stack([m.over(ranks) for m in measures])


def _by_rank(counts: Counts, measures: Sequence[OfRank]) -> Numbers:
    return np.column_stack([counts.mean(v) for v in _at_rank(counts, measures)])


def _at_rank(counts: Counts, measures: Sequence[OfRank]) -> list[Numbers]:
    """Return the value of each column at the rank that its numbers are of."""
    each = 1.0 / (counts.items - 1) if counts.share is None else counts.share
    ranks = 1 + np.floor(counts.x / (counts.m * each) + 1e-9)
    return [m.at(ranks) for m in measures]


def _by_least_squares(counts: Counts, measures: Sequence[OfRank]) -> Numbers:
    ranks = cells(counts.items)
    gains = np.column_stack([m.over(ranks) for m in measures])
    values = np.zeros((len(counts.x), len(measures)))
    for m in np.unique(counts.m):
        own = counts.m == m
        table = chances(counts.items, int(m), counts.share)
        worth = least_squares(table, gains, ranks.sizes / counts.items)
        values[own] = worth[counts.places(own, m)]
    return np.column_stack([counts.mean(column) for column in values.T])


ESTIMATORS: Mapping[str, Callable[[Counts, Sequence[OfRank]], Numbers]] = {
    "em": _by_em,
    "rank": _by_rank,
    "least_squares": _by_least_squares,
}


def _by_shape(counts: Counts, measures: Sequence[OfRank], reach: float) -> Numbers:
    """Return the values by ``decreasing``, whose ends allow for users of several lists.

    How much these add to the error of independent lists is measured by the groups of
    users, at the ranks that ``rank`` takes.
    """
    whole, cells_of = counts.whole, cells(counts.items)
    size, alone = whole.sum(), len(counts.rows) == 1
    spread = []
    for values in _at_rank(counts, measures):
        if alone:
            spread.append(1.0)
            continue
        once = (whole @ values**2 / size - (whole @ values / size) ** 2) / size
        error = float(jackknife(counts.mean(values)[1:, None])[0])
        spread.append(max(1.0, error / np.sqrt(once)) if once > 0 else 1.0)
    table, rows = counts.table()
    gains = np.column_stack([m.over(cells_of) for m in measures])
    return decreasing(table, rows[0], cells_of.sizes, gains, reach * np.array(spread))


def finished(
    rows: pl.DataFrame,
    by: Sequence[str],
    definition: str,
    measures: Sequence[OfRank],
    method: Method,
    level: float,
) -> pl.DataFrame:
    """Estimate the measures of each segment from the counts of all parts."""
    found: list[tuple[Any, ...]] = []
    warned = False
    for key, own in segments_of(rows, by).items():
        if own.is_empty():
            found += [(m.name, *[None] * 5, 0, None, None) for m in measures]
            continue
        ranked, estimated = _counts(own, definition)
        warned = warned or _warn_of_few(measures, estimated)
        values = _values(ranked, estimated, measures, method, level)
        found += [(*key, *row) for row in values]
    return pl.DataFrame(found, schema_of(by, rows.schema), orient="row")


def schema_of(by: Sequence[str], schema: pl.Schema) -> pl.Schema:
    """Return the columns of the result."""
    return pl.Schema({**{name: schema[name] for name in by}, **VALUES})


def _counts(rows: pl.DataFrame, definition: str) -> tuple[Counts, Counts]:
    """Return the counts for the naive numbers, and those for the estimates."""
    choices = json.loads(definition)
    items, share = choices["n_items"], choices["min_probability"]
    uniform = share is None
    if uniform and choices["replacement"]:
        share = 1.0 / (items - 1)
    sampled = Counts.of(
        rows.filter(pl.col("measure") == SAMPLED), items, share if uniform else None, 1
    )
    if uniform:
        return sampled, sampled
    thinned = rows.filter(pl.col("measure") == THINNED)
    return sampled, Counts.of(thinned, items, share, choices["thinnings"])


def _values(
    ranked: Counts,
    estimated: Counts,
    measures: Sequence[OfRank],
    method: Method,
    level: float,
) -> list[tuple[Any, ...]]:
    """Return a row of values per measure of a segment."""
    users, negatives = int(ranked.whole.sum()), ranked.negatives
    groups = len(estimated.rows) - 1
    reach = float(t_quantile(0.5 + level / 2, groups - 1)) if groups else 0.0
    if method == "decreasing":
        found = [(v, None, *ends) for v, *ends in _by_shape(estimated, measures, reach)]
    else:
        values = ESTIMATORS[method](estimated, measures)
        errors = jackknife(values[1:]) if groups else np.zeros(len(measures))
        found = [
            (v, e, v - reach * e, v + reach * e)
            for v, e in zip(values[0], errors, strict=True)
        ]
    rows = []
    for measure, (value, *error) in zip(measures, found, strict=True):
        naive = float(ranked.mean(measure.at(ranked.x + 1))[0])
        least = _least(measure, estimated)
        # Of ranks that are not told apart, the error is in the guess, not in the draw.
        told = groups and estimated.negatives >= least
        ends = error if told else [None] * len(error)
        rows.append((measure.name, naive, value, *ends, users, negatives, least))
    return rows


def _least(measure: OfRank, counts: Counts) -> int:
    """Return how many negatives tell the first ranks from the next ones."""
    least = max(1, ceil(1.0 / (counts.each * measure.told_from) - 1e-9))
    return least if counts.share is not None else min(least, counts.items - 1)


def _warn_of_few(measures: Sequence[OfRank], counts: Counts) -> bool:
    """Warn of measures of ranks that the negatives do not tell apart."""
    few = [m for m in measures if counts.negatives < _least(m, counts)]
    if few:
        least = max(_least(m, counts) for m in few)
        # Less what is rounding: 196 / 49 may be just above 4.
        first = ceil(1.0 / (counts.each * counts.negatives) - 1e-9)
        names = ", ".join(m.name for m in few)
        warn(
            f"{names}: {counts.negatives:,.0f} negatives of {counts.items:,} items do "
            f"not tell the first {first:,} ranks apart, so that the estimate rests on "
            "a guess how they share what is there, and has no interval; draw at least "
            f"{least:,} negatives for each list, or take hits and recall from @{first}"
        )
    return bool(few)
