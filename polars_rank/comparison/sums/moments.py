"""Sums of values and of differences that add up: a year from 365 daily files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from polars_rank.comparison.input.alignment import require_finite
from polars_rank.comparison.input.reading import read_parts
from polars_rank.comparison.input.values import (
    Columns,
    Source,
    Values,
    cell,
    lower_is_better,
)
from polars_rank.comparison.sums.definition import Definition, definition_of
from polars_rank.comparison.sums.row_sums import Array, Places, Rows, RowSums, row_sums
from polars_rank.conventions.tools import DEFAULT, ConventionLike
from polars_rank.core.exact.state import DEFINITION, digest, hashed
from polars_rank.core.expr import ratio

KEYS = ["measure", "system", "other"]
STATE = ["n", "x", "d", "ee", "ed", "dd"]
WON = ["wins", "ties", "losses"]
ORDER = ["queries", *STATE, "squares", *WON]
COUNTS = ["queries", "n", *WON]
CONTENT = "polars_rank.content"  # a number of the values that were summed


def moments(
    values: Source,
    measures: str | Sequence[str] | None = None,
    *,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    repeat: str | None = None,
    tie: float = 1e-9,
    convention: ConventionLike | None = None,
    path: str | Path | None = None,
    definition: Definition | None = None,
    part: str | None = None,
) -> pl.DataFrame:
    """Compute the sums that a comparison of systems needs, which add up over days.

    Parameters
    ----------
    values, measures, system, query, by, weight, cluster, repeat, tie
        As in :func:`compare`. Sums over clusters do not say which these were: where a
        cluster, such as a user, comes back in other parts, make moments ``by`` it
        instead, and merge them with it as ``unit``.
    convention
        The convention that the values were computed under: it is part of the
        definition, and sums of different definitions are not merged. Default: what a
        file of values says about itself, or else ``"trec_eval"``.
    path
        Parquet file to write as well, with version, measures, convention and, where
        they are known, the judgments in its metadata.
    definition
        Definition of ``values``, unless they are a file that holds it.
    part
        Name of the part, such as its day. Two parts of the same values are one part,
        which :func:`merge` refuses to count twice, unless they have two names: give
        names where the same queries come back and nothing may have changed.

    Returns
    -------
    One row per segment, measure and system, whose ``other`` is null, and one per pair
    of systems, with the sums of the differences ``other - system``: m systems have
    m (m + 1) / 2 rows per measure; one will do, for :func:`trend`. The columns are

    - ``queries``, their number, and ``squares``, the weighted sum of the squares of
      their deviations from the mean;
    - ``wins``, ``ties`` and ``losses``, in how many queries the ``other`` is better, as
      good or worse; null for one system;
    - ``n``, the number of units: clusters, or else queries; ``x`` and ``d``, the sums
      of their numerators and denominators, so that x / d is the mean; ``ee``, ``ed``
      and ``dd``, sums of products of their deviations from that mean and their
      denominators. These are centered, so that a small spread about a large mean keeps
      its digits;
    - ``definition``, all that can change a value, as JSON: the measure with the version
      of its definition, the choices of the convention, the columns, ``tie``;
    - ``digests``, eight bytes as text, of the ids of the queries, their values,
      segments, clusters and weights, and of ``part``.

    Raises
    ------
    ValueError
        For wrong arguments.
    DataError
        If the systems do not have the same queries, a query of a system has two rows,
        or a value is infinite or NaN.

    Notes
    -----
    Source of the merge: Chan, Golub and LeVeque, 1979, for ratios.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> day = pl.DataFrame(
    ...     {"system": ["a", "a", "b", "b"], "query_id": [1, 2] * 2,
    ...      "rr": [0.5, 1.0, 1.0, 1.0]}
    ... )
    >>> monday = pr.comparison.moments(day, part="monday")
    >>> tuesday = pr.comparison.moments(day, part="tuesday")  # the same values again
    >>> pr.compare(pr.comparison.merge([monday, tuesday])).pairs["queries"].item()
    4
    """
    columns = Columns(system, query, measures, by, weight, cluster, repeat)
    seen = _Content()
    table, held, _ = sums_of_parts(
        seen.of(read_parts(values, columns, fewest=1)),
        lambda systems: list(combinations(range(len(systems)), 2)),
        tie,
    )
    if convention is None:
        definition = definition or definition_of(values)
    elif definition is not None:
        msg = "definition= has a convention of its own: leave out convention="
        raise ValueError(msg)
    if definition is None:
        definition = Definition.of(held.measures, convention or DEFAULT, columns.keys)
    definition = definition.about(held.measures, columns.keys)
    how: dict[str, object] = {"system": system, "query": columns.keys}
    how |= {"weight": weight, "cluster": cluster, "repeat": repeat, "tie": tie}
    table = table.with_columns(
        pl.col("measure").replace_strict(definition.of_sums(how)).alias(DEFINITION),
        pl.lit(seen.number, pl.UInt64).alias(CONTENT),
    )
    table = table.with_columns(digest([], CONTENT, part)).drop(CONTENT)
    if path is not None:
        definition.write(table, path)
    return table


def is_moments(columns: Iterable[str]) -> bool:
    """Tell moments from values per query."""
    return {*KEYS, *ORDER, DEFINITION} <= {*columns}


class _Content:
    """A number of the values that are read, whatever the order of rows and systems."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()

    def of(self, parts: Iterable[Values]) -> Iterator[Values]:
        """Pass the parts on."""
        for values in parts:
            about = [n for n in values.frame.columns if not n.startswith("v")]
            cells = (
                [cell(k, i) for k in range(len(values.measures))]
                for i in range(len(values.systems))
            )
            self.sums.update(
                values.frame.with_columns(hashed(about).alias("about"))
                .select(
                    pl.struct("about", *own).hash().sum().alias(name)
                    for name, own in zip(values.systems, cells, strict=True)
                )
                .row(0, named=True)
            )
            yield values

    @property
    def number(self) -> int:
        """The number of all parts."""
        text = repr(sorted((name, n % 2**64) for name, n in self.sums.items()))
        return int(sha256(text.encode()).hexdigest()[:16], 16)


