"""Functions of click logs as methods of frames."""

from __future__ import annotations

import inspect

import pytest
from polars.testing import assert_frame_equal

import polars_rank  # noqa: F401  # registers .rank_eval
from polars_rank import clicks
from polars_rank.namespaces.clicks import ClickLogRankEval

LOG = clicks.simulate(500, n_queries=20, seed=1).draw()
METHODS = [n for n in vars(ClickLogRankEval) if not n.startswith("_")]


def of_a_log() -> list[str]:
    """Functions whose first parameter is a log."""
    functions = {
        name: getattr(clicks, name)
        for name in clicks.__all__
        if inspect.isfunction(getattr(clicks, name))
    }
    return [n for n, f in functions.items() if "log" in inspect.signature(f).parameters]


def test_every_function_of_a_log_is_a_method():
    # Parts of a log are merged by functions, and so is their state made.
    assert {*METHODS} == {*of_a_log()} - {"behavior_state"}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_shows_the_function(name):
    method, function = getattr(ClickLogRankEval, name), getattr(clicks, name)
    assert method.__doc__ == function.__doc__
    own = [*inspect.signature(method).parameters]
    assert own == ["self", *[*inspect.signature(function).parameters][1:]]


@pytest.mark.parametrize("lazily", [False, True])
def test_a_method_is_the_function(lazily):
    log = LOG.lazy() if lazily else LOG
    options = {"by": "query_id", "cluster": "user_id"}
    found = log.rank_eval.clicks.behavior(["ctr", "rr"], **options)
    assert type(found) is type(log)
    whole = clicks.behavior(log, ["ctr", "rr"], **options)
    assert_frame_equal(found.lazy().collect(), whole.lazy().collect())
