"""What each document adds to the value of its query, as an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import polars as pl

from polars_rank._engine.tracing.recorder import ExprTable, Recorder
from polars_rank._engine.tracing.shares import (
    Sharing,
    ValueOf,
    chosen_sums,
    slopes_of,
    terms_of,
)
from polars_rank.core.expr import as_expr, places
from polars_rank.core.rules import (
    DUPLICATE_RANK,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NULL_SCORE,
    Rule,
)
from polars_rank.core.words.ranking import Ties, order_by
from polars_rank.exceptions import DataError

ROW = pl.element().struct.field("row").struct
BEST = pl.element().struct.field("best")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RowSharing(Sharing):
    """The documents of a query in a list, in order; broken rules are noted row by row.

    ``broken`` has the rules with their conditions.
    """

    broken: list[tuple[Rule, pl.Expr]] = field(default_factory=list)

    def forbid(self, condition: pl.Expr, rule: Rule | str) -> None:
        """Note the rule, and which documents break it."""
        rule = Rule("forbidden", rule) if isinstance(rule, str) else rule
        self.broken.append((rule, condition.fill_null(value=False)))


def contribution_expr(
    value_of: ValueOf,
    label: pl.Expr,
    *,
    name: str,
    score: str | pl.Expr | None,
    rank: str | pl.Expr | None,
    doc: str | pl.Expr | None,
    ties: Ties | None,
) -> pl.Expr:
    """Return what each document adds to the value of its group, row by row.

    ``value_of`` is the formula of the measure called ``name``. The rows keep their
    order; a contribution is null where the value is undefined.
    """
    if (score is None) == (rank is None):
        msg = "give either a score (the second argument) or rank=, not both or neither"
        raise ValueError(msg)
    if ties in ("doc_desc", "doc_asc") and doc is None:
        msg = f"ties={ties!r} needs doc=, the column of document identifiers"
        raise ValueError(msg)
    ties = ties or ("order" if doc is None else "doc_desc")
    scored, expected = score is not None, ties == "expected"
    recorder = Recorder("all", integer_grades=False, scored=scored, expected=expected)
    chosen = chosen_sums(value_of, recorder, name)
    make = partial(_ranking, scored=scored, expected=scored and expected)
    slopes, _ = slopes_of(value_of, make, chosen)
    terms = terms_of(value_of, make, chosen)
    checked = make(sums=ExprTable("sum"), given={})
    value_of(checked)
    shares = (slope * term for slope, term in zip(slopes, terms, strict=True))
    result = pl.struct(
        pl.sum_horizontal(shares, ignore_nulls=False).alias("value"),
        *(broken.alias(f"rule{i}") for i, (_, broken) in enumerate(checked.broken)),
    )
    found = (
        _in_order(label, score, rank, doc, ties)
        .implode()
        .list.eval(result.gather(ROW.field("number").arg_sort()))
        .explode()
    )
    result = _checked(found, [rule for rule, _ in checked.broken])
    own = label.meta.output_name(raise_if_undetermined=False)
    return result if own is None else result.alias(own)


def _in_order(
    label: pl.Expr,
    score: str | pl.Expr | None,
    rank: str | pl.Expr | None,
    doc: str | pl.Expr | None,
    ties: Ties,
) -> pl.Expr:
    """Return the documents in rank order, and the grades in the best order."""
    known = as_expr(rank if score is None else score)  # type: ignore[arg-type]
    keys, downwards = [known], [False]
    if score is not None:
        text = None if doc is None else as_expr(doc).cast(pl.String)
        keys, downwards = order_by(known, label=label, doc=text, ties=ties, apart=True)
    # Adding 0 refuses text, which a cast would read as numbers.
    rows = pl.struct(
        (label + 0).alias("label"),
        (known + 0).alias("known"),
        pl.int_range(pl.len()).alias("number"),
    ).sort_by(keys, descending=downwards, nulls_last=True, maintain_order=True)
    best = (label + 0).sort(descending=True, nulls_last=True)
    return pl.struct(rows.alias("row"), best.alias("best"))


def _ranking(*, scored: bool, expected: bool, **sharing: Any) -> RowSharing:
    """Make a ranking of the documents in a list."""
    label, raw = ROW.field("label").cast(pl.Float64), ROW.field("known")
    known = raw.cast(pl.Float64)
    place = places(pl.element().len())

    def tie(end: Literal["min", "max"]) -> pl.Expr | None:
        return raw.rank(end, descending=True).cast(pl.Float64) if expected else None

    ranking = RowSharing(
        label=label,
        rank=place if scored else known,
        place=place,
        ideal_label=BEST.cast(pl.Float64),
        score=known if scored else -known,
        raw_score=raw if scored else -known,
        tie_first=tie("min"),
        tie_last=tie("max"),
        **sharing,
    )
    if scored:
        rules = {NAN_SCORE: known.is_nan(), NULL_SCORE: known.is_null()}
    else:
        whole = (known >= 1) & (known.floor() == known) & known.is_finite()
        copies = known.is_duplicated() & known.is_not_null()
        rules = {INVALID_RANK: ~whole, DUPLICATE_RANK: copies}
    for rule, condition in (rules | {INFINITE_GRADE: ~label.is_finite()}).items():
        ranking.forbid(condition, rule)
    return ranking


def _checked(found: pl.Expr, rules: Sequence[Rule]) -> pl.Expr:
    """Return the contributions, or a :class:`DataError` if a row breaks a rule."""

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        rows = columns[0].struct
        for i, rule in enumerate(rules):
            if count := int(rows.field(f"rule{i}").sum() or 0):
                msg = f"{rule.message} ({count} found)"
                raise DataError(msg, rule=rule.name, count=count)
        return rows.field("value")

    # Claimed as elementwise, for one call with all groups, as in ``bind``.
    return pl.map_batches([found], check, return_dtype=pl.Float64, is_elementwise=True)
