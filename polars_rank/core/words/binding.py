"""The first binding, of a formula to raw columns in any Polars context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.expr import as_expr, is_scalar, names, places
from polars_rank.core.rules import (
    DUPLICATE_RANK,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NULL_SCORE,
    Violation,
)
from polars_rank.core.words.cutoffs import Cutoffs
from polars_rank.core.words.ranking import Depth, Ranking, Ties, order_by
from polars_rank.exceptions import DataError


class Columns(NamedTuple):
    """Columns of a query's documents.

    ``ideal`` has the grades in the ideal order, and ``number`` is how many there are.
    """

    label: pl.Expr
    known: pl.Expr
    ideal: pl.Expr
    number: pl.Expr


# Of what a formula sums up: along documents in rank order, along grades in ideal order,
# or in any order.
Kind: TypeAlias = Literal["sums", "ideals", "counts"]
LISTED: tuple[Kind, ...] = ("sums", "ideals")
OWN_LIST = pl.element().alias("ideal")  # of a list of the grades in ideal order
NAMED = Columns(*(pl.col(name) for name in Columns._fields))
Formula: TypeAlias = Callable[[Ranking], pl.Expr]


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
    read_needs = _needs if whole else _known_needs
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
    counts: Noted = field(default_factory=lambda: Noted(_beside))
    totals: list[pl.Expr] = field(default_factory=list)

    def add(self, documents: Documents, parts: Mapping[str, Part]) -> None:
        """Add the formulas that ask for this order of the documents."""
        scored, expected = documents.scored, documents.ties == "expected"
        needs = [
            (_needs if whole else _known_needs)(formula, scored, expected, whole)
            for formula, _, whole in parts.values()
        ]
        lists, columns = documents.listed(needs)
        number = str(len(self.totals))
        sums = Noted(partial(_apart, number))
        for (key, part), need, own in zip(parts.items(), needs, columns, strict=True):
            _, counted = documents.read(part.formula, documents.unsorted, need)
            known = counted.noted.counts.items()
            places = {n: self.counts.add("counts", count) for n, count in known}
            noted = Noted(partial(_placed, sums.place, places), sums.sums, sums.ideals)
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
    value, ranking = documents.read(formula, along, needs, Noted(partial(_apart, "")))
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


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents of the group at hand, in any order: raw columns.

    ``known`` is the score, if they are ``scored``, or the rank; ``doc`` breaks ties.
    """

    label: pl.Expr
    known: pl.Expr
    doc: pl.Expr | None
    _: KW_ONLY
    scored: bool
    ties: Ties

    @classmethod
    def of(cls, columns: tuple[Any, ...], *, scored: bool, ties: Ties) -> Documents:
        """Name the columns: label, score or rank, and ids, which compare as text."""
        label, known, doc = (None if c is None else as_expr(c) for c in columns)
        assert label is not None
        assert known is not None
        text = None if doc is None else doc.cast(pl.String)
        return cls(label, known, text, scored=scored, ties=ties)

    @cached_property
    def rows(self) -> pl.Expr:
        """The numbers of each document."""
        return pl.struct(self.label.alias("label"), self.known.alias("known"))

    @cached_property
    def unsorted(self) -> Columns:
        """The columns as they come; a struct of them makes literals as long.

        Whether labels are counted, or those in ideal order, they are the same; but a
        formula notes both, under two names.
        """
        label, known = self.label, self.known
        if not (self.label.meta.is_column() and self.known.meta.is_column()):
            label, known = (self.rows.struct.field(name) for name in ("label", "known"))
        return Columns(label, known, label.alias("ideal"), pl.len())

    @property
    def grades(self) -> pl.Expr:
        """Grades as Float64: a column is cast faster than the head of each group."""
        return self.unsorted.label.cast(pl.Float64)

    def in_order(self, row: pl.Expr, depth: int | None) -> pl.Expr:
        """Put something of each document in rank order; the first ``depth`` of them."""
        keys, downwards = [self.known], [False]
        if self.scored:
            keys, downwards = order_by(
                self.known, label=self.label, doc=self.doc, ties=self.ties
            )
        row = row.sort_by(
            keys, descending=downwards, nulls_last=True, maintain_order=True
        )
        return row if depth is None else row.head(depth)

    def listed(
        self, needs: Sequence[Needs]
    ) -> tuple[dict[Kind, pl.Expr], list[Columns]]:
        """Return lists for each kind of sum, and the columns of each need.

        One has the documents in rank order, one the grades in ideal order, unless a sum
        needs both. Columns are those of the list's elements. With a cutoff they end
        there.
        """
        depths = [need.depth for need in needs if need.depth is not None]
        depth = max(depths) if len(depths) == len(needs) else None
        scored = any("known" in need.columns for need in needs)
        rows = self.in_order(self.rows if scored else self.grades, depth)
        best = self.grades.sort(descending=True, nulls_last=True)
        best = best if depth is None else best.head(depth)
        lists: dict[Kind, pl.Expr] = {"sums": rows, "ideals": best}
        row, ideal = pl.element(), OWN_LIST
        if any(need.joint for need in needs):
            lists = {"sums": pl.struct(rows.alias("row"), best.alias("ideal"))}
            row, ideal = (pl.element().struct.field(name) for name in ("row", "ideal"))
        found = []
        for need in needs:
            own, best = row, ideal
            if need.depth is not None and need.depth != depth:
                own, best = (list_.head(need.depth) for list_ in (row, ideal))
            label = own.struct.field("label") if scored else own
            found.append(Columns(label, own.struct.field("known"), best, own.len()))
        return lists, found

    def read(
        self,
        formula: Formula,
        columns: Columns,
        needs: Needs,
        noted: Noted | None = None,
    ) -> tuple[pl.Expr, NotingRanking]:
        """Return the value in terms of sums and counts, and what has noted these."""
        ranking = _ranking(
            columns,
            needs.depth,
            noted or Noted(_beside),
            scored=self.scored,
            expected=self.ties == "expected",
        )
        return ranking.whole(formula) if needs.whole else formula(ranking), ranking


