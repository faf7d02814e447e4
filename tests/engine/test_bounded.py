"""Bounded memory: the same rows from buckets on disk as from the whole in memory."""

from __future__ import annotations

import gc
import re
import time
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from faults import finish, program
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal
from slow import ENGINES, slow

import polars_rank as pr
from polars_rank._engine.spill.bounded import bounded
from polars_rank._engine.spill.buckets import rows_of_largest_query
from polars_rank._engine.spill.budget import (
    MB,
    Budget,
    RowGroups,
    Size,
    overhead,
    parse_memory_limit,
)
from polars_rank._engine.spill.progress import Progress
from polars_rank.exceptions import DataError

BUCKET = 16_000  # bytes of a bucket: 1000 rows of the frames below
LIMIT = overhead() + 4 * BUCKET
ENOUGH = max(400 * MB, overhead() + 254 * MB)  # the least that may be asked for
WIDER = overhead() + 8 * BUCKET  # few buckets of long ids or two parts are split again
N = 8_000


def lazy(parts, evaluate, keys=("key0",), **options):
    parts = [part.lazy() for part in parts]
    options = {"temp_dir": None, "progress": None, "fingerprint": ""} | options
    return bounded(parts, keys, evaluate, **{"limit": LIMIT} | options)


def rows_of(parts) -> pl.LazyFrame:
    """The rows of every query, as they come."""
    ordered = parts[0].sort("key0", maintain_order=True)
    return ordered.group_by("key0", maintain_order=True).agg("row")


def log(n: int = N, queries: int = 700, seed: int = 0) -> pl.DataFrame:
    key0 = np.random.default_rng(seed).integers(0, queries, n)
    return pl.DataFrame({"key0": key0, "row": np.arange(n)})


LOG = log()


def same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(found.sort("key0"), expected.sort("key0"))


