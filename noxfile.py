"""The checks of the gate, each a session with an environment of its own.

``nox`` runs the quick ones; ``nox -s slow engines parity`` the others; ``nox -l`` lists
all. ``.ci/run`` runs those that two cores can do in some minutes.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "quick"]
nox.options.error_on_missing_interpreters = False

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
# Peaks of memory are measured alone: beside others rows are read while none are used.
PEAKS = (
    "tests/engine/test_bounded.py::test_memory_stays_within_the_limit",
    "tests/engine/test_bounded.py::test_contiguous_rows_take_no_memory_of_their_own",
    "tests/engine/test_lists_in_parts.py::test_memory_stays_within_the_limit",
    "tests/house/test_reliability.py::test_nothing_is_lost[memory]",
)
# Most of what is installed is never imported: compiling it all takes longer.
QUICK_INSTALL = {"PIP_NO_COMPILE": "no"}  # which pip reads as: do not compile


def install(session: nox.Session, extras: str, *others: str) -> None:
    """Install the checkout with these extras."""
    session.install("-q", "-e", f".[{extras}]", *others, env=QUICK_INSTALL)


def pytest(session: nox.Session, *arguments: str, **environment: str) -> None:
    """Run the tests, with the arguments that follow ``--`` on nox's command line."""
    session.run("python", "-m", "pytest", *arguments, *session.posargs, env=environment)


@nox.session
def readme(session: nox.Session) -> None:
    """Run the README's two commands as written, each in a new environment.

    The second one runs the quick tests.
    """
    lines = Path("README.md").read_text().splitlines()
    start = "python -m pip install "
    commands = [line for line in lines if line.startswith(start) and " && " in line]
    if len(commands) != 2:
        session.error(f"README.md should show two commands, has {len(commands)}")
    for number, command in enumerate(commands):
        copy = Path(session.create_tmp()) / f"copy{number}"
        shutil.rmtree(copy, ignore_errors=True)
        ignored = shutil.ignore_patterns(".nox", ".venv", "build", "__pycache__")
        shutil.copytree(Path(__file__).parent, copy, ignore=ignored)
        environment = copy.parent / f"environment{number}"
        session.run("python", "-m", "venv", "--clear", str(environment))
        activated = f'. "{environment}/bin/activate" && cd "{copy}" && {command}'
        session.run("bash", "-c", activated, external=True, env=QUICK_INSTALL)


@nox.session(python=VERSIONS)
def quick(session: nox.Session) -> None:
    """Run the quick tests."""
    install(session, "test")
    pytest(session)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the slow tests but those of Ray and Spark, one thread of Polars each.

    Processes with one thread take a quarter less time than those with two, and some
    tests wait: so there is one process more than there are cores.
    """
    # A server of object storage, too: its tests are skipped without it.
    install(session, "test,dask", "moto[s3,server]>=5")
    processes = str((os.cpu_count() or 1) + 1)
    one_thread = {"POLARS_MAX_THREADS": "1"}
    later = [word for test in PEAKS for word in ("--deselect", test)]
    pytest(session, "-m", "slow", "-n", processes, *later, **one_thread)
    pytest(session, "-m", "slow", "-n", "0", *PEAKS, **one_thread)


@nox.session
def engines(session: nox.Session) -> None:
    """Run the tests of Ray and Spark; what cannot be installed here is skipped."""
    install(session, "stats", "pytest", "pytest-timeout", "pytest-xdist")
    for extra in ("ray", "spark"):
        # 1: it is not to be had on this machine
        session.install(
            "-q", "-e", f".[{extra}]", env=QUICK_INSTALL, success_codes=[0, 1]
        )
    # 5: no test was collected, as neither of them is there
    session.run(
        *("python", "-m", "pytest", "-m", "slow", "-n", "2", "-rs"),
        *("-k", "not distributed", "tests/parts/test_engines.py"),
        success_codes=[0, 5],
    )


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the page in Chromium, and at its script with TypeScript.

    Neither Chromium nor node is installed here: what is not there is skipped.
    """
    install(session, "cli,stats,page", "pytest", "pytest-timeout", "pytest-xdist")
    session.install("-q", "playwright", "axe-playwright-python", env=QUICK_INSTALL)
    if shutil.which("npm"):  # 1: it is not to be had on this machine
        session.run_install(
            *("npm", "install", "--silent", "--global", "typescript@5"),
            *("--fetch-retries", "0"),
            *("--prefix", session.virtualenv.location),
            external=True,
            success_codes=[0, 1],
        )
    files = ("tests/report/test_page_browser.py", "tests/report/test_page_types.py")
    pytest(session, "-m", "slow", "-rs", "-n", "2", *files)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site, and look at it in Chromium if that is there."""
    install(session, "docs", "pytest", "pytest-timeout", "pytest-xdist")
    session.install("-q", "playwright", "axe-playwright-python", env=QUICK_INSTALL)
    files = ("tests/docs/test_site.py", "tests/docs/test_site_browser.py")
    pytest(session, "-m", "slow", "-rs", "-n", "0", *files)  # slow has the others


@nox.session
def parity(session: nox.Session) -> None:
    """Compare with the other tools that install together.

    ranx compiles for half of the time: unoptimized, first, and once, since files are
    not split.
    """
    install(session, "parity")
    order = ("--dist", "loadfile", "--no-loadscope-reorder")
    files = ("tests/parity/test_ranx.py", "tests/parity")
    pytest(
        session,
        *("-m", "parity", *order, *files),
        NUMBA_OPT="0",
        POLARS_MAX_THREADS="1",
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Check lint, format and types, those that a user's checker sees as well."""
    install(session, "dev")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    pytest(session, "-m", "slow", "-n", "0", "tests/house/test_typing.py")


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the quick tests with the lowest versions that pyproject.toml allows."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [
        requirement
        for extra in ("cli", "stats", "report", "plot", "page", "test")
        for requirement in extras[extra]
    ]
    at_least = [requirement for requirement in wanted if ">=" in requirement]
    install(session, "test", *(each.replace(">=", "==") for each in at_least))
    pytest(session)
