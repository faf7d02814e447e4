"""The first binding, of a formula to raw columns in any Polars context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

import polars as pl

from polars_rank.core.expr import as_expr, descending, is_scalar, let
from polars_rank.core.ranking import Ranking, Ties, order_by
from polars_rank.core.rules import (
    DUPLICATE_RANK,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NULL_SCORE,
    Violation,
)
from polars_rank.exceptions import DataError


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
    known = (score if score is not None else keys[0]) + 0
    expected = ties == "expected" and score is not None
    label_column = (label + 0).cast(pl.Float64).alias("label")
    # One struct is sorted once; its fields apart would be sorted each on its own, as
    # often as the formula names them: Polars 2.1 shares nothing inside an aggregation.
    rows = pl.struct(label_column, known.alias("known")).sort_by(
        keys, descending=downwards, nulls_last=True, maintain_order=True
    )
    violations: list[Violation] = []

    def value(row: pl.Expr) -> pl.Expr:
        ranking = _bound(row, scored=score is not None, expected=expected)
        one = formula(ranking)
        if not is_scalar(one):
            msg = (
                "a formula must return one number for each group, not one for each "
                "document; reduce it, e.g. r.sum(...)"
            )
            raise TypeError(msg)
        result = one.cast(pl.Float64).alias("value")
        violations.extend(ranking.violations)
        counts = (v.count.alias(f"rule{i}") for i, v in enumerate(ranking.violations))
        return pl.struct(result, *counts)

    result = _checked(let(rows, value), violations)
    name = label.meta.output_name(raise_if_undetermined=False)
    return result if name is None else result.alias(name)


def _bound(row: pl.Expr, *, scored: bool, expected: bool) -> Ranking:
    """Make a ranking of the rows of one query: label and score or rank, in order."""
    label, raw = row.struct.field("label"), row.struct.field("known")
    known = raw.cast(pl.Float64)
    place = pl.int_range(1, row.len() + 1).cast(pl.Float64)
    infinite = Violation(INFINITE_GRADE, (~label.is_finite()).sum())
    if scored:
        nan = Violation(NAN_SCORE, known.is_nan().sum())
        violations = [nan, Violation(NULL_SCORE, known.null_count()), infinite]
    else:
        whole = (known >= 1) & (known.floor() == known) & known.is_finite()
        copies = known.count() - known.drop_nulls().n_unique()
        invalid = Violation(INVALID_RANK, (~whole).sum())
        violations = [invalid, Violation(DUPLICATE_RANK, copies), infinite]

    def tie(end: Literal["min", "max"]) -> pl.Expr:
        return raw.rank(end, descending=True).cast(pl.Float64)

    return Ranking(
        label=label,
        rank=place if scored else known,
        place=place,
        ideal_label=descending(label),
        score=known if scored else -known,
        raw_score=raw if scored else -known,
        tie_first=tie("min") if expected else None,
        tie_last=tie("max") if expected else None,
        violations=violations,
    )


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
