"""Compute errors of estimates whose propensities come from the same log.

Groups of clusters are left out in turn, and everything is estimated anew. That takes no
further look at rows: an estimate is made of sums by group and position, and so is the
fit of the propensities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._statistics.distributions import t_quantile
from polars_rank.clicks.behavior.ratios import sums
from polars_rank.clicks.bias.position_rows import Task, segments_of
from polars_rank.clicks.bias.several_positions.fits import relative_examination
from polars_rank.clicks.bias.several_positions.harvest import (
    FITTING,
    arrays,
    informative_table,
)
from polars_rank.clicks.bias.several_positions.pair_counts import Array
from polars_rank.clicks.log.impressions import all_held
from polars_rank.clicks.log.position_counts import (
    checked,
    rows_with_known,
)
from polars_rank.clicks.off_policy.weighing import Estimation
from polars_rank.core.source import is_rereadable, lazy_source

GROUPS = 20  # of clusters, each left out in turn
PART = "part"
HARVEST = Task()
NOT_TIED = (
    "intervals{where} are null: without some group of clusters, nothing ties a "
    "position with clicks to the first one"
)


def with_jackknife(
    found: pl.LazyFrame,
    task: Estimation,
    baseline: str | None,
    level: float,
    seed: int,
) -> pl.LazyFrame:
    """Add errors and intervals to the estimates; ``task`` knows no propensities."""
    columns, by = found.collect_schema().names(), [*task.log.by]
    types = found.collect_schema()
    schema = {name: types[name] for name in [*by, "system"]}
    schema |= {"se": pl.Float64(), "reach": pl.Float64()}

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame(
            [*_rows(task, baseline, level, seed)], schema=schema, orient="row"
        )

    log = task.log
    errors = lazy_source(
        read, schema, name="jackknife", rereadable=is_rereadable(log.rows)
    )
    both = found.drop("se").join(
        errors,
        on=[*by, "system"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    value = pl.col("estimate")
    known = both.with_columns(pl.when(value.is_not_null()).then(pl.col("se", "reach")))
    ends = {"lower": value - pl.col("reach"), "upper": value + pl.col("reach")}
    return known.with_columns(**ends).select(columns)


def _rows(
    task: Estimation, baseline: str | None, level: float, seed: int
) -> Iterator[tuple[Any, ...]]:
    """Yield keys, name, error, and half of the interval."""
    names = [s.name for s in task.systems]
    by = [*task.log.segments]
    pairs, cells, numbers = _tables(task, by, seed)
    of_pairs, of_cells = segments_of(pairs, by), segments_of(cells, by)
    for key, number in segments_of(numbers, by).items():
        part = of_cells.get(key, cells.clear())
        segment = _Segment.of(task, of_pairs.get(key, pairs.clear()), part, number)
        values = segment.values()
        labels = [*names]
        for i, name in enumerate(names):
            if baseline not in (None, name):
                base = names.index(str(baseline))
                labels.append(f"{name} - {baseline}")
                values = np.column_stack([values, values[:, i] - values[:, base]])
        groups = len(values)
        if groups < 2:
            yield from ((*key, label, None, None) for label in labels)
            continue
        off = values - values.mean(0)
        errors = np.sqrt((off**2).sum(0) * (groups - 1) / groups)
        if np.isnan(errors).any() and not part.is_empty():
            where = f" of {', '.join(map(str, key))}" if key else ""
            warn(NOT_TIED.format(where=where))
        reach = float(t_quantile(0.5 + level / 2, groups - 1))
        for label, error in zip(labels, errors.tolist(), strict=True):
            known = None if np.isnan(error) else error
            yield *key, label, known, None if known is None else known * reach


def _tables(task: Estimation, by: Sequence[str], seed: int) -> list[pl.DataFrame]:
    """Sum clicks of documents, rows and impressions: all by group."""
    log = rows_with_known(task.log)
    keys, clicked = [*log.clusters.values()], pl.col("clicked").cast(pl.Float64)
    unit = keys[0] if len(keys) == 1 else pl.struct(keys)
    own = log.segments
    own[PART] = (unit.hash(seed) % GROUPS).cast(pl.Int64)
    rows = replace(log, rows=log.rows.with_columns(**own))
    harvest = replace(HARVEST, by=[*by])
    cell = own | {n: pl.col(n) for n in (*_documents(task), "position")}
    # A literal is one value for a group, not one for each row.
    values = {"n": pl.col("position").is_not_null(), "c": clicked}
    for i, s in enumerate(task.systems):
        values[f"a{i}"] = pl.col(s.weight) * clicked
        if task.rewarded:
            values[f"b{i}"] = pl.col(s.weight) * pl.col("reward")
    modeled = replace(task, method="dm", policy_aware=False).per_impression()
    each = {f"m{i}": pl.col(f"value:{s.name}") for i, s in enumerate(task.systems)}
    query = {n: pl.col(n) for n in _documents(task)[:1]}
    impressions = modeled.select(**own, **query, **each)
    plans = [
        checked(log, documents=True),
        informative_table(harvest, rows, PART),
        replace(task, policy_aware=False).sums_in_cells(cell, values),
        sums(impressions, [*own, *query], [*each], {"n": pl.len()}),
    ]
    _, *found = all_held(
        log,
        plans,
        factor=FITTING,
        what="clicks on documents and at positions, by group",
        otherwise="give the propensities in a frame",
    )
    order = ["query", "doc", "position"]
    sorts = ([*by, *order, PART], [*cell], [*own, *query])
    return [
        frame.sort(names, nulls_last=True)
        for frame, names in zip(found, sorts, strict=True)
    ]


def _documents(task: Estimation) -> tuple[str, ...]:
    """Name what a divisor of clicks depends on, beside the position."""
    return ("query", "doc") if task.policy_aware else ()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Segment:
    """The sums of a segment, as arrays, and the propensities without each group.

    ``cells`` are those of rows: group, position, document and query as codes, number of
    rows, clicks, and the sums of weights of clicks and of rewards for each system.
    ``numbers`` are those of impressions.
    """

    task: Estimation
    cells: dict[str, Array]
    numbers: dict[str, Array]
    groups: list[int]
    theta: list[Array]

    @classmethod
    def of(
        cls,
        task: Estimation,
        pairs: pl.DataFrame,
        cells: pl.DataFrame,
        numbers: pl.DataFrame,
    ) -> _Segment:
        positions = cells["position"].unique().sort()
        place = pl.col("position").replace_strict(
            positions, range(len(positions)), return_dtype=pl.Int64
        )
        cells = cells.with_columns(at=place)
        if task.policy_aware:
            queries = _coded(cells.select("query"), "of")
            documents = _coded(cells.select("query", "doc"), "document")
            cells = cells.join(documents, on=["query", "doc"], nulls_equal=True)
            cells = cells.join(queries, on="query", nulls_equal=True)
            numbers = numbers.join(queries, on="query", how="left", nulls_equal=True)
            numbers = numbers.with_columns(pl.col("of").fill_null(len(queries)))
        groups = numbers[PART].unique().sort().to_list()
        kept = [c for c, dtype in cells.schema.items() if dtype.is_numeric()]
        return cls(
            task=task,
            cells={c: cells[c].to_numpy() for c in kept},
            numbers={c: numbers[c].to_numpy() for c in numbers.columns},
            groups=groups,
            theta=_propensities(pairs, positions, groups),
        )

    def values(self) -> Array:
        """Estimate the systems, a row without each of the groups."""
        every = zip(self.groups, self.theta, strict=True)
        return np.array([self._without(*each) for each in every])

    def _without(self, group: int, theta: Array) -> list[float]:
        cells, numbers = self.cells, self.numbers
        keep, others = cells[PART] != group, numbers[PART] != group
        examined = theta[cells["at"]]
        divisor = (
            self._mean(keep, others, examined) if self.task.policy_aware else examined
        )
        clipped = np.maximum(divisor, self.task.clip)

        def total(values: Array) -> float:
            """Sum over rows with a value: of others the propensity may be unknown."""
            counts = keep & (values != 0)
            return float((values[counts] / clipped[counts]).sum())

        size = float(numbers["n"][others].sum())
        if self.task.method == "snips":
            size = total(cells["c"])
        found = []
        for i in range(len(self.task.systems)):
            value = cells[f"a{i}"]
            if self.task.rewarded:
                b = cells[f"b{i}"]
                value = value - np.where(b != 0, b * examined, 0.0)
            whole = total(value) + float(numbers[f"m{i}"][others].sum())
            found.append(whole / size if size else np.nan)
        return found

    def _mean(self, keep: Array, others: Array, examined: Array) -> Array:
        """Compute the mean propensity of each row's document, over its query."""
        cells, numbers = self.cells, self.numbers
        document, shown = cells["document"], np.where(keep, cells["n"] * examined, 0.0)
        lists = np.bincount(numbers["of"], np.where(others, numbers["n"], 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.bincount(document, shown)[document] / lists[cells["of"]]


def _coded(keys: pl.DataFrame, name: str) -> pl.DataFrame:
    return keys.unique(maintain_order=True).with_row_index(name)


def _propensities(
    pairs: pl.DataFrame, positions: pl.Series, groups: Sequence[int]
) -> list[Array]:
    """Fit the examination of the positions, without each of the groups."""
    cell = ["query", "doc", "position"]
    whole = pairs.group_by(cell, maintain_order=True).agg(pl.col("n", "c").sum())
    counts = arrays(whole, positions, ["doc"])
    place = pairs.select(pl.struct(cell).rle_id()).to_series().to_numpy()
    group = pairs[PART].to_numpy()
    found, start = [], np.ones(len(positions))
    for left_out in groups:
        own = group == left_out
        n, c = (
            values - np.bincount(place[own], pairs[name].to_numpy()[own], len(values))
            for name, values in (("n", counts.n), ("c", counts.c))
        )
        rest = replace(counts, n=n, c=c).where(n > 0).informative()
        start = relative_examination(
            rest, 0, max_steps=HARVEST.max_steps, tol=HARVEST.tol, start=start
        )
        found.append(start)
    return found