@pytest.fixture(autouse=True)
def temp(tmp_path, monkeypatch) -> Path:
    """The folder for temporary files; nothing may be left there."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


class Buckets:
    """Remembers the rows of every bucket that is evaluated."""

    def __init__(self, plan) -> None:
        self.plan, self.seen = plan, []

    def __call__(self, parts) -> pl.LazyFrame:
        self.seen.append([part.select(pl.len()).collect().item() for part in parts])
        return self.plan(parts)

    @property
    def rows(self) -> list[int]:
        """Of all parts together, without the first call: that is for the whole."""
        return [sum(rows) for rows in self.seen[1:]]


# -- what is evaluated ---------------------------------------------------------------


@pytest.mark.slow
def test_rows_keep_their_order(collect, tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    frame, chunk = log(60_000, 50), 15_000
    for i in range(4):
        part = frame.slice(i * chunk, chunk)
        part.write_parquet(files / f"{i}.parquet", row_group_size=2_001)
    found = collect(lazy([pl.scan_parquet(files)], rows_of))
    same(found, rows_of([frame.lazy()]).collect())
    assert found["row"].list.eval(pl.element().diff().min()).explode().min() > 0


def test_buckets_hold_whole_queries_and_are_small():
    work = Buckets(rows_of)
    same(lazy([LOG], work).collect(), rows_of([LOG.lazy()]).collect())
    assert sum(work.rows) == N
    assert len(work.rows) >= 32
    assert max(work.rows) * 16 <= BUCKET


IDS = {
    "text": pl.format("query {}", "key0"),
    "long text": pl.format("a query with a long name {}", "key0"),
    "category": pl.format("query {}", "key0").cast(pl.Categorical),
    "enum": (pl.col("key0") % 3).cast(pl.String).cast(pl.Enum(["2", "1", "0"])),
    "bool": pl.col("key0") % 2 == 0,
    "date": pl.lit(date(2026, 1, 1)) + pl.duration(days="key0"),
    "binary": pl.format("query {}", "key0").cast(pl.Binary),
    "small": (pl.col("key0") % 100).cast(pl.UInt8),
}


@pytest.mark.parametrize(
    "name",
    [slow(name) if name == "long text" else name for name in IDS],
)
def test_types_of_ids(name):
    key0 = pl.when(pl.col("row") % 10 > 0).then(IDS[name])
    frame = LOG.with_columns(key0.alias("key0"))
    expected = rows_of([frame.lazy()]).collect()
    found = lazy([frame], rows_of, limit=WIDER).collect()
    assert found.schema == expected.schema
    assert found["key0"].null_count() == 1
    by_row = pl.col("row").list.first()
    assert_frame_equal(found.sort(by_row), expected.sort(by_row))


def test_several_keys():
    frame = LOG.with_columns(key1=pl.col("key0") % 5, key0=pl.col("key0") // 5)
    frame = frame.with_columns(key1=pl.when(pl.col("row") % 3 > 0).then("key1"))
    keys = ["key0", "key1"]

    def plan(parts):
        return parts[0].group_by(keys).agg(pl.len(), pl.col("row").sum())

    work = Buckets(plan)
    found = lazy([frame], work, keys, limit=WIDER).collect()
    assert_frame_equal(found.sort(keys), plan([frame.lazy()]).collect().sort(keys))
    assert len(work.rows) >= 32


def judged(parts) -> pl.LazyFrame:
    run, qrels = parts
    count = qrels.group_by("key0").agg(judged=pl.len())
    return (
        run.group_by("key0")
        .agg("row")
        .join(count, on="key0", how="full", coalesce=True)
    )


def test_parts_meet_in_the_same_bucket(collect):
    qrels = log(12_000, 900, seed=1).with_columns(key0=pl.col("key0") + 300)
    work = Buckets(judged)
    found = collect(lazy([LOG, qrels], work, limit=WIDER))
    assert len(work.rows) >= 32
    assert found["judged"].null_count()
    assert found["row"].null_count()
    same(found, judged([LOG.lazy(), qrels.lazy()]).collect())


def test_parts_without_rows_for_a_bucket():
    qrels = LOG.filter(pl.col("key0") == 7)
    same(
        lazy([LOG, qrels], judged).collect(),
        judged([LOG.lazy(), qrels.lazy()]).collect(),
    )
    none = LOG.clear()
    same(
        lazy([LOG, none], judged).collect(), judged([LOG.lazy(), none.lazy()]).collect()
    )
    assert lazy([none, none], judged).collect().is_empty()


def test_texts_meet_whatever_their_categories():
    text = pl.format("q{}", "key0")
    run = LOG.with_columns(key0=text.cast(pl.Categorical))
    other = log(12_000, seed=2).with_columns(key0=text)

    def plan(parts):
        plain = [part.with_columns(pl.col("key0").cast(pl.String)) for part in parts]
        return judged(plain)

    found = lazy([run, other], plan, limit=WIDER).collect()
    same(found, plan([run.lazy(), other.lazy()]).collect())


def test_ids_of_different_types_are_refused():
    other = LOG.with_columns(pl.col("key0").cast(pl.String))
    with pytest.raises(TypeError, match=r"'key0' has several types, Int64, String"):
        lazy([LOG, other], judged)


# -- skew ----------------------------------------------------------------------------


def test_a_bucket_that_is_too_large_is_split_again():
    """Two queries have most of the rows, a bucket of their own each."""
    key0 = np.random.default_rng(3).integers(0, 700, N)
    key0[:6_000], key0[6_000:12_000] = 1, 2
    frame = pl.DataFrame({"key0": np.random.default_rng(4).permutation(key0)})
    frame = frame.with_row_index("row")
    work = Buckets(rows_of)
    same(lazy([frame], work).collect(), rows_of([frame.lazy()]).collect())
    largest = frame["key0"].value_counts()["count"].top_k(2).to_list()
    assert sorted(r for r in work.rows if r * 12 > BUCKET) == sorted(largest)


@pytest.mark.parametrize("key0", [5, None])
def test_one_query_is_not_split(key0):
    frame = LOG.with_columns(key0=pl.lit(key0, dtype=pl.Int64))
    work = Buckets(rows_of)
    same(lazy([frame], work).collect(), rows_of([frame.lazy()]).collect())
    assert [rows for rows in work.rows if rows] == [N]


@pytest.mark.parametrize("width", [13, 60, 120])
@pytest.mark.parametrize("rows", [10**6, 10**8, 10**9])
@pytest.mark.parametrize("more", [140 * MB, 250 * MB, 2000 * MB])
def test_what_writers_hold_back_fits(width, rows, more):
    """Nor does a bucket get larger with the data, while there may be more of them."""
    budget, size = Budget.of(overhead() + more, 4), Size(rows, rows * width, 0)
    buckets = budget.buckets(size)
    held = buckets * budget.rows_per_group(size, buckets) * width
    assert held <= budget.buffers
    assert 32 <= buckets <= 192
    assert buckets * budget.bucket >= 2 * size.memory or held * 2 > budget.buffers


@pytest.mark.slow
def test_a_query_in_every_row():
    frame = log(40_000).with_columns(key0=pl.col("row") * 7)
    work = Buckets(rows_of)
    same(lazy([frame], work).collect(), rows_of([frame.lazy()]).collect())
    assert max(work.rows) * 16 <= BUCKET


@pytest.mark.slow
def test_long_texts_count():
    """Half of the bytes are in the documents of a few queries."""
    doc = pl.when(pl.col("key0") < 7).then(pl.lit("d" * 1000)).otherwise(pl.lit("d"))
    frame = LOG.with_columns(doc=doc)
    work = Buckets(rows_of)
    same(lazy([frame], work).collect(), rows_of([frame.lazy()]).collect())
    heavy = frame["key0"].value_counts().filter(pl.col("key0") < 7)["count"]
    assert set(heavy) <= set(work.rows)  # each of them is left alone


# -- what needs no buckets -----------------------------------------------------------


def test_what_fits_makes_no_file(collect, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    same(collect(lazy([LOG], rows_of, limit=10**9)), rows_of([LOG.lazy()]).collect())


def test_rows_are_read_when_collected():
    def unread(*_):
        raise AssertionError("rows were read")
        yield

    part = register_io_source(unread, schema=LOG.schema)
    frame = lazy([part], rows_of)
    assert frame.collect_schema() == rows_of([LOG.lazy()]).collect_schema()
    with pytest.raises(AssertionError, match="rows were read"):
        frame.collect()


# -- as part of a larger plan --------------------------------------------------------


def test_collected_twice(collect):
    frame = lazy([LOG], rows_of)
    same(collect(frame), collect(frame))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_collected_with_others(engine):
    frame, other = lazy([LOG], rows_of), lazy([log(seed=5)], rows_of)
    sums = LOG.lazy().group_by("key0").agg(pl.col("row").sum())
    plans = [frame, other, frame.select(pl.len()), sums, other.sort("key0")]
    results = pl.collect_all(plans, engine=engine)
    same(results[0], rows_of([LOG.lazy()]).collect())
    same(results[1], rows_of([log(seed=5).lazy()]).collect())
    assert results[2].item() == 700
    assert_frame_equal(results[4], results[1].sort("key0"))


@pytest.mark.slow
def test_joined_with_itself_and_inside_another(collect):
    frame = lazy([LOG], rows_of)
    both = frame.join(frame.select("key0", again="row"), on="key0")
    assert collect(both.select((pl.col("row") == pl.col("again")).all())).item()
    outer = lazy([frame.explode("row")], rows_of)
    same(collect(outer), rows_of([LOG.lazy()]).collect())


@pytest.mark.slow
def test_parts_of_the_frame(collect):
    frame, expected = lazy([LOG], rows_of), rows_of([LOG.lazy()]).collect()
    some = pl.col("key0") < 100
    assert_frame_equal(
        collect(frame.filter(some).select("row").sort(pl.col("row").list.first())),
        expected.filter(some).select("row").sort(pl.col("row").list.first()),
    )
    assert collect(frame.select(pl.len())).item() == expected.height
    assert collect(frame.head(30)).height == 30
    assert collect(frame.filter(some).head(30)).height == 30
    assert collect(frame.slice(10, 5)).height == 5
    assert collect(frame.tail(7)).height == 7


def test_the_rest_of_the_buckets_is_not_evaluated():
    work = Buckets(rows_of)
    assert lazy([LOG], work).head(10).collect().height == 10
    assert len(work.rows) < 10


def test_stopped_in_the_midst(temp):
    """Polars may let go of a source a bit later, in its next call."""
    batches = lazy([LOG], rows_of).collect_batches(chunk_size=1, engine="streaming")
    assert next(iter(batches)).height
    assert list(temp.iterdir())
    del batches
    for _ in range(100):
        gc.collect()
        pl.LazyFrame({"a": [1]}).collect()
        if not list(temp.iterdir()):
            break
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_one_thread_is_enough(engine):
    """A plan inside a plan waits for no thread of the outer one."""
    code = """
