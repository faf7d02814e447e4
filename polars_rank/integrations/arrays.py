"""Measures of arrays: labels and groups are bound once, scores change every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.options import ChoiceOptions, Stat
from polars_rank._engine.request import stat_name, stats_of
from polars_rank.conventions.tools import ConventionLike
from polars_rank.core.metric.registry import not_taken
from polars_rank.evaluation.evaluate import evaluate
from polars_rank.io.shapes.group_sizes import from_groups
from polars_rank.measures.measure import Custom, Measures, parse_measures

__all__ = ["BoundMeasures", "LoopOptions"]


class LoopOptions(ChoiceOptions, total=False):
    """Options of :func:`evaluate` that make sense in a loop."""

    convention: ConventionLike
    stats: Stat | Sequence[Stat]
    max_rank: int | None
    check: Check


class BoundMeasures:
    """Measures of the groups of a validation set: a function of its scores.

    Parameters
    ----------
    measures, options
        As in :func:`evaluate`: ``convention``, ``ties``, ``stats``, ``no_relevant`` ...
    label
        Grades, one for each row: an array, a tensor or a list.
    sizes
        Rows of each group, in order: the ``group=`` of LightGBM and XGBoost.
    query
        Or, instead, the group of each row, such as ``qid``, in any order.

    Raises
    ------
    ValueError
        For neither or both of ``sizes`` and ``query``, and for another length.

    Examples
    --------
    >>> from polars_rank.integrations.arrays import BoundMeasures
    >>> metric = BoundMeasures(["ndcg@10", "rr"], [0, 1, 1, 0], sizes=[3, 1])
    >>> metric([0.9, 0.8, 0.7, 0.1])["rr"]
    0.25
    >>> metric.higher_is_better
    {'ndcg@10': True, 'rr': True}
    """

    def __init__(
        self,
        measures: Measures,
        label: Any,
        *,
        sizes: Any = None,
        query: Any = None,
        **options: Unpack[LoopOptions],
    ) -> None:
        if (sizes is None) == (query is None):
            msg = "give either sizes=, the rows of each group, or query=, one per row"
            raise ValueError(msg)
        _require_known(options)
        self._options = options
        self._measures = parse_measures(measures)
        own = [
            {m.name: m.function} if isinstance(m, Custom) else m for m in self._measures
        ]
        self._given: Any = own
        grades = values_of(label, "label")
        if query is None:
            self._rows = from_groups(values_of(sizes, "sizes"), label=grades)
        else:
            ids = values_of(query, "query")
            _require_length(ids, len(grades), "query")
            self._rows = pl.DataFrame({"query_id": ids, "label": grades})

    def __call__(self, score: Any) -> dict[str, float]:
        """Return the value of each measure, over the groups; NaN if it is undefined.

        Parameters
        ----------
        score
            One for each row, the highest first: an array, a tensor or a list.
        """
        scores = values_of(score, "score")
        _require_length(scores, len(self._rows), "score")
        rows = self._rows.with_columns(scores.alias("score"))
        found = evaluate(rows, self._given, doc=None, **self._options)
        values = found.row(0, named=True)
        del values["queries"]
        return {n: float("nan") if v is None else float(v) for n, v in values.items()}

    @property
    def higher_is_better(self) -> dict[str, bool]:
        """Whether higher values are better, for each of the values of a call."""
        return directions(self._measures, self._options)


def directions(measures: Any, options: LoopOptions) -> dict[str, bool]:
    """Tell whether higher is better, for each column of the result."""
    stats = stats_of(options.get("stats", "mean"))
    return {
        stat_name(m.name, stat): (
            isinstance(m, Custom) or m.definition.better != "lower"
        )
        for m in parse_measures(measures)
        for stat in stats
    }


class BoundByLabel:
    """Bind each data set once, and recognize it by its labels and groups.

    Frameworks hand over arrays anew each round; comparing them takes a hundredth of
    the time of ranking.
    """

    def __init__(self, measures: Measures, options: LoopOptions) -> None:
        _require_known(options)
        self.measures, self.options = measures, options
        self.higher_is_better = directions(measures, options)
        self._held: list[tuple[Any, Any, BoundMeasures]] = []

    def __call__(self, score: Any, label: Any, **groups: Any) -> dict[str, float]:
        """Return the values; ``groups`` is ``sizes`` or ``query``."""
        ((name, group),) = groups.items()
        for own_label, own_group, bound in self._held:
            if _same(own_label, label) and _same(own_group, group):
                return bound(score)
        bound = BoundMeasures(self.measures, label, **{name: group}, **self.options)
        own_label, own_group = (values_of(part, name) for part in (label, group))
        self._held = [*self._held[-MOST:], (own_label, own_group, bound)]
        return bound(score)


MOST = 15  # data sets that are held: training and validation, and then some


def values_of(values: Any, name: str) -> pl.Series:
    """Return a Series of an array, a tensor of any framework or a list."""
    found = pl.Series(name, _flat(values))
    if isinstance(found.dtype, pl.List | pl.Array | pl.Object):
        msg = f"{name} must have one value for each row, not {found.dtype}"
        raise TypeError(msg)
    return found


def _flat(values: Any) -> Any:
    if hasattr(values, "detach"):  # a tensor of PyTorch, perhaps on another device
        values = values.detach().cpu()
    if hasattr(values, "numpy") and not isinstance(values, pl.Series):
        values = values.numpy()  # PyTorch, TensorFlow
    elif hasattr(values, "to_numpy") and not isinstance(values, pl.Series):
        values = values.to_numpy()
    elif not isinstance(values, list | tuple | pl.Series) and hasattr(
        values, "__array__"
    ):
        import numpy as np

        values = np.asarray(values)
    shape = getattr(values, "shape", ())
    if len(shape) == 2 and 1 in shape:  # one output for each row
        values = values.reshape(-1)
    return values


def _same(one: pl.Series, other: Any) -> bool:
    again = pl.Series(_flat(other))
    return len(one) == len(again) and one.equals(again)


def _require_length(values: pl.Series, rows: int, name: str) -> None:
    if len(values) != rows:
        msg = (
            f"{name} must have one value for each of the {rows:,} rows that have a "
            f"label, not {len(values):,}"
        )
        raise ValueError(msg)


def _require_known(options: LoopOptions) -> None:
    known = [*LoopOptions.__annotations__, *ChoiceOptions.__annotations__]
    for name in options:
        if name not in known:
            raise TypeError(not_taken("a measure in a loop", name, known))
