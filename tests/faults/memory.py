"""Memory within the limit.

A process of its own with two threads evaluates 27 shapes of data with
``memory_limit="400MB"``. It survives if its peak (``VmHWM``, everything included) is
within the limit. If it is refused at the start, the least limit that works is in the
message: that one is tried. Of Arrow files, what is mapped into memory counts, too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from faults import HERE, Trial

FEW, MANY = 1, 27
FIGURE = "peak in % of the limit"
LIMIT = 400  # MB
M = 10**6

CODE = """
import json, sys
from pathlib import Path
import polars as pl
import polars_rank as pr
from polars_rank.io import scan, write
options = json.loads(sys.argv[1])
run, category = options.pop("run"), options.pop("category", [])
qrels, out = (options.pop(name, None) for name in ("qrels", "out"))
if qrels is not None:
    options["qrels"] = scan(qrels, kind="qrels")
frame = scan(run, kind="run").with_columns(pl.col(category).cast(pl.Categorical))
try:
    if out is not None:
        write(pr.per_query(frame, **options), out)
    else:
        pr.evaluate(frame, **options).collect()
except MemoryError as error:
    print(error)
told = Path("/proc/self/status").read_text()
print("peak", int(told.split("VmHWM:")[1].split()[0]) // 977)
"""


class Shape(NamedTuple):
    """Rows to evaluate, and how."""

    name: str
    make: Callable[[Path], dict]


def log(rows: int, queries: int, **columns: pl.Expr) -> pl.LazyFrame:
    """Rows in no order; ``i`` counts them, ``q`` and ``d`` are query and document."""
    i = pl.int_range(rows, dtype=pl.Int64)
    return (
        pl.LazyFrame()
        .select(i=i)
        .with_columns(
            q=(pl.col("i").hash(5) % queries).cast(pl.Int64),
            d=(pl.col("i") * 1_000_003) % (20 * rows),
        )
        .select(
            **{
                "query_id": pl.col("q"),
                "doc_id": pl.col("d"),
                "score": (pl.col("i").hash(1) % 1000).cast(pl.Float64),
                "label": (pl.col("i").hash(2) % 4).cast(pl.Int8),
            }
            | columns
        )
    )


def text(name: str, width: int) -> pl.Expr:
    """Ids of so many bytes."""
    return pl.col(name).cast(pl.String).str.zfill(width)


def parquet(frame: pl.LazyFrame, path: Path, **how: int) -> str:
    """Write a log without a claim of order."""
    frame.sink_parquet(path, **how)
    return str(path)


def one(frame: pl.LazyFrame, **options: object) -> Callable[[Path], dict]:
    """One log in one file."""
    return lambda folder: {"run": parquet(frame, folder / "log.parquet")} | options


def one_group(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    """A log whose rows are one row group."""
    return lambda folder: {
        "run": parquet(frame, folder / "log.parquet", row_group_size=10**8)
    }


def judged(frame: pl.LazyFrame, **options: object) -> Callable[[Path], dict]:
    """A run, and judgments of a tenth of it."""
    few = pl.col("score") < 100

    def make(folder: Path) -> dict:
        qrels = frame.filter(few).drop("score")
        return {
            "run": parquet(frame.drop("label"), folder / "run.parquet"),
            "qrels": parquet(qrels, folder / "qrels.parquet"),
        } | options

    return make


def written(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    """A log whose values are written to a file."""
    return lambda folder: one(frame)(folder) | {"out": str(folder / "out.parquet")}


def csv(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    def make(folder: Path) -> dict:
        frame.sink_csv(folder / "log.csv")
        return {"run": str(folder / "log.csv")}

    return make


def ndjson(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    def make(folder: Path) -> dict:
        frame.sink_ndjson(folder / "log.ndjson")
        return {"run": str(folder / "log.ndjson")}

    return make


def arrow(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    def make(folder: Path) -> dict:
        frame.sink_ipc(folder / "log.arrow")
        return {"run": str(folder / "log.arrow")}

    return make


def many_files(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    def make(folder: Path) -> dict:
        rows = frame.collect(engine="streaming")
        place = folder / "files"
        place.mkdir()
        for i, part in enumerate(rows.iter_slices(len(rows) // 50)):
            part.write_parquet(place / f"{i}.parquet")
        return {"run": str(place)}

    return make


def trec(frame: pl.LazyFrame) -> Callable[[Path], dict]:
    columns = ["query_id", pl.lit("Q0").alias("q0"), "doc_id", pl.lit(1).alias("rank")]

    def make(folder: Path) -> dict:
        run, qrels = folder / "run.txt", folder / "qrels.txt"
        how = {"separator": " ", "include_header": False}
        frame.select(*columns, "score", tag=pl.lit("t")).sink_csv(run, **how)
        few = frame.filter(pl.col("score") < 100)
        zero = pl.lit(0).alias("0")
        few.select("query_id", zero, "doc_id", "label").sink_csv(qrels, **how)
        return {"run": str(run), "qrels": str(qrels)}

    return make


def words(rows: int, query: int, doc: int) -> pl.LazyFrame:
    """A log with ids of so many bytes."""
    ids = {"query_id": text("q", query), "doc_id": text("d", doc)}
    return log(rows, rows // 100, **ids)


IN_ORDER = pl.col("i") // 100
TURNS = {"query_id": pl.col("i") % 100_000}
HALF = {"query_id": pl.when(pl.col("i") % 3 == 0).then(-1).otherwise("q")}
TWICE = {"doc_id": pl.col("d") // 2}
COUNTRY = {
    "country": pl.format("country {}", pl.col("q") % 200),
    "visits": (pl.col("q") % 100).cast(pl.Float64),
}
NOTE = {"note": (pl.col("q") % 200).cast(pl.String).str.zfill(100)}
KEYS = {"system": pl.format("system {}", pl.col("q") % 7), "place": pl.col("i") + 1}
LONG = {"query_id": IN_ORDER, "doc_id": text("d", 200)}
BYTES = [pl.col(name).cast(pl.Binary) for name in ("query_id", "doc_id")]
NUMBERS, WORDS, WIDE = log(6 * M, 60_000), words(3 * M, 20, 30), words(M, 200, 200)
MANY_MEASURES = [
    f"{m}@{k}" for m in ("ndcg", "precision", "rr") for k in (1, 5, 10, 20)
]
SHAPES = [  # the first is that of the tests
    Shape("CSV", csv(log(5 * M, 50_000))),
    Shape("TREC text", trec(log(3 * M, 30_000, doc_id=text("d", 12)))),
    Shape("NDJSON", ndjson(log(2 * M, 20_000))),
    Shape("Arrow IPC", arrow(log(5 * M, 50_000))),
    Shape("50 files", many_files(NUMBERS)),
    Shape("one row group", one_group(NUMBERS)),
    Shape("one row group of text ids", one_group(words(2 * M, 20, 30))),
    Shape("integer ids", one(NUMBERS)),
    Shape("text queries", one(log(5 * M, 50_000, query_id=text("q", 12)))),
    Shape("text ids", one(WORDS)),
    Shape("ids of 200 bytes", one(WIDE)),
    Shape("binary ids", one(words(3 * M, 16, 16).with_columns(BYTES))),
    Shape(
        "ids cast to categories",
        one(log(4 * M, 40_000, query_id=text("q", 8)), category=["query_id"]),
    ),
    Shape("integer ids, judgments", judged(NUMBERS)),
    Shape("text ids, judgments", judged(WORDS)),
    Shape("rows together, judgments", judged(log(6 * M, 60_000, query_id=IN_ORDER))),
    Shape("rows together, ids of 200 bytes", one(log(2 * M, 1, **LONG))),
    Shape(
        "subtopics",
        judged(
            log(4 * M, 40_000, intent=pl.col("i") % 3),
            measures=["alpha_ndcg@10"],
            subtopic="intent",
        ),
    ),
    Shape("queries in turns", one(log(6 * M, 1, **TURNS))),
    Shape("a query of a third of the rows", one(log(3 * M // 2, 9_000, **HALF))),
    Shape("3 million queries, values written", written(log(5 * M, 3 * M))),
    Shape(
        "segments and weights",
        one(log(5 * M, 50_000, **COUNTRY), by="country", weight="visits"),
    ),
    Shape("segments of 100 bytes", one(log(3 * M, 30_000, **NOTE), by="note")),
    Shape(
        "several keys, known ranks",
        one(log(5 * M, 50_000, **KEYS), query=["system", "query_id"], rank="place"),
    ),
    Shape("duplicates", one(log(4 * M, 40_000, **TWICE), on_duplicate="best")),
    Shape("12 measures", one(NUMBERS, measures=MANY_MEASURES)),
    Shape("measures of the scores", one(NUMBERS, measures=["spearman", "ndcg@10"])),
]


def evaluated(options: dict, megabytes: int) -> tuple[str, int]:
    """What the process printed, and its peak in MB."""
    given = {"measures": ["ndcg@10", "ap"], "memory_limit": f"{megabytes}MB"} | options
    code = f"import sys; sys.path.insert(0, {str(HERE)!r})\n{CODE}"
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(given)],
        capture_output=True,
        text=True,
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
    )
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2] or "killed", 0
    said, _, peak = done.stdout.rpartition("peak ")
    return said.strip(), int(peak)


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """As many shapes."""
    for i, shape in enumerate(SHAPES[:rounds]):
        place = folder / f"rows{i}"
        place.mkdir()
        yield trial(shape.name, shape.make(place), LIMIT)
        shutil.rmtree(place)


def trial(name: str, options: dict, limit: int) -> Trial:
    """Evaluate; where the limit is refused, with the one that is said to work."""
    case = f"{name}, {limit} MB"
    said, peak = evaluated(options, limit)
    if found := re.search(r"memory_limit=\"(\d+)MB\"", said):
        limit = int(found[1])
        case = f"{name}, {limit} MB as named"
        said, peak = evaluated(options, limit)
    lost = said if said else f"{peak} MB" if peak > limit else ""
    return Trial(case, lost, 100 * peak / limit)
