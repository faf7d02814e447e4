"""The first binding, of a formula to raw columns in any Polars context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

import polars as pl

from polars_rank.core.cutoffs import Cutoffs
from polars_rank.core.expr import as_expr, is_scalar, let
from polars_rank.core.ranking import Depth, Ranking, Ties, order_by
from polars_rank.core.rules import (
    DUPLICATE_RANK,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NULL_SCORE,
    Violation,
)
from polars_rank.exceptions import DataError


class Columns(NamedTuple):
    """Columns of a query's documents.

    ``ideal`` has the grades in the ideal order, and ``number`` is how many there are.
    """

    label: pl.Expr
    known: pl.Expr
    ideal: pl.Expr
    number: pl.Expr


ROW, IDEAL = (pl.element().struct.field(name) for name in ("row", "ideal"))
LABEL, KNOWN = (ROW.struct.field(name) for name in ("label", "known"))
Kind: TypeAlias = Literal["sums", "counts"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LISTED = Columns(LABEL, KNOWN, IDEAL, pl.element().len())


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
    formula: Callable[[Ranking], pl.Expr],
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
    if ties in ("doc_desc", "doc_asc") and doc is None:
        msg = f"ties={ties!r} needs doc=, the column of document identifiers"
        raise ValueError(msg)
    ties = ties or ("order" if doc is None else "doc_desc")
    label = as_expr(label)
    text = None if doc is None else as_expr(doc).cast(pl.String)
    if score is not None:
        score = as_expr(score)
        keys, downwards = order_by(score, label=label, doc=text, ties=ties)
    else:
        keys, downwards = [as_expr(cast("str | pl.Expr", rank))], [False]
    # Adding 0 refuses text, which a cast would read as numbers.
    rows = pl.struct(
        (label + 0).alias("label"),
        ((score if score is not None else keys[0]) + 0).alias("known"),
    )
    scored = score is not None

    def read(
        columns: Columns, depth: int | None = None
    ) -> tuple[pl.Expr, NotingRanking]:
        ranking = _ranking(columns, depth, scored=scored, expected=ties == "expected")
        return ranking.whole(formula) if whole else formula(ranking), ranking

    value, ranking = read(LISTED)
    # A sum beside documents is not there yet, and Polars 2.1 takes no lists of fields.
    if not whole and (ranking.noted.beside or ".list.eval(" in str(value)):
        return bind(
            formula, label, score=score, rank=rank, doc=doc, ties=ties, whole=True
        )
    depth = ranking.noted.cutoffs.depth
    if depth is not None:
        value, ranking = read(LISTED, depth)
    noted = ranking.noted

    def in_order(row: pl.Expr) -> pl.Expr:
        row = row.sort_by(
            keys, descending=downwards, nulls_last=True, maintain_order=True
        )
        return row if depth is None else row.head(depth)

    grades, number = rows.struct.field("label"), pl.len()
    best = grades.sort(descending=True, nulls_last=True)
    if noted.reads_once:
        unsorted = Columns(grades, rows.struct.field("known"), grades, number)
        parts = [read(unsorted)[1].noted.struct("counts")]
        if noted.sums:
            ordered = Columns(in_order(grades), pl.lit(0), grades, number)
            parts.append(read(ordered, depth)[1].noted.struct("sums"))
        result = pl.struct(parts)
    elif depth is None:
        lists = [in_order(rows).alias("row"), best.alias("ideal")]
        lists = lists if noted.mentions(IDEAL) else lists[:1]
        parts = [noted.struct("sums"), noted.struct("counts")]
        result = let(pl.struct(lists), lambda _: pl.struct(parts))
    else:
        # Counts depend on all documents, but on no order.
        row = rows if noted.mentions(KNOWN, "sums") else pl.struct(label=grades)
        lists = [in_order(row).alias("row"), best.head(depth).alias("ideal")]
        lists = lists if noted.mentions(IDEAL, "sums") else lists[:1]
        whole_lists = pl.struct(rows.alias("row"), grades.alias("ideal"))
        result = pl.struct(
            let(pl.struct(lists), lambda _: noted.struct("sums")).alias("sums"),
            let(whole_lists, lambda _: noted.struct("counts")).alias("counts"),
        )
    broken = (v.count.alias(f"rule{i}") for i, v in enumerate(ranking.violations))
    value = value.cast(pl.Float64).alias("value")
    result = result.struct.with_fields(value, *broken)
    result = _checked(result, ranking.violations)
    name = label.meta.output_name(raise_if_undetermined=False)
    return result if name is None else result.alias(name)


@dataclass
class Noted:
    """What a formula sums up, each sum once, and what is known about its terms.

    Attributes
    ----------
    sums, counts
        Values of the documents in rank order, and in any order.
    cutoffs
        How many of the first documents can change the ``sums``.
    beside
        Whether a sum is used in an expression over the documents.
    """

    sums: dict[str, pl.Expr] = field(default_factory=dict)
    counts: dict[str, pl.Expr] = field(default_factory=dict)
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    beside: bool = False

    def add(self, kind: Kind, value: pl.Expr) -> pl.Expr:
        """Return the field that will hold the value."""
        named = getattr(self, kind)
        same = (name for name, other in named.items() if other.meta.eq(value))
        name = next(same, f"{kind}{len(named)}")
        named[name] = value
        return pl.field(kind).struct.field(name)

    def struct(self, kind: Kind) -> pl.Expr:
        """Return the values under the names of their fields."""
        named = getattr(self, kind).items()
        return pl.struct(value.alias(name) for name, value in named).alias(kind)

    def mentions(self, column: pl.Expr, *kinds: Kind) -> bool:
        """Return whether a value of these kinds, or of any, reads the column."""
        values = [v for kind in kinds or KINDS for v in getattr(self, kind).values()]
        return any(str(column) in str(value) for value in values)

    @property
    def reads_once(self) -> bool:
        """Whether each sum reads the labels, once, and nothing else."""
        listed = str(pl.element())
        return all(
            str(LABEL) in (text := str(value)) and text.count(listed) == 1
            for value in self.sums.values()
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NotingRanking(Ranking):
    """A ranking whose sums are computed once, over the documents that can change them.

    A formula names a sum several times, and a sum with a cutoff needs a few of the
    documents. What it reads otherwise than by sums may depend on all. ``depth`` is how
    many documents there are at most, where that is known.
    """

    noted: Noted
    scored: bool
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
        self.noted.beside |= "pl.field(" in str(term)
        self.noted.cutoffs.add(term)
        return self.noted.add("sums", super().sum(term))

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count once; the documents need not be in order."""
        return self.noted.add("counts", super().sum(condition))

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once."""
        return self.noted.add("sums", self.cached(value))

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
    columns: Columns, depth: int | None, *, scored: bool, expected: bool
) -> NotingRanking:
    """Make a ranking of the documents of one query, in order: by score, or ranked."""
    label, raw = columns.label.cast(pl.Float64), columns.known
    known = raw.cast(pl.Float64)
    place = pl.int_range(1, columns.number + 1).cast(pl.Float64)

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
        noted=Noted(),
        scored=scored,
        depth=depth,
    )
    if scored:
        found = {NAN_SCORE: known.is_nan(), NULL_SCORE: known.is_null()}
    else:
        whole = (known >= 1) & (known.floor() == known) & known.is_finite()
        copies = known.count() - known.drop_nulls().n_unique()
        found = {INVALID_RANK: ~whole, DUPLICATE_RANK: copies}
    for rule, condition in (found | {INFINITE_GRADE: ~label.is_finite()}).items():
        ranking.forbid(condition, rule)
    return ranking


def _checked(result: pl.Expr, violations: Sequence[Violation]) -> pl.Expr:
    """Return the value of every group, or a :class:`DataError` if one breaks a rule."""

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        groups = columns[0].struct
        for i, rule in enumerate(v.rule for v in violations):
            count = groups.field(f"rule{i}")
            if broken := int(count.sum() or 0):
                where = f"{(count > 0).sum()} of {len(count)} groups"
                msg = f"{rule.message} ({broken} found, in {where})"
                raise DataError(msg, rule=rule.name, count=broken)
        return groups.field("value")

    # Claimed as elementwise, for one call with all groups: Polars 2.1 would otherwise
    # call ``check`` group by group.
    return pl.map_batches([result], check, return_dtype=pl.Float64, is_elementwise=True)
