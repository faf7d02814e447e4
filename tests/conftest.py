from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest

PARITY_PAGE = Path(__file__).parents[1] / "docs" / "parity.py"
PARITY_RECORDS = "PARITY_RECORDS"
records = []

# Before polars is imported: the workers of pytest-xdist share the cores. Two threads
# each, so that rows still come in any order.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("POLARS_MAX_THREADS", "2")

# Under nohup all processes ignore this signal: here some are told to end by it.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers(config):
    """One process where workers cost more than they give, or would be wrong.

    Files or tests named on the command line are soon done.
    """
    named = all(Path(arg.partition("::")[0]).is_file() for arg in config.args)
    return 0 if named else None


def pytest_configure(config):
    """``-m parity`` collects what its tests record in a folder, that of all workers."""
    asked = config.option.markexpr == "parity" and PARITY_RECORDS not in os.environ
    if asked and not hasattr(config, "workerinput"):
        os.environ[PARITY_RECORDS] = tempfile.mkdtemp()
        records.append(os.environ[PARITY_RECORDS])


def pytest_sessionfinish(exitstatus):
    """A whole run of ``-m parity`` that passes writes the tables of the page."""
    if not records:
        return
    folder = records.pop()
    del os.environ[PARITY_RECORDS]
    if exitstatus == 0 and PARITY_PAGE.exists():
        subprocess.run([sys.executable, PARITY_PAGE, folder], check=True)
    shutil.rmtree(folder)


def pytest_ignore_collect(collection_path, config):
    """Leave the parity tests unread unless asked for: their tools load slowly."""
    asked = "parity" in config.option.markexpr.replace("not parity", "")
    return True if collection_path.name == "parity" and not asked else None


TAKE_TURNS = ("collect", "call", "morsel")  # fixtures of two parameters


@pytest.fixture(params=["in-memory", "streaming"])
def collect(request):
    """Collect a lazy frame: on one engine, and on the other in the slow tests."""
    return lambda frame: frame.lazy().collect(engine=request.param)


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items):
    """The quick tests take turns: half of them with each parameter of these fixtures.

    By their names, and where there are other parameters by these: so each of them meets
    both, and the slow tests have the rest.
    """
    for item in items:
        indices = item.callspec.indices if hasattr(item, "callspec") else {}
        others = sum(i for name, i in indices.items() if name not in TAKE_TURNS)
        start = zlib.crc32(item.nodeid.partition("[")[0].encode())
        for fixture in TAKE_TURNS:
            if indices.get(fixture, (start + others) % 2) != (start + others) % 2:
                item.add_marker(pytest.mark.slow)
