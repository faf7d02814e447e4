"""CatBoost: any measure as ``eval_metric``."""

from __future__ import annotations

from typing import Any, Unpack

from polars_rank.integrations.arrays import BoundMeasures, LoopOptions, values_of
from polars_rank.measures.measure import Measures

__all__ = ["EvalMetric", "eval_metric"]


class EvalMetric:
    """An object with the three methods that CatBoost asks for."""

    def __init__(
        self, measures: Measures, pools: tuple[Any, ...], options: LoopOptions
    ) -> None:
        if not pools:
            msg = (
                "give the pools that are evaluated: CatBoost tells no metric of groups"
            )
            raise ValueError(msg)
        self._bound = []
        for pool in pools:
            label = values_of(pool.get_label(), "label").cast(float)
            query = pool.get_group_id_hash()
            if not len(query):
                msg = "a pool has no groups; give group_id= to the Pool"
                raise ValueError(msg)
            bound = BoundMeasures(measures, label, query=query, **options)
            self._bound.append((label, values_of(query, "query"), bound))
        found = self._bound[0][2].higher_is_better
        if len(found) > 1:
            msg = f"eval_metric of CatBoost is one measure, not {', '.join(found)}"
            raise ValueError(msg)
        ((self.name, self._better),) = found.items()
        for i, (label, query, _) in enumerate(self._bound):
            for other, others, _ in self._bound[:i]:
                if label.equals(other) and not query.equals(others):
                    msg = (
                        "two pools have the same labels in other groups, and CatBoost "
                        "tells a metric the labels only; evaluate one of them"
                    )
                    raise ValueError(msg)

    def is_max_optimal(self) -> bool:
        """Whether higher is better."""
        return self._better

    def evaluate(
        self, approxes: Any, target: Any, weight: Any = None
    ) -> tuple[float, float]:
        """Return the value for the pool with these labels, and a weight of 1."""
        label = values_of(target, "label").cast(float)
        for own, _, bound in self._bound:
            if own.equals(label):
                return bound(approxes[0])[self.name], 1.0
        msg = (
            f"CatBoost evaluates a pool of {len(label):,} rows that eval_metric was "
            "not given: give it every pool, the one of training, too"
        )
        raise ValueError(msg)

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value itself."""
        return error


def eval_metric(
    measure: Measures, *pools: Any, **options: Unpack[LoopOptions]
) -> EvalMetric:
    """Return a measure as CatBoost wants it: an object that knows its direction.

    CatBoost tells a metric the labels but not the groups, so it is given the pools that
    will be evaluated, and recognizes them by their labels. Weights do not count.

    Parameters
    ----------
    measure, options
        As in :func:`evaluate`, but one measure: ``convention``, ``ties``, ``stats``
        (one of them), ``no_relevant`` ...
    pools
        The pools of training and validation, with ``group_id=``.

    Returns
    -------
    ``CatBoostRanker(eval_metric=eval_metric("ndcg@10", train, valid))``.

    Raises
    ------
    ValueError
        For several measures, pools without groups, and two pools that CatBoost cannot
        tell apart.
    """
    return EvalMetric(measure, pools, options)
