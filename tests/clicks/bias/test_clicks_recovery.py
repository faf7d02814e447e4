"""Twenty logs of each design: what the benchmark shows of two hundred, in short."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "clicks_recovery.py"
RECOVERED = [  # those that no other test has
    "fair_pairs, all lists take part",
    "trust, alpha",
    "trust, beta",
    "ips, difference of two rankings",
    "snips, its own truth",
    "dr, half of the relevance as model",
    "ips of a frame, policy-aware",
    "ips, 100 queries, jackknife",
    "ips of a frame, policy-aware, jackknife",
    "a tenth fewer clicks: relative effect",
    "a tenth fewer clicks, CUPED",
    "judgments, ratio",
    "judgments, ips",
    "judgments, affine, trust bias",
]
FAILING = [
    "ips, clipped at 0.2",
    "dm, half of the relevance as model",
    "judgments, ratio, trust bias",
    "judgments, ctr",
]

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(scope="module")
def recovery():
    spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", RECOVERED)
def test_the_truth_is_recovered(recovery, name):
    """The bias is within four of its standard errors, at the worst of several."""
    row = recovery.row_of(name, 16)
    assert abs(row["of its standard error"]) < 4
    assert row["coverage"] >= 0.8


@pytest.mark.parametrize("name", FAILING)
def test_what_cannot_recover_it_does_not(recovery, name):
    row = recovery.row_of(name, 16)
    assert abs(row["bias"]) > 0.05
    assert row["coverage"] < 0.5
