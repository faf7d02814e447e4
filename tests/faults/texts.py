"""Hostile input.

Names of measures made of thousands of characters, brackets, digits and operators,
cutoffs at the edges of integers, and memory limits with hundreds of digits. Each must
be read or refused with a `ValueError`, in less than 10 ms of CPU time; a cutoff that is
read must be evaluated, or refused, in less than a second.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

import polars_rank as pr
from faults import Trial
from polars_rank._engine.spill.budget import parse_memory_limit
from polars_rank.core.metric.registry import METRICS

FEW, MANY = 150, 5_000
FIGURE = "slowest, ms"
MOST, MOST_EVALUATED = 10.0, 1000.0  # ms

FORMS = [
    "%s",
    "ap(rel=%s)",
    "ndcg(gain=%s)",
    "ndcg@%s",
    "ap_%s",
    "utility_%s",
    "rbp(p=%s)",
    "ndcg(gain={1:%s})",
    "%s(k=1)@2",
    "ndcg_cut_%s",
    "iprec_at_recall_%s",
    "sdcg@%s",
    "ap(%s)",
    "ap(%s=1)",
    "Rprec_mult_%s",
    "ap-l%s",
    "rbp.%s",
    "ap(rel=1,%s)",
]
PARTS = [
    "-",
    "(",
    ")",
    "{",
    "[",
    "'",
    '"',
    "\\",
    ".",
    "_",
    ",",
    "=",
    "@",
    "~",
    "1",
    "9",
    "a",
    "é",
    "٣",
    "-1",
    "+1",
    "1+",
    "1**",
    "1,",
    "1=",
    "a=1,",
    "1:1,",
    "{1:",
    "not~",
    "1e999",
    "lambda:",
    "f'{",
    "-l1",
    "ndcg_",
    "0x",
    "1_",
    "1j",
    "__import__",
    "()",
    "(1,",
    "[[",
    "**",
    "//",
    "<<",
    "1<2<",
    ":=",
]
LENGTHS = [10, 100, 500, 980, 1_000, 1_001, 100_000]
EDGES = [2**p + d for p in (31, 32, 53, 63, 64) for d in (-1, 0, 1)] + [10**400]
LIMITS = ["%sB", "%sGB", "1%sMB", "%s", "1.%sGiB", "-%s", "GB%s", "1 %s"]


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """Read one text after the other."""
    draw = random.Random(2026)
    log = pl.DataFrame({"query_id": [1, 1], "score": [2.0, 1.0], "label": [0, 1]})

    def evaluated(text: str) -> None:
        pr.evaluate(log, text)

    for _ in range(rounds):
        part = draw.choice(PARTS).replace("~", " ")
        much = part * (draw.choice(LENGTHS) // len(part))
        text = draw.choice(FORMS) % (much + draw.choice(["", "1", "x", ")"]))
        yield tried("measure", text, pr.Measure.parse, MOST)
        limit = draw.choice(LIMITS) % draw.choice([much, "9" * len(much)])
        yield tried("memory_limit", limit, parse_memory_limit, MOST)
        name, edge = draw.choice(list(METRICS)), draw.choice(EDGES)
        text = draw.choice(["%s@%s", "%s(k=%s)", "%s(rel=%s)", "%s_%s"]) % (name, edge)
        yield tried("cutoff", text, pr.Measure.parse, MOST)
        yield tried("cutoff, evaluated", text, evaluated, MOST_EVALUATED)


def tried(case: str, text: str, read: Callable[[str], object], most: float) -> Trial:
    """Whether the text is read or refused in time."""
    took, lost = float("inf"), ""
    for _ in range(3):  # the machine may be busy with something else
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", UserWarning)  # about the data
                read(text)
        except ValueError:
            pass
        except BaseException as error:
            lost = f"{type(error).__name__} of {text[:60]!r}"
        took = min(took, 1000 * (time.process_time() - start))
        if took < most:
            break
    else:
        lost = lost or f"{took:.0f} ms for {text[:60]!r} of {len(text)}"
    return Trial(case, lost, took)
