"""Settings of Sphinx; ``docs/build.py`` runs it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docstrings
import mathematics
import published
import summaries

import polars_rank
from polars_rank.conventions.tools import TOOLS
from polars_rank.metrics import METRICS

project = "polars_rank"
author = "polars_rank developers"
version = release = polars_rank.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path: list[str] = []

# Markdown as GitHub shows it
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]

# Docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature holds them
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries = False

# What is copied from an example runs: no prompts, no output
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"polars_rank {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # summaries.py has others
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search: ndcg, ties, lightgbm",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"questions": []}  # no page lies below it
html_context = {"default_mode": "auto"}


def other_names() -> dict[str, list[str]]:
    """Words by which a measure or a tool is known elsewhere, and its pages."""
    names: dict[str, list[str]] = {}
    for metric in METRICS.values():
        for alias in metric.aliases:
            names.setdefault(alias.lower(), []).append(f"measures/{metric.name}")
    for name, tool in TOOLS.items():
        for word in {name, *re.findall(r"\w+", tool.name.lower())}:
            names.setdefault(word, []).append(f"tools/{name}")
    return names


def link_terms(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings lead to the glossary, once for each of its words."""
    lines[:] = docstrings.with_terms("\n".join(lines), published.terms()).split("\n")


def search(app: Any, pagename: str, *_: Any) -> None:
    """The page of the search has an order and summaries of its own."""
    if pagename == "search":
        known = {"NAMES": other_names(), "SUMMARIES": summaries.summaries(app.env)}
        for name, value in known.items():
            app.add_js_file(None, body=f"const {name} = {script(value)};")
        app.add_js_file("search.js")


def script(value: Any) -> str:
    """A value as JSON that can stand in a page."""
    return json.dumps(value).replace("</", "<\\/")


def setup(app: Any) -> None:
    """Formulas are MathML, which needs no script and no fonts."""
    app.connect("html-page-context", search)
    app.connect("autodoc-process-docstring", docstrings.returns_in_words, priority=100)
    app.connect("autodoc-process-docstring", link_terms, priority=900)
    app.add_html_math_renderer(
        "mathml", (mathematics.inline, None), (mathematics.block, None)
    )
