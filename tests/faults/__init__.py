"""Programs that are killed, interrupted or left without a disk, and what they leave.

A module of this folder with ``trials`` is a class of faults, tried by
``python tests/faults/run.py``, by the slow tests in fewer rounds, and counted on
``docs/reliability.md``. Its docstring is the text there; what else it has:

``trials(rounds, folder)``
    Yields a :class:`Trial` for each fault; the folder is empty, and its own.
``FEW``, ``MANY``
    Rounds for the slow tests, and for the page.
``FIGURE``
    What the figures of its trials are; None if they have none.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent.parent
READY = "ready"


class Trial(NamedTuple):
    """One fault that was tried.

    Attributes
    ----------
    case
        What was done, e.g. ``"SIGTERM, command"``; a line of the page counts the trials
        of a case.
    lost
        What it did to us, for people; empty if nothing.
    figure
        A number beside it; the page shows the largest of a case.
    """

    case: str
    lost: str = ""
    figure: float | None = None


def program(
    code: str, *arguments: object, temp: Path | None = None
) -> subprocess.Popen:
    """Start Python with the code; ``temp`` is its folder for temporary files.

    Modules of the tests can be imported; ``ready()`` lets ``when_ready`` return.
    """
    start = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        f"def ready(): print({READY!r}, flush=True)\n{code}"
    )
    environment = dict(os.environ)
    if temp is not None:
        environment["TMPDIR"] = str(temp)
    return subprocess.Popen(
        [sys.executable, "-c", start, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def when_ready(running: subprocess.Popen) -> subprocess.Popen:
    """Wait until the program says so."""
    line = running.stdout.readline()
    assert line.strip() == READY, line + running.communicate()[1]
    return running


def go(running: subprocess.Popen) -> None:
    """Answer a program that waits for a line of input."""
    running.stdin.write("go\n")
    running.stdin.flush()


def finish(running: subprocess.Popen, answer: str = "") -> str:
    """Let the program come to its good end; what it printed."""
    out, err = running.communicate(answer + "\n", timeout=60)
    assert running.returncode == 0, err
    return out


def was_killed(running: subprocess.Popen) -> bool:
    """Wait for the end of the program; whether it was a sudden one."""
    running.communicate(timeout=60)
    return running.returncode == -signal.SIGKILL


def interrupt(running: subprocess.Popen) -> tuple[int, str]:
    """Ctrl-C; the exit code and what was written on standard error."""
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    return running.returncode, err


@contextmanager
def small_disk(folder: Path, megabytes: int):
    """A disk of that size at ``folder``; the test is skipped where none can be had."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("a small disk needs the command mount")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
