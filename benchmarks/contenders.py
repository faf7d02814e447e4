"""One contender a function: nDCG@10, AP, RR, P@10 and R@100 of a Parquet log.

``python benchmarks/contenders.py NAME PATH`` runs one in a process of its own and
prints a JSON object: seconds to load, seconds to evaluate, peak memory, the means.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import polars as pl

Loaded = object
Pair = tuple[Callable[[str], Loaded], Callable[[Loaded], list[float]]]

MEASURES = ["ndcg@10", "ap", "rr", "precision@10", "recall@100"]
METRICS = ("ndcg", "precision", "recall", "ap", "rr", "accuracy")
THIRTY = [f"{name}@{k}" for name in METRICS for k in (1, 5, 10, 20, 100)]


def polars_rank(measures: list[str] = MEASURES) -> Pair:
    """This library: five measures, rows in any order."""
    import polars_rank as pr

    def evaluate(frame: object) -> list[float]:
        assert isinstance(frame, pl.LazyFrame)
        done = pr.evaluate(frame, measures, doc=None).collect(engine="streaming")
        return [done[name].item() for name in measures[:5]]

    return pl.scan_parquet, evaluate


def polars_rank_30() -> Pair:
    """This library: thirty measures, rows in any order."""
    return polars_rank(THIRTY)


def scan() -> Pair:
    """The bare scan of the three columns."""
    columns = pl.col("query_id", "score", "label").cast(pl.Float64)
    return pl.scan_parquet, lambda f: list(f.select(columns.sum()).collect().row(0))


def floor() -> Pair:
    """A compiled single pass (numba, all cores); rows must be contiguous."""
    import numba as nb
    import numpy as np

    @nb.njit(parallel=True, cache=True)
    def kernel(start, score, label, discount):
        out = np.zeros((len(start) - 1, 5))
        for q in nb.prange(len(start) - 1):
            a, b = start[q], start[q + 1]
            order = np.argsort(-score[a:b])
            hits, ap, rr, dcg, p10, r100 = 0, 0.0, 0.0, 0.0, 0, 0
            for i in range(b - a):
                grade = label[a + order[i]]
                if grade > 0:
                    hits += 1
                    ap += hits / (i + 1)
                    if rr == 0.0:
                        rr = 1 / (i + 1)
                    if i < 10:
                        dcg += grade * discount[i]
                        p10 += 1
                    if i < 100:
                        r100 += 1
            best = np.sort(label[a:b])
            ideal = 0.0
            for i in range(min(10, b - a)):
                ideal += best[b - a - 1 - i] * discount[i]
            if hits > 0:
                out[q, 0] = dcg / ideal
                out[q, 1] = ap / hits
                out[q, 2] = rr
                out[q, 3] = p10 / 10
                out[q, 4] = r100 / hits
        return out

    discount = 1 / np.log2(np.arange(2, 12))
    warm = np.zeros(2)
    kernel(np.array([0, 2]), warm.astype(np.float32), warm.astype(np.int8), discount)

    def evaluate(path: object) -> list[float]:
        frame = pl.read_parquet(str(path), columns=["query_id", "score", "label"])
        query = frame["query_id"].to_numpy()
        start = np.concatenate(
            [[0], np.flatnonzero(query[1:] != query[:-1]) + 1, [len(query)]]
        )
        out = kernel(
            start, frame["score"].to_numpy(), frame["label"].to_numpy(), discount
        )
        return out.mean(0).tolist()

    return lambda path: path, evaluate


def hand_written() -> Pair:
    """The same plan written by hand for these five measures, unchecked."""
    c, e = pl.col, pl.element()
    ten = pl.when(e <= 10).then(1 / (e + 1).log(2)).otherwise(0.0)
    floats = pl.List(pl.Float64)

    def evaluate(frame: object) -> list[float]:
        assert isinstance(frame, pl.LazyFrame)
        by_score = c("label").sort_by("score", descending=True, maintain_order=True)
        top = (
            frame.select("query_id", "score", "label")
            .sort("query_id", maintain_order=True)
            .group_by("query_id")
            .agg(g=by_score)
            .with_columns(r=pl.int_ranges(1, c("g").list.len() + 1, dtype=pl.Int32))
            .explode("g", "r")
            .filter((c("g") > 0) | (c("r") == 1))
            .set_sorted("query_id")
            .group_by("query_id")
            .agg("r", "g")
            .with_columns(z=(c("g").list.first() <= 0).cast(pl.Int32))
        )
        n = c("g").list.len()
        lists = top.select(
            "z",
            R=n.cast(pl.Int32) - c("z"),
            r=c("r").cast(floats),
            g=c("g").cast(floats),
            k=pl.int_ranges(1 - c("z"), n + 1 - c("z")).cast(floats),
            j=pl.int_ranges(1, n + 1).cast(floats),
            best=c("g").list.sort(descending=True).cast(floats),
        )
        discount = c("r").list.eval(ten), c("j").list.eval(ten)
        first = 1 / c("r").list.get(c("z"), null_on_oob=True)
        values = {
            "ndcg": (c("g") * discount[0]).list.sum()
            / (c("best") * discount[1]).list.sum(),
            "ap": (c("k") / c("r")).list.sum() / c("R"),
            "rr": first,
            "p": (c("r").list.eval(e <= 10).list.sum() - c("z")) / 10,
            "recall": (c("r").list.eval(e <= 100).list.sum() - c("z")) / c("R"),
        }
        defined = (
            pl.when(c("R") > 0).then(v).otherwise(0.0).mean().alias(name)
            for name, v in values.items()
        )
        return list(lists.select(defined).collect(engine="streaming").row(0))

    return pl.scan_parquet, evaluate


def pytrec_eval() -> Pair:
    """pytrec_eval-terrier: dicts of dicts, then C."""
    import pytrec_eval

    def load(path: str) -> Loaded:
        frame = pl.read_parquet(path).with_columns(
            pl.col("query_id").cast(pl.String),
            doc_id=pl.int_range(pl.len()).cast(pl.String),
        )
        run: dict[str, dict[str, float]] = {}
        qrels: dict[str, dict[str, int]] = {}
        for (query,), group in frame.group_by("query_id"):
            docs = group["doc_id"].to_list()
            run[str(query)] = dict(zip(docs, group["score"].to_list(), strict=True))
            qrels[str(query)] = dict(zip(docs, group["label"].to_list(), strict=True))
        return run, qrels

    def evaluate(loaded: object) -> list[float]:
        run, qrels = loaded  # type: ignore[misc]
        names = {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100"}
        found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        columns = ["ndcg_cut_10", "map", "recip_rank", "P_10", "recall_100"]
        return [sum(q[c] for q in found.values()) / len(found) for c in columns]

    return load, evaluate


def ranx() -> Pair:
    """ranx: its own structures from a data frame, then numba."""
    import ranx

    def load(path: str) -> Loaded:
        frame = pl.read_parquet(path).with_columns(
            pl.col("query_id").cast(pl.String),
            pl.col("score").cast(pl.Float64),
            pl.col("label").cast(pl.Int64),
            doc_id=pl.int_range(pl.len()).cast(pl.String),
        )
        table = frame.to_pandas().astype({"query_id": object, "doc_id": object})
        qrels = ranx.Qrels.from_df(table, "query_id", "doc_id", "label")
        return qrels, ranx.Run.from_df(table, "query_id", "doc_id", "score")

    def evaluate(loaded: object) -> list[float]:
        qrels, run = loaded  # type: ignore[misc]
        names = ["ndcg@10", "map", "mrr", "precision@10", "recall@100"]
        found = ranx.evaluate(qrels, run, names)
        return [float(found[name]) for name in names]

    return load, evaluate


def duckdb() -> Pair:
    """DuckDB: windows in SQL over the Parquet file."""
    import duckdb

    query = """
    with ranked as (
      select query_id, label,
        row_number() over (partition by query_id order by score desc) r
      from read_parquet('{path}')
    ), words as (
      select query_id, label, r,
        row_number() over (partition by query_id order by r) h,
        row_number() over (partition by query_id order by label desc) i
      from ranked where label > 0
    ), sums as (
      select query_id,
        sum(case when r <= 10 then label / log2(r + 1) else 0 end)
          / sum(case when i <= 10 then label / log2(i + 1) else 0 end) ndcg,
        sum(h / r) / count(*) ap, 1 / min(r) rr,
        sum(case when r <= 10 then 1 else 0 end) / 10 p10,
        sum(case when r <= 100 then 1 else 0 end) / count(*) r100
      from words group by query_id
    )
    select sum(ndcg) / n, sum(ap) / n, sum(rr) / n, sum(p10) / n, sum(r100) / n
    from sums, (select count(distinct query_id) n from ranked) group by n
    """

    def evaluate(path: object) -> list[float]:
        return list(duckdb.sql(query.format(path=path)).fetchall()[0])

    return lambda path: path, evaluate


def pandas() -> Pair:
    """pandas: sort, cumulative counts, group-by."""
    import numpy as np
    import pandas as pd

    def load(path: str) -> Loaded:
        return pd.read_parquet(path, columns=["query_id", "score", "label"])

    def evaluate(loaded: object) -> list[float]:
        frame = loaded.sort_values(["query_id", "score"], ascending=[True, False])
        queries = frame["query_id"].nunique()
        frame["r"] = frame.groupby("query_id").cumcount() + 1
        frame = frame[frame["label"] > 0].copy()
        frame["h"] = frame.groupby("query_id").cumcount() + 1
        best = frame.sort_values(["query_id", "label"], ascending=[True, False])
        frame["i"] = best.groupby("query_id").cumcount() + 1
        frame["dcg"] = np.where(
            frame["r"] <= 10, frame["label"] / np.log2(frame["r"] + 1), 0
        )
        frame["idcg"] = np.where(
            frame["i"] <= 10, frame["label"] / np.log2(frame["i"] + 1), 0
        )
        frame["ap"] = frame["h"] / frame["r"]
        frame["p"] = frame["r"] <= 10
        frame["recall"] = frame["r"] <= 100
        sums = frame.groupby("query_id").agg(
            dict.fromkeys(("dcg", "idcg", "ap", "p", "recall"), "sum")
            | {"r": "min", "label": "size"}
        )
        values = (
            sums["dcg"] / sums["idcg"],
            sums["ap"] / sums["label"],
            1 / sums["r"],
            sums["p"] / 10,
            sums["recall"] / sums["label"],
        )
        return [float(v.sum() / queries) for v in values]

    return load, evaluate


CONTENDERS: dict[str, Callable[[], Pair]] = {
    f.__name__: f
    for f in (
        scan,
        floor,
        hand_written,
        polars_rank,
        polars_rank_30,
        duckdb,
        pandas,
        pytrec_eval,
        ranx,
    )
}


def measure(name: str, path: str) -> dict[str, object]:
    load, evaluate = CONTENDERS[name]()
    start = time.perf_counter()
    loaded = load(path)
    middle = time.perf_counter()
    found = evaluate(loaded)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "load": middle - start,
        "evaluate": end - middle,
        "peak_mb": peak,
        "means": found,
    }


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
