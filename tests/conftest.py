from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before polars is imported: the workers of pytest-xdist share the cores. Two threads
# each, so that rows still come in any order.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("POLARS_MAX_THREADS", "2")


def pytest_xdist_auto_num_workers(config):
    """One process where workers cost more than they give, or would be wrong.

    Files or tests named on the command line are soon done. ``-m parity`` writes the
    tables of all tools at its end.
    """
    named = all(Path(arg.partition("::")[0]).is_file() for arg in config.args)
    return 0 if named or config.option.markexpr == "parity" else None


def pytest_ignore_collect(collection_path, config):
    """Leave the parity tests unread unless asked for: their tools load slowly."""
    asked = "parity" in config.option.markexpr.replace("not parity", "")
    return True if collection_path.name == "parity" and not asked else None


@pytest.fixture(params=["in-memory", "streaming"])
def collect(request):
    """Collect a lazy frame on either engine."""
    return lambda frame: frame.lazy().collect(engine=request.param)
