"""MLflow: the evaluator ``polars_rank``, which MLflow finds by its entry point."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from polars_rank.evaluation.both import evaluate_both
from polars_rank.integrations.arrays import values_of

__all__ = ["RankingEvaluator", "metric_name"]

REFUSED = re.compile(r"[^\w./ :-]+")  # characters in a name that MLflow does not take
MODEL_TYPE = "ranker"
OWN = ("measures", "metric_prefix")


def metric_name(measure: str) -> str:
    """Write the name of a measure with characters that MLflow takes.

    Examples
    --------
    >>> metric_name("ndcg@10"), metric_name("ndcg(gain=exp2)@10")
    ('ndcg_at_10', 'ndcg_gain_exp2_at_10')
    """
    name = REFUSED.sub("_", measure.replace("@", "_at_"))
    return re.sub("_+", "_", name).strip("_")


class RankingEvaluator:
    """Log measures of a ranking, and the values of its queries.

    ``mlflow.evaluate(data=..., targets="label", predictions="score",
    model_type="ranker", evaluators="polars_rank", evaluator_config={"measures":
    ["ndcg@10"]})``. The configuration holds ``measures``, options of :func:`evaluate`
    (``query``, ``by``, ``weight``, ``stats``, ``convention`` ...) and
    ``metric_prefix``.
    """

    @classmethod
    def can_evaluate(
        cls, *, model_type: str | None, evaluator_config: Any, **_: Any
    ) -> bool:
        """Tell whether this is a ranking: by the type of the model."""
        return model_type == MODEL_TYPE

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any] | None = None,
        model: Any = None,
        **_: Any,
    ) -> Any:
        """Log means as metrics, and a table of queries as an artifact."""
        config = {**(evaluator_config or {})}
        measures = config.get("measures")
        if not measures:
            msg = "give evaluator_config={'measures': ['ndcg@10']} to mlflow.evaluate"
            raise ValueError(msg)
        options = {name: v for name, v in config.items() if name not in OWN}
        both = evaluate_both(_rows(dataset, model, options), measures, **options)
        prefix = config.get("metric_prefix", "")
        metrics = dict(_metrics(both.means, prefix))
        client = import_module("mlflow.tracking").MlflowClient()
        base: Any = import_module("mlflow.models.evaluation.base")
        artifacts: Any = import_module("mlflow.models.evaluation.artifacts")
        for name, value in metrics.items():
            client.log_metric(run_id, name, value)
        name = f"{prefix}per_query"
        table = both.queries.to_pandas(use_pyarrow_extension_array=False)
        with TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.csv"
            both.queries.write_csv(file)
            client.log_artifact(run_id, str(file))
        uri = f"{client.get_run(run_id).info.artifact_uri}/{name}.csv"
        artifact = artifacts.CsvEvaluationArtifact(uri=uri, content=table)
        return base.EvaluationResult(metrics, {name: artifact}, run_id)


def _rows(dataset: Any, model: Any, options: dict[str, Any]) -> pl.DataFrame:
    """Return the rows of the data set, with labels and scores under their names."""
    features = dataset.features_data
    scores = dataset.predictions_data
    if model is not None:
        scores = model.predict(features)
    if scores is None or dataset.labels_data is None:
        msg = "give targets= (labels), and predictions= (scores) or a model"
        raise ValueError(msg)
    label = options.get("label", "label")
    grades = values_of(dataset.labels_data, label)
    if grades.dtype.is_float():
        grades = grades.fill_nan(None)  # what pandas says for unknown
    return pl.from_pandas(features).with_columns(
        grades, values_of(scores, options.get("score", "score"))
    )


def _metrics(means: pl.DataFrame, prefix: str) -> Any:
    """Yield names and values; of segments, with the segment before the measure."""
    segments = means.columns[: means.columns.index("queries")]
    for row in means.iter_rows(named=True):
        at = "".join(f"{name}_{row.pop(name)}/" for name in segments)
        del row["queries"]
        for measure, value in row.items():
            if value is not None:
                yield f"{prefix}{REFUSED.sub('_', at)}{metric_name(measure)}", value
