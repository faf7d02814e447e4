"""Comparisons and click logs against plans that were written by hand.

``POLARS_MAX_THREADS=1 python benchmarks/wings.py [--rounds 9] [--only compare ...]``
runs each function in turns with a plan that is written for these numbers alone, in
Polars, NumPy and scipy, without checks and without what else the function tells; and
with SQL of DuckDB, if that is installed. All must find the same numbers, to 1e-9. The
table has CPU time, the least and the median of the rounds, as multiples of the plan by
hand, and how many megabytes a process of its own grows in one call.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from clicks import TWELVE, scan, write_log
from scipy import stats

import polars_rank as pr
from polars_rank import clicks

try:
    import duckdb
except ImportError:
    duckdb = None

MEASURES = ("ndcg@10", "ap", "rr")
SYSTEMS = ("bm25", "dense", "hybrid")
LARGE, SMALL = 1_000_000, 10_000  # rows of a log
DEPTH = 10
Run = Callable[[], pl.DataFrame]
PAIR = ["measure", "baseline", "system"]
ENDS = ("lower", "upper")
SERIES = 1e-4  # of intervals of click logs: ours approximate t, within 2e-5 of it


class Bar(NamedTuple):
    """One line of the table: what is called, and what else finds the same numbers."""

    name: str
    ours: Run
    others: dict[str, Run]
    order: list[str]


# -- comparison of runs


class Runs(NamedTuple):
    """Runs by the name of their system, and judgments."""

    runs: dict[str, pl.DataFrame]
    qrels: pl.DataFrame


def drawn(queries: int, judged: int, documents: int = 100) -> Runs:
    """Draw runs without equal scores; each query has a relevant document."""
    rng = np.random.default_rng(1)
    names = pl.Series("query_id", [f"q{i:07}" for i in range(queries)])
    pool = np.array([rng.permutation(2_000)[:judged] for _ in range(queries)])
    label = rng.choice([0, 1, 2, 3], pool.shape, p=[0.5, 0.3, 0.15, 0.05])
    label[:, 0] = np.maximum(label[:, 0], 1)

    def docs(numbers: np.ndarray) -> pl.Series:
        return pl.format("D{}", pl.Series("n", numbers.ravel())).alias("doc_id")

    def rows(numbers: np.ndarray, **columns: np.ndarray) -> pl.DataFrame:
        repeated = names.gather(np.repeat(np.arange(queries), numbers.shape[1]))
        values = {name: column.ravel() for name, column in columns.items()}
        return pl.select(repeated, docs(numbers)).with_columns(**values)

    def run(strength: float) -> pl.DataFrame:
        # Half of the judged documents are found, the better ones nearer to the top.
        found = pool[:, : judged // 2]
        rest = rng.integers(2_000, 10**7, (queries, documents - found.shape[1]))
        rest += np.arange(rest.shape[1]) * 10**7  # no document twice
        score = rng.standard_normal((queries, documents))
        score[:, : found.shape[1]] += strength * label[:, : found.shape[1]]
        return rows(np.hstack([found, rest]), score=score)

    runs = {name: run(0.6 + 0.1 * i) for i, name in enumerate(SYSTEMS)}
    return Runs(runs, rows(pool, label=label))


TOLD = (
    *("measure", "baseline", "system", "difference", "lower", "upper"),
    *("statistic", "p_value", "p_adjusted", "wins", "losses"),
)


def compared(given: Runs) -> pl.DataFrame:
    found = pr.compare(given.runs, list(MEASURES), qrels=given.qrels)
    return found.pairs.select(TOLD)


def compared_by_hand(given: Runs) -> pl.DataFrame:
    relevant = given.qrels.lazy().filter(pl.col("label") > 0)
    place = pl.int_ranges(1, pl.col("doc_id").list.len() + 1, dtype=pl.Int32)
    best = pl.col("label").sort(descending=True).head(10)
    ideal = (best / (pl.int_range(1, best.len() + 1) + 1).log(2)).sum()
    pools = relevant.group_by("query_id").agg(ideal=ideal, relevant=pl.len())
    rank = pl.col("rank").sort()
    dcg = pl.when(pl.col("rank") <= 10).then(
        pl.col("label") / (pl.col("rank") + 1).log(2)
    )

    def values(run: pl.DataFrame) -> pl.LazyFrame:
        ranked = (
            run.lazy()
            .group_by("query_id")
            .agg(pl.col("doc_id").sort_by("score", descending=True))
            .with_columns(rank=place)
            .explode("doc_id", "rank")
        )
        sums = (
            ranked.join(relevant, on=["query_id", "doc_id"])
            .group_by("query_id")
            .agg(
                dcg=dcg.sum(),
                precisions=(pl.int_range(1, pl.len() + 1) / rank).sum(),
                first=pl.col("rank").min(),
            )
        )
        return (
            pools.join(sums, on="query_id", how="left")
            .sort("query_id")
            .select(
                (pl.col("dcg") / pl.col("ideal")).fill_null(0.0).alias("ndcg@10"),
                (pl.col("precisions") / pl.col("relevant")).fill_null(0.0).alias("ap"),
                (1 / pl.col("first")).fill_null(0.0).alias("rr"),
            )
        )

    return tested(pl.collect_all([values(run) for run in given.runs.values()]))


def tested(values: list[pl.DataFrame]) -> pl.DataFrame:
    """Make paired t tests of values of queries, one frame for each system."""
    found = []
    for measure in MEASURES:
        columns = [frame[measure].to_numpy() for frame in values]
        rows = []
        for i, j in combinations(range(len(columns)), 2):
            d = columns[j] - columns[i]
            t = stats.ttest_rel(columns[j], columns[i])
            ends = t.confidence_interval(0.95)
            won, lost = (d > 1e-9).sum(), (d < -1e-9).sum()
            names = measure, SYSTEMS[i], SYSTEMS[j]
            numbers = [d.mean(), ends.low, ends.high, t.statistic, t.pvalue]
            rows.append([*names, *map(float, numbers), int(won), int(lost)])
        p, adjusted, least = [row[7] for row in rows], [0.0] * len(rows), 0.0
        for step, k in enumerate(np.argsort(p)):  # Holm
            least = adjusted[k] = min(max(least, p[k] * (len(p) - step)), 1.0)
        found += [[*r[:8], a, *r[8:]] for r, a in zip(rows, adjusted, strict=True)]
    return pl.DataFrame(found, schema=[*TOLD], orient="row")


PER_QUERY = """
    with ranked as (
      select query_id, doc_id,
        row_number() over (partition by query_id order by score desc) r from run
    ), words as (
      select query_id, label, r,
        row_number() over (partition by query_id order by r nulls last) h,
        row_number() over (partition by query_id order by label desc) i
      from qrels left join ranked using (query_id, doc_id) where label > 0
    ) select
        coalesce(sum(label / log2(r + 1)) filter (where r <= 10), 0)
          / sum(label / log2(i + 1)) filter (where i <= 10) "ndcg@10",
        coalesce(sum(h / r), 0) / count(*) "ap", coalesce(1 / min(r), 0) "rr"
      from words group by query_id order by query_id"""


def compared_in_sql(given: Runs) -> pl.DataFrame:
    """The values of queries in SQL, the tests as by hand."""
    values = []
    with connection() as sql:
        sql.register("qrels", given.qrels.to_arrow())
        for run in given.runs.values():
            sql.register("run", run.to_arrow())
            values.append(sql.sql(PER_QUERY).pl())
    return tested(values)


# -- click logs


def behavior_told(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    found = clicks.behavior(log, TWELVE, by="segment", dwell="dwell")
    return found.lazy().collect()


def behavior_by_hand(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """The same measures, as one would write them: unchecked, with inexact sums."""
    position, dwell = pl.col("position").cast(pl.Int32), pl.col("dwell")
    at, shown, n = pl.col("at"), pl.col("position"), pl.col("n")
    impressions = (
        log.lazy()
        .with_columns(at=pl.when("clicked").then(position))
        .with_columns(long=pl.when(dwell >= 30).then(at), inverse=1.0 / at)
        .group_by("impression_id")
        .agg(
            pl.col("segment", "query_id").first(),
            pl.col("inverse").sum(),
            n=at.count(),
            clicks3=(at <= 3).sum(),
            shown3=(shown <= 3).sum(),
            clicks1=(at == 1).sum(),
            shown1=(shown == 1).sum(),
            first=at.min(),
            last=at.max(),
            total=at.sum(),
            long=pl.col("long").min(),
        )
    )
    first, last = pl.col("first"), pl.col("last")
    segments = impressions.group_by("segment").agg(
        pl.len().alias("impressions"),
        n.sum().alias("total_clicks"),
        pl.col("query_id").n_unique().alias("queries"),
        n.mean().alias("clicks"),
        (n > 0).mean().alias("any_click"),
        (n == 0).mean().alias("abandonment"),
        (pl.col("clicks3").sum() / pl.col("shown3").sum()).alias("ctr@3"),
        (pl.col("clicks1").sum() / pl.col("shown1").sum()).alias("ctr_at@1"),
        first.mean().alias("first_click"),
        last.mean().alias("last_click"),
        (pl.col("total").sum() / n.sum()).alias("click_position"),
        (1 / first).fill_null(0).mean().alias("rr"),
        (pl.col("inverse") / n).fill_nan(0).mean().alias("mean_rr"),
        ((last - n.cast(pl.Int32)).sum() / last.sum()).alias("p_skip"),
        (1 / pl.col("long")).fill_null(0).mean().alias("satisfied_rr"),
    )
    return segments.collect(engine=engine_for(log))


BEHAVIOR = """
    with i as (
      select impression_id, first(segment) segment, first(query_id) query_id,
        count(*) filter (where clicked) n,
        count(*) filter (where clicked and position <= 3) clicks3,
        count(*) filter (where position <= 3) shown3,
        count(*) filter (where clicked and position = 1) clicks1,
        count(*) filter (where position = 1) shown1,
        min(position) filter (where clicked) lo,
        max(position) filter (where clicked) hi,
        sum(position) filter (where clicked) total,
        sum(1 / position) filter (where clicked) inverse,
        min(position) filter (where clicked and dwell >= 30) long
      from log group by impression_id
    ) select segment, count(*) impressions, sum(n) total_clicks,
        count(distinct query_id) queries, avg(n) clicks, avg((n > 0)::int) any_click,
        avg((n = 0)::int) abandonment, sum(clicks3) / sum(shown3) "ctr@3",
        sum(clicks1) / sum(shown1) "ctr_at@1", avg(lo) first_click, avg(hi) last_click,
        sum(total) / sum(n) click_position, avg(coalesce(1 / lo, 0)) rr,
        avg(case when n > 0 then inverse / n else 0 end) mean_rr,
        sum(hi - n) / sum(hi) p_skip, avg(coalesce(1 / long, 0)) satisfied_rr
      from i group by segment"""


def in_sql(text: str) -> Callable[[object], pl.DataFrame]:
    def run(log: object) -> pl.DataFrame:
        with connection() as sql:
            return queried(sql, text, log)

    return run


def queried(sql, text: str, log: object) -> pl.DataFrame:
    if isinstance(log, pl.DataFrame):
        sql.register("log", log.to_arrow())
    else:
        sql.sql(f"create view log as select *, user_id % 8 segment from '{log}'")
    return sql.sql(text).pl()


def connection():
    return duckdb.connect(config={"threads": pl.thread_pool_size()})


PROPENSITIES = ("position", "propensity", "se", "lower", "upper")


def harvested(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    return clicks.propensities(log).lazy().collect().select(PROPENSITIES)


def harvested_by_hand(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    table = (
        log.lazy()
        .group_by("query_id", "doc_id", "position")
        .agg(n=pl.len(), c=pl.col("clicked").sum())
        .collect(engine=engine_for(log))
    )
    return fitted(table)


def fitted(table: pl.DataFrame) -> pl.DataFrame:
    """Fit by Newton's method, with errors of a jackknife over queries in one step."""
    pair = ["query_id", "doc_id"]
    here = pl.len().over(pair) > 1, pl.col("c").sum().over(pair) > 0
    table = table.filter(*here).sort(*pair)
    code = table.select(
        pair=pl.struct(pair).rle_id(), at=pl.col("position").cast(pl.Int64) - 1
    )
    code, at = (code[name].to_numpy() for name in ("pair", "at"))
    k = int(at.max()) + 1
    n, c = np.zeros((2, int(code[-1]) + 1, k))
    n[code, at], c[code, at] = table["n"].to_numpy(), table["c"].to_numpy()
    x, total = np.zeros(k), c.sum(1, keepdims=True)
    while True:
        share = n * np.exp(x)
        share /= share.sum(1, keepdims=True)
        weight = total * share
        score = c - weight
        curvature = np.diag(weight.sum(0)) - weight.T @ share
        step = np.linalg.solve(curvature[1:, 1:], score.sum(0)[1:])
        if np.abs(step).max() < 1e-9:
            break
        x[1:] += step
    query = table.group_by(pair, maintain_order=True).agg()["query_id"].rle_id()
    starts = np.flatnonzero(np.diff(query.to_numpy(), prepend=-1))
    scores = np.add.reduceat(score, starts)
    own = np.zeros((len(starts), k, k))
    own[:, range(k), range(k)] = np.add.reduceat(weight, starts)
    for i in range(k):
        own[:, i] -= np.add.reduceat(weight[:, i : i + 1] * share, starts)
    rest = (curvature - own)[:, 1:, 1:]
    moved = np.linalg.solve(rest, scores[:, 1:, None])[:, :, 0]
    groups, theta = len(starts), np.exp(x)
    error = np.sqrt((moved**2).sum(0) * (groups - 1) / groups)
    error = np.concatenate([[0.0], error])
    factor = np.exp(stats.t.ppf(0.975, groups - 1) * error)
    return pl.DataFrame(
        [np.arange(1, k + 1), theta, theta * error, theta / factor, theta * factor],
        schema=[*PROPENSITIES],
    )


