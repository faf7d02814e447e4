"""Where the rows of a query stand changes neither a value nor what is an error."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.exceptions import PolarsError
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal
from slow import slow
from vocabularies import METRICS

import polars_rank as pr
from polars_rank._engine import layout as layouts
from polars_rank._engine import plan as plans
from polars_rank._engine.checks import unique
from polars_rank.core.source import lazy_source

# Judgments of a few queries are no run that is compared with all of another.
OF_RUNS = pytest.mark.filterwarnings("ignore:.* although .* compares two rankings")
TREC = pr.CONVENTIONS["trec_eval"]
ENGINES = ["streaming", "in-memory"]
APART = "are not contiguous.*layout='any'"
ALL = [*METRICS, "ndcg(ideal=retrieved)", "nerr(max_grade=query)", "ndcg@3", "ap@3"]
SOME = ["ndcg", "ap@3", "rr", "squared_error"]
TIES = ["doc_desc", "expected", "doc_asc", "order", "optimistic", "pessimistic"]
INTEGERS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128]
INTEGERS += [pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128]
TEXTS = [pl.String, pl.Categorical, pl.Enum, pl.Binary]
TIMES = [pl.Date, pl.Time, pl.Datetime("ns"), pl.Datetime("ns", "Europe/Zurich")]
FEW = [pl.Int64, pl.UInt128, pl.String, pl.Enum, pl.Date]
KEYS = [
    key if key in FEW else slow(key)
    for key in [*INTEGERS, *TEXTS, *TIMES, pl.Duration("ns"), pl.Boolean]
]


def ids(n: int, dtype=pl.Int64, seed: int = 0) -> pl.Series:
    """Different keys in random order."""
    if dtype == pl.Boolean:
        return pl.Series("query_id", [True, False])
    numbers = pl.Series("query_id", np.random.default_rng(seed).permutation(n))
    if dtype not in TEXTS:
        # A temporal type reads integers of its own width.
        width = pl.Int32 if dtype == pl.Date else pl.Int64
        return numbers.cast(width if dtype in (*TIMES, pl.Duration) else dtype).cast(
            dtype
        )
    text = pl.select(pl.format("query number {}", numbers)).to_series()
    return text.alias("query_id").cast(pl.Enum(text) if dtype == pl.Enum else dtype)


def made(keys: pl.Series, most: int = 40, seed: int = 0) -> pl.DataFrame:
    """Queries of 1 to ``most`` documents, ties, unjudged documents, known ranks."""
    draw = np.random.default_rng(seed)
    sizes = draw.choice([1, 2, 3, 7, most], len(keys))
    n = sizes.sum()
    number = np.repeat(np.arange(len(keys)), sizes)
    label = pl.when(pl.lit(pl.Series(draw.random(n) < 0.8))).then(
        pl.lit(pl.Series(draw.integers(-1, 5, n)))
    )
    return pl.DataFrame(
        {
            "query_id": keys.gather(number),
            "doc_id": np.concatenate([draw.permutation(size) for size in sizes]),
            "score": np.round(draw.normal(size=n) * 2) / 2,
            "rank": np.concatenate([draw.permutation(size) + 1 for size in sizes]),
            "country": number % 3,
            "traffic": number % 5 + 0.5,
        }
    ).with_columns(label=label)


def in_kinds(rows: pl.DataFrame) -> list[tuple[pl.LazyFrame, dict]]:
    """A log; a run that lacks documents, with its judgments."""
    n = pl.int_range(pl.len())
    run = rows.filter((n % 7 != 3) | (n == pl.len() - 1)).drop("label")
    judged = rows.select("query_id", "doc_id", "label").drop_nulls("label")
    return [(rows.lazy(), {}), (run.lazy(), {"qrels": judged.lazy()})]


def possible(ties: str) -> list[str]:
    closed = [m for m in ALL if pr.Measure.parse(m).definition.tie_mean]
    return closed if ties == "expected" else ALL


def apart_runs(n: int = 40) -> dict[str, pl.DataFrame]:
    """Rows of one query that stand apart."""
    rows = made(ids(n), most=20).filter(pl.len().over("query_id") > 1)
    half = len(rows) // 2
    nobody = rows[:2].with_columns(query_id=pl.lit(None, pl.Int64))
    between = nobody[:1], rows[2:], nobody[1:]
    return {
        "first and last row": pl.concat([rows[1:], rows[:1]]),
        "neighbors": pl.concat([rows[half : half + 3], rows[:1], rows[1:half]]),
        "anywhere": rows.sample(fraction=1, shuffle=True, seed=n),
        "descending": pl.concat([rows[1:].sort("query_id", descending=True), rows[:1]]),
        "null key": pl.concat(between),
    }


def bits(frame: pl.DataFrame) -> list[bytes]:
    return [column.to_numpy().tobytes() for column in frame.select(pl.col(pl.Float64))]


def assert_same(left: pl.DataFrame, right: pl.DataFrame, why: object = None) -> None:
    """Equal to the last bit."""
    assert_frame_equal(left, right, check_exact=True)
    assert bits(left) == bits(right), why


@pytest.fixture(params=[9, None])
def morsel(request):
    """Rows of a batch of the streaming engine."""
    with pl.Config() as config:
        config.set_streaming_chunk_size(request.param)
        yield request.param
    pl.Config.set_streaming_chunk_size(None)


# --- A sorted group-by over keys that do not ascend -------------------------------


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_rows_that_stand_together_are_ranked_as_they_come(keys, morsel):
    """Undocumented in Polars: only a change of the key ends a group."""
    rows = made(ids(40, keys, seed=morsel or 0), most=25, seed=1)
    first = rows["query_id"][0]
    nobody = pl.when(pl.col("query_id") != pl.lit(first, rows["query_id"].dtype))
    rows = rows.with_columns(nobody.then("query_id"), system=pl.col("country") > 0)
    for query in ("query_id", ["system", "query_id"]):
        frame, options = in_kinds(rows)[morsel is None]
        options |= {"query": query, "check": "off"}
        expected = pr.per_query(frame, SOME, layout="any", **options).collect()
        found = pr.per_query(frame, SOME, layout="contiguous", **options)
        for engine in ENGINES[: 1 if morsel else 2]:
            assert_same(found.collect(engine=engine), expected)


@OF_RUNS
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ties", "unjudged", "kinds", "every"),
    [
        *((rule, "nonrelevant", [i % 2], 3) for i, rule in enumerate(TIES)),
        ("doc_desc", "nonrelevant", [1], 2),
        ("doc_desc", "drop", [0, 1], 2),
    ],
    ids=str,
)
def test_every_metric_to_the_last_bit(ties, unjudged, kinds, every, tmp_path):
    """Together, apart, in many files or chunks, in memory, on either engine."""
    rows = made(ids(30), most=300, seed=2)
    choice = TREC.replace(ties=ties, unjudged=unjudged)
    asked = possible(ties)[::every]
    for kind in kinds:
        frame, options = in_kinds(rows)[kind]
        given = frame.collect()
        (tmp_path / f"{kind}").mkdir()
        steps = range(0, len(given), 137)
        for i in steps:
            file = tmp_path / f"{kind}" / f"{i:05}.parquet"
            given[i : i + 137].write_parquet(file, row_group_size=5)
        files = pl.scan_parquet(tmp_path / f"{kind}")
        chunks = pl.concat([given[i : i + 137] for i in steps], rechunk=False)
        options = options | {"convention": choice}

        def values(frame, options=options, **how):
            return pr.per_query(frame, asked, **how, **options)

        expected = values(frame, layout="any").collect()
        assert_same(values(files, layout="contiguous").collect(), expected)
        plan = values(chunks.lazy(), layout="contiguous")
        assert_same(plan.collect(engine="in-memory"), expected)
        small = {k: v.collect() if k == "qrels" else v for k, v in options.items()}
        assert_same(pr.per_query(given, asked, **small), expected)
        if ties in ("doc_desc", "doc_asc"):
            shuffled = given.sample(fraction=1, shuffle=True, seed=3).lazy()
            assert_same(values(shuffled, layout="auto").collect(), expected)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        turn if turn in ((0, "off"), (1, "strict")) else slow(*turn)
        for turn in product((0, 1), ("strict", "off", "warn"))
    ],
)
def test_segments_weights_queries_and_checks(kind, check):
    rows = made(ids(40), seed=4).filter(pl.len().over("query_id") > 1)
    frame, options = in_kinds(rows)[kind]
    asked = rows.select("query_id", area="country").unique().head(30).lazy()
    for more in ({"by": "country", "weight": "traffic"}, {"queries": asked}):
        plan = [
            pr.evaluate(frame, SOME, check=check, layout=how, **options, **more)
            for how in ("any", "contiguous", "auto")
        ]
        expected, *found = pl.collect_all(plan)
        for values in found:
            assert_frame_equal(values, expected, rel_tol=1e-12)
    best = {"on_duplicate": "best", "check": check, **options}
    twice, apart = (
        pl.concat(f) for f in ([frame.head(1), frame], [frame, frame.head(1)])
    )
    plan = [
        pr.per_query(twice, SOME, layout=how, **best) for how in ("any", "contiguous")
    ]
    assert_same(*pl.collect_all(plan))
    plan = [pr.per_query(apart, SOME, layout=how, **best) for how in ("any", "auto")]
    assert_same(*pl.collect_all(plan))
    with pytest.raises(pr.DataError, match="not contiguous"):  # a copy is a row, too
        pr.per_query(apart, SOME, layout="contiguous", **best).collect()


SPANNING = """
import sys; import polars as pl, polars_rank as pr
log, qrels = pl.scan_parquet(sys.argv[1]), pl.scan_parquet(sys.argv[2])
for options in ({}, {"qrels": qrels}, {"rank": "rank"}):
    measures = ["ndcg", "ap", "rr"]
    one = pr.per_query(log, measures, layout=sys.argv[3], **options)
    many = [pr.evaluate(log, m, layout="auto", **options) for m in measures]
    values, *_ = pl.collect_all([one, *many])
    numbers = values.to_numpy()[:, 1:]
    print(values["query_id"].to_list(), numbers.tobytes().hex())
