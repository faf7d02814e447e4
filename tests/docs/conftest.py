"""The documentation site, built once for all tests of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "docs" / "build.py"
NEEDED = ("sphinx", "numpydoc", "myst_parser", "pydata_sphinx_theme", "latex2mathml")
TWO_MINUTES = 120


def processor_time():
    """Seconds of programs that ended; by the clock it depends on what else runs."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built by the command that a contributor runs."""
    for module in NEEDED:
        pytest.importorskip(module, reason="the extra docs is not installed")
    output = tmp_path_factory.mktemp("docs")
    before = processor_time()
    command = [sys.executable, str(BUILD), "--output", output]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    assert processor_time() - before < TWO_MINUTES
    return output / "site"
