"""XGBoost: any measure as ``custom_metric``."""

from __future__ import annotations

from typing import Any, Unpack

from polars_rank.integrations.arrays import BoundByLabel, LoopOptions
from polars_rank.measures.measure import Measures

__all__ = ["CustomMetric", "custom_metric"]


class CustomMetric:
    """A function of predictions and a ``DMatrix``."""

    def __init__(self, measures: Measures, options: LoopOptions) -> None:
        self._measures = BoundByLabel(measures, options)

    @property
    def maximize(self) -> dict[str, bool]:
        """Whether higher is better: what ``EarlyStopping(maximize=)`` asks for."""
        return dict(self._measures.higher_is_better)

    def __call__(self, predt: Any, dtrain: Any) -> list[tuple[str, float]]:
        """Return the name and value of each measure."""
        ends = dtrain.get_uint_info("group_ptr")
        if len(ends) < 2:
            msg = "the matrix has no groups; give qid= or group= to the DMatrix"
            raise ValueError(msg)
        sizes = ends[1:].astype("int64") - ends[:-1].astype("int64")
        return [*self._measures(predt, dtrain.get_label(), sizes=sizes).items()]


def custom_metric(measures: Measures, **options: Unpack[LoopOptions]) -> CustomMetric:
    """Return measures as XGBoost wants them: names and values.

    Labels and groups of each matrix are bound once, and recognized in later rounds.
    Weights do not count. XGBoost takes a lower value to be better, unless
    ``xgboost.callback.EarlyStopping(maximize=True)`` says otherwise.

    Parameters
    ----------
    measures, options
        As in :func:`evaluate`: ``convention``, ``ties``, ``stats``, ``no_relevant`` ...

    Returns
    -------
    ``xgboost.train(..., custom_metric=custom_metric("ndcg@10"))``.

    Examples
    --------
    >>> from polars_rank.integrations.xgboost import custom_metric
    >>> custom_metric(["ndcg@10", "kendall_distance"]).maximize
    {'ndcg@10': True, 'kendall_distance': False}
    """
    return CustomMetric(measures, options)
