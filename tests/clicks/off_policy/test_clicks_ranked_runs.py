"""Contiguous impressions are ranked in NumPy: the same values, or the other plan."""

from __future__ import annotations

import logging
import math
import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow

from polars_rank import DataError, clicks
from polars_rank.clicks.log import contiguous
from polars_rank.core.source import lazy_source

# Of logs as short as these, which only their own test asks for.
pytestmark = pytest.mark.filterwarnings("ignore:the weights are those of")
PROVED = "rows of an impression are contiguous (proved)"
DEPTH = 40


def log_of(impressions, deepest, seed=1):
    """Impressions of many lengths, rows in any order, with ties."""
    draw, rows = random.Random(seed), []
    for i in range(impressions):
        size = draw.randint(1, deepest)
        positions = draw.sample(range(1, DEPTH + 1), size)
        docs = draw.sample(range(2 * DEPTH), size)
        for position, doc in zip(positions, docs, strict=True):
            score, click = draw.randrange(size), draw.random() < 0.3
            rows.append((i // 3, i % 3, i % 5, f"d{doc}", position, click, score))
    names = ["session", "page_view", "query_id", "doc_id", "position", "clicked", "s"]
    return pl.DataFrame(rows, schema=names, orient="row")


def loop(log):
    """The mean over impressions: clicks times position, discounted by the new rank."""
    values = []
    for _, group in log.group_by("session", "page_view", maintain_order=True):
        rows = group.rows(named=True)
        order = sorted(rows, key=lambda r: (-r["s"], r["position"]))
        values.append(
            sum(
                row["clicked"] * row["position"] / math.log2(place + 1)
                for place, row in enumerate(order, start=1)
            )
        )
    return math.fsum(values) / len(values)


OPTIONS = {"propensities": 1.0, "impression": ["session", "page_view"]}


def estimated(log, caplog, proved=True, **options):
    caplog.clear()
    caplog.set_level(logging.INFO, logger="polars_rank")
    given = {"new": "s"} | OPTIONS | options
    found = clicks.counterfactual(log, "dcg", **given).collect()
    assert (PROVED in caplog.text) is proved
    return found


SCORES = {
    "integers": pl.col("s"),
    "small": pl.col("s").cast(pl.UInt8),
    "negative": -pl.col("s").cast(pl.Float32),
    "zeros": (pl.col("s") % 2 - 1) * 0.0,
    "decimal": pl.col("s").cast(pl.Decimal(9, 2)),
    "wide": pl.col("s").cast(pl.Int128) + 2**70,
}


@pytest.mark.parametrize("order", ["mixed", "by position", "one length", "both"])
def test_usual_logs(order, caplog):
    """Rows by position, impressions of one length: both are compared faster."""
    log = log_of(900, 6)
    if order in ("one length", "both"):
        log = log.filter(pl.len().over("session", "page_view") >= 4)
        log = log.group_by("session", "page_view", maintain_order=True).head(4)
        log = log.select(log_of(0, 0).columns)
    if order in ("by position", "both"):
        log = log.sort("session", "page_view", "position")
    found = estimated(log.lazy(), caplog)
    assert found["estimate"].item() == pytest.approx(loop(log), rel=1e-12)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize(("impressions", "deepest"), [(900, 5), (90, DEPTH), (120, 1)])
def test_plain_loops(kind, impressions, deepest, caplog):
    """Many short impressions are compared in pairs, others are sorted."""
    log = log_of(impressions, deepest).with_columns(s=SCORES[kind])
    found = estimated(log.lazy(), caplog)
    assert found["estimate"].item() == pytest.approx(loop(log), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, slow(7), 100])
def test_impressions_across_batches(size, caplog):
    log = log_of(30, 9)

    def read(columns):
        for part in log.iter_slices(size):
            yield part.select(columns)

    source = lazy_source(read, log.schema, name="parts", rereadable=True)
    found, whole = estimated(source, caplog), estimated(log.lazy(), caplog)
    assert_frame_equal(found, whole, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        slow({"clip": 0.2}),
        slow({"method": "snips"}),
        {"method": "dr", "reward": "r"},
        slow({"method": "dm", "reward": "r", "propensities": None}),
        {"new": ["s", "position"], "baseline": "position"},
        {"by": "query_id", "cluster": "session"},
        slow({"weight": "w"}),
        {"cluster": ["session", "page_view"]},
        {"layout": "contiguous"},
        slow({"check": "off"}),
        {"interval": "bootstrap"},
    ],
    ids=str,
)
def test_torn_impressions_have_the_same_estimates(options, caplog):
    """In another order nothing is proved; sums of floats differ in the last bits."""
    i = pl.col("session") * 3 + pl.col("page_view")
    log = log_of(200, 12).with_columns(r=pl.col("position") / 50, w=1 + i % 4)
    torn = log.sample(fraction=1, shuffle=True, seed=3)
    found = estimated(log.lazy(), caplog, **options)
    options = {k: v for k, v in options.items() if k != "layout"}
    other = estimated(torn.lazy(), caplog, proved=False, **options)
    assert_frame_equal(found, other, rel_tol=1e-9)
    assert_frame_equal(
        found, clicks.counterfactual(log, "dcg", **{"new": "s"} | OPTIONS | options)
    )


