"""The page of the guide: what a tool's code gives is what is printed beside it."""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path

import pytest

from polars_rank.conventions.tools import TOOLS as CONVENTIONS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "coming-from.md"
FIRST, *SECTIONS = re.split(r"(?m)^## ", PAGE.read_text())
THEIRS, OURS = r"```python\n(.*?)```", r"```pycon\n>>> .*?\n([\d.]+)\n"
TOOLS = {s.partition("\n")[0]: s for s in SECTIONS if re.search(THEIRS, s, re.DOTALL)}
NOT_RUN = {  # servers that are not started, and a list of pages
    "OpenSearch and Elasticsearch",
    "Quepid",
    "Training loops, trackers, schedulers",
}
ROUNDED = 5.1e-6  # BEIR prints five decimals, the page six
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("tool", TOOLS)
def test_both_sides_of_a_section(tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if tool == "Spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    names: dict[str, object] = {}
    lists, theirs = (
        re.search(THEIRS, text, re.DOTALL)[1] for text in (FIRST, TOOLS[tool])
    )
    exec(lists, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(theirs, names)
        except ImportError as error:
            pytest.skip(str(error))
    ours = float(re.search(OURS, TOOLS[tool], re.DOTALL)[1])
    assert float(names["theirs"]) == pytest.approx(ours, abs=ROUNDED)


def test_what_is_not_run():
    assert {s.partition("\n")[0] for s in SECTIONS} - {*TOOLS} == NOT_RUN


def test_every_convention_has_a_section():
    named = {word for s in SECTIONS for word in re.split(r", | and ", s.split("\n")[0])}
    for tool in CONVENTIONS.values():
        assert any(word in tool.name for word in named), tool.name
