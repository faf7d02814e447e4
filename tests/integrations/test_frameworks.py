"""The frameworks themselves: each adapter gives what the tool's own metric gives."""

from __future__ import annotations

import os
import random

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.integrations.arrays import BoundMeasures

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]
np = pytest.importorskip("numpy")
DRAW = np.random.default_rng(0)
QUERIES, DOCS = 150, 20
CUT = 100 * DOCS
X = DRAW.random((QUERIES * DOCS, 5))
Y = (X[:, 0] * 3 + DRAW.normal(0, 0.6, len(X))).clip(0, 3).round()
QUERY = np.repeat(np.arange(QUERIES), DOCS)


def test_lightgbm_agrees_with_its_own_metric():
    lightgbm = pytest.importorskip("lightgbm")
    from polars_rank.integrations.lightgbm import feval

    train = lightgbm.Dataset(X[:CUT], Y[:CUT], group=[DOCS] * 100)
    valid = lightgbm.Dataset(
        X[CUT:], Y[CUT:], group=[DOCS] * (QUERIES - 100), reference=train
    )
    found: dict = {}
    ours = feval(pr.measure("ndcg", k=5, name="ours"), convention="lightgbm")
    lightgbm.train(
        dict(objective="lambdarank", metric="ndcg", eval_at=[5], verbosity=-1),
        train,
        10,
        valid_sets=[train, valid],
        feval=ours,
        callbacks=[lightgbm.record_evaluation(found)],
    )
    for values in found.values():
        assert values["ours"] == pytest.approx(values["ndcg@5"], abs=1e-13)


