from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from heapq import heapify, heappop, heappush
from itertools import chain, combinations
from pathlib import Path

import pytest

PARITY_PAGE = Path(__file__).parents[1] / "docs" / "parity.py"
PARITY_RECORDS = "PARITY_RECORDS"
records = []

# Before polars is imported: the workers of pytest-xdist share the cores. Two threads
# each, so that rows still come in any order.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("POLARS_MAX_THREADS", "2")

# Bytecode is kept, also where the environment says otherwise: each program that a test
# starts would compile the package anew, and each worker all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

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


# The tests themselves are many objects, and stay: no use in looking for garbage there.
gc.set_threshold(20_000, 20, 20)


def pytest_collection_finish():
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config, items):
    """The quick tests have a part of a large product, the slow tests the rest."""
    take_turns(items)
    if beyond := cover(items):
        items[:] = [item for item in items if item not in beyond]
        config.hook.pytest_deselected(items=[*beyond])


def take_turns(items):
    """Half of the tests with each parameter of the fixtures that take turns.

    By their names, and where there are other parameters by these: so each of them meets
    both. What a test itself has of such a name is a parameter like others.
    """
    for item in items:
        indices = dict(item.callspec.indices) if hasattr(item, "callspec") else {}
        own = chain.from_iterable(map(names, item.iter_markers("parametrize")))
        turns = (indices.keys() - {*own}) & {*TAKE_TURNS}
        others = sum(i for name, i in indices.items() if name not in turns)
        start = zlib.crc32(item.nodeid.partition("[")[0].encode())
        if any(indices[fixture] != (start + others) % 2 for fixture in turns):
            item.add_marker(pytest.mark.slow)


def names(parametrize):
    """What a mark gives values to: ``("way", "layout")``."""
    given = parametrize.args[0]
    return given.replace(" ", "").split(",") if isinstance(given, str) else given


def cover(items):
    """Of the tests marked ``covering(n)``: any n parameters meet in all values.

    Each of the others is slow (all of them if n is 0); but if ``rest=m`` is given, only
    those in which any m parameters meet: the others are returned, to be left out.
    """
    products, beyond = {}, set()
    for item in items:
        mark = item.get_closest_marker("covering")
        if mark is not None and not item.get_closest_marker("slow"):
            product = products.setdefault(item.nodeid.partition("[")[0], (mark, []))
            product[1].append(item)
    for mark, tests in products.values():
        quick = meeting(tests, *mark.args)
        for test in set(tests) - quick:
            test.add_marker(pytest.mark.slow)
        if "rest" in mark.kwargs:
            beyond |= set(tests) - quick - meeting(tests, mark.kwargs["rest"])
    return beyond


def meeting(tests, strength):
    """Some of the tests, in which tuples of parameters have all values of the tests.

    The next one is the test with most tuples that no test before it has; of several,
    the one whose values were met least, so that values take turns. Values count as
    objects, for their indices may be those of the product. What a test adds only
    shrinks: so one that stays ahead of the next in the queue is the best of all.
    """
    values = [
        [(n, id(value)) for n, value in test.callspec.params.items()] for test in tests
    ]
    given = [{*combinations(own, strength)} for own in values]
    left, met, chosen = set().union(*given), Counter(), set()

    def place(i):
        return -len(given[i] & left), sum(met[value] for value in values[i]), i

    queue = [place(i) for i in range(len(tests))]
    heapify(queue)
    while strength and left:
        *_, i = heappop(queue)
        if queue and place(i) > queue[0]:
            heappush(queue, place(i))
            continue
        chosen.add(tests[i])
        met.update(values[i])
        left -= given[i]
    return chosen


@pytest.fixture(scope="module")
def browser():
    """Chromium, where it is installed."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed"
    )
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )
        yield made
        made.close()
