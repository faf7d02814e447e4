"""How far an evaluation walks through the house: ``python benchmarks/calls.py``.

Counts, for one measure on three rows, the calls of our own functions, the modules they
lie in, and how often the walk changes from one module to another. A plan that reads
from top to bottom has few of each. The walk is counted twice: the first call, with
empty caches, and one with what the first left behind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl

import polars_rank as pr

HOME = str(Path(pr.__file__).parent)
LOG = pl.DataFrame(
    {"query_id": [1, 1, 2], "score": [0.9, 0.8, 0.7], "label": [0, 1, 1]}
)
RUN = LOG.drop("label").with_columns(doc_id=pl.Series(["a", "b", "c"]))
QRELS = RUN.drop("score").with_columns(label=pl.Series([0, 1, 1]))


def expression() -> pl.Expr:
    return pl.col("label").rank_eval.ndcg("score", k=10)


def frame() -> pl.DataFrame:
    return pr.evaluate(LOG, ["ndcg@10"])


def lazy() -> pl.LazyFrame:
    return pr.evaluate(LOG.lazy(), ["ndcg@10"], layout="auto")


def run_and_judgments() -> pl.DataFrame:
    return pr.evaluate(RUN.lazy(), ["ndcg@10"], qrels=QRELS.lazy()).collect()


WALKS = {
    "expression": expression,
    "DataFrame": frame,
    "lazy, layout='auto', plan only": lazy,
    "lazy run and judgments, collected": run_and_judgments,
}


def walk(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Module and function of every call of ours, in order."""
    steps: list[tuple[str, str]] = []

    def profile(frame: FrameType, event: str, _arg: Any) -> None:
        code = frame.f_code
        named = not code.co_name.startswith("<")  # no comprehension, no lambda
        if event == "call" and named and code.co_filename.startswith(HOME):
            module = code.co_filename.removeprefix(HOME + "/").removesuffix(".py")
            steps.append((module, code.co_qualname))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return steps


def main() -> None:
    """Print the table; with ``--steps NAME``, the walk itself."""
    if sys.argv[1:2] == ["--steps"]:
        for module, function in walk(WALKS[sys.argv[2]]):
            print(f"{module:40} {function}")
        return
    print("| walk | calls | functions | modules | changes of module |")
    print("|---|---:|---:|---:|---:|")
    for name, call in WALKS.items():
        for turn in ("first", "again"):
            steps = walk(call)
            modules = [module for module, _ in steps]
            changes = sum(a != b for a, b in pairwise(modules))
            counts = [len(steps), len(set(steps)), len(set(modules)), changes]
            print(f"| {name}, {turn} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