def test_lightgbm_ranker_stops_early_by_it():
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("sklearn")
    from polars_rank.integrations.lightgbm import feval

    ranker = lightgbm.LGBMRanker(n_estimators=60, verbosity=-1, metric="None")
    ranker.fit(
        X[:CUT],
        Y[:CUT],
        group=[DOCS] * 100,
        eval_set=[(X[CUT:], Y[CUT:])],
        eval_group=[[DOCS] * (QUERIES - 100)],
        eval_metric=feval("kendall_distance"),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    values = ranker.evals_result_["valid_0"]["kendall_distance"]
    assert values[ranker.best_iteration_ - 1] == min(values)


def test_xgboost_agrees_with_its_own_metric():
    """XGBoost tells its own in single precision."""
    xgboost = pytest.importorskip("xgboost")
    from polars_rank.integrations.xgboost import custom_metric

    train = xgboost.DMatrix(X[:CUT], Y[:CUT], qid=QUERY[:CUT])
    valid = xgboost.DMatrix(X[CUT:], Y[CUT:], qid=QUERY[CUT:])
    found: dict = {}
    stopping = xgboost.callback.EarlyStopping(
        rounds=5, metric_name="ours", data_name="valid", maximize=True
    )
    xgboost.train(
        dict(objective="rank:ndcg", eval_metric="ndcg@5"),
        train,
        10,
        evals=[(train, "train"), (valid, "valid")],
        custom_metric=custom_metric(
            pr.measure("ndcg", k=5, name="ours"), convention="xgboost"
        ),
        evals_result=found,
        verbose_eval=False,
        callbacks=[stopping],
    )
    for values in found.values():
        assert values["ours"] == pytest.approx(values["ndcg@5"], abs=1e-6)


def test_catboost_agrees_with_its_own_metric(tmp_path):
    catboost = pytest.importorskip("catboost")
    from polars_rank.integrations.catboost import eval_metric

    train = catboost.Pool(X[:CUT], Y[:CUT], group_id=QUERY[:CUT])
    valid = catboost.Pool(X[CUT:], Y[CUT:], group_id=QUERY[CUT:])
    ranker = catboost.CatBoostRanker(
        iterations=10,
        loss_function="YetiRank",
        eval_metric=eval_metric("ndcg@5", train, valid, convention="catboost"),
        custom_metric=["NDCG:top=5;hints=skip_train~false"],
        verbose=False,
        train_dir=str(tmp_path),
    )
    found = ranker.fit(train, eval_set=valid).get_evals_result()
    for values in found.values():
        (own,) = (v for name, v in values.items() if "top=5" in name)
        assert values["EvalMetric"] == pytest.approx(own, abs=1e-13)


def test_keras_has_measures_in_its_logs():
    os.environ.setdefault("KERAS_BACKEND", "torch")
    pytest.importorskip("torch")
    keras = pytest.importorskip("keras")
    from polars_rank.integrations.keras import callback

    model = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    metric = BoundMeasures(["ndcg@5", "rr"], Y[CUT:], query=QUERY[CUT:])
    stopping = keras.callbacks.EarlyStopping("val_ndcg@5", mode="max", patience=2)
    fit = model.fit(
        X[:CUT],
        Y[:CUT],
        epochs=4,
        verbose=0,
        callbacks=[callback(metric, X[CUT:]), stopping],
    )
    scores = model.predict(X[CUT:], verbose=0)
    assert fit.history["val_ndcg@5"][-1] == metric(scores)["ndcg@5"]


def test_sentence_transformers_agrees_with_its_own_metrics():
    package = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import BoW

    from polars_rank.integrations.sentence_transformers import evaluator

    draw = random.Random(1)
    words = [f"w{i}" for i in range(60)]

    def text(n: int) -> str:
        return " ".join(draw.choices(words, k=n))

    corpus = {f"d{i}": text(8) for i in range(150)}
    queries = {f"q{i}": text(4) for i in range(12)}
    relevant = {
        q: {d for d, t in corpus.items() if len({*t.split()} & {*asked.split()}) > 1}
        or {"d0"}
        for q, asked in queries.items()
    }
    pairs = {"rr@10": "mrr@10", "ap@100": "map@100", "ndcg@10": "ndcg@10"}
    ours = evaluator(
        [pr.Measure.parse(n) for n in pairs],
        queries,
        corpus,
        relevant,
        ties="doc_asc",
        name="toy",
        write_csv=False,
    )
    theirs = package.evaluation.InformationRetrievalEvaluator(
        queries, corpus, relevant, name="toy", write_csv=False
    )
    model = package.SentenceTransformer(modules=[BoW(vocab=words)])
    found, known = ours(model), theirs(model)
    for name, own in pairs.items():
        value = known[f"toy_cosine_{own}"]
        assert found[f"toy_cosine_{name}"] == pytest.approx(value, abs=1e-12)
    assert ours.primary_metric == "toy_cosine_rr@10"
    assert ours.greater_is_better


@pytest.fixture
def log():
    return pl.read_parquet(pr.example.path())


def test_mlflow_finds_the_evaluator(log, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    config = {"measures": ["ndcg@10", "ap"], "stats": ["mean", "p10"]}
    with mlflow.start_run() as run:
        found = mlflow.models.evaluate(
            data=log.to_pandas(),
            targets="label",
            predictions="score",
            model_type="ranker",
            evaluators="polars_rank",
            evaluator_config=config,
        )
    means = pr.evaluate(log, config["measures"], stats=config["stats"])
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    assert found.metrics == logged
    assert [*logged.values()] == pytest.approx([*means.row(0)[1:]], rel=1e-15)
    assert {*logged} == {"ndcg_at_10", "ndcg_at_10_p10", "ap", "ap_p10"}
    table = found.artifacts["per_query"].content
    assert table["ap"].tolist() == pr.per_query(log, "ap")["ap"].to_list()
    listed = mlflow.MlflowClient().list_artifacts(run.info.run_id)
    assert [file.path for file in listed] == ["per_query.csv"]


def test_wandb_logs_means_and_a_table(log, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    from polars_rank.integrations import wandb as ours

    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", project="toy", dir=str(tmp_path))
    both = pr.evaluate_both(log, ["ndcg@10"], keep="country")
    ours.log(run, both, prefix="test/")
    assert run.summary["test/ndcg@10"] == both.means["ndcg@10"].item()
    table = ours.table(both.queries)
    run.finish()
    assert table.columns == both.queries.columns
    assert table.data == [list(row) for row in both.queries.rows()]
