"""The first binding, of a formula to raw columns in any Polars context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, cast

import polars as pl

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

# The documents of a query are a list; at each place of it are the document of that
# rank and the grade that the ideal order has there.
ROW, IDEAL = (pl.element().struct.field(name) for name in ("row", "ideal"))
LABEL, KNOWN = (ROW.struct.field(name) for name in ("label", "known"))


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
    ranking = _ranking(scored=score is not None, expected=ties == "expected")
    value = ranking.whole(formula) if whole else formula(ranking)
    # A sum beside documents is not there yet, and Polars 2.1 takes no lists of fields.
    if ranking.noted.beside or (not whole and ".list.eval(" in str(value)):
        return bind(
            formula, label, score=score, rank=rank, doc=doc, ties=ties, whole=True
        )
    parts = ranking.noted.computed(rows, keys, downwards)
    counts = (v.count.alias(f"rule{i}") for i, v in enumerate(ranking.violations))
    result = parts.struct.with_fields(value.cast(pl.Float64).alias("value"), *counts)
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
    zero_below
        Weights that are 0 below a cutoff, as text, with the cutoff.
    depths
        How many of the first documents can change each of the ``sums``; None: all.
    beside
        Whether a sum is used in an expression over the documents.
    """

    sums: dict[str, pl.Expr] = field(default_factory=dict)
    counts: dict[str, pl.Expr] = field(default_factory=dict)
    zero_below: dict[str, int] = field(default_factory=dict)
    depths: set[int | None] = field(default_factory=set)
    beside: bool = False

    def add(self, kind: Literal["sums", "counts"], value: pl.Expr) -> pl.Expr:
        """Return the field that will hold the value."""
        named = getattr(self, kind)
        same = (name for name, other in named.items() if other.meta.eq(value))
        name = next(same, f"{kind}{len(named)}")
        named[name] = value
        return pl.field(kind).struct.field(name)

    def depth(self, term: pl.Expr) -> int | None:
        """Return the rank below which the term is 0: it has such a weight as factor."""
        text, inputs = str(term), term.meta.pop()
        if text not in self.zero_below and len(inputs) == 2:
            b, a = inputs
            if text in (f"[({a}) * ({b})]", f"[({a}) & ({b})]"):
                return self.depth(b) or self.depth(a)
        return self.zero_below.get(text)

    def computed(
        self, rows: pl.Expr, keys: list[pl.Expr], descending: list[bool]
    ) -> pl.Expr:
        """Compute sums and counts: a struct of two structs."""
        label = rows.struct.field("label")
        # For a count, the documents may be in the order of the rows, the ideal, too.
        counts = _each(self.counts, row=rows, ideal=label).alias("counts")
        if not self.sums:
            return pl.struct(counts)
        depth = None if None in self.depths else max(cast("set[int]", self.depths))
        text = " ".join(map(str, self.sums.values()))

        def top(column: pl.Expr) -> pl.Expr:
            return column if depth is None else column.head(depth)

        # One struct is sorted once; its fields apart would each be sorted: Polars 2.1
        # shares nothing inside an aggregation.
        row = rows if str(KNOWN) in text else pl.struct(label=label)
        row = row.sort_by(
            keys, descending=descending, nulls_last=True, maintain_order=True
        )
        lists = {"row": top(row)}
        if str(IDEAL) in text:
            lists["ideal"] = top(label.sort(descending=True, nulls_last=True))
        return pl.struct(_each(self.sums, **lists).alias("sums"), counts)


def _each(values: dict[str, pl.Expr], **lists: pl.Expr) -> pl.Expr:
    """Compute the values of lists of equal length: a struct."""
    rows = pl.struct(*(column.alias(name) for name, column in lists.items()))
    named = [value.alias(name) for name, value in values.items()]
    return let(rows, lambda _: pl.struct(*named))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NotingRanking(Ranking):
    """A ranking whose sums are computed once, over the documents that can change them.

    A formula names a sum several times, and a sum with a cutoff needs a few of the
    documents. What it reads otherwise than by sums may depend on all.
    """

    noted: Noted

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
        self.noted.depths.add(None)
        return word

    def running(self, word: pl.Expr) -> pl.Expr:
        """Return the word: those of the first documents need no others."""
        return word

    def broadcast(self, value: pl.Expr) -> pl.Expr:
        """Let the value depend on all documents."""
        return self.cached(value)

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum the term once."""
        self.noted.beside |= "pl.field(" in str(term)
        self.noted.depths.add(self.noted.depth(term))
        return self.noted.add("sums", super().sum(term))

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count once; the documents need not be in order."""
        return self.noted.add("counts", super().sum(condition))

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once."""
        return self.noted.add("sums", self.cached(value))

    def rank_weight(self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None) -> pl.Expr:
        """Note the cutoff of the weight."""
        return self._zero_below(k, super().rank_weight(f, k))

    def in_top(self, k: Depth = None) -> pl.Expr:
        """Note the cutoff of the condition."""
        return self._zero_below(k, super().in_top(k))

    def _zero_below(self, k: Depth, weight: pl.Expr) -> pl.Expr:
        if isinstance(k, int):
            self.noted.zero_below[str(weight)] = k
        return weight


def _ranking(*, scored: bool, expected: bool) -> NotingRanking:
    """Make a ranking of the rows of one query: label and score or rank, in order."""
    label, known = LABEL.cast(pl.Float64), KNOWN.cast(pl.Float64)
    place = pl.int_range(1, pl.element().len() + 1).cast(pl.Float64)

    def tie(end: Literal["min", "max"]) -> pl.Expr:
        return KNOWN.rank(end, descending=True).cast(pl.Float64)

    tied = scored and expected
    ranking = NotingRanking(
        label=label,
        rank=place if scored else known,
        place=place,
        ideal_label=IDEAL.cast(pl.Float64),
        score=known if scored else -known,
        raw_score=KNOWN if scored else -known,
        tie_first=tie("min") if tied else None,
        tie_last=tie("max") if tied else None,
        noted=Noted(),
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
