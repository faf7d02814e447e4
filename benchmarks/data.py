"""Seeded Parquet files for the benchmarks, written once to ``benchmarks/data``.

``python benchmarks/data.py FILES`` makes them in a process of its own (a process that
made data weighs too much to start measurements) and prints their paths as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

HOME = Path(__file__).parent / "data"
GRADES = {0: 0.8, 1: 0.1, 2: 0.05, 3: 0.03, 4: 0.02}
JUDGED_GRADES = {0: 0.6, 1: 0.25, 2: 0.1, 3: 0.05}
BLOCK = 5  # files over which the rows of a query are spread, where there are several


@dataclass(frozen=True)
class Files:
    """A log in ``parts`` files of ``queries`` x ``docs`` rows each, or a run.

    The order of the rows: ``ascending``; ``contiguous``, queries in random order but
    the rows of each together; ``shuffled``. The numbers are the same in every order.
    """

    queries: int
    docs: int
    order: str = "contiguous"
    ids: str = "int"  # or text; a log with int ids has no document ids
    parts: int = 1
    judged: int = 0  # documents a query; 0: the labels stand in the log

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def path(self, part: int | str) -> Path:
        size = f"{self.queries}x{self.docs}" + (f"j{self.judged}" * bool(self.judged))
        spread = "-spread" * (self.order == "shuffled" and self.parts > 1)
        return HOME / f"{size}-{self.order}{spread}-{self.ids}-{part}.parquet"

    def make(self) -> dict[str, list[str] | str | None]:
        """Write what is not there; the paths of the log or run and of the judgments."""
        HOME.mkdir(parents=True, exist_ok=True)
        paths = [self.path(part) for part in range(self.parts)]
        qrels = self.path("qrels") if self.judged else None
        if qrels:
            once(qrels, lambda: judgments(self))
        for part, path in enumerate(paths):
            if self.order == "shuffled" and self.parts > 1:
                once(path, lambda part=part: spread(self, part))
            else:
                once(path, lambda part=part: rows(self, part))
        return {"run": list(map(str, paths)), "qrels": qrels and str(qrels)}


def once(path: Path, frame: Callable[[], pl.DataFrame]) -> None:
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        frame().write_parquet(unfinished)
        os.replace(unfinished, path)


def rows(files: Files, part: int) -> pl.DataFrame:
    """One file of a log or a run."""
    import numpy as np
    import polars as pl

    queries, docs, n = files.queries, files.docs, files.queries * files.docs
    rng = np.random.default_rng([part, queries, docs])
    noise = rng.standard_normal(n)
    if files.judged:  # about nine pairs of equal scores a query of 500
        columns = {"score": (np.round(noise * 4096) / 4096).astype(np.float32)}
    else:  # positive, and hardly ever equal
        label = draw(rng, GRADES, n)
        score = np.exp(label * 0.5 + noise).astype(np.float32)
        columns = {"score": score, "label": label}
    number = np.arange(queries, dtype=np.int64) + part * queries
    if files.order != "ascending":
        number = rng.permutation(number)
    frame = pl.DataFrame({"query_id": np.repeat(number, docs), **columns})
    if files.ids == "text":
        doc = documents(rng, queries, docs) if files.judged else rng.permutation(n)
        frame = frame.insert_column(1, pl.Series("doc_id", doc)).with_columns(*texts())
    if files.order == "shuffled":
        frame = frame.sample(fraction=1, shuffle=True, seed=part)
    return frame


def judgments(files: Files) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    rng = np.random.default_rng([files.judged, files.queries])
    query = np.repeat(np.arange(files.queries), files.judged)
    doc = documents(rng, files.queries, files.judged)
    label = draw(rng, JUDGED_GRADES, len(query))
    frame = pl.DataFrame({"query_id": query, "doc_id": doc, "label": label})
    return frame.with_columns(*texts())


def draw(rng, grades: dict[int, float], n: int):
    import numpy as np

    return rng.choice(np.array(list(grades), np.int8), size=n, p=list(grades.values()))


def documents(rng, queries: int, docs: int):
    """Documents of each query: different ones, out of 2 000 that all queries share."""
    import numpy as np

    return np.concatenate([rng.permutation(2_000)[:docs] for _ in range(queries)])


def texts() -> list[pl.Expr]:
    """Ids as text, ``q0000042`` and ``D00000042``."""
    import polars as pl

    digits = {"query_id": ("q{}", 7), "doc_id": ("D{}", 8)}
    return [
        pl.format(form, pl.col(name).cast(pl.String).str.zfill(length)).alias(name)
        for name, (form, length) in digits.items()
    ]


def spread(files: Files, part: int) -> pl.DataFrame:
    """A fifth of the rows of every query of five neighboring files, in any order."""
    import polars as pl

    contiguous = Files(files.queries, files.docs, ids=files.ids, parts=files.parts)
    first, share = part // BLOCK * BLOCK, part % BLOCK
    block = contiguous.make()["run"][first : first + BLOCK]
    slices = [pl.read_parquet(path).gather_every(BLOCK, share) for path in block]
    return pl.concat(slices).sample(fraction=1, shuffle=True, seed=part)


if __name__ == "__main__":
    print(json.dumps(Files(**json.loads(sys.argv[1])).make()))
