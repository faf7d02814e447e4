"""Audit: the effect of every disputed choice on one log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import polars as pl

from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.explain import Choice
from polars_rank.conventions.tools import DEFAULT, ConventionLike, convention_of
from polars_rank.evaluation.evaluate import evaluate
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Custom, Measure, Measures, parse_measures
from polars_rank.robustness.alternatives import (
    DUPLICATES,
    Alternative,
    alternatives,
    renamed,
)
from polars_rank.robustness.audit_result import SAME, Audit
from polars_rank.robustness.runs import Runs, keys_of, stacked
from polars_rank.robustness.unknowns import require_known_to_bounds, unknowns

__all__ = ["audit"]

BASE = "base"
DIGITS = 12  # of SAME


def audit(
    run: Runs,
    measures: Measures,
    *,
    qrels: FrameLike | None = None,
    system: str | None = None,
    query: str | Sequence[str] = "query_id",
    choices: Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    convention: ConventionLike = DEFAULT,
    on_duplicate: Literal["error", "best"] = "error",
    bounds: bool = False,
    **options: Any,
) -> Audit:
    """Measure the effect of every disputed choice: on values, on the order of systems.

    Every other value of every choice that can change a measure is tried, one at a
    time: ties, missing queries, unjudged documents, gain, discount, divisors, named
    values of the measure's other parameters, the next lowest relevant grade, half and
    double the cutoff, and with ``on_duplicate="best"`` every copy of a document.

    Parameters
    ----------
    run
        A log or run as for :func:`evaluate`, or a mapping of systems to their runs.
    measures, qrels, query, options
        As in :func:`evaluate`; ``options`` are its other arguments.
    system
        Column of ``run`` with the system; values are compared per system.
    choices
        Names of the choices to try, or a mapping of names to the values to try, such
        as ``{"k": [5, 20], "rel": [2]}``. Default: all.
    convention
        The choices to start from.
    on_duplicate
        As in :func:`evaluate`.
    bounds
        Whether to add what is not known: the lowest and highest value of every system
        over the orders of tied documents, and over the labels of unjudged ones; see
        :func:`bounds`. It holds the documents in memory.

    Returns
    -------
    An :class:`Audit`: prints one table, with the choices that change most first.

    Raises
    ------
    ValueError
        For wrong arguments, and where no choice has another value for these measures.
    DataError
        For rows that break a rule.

    Notes
    -----
    Values that yield no number are not tried: ``"error"``, and a null for the mean.
    Alternatives that differ in parameters only are computed in one pass over the
    ranking; each other value of ties, unjudged documents etc. takes a pass of its own,
    and all passes run side by side.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"system": ["a"] * 3 + ["b"] * 3, "query_id": [1] * 6,
    ...      "doc_id": ["x", "y", "z"] * 2, "score": [2, 1, 1, 1, 3, 2],
    ...      "label": [1, 3, 0] * 2}
    ... )
    >>> print(pr.audit(log, "ndcg", system="system", choices=["gain"]))
    Audit of the convention trec_eval
    <BLANKLINE>
    measure  choice  value          difference   tau  swapped
    ndcg     gain    binary  -0.0442 .. 0.2312     -        0
    ndcg     gain    exp2    -0.0988 .. 0.0189  1.00        0
    <BLANKLINE>
    The order of the systems is the same under all 2.
    """
    start = convention_of(
        convention,
        **{name: options.pop(name, None) for name in SHORTCUTS},
    )
    if bounds:
        require_known_to_bounds(options)
    asked = parse_measures(measures)
    frame, column = stacked(run, system)
    found = list(alternatives(asked, start, choices, on_duplicate))
    if options.get("max_rank") is not None:  # it has no mean over tied orders
        found = [a for a in found if (a.policy, a.value) != ("ties", "expected")]
    if not found:
        msg = f"nothing to audit: no other value of {choices!r} concerns the measures"
        raise ValueError(msg)
    base = [renamed(m, f"{BASE}{i}") for i, m in enumerate(asked)]
    plans = [
        evaluate(
            frame,
            measured,
            qrels=qrels,
            query=keys_of(query, column),
            by=column,
            convention=changed,
            **(options | different),
        )
        for measured, changed, different in _passes(base, found, start, on_duplicate)
    ]
    tables = pl.collect_all(plans, engine="streaming")
    result = _audited(asked, found, tables, column, start)
    if not bounds:
        return result
    unknown = unknowns(
        frame,
        asked,
        qrels=qrels,
        system=column,
        query=query,
        convention=start,
        options=options,
    )
    return replace(result, bounds=unknown)


# -- the passes


def _passes(
    base: Sequence[Measure | Custom],
    found: Sequence[Alternative],
    convention: Convention,
    on_duplicate: str,
) -> Iterator[tuple[list[Any], Convention, dict[str, Any]]]:
    """Measures that one plan can compute, its convention, and its other arguments.

    The first is checked as the user asks; what it lets pass needs no second check.
    """
    first = [*base, *(a.asked for a in found if a.policy is None)]
    yield _given(first), convention, {DUPLICATES: on_duplicate}
    unchecked = {DUPLICATES: on_duplicate, "check": "off"}
    changes = {(a.policy, a.value): a for a in found if a.policy is not None}
    for policy, value in changes:
        asked = [a.asked for a in found if (a.policy, a.value) == (policy, value)]
        if policy == DUPLICATES:
            yield _given(asked), convention, {DUPLICATES: "error", "check": "off"}
        else:
            yield _given(asked), convention.with_choices(**{policy: value}), unchecked


def _given(measures: Sequence[Measure | Custom]) -> list[Any]:
    """As ``evaluate`` takes them."""
    return [{m.name: m.function} if isinstance(m, Custom) else m for m in measures]


# -- the answer


def _audited(
    asked: Sequence[Measure | Custom],
    found: Sequence[Alternative],
    tables: Sequence[pl.DataFrame],
    column: str | None,
    convention: Convention,
) -> Audit:
    lone = pl.lit(None, dtype=pl.String)
    system = lone if column is None else pl.col(column).cast(pl.String)
    computed = pl.selectors.matches(r"^(base|other)\d+$")
    long = pl.concat(
        table.select(system.alias("system"), computed).unpivot(
            index="system", variable_name="column", value_name="changed"
        )
        for table in tables
    )
    named = pl.DataFrame(
        {
            "order": range(len(found)),
            "measure": [a.measure for a in found],
            "choice": [a.choice for a in found],
            "value": [Choice(a.choice, a.value, "").shown for a in found],
            "column": [a.asked.name for a in found],
            "base": [f"{BASE}{_index(asked, a.measure)}" for a in found],
        }
    )
    before = long.rename({"column": "base", "changed": "before"})
    values = (
        named.join(long, on="column", maintain_order="left")
        .join(before, on=["base", "system"], how="left", nulls_equal=True,
              maintain_order="left")
        .select(
            "order", "measure", "choice", "value", "system",
            pl.col("before").alias("base"), "changed",
            difference=pl.col("changed") - pl.col("before"),
        )
    )  # fmt: skip
    size = pl.col("difference").abs().max()
    summed = values.group_by("order", maintain_order=True).agg(
        pl.col("measure", "choice", "value").first(),
        least=pl.col("difference").min(),
        most=pl.col("difference").max(),
        size=size,
    )
    orders = [_order(part) for _, part in values.group_by("order", maintain_order=True)]
    summed = summed.with_columns(
        tau=pl.Series([tau for tau, _ in orders], dtype=pl.Float64),
        swapped=pl.Series([s for _, s in orders], dtype=pl.List(pl.String)),
    )
    by_size = summed.sort(
        pl.col("size").round(DIGITS),
        descending=True,
        nulls_last=True,
        maintain_order=True,
    )
    ordered = by_size.select("order").join(values, on="order", maintain_order="left")
    return Audit(by_size.drop("order"), ordered.drop("order"), convention)


def _index(asked: Sequence[Measure | Custom], name: str) -> int:
    return [m.name for m in asked].index(name)


def _order(part: pl.DataFrame) -> tuple[float | None, list[str]]:
    """Kendall's tau-b of the orders of the systems before and after, and the swaps."""
    known = part.drop_nulls(["base", "changed"])
    if len(known) < 2:
        return None, []
    base, changed = (pl.col(c).round(DIGITS) for c in ("base", "changed"))
    frame = known.select(score=changed, label=base.rank("dense").cast(pl.Int64))
    tau = frame.select(pl.col("label").rank_eval.kendall_tau("score")).item()  # type: ignore[attr-defined]
    rows = known.select("system", "base", "changed").rows()
    swapped = [
        f"{a}, {b}"
        for (a, x, new_x), (b, y, new_y) in combinations(rows, 2)
        if (x - y) * (new_x - new_y) < 0 and min(abs(x - y), abs(new_x - new_y)) > SAME
    ]
    return tau, swapped
