"""What partitions must not change: arguments, and the value or error of one machine."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any, NamedTuple

import polars as pl
from test_evaluation_in_parts import bits, rows

import polars_rank as pr

MEASURES = ["ndcg@10", "ap", "rr", "num_rel", "gm_ap", "precision@3"]
ABOUT = ["country", "traffic"]


def scattered() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """A log, and the same as run and judgments; two queries are not in the run."""
    log = rows(60).sample(fraction=1, shuffle=True, seed=1)
    run = log.drop("label").filter(~pl.col("query_id").is_in([3, 44]))
    return log, run, log.select("query_id", "doc_id", "label")


def with_infinite(log: pl.DataFrame) -> pl.DataFrame:
    broken = pl.col("query_id").is_in([5, 50]) & (pl.col("doc_id") == "d0")
    return log.with_columns(label=pl.when(broken).then(-math.inf).otherwise("label"))


def outcome(call) -> object:
    """The bits of a value; of an error its type, rule and count, or first line."""
    try:
        return bits(call())
    except Exception as error:
        rule, count = getattr(error, "rule", None), getattr(error, "count", None)
        line = str(error).partition("\n")[0] if rule is None else None
        return type(error), rule, count, line


def hits(r):
    """A measure that pickles by its name."""
    return r.hits_at(3)


class Case(NamedTuple):
    """Frames by the name of their argument, and the other arguments."""

    frames: dict[str, pl.DataFrame]
    options: dict[str, Any]
    measures: Any = MEASURES


@cache
def whole(name: str) -> object:
    """The outcome of a case on one machine."""
    frames, options, measures = CASES[name]
    lazy = {side: frame.lazy() for side, frame in frames.items()}
    return outcome(lambda: pr.evaluate(measures=measures, **lazy, **options).collect())


def cases() -> dict[str, Case]:
    log, run, qrels = scattered()
    bare = run.drop(ABOUT)
    about = log.select("query_id", *ABOUT).unique(maintain_order=True)
    asked = about.filter(pl.col("query_id") % 2 == 0)
    rng = random.Random(2)
    intents = qrels.with_columns(
        pl.Series("intent", [rng.randrange(3) for _ in range(len(qrels))])
    )
    days = [f.with_columns(day=pl.col("query_id") % 3) for f in (run, qrels)]
    twice = pl.concat([run, run.filter(query_id=7).head(2)])
    segments = {"by": "country", "weight": "traffic"}
    judged = {"frame": run, "qrels": qrels}
    everything = {"frame": bare, "qrels": qrels, "queries": asked[["query_id"]]}
    zero = {"missing": "zero"}
    unweighted = run.with_columns(
        traffic=pl.when(query_id=7).then(-1.0).otherwise("traffic")
    )
    return {
        "log": Case({"frame": log}, segments),
        "judgments": Case(judged, zero),
        "skipped": Case(judged, {"missing": "skip", "stats": ["mean", "se"]}),
        "limit": Case(judged, {"memory_limit": "2GB", **zero}),
        "null": Case(judged, {"convention": "lenskit", **zero}),
        "segments of judgments": Case(
            {"frame": bare, "qrels": qrels.join(about, on="query_id")}, segments | zero
        ),
        "queries": Case({**judged, "queries": asked[["query_id"]]}, zero),
        "described queries": Case(
            {"frame": bare, "qrels": qrels, "queries": asked}, segments | zero
        ),
        "described segments": Case(
            {**everything, "segments": about},
            segments | zero,
            [*MEASURES, {"hits": hits}],
        ),
        "subtopics": Case(
            {"frame": run, "qrels": intents},
            {"subtopic": "intent", **zero},
            ["alpha_ndcg@10", "st_recall@5"],
        ),
        "two columns": Case(
            dict(zip(("frame", "qrels"), days, strict=True)),
            {"query": ["day", "query_id"], "by": "day", **zero},
        ),
        "function": Case({"frame": log}, {"max_rank": 5}, {"hits": hits}),
        "infinite label": Case({"frame": with_infinite(log)}, {}, "dcg"),
        "document twice": Case({"frame": twice, "qrels": qrels}, zero),
        "negative weight": Case(
            {"frame": unweighted, "qrels": qrels}, segments | {"missing": "skip"}
        ),
        "weight unknown": Case(judged, segments | zero),
        "nothing in common": Case(
            {"frame": run, "qrels": qrels.with_columns(pl.col("query_id") + 100)}, zero
        ),
        "no such column": Case({"frame": log}, {"label": "lable"}),
        "not a number": Case({"frame": log}, {"label": "country"}),
    }


CASES = cases()
WRONG = [*CASES][-7:]  # have errors
