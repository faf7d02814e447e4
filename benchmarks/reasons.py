"""What it costs to say why a mean moved, in multiples of ``per_query`` of both runs.

``python benchmarks/reasons.py --queries 10000 --rounds 5`` draws two runs of 100
documents a query, with text ids, and 30 judgments a query (seed 1), and calls each
function in turns. It prints the least CPU time of the rounds, and that as a multiple of
``per_query`` of both runs. ``--unjudged 7`` has about seven of the first ten documents
without a judgment, as for ``to_judge``; else most of them are judged.
``--steps`` also times the steps of ``reasons``. ``--by-hand`` times plain plans of
Polars for ndcg@10 that check nothing, and whose rows have to be contiguous.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable

import numpy as np
import polars as pl

import polars_rank as pr
from polars_rank import analysis
from polars_rank.analysis import sides
from polars_rank.conventions.tools import DEFAULT

POOL, DOCS, JUDGED = 200, 100, 30
NOISE = {0: 1.0, 7: 3.0}  # of the judges' choice, by unjudged documents of ten
IDS = ["query_id", "doc_id"]
Frames = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def drawn(queries: int, unjudged: int) -> Frames:
    """Return two runs and their judgments."""
    rng = np.random.default_rng(1)
    pool = np.argsort(rng.random((queries, POOL)), axis=1)
    shared = rng.standard_normal((queries, POOL))

    def first(score: np.ndarray, n: int, **columns: np.ndarray) -> pl.DataFrame:
        top = np.argsort(-score, axis=1)[:, :n]
        docs = np.take_along_axis(pool, top, 1).ravel()
        columns |= {"score": np.take_along_axis(score, top, 1).ravel()}
        ids = pl.DataFrame(
            {"query_id": np.repeat(np.arange(queries), n), "doc_id": docs}
        )
        named = (pl.format(f"{name[0]}{{}}", name).alias(name) for name in IDS)
        return ids.with_columns(named).with_columns(
            **{name: pl.Series(column) for name, column in columns.items()}
        )

    def noise() -> np.ndarray:
        return rng.standard_normal((queries, POOL))

    before, after = (first(shared + 0.5 * noise(), DOCS) for _ in range(2))
    label = rng.choice([0, 1, 2, 3], queries * JUDGED, p=[0.5, 0.3, 0.15, 0.05])
    judged = first(shared + NOISE[unjudged] * noise(), JUDGED, label=label)
    return before, after, judged.drop("score")


def calls(frames: Frames) -> dict[str, Callable[[], object]]:
    """Return what is measured, by name."""
    before, after, qrels = frames
    runs = {"before": before, "after": after}

    def values(measure: str) -> list[pl.DataFrame]:
        return [pr.per_query(run, measure, qrels=qrels) for run in runs.values()]

    return {
        "per_query of both, ndcg@10": lambda: values("ndcg@10"),
        "changes": lambda: analysis.changes(before, after, qrels=qrels),
        "reasons, ndcg@10": lambda: analysis.reasons(
            before, after, "ndcg@10", qrels=qrels
        ),
        "reasons, ap": lambda: analysis.reasons(before, after, "ap", qrels=qrels),
        "to_judge, ndcg@10": lambda: analysis.to_judge(runs, "ndcg@10", qrels=qrels),
        "to_judge, rr@10": lambda: analysis.to_judge(runs, "rr@10", qrels=qrels),
    }


def steps(frames: Frames) -> dict[str, Callable[[], object]]:
    """Return the steps of ``reasons`` with ndcg@10."""
    *runs, qrels = frames
    names = sides.Names.of("query_id", "doc_id", [], [])
    options = {"convention": DEFAULT}
    requests = [
        sides.request_of_run("reasons", run, "ndcg@10", qrels, names, options)
        for run in runs
    ]

    def side(run: pl.DataFrame, beside: pl.LazyFrame) -> pl.DataFrame:
        return sides.documents_of_run(
            "reasons", run, "ndcg@10", qrels, names, options, beside=beside, apart=True
        ).collect(engine="streaming")

    first = sides.first_of_runs(requests, 10, names).collect().lazy()
    none = sides.no_documents(names)
    found = [side(run, first).lazy() for run in runs]
    both = sides.side_by_side(
        found[0].rename({"rank": "baseline_rank", "label": "baseline_label"}),
        found[1],
        names,
    ).collect()
    order = ["query_id", "rank", "baseline_rank", "doc_id"]
    return {
        "the first ten of both": lambda: sides.first_of_runs(
            requests, 10, names
        ).collect(),
        "values and what documents add": lambda: [side(run, none) for run in runs],
        "the same with the ranks of the first": lambda: [
            side(run, first) for run in runs
        ],
        "both sides joined": lambda: sides.side_by_side(*found, names).collect(),
        "documents in order": lambda: both.sort(order, nulls_last=True),
    }


def by_hand(frames: Frames) -> dict[str, Callable[[], object]]:
    """Return plans for values, and for documents with both ranks and what they add."""
    *runs, qrels = (frame.lazy() for frame in frames)
    numbers = qrels.select("query_id").unique().sort("query_id").with_row_index("query")
    on, k = ["query", "doc_id"], 10

    def ranked(run: pl.LazyFrame, numbered: pl.LazyFrame) -> pl.LazyFrame:
        lists = run.set_sorted("query_id").group_by("query_id", maintain_order=True)
        docs = lists.agg(pl.col("doc_id").sort_by("score", descending=True))
        docs = docs.join(numbered, on="query_id", build_side="force_right")
        length = pl.col("doc_id").list.len()
        rows = docs.with_columns(rank=pl.int_ranges(1, length + 1))
        return rows.explode("doc_id", "rank").drop("query_id")

    def gain(rank: str) -> pl.Expr:
        found = pl.col("label") / (pl.col(rank) + 1).cast(pl.Float64).log(2.0)
        return pl.when(pl.col(rank) <= k).then(found).fill_null(0.0)

    def judged(numbered: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        labels = qrels.join(numbered, on="query_id").drop("query_id").collect().lazy()
        best = pl.col("label").sort(descending=True).head(k)
        place = pl.int_range(2, best.len() + 2).cast(pl.Float64)
        return labels, labels.group_by("query").agg(ideal=(best / place.log(2.0)).sum())

    def values() -> list[pl.DataFrame]:
        numbered = numbers.collect().lazy()
        labels, ideal = judged(numbered)
        matter = labels.filter(pl.col("label") > 0)
        found = []
        for run in runs:
            rows = ranked(run, numbered).join(
                matter, on=on, how="right", build_side="force_right"
            )
            sums = rows.group_by("query").agg(gain("rank").sum())
            sums = sums.join(ideal, on="query").join(numbered, on="query")
            found.append(sums.sort("query").collect(engine="streaming"))
        return found

    def documents() -> pl.DataFrame:
        numbered = numbers.collect().lazy()
        labels, ideal = judged(numbered)
        held = [
            ranked(run, numbered).collect(engine="streaming").lazy() for run in runs
        ]
        first = pl.concat(
            r.filter(pl.col("rank") <= k).select(on) for r in held
        ).unique()
        rows = labels.join(first, on=on, how="right")
        for name, run in zip(("baseline_rank", "rank"), held, strict=True):
            run = run.rename({"rank": name})
            rows = run.join(rows, on=on, how="right", build_side="force_right")
        added = (gain("rank") - gain("baseline_rank")) / pl.col("ideal")
        rows = rows.join(ideal, on="query", how="left").with_columns(
            added.alias("adds")
        )
        rows = rows.sort("query", "rank", "baseline_rank").join(numbered, on="query")
        return rows.collect(engine="streaming")

    return {"values by hand": values, "documents by hand": documents}


def cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unjudged", type=int, choices=[*NOISE], default=0)
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--by-hand", action="store_true")
    given = parser.parse_args()
    frames = drawn(given.queries, given.unjudged)
    measured = calls(frames) | (steps(frames) if given.steps else {})
    measured |= by_hand(frames) if given.by_hand else {}
    least = dict.fromkeys(measured, float("inf"))
    for _ in range(given.rounds):
        for name, call in measured.items():
            start = cpu()
            call()
            least[name] = min(least[name], cpu() - start)
    base = next(iter(least.values()))
    for name, seconds in least.items():
        print(f"| {name} | {seconds:.2f} | {seconds / base:.2f} |")


if __name__ == "__main__":
    main()
