"""A process that was forked after an evaluation says why it hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import pytest
from slow import slow

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

PROGRAM = """
import os, sys, warnings
import polars as pl
import polars_rank as pr
log = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1]})
exec(sys.argv[1])
def stop(message, category, *_):
    print(category.__name__, message, flush=True)
    os._exit(3)  # before it hangs
warnings.showwarning = stop
warnings.simplefilter("always")
child = os.fork()
if child == 0:
    exec(sys.argv[2])
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
EVALUATIONS = {
    "eager": "pr.evaluate(log, 'rr')",
    "planned": "log.lazy().rank_eval.evaluate('rr')",
    "lazy": "log.lazy().rank_eval.per_query('rr', layout='any').collect()",
    "report": "pr.match_report(log.with_columns(doc_id=1), log.with_columns(doc_id=1))",
}


TURNS = [
    ("eager", "lazy"),
    ("lazy", "report"),
    ("report", "planned"),
    ("planned", "eager"),
]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        turn if turn in TURNS else slow(*turn)
        for turn in product(EVALUATIONS, EVALUATIONS)
    ],
)
def test_a_forked_process_warns(before, after):
    argv = [sys.executable, "-c", PROGRAM, EVALUATIONS[before], EVALUATIONS[after]]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("RuntimeWarning this process was forked from one")
    assert "multiprocessing.get_context('spawn')" in done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", EVALUATIONS["eager"]),  # Polars has not started its threads
        (EVALUATIONS["eager"], ""),
    ],
)
def test_a_harmless_fork_is_silent(before, after):
    argv = [sys.executable, "-c", PROGRAM, before, after]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
