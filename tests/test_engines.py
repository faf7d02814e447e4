"""Ray, Spark and Dask for real: the same bits and errors as on one machine.

Each engine runs in a process of its own, ``python tests/engines.py ENGINE``, as it
leaves threads, signal handlers and warnings behind.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


@pytest.mark.timeout(900)  # engines start slowly on a busy machine
@pytest.mark.parametrize("engine", ["ray", "pyspark", "distributed"])
def test_an_engine_gives_what_one_machine_gives(engine, tmp_path):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    done = subprocess.run(
        [sys.executable, HERE / "engines.py", engine, tmp_path],
        env=os.environ | {"PYTHONPATH": str(HERE.parent), "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=880,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-5000:]}"
    assert done.stdout.split().count("ok") == 9, done.stdout