import os
os.environ["POLARS_MAX_THREADS"] = "1"
import polars as pl
from engine.test_bounded import LOG, lazy, rows_of
assert pl.thread_pool_size() == 1
plans = [lazy([LOG], rows_of).select(pl.len() + i) for i in range(3)]
print([x.item() for x in pl.collect_all(plans, engine=sys.argv[1])])
"""
    assert finish(program(code, engine)).strip() == "[700, 701, 702]"


# -- errors, arguments, progress -----------------------------------------------------


@pytest.mark.parametrize("limit", [LIMIT, 10**9])
def test_errors_keep_their_class(collect, limit):
    def check(rows):
        if (rows == 13).any():
            raise DataError("query 13 is bad")
        return rows == rows

    def plan(parts):
        passes = pl.col("key0").map_batches(check, return_dtype=pl.Boolean)
        return rows_of(parts).filter(passes)

    with pytest.raises(DataError, match=r"^query 13 is bad$"):
        collect(lazy([LOG], plan, limit=limit).select(pl.len()))


@pytest.mark.parametrize("stage", ["partition", "evaluate"])
def test_progress_may_stop_the_work(collect, stage):
    class EnoughError(Exception):
        pass

    def progress(p):
        if p.stage == stage and p.done:
            raise EnoughError("stop")

    with pytest.raises(EnoughError, match="stop"):
        collect(lazy([LOG], rows_of, progress=progress))


def test_progress_within_a_bucket(monkeypatch):
    """The rows that are read of a bucket are told, whether or not there are files."""
    monkeypatch.setattr("polars_rank._engine.spill.progress.EVERY", 0)
    for options in ({}, {"limit": 10**9}):
        told = []
        found = lazy([LOG, log(7)], judged, progress=told.append, **options).collect()
        shares = [p.done + p.part for p in told if p.stage == "evaluate"]
        assert shares == sorted(shares)
        assert {p.part for p in told if p.stage == "evaluate"} > {0.0}
        plain = lazy([LOG, log(7)], judged, **options).collect()
        assert found.sort("key0").equals(plain.sort("key0"))


def test_progress():
    told = []
    lazy([LOG, log(7)], judged, progress=told.append).collect()
    rows = [p for p in told if p.stage == "partition"]
    assert rows[0] == Progress("partition", 0, N + 7, "rows")
    assert rows[-1] == Progress("partition", N + 7, N + 7, "rows")
    buckets = [p for p in told[len(rows) :] if not p.part]
    total = buckets[0].total
    assert buckets == [
        Progress("evaluate", i, total, "buckets") for i in range(total + 1)
    ]
    told.clear()
    lazy([LOG], rows_of, limit=10**9, progress=told.append).collect()
    whole = [p for p in told if not p.part]
    assert whole == [Progress("evaluate", i, 1, "buckets") for i in (0, 1)]


def test_frames_in_memory_are_not_resumed(temp):
    told = []
    frame = lazy([LOG], rows_of, temp_dir=temp, progress=told.append)
    same(frame.collect(), rows_of([LOG.lazy()]).collect())
    assert told


@pytest.mark.parametrize("missing", ["missing", "file", ""])
def test_temp_dir_must_exist(tmp_path, monkeypatch, missing):
    """No text is a mistake, and not the folder at hand."""
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="temp_dir must be a folder") as caught:
        lazy([LOG], rows_of, temp_dir=missing)
    assert repr(missing) in str(caught.value)


SIZES = {
    "2GB": 2 * 10**9,
    "500 MB": 500 * 10**6,
    "1.5GiB": 3 * 2**29,
    " 1tb ": 10**12,
    "900000kb": 9 * 10**8,
    "700 MiB": 700 * 2**20,
    "1000000000 B": 10**9,
    3_000_000_000: 3 * 10**9,
    "3000000000": 3 * 10**9,  # as the command has it
}


@pytest.mark.parametrize("text", SIZES)
def test_memory_limit(text):
    assert parse_memory_limit(text) == SIZES[text]


WRONG = ["", "GB", "2 gigs", "-2GB", "1e9", "1,5GB", "2GB!", 2.5e9, True, None]
WRONG.append("9" * 400 + "GB")


@pytest.mark.parametrize("limit", WRONG, ids=lambda limit: repr(limit)[:12])
def test_memory_limit_is_a_size(limit):
    with pytest.raises(ValueError, match=r"memory_limit must be a size such as") as e:
        parse_memory_limit(limit)
    assert f"not {limit!r}" in str(e.value)


@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_memory_limit_is_a_number_of_a_machine(digits):
    for limit in (10**digits, -(10**digits)):
        with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
            parse_memory_limit(limit)


@pytest.mark.parametrize("limit", ["300MB", "0GB", "2", 1000, -1, 0])
def test_memory_limit_has_a_least_value(limit):
    with pytest.raises(ValueError, match=r"memory_limit must be at least \d+ MB") as e:
        parse_memory_limit(limit)
    assert f"not {limit!r}" in str(e.value)
    assert "POLARS_MAX_THREADS" not in str(e.value)  # with a few threads it is 400 MB


def test_memory_limit_of_many_threads_names_the_way_to_less(monkeypatch):
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 64)
    with pytest.raises(ValueError, match=r"899 MB.* with 64 .*POLARS_MAX_THREADS"):
        parse_memory_limit("500MB")


@pytest.mark.slow
def test_memory_stays_within_the_limit(tmp_path):
    """Some 500 MB of rows, whose sort takes over 1 GB."""
    path = tmp_path / "log.parquet"
    log(1_000_000, 20_000).with_columns(score=pl.col("row") / 7).write_parquet(path)
    code = """
