"""The documentation site, built once for all tests of a process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "docs" / "build.py"
NEEDED = ("sphinx", "numpydoc", "myst_parser", "pydata_sphinx_theme", "latex2mathml")
TWO_MINUTES = 120


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built by the command that a contributor runs."""
    for module in NEEDED:
        pytest.importorskip(module, reason="the extra docs is not installed")
    output = tmp_path_factory.mktemp("docs")
    start = time.monotonic()
    command = [sys.executable, str(BUILD), "--output", output]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    assert time.monotonic() - start < TWO_MINUTES
    return output / "site"