def test_an_impression_that_comes_back_much_later(caplog, monkeypatch):
    """Nobody sees it at a glance."""
    monkeypatch.setattr(contiguous, "reject_if_shuffled", lambda rows, key: rows)
    log = log_of(90, 5)
    log = log.filter(pl.len().over("session", "page_view") > 1)
    first = (pl.col("session") == 0) & (pl.col("page_view") == log["page_view"][0])
    torn = pl.concat([log.filter(first)[1:], log.filter(~first), log.filter(first)[:1]])
    found = estimated(torn.lazy(), caplog, proved=False)
    assert_frame_equal(found, clicks.counterfactual(log, "dcg", new="s", **OPTIONS))


def test_a_claim_that_is_false_is_an_error():
    torn = log_of(20, 5).sample(fraction=1, shuffle=True, seed=3).lazy()
    with pytest.raises(DataError) as caught:
        clicks.counterfactual(torn, new="s", layout="contiguous", **OPTIONS).collect()
    assert caught.value.rule == "not_contiguous"


FAULTS = {
    "a document twice": {"doc_id": "d0"},
    "a position twice": {"position": 1},
    "no position": {"position": None},
    "no score": {"s": None},
    "two queries": {"query_id": pl.int_range(pl.len())},
    "no query": {"query_id": None},
}


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("deepest", [3, 30])
def test_faults_are_told_as_in_any_order(fault, deepest):
    log = log_of(900, deepest)
    last = pl.col("session") == 50
    log = log.filter(pl.len().over("session", "page_view") > 1)
    values = {
        name: value if isinstance(value, pl.Expr) else pl.lit(value)
        for name, value in FAULTS[fault].items()
    }
    log = log.with_columns(
        pl.when(last).then(value).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )
    errors = []
    for frame in (log, log.lazy(), log.lazy().filter(pl.col("session") >= 50)):
        with pytest.raises(DataError) as caught:
            clicks.counterfactual(frame, new="s", **OPTIONS).lazy().collect()
        errors.append(caught.value.rule)
    assert len({*errors}) == 1


def test_very_deep_impressions_are_ranked_otherwise(caplog, monkeypatch):
    monkeypatch.setattr(contiguous, "DEEPEST", 20)
    log = log_of(50, DEPTH)
    found = estimated(log.lazy(), caplog, proved=False)
    assert_frame_equal(found, clicks.counterfactual(log, "dcg", new="s", **OPTIONS))


def test_the_deepest_impressions_that_are_allowed_are_ranked_in_numpy(
    caplog, monkeypatch
):
    """The last one, too, which is read to the end of the log before it is ranked."""
    log = log_of(50, DEPTH)
    sizes = log.group_by("session", "page_view", maintain_order=True).len()
    deepest, impressions = int(sizes["len"].max()), ["session", "page_view"]
    last = sizes.filter(pl.col("len") == deepest).head(1).select(impressions)
    others = log.join(last, on=impressions, how="anti", maintain_order="left")
    log = pl.concat([others, log.join(last, on=impressions, maintain_order="left")])
    monkeypatch.setattr(contiguous, "DEEPEST", deepest)
    found = estimated(log.lazy(), caplog, proved=True)
    assert_frame_equal(found, clicks.counterfactual(log, "dcg", new="s", **OPTIONS))