"""


@pytest.mark.slow
def test_threads_and_morsels_of_another_process(tmp_path):
    """Tiny queries between huge ones that span many morsels and row groups."""
    keys = pl.Series("query_id", np.arange(12) * 7 % 12)
    rows = made(keys, most=3000, seed=5)
    log, qrels = tmp_path / "log.parquet", tmp_path / "qrels.parquet"
    rows.write_parquet(log, row_group_size=100)
    rows.select("query_id", "doc_id", "label").drop_nulls().write_parquet(qrels)

    def told(how: str, **environment: str) -> str:
        return run_python(SPANNING, log, qrels, how, **environment)

    expected = told("any")
    for threads, morsel in ((1, 50), (2, 1000), (4, 50)):
        environment = {"POLARS_IDEAL_MORSEL_SIZE": str(morsel)}
        found = told("contiguous", POLARS_MAX_THREADS=str(threads), **environment)
        assert found == expected


def run_python(code: str, *arguments: object, **environment: str) -> str:
    """What a process of its own prints; one that hangs is an error."""
    here = str(Path(pr.__file__).parents[1])
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    variables = os.environ | {"PYTHONPATH": here} | environment
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


GROWTH = """
import sys
from pathlib import Path
import numpy as np, polars as pl, polars_rank as pr
from polars.io.plugins import register_io_source
def source(columns, *_):
    draw = np.random.default_rng(0)
    for batch in range(int(sys.argv[1])):
        ids = np.arange(batch * 5000, (batch + 1) * 5000) * 0x9E3779B1 % 2**40
        rows = pl.DataFrame({
            "query_id": np.repeat(ids, 20), "score": draw.random(100_000),
            "label": draw.integers(0, 2, 100_000), "traffic": 1.0})
        yield rows.select(columns) if columns else rows