class Needs(NamedTuple):
    """What a formula needs, whatever the columns are called.

    Attributes
    ----------
    whole
        Whether it is computed in one piece: it reads documents other than by hooks.
    depth
        How many of the first documents can change the sums; None: all.
    columns
        The fields of :class:`Columns` that the sums read. If each reads the labels,
        once, and nothing else, there is one.
    joint
        Whether a sum reads documents in ideal order beside those in rank order.
    once
        Whether the value names some sums and counts, none of them twice: Polars would
        compute it twice.
    """

    whole: bool
    depth: int | None
    columns: list[str]
    joint: bool
    once: bool


def _needs(formula: Formula, scored: bool, expected: bool, whole: bool) -> Needs:
    """Read a formula without data: columns are names, and so are sums."""

    def read(depth: int | None) -> tuple[pl.Expr, Noted]:
        noted = Noted(_named)
        ranking = _ranking(NAMED, depth, noted, scored=scored, expected=expected)
        return ranking.whole(formula) if whole else formula(ranking), noted

    value, noted = read(None)
    # A sum beside documents is not there yet, and Polars 2.1 takes no lists of fields.
    if not whole and (noted.beside or ".list.eval(" in str(value)):
        return _needs(formula, scored, expected, True)
    depth = noted.cutoffs.depth
    if depth is not None:
        _, noted = read(depth)
    read_by = [value.meta.root_names() for value in noted.sums.values()]
    named = value.meta.root_names()
    once = not whole and 0 < len(named) == len({*named})
    if all(columns == ["label"] for columns in read_by):
        return Needs(whole, depth, ["label"], False, once)
    several = {"number", *(name for columns in read_by for name in columns)}
    joint = any({"ideal"} < {*columns} - {"number"} for columns in read_by)
    return Needs(whole, depth, sorted(several), joint, once)


_known_needs = lru_cache(maxsize=256)(_needs)


def _named(_: Kind, name: str) -> pl.Expr:
    return pl.col(name)


def _beside(_: Kind, name: str) -> pl.Expr:
    return pl.field(name)


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


