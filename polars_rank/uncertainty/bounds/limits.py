"""Values under labelings and orders, and the lowest and highest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.evaluation import evaluate as evaluation
from polars_rank.measures.measure import Measure
from polars_rank.uncertainty.bounds.gain_levels import (
    has_levels,
    highest_ratio,
    parts_of,
)
from polars_rank.uncertainty.bounds.labelings import (
    Documents,
    Scheme,
    labeled,
    scheme_of,
    size_of,
)
from polars_rank.uncertainty.bounds.tie_orders import (
    Way,
    in_orders,
    size_of_orders,
    way_of,
)

Table: TypeAlias = pl.LazyFrame
EXTREMES = ("optimistic", "pessimistic")


class Asked(NamedTuple):
    """A measure, its complete arguments, and the name of its column."""

    measure: Measure
    arguments: dict[str, Any]
    policy: str

    @property
    def name(self) -> str:
        """Name of the result."""
        return self.measure.name


def values_under(
    run: Table,
    judged: Table | None,
    asked: Sequence[Asked],
    keys: Sequence[str],
    convention: Convention,
    *,
    ties: Any = None,
    check: Any = "strict",
) -> Table:
    """Return the keys, and a column per measure."""
    values: Table = evaluation.per_query(
        run,
        [a.measure for a in asked],
        qrels=judged,
        query=list(keys),
        doc="doc",
        convention=convention,
        ties=ties,
        check=check,
    )
    return values


def over_ties(
    run: Table,
    judged: Table | None,
    asked: Sequence[Asked],
    keys: Sequence[str],
    convention: Convention,
    max_orders: int,
) -> Table:
    """Find the lowest and highest value of every query over orders of its ties."""
    ways: dict[Way, list[Asked]] = {}
    for a in asked:
        way = way_of(a.measure, a.arguments, judged=False)
        if way == "every":
            _require_few_orders(a.name, run, judged, keys, convention, max_orders)
        ways.setdefault(way, []).append(a)
    found = []
    for way, members in ways.items():
        tables = _ordered(run, judged, members, keys, convention, way, check="strict")
        found += [extremes(several, keys) for several in tables]
    return pl.concat(found)


def _require_few_orders(
    name: str,
    run: Table,
    judged: Table | None,
    keys: Sequence[str],
    convention: Convention,
    max_orders: int,
    labelings: int = 1,
) -> None:
    single = convention.score_dtype == "float32"
    size = labelings * size_of_orders(run, judged, keys, single=single)
    if size > max_orders:
        under = f" under {labelings} labelings" if labelings > 1 else ""
        msg = (
            f"{name}: {size:.6g} orders of the tied documents of a query{under} would "
            f"have to be tried, more than max_orders={max_orders}; raise it, break the "
            "ties, or ask for over='labels'"
        )
        raise ValueError(msg)


def _ordered(
    run: Table,
    judged: Table | None,
    asked: Sequence[Asked],
    keys: Sequence[str],
    convention: Convention,
    way: Way,
    *,
    check: Any,
) -> Iterator[list[Table]]:
    """Yield values in all orders that suffice; a list is of the same measures."""
    if way == "grades":
        yield [
            values_under(run, judged, asked, keys, convention, ties=rule, check=check)
            for rule in EXTREMES
        ]
        return
    single = convention.score_dtype == "float32"
    for a in asked:
        rows, labels, names = in_orders(
            run, judged, keys, way, a.arguments, single=single
        )
        values = values_under(
            rows, labels, [a], [*keys, *names], convention, ties="order", check="off"
        )
        yield [values.drop(names)]


def extremes(tables: Sequence[Table], keys: Sequence[str]) -> Table:
    """Return ``lower``, ``upper`` and ``exact`` of several values of each query."""
    long = pl.concat(tables).unpivot(
        index=list(keys), variable_name="measure", value_name="value"
    )
    value = pl.col("value")
    return long.group_by(*keys, "measure").agg(
        lower=value.min(),
        upper=value.max(),
        exact=(value.null_count() == 0) | (value.count() == 0),
    )


def widest(tables: Sequence[Table], keys: Sequence[str]) -> Table:
    """Widen the limits of several sets of values to those of all of them."""
    columns = [*keys, "measure", "lower", "upper", "exact"]
    every = pl.concat([table.select(columns) for table in tables])
    return every.group_by(*keys, "measure").agg(
        pl.col("lower").min(), pl.col("upper").max(), pl.col("exact").all()
    )


def labels_move(
    documents: Documents, held: pl.DataFrame, convention: Convention
) -> bool:
    """Tell whether there are tied documents whose order goes by their labels."""
    if convention.ties not in EXTREMES:
        return False
    score = pl.col("score")
    if convention.score_dtype == "float32":
        score = score.cast(pl.Float32)
    scores = held.drop_nulls("score").select(*documents.keys, score)
    return bool(scores.is_duplicated().any())


def settled(table: Table) -> Table:
    """Collect the rows of a measure by themselves.

    A hundred plans within one plan can take all the threads that Polars has for
    waiting, and then wait for each other.
    """
    return table.collect(engine="streaming").lazy()


def over_labels(
    documents: Documents,
    held: pl.DataFrame,
    asked: Sequence[Asked],
    grades: Sequence[int],
    convention: Convention,
    ways: Sequence[str],
    max_orders: int,
) -> Table:
    """Find the lowest and highest value of every query over labels of its documents."""
    groups: dict[tuple[Scheme, Way | None], list[Asked]] = {}
    found = []
    unjudged: int = held.select(pl.col("u").max().fill_null(0)).item()
    moved = "ties" not in ways and labels_move(documents, held, convention)
    above = bool((held["label"] > grades[-1]).any())
    for a in asked:
        if (
            a.measure.metric == "ndcg"
            and "ties" not in ways
            and not moved
            and has_levels(a.arguments, a.policy)
        ):
            found.append(settled(_ndcg(documents, held, a, grades)))
            continue
        scheme = scheme_of(
            a.measure,
            a.arguments,
            grades,
            moved=moved,
            above=above,
            best_alone=a.policy == "one" and a.measure.definition.needs_relevant,
        )
        way = way_of(a.measure, a.arguments, judged=True) if "ties" in ways else None
        if way not in (None, "grades"):
            scheme = "every"  # nothing smaller is known for both
        size = size_of(scheme, unjudged, len(grades))
        _require_few_labelings(a.name, scheme, size, unjudged, max_orders)
        if way == "every":
            run = held.filter(pl.col("score").is_not_null()).lazy()
            keys = documents.keys
            _require_few_orders(a.name, run, None, keys, convention, max_orders, size)
        groups.setdefault((scheme, way), []).append(a)
    for (scheme, way), members in groups.items():
        run, qrels, keys = labeled(documents, scheme, grades)
        if way is None:
            tables = [
                [values_under(run, qrels, members, keys, convention, check="off")]
            ]
        else:
            tables = [
                *_ordered(run, qrels, members, keys, convention, way, check="off")
            ]
        added = [name for name in keys if name not in documents.keys]
        found += [
            settled(extremes([t.drop(added) for t in several], documents.keys))
            for several in tables
        ]
    columns = [*documents.keys, "measure", "lower", "upper", "exact"]
    return pl.concat([table.select(columns) for table in found])


def _require_few_labelings(
    name: str, scheme: Scheme, size: int, unjudged: int, max_orders: int
) -> None:
    """Refuse to try more labelings than asked for; the short schemes are always few."""
    if scheme in ("sorted", "every") and size > max_orders:
        msg = (
            f"{name}: {size} labelings of a query with {unjudged} unjudged documents "
            f"would have to be tried, more than max_orders={max_orders}; raise it, "
            "judge more, cut the run (a smaller depth), or lower max_grade"
        )
        raise ValueError(msg)


def _ndcg(
    documents: Documents, held: pl.DataFrame, asked: Asked, grades: Sequence[int]
) -> Table:
    parts, gains = parts_of(documents, asked.arguments, grades)
    keys = documents.keys
    limits = ratio_limits(parts, keys, gains, asked, places(held, keys))
    return limits.with_columns(measure=pl.lit(asked.name), exact=pl.lit(True))


def places(held: pl.DataFrame, keys: Sequence[str]) -> int:
    """Count the documents of the largest query."""
    most = held.group_by(keys).len().select(pl.col("len").max().fill_null(0))
    return int(most.item())


def ratio_limits(
    parts: Table,
    keys: Sequence[str],
    gains: Sequence[float],
    asked: Asked,
    places: int,
) -> Table:
    """Return ``lower`` and ``upper``: min x is -max -x, so one search serves both."""
    upper, negative = (
        highest_ratio(
            parts.with_columns(weight=sign * pl.col("weight")),
            keys, gains, asked.arguments, places,
        )
        for sign in (1.0, -1.0)
    )  # fmt: skip
    turned = negative.select(*keys, lower=-pl.col("upper"))
    return turned.join(upper, on=list(keys), nulls_equal=True)