schema = {"query_id": pl.Int64, "score": pl.Float64, "label": pl.Int64,
          "traffic": pl.Float64}
rows = register_io_source(source, schema=schema)
how = dict(layout=sys.argv[2], weight="traffic")
assert pr.evaluate(rows, "ap", **how).collect()["queries"].item() == (
    int(sys.argv[1]) * 5000)
told = Path("/proc/self/status").read_text()
print(int(told.split("VmHWM:")[1].split()[0]) // 1024)  # ru_maxrss has the parent's
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_rows():
    """6 M more rows of 32 bytes are 183 MB; a sort of them takes 300 MB and more."""
    few, many = (int(run_python(GROWTH, n, "contiguous")) for n in (20, 80))
    assert many - few < 150


# --- False claims -----------------------------------------------------------------


FALSE_CLAIMS = [("null key", "strict"), ("neighbors", "strict")]


def asked_of(plan: pl.LazyFrame) -> list[pl.LazyFrame]:
    """The plan, and what a user may make of it."""
    return [
        plan,
        plan.select("ap"),
        plan.select(pl.len()),
        plan.filter(pl.col("ap") > 0.5),
        plan.head(2),
        plan.sort("ap", "query_id").head(1),
        plan.filter(pl.col("ap").map_batches(lambda s: s > 0.5, pl.Boolean)),
    ]


@pytest.mark.parametrize(
    ("case", "check"),
    [
        turn if turn in FALSE_CLAIMS else slow(*turn)
        for turn in [
            *product(apart_runs(), ["strict"]),
            *product(("anywhere", "null key"), ["off"]),
        ]
    ],
)
def test_a_false_claim_is_an_error_or_the_right_number(case, check, morsel):
    rows = apart_runs()[case]
    # A null key is an error by itself: then only the first message may differ.
    nameless = case == "null key" and check == "strict"
    error = "ids are null|" + APART if nameless else APART
    first = slice(0, 2 if morsel or check == "strict" else None)
    for i, (frame, options) in enumerate(in_kinds(rows)):
        engine = "streaming" if morsel else ENGINES[i]
        options = options | {"check": check}
        claim = pr.per_query(frame, ["ap", "rr"], layout="contiguous", **options)
        # The plan itself twice: a proof begins anew each time.
        for plan in [claim, *asked_of(claim)[first]]:
            with pytest.raises(pr.DataError, match=error):
                plan.collect(engine=engine)
        claim = pr.evaluate(frame, "ap", layout="contiguous", **options)
        with pytest.raises(pr.DataError, match=error):
            pl.collect_all([claim, claim], engine=engine)
        if nameless:
            continue
        right, auto = (
            asked_of(pr.per_query(frame, ["ap", "rr"], layout=how, **options))
            for how in ("any", "auto")
        )
        for found, expected in list(zip(auto, right, strict=True))[first]:
            assert_same(found.collect(engine=engine), expected.collect())


def test_overlapping_files(tmp_path):
    rows = made(ids(30)).sort("query_id")
    for i, name in enumerate("ab"):
        half = rows.filter(pl.int_range(pl.len()) % 2 == i)
        half.write_parquet(tmp_path / f"{name}.parquet")
    files = pl.scan_parquet(tmp_path / "*.parquet")
    with pytest.raises(pr.DataError, match=APART):
        pr.per_query(files, SOME, layout="contiguous").collect()
    expected = pr.per_query(rows, SOME)
    assert_same(pr.per_query(files, SOME).collect(), expected)


def test_the_run_of_a_query_that_nobody_judged(morsel):
    """Its rows are not looked at; where they are seen to be apart, it is an error."""
    run, judged = apart_runs()["first and last row"], made(ids(40))
    judged = judged.filter(pl.col("query_id") != run["query_id"][0]).drop_nulls("label")
    for check in ("strict", "off"):
        options = {"qrels": judged.lazy(), "check": check}
        frame = run.drop("label").lazy()
        expected = pr.per_query(frame, "ap", layout="any", **options).collect()
        found = pr.per_query(frame, "ap", layout="auto", **options).collect()
        assert_same(found, expected)
        with suppress(pr.DataError):
            claim = pr.per_query(frame, "ap", layout="contiguous", **options).collect()
            assert_same(claim, expected)


def test_a_small_frame_is_proved_too():
    rows = apart_runs()["first and last row"]
    with pytest.raises(pr.DataError, match=APART):
        pr.evaluate(rows, "ap", layout="contiguous")


@pytest.mark.parametrize("query", ["query_id", ["country", "query_id"]])
def test_queries_with_one_hash_are_kept_apart(query, monkeypatch, caplog, collect):
    """Text comes together by its hash; by itself if that does not do."""
    rows = made(ids(60), most=90, seed=5).cast({"query_id": pl.String})
    shuffled = rows.sample(fraction=1, shuffle=True, seed=1).lazy()
    expected = collect(
        pr.per_query(rows.lazy(), SOME, query=query, layout="contiguous")
    )
    caplog.set_level(logging.INFO, logger="polars_rank")
    for hashed, told in (
        (plans._hash, "no two queries have one hash (proved)"),
        (lambda keys: pl.col(keys[0]).hash() % 3, "it is not true that no two queries"),
    ):
        monkeypatch.setattr(plans, "_hash", hashed)
        caplog.clear()
        plan = pr.per_query(shuffled, SOME, query=query, layout="any")
        assert_same(collect(plan), expected)
        assert told in caplog.text


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64], ids=str)
def test_ids_that_do_not_fit_into_32_bits(dtype, caplog, collect):
    """The largest id is one too many, or is not; the result has its type."""
    caplog.set_level(logging.INFO, logger="polars_rank")
    for largest, told in (
        (2**31 - 1, "fit into 32 bits (proved)"),
        (2**31, "not true"),
    ):
        n = pl.col("query_id").rank("dense").cast(pl.Int64)
        rows = made(ids(40)).with_columns(query_id=(largest - n).cast(dtype) + 1)
        rows = rows.sample(fraction=1, shuffle=True, seed=2)
        caplog.clear()
        found = collect(pr.per_query(rows.lazy(), SOME, layout="any"))
        assert found.schema["query_id"] == dtype
        assert_same(found, pr.per_query(rows, SOME))
        assert told in caplog.text