PAIRS = """
    select query_id, doc_id, position, count(*) n, sum(clicked::int)::bigint c from log
    group by query_id, doc_id, position"""


def harvested_in_sql(log: object) -> pl.DataFrame:
    """The table of counts in SQL, the fit as by hand."""
    with connection() as sql:
        return fitted(queried(sql, PAIRS, log))


EXAMINED = pl.DataFrame({"position": range(1, DEPTH + 1)}).with_columns(
    propensity=1 / pl.col("position")
)
WEIGHED = (
    *("estimate", "se", "lower", "upper", "effective_size", "largest_weight_share"),
    *("relevant_per_impression", "impressions", "clicks", "clusters"),
)


def weighed(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    found = clicks.counterfactual(
        log, new="new_score", propensities=EXAMINED, cluster="user_id"
    )
    return found.lazy().collect().select(WEIGHED)


def weighed_by_hand(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    by_score = pl.col("new_score").rank("ordinal", descending=True)
    rank = pl.col("rank")
    discount = pl.when(rank <= 10).then(1 / (rank + 1).log(2)).otherwise(0.0)
    w = pl.when("clicked").then("position").otherwise(0)  # 1 / (1 / position)
    users = (
        log.lazy()
        .with_columns(w=w.cast(pl.Float64), rank=by_score.over("impression_id"))
        .with_columns(value=discount * pl.col("w"))
        .group_by("user_id")
        .agg(
            pl.col("value", "w").sum(),
            pl.col("clicked").sum().alias("clicks"),
            ww=(pl.col("w") ** 2).sum(),
            largest=pl.col("w").max(),
            size=pl.col("impression_id").n_unique(),
        )
        .collect(engine=engine_for(log))
    )
    return summed(users)


def summed(users: pl.DataFrame) -> pl.DataFrame:
    """Estimate a mean with its error, of sums of users of unequal sizes."""
    value, size = (users[c].cast(pl.Float64).to_numpy() for c in ("value", "size"))
    n, whole, squares = len(users), size.sum(), (size**2).sum()
    mean = value.sum() / whole
    error = math.sqrt(((value - mean * size) ** 2).sum() * n / (n - 1)) / whole
    top, shares = size.max() / whole, squares / whole**2
    pull = (top**3 + (shares - top**2) ** 2 / (1 - top)) / shares
    error *= (1 - 1 / n) / (1 - pull)
    half = stats.t.ppf(0.975, whole**2 / squares - 1) * error
    w, ww = (float(users[c].sum()) for c in ("w", "ww"))
    row = [mean, error, mean - half, mean + half, w**2 / ww]
    row += [users["largest"].max() / w, w / whole, int(whole)]
    row += [int(users["clicks"].sum()), n]
    return pl.DataFrame([row], schema=[*WEIGHED], orient="row")


USERS = """
    with ranked as (
      select user_id, impression_id, clicked, clicked::int * position w,
        row_number() over (partition by impression_id order by new_score desc) r
      from log
    ) select sum(case when r <= 10 then w / log2(r + 1) else 0 end) "value",
        sum(w)::double w, sum(clicked::int)::bigint clicks, sum(w * w)::double ww,
        max(w) largest, count(distinct impression_id) size
      from ranked group by user_id"""


def weighed_in_sql(log: object) -> pl.DataFrame:
    with connection() as sql:
        return summed(queried(sql, USERS, log))


def engine_for(log: pl.LazyFrame | pl.DataFrame) -> str:
    return "in-memory" if isinstance(log, pl.DataFrame) else "streaming"


# -- measurement


def bars(folder: Path) -> Iterator[Bar]:
    for queries, judged in ((50, 60), (7_000, 20)):
        given = drawn(queries, judged)
        others = {
            "by hand": lambda given=given: compared_by_hand(given),
            "DuckDB": lambda given=given: compared_in_sql(given),
        }
        name = f"compare, {queries:,} x 100 documents, 3 systems"
        yield Bar(name, lambda given=given: compared(given), others, PAIR)
    tasks = (
        ("behavior", behavior_told, behavior_by_hand, in_sql(BEHAVIOR), ["segment"]),
        ("propensities", harvested, harvested_by_hand, harvested_in_sql, ["position"]),
        ("counterfactual", weighed, weighed_by_hand, weighed_in_sql, []),
    )
    for rows in (SMALL, LARGE):
        path = folder / f"log-{rows}.parquet"
        if not path.exists():
            write_log(rows, path)
        small = rows == SMALL
        log = scan(path).collect() if small else scan(path)
        for name, ours, hand, sql, keys in tasks:
            others = {
                "by hand": lambda hand=hand, log=log: hand(log),
                "DuckDB": lambda sql=sql, t=log if small else path: sql(t),
            }
            where = "in memory" if small else "in a file"
            name = f"{name}, {rows:,} rows {where}"
            yield Bar(name, lambda ours=ours, log=log: ours(log), others, keys)


def require_equal(bar: Bar) -> None:
    """Require the same numbers of all, to 1e-9."""
    ours = numbers(bar.ours(), bar.order)
    for who, run in bar.others.items():
        other = numbers(run().select(ours.columns), bar.order)
        for column in ours.columns:
            a, b = ours[column], other[column]
            if not a.dtype.is_numeric():
                assert a.to_list() == b.to_list(), (bar.name, who, column)
                continue
            a, b = (x.cast(pl.Float64).to_numpy() for x in (a, b))
            tolerance = SERIES if bar.order != PAIR and column in ENDS else 1e-9
            same = np.allclose(a, b, rtol=tolerance, atol=tolerance)
            assert same, (bar.name, who, column, np.abs(a - b).max())


def numbers(frame: pl.DataFrame, order: list[str]) -> pl.DataFrame:
    return frame.sort(order) if order else frame


def timed(bar: Bar, rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each, in turns, after one call that is not counted."""
    taken: dict[str, list[float]] = {}
    calls = {"ours": bar.ours, **bar.others}
    for turn in range(rounds + 1):
        for who, call in calls.items():
            begun = time.process_time()
            call()
            if turn:
                taken.setdefault(who, []).append(time.process_time() - begun)
    return taken


def grown(bar: Bar, who: str) -> float:
    """Megabytes by which this process grows at most while it runs one call."""
    status = Path("/proc/self/status")

    def read(name: str) -> int:
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines[name].split()[0])

    Path("/proc/self/clear_refs").write_text("5")
    before = read("VmRSS")
    {"ours": bar.ours, **bar.others}[who]()
    return (read("VmHWM") - before) / 1000


def grown_alone(name: str, who: str, folder: Path) -> float:
    """The same, in a process of its own."""
    own = [sys.executable, __file__, "--folder", str(folder), "--grown", name, who]
    done = subprocess.run(own, check=True, capture_output=True, text=True)
    return float(done.stdout)


def row(bar: Bar, rounds: int, folder: Path, *, memory: bool) -> str:
    require_equal(bar)
    taken = timed(bar, rounds)
    hand = taken["by hand"]
    cells = [bar.name, f"{1000 * min(hand):.1f}"]
    for who in ("ours", "DuckDB"):
        if who not in taken:
            cells.append("")
            continue
        least = min(taken[who]) / min(hand)
        middle = statistics.median(a / b for a, b in zip(taken[who], hand, strict=True))
        cells.append(f"{least:.2f} / {middle:.2f}")
    if memory:
        own, other = (grown_alone(bar.name, w, folder) for w in ("ours", "by hand"))
        cells.append(f"{own:.0f} / {other:.0f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument("--grown", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if given.grown:
            name, who = given.grown
            warm, bar = None, None
            for each in bars(folder):
                if each.name.split(",")[0] == name.split(",")[0] and warm is None:
                    warm = each
                if each.name == name:
                    bar = each
                    break
            {"ours": warm.ours, **warm.others}[who]()  # imports, and what is cached
            print(grown(bar, who))
            return
        heads = ["ms by hand", "ours", "DuckDB", *["MB, ours / by hand"] * given.memory]
        print(f"| what | {' | '.join(heads)} |")
        print("|---|" + "---:|" * len(heads))
        for bar in bars(folder):
            if any(part in bar.name for part in given.only):
                print(row(bar, given.rounds, folder, memory=given.memory), flush=True)


if __name__ == "__main__":
    main()
