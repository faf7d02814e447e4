"""LightGBM: any measure as ``feval``, and as ``eval_metric`` of ``LGBMRanker``."""

from __future__ import annotations

from typing import Any, Unpack

from polars_rank.integrations.arrays import BoundByLabel, LoopOptions
from polars_rank.measures.measure import Measures

__all__ = ["Feval", "feval"]


class Feval:
    """A function of predictions and a ``Dataset``; or of labels, predictions, groups.

    It pickles, as LightGBM on many machines asks for.
    """

    def __init__(self, measures: Measures, options: LoopOptions) -> None:
        self._measures = BoundByLabel(measures, options)

    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> list[tuple[str, float, bool]]:
        """Return the name, value and direction of each measure."""
        if hasattr(second, "get_label"):  # predictions and the data set
            score, label, group = first, second.get_label(), second.get_group()
        else:  # of the interface of scikit-learn: labels and predictions
            label, score = first, second
        if group is None:
            msg = "the data set has no groups; give group=, the rows of each query"
            raise ValueError(msg)
        values = self._measures(score, label, sizes=group)
        better = self._measures.higher_is_better
        return [(name, value, better[name]) for name, value in values.items()]


def feval(measures: Measures, **options: Unpack[LoopOptions]) -> Feval:
    """Return measures as LightGBM wants them: names, values, and what is better.

    Early stopping then knows the direction. Labels and groups of each data set are
    bound once, and recognized in later rounds. Weights do not count.

    Parameters
    ----------
    measures, options
        As in :func:`evaluate`: ``convention``, ``ties``, ``stats``, ``no_relevant`` ...

    Returns
    -------
    ``lightgbm.train(..., feval=feval("ndcg@10"))``, or
    ``LGBMRanker().fit(..., eval_metric=feval("ndcg@10"))``.

    Examples
    --------
    >>> from polars_rank.integrations.lightgbm import feval
    >>> metric = feval(["rr", "squared_error"])
    >>> metric([0, 1], [1.0, 0.0], None, [2])  # labels, predictions, weights, groups
    [('rr', 0.5, True), ('squared_error', 1.0, False)]
    """
    return Feval(measures, options)
