"""A test that never ends says where it waits, in every thread."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SETTINGS = Path(__file__).parents[2] / "pyproject.toml"
HANGING = """
import time
import polars as pl

def asleep(series):
    time.sleep(100)

def test_hanging():
    plan = pl.LazyFrame({"a": [1]}).select(pl.col("a").map_batches(asleep))
    plan.collect(engine="streaming")
"""


def test_tests_have_a_time_limit_and_tell_their_stacks_before():
    settings = tomllib.loads(SETTINGS.read_text())["tool"]["pytest"]["ini_options"]
    assert 0 < settings["faulthandler_timeout"] < settings["timeout"] <= 300
    assert settings["timeout_method"] == "thread"


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 1])
def test_the_stacks_of_a_test_that_hangs_are_printed(tmp_path, processes):
    file = tmp_path / "test_hanging.py"
    file.write_text(HANGING)
    limits = ["-o", "faulthandler_timeout=1", "-o", "timeout=2"]
    argv = ["-c", SETTINGS, "--rootdir", tmp_path, "-n", processes, *limits, file]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, argv)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode != 0
    assert "Timeout (0:00:01)!" in done.stderr
    assert "in asleep" in done.stderr
    assert "in test_hanging" in done.stderr
    assert done.stderr.count("Thread 0x") > 1
