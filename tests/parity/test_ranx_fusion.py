"""ranx fuses the same: all untrained methods, with every norm.

ranx runs in a process of its own without numba's compiler, which would take minutes for
methods that take milliseconds. Its ``condorcet`` is not compared: where majorities go
in a circle, its order depends on the hash seed of the process.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest
from parity.compare import distance, need

from polars_rank import fusion

need("ranx")
pytestmark = pytest.mark.parity

THEIRS = """
import json, sys, warnings
warnings.simplefilter("ignore")
import ranx
given = json.load(sys.stdin)
runs = [ranx.Run.from_dict(run, name) for name, run in given["runs"].items()]
found = [
    ranx.fuse(runs, norm=norm, method=method, params=params).to_dict()
    for method, norm, params in given["calls"]
]
print(json.dumps(found))
"""
NORMS = {
    None: "none",
    "min-max": "min_max",
    "min-max-inverted": "min_max_inverted",
    "max": "max",
    "sum": "sum",
    "zmuv": "zmuv",
    "rank": "rank",
    "borda": "borda",
}
WEIGHTS = {"weights": [0.3, 0.5, 0.2]}
OF_SCORES = {
    **{name: {} for name in ("sum", "max", "min", "med", "anz", "mnz")},
    "gmnz": {"gamma": 1.5},
    **dict.fromkeys(("wsum", "wmnz", "mixed"), WEIGHTS),
}
OF_RANKS = [
    ("rrf", {}),
    ("rrf", {"k": 7}),
    ("isr", {}),
    ("log_isr", {}),
    ("logn_isr", {"sigma": 0.2}),
    ("rbc", {"phi": 0.7}),
    ("bordafuse", {}),
    ("w_bordafuse", WEIGHTS),
]


def test_all_methods_and_norms():
    draw = random.Random(5)
    runs = {
        name: {
            f"q{q}": {
                doc: draw.random() * 9
                for doc in draw.sample([f"d{i}" for i in range(12)], size)
            }
            for q in range(12)
            for size in [draw.choice([1, 4, 12])]
        }
        for name in "abc"
    }
    calls = [(m, n, params) for m, params in OF_SCORES.items() for n in NORMS]
    calls += [(m, None, params) for m, params in OF_RANKS]
    done = subprocess.run(
        [sys.executable, "-c", THEIRS],
        input=json.dumps({"runs": runs, "calls": calls}),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    cases = 0
    for (method, norm, params), wanted in zip(
        calls, json.loads(done.stdout), strict=True
    ):
        own = {"norm": NORMS[norm]} if method in OF_SCORES else {}
        found = fusion.fuse(runs, method, **own, **params)
        assert found.height == sum(map(len, wanted.values()))
        for query, doc, value in found.iter_rows():
            assert distance(value, wanted[query][doc]) <= 1e-12, (method, norm)
            cases += 1
    assert cases > 10_000


TRAINED = """
import json, sys, warnings
warnings.simplefilter("ignore")
import ranx
from ranx import fusion
given = json.load(sys.stdin)
runs = [ranx.Run.from_dict(run, name) for name, run in given["runs"].items()]
qrels = ranx.Qrels.from_dict(given["train"])
seen = [
    ranx.Run.from_dict({q: run[q] for q in given["train"]}, name)
    for name, run in given["runs"].items()
]
found = []
for method, name, learning, params in given["calls"]:
    learned = getattr(fusion, method + "_train")(qrels, seen, **learning)
    known = {name: learned} | params
    fused = ranx.fuse(runs, norm="min-max", method=method, params=known)
    found.append(fused.to_dict())
print(json.dumps(found))
"""
LEARNING = [  # name there, what it learns there, what that takes, parameters; ours
    ("mapfuse", "map_scores", {}, {}, {}),
    ("posfuse", "probs", {}, {}, {}),
    ("slidefuse", "probs", {}, {"w": 2}, {"w": 2}),
    ("probfuse", "probs", {"n_segments": 4}, {}, {"n_segments": 4}),
    ("segfuse", "probs", {}, {}, {}),
    ("bayesfuse", "log_odds", {}, {}, {}),
]


def test_methods_that_learn():
    draw = random.Random(6)
    runs = {
        name: {
            f"q{q}": {
                f"d{d}": draw.random() * 9
                for d in draw.sample(range(60), draw.choice([3, 20, 45]))
            }
            for q in range(12)
        }
        for name in "abc"
    }
    train = {
        f"q{q}": {f"d{d}": draw.choice([0, 0, 1, 2]) for d in range(60)}
        for q in range(0, 12, 2)
    }
    calls = [call[:4] for call in LEARNING]
    done = subprocess.run(
        [sys.executable, "-c", TRAINED],
        input=json.dumps({"runs": runs, "train": train, "calls": calls}),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    cases = 0
    for (method, *_, own), wanted in zip(
        LEARNING, json.loads(done.stdout), strict=True
    ):
        found = fusion.fuse(runs, method, train=train, **own)
        assert found.height == sum(map(len, wanted.values()))
        for query, doc, value in found.iter_rows():
            assert distance(value, wanted[query][doc]) <= 1e-12, method
            cases += 1
    assert cases > 2_000
