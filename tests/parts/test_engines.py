"""Ray, Spark and Dask for real: the same bits and errors as on one machine.

Each engine runs in a process of its own, ``python tests/engines.py ENGINE``, as it
leaves threads, signal handlers and warnings behind. It is skipped where it does not
start or is too slow: that says nothing of this package.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from engines import CHECKS, FAILED, STARTED, UNWELL

pytestmark = pytest.mark.slow
HERE = Path(__file__).parents[1]
PATHS = os.pathsep.join(map(str, (HERE.parent, HERE / "parts")))
SECONDS = 420  # engines start slowly on a busy machine


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("engine", ["ray", "pyspark", "distributed"])
def test_an_engine_gives_what_one_machine_gives(engine, tmp_path):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    status, said = run(engine, tmp_path)
    if STARTED not in said:
        assert "ModuleNotFoundError: No module named 'test_" not in said, said
        pytest.skip(f"{engine} does not start here: {last_line(said)}")
    end = said[-20_000:]
    assert FAILED not in said, end
    if status in (None, UNWELL):
        why = "is too slow here" if status is None else "has stopped"
        pytest.skip(f"{engine} {why} after {said.count(' ok ')} checks")
    assert status == 0, end
    assert said.count(" ok ") == len(CHECKS), end


def run(engine, folder):
    """Exit status and what was said; no status if the time was over."""
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            [sys.executable, HERE / "engines.py", engine, folder],
            env=os.environ | {"PYTHONPATH": PATHS, "POLARS_MAX_THREADS": "2"},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        finally:  # what it has started, too
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return status, said.read()


def last_line(said):
    return next((x for x in reversed(said.splitlines()) if x.strip()), "not a word")
