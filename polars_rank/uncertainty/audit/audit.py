"""Audit: the effect of every disputed choice on one log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, Unpack

import polars as pl

from polars_rank._engine.options import EvaluationOptions
from polars_rank._engine.schema import Column
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.explain import Choice
from polars_rank.conventions.tools import DEFAULT, ConventionLike, convention_of
from polars_rank.evaluation.evaluate import evaluate
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.measures.measure import Custom, Measure, Measures, parse_measures
from polars_rank.uncertainty.audit.alternatives import (
    DEPTH,
    DUPLICATES,
    EVERY_COPY,
    Alternative,
    alternatives,
    as_given,
    renamed,
)
from polars_rank.uncertainty.audit.audit_result import Audit
from polars_rank.uncertainty.audit.no_effect import facts, neutral, reasons
from polars_rank.uncertainty.audit.significant_swaps import Pair, Pass, significant
from polars_rank.uncertainty.audit.unknowns import (
    SAME,
    require_known_to_bounds,
    sure_differences,
    unknowns,
)
from polars_rank.uncertainty.bounds.bounds import bounds as bounds_of
from polars_rank.uncertainty.bounds.several_runs import (
    Runs,
    keys_of,
    stacked,
    system_asked,
)

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
    queries: FrameLike | None = None,
    weight: Column | None = None,
    bounds: bool = False,
    **options: Unpack[EvaluationOptions],
) -> Audit:
    """Measure the effect of every disputed choice: on values, on the order of systems.

    Every other value of every choice that can change a measure is tried, one at a
    time: ties, missing queries, unjudged documents, gain, discount, divisors, named
    values of the measure's other parameters, the next lowest relevant grade, half and
    double the cutoff, the depth of the runs (``max_rank``), and where copies of a
    document are allowed (``on_duplicate="best"``), the other rules, and every copy.

    Parameters
    ----------
    run
        A log or run as for :func:`evaluate`, or a mapping of systems to their runs.
    measures, qrels, query, queries, weight, options
        As in :func:`evaluate`; ``options`` are its other arguments.
    system
        Column of ``run`` with the system; values are compared per system.
    choices
        Names of the choices to try, or a mapping of names to the values to try, such
        as ``{"k": [5, 20], "rel": [2]}``. Default: all.
    convention
        The choices to start from.
    bounds
        Whether to add what is not known: the lowest and highest value of every system
        over the orders of tied documents, and over the labels of unjudged ones; and,
        with judgments, of the difference of every pair over both. See :func:`bounds`.
        It holds the documents in memory.

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
    and all passes run side by side. Where a measure swaps systems, one more pass shows
    whether their difference is significant.

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
    measure  choice  value          difference   tau  swapped  significant
    ndcg     gain    binary  -0.0442 .. 0.2312     -        0            0
    ndcg     gain    exp2    -0.0988 .. 0.0189  1.00        0            0
    <BLANKLINE>
    The order of the systems is the same under all 2.
    """
    start = convention_of(convention, **{n: options.get(n) for n in SHORTCUTS})
    depth = options.get("max_rank")
    # The alternatives change the shortcuts themselves.
    others: dict[str, Any] = {n: v for n, v in options.items() if n not in SHORTCUTS}
    frames = {"queries": queries, "weight": weight}
    others |= {name: given for name, given in frames.items() if given is not None}
    if bounds:
        require_known_to_bounds(others)
    asked = parse_measures(measures)
    frame, column = stacked(run, system)
    if isinstance(qrels, Mapping):  # a frame's queries are those of every system
        qrels = as_polars(qrels, name="qrels", kind="qrels")
    found = _tried(asked, start, choices, depth)
    base = [renamed(m, f"{BASE}{i}") for i, m in enumerate(asked)]
    passes = list(_passes(base, found, start))
    known = facts(found, subtopics=options.get("subtopic") is not None)
    shown = Pass(
        [{name: fact.holds} for name, fact in known.items()],
        neutral(start),
        {"check": "off", DEPTH: None},
    )
    plans = [
        evaluate(
            frame,
            measured,
            qrels=qrels,
            query=keys_of(query, column),
            by=column,
            convention=changed,
            **(others | different),
        )
        for measured, changed, different in [*passes, *([shown] if known else [])]
    ]
    with system_asked(frame, system):
        tables = pl.collect_all(plans, engine="streaming")
    told = reasons(known, tables.pop(), tables) if known else {}
    values = _values(asked, found, tables, column)
    orders = [_order(part) for _, part in values.group_by("order", maintain_order=True)]
    swaps = [
        (_base(asked, a), a.asked.name, order.swapped)
        for a, order in zip(found, orders, strict=True)
    ]
    others["qrels"] = qrels
    sure = significant(frame, passes, swaps, system=column, query=query, options=others)
    result = _summed(values, orders, sure, told, start)
    if not bounds:
        return result
    bound = partial(
        bounds_of, frame, system=column, query=query, convention=start, **others
    )
    systems: list[Any] = []
    if column is not None and qrels is not None:
        names = frame.select(pl.col(column).unique().sort())
        systems = names.collect(engine="streaming").to_series().drop_nulls().to_list()
    return replace(
        result,
        bounds=unknowns(bound, asked, column),
        differences=sure_differences(bound, asked, str(column), systems),
    )


# -- the passes


def _tried(
    asked: Sequence[Measure | Custom],
    convention: Convention,
    choices: Sequence[str] | Mapping[str, Sequence[Any]] | None,
    depth: int | None,
) -> list[Alternative]:
    """Return the alternatives that a log of this depth has; refuse to have none."""
    found = list(alternatives(asked, convention, choices, depth))
    if depth is not None:  # a list that is cut has no mean over tied orders
        found = [a for a in found if (a.policy, a.value) != ("ties", "expected")]
    if not found:
        msg = f"nothing to audit: no other value of {choices!r} concerns the measures"
        raise ValueError(msg)
    return found


def _passes(
    base: Sequence[Measure | Custom],
    found: Sequence[Alternative],
    convention: Convention,
) -> Iterator[Pass]:
    """Yield measures that one plan can compute, its convention, its other arguments.

    The first is checked as the user asks; what it lets pass needs no second check.
    """
    first = [*base, *(a.asked for a in found if a.policy is None)]
    yield Pass(list(map(as_given, first)), convention, {})
    unchecked = {"check": "off"}
    groups: dict[tuple[str, Any], list[Any]] = {}
    for a in found:
        if a.policy is not None:
            groups.setdefault((a.policy, a.value), []).append(as_given(a.asked))
    for (policy, value), asked in groups.items():
        if (policy, value) == (DUPLICATES, EVERY_COPY):
            every = convention.with_choices(on_duplicate="error")
            yield Pass(asked, every, unchecked)
        elif policy == DEPTH:
            yield Pass(asked, convention, {**unchecked, DEPTH: value})
        else:
            yield Pass(asked, convention.with_choices(**{policy: value}), unchecked)


# -- the answer


class Order(NamedTuple):
    """What an alternative does to the order of the systems."""

    tau: float | None
    swapped: list[Pair]


def _values(
    asked: Sequence[Measure | Custom],
    found: Sequence[Alternative],
    tables: Sequence[pl.DataFrame],
    column: str | None,
) -> pl.DataFrame:
    """Return the means before and after each alternative, of each system."""
    lone = pl.lit(None, dtype=pl.String)
    system = lone if column is None else pl.col(column).cast(pl.String)
    computed = pl.selectors.matches(r"^(base|other)\d+$")
    long = pl.concat(
        table.select(system.alias("system"), computed).unpivot(
            index="system", variable_name="column", value_name="mean"
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
            "original": [_base(asked, a) for a in found],
        }
    )
    before = long.rename({"column": "original", "mean": "baseline_mean"})
    return (
        named.join(long, on="column", maintain_order="left")
        .join(before, on=["original", "system"], how="left", nulls_equal=True,
              maintain_order="left")
        .select(
            "order", "measure", "choice", "value", "system",
            "baseline_mean", "mean",
            difference=pl.col("mean") - pl.col("baseline_mean"),
        )
    )  # fmt: skip


def _base(asked: Sequence[Measure | Custom], alternative: Alternative) -> str:
    """Name the column of the measure as it was asked for."""
    return f"{BASE}{[m.name for m in asked].index(alternative.measure)}"


def _order(part: pl.DataFrame) -> Order:
    """Compute Kendall's tau-b of the two orders of the systems, and the swaps."""
    known = part.drop_nulls(["baseline_mean", "mean"])
    if len(known) < 2:
        return Order(None, [])
    before, after = (pl.col(c).round(DIGITS) for c in ("baseline_mean", "mean"))
    frame = known.select(score=after, label=before.rank("dense").cast(pl.Int64))
    tau = frame.select(pl.col("label").rank_eval.kendall_tau("score")).item()  # type: ignore[attr-defined]
    rows = known.select("system", "baseline_mean", "mean").rows()
    swapped = [
        (a, b)
        for (a, x, new_x), (b, y, new_y) in combinations(rows, 2)
        if (x - y) * (new_x - new_y) < 0 and min(abs(x - y), abs(new_x - new_y)) > SAME
    ]
    return Order(tau, swapped)


