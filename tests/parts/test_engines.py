"""Ray, Spark and Dask for real: the same bits and errors as on one machine.

Each engine runs in a process of its own, ``python tests/engines.py ENGINE``, as it
leaves threads, signal handlers and warnings behind. It is skipped where it does not
start or is too slow: that says nothing of this package.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from engines import CHECKS, FAILED, STARTED, UNWELL

pytestmark = pytest.mark.slow
HERE = Path(__file__).parents[1]
PATHS = os.pathsep.join(map(str, (HERE.parent, HERE / "parts")))
SECONDS = 420  # engines start slowly on a busy machine


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("engine", ["ray", "pyspark", "distributed"])
def test_an_engine_gives_what_one_machine_gives(engine, tmp_path):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    status, said = run(engine, tmp_path)
    if STARTED not in said:
        assert "ModuleNotFoundError: No module named 'test_" not in said, said
        pytest.skip(f"{engine} does not start here: {last_line(said)}")
    end = said[-20_000:]
    assert FAILED not in said, end
    if status in (None, UNWELL):
        why = "is too slow here" if status is None else "has stopped"
        pytest.skip(f"{engine} {why} after {said.count(' ok ')} checks")
    assert status == 0, end
    assert said.count(" ok ") == len(CHECKS), end


CONNECT = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql.connect.dataframe import DataFrame
import polars as pl
import polars_rank as pr
import polars_rank.spark
log = pl.DataFrame({"query_id": ["a", "b", "a", "b", "c"], "doc_id": list("vwxyz"),
                    "score": [.9, .8, .7, .6, .5], "label": [0, 1, 2, 0, 0]})
log.write_parquet(sys.argv[1])
spark = SparkSession.builder.remote("local[2]").getOrCreate()
spark.range(3).count()
print("started", flush=True)
rows, measures = spark.read.parquet(sys.argv[1]), ["ndcg@10", "ap"]
assert isinstance(rows, DataFrame)
found = polars_rank.spark.evaluate(rows, measures)
assert found.equals(pr.evaluate(log, measures)), found
values = pl.DataFrame(polars_rank.spark.per_query(rows, measures).toArrow())
assert values.sort("query_id").equals(pr.per_query(log, measures).sort("query_id"))
spark.stop()
print("equal")
"""


@pytest.mark.timeout(2 * SECONDS)
def test_spark_connect_gives_what_one_machine_gives(tmp_path):
    """A server of this machine; it is skipped where that does not start."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("pyspark or Java is not installed")
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, str(tmp_path / "log.parquet")],
        env=os.environ | {"PYTHONPATH": PATHS, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if "started" not in done.stdout:
        pytest.skip(f"Spark Connect does not start here: {last_line(done.stderr)}")
    assert done.returncode == 0, done.stderr[-20_000:]
    assert done.stdout.split() == ["started", "equal"]


def run(engine, folder):
    """Exit status and what was said; no status if the time was over."""
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            [sys.executable, HERE / "engines.py", engine, folder],
            env=os.environ | {"PYTHONPATH": PATHS, "POLARS_MAX_THREADS": "2"},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        finally:  # what it has started, too
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return status, said.read()


def last_line(said):
    return next((x for x in reversed(said.splitlines()) if x.strip()), "not a word")
