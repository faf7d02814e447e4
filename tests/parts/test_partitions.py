"""Rows in partitions: the same bits and errors as of the whole, for every argument.

The engine is that of pieces.py; test_engines.py has Ray, Spark and Dask.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from partition_cases import (
    CASES,
    MEASURES,
    WRONG,
    outcome,
    scattered,
    whole,
    with_infinite,
)
from pieces import InPieces, Pieces
from slow import every_other
from test_evaluation_in_parts import bits, split

import polars_rank as pr
from polars_rank._engine.spill.budget import LEAST
from polars_rank.parts import Part, bucketed, evaluate_parts, files
from polars_rank.parts.engine.job import Job

ENGINE = InPieces()
HOME = str(Path(pr.__file__).parents[1])


@pytest.mark.slow
def test_the_cases_that_are_wrong():
    for name in CASES:
        assert isinstance(whole(name), tuple) == (name in WRONG), (name, whole(name))


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", ["moved", "small", "partitioned"])
@pytest.mark.parametrize("name", every_other(CASES))
def test_partitions_have_the_outcome_of_the_whole(name, way):
    """All frames are moved; only the rows; or none, as the partitions hold queries."""
    frames, options, measures = CASES[name]
    run, others = frames["frame"], {n: f for n, f in frames.items() if n != "frame"}
    if way == "partitioned":
        given = {"frame": Pieces(p for p in split(run, 3, 1) if len(p)), **others}
        given["partitioned"] = True
    else:
        moved = others.items() if way == "moved" else ()
        given = {"frame": Pieces.of(run), **others, "partitions": 4}
        given |= {side: Pieces.of(frame) for side, frame in moved}
    found = outcome(lambda: ENGINE.evaluate(measures=measures, **given, **options))
    assert found == whole(name)


def test_values_per_query():
    _, run, qrels = scattered()
    given = {"missing": "zero", "keep": "country"}
    found = ENGINE.per_query(
        Pieces.of(run), MEASURES, qrels=Pieces.of(qrels), partitions=4, **given
    )
    values = pr.per_query(run, MEASURES, qrels=qrels, **given)
    assert pl.concat(found).sort("query_id").equals(values)


def test_a_column_of_the_judgments_is_carried_along():
    _, run, qrels = scattered()
    run, about = run.drop("country", "traffic"), run.select("query_id", "country")
    qrels = qrels.join(about.unique(), on="query_id").sample(fraction=1, seed=0)
    frames = Pieces.of(run), "ap"
    found = ENGINE.per_query(*frames, qrels=Pieces.of(qrels), keep="country")
    values = pr.per_query(run, "ap", qrels=qrels, keep="country")
    assert pl.concat(found).sort("query_id").equals(values)


def test_only_the_types_of_columns_that_are_read_are_asked_for():
    """An engine may have types that Polars lacks, and two columns of one name."""
    log, _, _ = scattered()
    asked = []

    class Twice(InPieces):
        def names(self, frame):
            return [*super().names(frame), "odd", "odd"]

        def schema(self, frame, names):
            asked.extend(names)
            return super().schema(frame, names)

    found = Twice().evaluate(Pieces.of(log), "ap", by="country")
    assert bits(found) == bits(pr.evaluate(log, "ap", by="country"))
    assert asked == ["query_id", "doc_id", "score", "label", "country"]
    with pytest.raises(ValueError, match="first argument has two columns 'odd'; drop"):
        Twice().evaluate(Pieces.of(log), "ap", by="odd")


def test_an_engine_never_sees_the_names_of_columns():
    """To Spark, a dot means a field."""
    log, _, _ = scattered()
    seen = []

    class Seeing(InPieces):
        def states(self, job, rows):
            seen.extend(rows[0].columns)
            return super().states(job, rows)

    dotted = Pieces.of(log.rename({"score": "model.score"}))
    found = Seeing().evaluate(dotted, "ap", score="model.score", by="country")
    assert bits(found) == bits(pr.evaluate(log, "ap", by="country"))
    assert len(seen) == 6
    assert all(name.isidentifier() for name in seen)


def test_a_query_in_two_partitions():
    log, run, qrels = scattered()
    for frame, given in ((log, {}), (run, {"qrels": qrels, "missing": "zero"})):
        with pytest.raises(pr.DataError, match="without partitioned=True") as caught:
            ENGINE.evaluate(Pieces.of(frame), "ap", partitioned=True, **given)
        assert caught.value.rule == "query_in_two_parts"


def test_arguments_of_an_engine():
    log, _, qrels = scattered()
    pieces = Pieces.of(log)
    for frame, given, message in (
        (
            log,
            {},
            "first argument must be a Pieces of pieces, not a DataFrame of polars;",
        ),
        ({}, {}, "the first argument must be a Pieces of pieces, not a dict;"),
        (pieces, {"progress": print}, "leave progress= out"),
        (
            pieces,
            {"qrels": Pieces.of(qrels), "partitioned": True},
            "the judgments must be a frame of this process.*leave partitioned= out",
        ),
        (
            pieces,
            {"partitions": 4, "partitioned": True},
            "partitioned=True moves no row: leave partitions= out",
        ),
        (
            pieces,
            {"segment": "country"},
            "evaluate takes no segment; did you mean 'seg",
        ),
        (
            pieces,
            {"partition": 4},
            "evaluate takes no partition; did you .*'partitions'",
        ),
        (pieces, {"keep": "country"}, r"evaluate takes no keep; by= splits"),
        (pieces, {"k": 10}, "evaluate takes no k: it is a parameter of measures"),
    ):
        with pytest.raises(TypeError, match=message):
            ENGINE.evaluate(frame, "ap", **given)
    for number in (0, -1, "4", 2.0):
        for call in (ENGINE.evaluate, ENGINE.per_query):
            with pytest.raises(ValueError, match="partitions must be a whole number"):
                call(pieces, "ap", partitions=number)


def test_a_limit_that_broadcast_judgments_exceed_is_told_before_rows_move():
    i = pl.int_range(500_000)
    doc = pl.format("the long id of a document, in 200 bytes: {}" + 150 * "x", i)
    qrels = pl.select(query_id=i // 10, doc_id=doc, label=i % 2)
    run = qrels.head(20).select("query_id", "doc_id", score=pl.lit(1.0))

    class Moving(InPieces):
        def partition(self, job, frames, partitions):
            raise AssertionError("rows were moved")

    with pytest.raises(MemoryError, match=r"qrels of .* every worker holds"):
        Moving().evaluate(
            Pieces([run]), "ap", qrels=qrels, partitioned=True, memory_limit=LEAST
        )


def test_arguments_of_values_per_query():
    pieces = Pieces.of(scattered()[0])
    for given, message in (
        ({"keeep": "country"}, "per_query takes no keeep; did you mean 'keep'"),
        ({"partitioned": True}, "per_query takes no partitioned: .* leave it out"),
    ):
        with pytest.raises(TypeError, match=message):
            ENGINE.per_query(pieces, "ap", **given)


def full(r):
    raise OSError("the disk is full")


def wrapping(function, items):
    """A ``map`` that wraps the errors of tasks, as that of Spark does."""
    try:
        return [function(item) for item in items]
    except Exception as error:
        raise RuntimeError("a task failed") from error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "judgments", "described segments"])
def test_no_rows_come_back(name):
    """A state of a partition is a few kB, whatever its rows; so are the arguments."""
    frames, options, measures = CASES[name]
    sizes = []

    class Weighed(InPieces):
        def states(self, job, rows):
            sizes.append(len(pickle.dumps(job)))
            for state in super().states(job, rows):
                sizes.append(len(state))
                yield state

    def evaluate(times):
        sizes.clear()
        many = {
            side: Pieces.of(pl.concat(_again(frame, i) for i in range(times)))
            for side, frame in frames.items()
        }
        Weighed().evaluate(measures=measures, partitions=2, **many, **options)
        return max(sizes)

    once, often = evaluate(1), evaluate(8)
    assert once < 20_000
    assert often < 1.2 * once


def _again(frame: pl.DataFrame, i: int) -> pl.DataFrame:
    return frame.with_columns(pl.col("query_id") + 1000 * i)


@pytest.mark.parametrize("name", ["ray", "spark", "dask"])
def test_an_adapter_does_not_call_its_own_map(name):
    """Whose name is that of the builtin; it would do small things in the cluster."""
    tree = ast.parse(Path(HOME, "polars_rank", f"{name}.py").read_text())
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert "map" not in {f.id for f in calls if isinstance(f, ast.Name)}


def test_errors_of_tasks_are_those_of_one_machine(tmp_path):
    log, _, _ = scattered()
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    log.write_parquet(paths[0])
    log.drop("score").write_parquet(paths[1])
    for call in (
        lambda: evaluate_parts(files(paths), "ap", map=wrapping),
        lambda: bucketed(paths, 2, tmp_path / "buckets", map=wrapping),
    ):
        with pytest.raises(pl.exceptions.ColumnNotFoundError, match="score"):
            call()
    with pytest.raises(RuntimeError, match="a task failed"):  # another try may help
        evaluate_parts([Part(log)], {"full": full}, map=wrapping)


RUN = pl.DataFrame(
    {"query_id": [1, 1, 2], "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}
)
QRELS = pl.DataFrame({"query_id": [1, 2], "doc_id": ["b", "c"], "label": [1, 1]})


def as_they_come(frame: pl.DataFrame, parts: int) -> pl.DataFrame:
    """A partition that is evaluated in batches, as Spark hands them on.

    No more than ten of them are held at once.
    """
    evaluation = pr.Evaluation(["ap", "rr"], layout="contiguous")
    job = Job.of(evaluation, {"frame": frame.schema}, {}, keep=(), partitioned=True)
    buffer = pa.BufferOutputStream()
    rows = job.tag(frame.to_arrow(), "frame")
    with pa.ipc.new_stream(buffer, rows.schema) as out:
        out.write_table(rows, max_chunksize=len(frame) // parts)
    whole, before = buffer.getvalue().to_pybytes(), pa.total_allocated_bytes()
    allowed = len(whole) * 10 // parts

    def batches():
        for batch in pa.ipc.open_stream(whole):
            yield pa.record_batch(
                [pc.add(column, 0) for column in batch.columns], schema=batch.schema
            )
            assert pa.total_allocated_bytes() - before < allowed

    return job.merge([job.state_of(batches())])


def test_a_sorted_partition_is_evaluated_as_it_comes():
    i = pl.int_range(600_000)
    log = pl.select(query_id=i // 100, score=i * 7919 % 10_007, label=i % 3 // 2)
    assert bits(as_they_come(log, 60)) == bits(pr.evaluate(log, ["ap", "rr"]))


def test_a_partition_with_judgments_is_read_twice():
    """Its rows come as a stream, which can be read once only."""
    sides = {"frame": RUN, "qrels": QRELS}
    evaluation = pr.Evaluation(["rr"], layout="contiguous")
    schemas = {side: frame.schema for side, frame in sides.items()}
    job = Job.of(evaluation, schemas, {}, keep=(), partitioned=True)
    tagged = [job.tag(frame.to_arrow(), side) for side, frame in sides.items()]
    batches = iter(pa.concat_tables(tagged).to_batches())
    found = job.merge([job.state_of(batches)])
    assert bits(found) == bits(pr.evaluate(RUN, ["rr"], qrels=QRELS))


def test_an_error_of_values_shows_no_way_through_the_plan():
    log, _, _ = scattered()
    with pytest.raises(pr.DataError, match="infinite") as caught:
        ENGINE.per_query(Pieces.of(with_infinite(log)), "dcg")
    assert caught.value.__suppress_context__
    assert "source.py" not in str(caught.getrepr())


def test_rows_that_are_not_of_the_types_that_their_engine_declares():
    log, _, _ = scattered()

    class Declaring(InPieces):
        def schema(self, frame, names):
            declared = super().schema(frame, names) | {"label": pl.Null()}
            return pl.Schema({name: declared[name] for name in names})

    message = "column 'label' is Int64 in a partition, but was declared as Null"
    for options in ({"partitioned": True}, {}):
        with pytest.raises(TypeError, match=message):
            Declaring().evaluate(Pieces([log]), "ap", **options)


@pytest.mark.parametrize("name", ["by", "weight", "stats"])
def test_values_per_query_take_no_options_of_a_mean(name):
    """As on one machine; they were left out of account without a word."""
    pieces = Pieces.of(scattered()[0])
    with pytest.raises(TypeError, match=f"leave {name}= out .keep= carries"):
        ENGINE.per_query(pieces, "ap", **{name: "country"})


# -- processes


def pool(count: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.slow
def test_processes_have_the_outcome_of_the_whole(tmp_path):
    """Judgments of the whole, those of each part, and buckets: of every other case."""
    with pool() as workers:
        for name, (frames, options, measures) in [*CASES.items()][::2]:
            run, others = frames["frame"], {**frames}
            del others["frame"]
            evaluate = partial(
                evaluate_parts, measures=measures, map=workers.map, **options
            )
            parts = [Part(p) for p in split(run, 3, 1) if len(p)]
            assert outcome(lambda: evaluate(parts, **others)) == whole(name), name  # noqa: B023
            if {*others} - {"qrels"}:
                continue
            folder = tmp_path / name
            qrels = [f[i::2] for f in others.values() for i in range(2)]
            query = options.get("query", "query_id")
            buckets = bucketed(
                [run[i::3] for i in range(3)],
                4,
                folder,
                qrels=qrels,
                query=query,
                map=workers.map,
            )
            assert outcome(lambda: evaluate(buckets)) == whole(name), name  # noqa: B023


def dies_at(last, function, numbered):
    """In a worker: visit a part, unless it is the one that kills it."""
    number, part = numbered
    if number == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return function(part)


@pytest.mark.slow
def test_a_killed_process_costs_its_part_only(tmp_path):
    log, _, _ = scattered()
    for i, part in enumerate(split(log, 4, 3)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))
    results = tmp_path / "results"
    evaluate = partial(evaluate_parts, files(paths), MEASURES, resume=results)
    with pytest.raises(BrokenProcessPool), pool(1) as workers:
        evaluate(
            map=lambda function, parts: workers.map(
                partial(dies_at, 2, function), enumerate(parts)
            )
        )
    kept = {p: p.stat().st_mtime_ns for p in results.iterdir()}
    assert len(kept) == 2
    with pool(1) as workers:
        found = evaluate(map=workers.map)
    assert bits(found) == bits(pr.evaluate(log, MEASURES))
    assert len(list(results.iterdir())) == len(paths)
    assert all(p.stat().st_mtime_ns == stamp for p, stamp in kept.items())


PARTIAL = """
import sys
import polars as pl, polars_rank as pr
whole, part, threads, *measures = sys.argv[1:]
assert pl.thread_pool_size() == int(threads)
log = pl.scan_parquet(whole)
own = log.filter(pl.col("query_id") % 3 == int(part))
pr.Evaluation(measures).partial(own).write_parquet(f"partial{part}.parquet")
pr.evaluate(log, measures).collect().write_parquet(f"means{part}.parquet")
"""


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(tmp_path):
    """One process per part, each with other threads, on rows of several batches."""
    i = pl.int_range(300_000)
    log = pl.select(
        query_id=i // 100,
        score=(i * 7919 % 10007) / 10007,
        label=(i.hash(1) % 7 // 4).cast(pl.Int8),
    )
    log.write_parquet(tmp_path / "log.parquet", row_group_size=10_000)
    measures = MEASURES[:4]
    for part, threads in enumerate(("1", "2", "5")):
        subprocess.run(
            [
                *(sys.executable, "-c", PARTIAL),
                *("log.parquet", str(part), threads, *measures),
            ],
            env=os.environ | {"POLARS_MAX_THREADS": threads, "PYTHONPATH": HOME},
            cwd=tmp_path,
            check=True,
        )
    partials = [pl.read_parquet(tmp_path / f"partial{p}.parquet") for p in range(3)]
    single = bits(pr.evaluate(log, measures))
    assert bits(pr.Evaluation(measures).merge(partials)) == single
    for part in range(3):
        assert bits(pl.read_parquet(tmp_path / f"means{part}.parquet")) == single