# --- The proof --------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("dtype", KEYS, ids=str)
def test_keys_that_come_twice_are_found(dtype, window, monkeypatch):
    """Ascending, descending or mixed; in one batch or many; one key twice or none.

    Whole numbers all in the window of those that are ticked off, or some of them.
    """
    if window is not None:
        monkeypatch.setattr(unique.Bitmap, "WINDOW", window)
    draw = np.random.default_rng(6)
    for case in range(40):
        keys = ids(12, dtype, seed=case)
        keys = keys.sort(descending=case % 4 == 1) if case % 4 < 2 else keys
        if case % 4 == 3:  # a range first
            keys = pl.concat([keys[:6].sort(), keys[6:]])
        twice = case % 2 == case % 3 and case % 7 > 0
        if twice:
            keys = pl.concat([keys, keys.sample(1, seed=case)])
        if case % 5 == 0:
            keys = pl.concat([keys, keys.clear(1)])
        cuts = [0, *sorted(draw.integers(0, len(keys) + 1, 3)), len(keys)]
        rows = pl.LazyFrame({"query": pl.concat([keys, keys])})
        proof = unique.UniquenessCheck(rows)
        for start, end in pairwise(cuts):
            proof.add(keys[start:end])
        assert proof.unique() is not twice, (case, keys)


def test_a_nanosecond_keeps_keys_apart():
    """A Python value of the range's end would be rounded: the key would be missed."""
    keys = pl.Series([1_100, 1_500, 1_300, 1_500]).cast(pl.Datetime("ns"))
    proof = unique.UniquenessCheck(pl.LazyFrame({"query": keys}))
    for part in (keys[:2], keys[2:3], keys[3:]):
        proof.add(part)
    assert not proof.unique()


def test_ascending_keys_are_not_kept():
    rows = pl.LazyFrame({"query": [*range(1000), 2000]})
    proof = unique.UniquenessCheck(rows)
    for start in range(0, 1000, 10):
        proof.add(pl.Series(range(start, start + 10)))
    assert proof.bitmap is None
    assert proof.hashes == []
    proof.add(pl.Series([5]))
    proof.add(pl.Series([2000]))
    assert not proof.unique()


@pytest.mark.parametrize(
    "keys",
    [
        [-(2**63), 2**63 - 1, 0, -1],
        [2**63 - 1, -(2**63), -1, 0],
        [3, 2, -1, 1],
    ],
)
def test_whole_numbers_far_apart(keys):
    """No difference of two keys is taken for another key."""
    rows = pl.LazyFrame({"query": keys})
    for again in ([], keys[:1], keys[-1:]):
        proof = unique.UniquenessCheck(rows)
        for key in [*keys, *again]:
            proof.add(pl.Series([key], dtype=pl.Int64))
        assert proof.unique() is not bool(again)