import resource
from pathlib import Path
import polars as pl
from polars_rank._engine.spill.bounded import bounded
one = pl.scan_parquet(sys.argv[1])
part = pl.concat([one.with_columns(pl.col("key0") + 20_000 * i) for i in range(20)])
def plan(parts):
    rows = parts[0].sort("key0", maintain_order=True)
    best = pl.col("score").sort_by("row", descending=True).first()
    return rows.group_by("key0", maintain_order=True).agg(best)
limit = int(sys.argv[2])
frame = bounded([part], ["key0"], plan, limit=limit, temp_dir=None, progress=None,
                fingerprint="")
assert frame.select(pl.len()).collect().item() == 400_000
if sys.platform == "linux":  # its maxrss is at least that of the parent process
    told = Path("/proc/self/status").read_text()
    print(1024 * int(told.split("VmHWM:")[1].split()[0]))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak if sys.platform == "darwin" else 1024 * peak)
"""
    limit = parse_memory_limit("400MB") if overhead() < 250 * 10**6 else 3 * overhead()
    peak = int(finish(program(code, path, limit, temp=tmp_path)))
    assert peak < limit


LONG_GROUPS = Size(rows=10**8, memory=25 * 10**8, disk=0)


def named(told) -> int:
    """The limit in bytes that a message names."""
    return int(re.search(r'give memory_limit="(\d+)MB"', str(told.value))[1]) * MB


def test_too_little_memory_is_said_with_what_is_enough():
    """The limit in the message is accepted, and one below it is not."""
    groups = RowGroups(count=9, rows=10**7)
    with pytest.raises(MemoryError, match="row groups of 10,000,000 rows") as caught:
        Budget.of(400 * MB, 4).require_room(LONG_GROUPS, groups)
    least = named(caught)
    Budget.of(least, 4).require_room(LONG_GROUPS, groups)
    with pytest.raises(MemoryError):
        Budget.of(least - MB, 4).require_room(LONG_GROUPS, groups)


@pytest.mark.parametrize("width", [13, 91, 441])
def test_rows_in_usual_row_groups_are_not_refused(width):
    """Long ids, or several columns of them, need no more than the least limit."""
    size = Size(rows=10**8, memory=width * 10**8, disk=0)
    for rows in (0, 100_000):
        Budget.of(max(400 * MB, overhead() + 254 * MB), 4).require_room(
            size, RowGroups(count=9, rows=rows)
        )


def test_a_query_that_is_too_large_is_said_with_what_is_enough():
    for budget in (Budget.of(400 * MB, 4), Budget.of(2000 * MB, 4)):
        with pytest.raises(MemoryError, match="a query of 9,000,000 rows") as caught:
            budget.require_room_for_query(9_000_000, 17)
        least = named(caught)
        Budget.of(least, 4).require_room_for_query(9_000_000, 17)
        assert not Budget.of(least - MB, 4).holds_query(9_000_000, 17)


@pytest.mark.parametrize("share", [0.3, 0.9, 1])
def test_the_rows_of_the_largest_query_are_known(share):
    n = 200_000
    key0 = np.random.default_rng(8).integers(0, 5_000, n)
    key0[: int(share * n)] = 77
    key0 = np.random.default_rng(9).permutation(key0)
    frame = pl.DataFrame({"key0": key0})
    parts = [frame.head(n // 3).lazy(), frame.tail(n - n // 3).lazy()]
    found = rows_of_largest_query(parts, ["key0"])
    assert found == pytest.approx((key0 == 77).sum(), rel=0.1)  # of 61 rows, one


@pytest.fixture
def many_rows(tmp_path) -> Path:
    """Two million rows, most of them of one query, which comes first or nowhere."""
    path = tmp_path / "rows.parquet"
    key = pl.when(pl.col("row") < 1_900_000).then(0).otherwise(pl.col("row") // 10)
    rows = pl.LazyFrame().select(row=pl.int_range(2_000_000, dtype=pl.Int64))
    columns = {"query_id": key, "score": pl.col("row").cast(pl.Float64), "label": 1}
    rows.select(**columns).sink_parquet(path)
    return path


@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
def test_a_query_too_large_for_the_limit_is_refused(many_rows, layout):
    with pytest.raises(MemoryError, match=r"a query of [\d,]+ rows") as caught:
        pr.evaluate(
            pl.scan_parquet(many_rows), "rr", layout=layout, memory_limit=ENOUGH
        ).collect()
    assert named(caught) > ENOUGH


@pytest.mark.parametrize("layout", ["auto", "any"])
def test_categories_too_many_for_the_limit_are_refused(layout):
    """Polars holds each of them as long as the process may need it."""
    rows = pl.LazyFrame().select(row=pl.int_range(900_000, dtype=pl.Int64))
    frame = rows.select(
        query_id=pl.col("row") // 10,
        doc_id=pl.format("a document {}", "row").cast(pl.Categorical),
        score=pl.col("row").cast(pl.Float64),
        label=pl.lit(1),
    )
    with pytest.raises(MemoryError, match=r"categories .* cast it to String"):
        pr.evaluate(frame, "rr", layout=layout, memory_limit=ENOUGH).collect()
    few = frame.head(1000).collect()
    pr.evaluate(few.lazy(), "rr", layout=layout, memory_limit=ENOUGH).collect()


def test_row_groups_of_files(tmp_path):
    for name, rows in {"a": 300, "b": 1000}.items():
        log(1000).write_parquet(tmp_path / f"{name}.parquet", row_group_size=rows)
    log(10).write_csv(tmp_path / "c.csv")
    assert RowGroups.of(sorted(tmp_path.iterdir())) == RowGroups(count=5, rows=1000)


def test_refused_before_rows_are_read(tmp_path):
    """A row group is read as a whole, even for its first rows in order."""
    path = tmp_path / "log.parquet"
    frame = LOG.with_columns(doc=pl.lit("d" * 100_000))
    frame.write_parquet(path, row_group_size=N)
    with pytest.raises(MemoryError, match=r"row groups of 8,000 rows.*row_group_size"):
        lazy([pl.scan_parquet(path)], rows_of, limit=ENOUGH).collect()
    many = {"query_id": "key0", "score": "row", "label": pl.lit(1)}
    named = pl.scan_parquet(path).select("doc", **many)
    with pytest.raises(MemoryError, match="row groups of 8,000 rows"):
        pr.evaluate(named, "rr", doc="doc", memory_limit=ENOUGH).collect()


GROWTH = """
from pathlib import Path
import polars as pl
import polars_rank as pr
rows, kind = int(sys.argv[1]), sys.argv[2]
i = pl.int_range(rows, dtype=pl.Int64)
doc = pl.col("i").hash(7) % 80 if kind == "duplicates" else pl.col("i")
log = pl.LazyFrame().select(i=i).select(
    query_id=pl.col("i") // 100,
    doc_id=doc.cast(pl.Int64),
    score=(pl.col("i").hash(1) % 1000).cast(pl.Float64),
    label=(pl.col("i").hash(2) % 4).cast(pl.Int8),
)
log.sink_parquet(sys.argv[3])
log = pl.scan_parquet(sys.argv[3])
options = {"on_duplicate": "best"}
if kind == "judgments":
    few = log.filter(pl.col("doc_id") % 10 == 0)
    log, options = log.drop("label"), {"qrels": few.drop("score")}
