"""Keras: measures of a validation set, in the logs of each epoch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from polars_rank.integrations.arrays import BoundMeasures

__all__ = ["callback"]


def callback(
    metric: BoundMeasures,
    inputs: Any,
    *,
    prefix: str = "val_",
    predict: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """Return a Keras callback that adds measures to the logs at the end of an epoch.

    Put it before callbacks that read the logs, such as ``EarlyStopping(
    monitor="val_ndcg@10", mode="max")``, which are told the direction by
    ``metric.higher_is_better``.

    Parameters
    ----------
    metric
        Measures, bound to the labels and groups of the validation set.
    inputs
        What the model predicts scores from, a row for each label.
    prefix
        Put before the names of measures.
    predict
        Function of the model and ``inputs`` that gives the scores; by default,
        ``model.predict(inputs, verbose=0)``.
    """
    keras: Any = import_module("keras")

    def predicted(model: Any, inputs: Any) -> Any:
        return model.predict(inputs, verbose=0)

    scores = predicted if predict is None else predict

    class RankingCallback(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
            values = metric(scores(self.model, inputs))
            if logs is not None:
                logs.update({f"{prefix}{name}": v for name, v in values.items()})

    return RankingCallback()