def test_keys_that_are_ticked_off_take_a_bit_each():
    keys = pl.int_range(100_000, eager=True).reverse()
    proof = unique.UniquenessCheck(pl.LazyFrame({"query": keys}))
    for part in keys.to_frame("query").iter_slices(1_000):
        proof.add(part["query"])
    assert sum(len(hashes) for hashes in proof.hashes) == 0
    assert proof.bitmap.bits.estimated_size() <= 2 * len(keys) / 8
    assert proof.unique()


@pytest.mark.parametrize("kind", [0, 1], ids=["log", "run"])
def test_equal_hashes_prove_nothing(kind, monkeypatch):
    """Then the keys themselves are counted, of the run and of its judgments."""
    monkeypatch.setattr(pl.Series, "hash", lambda keys: keys.is_null().cast(pl.UInt64))
    rows = made(ids(40)[::-1], seed=7)
    frame, options = in_kinds(rows)[kind]
    absent = rows["query_id"][0]
    if kind:  # a judged query that is not in the run
        frame = frame.filter(pl.col("query_id") != absent)
    for query in ("query_id", ["country", "query_id"]):
        found, expected = (
            pr.per_query(frame, SOME, layout=how, query=query, **options).collect()
            for how in ("contiguous", "any")
        )
        assert_same(found, expected)
        apart = pl.concat([frame, frame.head(1)])
        plan = pr.per_query(apart, "rr", layout="contiguous", query=query, **options)
        with pytest.raises(pr.DataError, match=APART):
            plan.collect()


# --- layout="auto" ----------------------------------------------------------------


