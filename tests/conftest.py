from __future__ import annotations

import os

import pytest

# Before polars is imported: the workers of pytest-xdist share the cores. Two threads
# each, so that rows still come in any order.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("POLARS_MAX_THREADS", "2")


def pytest_xdist_auto_num_workers(config):
    """One process for ``-m parity``: at its end it writes the tables of all tools."""
    return 0 if config.option.markexpr == "parity" else None


@pytest.fixture(params=["in-memory", "streaming"])
def collect(request):
    """Collect a lazy frame on either engine."""
    return lambda frame: frame.lazy().collect(engine=request.param)
