"""Values under labelings and orders, and the lowest and highest of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.evaluation import evaluate as evaluation
from polars_rank.measures.measure import Measure
from polars_rank.uncertainty.bounds import gain_levels
from polars_rank.uncertainty.bounds.labelings import (
    Documents,
    Scheme,
    labeled,
    scheme_of,
    size_of,
)
from polars_rank.uncertainty.bounds.tie_orders import Blocks, Way, way_of

Table: TypeAlias = pl.LazyFrame
EXTREMES = ("optimistic", "pessimistic")
ENDS = ("lower", "upper", "exact")


class Asked(NamedTuple):
    """A measure, its complete arguments, and the name of its column."""

    measure: Measure
    arguments: dict[str, Any]
    policy: str

    @property
    def name(self) -> str:
        """Name of the result."""
        return self.measure.name


@dataclass(frozen=True)
class Question:
    """What is bounded: measures of a run and its judgments, with columns by role.

    ``keys`` tell the queries of systems apart; ``shared`` are those of them that the
    judgments have. ``ways`` are what varies, ``"ties"`` and ``"labels"``.
    """

    run: Table
    judged: Table | None
    keys: list[str]
    shared: list[str]
    system: str | None
    convention: Convention
    ways: Sequence[str]
    max_orders: int
    asked: Sequence[Asked] = ()
    check: Literal["strict", "off"] = "strict"

    def values(self, ties: Any = None) -> Table:
        """Return the keys, and a column per measure."""
        found: Table = evaluation.per_query(
            self.run,
            [a.measure for a in self.asked],
            qrels=self.judged,
            query=self.keys,
            doc="doc",
            convention=self.convention,
            ties=ties,
            check=self.check,
        )
        return found

    def labeled(
        self, run: Table, judged: Table | None, keys: Sequence[str]
    ) -> Question:
        """Return the same with rows that were checked before, under other labels."""
        return replace(self, run=run, judged=judged, keys=[*keys], check="off")

    def renamed(self, names: Mapping[str, str]) -> Question:
        """Return the same with other names of the keys."""
        judged = self.judged
        if judged is not None:
            judged = judged.rename({k: names[k] for k in self.shared})
        return replace(
            self,
            run=self.run.rename(names),
            judged=judged,
            keys=[names[k] for k in self.keys],
            shared=[names[k] for k in self.shared],
            system=None if self.system is None else names[self.system],
        )

    def blocks(self) -> Blocks:
        """Return the blocks of tied documents."""
        single = self.convention.score_dtype == "float32"
        return Blocks.of(self.run, self.judged, self.keys, single=single)


def over_ties(question: Question) -> Table:
    """Find the lowest and highest value of every query over orders of its ties."""
    ways: dict[Way, list[Asked]] = {}
    for a in question.asked:
        way = way_of(a.measure, a.arguments, judged=False)
        if way == "every":
            _require_few_orders(question, a.name)
        ways.setdefault(way, []).append(a)
    return pl.concat(
        extremes(tables, question.keys)
        for way, members in ways.items()
        for tables in _ordered(replace(question, asked=members), way)
    )


def _require_few_orders(question: Question, name: str, labelings: int = 1) -> None:
    size = labelings * question.blocks().most_orders()
    if size > question.max_orders:
        under = f" under {labelings} labelings" if labelings > 1 else ""
        msg = (
            f"{name}: {size:.6g} orders of the tied documents of a query{under} would "
            f"have to be tried, more than max_orders={question.max_orders}; raise it, "
            "break the ties, or ask for over='labels'"
        )
        raise ValueError(msg)


def _ordered(question: Question, way: Way) -> Iterator[list[Table]]:
    """Yield values in all orders that suffice; a list is of the same measures."""
    if way == "grades":
        yield [question.values(rule) for rule in EXTREMES]
        return
    for a in question.asked:
        run, judged, names = question.blocks().in_orders(way, a.arguments)
        one = question.labeled(run, judged, [*question.keys, *names])
        yield [replace(one, asked=[a]).values("order").drop(names)]


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
    columns = [*keys, "measure", *ENDS]
    every = pl.concat([table.select(columns) for table in tables])
    return every.group_by(*keys, "measure").agg(
        pl.col("lower").min(), pl.col("upper").max(), pl.col("exact").all()
    )


def labels_move(question: Question, documents: Documents) -> bool:
    """Tell whether there are tied documents whose order goes by their labels."""
    if question.convention.ties not in EXTREMES:
        return False
    score = pl.col("score")
    if question.convention.score_dtype == "float32":
        score = score.cast(pl.Float32)
    scores = documents.held.drop_nulls("score").select(*documents.keys, score)
    return bool(scores.is_duplicated().any())


def settled(table: Table) -> Table:
    """Collect the rows of a measure by themselves.

    A hundred plans within one plan can take all the threads that Polars has for
    waiting, and then wait for each other.
    """
    return table.collect(engine="streaming").lazy()


def over_labels(question: Question, documents: Documents) -> Table:
    """Find the lowest and highest value of every query over labels of its documents."""
    groups: dict[tuple[Scheme, Way | None], list[Asked]] = {}
    found = []
    ties = "ties" in question.ways
    moved = not ties and labels_move(question, documents)
    for a in question.asked:
        if knows_levels(a) and not ties and not moved:
            parts, gains = gain_levels.parts_of(documents, a.arguments)
            limits = ratio_limits(parts, gains, a, documents.keys, documents)
            found.append(settled(limits))
            continue
        scheme = scheme_of(
            a.measure,
            a.arguments,
            documents.grades,
            moved=moved,
            above=documents.above,
            best_alone=a.policy == "one" and a.measure.definition.needs_relevant,
        )
        way = way_of(a.measure, a.arguments, judged=True) if ties else None
        if way not in (None, "grades"):
            scheme = "every"  # nothing smaller is known for both
        size = size_of(scheme, documents.unjudged, len(documents.grades))
        if scheme in ("sorted", "every") and size > question.max_orders:
            msg = (
                f"{a.name}: {size} labelings of a query with {documents.unjudged} "
                "unjudged documents would have to be tried, more than "
                f"max_orders={question.max_orders}; raise it, judge more, cut the run "
                "(a smaller depth), or lower max_grade"
            )
            raise ValueError(msg)
        if way == "every":
            run = documents.held.filter(pl.col("score").is_not_null()).lazy()
            _require_few_orders(
                question.labeled(run, None, documents.keys), a.name, size
            )
        groups.setdefault((scheme, way), []).append(a)
    for (scheme, way), members in groups.items():
        under = question.labeled(*labeled(documents, scheme))
        under = replace(under, asked=members)
        tables = [[under.values()]] if way is None else _ordered(under, way)
        added = [name for name in under.keys if name not in documents.keys]
        found += [
            settled(extremes([t.drop(added) for t in several], documents.keys))
            for several in tables
        ]
    columns = [*documents.keys, "measure", *ENDS]
    return pl.concat([table.select(columns) for table in found])


def knows_levels(asked: Asked) -> bool:
    """Tell whether the closed form of nDCG knows the measure."""
    return asked.measure.metric == "ndcg" and gain_levels.has_levels(
        asked.arguments, asked.policy
    )


def ratio_limits(
    parts: Table,
    gains: Sequence[float],
    asked: Asked,
    keys: Sequence[str],
    documents: Documents,
) -> Table:
    """Return the limits of a measure: min x is -max -x, so one search serves both."""
    most = documents.held.group_by(keys).len().select(pl.col("len").max().fill_null(0))
    upper, negative = (
        gain_levels.highest_ratio(
            parts.with_columns(weight=sign * pl.col("weight")),
            keys, gains, asked.arguments, int(most.item()),
        )
        for sign in (1.0, -1.0)
    )  # fmt: skip
    turned = negative.select(*keys, lower=-pl.col("upper"))
    limits = turned.join(upper, on=list(keys), nulls_equal=True)
    return limits.with_columns(measure=pl.lit(asked.name), exact=pl.lit(True))