@dataclass
class Noted:
    """What a formula sums up, each sum once, and what is known about its terms.

    Attributes
    ----------
    sums, ideals, counts
        Values of the documents in rank order, in ideal order, and in any order.
    cutoffs
        How many of the first documents can change the ``sums``.
    place
        The column or field in which a formula finds a sum, or a count, of that name.
    beside
        Whether a sum is used in an expression over the documents: told by its name,
        where that is the name of a column.
    """

    place: Callable[[Kind, str], pl.Expr]
    sums: dict[str, pl.Expr] = field(default_factory=dict)
    ideals: dict[str, pl.Expr] = field(default_factory=dict)
    counts: dict[str, pl.Expr] = field(default_factory=dict)
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    beside: bool = False

    def add(self, kind: Kind, value: pl.Expr) -> pl.Expr:
        """Return the place where the value will be."""
        known = getattr(self, kind)
        same = (name for name, other in known.items() if other.meta.eq(value))
        name = next(same, f"{kind}{len(known)}")
        known[name] = value
        return self.place(kind, name)

    def values(self, kind: Kind) -> list[pl.Expr]:
        """Return the values under their names."""
        return [value.alias(name) for name, value in getattr(self, kind).items()]

    def along(self, value: pl.Expr) -> pl.Expr:
        """Note the value of a list of documents: of which one, it tells itself."""
        return self.add("ideals" if names(value, OWN_LIST) else "sums", value)

    def sum(self, term: pl.Expr, total: pl.Expr) -> pl.Expr:
        """Note how many documents the sum of the term needs, and its value."""
        held = self.sums.keys() | self.ideals.keys() | self.counts.keys()
        self.beside |= not held.isdisjoint(term.meta.root_names())
        self.cutoffs.add(term)
        return self.along(total)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NotingRanking(Ranking):
    """A ranking whose sums are computed once, over the documents that can change them.

    A formula names a sum several times, and a sum with a cutoff needs a few of the
    documents. What it reads otherwise than by sums may depend on all. ``depth`` is how
    many documents there are at most, where that is known.
    """

    noted: Noted
    scored: bool
    number: pl.Expr
    depth: int | None

    def whole(self, formula: Callable[[Ranking], pl.Expr]) -> pl.Expr:
        """Compute any formula in one piece."""
        words = {f.name: getattr(self, f.name) for f in fields(Ranking)}
        plain = Ranking(**words | {"violations": []})
        value = formula(plain)
        if not is_scalar(value):
            msg = (
                "a formula must return one number for each group, not one for each "
                "document; reduce it, e.g. r.sum(...)"
            )
            raise TypeError(msg)
        self.violations.extend(
            Violation(v.rule, self.reduce(v.count)) for v in plain.violations
        )
        return self.reduce(value)

    def cached(self, word: pl.Expr) -> pl.Expr:
        """Let the word depend on all documents."""
        self.noted.cutoffs.depths.add(None)
        return word

    def zero_below(self, k: Depth, word: pl.Expr) -> pl.Expr:
        """Note the cutoff."""
        return self.noted.cutoffs.note(word, k)

    def running(self, word: pl.Expr) -> pl.Expr:
        """Return the word: those of the first documents need no others."""
        return word

    def broadcast(self, value: pl.Expr) -> pl.Expr:
        """Let the value depend on all documents."""
        return self.cached(value)

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum the term once."""
        return self.noted.sum(term, super().sum(term))

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count once; the documents need not be in order."""
        return self.noted.add("counts", super().sum(condition))

    def retrieved_count(self) -> pl.Expr:
        """Count the documents, where each has a score."""
        if not self.scored:
            return super().retrieved_count()
        return self.noted.add("counts", self.number.cast(pl.Float64))

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once."""
        return self.noted.along(self.cached(value))

    def rank_weight(self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None) -> pl.Expr:
        """Weight all documents alike, where there are none below the cutoff."""
        return super().rank_weight(f, None if self._has_no_more_than(k) else k)

    def count(self, which: pl.Expr, k: Depth = None) -> pl.Expr:
        """Count without a condition on the rank, where all documents meet it."""
        if self._has_no_more_than(k) and not self.expected:
            return self.sum(which)
        return super().count(which, k)

    def weight_of_first(
        self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None, rel: float = 1
    ) -> pl.Expr:
        """Look the rank up instead of adding zeros."""
        if self.expected or not self.scored:
            return super().weight_of_first(f, k, rel)
        # Not arg_max: in a streaming select, Polars 2.1 finds the last one.
        first = self.reduce(self.relevant(rel).index_of(element=True))
        known = first.cast(pl.Float64) + 1.0
        return replace(self, rank=known, depth=None).weight(f, k).fill_null(0.0)

    def _has_no_more_than(self, k: Depth) -> bool:
        return self.scored and (k is None or (isinstance(k, int) and k == self.depth))


def _ranking(
    columns: Columns,
    depth: int | None,
    noted: Noted,
    *,
    scored: bool,
    expected: bool,
) -> NotingRanking:
    """Make a ranking of the documents of one query, in order: by score, or ranked."""
    label, raw = columns.label.cast(pl.Float64), columns.known
    known = raw.cast(pl.Float64)
    place = places(columns.number)

    def tie(end: Literal["min", "max"]) -> pl.Expr:
        return raw.rank(end, descending=True).cast(pl.Float64)

    tied = scored and expected
    ranking = NotingRanking(
        label=label,
        rank=place if scored else known,
        place=place,
        ideal_label=columns.ideal.cast(pl.Float64),
        score=known if scored else -known,
        raw_score=raw if scored else -known,
        tie_first=tie("min") if tied else None,
        tie_last=tie("max") if tied else None,
        noted=noted,
        scored=scored,
        number=columns.number,
        depth=depth,
    )
    number = (raw + 0).cast(pl.Float64)  # which refuses text; a cast would read it
    if scored:
        found = {NAN_SCORE: number.is_nan(), NULL_SCORE: known.is_null()}
    else:
        whole = (number >= 1) & (known.floor() == known) & known.is_finite()
        copies = known.count() - known.drop_nulls().n_unique()
        found = {INVALID_RANK: ~whole, DUPLICATE_RANK: copies}
    found[INFINITE_GRADE] = (columns.label * 0.0).is_nan()
    for rule, condition in found.items():
        ranking.forbid(condition, rule)
    return ranking


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
