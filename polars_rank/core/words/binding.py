"""The first binding, of a formula to raw columns in any Polars context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.expr import as_expr
from polars_rank.core.rules import Violation
from polars_rank.core.words.group import Documents, list_of
from polars_rank.core.words.needs import Needs, known_needs_of, needs_of
from polars_rank.core.words.noting import Formula, Kind, Noted
from polars_rank.core.words.ranking import Ranking, Ties
from polars_rank.exceptions import DataError

LISTED: tuple[Kind, ...] = ("sums", "ideals")


def metric_expr(
    formula: Callable[[Ranking], pl.Expr],
    label: str | pl.Expr,
    *,
    score: str | pl.Expr | None = None,
    rank: str | pl.Expr | None = None,
    doc: str | pl.Expr | None = None,
    ties: Ties | None = None,
) -> pl.Expr:
    """Bind a formula to raw columns: an expression with one value per group.

    The result works in ``group_by().agg()``, in ``.over()`` and in ``select()``.

    Parameters
    ----------
    formula
        A metric: an expression over a :class:`Ranking` that gives one value.
    label
        Grades.
    score
        Scores; the highest ranks first. Not needed with ``rank``.
    rank
        Known ranks, counted from 1; null where not retrieved.
    doc
        Document identifiers that break ties, compared as text.
    ties
        Order of equal scores. Default: ``"doc_desc"`` with ``doc``, else
        ``"order"``. Known ranks have no ties.

    Raises
    ------
    ValueError
        At once: neither or both of ``score`` and ``rank``; a rule that lacks ``doc``.
    TypeError
        At once: a formula that gives a value for each document.
    DataError
        When collected: NaN or null scores, ranks that are not positive whole numbers,
        grades that are not finite.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame({"score": [0.9, 0.8, 0.7], "label": [0, 1, 1]})
    >>> hits = pr.metric_expr(lambda r: r.hits_at(2), "label", score="score")
    >>> log.select(hits).item()
    1.0
    """
    return bind(formula, label, score=score, rank=rank, doc=doc, ties=ties, whole=True)


def bind(
    formula: Formula,
    label: str | pl.Expr,
    *,
    score: str | pl.Expr | None,
    rank: str | pl.Expr | None,
    doc: str | pl.Expr | None,
    ties: Ties | None,
    whole: bool = False,
) -> pl.Expr:
    """Bind a formula; in one piece if it may read documents other than by hooks."""
    if (score is None) == (rank is None):
        msg = "give either a score (the first argument) or rank=, not both or neither"
        raise ValueError(msg)
    given = (label, rank if score is None else score, doc)
    ties = order_of(ties, doc)
    names = [_name(column) for column in given]
    # The formula of a user may be another one each time that it is called.
    if whole or ... in names:
        return _bound(formula, given, score is not None, ties, whole)
    return _bound_by_name(formula, tuple(names), score is not None, ties)


def order_of(ties: Ties | None, doc: str | pl.Expr | None) -> Ties:
    """Return the order of ties; by default that of the ids, if there are any."""
    if ties in ("doc_desc", "doc_asc") and doc is None:
        msg = f"ties={ties!r} needs doc=, the column of document identifiers"
        raise ValueError(msg)
    return ties or ("order" if doc is None else "doc_desc")


class Part(NamedTuple):
    """A formula that is bound beside others, and what ``bind`` would be told of it."""

    formula: Formula
    ties: Ties
    whole: bool


def bind_together(
    parts: Mapping[str, Part],
    label: str | pl.Expr,
    *,
    score: str | pl.Expr | None,
    rank: str | pl.Expr | None,
    doc: str | pl.Expr | None,
) -> pl.Expr:
    """Bind several formulas: a struct of their values, for one sort of the documents.

    Polars shares nothing between expressions of ``agg``. There is a sort for each order
    of ties.
    """
    if (score is None) == (rank is None):
        msg = "give either a score (the second argument) or rank=, not both or neither"
        raise ValueError(msg)
    given = (label, rank if score is None else score, doc)
    names, scored = [_name(column) for column in given], score is not None
    if ... in names or any(part.whole for part in parts.values()):
        return _bound_together((*parts.items(),), given, scored)
    return _together_by_name((*parts.items(),), tuple(names), scored)


def _name(column: str | pl.Expr | None) -> object:
    """Return what an equal column has as well, if it is plain; ``...`` if it is not."""
    if isinstance(column, pl.Expr):
        return (column.meta.output_name(),) if column.meta.is_column() else ...
    return column


@lru_cache(maxsize=256)
def _bound_by_name(
    formula: Formula, names: tuple[Any, ...], scored: bool, ties: Ties
) -> pl.Expr:
    return _bound(formula, _columns(names), scored, ties, False)


def _columns(names: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(pl.col(*n) if isinstance(n, tuple) else n for n in names)


def _bound(
    formula: Formula, columns: tuple[Any, ...], scored: bool, ties: Ties, whole: bool
) -> pl.Expr:
    documents = Documents.of(columns, scored=scored, ties=ties)
    read_needs = needs_of if whole else known_needs_of
    needs = read_needs(formula, scored, ties == "expected", whole)
    sums = _flat if needs.columns == ["label"] else _listed
    value, violations, parts = sums(formula, documents, needs)
    result = _checked(value.cast(pl.Float64), violations, parts)
    return _named_after(documents.label, result)


def _named_after(label: pl.Expr, result: pl.Expr) -> pl.Expr:
    name = label.meta.output_name(raise_if_undetermined=False)
    return result if name is None else result.alias(name)


Parts: TypeAlias = tuple[tuple[str, Part], ...]


@lru_cache(maxsize=64)
def _together_by_name(parts: Parts, names: tuple[Any, ...], scored: bool) -> pl.Expr:
    return _bound_together(parts, _columns(names), scored)


def _bound_together(parts: Parts, columns: tuple[Any, ...], scored: bool) -> pl.Expr:
    together = _Together()
    for ties in dict.fromkeys(part.ties for _, part in parts):
        documents = Documents.of(columns, scored=scored, ties=ties)
        together.add(documents, {name: p for name, p in parts if p.ties == ties})
    values = {name: together.values[name].alias(name) for name, _ in parts}
    found = together.counts.values("counts") + together.totals
    dtype = pl.Struct(dict.fromkeys(values, pl.Float64))
    value = pl.struct(*values.values())
    result = _checked(value, together.violations, found, dtype)
    return _named_after(as_expr(columns[0]), result)


@dataclass
class _Together:
    """What several formulas sum up: lists of documents in one order after the other.

    Attributes
    ----------
    values
        The values in terms of ``counts``, and of the ``totals`` of each order.
    violations
        The rules of all of them, each once.
    counts
        What they count over the rows as they come, each once.
    totals
        Structs of the sums along each list.
    """

    values: dict[str, pl.Expr] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    counts: Noted = field(default_factory=Noted)
    totals: list[pl.Expr] = field(default_factory=list)

    def add(self, documents: Documents, parts: Mapping[str, Part]) -> None:
        """Add the formulas that ask for this order of the documents."""
        scored, expected = documents.scored, documents.ties == "expected"
        needs = [
            (needs_of if whole else known_needs_of)(formula, scored, expected, whole)
            for formula, _, whole in parts.values()
        ]
        lists, columns = documents.listed(needs)
        number = str(len(self.totals))
        sums = Noted(partial(_apart, number), list_of)
        for (key, part), need, own in zip(parts.items(), needs, columns, strict=True):
            _, counted = documents.read(part.formula, documents.unsorted, need)
            known = counted.noted.counts.items()
            places = {n: self.counts.add("counts", count) for n, count in known}
            place = partial(_placed, sums.place, places)
            noted = Noted(place, list_of, sums.sums, sums.ideals)
            value, ranking = documents.read(part.formula, own, need, noted)
            self.values[key] = value.cast(pl.Float64)
            for rule in ranking.violations:
                if not _is_among(self.violations, rule):
                    self.violations.append(rule)
        self.totals += _totals(lists, sums, number)


# The value and how often rules are broken, in terms of the fields of a struct; or
# themselves, without fields.
Sums: TypeAlias = tuple[pl.Expr, list[Violation], list[pl.Expr]]


def _flat(formula: Formula, documents: Documents, needs: Needs) -> Sums:
    """Sum up labels alone: as they come, and in rank order."""
    columns = documents.unsorted
    value, ranking = documents.read(formula, columns, needs)
    found = documents.in_order(documents.grades, needs.depth)
    _, ordered = documents.read(formula, columns._replace(label=found), needs)
    if needs.once:
        known = {**ranking.noted.counts, **ordered.noted.sums}
        return _in_place(formula, documents, needs, known)
    parts = ranking.noted.values("counts") + ordered.noted.values("sums")
    return value, ranking.violations, parts


def _listed(formula: Formula, documents: Documents, needs: Needs) -> Sums:
    """Sum up several columns, along a list of the documents in rank order.

    What counts documents needs no list of them.
    """
    lists, (along,) = documents.listed([needs])
    own = Noted(partial(_apart, ""), list_of)
    value, ranking = documents.read(formula, along, needs, own)
    _, counted = documents.read(formula, documents.unsorted, needs)
    noted = ranking.noted
    if needs.once and len(noted.sums) == 1 and not noted.ideals:
        [(name, total)] = noted.sums.items()
        alone = lists["sums"].implode().list.eval(total).list.first().first()
        known = {**counted.noted.counts, name: alone}
        return _in_place(formula, documents, needs, known)
    parts = [*_totals(lists, noted), *counted.noted.values("counts")]
    return value, ranking.violations, parts


def _totals(
    lists: Mapping[Kind, pl.Expr], noted: Noted, number: str = ""
) -> list[pl.Expr]:
    """Sum up along each list: structs for :func:`_apart`.

    Polars 2.1 puts a struct together group by group, unless it knows that each field is
    one value: ``first`` tells it.
    """
    found = []
    for kind in LISTED:
        if values := noted.values(kind):
            total = lists[kind].implode().list.eval(pl.struct(values)).list.first()
            found.append(total.first().alias(kind + number))
    return found


def _in_place(
    formula: Formula, documents: Documents, needs: Needs, known: Mapping[str, pl.Expr]
) -> Sums:
    """Put sums and counts where the formula names them."""
    own = Noted(lambda _, name: known[name])
    value, ranking = documents.read(formula, documents.unsorted, needs, own)
    return value, ranking.violations, []


def _is_among(known: Sequence[Violation], new: Violation) -> bool:
    return any(v.rule == new.rule and v.count.meta.eq(new.count) for v in known)


def _placed(
    of_sum: Callable[[Kind, str], pl.Expr],
    counts: Mapping[str, pl.Expr],
    kind: Kind,
    name: str,
) -> pl.Expr:
    return counts[name] if kind == "counts" else of_sum(kind, name)


def _apart(number: str, kind: Kind, name: str) -> pl.Expr:
    if kind == "counts":
        return pl.field(name)
    return pl.field(kind + number).struct.field(name)


def _checked(
    value: pl.Expr,
    violations: Sequence[Violation],
    parts: Sequence[pl.Expr],
    dtype: Any = pl.Float64,
) -> pl.Expr:
    """Return the value of every group, or a :class:`DataError` if one breaks a rule.

    ``parts`` are the fields that value and violations name, if they name any.
    """
    broken = [v.count.alias(f"rule{i}") for i, v in enumerate(violations)]
    if parts:
        inputs = [pl.struct(parts).struct.with_fields(value.alias("value"), *broken)]
    else:
        inputs = [value, pl.struct(broken)]

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        groups = columns[-1].struct.unnest()  # each field of a series would be a plan
        for i, rule in enumerate(v.rule for v in violations):
            count = groups.get_column(f"rule{i}")
            if broken := int(count.sum() or 0):
                where = f"{(count > 0).sum()} of {len(count)} groups"
                msg = f"{rule.message} ({broken} found, in {where})"
                raise DataError(msg, rule=rule.name, count=broken)
        return groups.get_column("value") if parts else columns[0]

    # Claimed as elementwise, for one call with all groups: Polars 2.1 would otherwise
    # call ``check`` group by group.
    return pl.map_batches(inputs, check, return_dtype=dtype, is_elementwise=True)