pr.evaluate(log, ["ndcg@10", "ap"], layout="contiguous", **options).collect()
told = Path("/proc/self/status").read_text()
print(1024 * int(told.split("VmHWM:")[1].split()[0]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("kind", ["duplicates", "judgments"])
def test_contiguous_rows_take_no_memory_of_their_own(tmp_path, kind):
    """Without any limit: 25 bytes a row, as one has, and 200 for each of the judgments.

    A tenth of the rows is judged.
    """
    file = tmp_path / "log.parquet"
    few, many = (
        int(finish(program(GROWTH, rows, kind, file)))
        for rows in (3_000_000, 8_000_000)
    )
    assert (many - few) / 5_000_000 < 25 + (20 if kind == "judgments" else 0)


def test_best_of_contiguous_duplicates_is_the_best_of_any(collect):
    """Over many batches; queries, documents and all their copies are found by loops."""
    draw = np.random.default_rng(5)
    lists = [draw.integers(0, 8, draw.integers(1, 12)) for _ in range(3_000)]
    log = pl.DataFrame(
        [
            {
                "query_id": (q * 7919) % 3_001,
                "doc_id": f"d{d}",
                "score": float(draw.integers(0, 6)),
                "label": int(draw.integers(0, 3)),
            }
            for q, docs in enumerate(lists)
            for d in docs
        ]
    )
    best: dict[tuple[int, str], list[float]] = {}
    for query, doc, score, label in log.iter_rows():
        kept = best.setdefault((query, doc), [score, label])
        kept[:] = [max(kept[0], score), max(kept[1], label)]
    alone = pl.DataFrame(
        [(*key, *kept) for key, kept in best.items()],
        schema=["query_id", "doc_id", "score", "label"],
        orient="row",
    )
    asked = ["ndcg@3", "ap", "rr"]
    expected = pr.per_query(alone, asked)
    for layout in ("contiguous", "any"):
        found = pr.per_query(log.lazy(), asked, layout=layout, on_duplicate="best")
        assert_frame_equal(collect(found), expected, check_exact=True)
    other = log.head(1).with_columns(query_id=pl.lit(-1, pl.Int64))
    first = len(lists[0])
    apart = pl.concat([log.head(first), other, log.head(1), log.slice(first)])
    with pytest.raises(DataError, match="not contiguous"):
        pr.evaluate(apart, "rr", layout="contiguous", on_duplicate="best")
    nan = log.with_columns(score=pl.lit(float("nan")))
    for layout in ("contiguous", "any"):
        with pytest.raises(DataError, match="NaN"):
            pr.evaluate(nan, "rr", layout=layout, on_duplicate="best")


def test_filtered_runs_with_judgments_go_through_buckets(many_rows):
    """A filter that reaches the files would keep the run from streaming."""
    told = []
    run = pl.scan_parquet(many_rows).filter(pl.col("query_id") > 1_990)
    run = run.select("query_id", "score", doc_id=pl.col("score").cast(pl.Int64))
    qrels = run.select("query_id", "doc_id", label=1)
    options = {"memory_limit": ENOUGH, "progress": told.append}
    found = pr.evaluate(run, "rr", qrels=qrels, **options).collect()
    assert found.row(0) == (10_000, 1.0)
    assert told
