"""``memory_limit``: buckets on disk change no number and no message."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow

import polars_rank as pr
from polars_rank._engine import layout as layouts
from polars_rank._engine.spill import budget, order

SOME = ["ndcg@10", "ap", "rr@5", "precision(divisor=retrieved)@10", "err", "spearman"]
LOG = pl.DataFrame(
    [
        {
            "query_id": (q * 7919) % 997,
            "doc_id": f"d{d}",
            "score": float((q * d * 31) % 11),  # ties
            "label": (q + d * d) % 4,
            "country": "DE" if q % 3 else "FR",
        }
        for q in range(160)
        for d in range(1 + q % 13)
    ]
).sample(fraction=1, shuffle=True, seed=1)
RUN = LOG.select("query_id", "doc_id", "score")
QRELS = LOG.filter(pl.col("label") != 3).select("query_id", "doc_id", "label")


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Buckets of a few hundred rows, so that small frames need many."""
    small = budget.Budget(bucket=1 << 14, buffers=1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)


@pytest.fixture
def options(tmp_path):
    return dict(memory_limit="1GB", temp_dir=tmp_path)


@pytest.mark.covering(1, rest=2)
@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize("layout", ["auto", "any"])
@pytest.mark.parametrize("asked", [{}, {"doc": None}, {"qrels": QRELS}])
def test_per_query_values_are_the_same_to_the_last_bit(options, layout, asked, engine):
    frame = (RUN if "qrels" in asked else LOG).lazy()
    whole = pr.per_query(frame, SOME, layout="any", **asked).collect()
    told: list[pr.parts.Progress] = []
    parts = pr.per_query(
        frame, SOME, layout=layout, **asked, **options, progress=told.append
    )
    assert_frame_equal(parts.collect(engine=engine), whole, check_exact=True)
    assert {progress.stage for progress in told} == {"partition", "evaluate"}
    assert told[-1].done == told[-1].total > 1
    assert not any(options["temp_dir"].iterdir())


def test_values_wait_for_their_proof_on_disk(options, monkeypatch):
    """Those of contiguous queries, of which the last one may come a second time."""
    found = []

    def looked(frame):
        found.extend(options["temp_dir"].rglob("*.parquet"))
        yield from layouts.in_batches(frame)

    monkeypatch.setattr(order, "in_batches", looked)
    log = LOG.sort("query_id")
    bounded = pr.per_query(log.lazy(), SOME, layout="auto", **options)
    assert_frame_equal(bounded.collect(), pr.per_query(log, SOME), check_exact=True)
    assert [path.exists() for path in found] == [False]


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{}, {"qrels": QRELS}])
def test_values_pass_on_while_buckets_are_evaluated(options, asked, monkeypatch):
    """No stage waits for all of them, which would hold them in memory."""
    monkeypatch.setattr(layouts, "BATCH", 10)
    told: list[pr.parts.Progress] = []
    done: list[int] = []

    def in_order(batches, *rest):
        rows = list(map(heard, batches))
        return iter([pl.concat(rows).sort("query_id")])

    def heard(batch):
        done.append(told[-1].done)
        return batch

    monkeypatch.setattr(order, "in_order", in_order)
    frame = (RUN if asked else LOG).lazy()
    pr.per_query(
        frame, "ap", layout="any", **asked, **options, progress=told.append
    ).collect()
    assert done[0] < told[-1].total


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"by": "country"}, {"weight": "label"}])
def test_means_and_segments(options, asked):
    log = LOG.with_columns(label=pl.col("label").max().over("query_id"))
    whole = pr.evaluate(log.lazy(), SOME[:3], layout="any", **asked).collect()
    parts = pr.evaluate(log.lazy(), SOME[:3], **asked, **options).collect()
    assert_frame_equal(parts, whole, rel_tol=1e-12)


@pytest.mark.slow
def test_some_queries_and_several_systems(options):
    queries = pl.DataFrame({"query_id": [24, 26, 53, 10_000]})
    run = RUN.filter(pl.col("query_id") < 250)  # larger: each bucket is split again
    both = pl.concat([run.with_columns(system=pl.lit(name)) for name in "ab"]).lazy()
    asked = dict(
        query=["system", "query_id"], qrels=QRELS, queries=queries, missing="zero"
    )
    whole = pr.per_query(both, SOME, layout="any", **asked).collect()
    parts = pr.per_query(both, SOME, **asked, **options).collect()
    assert_frame_equal(parts, whole, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [
        slow(LOG.with_columns(score=pl.lit(float("nan")))),
        pl.concat([LOG, LOG.head(3)]),
        slow(LOG.with_columns(query_id=pl.lit(None, pl.Int64))),
    ],
    ids=["nan", "copies", "null"],
)
def test_errors_are_counted_over_all_buckets(options, broken):
    messages = []
    for bounded in ({"layout": "any"}, options):
        with pytest.raises(pr.DataError) as error:
            pr.evaluate(broken.lazy(), "rr", **bounded).collect()
        messages.append(str(error.value).partition(", e.g.")[0])
    assert messages[0] == messages[1]
    assert not any(options["temp_dir"].iterdir())


@pytest.mark.slow
def test_a_bucket_without_a_query_in_common_is_no_error(options):
    rare = QRELS.filter(pl.col("query_id") < 5)
    whole = pr.evaluate(RUN.lazy(), "ap", qrels=rare, layout="any").collect()
    parts = pr.evaluate(RUN.lazy(), "ap", qrels=rare, **options).collect()
    assert_frame_equal(parts, whole, rel_tol=1e-12)
    far = QRELS.with_columns(pl.col("query_id") + 10_000)
    with pytest.raises(pr.DataError, match="no judged query is in the run"):
        pr.evaluate(RUN.lazy(), "ap", qrels=far, **options).collect()


def test_a_function_of_ones_own(options):
    mine = {"hits": lambda r: r.hits_at(3)}
    whole = pr.per_query(LOG.lazy(), mine, layout="any").collect()
    assert_frame_equal(pr.per_query(LOG.lazy(), mine, **options).collect(), whole)


@pytest.mark.parametrize("name", ["temp_dir", "progress"])
def test_they_need_a_limit(name):
    with pytest.raises(ValueError, match=f"{name} is for .* give memory_limit"):
        pr.evaluate(LOG, "ap", **{name: "x"})


@pytest.mark.parametrize("limit", ["much", "2 apples", 0, True, "10MB", -1])
def test_limits_that_are_none(limit):
    with pytest.raises(ValueError, match="memory_limit must be"):
        pr.evaluate(LOG, "ap", memory_limit=limit)
