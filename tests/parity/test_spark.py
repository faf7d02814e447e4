"""Spark MLlib: means of many lists, because it gives no value of one."""

from __future__ import annotations

import math
import shutil

import pytest
from parity.compare import need
from parity.random_runs import frames, in_order, random_runs, relevant
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

sql = need("pyspark.sql")
evaluation = need("pyspark.mllib.evaluation")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
]
TOOL = TOOLS["spark"]


@pytest.fixture(scope="module")
def context():
    builder = sql.SparkSession.builder.master("local[1]")
    options = {"ui.enabled": "false", "driver.memory": "700m"}
    for name, value in (options | {"driver.host": "127.0.0.1"}).items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session.sparkContext
    session.stop()


@pytest.mark.parametrize("metric", TOOL.equal)
def test_spark(context, metric):
    run, qrels = random_runs(31)
    pairs = [(in_order(run[q]), sorted(relevant(own))) for q, own in qrels.items()]
    spark = evaluation.RankingMetrics(context.parallelize(pairs, 1))
    found, judged = frames(run, qrels)
    worst = 0.0
    for k in (1, 3, 10):
        wanted = getattr(spark, TOOL.equal[metric])(k)
        measure = pr.measure(metric, k=k)
        mean = pr.evaluate(found, measure, qrels=judged, convention="spark")
        worst = max(worst, abs(mean[measure.name].item() - wanted))
    assert worst <= 1e-12
    record(TOOL.name, metric, worst, 3 * len(qrels), "means of 60 lists")


def test_the_mean_without_a_cutoff_divides_by_all(context):
    pairs = [(list("abcdef"), list("acfyz"))]
    spark = evaluation.RankingMetrics(context.parallelize(pairs, 1))
    assert math.isclose(spark.meanAveragePrecision, (1 + 2 / 3 + 3 / 6) / 5)


def test_a_document_that_stands_twice_counts_twice_there(context):
    spark = evaluation.RankingMetrics(context.parallelize([(["a", "a"], ["a"])], 1))
    assert spark.recallAt(2) == 2.0
    assert spark.ndcgAt(2) > 1
    note = "counts a document that stands twice twice: can be above 1"
    record(TOOL.name, "ndcg", 0.0, 0, note)
    record(TOOL.name, "recall", 0.0, 0, note)
