"""Checks of one engine, in local mode; test_engines.py runs them.

Usage: python tests/engines.py ray|pyspark|distributed FOLDER [CHECK ...]

Exits with UNWELL if the engine cannot do the simplest task, at the start or after a
check that failed twice: then nothing is known of the checks.
"""

from __future__ import annotations

import doctest
import errno
import math
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pytest
from partition_cases import CASES, MEASURES, outcome, scattered, whole, with_infinite
from test_evaluation_in_parts import bits, split

import polars_rank as pr
from polars_rank.parts import Part, bucketed, evaluate_parts, files


class Started(NamedTuple):
    """An engine: its adapter, files and frames in, out, by query, with odd types.

    ``of_pandas`` makes a frame that is held as pandas, if the engine has such frames.
    """

    adapter: object
    read: object
    up: object
    down: object
    by_query: object
    odd: object
    told: type[Exception]  # where values per query are asked for
    of_pandas: object


@contextmanager
def on_ray():
    os.environ |= {
        # On a machine with little memory it would kill what it has started.
        "RAY_memory_monitor_refresh_ms": "0",
        # After a second without work, too: most of the time, workers would start.
        "RAY_idle_worker_killing_time_threshold_ms": "600000",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    import ray

    import polars_rank.ray as adapter

    ray.init(
        "local",  # whatever else runs here
        num_cpus=2,
        object_store_memory=200_000_000,
        include_dashboard=False,
        log_to_driver=False,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    whole = {"batch_format": "pyarrow", "batch_size": None}

    def up(frame):
        return ray.data.from_arrow([frame[i::3].to_arrow() for i in range(3)])

    def down(dataset):
        return pl.concat(pl.DataFrame(b) for b in dataset.iter_batches(**whole))

    def by_query(dataset):
        return dataset.repartition(2, keys=["query_id"])

    def odd(dataset):
        def wider(table):
            months = pa.nulls(len(table), pa.month_day_nano_interval())
            return table.append_column("x", months).append_column("y", months)

        return dataset.map_batches(wider, **whole)

    try:
        error = ray.exceptions.RayTaskError
        read = ray.data.read_parquet

        def of_pandas(frame):
            beside = frame.to_pandas().assign(
                x=[(0, "a")[i % 2] for i in range(len(frame))]
            )
            return ray.data.from_pandas([beside[i::3] for i in range(3)])

        yield Started(adapter, read, up, down, by_query, odd, error, of_pandas)
    finally:
        ray.shutdown()


@contextmanager
def on_spark():
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.errors import PythonException
    from pyspark.sql import SparkSession

    import polars_rank.spark as adapter

    builder = SparkSession.builder.master("local[2,3]")  # three tries, as on a cluster
    settings = {
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "driver.bindAddress": "127.0.0.1",
        "sql.shuffle.partitions": "2",
    }
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def read(paths):
        return session.read.parquet(*paths)

    def up(frame):
        return session.createDataFrame(frame.to_arrow()).repartition(3)

    def down(frame):
        return pl.DataFrame(frame.toArrow())

    def by_query(frame):
        return frame.repartition(2, "query_id")

    def odd(frame):
        months = "interval '3' month"
        return frame.selectExpr("*", f"{months} as x", f"{months} as y", "1 as x")

    try:
        yield Started(adapter, read, up, down, by_query, odd, PythonException, up)
    finally:
        session.stop()


@contextmanager
def on_dask():
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import polars_rank.dask as adapter

    def read(paths):
        return dd.read_parquet(paths, dtype_backend="pyarrow")

    def up(frame):
        arrow = pl.Categorical in frame.dtypes  # which Dask does not move
        rows = frame.to_pandas(use_pyarrow_extension_array=arrow)
        return dd.from_pandas(rows, npartitions=3)

    def down(frame):
        return pl.DataFrame(frame.compute())

    def by_query(frame):
        return frame.shuffle(on="query_id")

    def odd(frame):
        wider = frame.assign(x=1j, y=1j)
        return dd.concat([wider, wider[["x"]]], axis=1)

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, Client(cluster):
        yield Started(adapter, read, up, down, by_query, odd, pr.DataError, up)


def check_a_log(engine: Started, folder: Path) -> None:
    """Segments and weights; queries of text."""
    log, _, _ = scattered()
    log = log.with_columns(("q" + pl.col("query_id").cast(pl.String)).alias("query_id"))
    options = {"by": "country", "weight": "traffic"}
    single = bits(pr.evaluate(log.lazy(), MEASURES, **options).collect())
    found = engine.adapter.evaluate(engine.up(log), MEASURES, partitions=2, **options)
    assert bits(found) == single


def check_files(engine: Started, folder: Path) -> None:
    """Several, with the judgments in one of this process, which may be absent."""
    _, run, qrels = scattered()
    paths = [str(folder / f"{i}.parquet") for i in range(4)]
    for i, path in enumerate(paths):
        run[i::4].write_parquet(path)
    judged = folder / "qrels.parquet"
    evaluate = partial(engine.adapter.evaluate, engine.read(paths), "ap", partitions=2)
    with pytest.raises(pr.DataError, match=r"qrels\.parquet: no such file"):
        evaluate(qrels=judged)
    qrels.write_parquet(judged)
    single = bits(pr.evaluate(run, "ap", qrels=qrels, missing="zero"))
    assert bits(evaluate(qrels=judged, missing="zero")) == single


def check_names_of_columns(engine: Started, folder: Path) -> None:
    """Dots and quotes, of what is read and what is carried along."""
    log, _, _ = scattered()
    names = {"query_id": "query.id", "score": "sc`ore", "country": "user.country"}
    options = {"query": "query.id", "score": "sc`ore", "keep": "user.country"}
    named = log.rename(names)
    values = engine.adapter.per_query(engine.up(named), "ap", partitions=2, **options)
    single = pr.per_query(named, "ap", **options)
    assert engine.down(values).sort("query.id").equals(single)


def check_columns_that_are_not_read(engine: Started, folder: Path) -> None:
    """Of a type that Arrow or Polars lacks, and (but on Ray) two of one name."""
    log, _, _ = scattered()
    frame = engine.odd(engine.up(log))
    options = {"by": "country", "partitions": 2}
    found = engine.adapter.evaluate(frame, "ap", **options)
    assert bits(found) == bits(pr.evaluate(log, "ap", by="country"))
    values = engine.adapter.per_query(frame, "ap", partitions=2)
    assert engine.down(values).sort("query_id").equals(pr.per_query(log, "ap"))


def check_frames_of_pandas(engine: Started, folder: Path) -> None:
    """Whose texts are objects, as may be anything beside."""
    log, _, _ = scattered()
    log = log.with_columns(("q" + pl.col("query_id").cast(pl.String)).alias("query_id"))
    frame = engine.of_pandas(log)
    found = engine.adapter.evaluate(frame, "ap", by="country", partitions=2)
    assert bits(found) == bits(pr.evaluate(log, "ap", by="country"))


def check_judgments(engine: Started, folder: Path) -> None:
    """Ids of other types, in buckets on disk, and the standard error."""
    _, run, qrels = scattered()
    options = {"missing": "zero", "stats": ["mean", "se", "median", "worst_tenth"]}
    measures = ["ndcg@10", "ap"]
    single = pr.evaluate(run.lazy(), measures, qrels=qrels.lazy(), **options).collect()
    narrow = qrels.with_columns(pl.col("query_id").cast(pl.Int32))
    found = engine.adapter.evaluate(
        engine.up(run),
        measures,
        qrels=engine.up(narrow),
        partitions=2,
        memory_limit="600MB",
        **options,
    )
    assert bits(found) == bits(single)


def check_recommenders(engine: Started, folder: Path) -> None:
    """The history and the catalog go to every partition, for missing users, too."""
    log, run, qrels = scattered()
    items = log.select("doc_id").unique()
    about = {
        "history": log.filter(pl.col("query_id") > 3, pl.col("label") > 0).select(
            "query_id", "doc_id"
        ),
        "items": items.with_columns(
            category=pl.col("doc_id").str.slice(1, 1),
            protected=pl.col("doc_id").str.slice(1, 1).is_in(["1", "3", "5"]),
            tags=pl.col("doc_id").str.extract_all(r"\d").list.unique(),
        ),
    }
    of_queries = [
        *("ndcg@3", "novelty@3", "ild", "unseen@3", "serendipity@3", "rnd(step=2)"),
        *("miscalibration(tags)", "awrf(tags)@3", "content_serendipity@3"),
        *("exposure_loss", "exposure_disparity@3", "exposure_relevance"),
    ]
    measures = [
        *of_queries,
        *("coverage@3", "personalization", "gini@3", "effective_items"),
        *("pop_rsp@3", "pop_reo@3", "treatment_ratio@3", "impact_ratio"),
    ]
    options = {"missing": "zero", **about}
    frames = {"qrels": engine.up(qrels), "partitions": 2}
    more = {**options, "stats": ["mean", "se"]}
    single = pr.evaluate(run, measures, qrels=qrels, **more)
    assert single.select(pl.all().is_not_null().sum()).row(0).count(0) < 8, single
    found = engine.adapter.evaluate(engine.up(run), measures, **frames, **more)
    assert bits(found) == bits(single)
    values = engine.adapter.per_query(engine.up(run), of_queries, **frames, **options)
    alone = pr.per_query(run, of_queries, qrels=qrels, **options)
    assert engine.down(values).sort("query_id").equals(alone.sort("query_id"))
    moved = {**options, "history": engine.up(about["history"])}
    with pytest.raises(TypeError, match="history must be a frame of this process"):
        engine.adapter.evaluate(engine.up(run), measures, **frames, **moved)


def check_types_of_ids(engine: Started, folder: Path) -> None:
    """Documents as categories, and small judgments with types that Spark lacks."""
    _, run, qrels = scattered()
    single = bits(pr.evaluate(run, "ap", qrels=qrels, missing="zero"))
    frame = engine.up(run.cast({"doc_id": pl.Categorical}))
    unsigned = qrels.cast({"label": pl.UInt8})
    options = {"qrels": unsigned, "missing": "zero", "partitions": 2}
    assert bits(engine.adapter.evaluate(frame, "ap", **options)) == single


def check_values_per_query(engine: Started, folder: Path) -> None:
    """Small judgments of this process."""
    _, run, qrels = scattered()
    single = pr.per_query(run, MEASURES, qrels=qrels, keep="country", missing="zero")
    frame = engine.up(run)
    found = engine.adapter.per_query(
        frame, MEASURES, qrels=qrels, keep="country", missing="zero", partitions=2
    )
    assert isinstance(found, type(frame)) or engine.adapter.__name__.endswith("ray")
    assert engine.down(found).sort("query_id").equals(single)


def check_times(engine: Started, folder: Path) -> None:
    """A moment with its time zone beside the rows, and as a segment."""
    log, _, _ = scattered()
    hours = pl.duration(hours=pl.col("query_id") % 3)
    moment = pl.datetime(2026, 11, 23, time_unit="us", time_zone="UTC") + hours
    log = log.with_columns(shown=moment, written=moment.dt.replace_time_zone(None))
    frame = engine.up(log)
    found = engine.adapter.evaluate(frame, "ap", by="shown", partitions=2)
    found = found.cast({"shown": log.schema["shown"]}).sort("shown")
    assert bits(found) == bits(pr.evaluate(log, "ap", by="shown").sort("shown"))
    options = {"measures": "ap", "keep": ["shown", "written"]}
    values = engine.adapter.per_query(frame, partitions=2, **options)
    single = pr.per_query(log, **options)
    found = engine.down(values).sort("query_id")
    assert found.cast(dict(single.schema)).equals(single)


def check_partitions(engine: Started, folder: Path) -> None:
    """Whole queries: no row moves, and small judgments go everywhere."""
    _, run, qrels = scattered()
    single = bits(pr.evaluate(run, MEASURES, qrels=qrels, missing="zero"))
    options = {"qrels": qrels, "missing": "zero", "partitioned": True}
    frame = engine.up(run)
    found = engine.adapter.evaluate(engine.by_query(frame), MEASURES, **options)
    assert bits(found) == single
    false = outcome(lambda: engine.adapter.evaluate(frame, MEASURES, **options))
    assert false[:2] == (pr.DataError, "query_in_two_parts")
    log = scattered()[0]
    if engine.adapter.__name__.endswith("spark"):
        together = engine.by_query(engine.up(log)).sortWithinPartitions("query_id")
        options = {"partitioned": True, "layout": "contiguous", "by": "country"}
        found = engine.adapter.evaluate(together, MEASURES, **options)
        assert bits(found) == bits(pr.evaluate(log, MEASURES, by="country"))
    frame = engine.up(log)
    for options, rule in (
        ({}, "query_in_two_parts"),
        ({"layout": "contiguous"}, "not_contiguous"),  # raised in a worker
    ):
        call = partial(engine.adapter.evaluate, partitioned=True, **options)
        assert outcome(partial(call, frame, "ap"))[:2] == (pr.DataError, rule)


def check_all_frames(engine: Started, folder: Path) -> None:
    """Queries, segments and a function: moved with the rows, or sent everywhere."""
    frames, options, _ = CASES["described segments"]
    measures = [*MEASURES, {"hits": lambda r: r.hits_at(3)}]
    run, others = engine.up(frames["frame"]), {**frames}
    del others["frame"]
    moved = {side: engine.up(frame) for side, frame in others.items()}
    for given in (
        {"frame": run, "partitions": 2, **moved},
        {"frame": engine.by_query(run), "partitioned": True, **others},
    ):
        found = engine.adapter.evaluate(measures=measures, **given, **options)
        assert bits(found) == whole("described segments")


def check_errors(engine: Started, folder: Path) -> None:
    log, _, _ = scattered()
    broken = with_infinite(log)
    evaluate = partial(engine.adapter.evaluate, partitions=2)
    frame = engine.up(log)
    for many, one, arguments in (
        (engine.up(broken), broken, {}),
        (frame, log, {"label": "country"}),
        (frame, log, {"label": "lable"}),
        (frame, log, {"temp_dir": folder}),
        (frame, log, {"by": "nowhere"}),
    ):
        single = outcome(lambda: pr.evaluate(one, ["ap", "dcg"], **arguments))  # noqa: B023
        found = outcome(lambda: evaluate(many, ["ap", "dcg"], **arguments))  # noqa: B023
        assert isinstance(single, tuple)
        assert found == single, (found, single)


def check_scores_that_are_nan(engine: Started, folder: Path) -> None:
    """Of pandas, whose columns of numpy have no other null."""
    log, _, _ = scattered()
    broken = log.with_columns(
        score=pl.when(doc_id="d0").then(math.nan).otherwise("score")
    )
    frame = engine.of_pandas(broken)
    with pytest.raises(pr.DataError, match="NaN"):
        engine.adapter.evaluate(frame, "ap", partitions=2)


def check_errors_of_the_disk(engine: Started, folder: Path) -> None:
    """Come as they are, but from Spark, which tries them again first."""
    log, _, _ = scattered()
    here, tries = os.getpid(), folder / "tries"

    def full(r):
        if os.getpid() == here:
            return r.hits_at(3)
        with tries.open("a") as told:
            told.write("x")
        raise OSError(errno.ENOSPC, "no space", "/a/disk")

    spark = engine.adapter.__name__.endswith("spark")
    with pytest.raises(engine.told if spark else OSError, match="no space") as caught:
        engine.adapter.evaluate(engine.up(log), [{"full": full}], partitions=1)
    assert spark or caught.type is OSError
    assert tries.stat().st_size >= (3 if spark else 1)


def check_blocks_that_may_be_left_out(engine: Started, folder: Path) -> None:
    """Ray can be told to go on without the blocks that fail."""
    if not engine.adapter.__name__.endswith("ray"):
        return
    log, _, _ = scattered()
    frame = engine.up(log)
    frame.context.max_errored_blocks = 3
    for function in (engine.adapter.evaluate, engine.adapter.per_query):
        with pytest.raises(ValueError, match="leaves out up to 3 blocks of the first"):
            function(frame, "ap", partitions=2)
    frame.context.max_errored_blocks = 0
    found = engine.adapter.evaluate(frame, "ap", partitions=2)
    assert bits(found) == bits(pr.evaluate(log, "ap"))


def check_errors_of_values(engine: Started, folder: Path) -> None:
    """They come when the values are asked for, with our message."""
    log, _, _ = scattered()
    found = engine.adapter.per_query(engine.up(with_infinite(log)), "dcg", partitions=2)
    with pytest.raises(engine.told, match="grades that are NaN or infinite") as caught:
        engine.down(found)
    assert "source.py" not in str(caught.value)


def check_a_killed_worker(engine: Started, folder: Path) -> None:
    """The measure kills the first worker that sees it."""
    log, _, _ = scattered()
    here, marker = os.getpid(), folder / "killed"

    def deadly(r):
        if os.getpid() != here and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return r.hits_at(3)

    measures = ["ap", {"deadly": deadly}]
    single = bits(pr.evaluate(log, measures))
    found = engine.adapter.evaluate(engine.up(log), measures, partitions=2)
    assert marker.exists()
    assert bits(found) == single


def full_disk(path):
    raise OSError(errno.ENOSPC, "no space", "/a/disk")


def check_tasks(engine: Started, folder: Path) -> None:
    """Files, which the workers read."""
    log, _, _ = scattered()
    for i, part in enumerate(split(log, 4, 3)):
        part.write_parquet(folder / f"{i}.parquet")
    paths = sorted(folder.glob("*.parquet"))
    single = bits(pr.evaluate(pl.scan_parquet(paths), MEASURES).collect())
    found = evaluate_parts(files(paths), MEASURES, map=engine.adapter.map)
    assert bits(found) == single
    buckets = bucketed(paths, 3, folder / "shared", map=engine.adapter.map)
    assert bits(evaluate_parts(buckets, MEASURES, map=engine.adapter.map)) == single
    twice = [*files(paths), Part(pl.scan_parquet(paths[0]))]
    false = outcome(lambda: evaluate_parts(twice, "ap", map=engine.adapter.map))
    assert false[:2] == (pr.DataError, "part_twice")
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match="score column 'x' is not"
    ):
        evaluate_parts(files(paths), "ap", score="x", map=engine.adapter.map)
    if not engine.adapter.__name__.endswith("spark"):
        with pytest.raises(OSError, match="no space") as caught:
            list(engine.adapter.map(full_disk, paths))
        assert caught.type is OSError


class Quiet(doctest.OutputChecker):
    """What is printed, without what Ray's daemon says on a busy machine."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        own = [x for x in got.splitlines(keepends=True) if "(raylet)" not in x]
        text = "".join(own)
        return super().check_output(want, text if text.strip() else "", optionflags)


def check_the_page(engine: Started, folder: Path) -> None:
    """The guide shows what is printed."""
    name = engine.adapter.__name__.rpartition(".")[2]
    page = Path(__file__).parent.parent / "docs" / "guide" / f"{name}.md"
    sessions = "\n".join(re.findall(r"```pycon\n(.*?)```", page.read_text(), re.DOTALL))
    test = doctest.DocTestParser().get_doctest(sessions, {}, name, None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner(Quiet()).run(test, out=report.append)
    assert result.attempted > 10
    assert not result.failed, "".join(report)


STARTS = {"ray": on_ray, "pyspark": on_spark, "distributed": on_dask}
UNWELL, STARTED, FAILED = 3, "started", "failed twice:"
CHECKS = [
    check_a_log,
    check_files,
    check_names_of_columns,
    check_columns_that_are_not_read,
    check_frames_of_pandas,
    check_judgments,
    check_recommenders,
    check_types_of_ids,
    check_values_per_query,
    check_times,
    check_partitions,
    check_all_frames,
    check_errors,
    check_scores_that_are_nan,
    check_errors_of_the_disk,
    check_blocks_that_may_be_left_out,
    check_errors_of_values,
    check_a_killed_worker,
    check_tasks,
    check_the_page,
]


def is_well(engine: Started) -> bool:
    """Whether tasks without anything of ours have results."""
    try:
        return list(engine.adapter.map(math.sqrt, [4.0, 9.0])) == [2.0, 3.0]
    except Exception:
        traceback.print_exc()
        return False


def passes(check, engine: Started, folder: str) -> bool:
    try:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            check(engine, Path(own))
    except Exception:
        traceback.print_exc()
        return False
    return True


def main(name: str, folder: str, *chosen: str) -> int:
    with STARTS[name]() as engine:
        if not is_well(engine):
            return UNWELL
        print(STARTED, flush=True)
        for check in CHECKS:
            if chosen and check.__name__ not in chosen:
                continue
            began = time.monotonic()
            # Engines lose workers on busy machines: what is wrong is so twice.
            if not any(passes(check, engine, folder) for _ in range(2)):
                if not is_well(engine):
                    return UNWELL
                print(f"{FAILED} {check.__name__}", flush=True)
                return 1
            print(f"{check.__name__} ok {time.monotonic() - began:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