def faulty(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    n = pl.int_range(pl.len())
    score = pl.when(n < 3).then(None).otherwise("score")
    return {
        "scores are null": rows.with_columns(score=score),
        "NaN scores": rows.with_columns(score=score.fill_null(float("nan"))),
        "ids are null": rows.with_columns(pl.when(n > 4).then("query_id")),
        "varies within": rows.with_columns(country=n),
    }


@pytest.mark.slow
def test_faults_are_told_as_in_any_order():
    rows = made(ids(30), seed=8).filter(pl.len().over("query_id") > 1)
    for message, bad in faulty(rows).items():
        for given in (bad, pl.concat([bad[1:], bad[:1]])):
            told = []
            for how in ("any", "auto"):
                plan = pr.evaluate(given.lazy(), "ap", by="country", layout=how)
                for _ in range(2):  # each time it is collected
                    with pytest.raises(pr.DataError, match=message) as error:
                        plan.collect()
                    told += re.findall(r"\((\d+ found)", str(error.value))
            assert len(told) == 4
            assert len(set(told)) == 1


def test_warnings_come_once():
    rows = made(ids(30), seed=8).filter(pl.len().over("query_id") > 1)
    bad = faulty(rows)["NaN scores"]
    for given in (bad, pl.concat([bad[1:], bad[:1]])):
        told = {}
        for how in ("any", "auto", *(["contiguous"] if given is bad else [])):
            plan = pr.evaluate(given.lazy(), ["ap", "rr"], check="warn", layout=how)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                plan.collect()
            assert len(caught) == 1
            told[how] = str(caught[0].message)
        assert len(set(told.values())) == 1
        assert "(3 found" in told["any"]


def test_the_log_tells_which_layout_it_was(caplog, collect):
    rows = made(ids(30))
    apart = apart_runs()["first and last row"]
    nan = rows.with_columns(score=pl.lit(float("nan")))
    sorting, narrow = "sorting them by query", "query ids fit into 32 bits (proved)"
    caplog.set_level(logging.INFO, logger="polars_rank")
    for given, *told in (
        (rows, "rows of a query are contiguous (proved)"),
        (
            apart,
            f"it is not true that rows of a query are contiguous; {sorting}",
            narrow,
        ),
        (nan, f"the data break a rule; {sorting}", narrow),
    ):
        caplog.clear()
        check = "warn" if given is nan else "strict"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collect(pr.evaluate(given.lazy(), "ap", check=check))
        assert caplog.messages == [f"layout: {text}" for text in told]
    caplog.clear()
    pr.evaluate(rows, "ap")
    collect(pr.evaluate(rows.lazy().cast({"query_id": pl.Int32}), "ap", layout="any"))
    assert caplog.messages == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_many_at_once(engine):
    rows, apart = made(ids(200)).lazy(), apart_runs()["anywhere"].lazy()
    run, judged = rows.drop("label"), rows.drop("score").drop_nulls("label")
    parts = [
        pr.evaluate(rows, "ap"),
        pr.evaluate(apart, "ap"),
        pr.evaluate(run, "rr", qrels=judged),
        pr.per_query(rows, "ap", layout="contiguous").select("ap"),
    ]
    expected = [part.collect() for part in parts]

    def check(found):
        for values, right in zip(found, expected, strict=True):
            assert_frame_equal(values, right, rel_tol=1e-12)

    check(pl.collect_all(parts, engine=engine))
    both = pl.concat([parts[0]] * 3, how="vertical").collect(engine=engine)
    assert both["queries"].to_list() == expected[0]["queries"].to_list() * 3
    found: dict[int, pl.DataFrame] = {}

    def run_part(i: int) -> None:
        found[i] = parts[i % 4].collect(engine=engine)

    threads = [threading.Thread(target=run_part, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.daemon = True
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(found) == list(range(8))
    check([found[i] for i in range(4)])
    check([found[i] for i in range(4, 8)])


@pytest.mark.parametrize("how", ["contiguous", "auto"])
def test_a_reader_that_stops_or_fails(how, tmp_path):
    rows = made(ids(300))

    def fails(_: pl.DataFrame) -> pl.DataFrame:
        raise RuntimeError("stop here")

    plan = pr.per_query(rows.lazy(), "ap", layout=how)
    with pytest.raises(RuntimeError, match="stop here"):
        plan.map_batches(fails, streamable=True).collect()
    batches = iter(plan.collect_batches(chunk_size=10))
    next(batches)
    del batches
    assert plan.collect().height == 300
    rows.write_parquet(tmp_path / "gone.parquet")
    plan = pr.evaluate(pl.scan_parquet(tmp_path / "gone.parquet"), "ap", layout=how)
    (tmp_path / "gone.parquet").unlink()
    with pytest.raises((FileNotFoundError, PolarsError), match=r"gone\.parquet"):
        plan.collect()


@pytest.mark.parametrize("how", ["any", "contiguous", "auto"])
def test_a_filter_that_cannot_be_pickled(how):
    lock = threading.Lock()

    def high(values: pl.Series) -> pl.Series:
        with lock:
            return values > 0.5

    plan = pr.per_query(made(ids(30)).lazy(), "ap", layout=how)
    expected = plan.collect().filter(pl.col("ap") > 0.5)
    high_ones = plan.filter(pl.col("ap").map_batches(high, pl.Boolean))
    assert_same(high_ones.collect(), expected)


# --- Known ranks ------------------------------------------------------------------


def by_rank(rows: pl.DataFrame) -> pl.DataFrame:
    """The places among those rows, and scores that order them so."""
    place = pl.col("rank").rank("ordinal").over("query_id").cast(pl.Int64)
    return rows.with_columns(rank=place).with_columns(score=-pl.col("rank"))


@pytest.mark.parametrize(
    ("kind", "unjudged", "engine"),
    [
        (0, "nonrelevant", "in-memory"),
        (0, "drop", "streaming"),
        (1, "nonrelevant", "streaming"),
        (1, "drop", "in-memory"),
    ],
)
@pytest.mark.slow
@OF_RUNS
def test_known_ranks_equal_scores_to_the_last_bit(kind, unjudged, engine):
    """A log and a run, each choice and each engine; any two of them meet.

    The measures are shared among the choices.
    """
    asked = [m for m in ALL if not pr.Measure.parse(m).definition.uses_scores]
    asked = asked[unjudged == "drop" :: 2]
    frame, options = in_kinds(made(ids(60), most=500, seed=9))[kind]
    rows = by_rank(frame.collect())
    options = options | {"convention": TREC.replace(unjudged=unjudged)}
    plan = pr.per_query(rows.lazy(), asked, layout="any", **options)
    expected = plan.collect(engine=engine)
    shuffled = rows.sample(fraction=1, shuffle=True, seed=1)
    for given, how in (
        (rows.lazy(), "any"),
        (rows.lazy(), "contiguous"),
        (rows.lazy(), "auto"),
        (shuffled.lazy(), "any"),
        (shuffled.lazy(), "auto"),
    ):
        plan = pr.per_query(given, asked, rank="rank", layout=how, **options)
        assert_same(plan.collect(engine=engine), expected, how)
    small = {k: v.collect() if k == "qrels" else v for k, v in options.items()}
    assert_same(pr.per_query(rows, asked, rank="rank", **small), expected)


def physical(plan: pl.LazyFrame) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Nodes of the streaming plan, and where the rows of each go."""
    graph = plan.show_graph(
        engine="streaming", plan_stage="physical", raw_output=True, show=False
    )
    assert graph is not None
    named = dict(re.findall(r'^(\d+) \[(label=".*)\];$', graph, re.MULTILINE))
    edges: dict[str, list[str]] = {node: [] for node in named}
    for start, end in re.findall(r"^(\d+) -> (\d+)", graph, re.MULTILINE):
        edges[start].append(end)
    assert len(named) > 3
    return named, edges


def sorts_its_rows(plan: pl.LazyFrame) -> bool:
    """Whether rows reach a sort before a filter, a join or a group-by."""
    nodes, edges = physical(plan)
    fewer = ("filter", "group-by", "join", "sorted-group-by")
    ends = {end for targets in edges.values() for end in targets}
    reached = [node for node in nodes if node not in ends]
    seen = set(reached)
    while reached:
        node = reached.pop()
        kind = nodes[node].removeprefix('label="').split("\\n")[0]
        if kind.startswith("sort") and not kind.startswith("sorted"):
            return True
        if not any(word in kind for word in fewer):
            reached += set(edges[node]) - seen
            seen |= set(edges[node])
    return False


@pytest.mark.parametrize("kind", [0, 1], ids=["log", "run"])
def test_known_ranks_need_no_sort_of_the_rows(kind):
    frame, options = in_kinds(made(ids(30)))[kind]
    options = options | {"layout": "any"}
    asked = ["ndcg", "ap", "rr", "recall@10"]
    plan = pr.evaluate(frame, asked, rank="rank", by="country", **options)
    assert not sorts_its_rows(plan)
    if not kind:  # by score it does; a run is joined with the queries first
        frame = frame.cast({"query_id": pl.Int32})
        assert sorts_its_rows(pr.evaluate(frame, asked, **options))


@pytest.mark.parametrize("rank", [None, "rank"])
@pytest.mark.parametrize("kind", [0, 1], ids=["log", "run"])
def test_every_layout_streams(kind, rank, monkeypatch):
    inner = []

    def keep(function):
        def kept(plan, *rest):
            inner.append(plan)
            return function(plan, *rest)

        return kept

    for name in ("verify_contiguous", "require_one_run"):
        monkeypatch.setattr(plans, name, keep(getattr(plans, name)))
    frame, options = in_kinds(made(ids(30)))[kind]
    usable = [m for m in METRICS if rank is None or not METRICS[m].uses_scores]
    asked = list({METRICS[m].family: m for m in usable}.values())
    for how in ("any", "contiguous"):
        for query in ("query_id", ["country", "query_id"]):
            options |= {"rank": rank, "query": query, "layout": how}
            outer = pr.evaluate(frame, asked, by="country", **options)
            for plan in (outer, *([inner.pop()] if how == "contiguous" else [])):
                nodes, _ = physical(plan)
                assert not [n for n in nodes.values() if "0.0 0.3 1.0" in n]
                if plan is not outer and not kind:
                    assert not [
                        n
                        for n in nodes.values()
                        if n.startswith('label="sort')
                        and "sorted" not in n.split("\\n")[0]
                    ]


def test_a_source_is_read_once_where_it_holds():
    """``"auto"`` reads rows that stand together once, others once more.

    Of a source that may not begin anew the rows are counted twice before.
    """
    reads, rows = [], made(ids(30))
    apart = apart_runs()["first and last row"]
    for given, known, times in (
        (rows, True, 1),
        (rows, False, 1),
        (apart, True, 2),
        (apart, False, 4),
    ):

        def read(columns, given=given):
            reads.append(1)
            yield given.select(columns)

        frame = lazy_source(read, given.schema, name="test", rereadable=known)
        reads.clear()
        pr.evaluate(frame, "ap").collect()
        assert len(reads) == times


@pytest.mark.parametrize("back", [[1, 2, 1], [None, 1, None], ["b", "a", "a", "b"]])
def test_a_glance_sees_a_query_that_comes_back(back):
    """Even if it is claimed that the queries ascend."""
    together = sorted(back, key=repr, reverse=True)
    for given in (together, back):
        rows = pl.LazyFrame({"query": given}).set_sorted("query")
        if given is back:
            with pytest.raises(pr.DataError, match="are not contiguous"):
                layouts.reject_if_shuffled(rows).collect(engine="in-memory")
        else:
            assert (
                layouts.reject_if_shuffled(rows)
                .collect(engine="in-memory")["query"]
                .to_list()
                == together
            )


@pytest.mark.parametrize(
    ("batches", "apart"),
    [
        ([[1, 2, 3], [4, 5, 6], [7, 2, 8]], True),
        ([[1, 2, 3], [4, 4, 4], [5, 5, 5], [6], [7], [8], [2]], True),
        ([[1], [2], [3, 4, 5], [4]], True),
        ([[1, None, 2], [None]], True),
        ([[1, 2, 3], [3, 3, 3], [3, 4, 5]], False),  # a query of several batches
        ([[3, 4, 5], [3, 3, 3], [1, 2, 3]], False),  # they may come in any order
        ([[], [1], [], [2, 3]], False),
    ],
)
def test_a_glance_remembers_the_first_batches(batches, apart):
    """A query that began and ended in one of them does not come back."""
    glance = layouts._Glance()
    seen = [glance.sees_shuffled(pl.Series(batch, dtype=pl.Int64)) for batch in batches]
    assert seen == [*[False] * (len(batches) - 1), apart]


def test_a_glance_of_several_threads_sees_no_query_that_is_not_there():
    """Polars hands over batches side by side."""
    batches = [pl.int_range(i * 500, (i + 1) * 500, eager=True) for i in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(40):
            with ThreadPoolExecutor(4) as threads:
                glance = layouts._Glance()
                assert not any(threads.map(glance.sees_shuffled, batches))
    finally:
        sys.setswitchinterval(interval)


def test_interleaved_queries_are_noticed_early():
    """Each batch by itself is contiguous: rows 0, 1, 2 ... of queries i % 5000."""
    read = []

    def batches(columns):
        for i in range(100):
            read.append(i)
            query = (pl.int_range(i * 1000, (i + 1) * 1000, eager=True)) % 5000
            yield pl.DataFrame({"query": query})

    rows = lazy_source(batches, {"query": pl.Int64()}, name="test")
    with pytest.raises(pr.DataError, match="are not contiguous"):
        layouts.reject_if_shuffled(rows).collect(engine="streaming")
    assert len(read) < 50


def test_a_batch_without_rows_is_no_doubt(caplog):
    """Nor is a log without rows: nothing in it stands apart."""
    rows = made(ids(30))
    caplog.set_level(logging.INFO, logger="polars_rank")
    for given in (rows, rows.clear()):

        def source(columns, *_, given=given):
            asked = given.select(columns or given.columns)
            yield asked.clear()
            yield asked

        caplog.clear()
        frame = register_io_source(source, schema=given.schema)
        values = pr.per_query(frame, "ap").collect()
        assert len(values) == given["query_id"].n_unique()
        assert caplog.messages == ["layout: rows of a query are contiguous (proved)"]


# --- What is remembered of a question ---------------------------------------------


def test_functions_of_the_user_are_asked_each_time():
    rows = pl.DataFrame({"query_id": 1, "score": [3, 2, 1], "label": [0, 1, 1]})
    factor = 1

    def gain(grade: pl.Expr) -> pl.Expr:
        return grade * factor

    def found(r: pr.Ranking) -> pl.Expr:
        return r.hits_at(factor)

    choice = TREC.replace(gain=gain)
    asked = [pr.measure("cg", gain=gain, name="own"), {"found": found}]

    def values() -> tuple[float, ...]:
        own = pr.per_query(rows, asked).row(0)[1:]
        return *own, pr.evaluate(rows, "cg", convention=choice)["cg"].item()

    assert values() == (2.0, 0.0, 2.0)
    factor = 3
    assert values() == (6.0, 2.0, 6.0)


@pytest.mark.parametrize("layout", ["any", "auto", "contiguous"])
@pytest.mark.parametrize("source", ["frame", "lazy", "parquet", "judgments"])
def test_a_lying_claim_of_order(tmp_path, layout, source):
    """What a file or ``set_sorted`` claims of the rows decides nothing."""
    rows = pl.DataFrame(
        {
            "query_id": [1, 2, 1, 2, 3, 1] * 20,
            "doc_id": [f"d{i}" for i in range(120)],
            "score": [float(i * 37 % 120) for i in range(120)],
            "label": [0, 1, 1, 0, 2, 1] * 20,
        }
    )
    honest = pr.evaluate(rows, ["ndcg", "rr"], layout="any")
    lying = rows.with_columns(
        pl.col("query_id", "doc_id", "score", "label").set_sorted()
    )
    options = {}
    if source == "parquet":
        claims = [pq.SortingColumn(i) for i in range(4)]
        pq.write_table(rows.to_arrow(), tmp_path / "log", sorting_columns=claims)
        lying = pl.scan_parquet(tmp_path / "log")
    elif source == "lazy":
        lying = lying.lazy()
    elif source == "judgments":
        options["qrels"] = lying.drop("score").lazy()
        lying = lying.drop("label").lazy()

    def found() -> pl.DataFrame:
        asked = pr.evaluate(lying, ["ndcg", "rr"], layout=layout, **options)
        return asked.lazy().collect()

    if layout == "contiguous":
        with pytest.raises(pr.DataError, match="are not contiguous"):
            found()
    else:
        assert found().equals(honest)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layout", ["auto", "contiguous"])
def test_a_refuted_layout_is_no_panic(capfd, tmp_path, layout, engine):
    """Polars' threads write on standard error by themselves."""
    log = pl.DataFrame(
        {
            "query_id": [i % 500 for i in range(20_000)],
            "doc_id": range(20_000),
            "score": [float(i % 7) for i in range(20_000)],
        }
    )
    log.write_parquet(tmp_path / "run.parquet", row_group_size=1000)
    qrels = log.select("query_id", "doc_id", label=pl.col("doc_id") % 3)
    run = pl.scan_parquet(tmp_path / "run.parquet")
    found = pr.per_query(run, "rr", qrels=qrels.lazy(), layout=layout)
    if layout == "contiguous":
        with pytest.raises(pr.DataError, match=APART):
            found.collect(engine=engine)
    else:
        assert found.collect(engine=engine).height == 500
    assert not capfd.readouterr().err


def test_a_refutation_waits_for_the_end_of_the_plan(monkeypatch):
    """An error inside the plan cancels its joins, and Polars may print a panic."""
    ended, batches = [], layouts.in_batches

    def to_the_end(frame, **_):
        yield from batches(frame)
        ended.append(frame)

    monkeypatch.setattr(layouts, "in_batches", to_the_end)
    log = pl.DataFrame(
        {"query_id": [1, 2, 1, 3], "doc_id": [1, 1, 2, 1], "score": [1.0, 2, 3, 4]}
    )
    qrels = log.select("query_id", "doc_id", label=1).lazy()
    for function in (pr.evaluate, pr.per_query):
        ended.clear()
        plan = function(log.lazy(), "rr", qrels=qrels, layout="contiguous")
        with pytest.raises(pr.DataError, match=APART) as caught:
            plan.collect()
        assert ended
        assert (caught.value.count, caught.value.examples) == (1, (1,))


@pytest.mark.parametrize("dtype", [pl.Int32, pl.String])
def test_plans_that_polars_sees_through(dtype):
    """No Python in them, so that other engines of Polars can run them."""
    log = pl.LazyFrame(
        {"query_id": [1, 1, 2], "doc_id": [1, 2, 1], "score": [0.3, 0.2, 0.1]}
    ).with_columns(pl.col("query_id").cast(dtype), label=1)
    options = {"layout": "any", "check": "off"}
    for function in (pr.evaluate, pr.per_query):
        judged = function(
            log.drop("label"), ["ap", "ndcg@10"], qrels=log.drop("score"), **options
        )
        alone = function(log.drop("doc_id"), ["ap", "ndcg@10"], **options)
        assert "python" not in judged.explain().lower()
        assert ("python" in alone.explain().lower()) == (dtype == pl.String)
        checked = function(log.drop("doc_id"), ["ap", "ndcg@10"], layout="any")
        assert "python" in checked.explain().lower()
