"""A whole run of ``-m parity`` that passes writes the tables of ``docs/parity.md``.

One process holds all records: a worker of pytest-xdist writes none.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "parity.py"
RECORDS = "PARITY_RECORDS"
made = []


def pytest_configure(config):
    alone = not hasattr(config, "workerinput")
    if alone and config.option.markexpr == "parity" and RECORDS not in os.environ:
        made.append(tempfile.TemporaryDirectory())
        os.environ[RECORDS] = made[0].name


def pytest_sessionfinish(exitstatus):
    if not made:
        return
    with made.pop() as folder:
        del os.environ[RECORDS]
        if exitstatus == 0 and PAGE.exists():
            subprocess.run([sys.executable, PAGE, folder], check=True)
