"""What tasks leave for others, in a folder or in object storage."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import polars as pl
import pytest
from partition_cases import MEASURES, scattered
from test_evaluation_in_parts import bits

import polars_rank as pr
from polars_rank.parts import Part, bucketed, cut, evaluate_parts, files
from polars_rank.parts import exchange as module
from polars_rank.parts.store import SEAL


@pytest.fixture
def log(tmp_path) -> list[Path]:
    """Files with the rows of each query in several of them."""
    whole = scattered()[0]
    paths = [tmp_path / f"{i}.parquet" for i in range(4)]
    for i, path in enumerate(paths):
        whole[i::4].write_parquet(path)
    return paths


def single(paths) -> object:
    return bits(pr.evaluate(pl.concat(map(pl.read_parquet, paths)), MEASURES))


# -- results of parts


@pytest.fixture
def results(tmp_path):
    """Files of whole queries, and an evaluation that keeps the results of each."""
    whole = scattered()[0].sort("query_id")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    whole.filter(pl.col("query_id") < 30).write_parquet(paths[0])
    whole.filter(pl.col("query_id") >= 30).write_parquet(paths[1])
    folder = tmp_path / "results"
    evaluate = partial(evaluate_parts, files(paths), MEASURES, resume=folder)
    return SimpleNamespace(folder=folder, evaluate=evaluate, paths=paths, whole=whole)


class Bomb:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def test_no_file_of_a_folder_of_results_runs_code(results, tmp_path):
    means = results.evaluate()
    marker = tmp_path / "ran"
    for path in results.folder.iterdir():
        path.write_bytes(pickle.dumps(Bomb(marker)))
    assert results.evaluate().equals(means)
    assert not marker.exists()


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("damaged", [halved, flipped, lambda _: b""])
def test_a_damaged_result_is_computed_again(results, damaged):
    means = results.evaluate()
    kept = {path: path.read_bytes() for path in results.folder.iterdir()}
    assert len(kept) == 2
    for path, content in kept.items():
        path.write_bytes(damaged(content))
    assert results.evaluate().equals(means)
    assert {path: path.read_bytes() for path in results.folder.iterdir()} == kept


def test_a_result_that_is_kept_is_not_computed(results, monkeypatch):
    means = results.evaluate()
    monkeypatch.setattr(pr.Evaluation, "partial", None)
    assert results.evaluate().equals(means)


def test_rows_of_queries_that_were_cut_are_kept_with_the_result(results):
    """The frames of a result have no row, some, or are not there."""
    results.whole.write_parquet(results.paths[0])
    parts = cut(pl.scan_parquet(results.paths[0]), 3)
    for _ in range(2):
        found = evaluate_parts(parts, MEASURES, by="country", resume=results.folder)
        assert bits(found) == bits(pr.evaluate(results.whole, MEASURES, by="country"))


# -- buckets


def test_a_task_writes_one_file_and_what_is_in_it(log, tmp_path):
    """Not one for each bucket, of which there may be thousands."""
    folder = tmp_path / "shared"
    parts = bucketed(log, 12, folder)
    assert bits(evaluate_parts(parts, MEASURES)) == single(log)
    assert sum(path.is_file() for path in folder.rglob("*")) == 2 * len(log)


@pytest.mark.parametrize("at_once", [1, 10_000])
def test_a_task_with_many_rows_of_a_bucket(log, tmp_path, monkeypatch, at_once):
    """They are several pieces, which are read some at a time."""
    monkeypatch.setattr(module, "ROWS_PER_GROUP", 1)
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    parts = bucketed(log, 1, tmp_path / "shared")
    index = next((tmp_path / "shared").rglob("*.json")).read_bytes()
    assert len(json.loads(index[SEAL:])[1][0]) > 3
    assert bits(evaluate_parts(parts, MEASURES)) == single(log)


def test_a_task_that_has_ended_is_not_done_again(log, tmp_path, monkeypatch):
    folder = tmp_path / "shared"
    bucketed(log, 5, folder)
    monkeypatch.setattr(module, "fill", None)
    assert bits(evaluate_parts(bucketed(log, 5, folder), MEASURES)) == single(log)


@pytest.mark.covering(1)
@pytest.mark.parametrize("what", ["index", "rows"])
@pytest.mark.parametrize("damaged", [halved, lambda _: b"", lambda _: b"[[]]"])
def test_a_task_whose_files_are_damaged_is_done_again(log, tmp_path, what, damaged):
    folder = tmp_path / "shared"
    bucketed(log, 5, folder)
    for path in folder.rglob("*.json" if what == "index" else "*.rows"):
        path.write_bytes(damaged(path.read_bytes()))
    assert bits(evaluate_parts(bucketed(log, 5, folder), MEASURES)) == single(log)


def test_rows_that_were_damaged_meanwhile_are_an_error_that_names_the_folder(
    log, tmp_path
):
    parts = bucketed(log, 1, tmp_path / "shared")
    path = next((tmp_path / "shared").rglob("*.rows"))
    path.write_bytes(halved(path.read_bytes()))
    with pytest.raises(
        pr.DataError, match="shared: the rows of a bucket cannot be read"
    ):
        evaluate_parts(parts, "ap")


def test_buckets_in_bounded_memory(log, tmp_path):
    """Of which the rows are counted, and read without their columns."""
    parts = bucketed(log, 3, tmp_path / "shared")
    found = evaluate_parts(parts, MEASURES, memory_limit="1GB", layout="any")
    assert bits(found) == single(log)
    rows = sum(part.frame.select(pl.len()).collect().item() for part in parts)
    assert rows == sum(len(pl.read_parquet(path)) for path in log)


def test_no_query_of_a_bucket_is_listed(log, tmp_path):
    """The hash of the query proves that it is in no other."""
    parts = bucketed(log, 5, tmp_path / "shared")
    keys = []

    def visit(function, items):
        for result in map(function, items):
            keys.append("keys" in result.partial.columns)
            yield result

    evaluate_parts(parts, "ap", map=visit)
    evaluate_parts([Part(part.frame) for part in parts], "ap", map=visit)
    assert keys == [False] * len(parts) + [True] * len(parts)


def test_that_proof_is_of_one_call_and_its_parts_once(log, tmp_path):
    parts = bucketed(log, 5, tmp_path / "a")
    others = bucketed(log[:1], 5, tmp_path / "b")
    for wrong in ([*parts, parts[0]], [*parts, *others], [*parts, Part(log[0])]):
        with pytest.raises(ValueError, match="give all frames to one call"):
            evaluate_parts(wrong, "ap")


def test_that_proof_is_of_the_columns_that_were_hashed(log, tmp_path):
    """Rows of a query may be in several buckets of more columns, but not of fewer."""
    day = pl.col("doc_id").hash() % 2  # a query is on several
    frames = [pl.read_parquet(path).with_columns(day=day) for path in log]
    columns = ["day", "query_id"]
    parts = bucketed(frames, 5, tmp_path / "a", query=columns)
    with pytest.raises(pr.DataError, match="in more than one part") as caught:
        evaluate_parts(parts, "ap")
    assert caught.value.rule == "query_in_two_parts"
    fewer = bucketed(frames, 2, tmp_path / "b", query="day")
    single = bits(pr.evaluate(pl.concat(frames), MEASURES, query=columns))
    assert bits(evaluate_parts(fewer, MEASURES, query=columns)) == single


# -- object storage


@pytest.mark.parametrize("url", ["s4://bucket/folder", "https://host/folder", "s3://"])
def test_a_url_that_cannot_be_written_is_refused_first(log, tmp_path, monkeypatch, url):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    for name, call in (
        ("folder", lambda: bucketed(log, 2, url)),
        ("resume", lambda: evaluate_parts(files(log[:1]), "ap", resume=url)),
    ):
        with pytest.raises(ValueError, match=f"{name} must be a folder that all proc"):
            call()
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture
def bucket(monkeypatch):
    """The URL of a bucket of a server that runs here, and what lists its objects."""
    server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    thread = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)
    thread.start()
    try:
        host, port = thread.get_host_and_port()
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
        name = f"bucket-{uuid4().hex}"
        client.create_bucket(Bucket=name)

        def objects() -> dict[str, int]:
            found = client.list_objects_v2(Bucket=name).get("Contents", [])
            return {one["Key"]: one["Size"] for one in found if one["Size"]}

        def url(folder: str) -> str:
            return f"s3://{name}/{folder}?endpoint_override={host}:{port}&scheme=http"

        put = partial(client.put_object, Bucket=name)
        yield SimpleNamespace(url=url, objects=objects, put=put)
    finally:
        thread.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_object_storage(log, bucket, tmp_path, monkeypatch):
    """Buckets and results of other processes; what is damaged is done again."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as workers:
        parts = bucketed(log, 5, bucket.url("run/1"), map=workers.map)
        found = evaluate_parts(parts, MEASURES, map=workers.map)
    assert bits(found) == single(log)
    assert len(bucket.objects()) == 2 * len(log)
    assert all(name.startswith("run/1/run-") for name in bucket.objects())
    with monkeypatch.context() as patch:
        patch.setattr(module, "fill", None)
        again = bucketed(log, 5, bucket.url("run/1"))
    assert bits(evaluate_parts(again, MEASURES)) == single(log)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_results_in_object_storage(results, bucket, monkeypatch):
    evaluate = partial(results.evaluate, resume=bucket.url("results"))
    means = evaluate()
    kept = bucket.objects()
    assert len(kept) == 2
    first = next(iter(kept))
    bucket.put(Key=first, Body=b"half")
    assert evaluate().equals(means)
    assert bucket.objects() == kept
    monkeypatch.setattr(pr.Evaluation, "partial", None)
    assert evaluate().equals(means)
