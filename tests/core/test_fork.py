"""A process that was forked after an evaluation says why it hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

PROGRAM = """
import json, os, signal, sys, warnings
import polars as pl
import polars_rank as pr
log = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1]})
def stop(message, category, *_):
    print(category.__name__, message, flush=True)
    os._exit(3)  # before it hangs
warnings.showwarning = stop
warnings.simplefilter("always")
def status_of(*steps):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # seconds; what hangs ends by it
        exec(steps[0])
        os._exit(status_of(*steps[1:]) if steps[1:] else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
for before, after in json.loads(sys.argv[1]):
    status = status_of(before, after)
    print("status", status, flush=True)
    if status < 0:
        break
"""
EVALUATIONS = {
    "eager": "pr.evaluate(log, 'rr')",
    "planned": "log.lazy().rank_eval.evaluate('rr')",
    "lazy": "log.lazy().rank_eval.per_query('rr', layout='any').collect()",
    "report": "pr.match_report(log.with_columns(doc_id=1), log.with_columns(doc_id=1))",
}


def forked(*pairs: tuple[str, str]) -> list[str]:
    """What a child of a child says that runs the second step, for each of the pairs.

    The first child runs the first: Polars starts its threads there, and anew for each.
    """
    argv = [sys.executable, "-c", PROGRAM, json.dumps(pairs)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return [*map(str.strip, done.stdout.splitlines())]


@pytest.mark.slow
def test_a_forked_process_warns():
    pairs = [*product(EVALUATIONS.values(), EVALUATIONS.values())]
    said = forked(*pairs)
    assert len(said) == 2 * len(pairs), said
    told = zip(pairs, said[1::2], strict=True)
    assert not [pair for pair, status in told if status != "status 3"]
    for line in said[::2]:
        assert line.startswith("RuntimeWarning this process was forked from one")
        assert "multiprocessing.get_context('spawn')" in line


def test_a_harmless_fork_is_silent():
    """Polars has not started its threads, or has nothing to do in the child."""
    evaluation = EVALUATIONS["eager"]
    assert forked(("", evaluation), (evaluation, "")) == ["status 0"] * 2
