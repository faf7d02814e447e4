"""Audit: the effect of every disputed choice on one log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from polars_rank.report.table import (
    Cell,
    Table,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    number,
)
from polars_rank.robustness.alternatives import (
    DUPLICATES,
    Alternative,
    alternatives,
    renamed,
)
from polars_rank.robustness.runs import Runs, keys_of, stacked

__all__ = ["Audit", "audit"]

BASE = "base"
SAME, DIGITS = 1e-12, 12  # smaller differences are rounding


@dataclass(frozen=True, eq=False)
class Audit:
    """The effect of every disputed choice: two frames, and ways to show them.

    Attributes
    ----------
    choices
        Per measure, choice and other value, with those that change most first:
        ``measure``, ``choice``, ``value``; ``least`` and ``most``, the differences to
        the value under the convention, over systems; ``size``, the largest absolute
        one; ``tau``, Kendall's tau-b of both orders of the systems; ``swapped``, the
        pairs of systems in another order.
    values
        Per measure, choice, value and system: ``base`` (under the convention),
        ``changed`` and their ``difference``. Without systems, ``system`` is null.
    convention
        The convention that is audited.
    """

    choices: pl.DataFrame
    values: pl.DataFrame
    convention: Convention

    @property
    def verdict(self) -> str:
        """The order of the systems, in a sentence."""
        systems = self.values["system"].n_unique()
        if systems < 2:
            moved = self.choices.filter(pl.col("size") > SAME)
            return f"{len(moved)} of {len(self.choices)} alternatives change a value."
        swaps = self.choices.filter(pl.col("swapped").list.len() > 0)
        if not len(swaps):
            count = len(self.choices)
            return f"The order of the systems is the same under all {count}."
        shown = [
            f"{row['choice']}={row['value']} ({row['measure']}: "
            f"{'; '.join(row['swapped'])})"
            for row in swaps.head(5).iter_rows(named=True)
        ]
        more = [f"and {len(swaps) - 5} more"] if len(swaps) > 5 else []
        return (
            f"{len(swaps)} of {len(self.choices)} alternatives swap systems: "
            f"{', '.join([*shown, *more])}."
        )

    def table(self) -> Table:
        """The one table, cell by cell: what changes a value."""
        several = self.values["system"].n_unique() > 1
        headers = ["measure", "choice", "value", "difference"]
        rows = []
        moves = pl.col("size").is_null() | (pl.col("size") > SAME)
        for row in self.choices.filter(moves).iter_rows(named=True):
            cells = [Cell(row[name]) for name in ("measure", "choice", "value")]
            cells.append(Cell(_range(row["least"], row["most"])))
            if several:
                cells.append(Cell(number(row["tau"], 2)))
                swaps = len(row["swapped"])
                cells.append(Cell(str(swaps), bold=swaps > 0))
            rows.append(cells)
        if several:
            headers += ["tau", "swapped"]
        title = f"Audit of the convention {self.convention.name}"
        notes = [self.verdict]
        if idle := self._idle:
            notes.append(f"No effect here: {', '.join(idle)}.")
        return Table(title, headers, rows, 3, notes)

    @property
    def _idle(self) -> list[str]:
        """Choices of which no value changes any measure."""
        most = self.choices.group_by("choice", maintain_order=True).agg(
            moves=(pl.col("size").is_null() | (pl.col("size") > SAME)).any()
        )
        return most.filter(~pl.col("moves"))["choice"].to_list()

    def __str__(self) -> str:
        """The table as aligned text."""
        return as_text(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        try:
            return self.to_html()
        except ModuleNotFoundError:  # without great_tables
            import html

            return f"<pre>{html.escape(str(self))}</pre>"

    def to_html(self) -> str:
        """The table as HTML (extra ``report``)."""
        return as_html(self.table())

    def to_latex(self) -> str:
        r"""The table for a paper; needs ``\usepackage{booktabs}``."""
        return as_latex(self.table())

    def to_markdown(self) -> str:
        """The table for a pull request or a page."""
        return as_markdown(self.table())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and numbers; ``json.dumps`` takes it."""
        told = {
            "convention": self.convention.name,
            "verdict": self.verdict,
            "choices": self.choices.to_dicts(),
            "values": self.values.to_dicts(),
        }
        return dict(json.loads(json.dumps(told, default=str)))


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

    Returns
    -------
    An :class:`Audit`: prints one table, with the choices that change most first.

    Raises
    ------
    ValueError
        For wrong arguments.
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
    measure  choice  value           difference   tau  swapped
    ndcg     gain    binary  -0.0442 .. 0.2312     -        0
    ndcg     gain    exp2    -0.0988 .. 0.0189  1.00        0
    <BLANKLINE>
    The order of the systems is the same under all 2.
    """
    start = convention_of(
        convention,
        **{name: options.pop(name, None) for name in SHORTCUTS},
    )
    asked = parse_measures(measures)
    frame, column = stacked(run, system)
    found = list(alternatives(asked, start, choices, on_duplicate))
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
    return _audited(asked, found, tables, column, start)


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


def _range(least: float | None, most: float | None) -> str:
    low, high = number(least), number(most)
    return low if low == high else f"{low} .. {high}"
