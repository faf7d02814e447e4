"""Every option of ``evaluate`` means the same to parts and to engines."""

from __future__ import annotations

import inspect

import polars as pl
import pytest
from pieces import InPieces, Pieces
from slow import every_other
from test_evaluation_in_parts import bits, rows, split

import polars_rank as pr
from polars_rank.parts import evaluate_parts
from polars_rank.parts.evaluation import FRAMES, OPTIONS

LOG = rows(24).with_columns(
    place=pl.col("doc_id").cum_count().over("query_id"),
    half=pl.col("doc_id").str.tail(1).cast(pl.Int64) % 2,
    intent=pl.col("query_id") % 3,
)
RUN = LOG.drop("label", "intent")
QRELS = LOG.select("query_id", "doc_id", "label", "intent").filter(
    pl.col("doc_id") != "d1"
)
TWICE = pl.concat([LOG, LOG.head(9).with_columns(score=pl.lit(0.15))])
RENAMED = QRELS.rename({"query_id": "topic", "doc_id": "document"})
MEASURES = ["ndcg@10", "ap", "rr", "num_rel"]
# Each option: its value, the frames if these are not the log, and other options.
CASES: dict[str, tuple] = {
    "query": (["query_id", "half"],),
    "doc": (None,),
    "score": ("traffic",),
    "label": (None, {"frame": RUN, "qrels": QRELS}),
    "subtopic": ("intent", {"frame": RUN, "qrels": QRELS}, {}, ["alpha_ndcg@10"]),
    "rank": ("place",),
    "descending": (False,),
    "qrels_query": (
        "topic",
        {"frame": RUN, "qrels": RENAMED},
        {"qrels_doc": "document"},
    ),
    "qrels_doc": (
        "document",
        {"frame": RUN, "qrels": RENAMED},
        {"qrels_query": "topic"},
    ),
    "by": ("country",),
    "weight": ("traffic",),
    "stats": (["mean", "n", "std", "se"],),
    "convention": ("lenskit",),
    "ties": ("pessimistic",),
    "missing": ("skip", {"frame": RUN.filter(pl.col("query_id") > 3), "qrels": QRELS}),
    "no_relevant": ("one",),
    "unjudged": ("drop", {"frame": RUN, "qrels": QRELS}),
    "rel": (2,),
    "on_duplicate": ("best", {"frame": TWICE}),
    "check": ("off", {"frame": LOG.with_columns(label=pl.lit(0.5))}),
    "layout": ("any",),
    "memory_limit": ("1GB",),
    "temp_dir": ("here", None, {"memory_limit": "1GB"}),
    "progress": (print, None, {"memory_limit": "1GB"}),
    "max_rank": (2,),
}
UNSEEN = {"layout", "memory_limit", "temp_dir", "progress"}  # decide no value
NEEDED = {"subtopic", "qrels_query", "qrels_doc", "check", "on_duplicate"}


def case(name: str, folder) -> tuple:
    value, *others = CASES[name]
    frames, options, measures = [*others, None, None, None][:3]
    value = folder if name == "temp_dir" else value
    options = {name: value, **(options or {})}
    return frames or {"frame": LOG}, options, measures or MEASURES


def test_no_option_is_forgotten():
    assert [*CASES] == [*OPTIONS]
    known = inspect.signature(pr.evaluate).parameters
    assert {*known} == {*FRAMES, *OPTIONS}


@pytest.mark.parametrize("name", every_other(CASES))
def test_an_option_means_the_same_to_parts_and_engines(name, tmp_path):
    frames, options, measures = case(name, tmp_path)
    single = bits(pr.evaluate(measures=measures, **frames, **options))
    run = frames["frame"]
    qrels = {"qrels": frames["qrels"]} if "qrels" in frames else {}
    found = evaluate_parts(split(run, 3, 1), measures, **qrels, **options)
    assert bits(found) == single
    if name not in UNSEEN | NEEDED:
        plain = {n: v for n, v in options.items() if n != name}
        other = bits(pr.evaluate(measures=measures, **frames, **plain))
        assert other != single, "the case does not show what the option does"


ENGINE = InPieces()
REFUSED = {"progress": "leave progress= out", "qrels_query": "leave qrels_query= out"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_option_means_the_same_to_an_engine(name, tmp_path):
    frames, options, measures = case(name, tmp_path)
    moved = {side: Pieces.of(frame) for side, frame in frames.items()}
    refused = next((REFUSED[n] for n in REFUSED if n in options), None)
    if refused is not None:
        with pytest.raises(TypeError, match=refused):
            ENGINE.evaluate(measures=measures, **moved, **options)
        return
    single = bits(pr.evaluate(measures=measures, **frames, **options))
    if name == "doc":  # equal scores come in any order: see the guides
        distinct = LOG.with_columns(score=pl.col("score").rank("ordinal"))
        single = bits(pr.evaluate(distinct, measures, doc=None))
        moved = {"frame": Pieces.of(distinct)}
    found = ENGINE.evaluate(measures=measures, **moved, **options)
    assert bits(found) == single
