"""Pages show the figures of the run that is kept, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pages_show_the_figures_that_are_kept():
    """As ``python benchmarks/pages.py`` writes them."""
    program = [sys.executable, str(ROOT / "benchmarks" / "pages.py"), "--check"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
