"""The types of the page's script, by TypeScript's compiler where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polars_rank.report import web

SCRIPT = Path(web.__file__).with_name("page.js")
STRICT = (
    *("--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals"),
    *("--target", "es2022", "--lib", "es2022,dom,dom.iterable"),
)

pytestmark = pytest.mark.slow


def told(script):
    """What the compiler says of a script."""
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip("tsc is not installed: npm install -g typescript")
    run = subprocess.run([tsc, *STRICT, script], capture_output=True, text=True)
    return run.stdout + run.stderr


def test_the_script_has_the_types_that_it_names():
    assert told(SCRIPT) == ""


def test_a_wrong_type_is_told(tmp_path):
    text = SCRIPT.read_text()
    named = "const PAGE = 100;"
    assert named in text
    wrong = tmp_path / "page.js"
    wrong.write_text(text.replace(named, 'const PAGE = "100";'))
    assert "not assignable" in told(wrong)