def added() -> dict[str, pl.Expr]:
    """Add up the parts of a group: deviations are moved to the mean of all."""
    move = ratio(pl.col("x"), pl.col("d")) - ratio(pl.col("x").sum(), pl.col("d").sum())
    move = move.fill_null(0.0)  # a part without a query
    ed, dd = pl.col("ed"), pl.col("dd")
    # Polars adds UInt32 up in UInt32, and wraps: the strict cast refuses what is too
    # large instead.
    counts = {n: pl.col(n).cast(pl.Int64).sum().cast(pl.UInt32) for n in COUNTS}
    sums = {name: pl.col(name).sum() for name in ("x", "d", "dd")}
    return (
        counts
        | sums
        | {
            "ee": (pl.col("ee") + 2.0 * move * ed + move * move * dd).sum(),
            "ed": (ed + move * dd).sum(),
            "squares": (pl.col("squares") + move * move * pl.col("d")).sum(),
        }
    )


def sums_of_parts(
    parts: Iterable[Values],
    pairs: Callable[[list[str]], Sequence[tuple[int, int]]],
    tie: float,
) -> tuple[pl.DataFrame, Values, bool]:
    """Sum all parts by segment; return the last part, and whether it is the only one.

    ``pairs`` are those of the systems that it is given.
    """
    table = order = None
    alone = True
    for part in parts:
        own = sums_of(part, pairs(part.systems), tie)
        if not own["x"].is_finite().all():
            require_finite(part)
        if table is None or order is None:
            table, order = own, own.select(KEYS).unique(maintain_order=True)
            continue
        alone = False
        keys = [*part.by, *KEYS]
        both = pl.concat([table, own]).group_by(keys).agg(**added())
        labeled = order.with_row_index("place").join(both, on=KEYS, nulls_equal=True)
        counts = pl.when(pl.col("other").is_not_null()).then(pl.col(WON))
        table = labeled.sort("place", *part.by).select(own.columns)
        table = table.with_columns(counts)
    assert table is not None
    names = dict(zip(part.by, part.columns.segments, strict=True))
    return table.rename(names), part, alone