def _summed(
    values: pl.DataFrame,
    orders: Sequence[Order],
    sure: Sequence[Sequence[Pair]],
    told: Mapping[str, str],
    convention: Convention,
) -> Audit:
    """Return a row for each alternative, with those that change most first."""
    summed = values.group_by("order", maintain_order=True).agg(
        pl.col("measure", "choice", "value").first(),
        min_difference=pl.col("difference").min(),
        max_difference=pl.col("difference").max(),
        size=pl.col("difference").abs().max(),
    )
    idle = (pl.col("size") <= SAME).fill_null(value=False).all().over("choice")
    reason = pl.col("choice").replace_strict(told, default=None, return_dtype=pl.String)
    by_size = summed.with_columns(
        tau=pl.Series([o.tau for o in orders], dtype=pl.Float64),
        swapped=_texts([o.swapped for o in orders]),
        significant_swaps=_texts(sure),
        note=pl.when(idle).then(reason),
    ).sort(
        pl.col("size").round(DIGITS),
        descending=True,
        nulls_last=True,
        maintain_order=True,
    )
    ordered = by_size.select("order").join(values, on="order", maintain_order="left")
    return Audit(by_size.drop("order"), ordered.drop("order"), convention)


def _texts(pairs: Sequence[Sequence[Pair]]) -> pl.Series:
    return pl.Series(
        [[", ".join(p) for p in of] for of in pairs], dtype=pl.List(pl.String)
    )
