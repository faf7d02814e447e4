"""The programs of faults lose nothing, and the page says what they found."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from faults.run import NAMES, PAGE, counted, program


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_lost(name):
    cases = list(counted(name, program(name).FEW))
    assert cases
    assert [case for case in cases if case["lost"]] == []


def test_the_page_says_what_was_found():
    page = runpy.run_path(str(PAGE))
    text = Path(page["PAGE"]).read_text(encoding="utf-8")
    assert text == page["page"](), "run python docs/reliability.py"
    lost = [line["case"] for line in page["held"]() if line["lost"]]
    assert lost == []
