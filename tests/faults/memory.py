"""Memory within the limit.

A process of its own with two threads evaluates with ``memory_limit``. It survives if
its peak (``VmHWM``, everything included) is within the limit. If it is refused at the
start, the least limit that works is in the message: that one is tried.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from faults import HERE, Trial

FEW, MANY = 1, 12
FIGURE = "peak in % of the limit"
LIMITS = 400, 1000  # MB

CODE = """
import json, sys
from pathlib import Path
import polars as pl
import polars_rank as pr
from polars_rank.io import scan, write
options = json.loads(sys.argv[1])
run = options.pop("run")
qrels, out = (options.pop(name, None) for name in ("qrels", "out"))
if qrels is not None:
    options["qrels"] = scan(qrels, kind="qrels")
frame = scan(run, kind="run")
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
        pl.select(i=i)
        .lazy()
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


def judged(folder: Path, frame: pl.LazyFrame) -> dict:
    """The same as a run and judgments of a tenth of it."""
    few = pl.col("score") < 100
    return {
        "run": parquet(frame.drop("label"), folder / "run.parquet"),
        "qrels": parquet(frame.filter(few).drop("score"), folder / "qrels.parquet"),
    }


def tiny(folder: Path) -> dict:
    run = parquet(log(5_000_000, 5_000_000), folder / "log.parquet")
    return {"run": run, "out": str(folder / "out.parquet")}


def segments(folder: Path) -> dict:
    more = {
        "country": pl.format("country {}", pl.col("q") % 200),
        "visits": (pl.col("q") % 100).cast(pl.Float64),
    }
    frame = log(10_000_000, 200_000, **more)
    run = parquet(frame, folder / "log.parquet")
    return {"run": run, "by": "country", "weight": "visits"}


def several(folder: Path) -> dict:
    keys = {"system": pl.format("system {}", pl.col("q") % 7), "place": pl.col("i") + 1}
    run = parquet(log(10_000_000, 200_000, **keys), folder / "log.parquet")
    return {"run": run, "query": ["system", "query_id"], "rank": "place"}


def csv(folder: Path) -> dict:
    log(8_000_000, 80_000).sink_csv(folder / "log.csv")
    return {"run": str(folder / "log.csv")}


def trec(folder: Path) -> dict:
    frame = log(6_000_000, 60_000, doc_id=text("d", 12))
    columns = ["query_id", pl.lit("Q0").alias("q0"), "doc_id", pl.lit(1).alias("rank")]
    path = folder / "run.txt"
    frame.select(*columns, "score", tag=pl.lit("t")).sink_csv(
        path, separator=" ", include_header=False
    )
    few = frame.filter(pl.col("score") < 100)
    few.select("query_id", pl.lit(0).alias("0"), "doc_id", "label").sink_csv(
        folder / "qrels.txt", separator=" ", include_header=False
    )
    return {"run": str(path), "qrels": str(folder / "qrels.txt")}


def one(frame: pl.LazyFrame, **options: object) -> Callable[[Path], dict]:
    """One log in one file."""
    return lambda folder: {"run": parquet(frame, folder / "log.parquet")} | options


TURNS = {"query_id": pl.col("i") % 200_000}
NUMBERS = log(40_000_000, 400_000)
WORDS = log(12_000_000, 120_000, query_id=text("q", 20), doc_id=text("d", 30))
LONG = log(6_000_000, 60_000, query_id=text("q", 200), doc_id=text("d", 200))
SHAPES = [  # the first is that of the tests
    Shape("CSV", csv),
    Shape("ids of 200 bytes", one(LONG)),
    Shape("run and judgments, text ids", lambda folder: judged(folder, WORDS)),
    Shape("5 million queries, values written", tiny),
    Shape("segments and weights", segments),
    Shape("integer ids", one(NUMBERS)),
    Shape("text ids", one(WORDS)),
    Shape("run and judgments, integer ids", lambda folder: judged(folder, NUMBERS)),
    Shape(
        "one row group of text ids",
        lambda f: {"run": parquet(WORDS, f / "log.parquet", row_group_size=10**8)},
    ),
    Shape("several keys, known ranks", several),
    Shape("queries in turns", one(log(10_000_000, 200_000, **TURNS))),
    Shape("TREC text", trec),
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
    """As many shapes, with each limit; one shape with the lower."""
    for shape in SHAPES[:rounds]:
        place = folder / "rows"
        place.mkdir()
        options = shape.make(place)
        for limit in LIMITS[:rounds]:
            yield trial(shape.name, options, limit)
        for path in place.iterdir():
            path.unlink()
        place.rmdir()


def trial(name: str, options: dict, limit: int) -> Trial:
    """Evaluate; where the limit is refused, with the one that is said to work."""
    case = f"{name}, {limit} MB"
    said, peak = evaluated(options, limit)
    if found := re.search(r"memory_limit=\"(\d+)MB\"", said):
        limit = int(found[1])
        said, peak = evaluated(options, limit)
    lost = said if said else f"{peak} MB" if peak > limit else ""
    return Trial(case, lost, 100 * peak / limit)
