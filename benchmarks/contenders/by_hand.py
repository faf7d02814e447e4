"""The five measures as a Polars plan written by hand, for this input and no other.

It shows what Polars itself can do: no choices, and no checks but that the rows of a
query stand together. Query ids in any order are known to fit into 32 bits, and every
judged query to have a relevant document.
"""

from __future__ import annotations

from task import MEASURES, Contender, Means, Task


def contender(task: Task) -> Contender:
    import polars as pl

    col, place = pl.col, pl.element()
    top_10 = pl.when(place <= 10).then(1 / (place + 1).log(2)).otherwise(0.0)
    if task.measures != MEASURES[5]:
        raise ValueError("written for the five measures")

    def by_query(rows: pl.LazyFrame) -> pl.LazyGroupBy:
        return rows.set_sorted("query_id").group_by("query_id", maintain_order=True)

    def numbered(length: pl.Expr) -> pl.Expr:
        return pl.int_ranges(1, length + 1, dtype=pl.Int32)

    def as_floats(words: pl.Expr) -> pl.Expr:
        return words.cast(pl.List(pl.Float64))

    def of_log(log: pl.LazyFrame) -> pl.LazyFrame:
        if task.layout == "any":
            log = log.with_columns(col("query_id").cast(pl.Int32))
            log = log.sort("query_id", maintain_order=True)
        ranked = by_query(log).agg(
            gain=col("label").sort_by("score", descending=True, maintain_order=True)
        )
        places = ranked.with_columns(rank=numbered(col("gain").list.len()))
        rows = places.explode("gain", "rank")
        kept = rows.filter((col("gain") > 0) | (col("rank") == 1))
        lists = by_query(kept).agg("rank", "gain")
        empty = (col("gain").list.first() <= 0).cast(pl.Int32)  # the row of rank 1
        words = lists.with_columns(empty=empty, relevant=col("gain").list.len() - empty)
        best = as_floats(col("gain").list.sort(descending=True))
        values = words.select(
            "query_id",
            "relevant",
            "empty",
            rank=as_floats(col("rank")),
            gain=as_floats(col("gain")),
            best=best,
            hits=as_floats(pl.int_ranges(1 - col("empty"), col("relevant") + 1)),
        )
        ideal = as_floats(numbered(col("best").list.len()))
        return measures(values, ideal_dcg=(col("best") * discounts(ideal)).list.sum())

    def of_run(run: pl.LazyFrame, qrels: pl.LazyFrame) -> pl.LazyFrame:
        keys = ["score", "doc_id"] if task.ties else ["score"]
        ranked = by_query(run).agg(
            col("doc_id").sort_by(keys, descending=True, maintain_order=True)
        )
        places = ranked.with_columns(rank=numbered(col("doc_id").list.len()))
        relevant = qrels.filter(col("label") > 0)
        rows = places.explode("doc_id", "rank")
        hits = rows.join(relevant, on=["query_id", "doc_id"])
        found = hits.sort("rank").group_by("query_id", maintain_order=True)
        found = found.agg("rank", gain="label")
        pools = relevant.group_by("query_id").agg(
            best=col("label").sort(descending=True), relevant=pl.len()
        )
        ideal = as_floats(numbered(col("best").list.len()))
        gains = as_floats(col("best")) * discounts(ideal)
        pools = pools.with_columns(ideal_dcg=gains.list.sum(), empty=pl.lit(0))
        words = pools.join(found, on="query_id", how="left").with_columns(
            rank=as_floats(col("rank")),
            gain=as_floats(col("gain")),
            hits=as_floats(numbered(col("rank").list.len())),
        )
        return measures(words, ideal_dcg=col("ideal_dcg"))

    def discounts(ranks: pl.Expr) -> pl.Expr:
        return ranks.list.eval(top_10)

    def measures(words: pl.LazyFrame, ideal_dcg: pl.Expr) -> pl.LazyFrame:
        rank, gain, relevant = col("rank"), col("gain"), col("relevant")
        dcg = (gain * discounts(rank)).list.sum()
        first = rank.list.get(col("empty"), null_on_oob=True)

        def found(k: int) -> pl.Expr:
            return rank.list.eval(place <= k).list.sum() - col("empty")

        values = {
            "ndcg@10": dcg / ideal_dcg,
            "ap": (col("hits") / rank).list.sum() / relevant,
            "rr": 1 / first,
            "precision@10": found(10) / 10,
            "recall@100": found(100) / relevant,
        }
        known = pl.when(relevant > 0)
        return words.select(
            "query_id",
            **{name: known.then(v).fill_null(0.0) for name, v in values.items()},
        )

    def load():
        frame = task.read().lazy() if task.in_memory else task.scan()
        return frame, task.qrels and pl.scan_parquet(task.qrels)

    def evaluate(loaded) -> Means:
        log, qrels = loaded
        plan = of_log(log) if qrels is None else of_run(log, qrels)
        key = col("query_id").hash()  # it forgets the order that was claimed
        means = plan.select(
            col("ndcg@10", "ap", "rr", "precision@10", "recall@100").mean(),
            together=key.n_unique() == pl.len(),
        )
        found = means.collect(engine="in-memory" if task.in_memory else "streaming")
        row = found.row(0, named=True)
        if not row.pop("together"):
            raise ValueError("rows of a query stand apart")
        return row

    return load, evaluate
