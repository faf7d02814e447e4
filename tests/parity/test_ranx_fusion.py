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