def sums_of(
    values: Values, pairs: Sequence[tuple[int, int]], tie: float
) -> pl.DataFrame:
    """Sum every system and every pair, by segment; a measure per thread."""
    order, measures, systems = _Order.of(values), values.measures, values.systems

    def of_measure(k: int) -> RowSums:
        found = _of_measure(values, k, pairs, tie, order)
        if lower_is_better(measures[k]):
            found = found._replace(wins=found.losses, losses=found.wins)
        return found

    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        found = [*threads.map(of_measure, range(len(measures)))]
    numbers = {
        name: np.concatenate([sums.ravel() for sums in parts])
        for name, parts in zip(RowSums._fields, zip(*found, strict=True), strict=True)
    }
    numbers["ties"] = numbers["queries"] - numbers["wins"] - numbers["losses"]
    numbers |= {name: numbers[name].astype(np.uint32) for name in COUNTS}
    names: list[tuple[str, str | None]] = [(name, None) for name in systems]
    names += [(systems[i], systems[j]) for i, j in pairs]
    count = max(len(order.segments), 1)
    labels = [
        (measure, *pair) for measure in measures for pair in names for _ in range(count)
    ]
    columns = dict(zip(KEYS, zip(*labels, strict=True), strict=True))
    schema = dict.fromkeys(KEYS, pl.String)
    table = pl.DataFrame(columns, schema).with_columns(**numbers)
    if values.by:
        segments = pl.concat([order.segments] * (len(measures) * len(names)))
        table = table.with_columns(segments)
    won = pl.when(pl.col("other").is_not_null()).then(pl.col(WON))
    return table.select(*values.by, *KEYS, *(n for n in ORDER if n not in WON), won)


@dataclass(frozen=True)
class _Order:
    """The queries by segment, cluster and id, and what each of them belongs to."""

    places: Places | None
    segments: pl.DataFrame
    segment: Places | None
    cluster: Places | None
    weight: Array | None

    @classmethod
    def of(cls, values: Values) -> _Order:
        frame, by = values.frame, values.by
        names = [*by, "cluster"] if "cluster" in frame.columns else by
        segment = _codes(frame, by) if by else None
        unit = segment if names == by else _codes(frame, names)
        places = values.order
        if unit is not None:
            places = np.arange(len(frame)) if places is None else places
            places = places[np.argsort(unit[places], kind="stable")]
        weight = None
        if "weight" in frame.columns:
            weight = frame["weight"].cast(pl.Float64).to_numpy()
        return cls(
            places,
            frame.select(by).unique().sort(by) if by else pl.DataFrame(),
            segment,
            None if names == by else unit,
            weight,
        )

    def rows(self, known: pl.Series) -> Rows:
        """Return the rows of which the values are known."""
        places = self.places
        if not known.all():
            mask = known.to_numpy()
            places = np.flatnonzero(mask) if places is None else places[mask[places]]
        count = len(known) if places is None else len(places)
        ends = np.array([0, count])
        if self.segment is not None:
            numbers = np.arange(len(self.segments) + 1)
            ends = np.searchsorted(self.segment[places], numbers)
        units = None
        if self.cluster is not None:
            changes = np.diff(self.cluster[places], prepend=-1)
            units = np.flatnonzero(changes)
        weight = self.weight
        if weight is not None and places is not None:
            weight = weight[places]
        return Rows(ends, places, units, weight)


def _codes(frame: pl.DataFrame, names: Sequence[str]) -> Places:
    """Number each row by the place of its values among all, sorted."""
    known = frame.select(names).unique().sort(names).with_row_index("code")
    codes = frame.select(names).join(
        known, on=names, how="left", nulls_equal=True, maintain_order="left"
    )
    return codes["code"].cast(pl.Int64).to_numpy()


def _of_measure(
    values: Values, k: int, pairs: Sequence[tuple[int, int]], tie: float, order: _Order
) -> RowSums:
    systems = range(len(values.systems))
    columns = [values.frame[cell(k, i)] for i in systems]
    arrays = [column.to_numpy() for column in columns]
    known = [column.is_not_null() for column in columns]
    if values.paired:  # a query that is null for one system is null for all
        return row_sums(arrays, pairs, tie, order.rows(known[0]))
    parts = [row_sums([arrays[i]], [], tie, order.rows(known[i])) for i in systems]
    for i, j in pairs:
        both = order.rows(known[i] & known[j])
        part = row_sums([arrays[i], arrays[j]], [(0, 1)], tie, both)
        parts.append(RowSums(*(sums[2:] for sums in part)))
    return RowSums(*map(np.concatenate, zip(*parts, strict=True)))
