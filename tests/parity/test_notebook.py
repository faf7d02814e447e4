"""The nightly report as a notebook: what Jupyter shows of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "nightly-report.md"
SESSION = re.compile(r"```pycon\n(.*?)```", re.DOTALL)
SHOWN = ("night", "night.plot.forest()", "night.means", "pr.comparison.moments(values)")


def cells() -> list[str]:
    """The statements of the page, one cell a session, and what a reader looks at."""
    code = []
    for session in SESSION.findall(PAGE.read_text()):
        lines = session.splitlines()
        code.append("\n".join(ln[4:] for ln in lines if ln.startswith((">>>", "..."))))
    return [*code, *SHOWN]


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, str]]:
    """The data of each cell that ends in a value, by the text of the cell."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(code) for code in cells()]
    done = nbclient.NotebookClient(notebook, timeout=120).execute()
    return {
        cell.source: cell.outputs[-1]["data"]
        for cell in done.cells
        if cell.outputs and "data" in cell.outputs[-1]
    }


def test_a_comparison_is_a_table(shown):
    html = shown["night"]["text/html"]
    assert "<table" in html
    for words in ("bm25", "hybrid2", "0.8653", "Differences with 95 % intervals"):
        assert words in html
    assert "Means with 95 % intervals" in shown["night"]["text/plain"]


def test_a_plot_is_a_picture(shown):
    assert "vega-lite" in shown["night.plot.forest()"]["text/html"]


@pytest.mark.parametrize("cell", SHOWN[2:])
def test_frames_are_frames(shown, cell):
    assert "<table" in shown[cell]["text/html"]
    assert "shape: (" in shown[cell]["text/html"]
