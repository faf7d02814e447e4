"""The documentation site: it is built without a warning, and it is complete."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import polars_rank
from polars_rank.metrics import METRICS

HOUSE = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page names, what it asks for, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.asked: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("link", "script", "img", "source", "iframe"):
            self.asked += [given[n] for n in ("href", "src", "srcset") if n in given]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


def public_modules() -> list[ModuleType]:
    """Modules that a user imports: no part of their name begins with ``_``.

    ``ray``, ``spark`` and ``dask`` are of the top level; inner modules, such as
    ``polars_rank.comparison.compare``, are reached through their room.
    """
    package = importlib.import_module("polars_rank.integrations")
    names = [module.name for module in pkgutil.iter_modules(polars_rank.__path__)]
    names += [f"integrations.{m.name}" for m in pkgutil.iter_modules(package.__path__)]
    found = [
        importlib.import_module(f"polars_rank.{name}")
        for name in names
        if not name.startswith("_") and not name.startswith("cli")
    ]
    return [polars_rank, *(module for module in found if hasattr(module, "__all__"))]


def test_the_reference_has_every_public_name(site):
    head_and_names = (site / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(head_and_names[4]).decode().splitlines()
    described = {line.split()[0] for line in lines if " py:" in line}
    objects = []  # as the pages name them; others are names of the same ones
    for name in described:
        module, _, attribute = name.rpartition(".")
        try:
            objects.append(getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError, ValueError):
            continue  # a method, or a module
    known = {id(value) for value in objects}
    missing = [
        f"{module.__name__}.{name}"
        for module in public_modules()
        for name in module.__all__
        if not isinstance(value := getattr(module, name), ModuleType)
        and f"{module.__name__}.{name}" not in described
        and id(value) not in known
    ]
    assert len(described) > 100
    assert not missing


def test_every_measure_has_a_page(pages, site):
    assert not [m for m in METRICS if site / "measures" / f"{m}.html" not in pages]


def test_docstrings_lead_to_the_glossary(pages, site):
    """The first mention of a word, and no other."""
    found = {
        path.stem: [link for link in page.links if "glossary.html#term-" in link]
        for path, page in pages.items()
        if path.parent.name == "api"
    }
    assert sum(map(bool, found.values())) > 60
    for name in ("evaluate", "compare", "fusion.fuse"):
        links = found[f"polars_rank.{name}"]
        assert links
        assert len(set(links)) == len(links), name


def test_links_lead_somewhere(pages, site):
    """Those within the site; others have the form of an address."""
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                good = parts.scheme in ("https", "http", "mailto")
                good = good and bool(parts.netloc or parts.path)
            else:
                other = path if not parts.path else (path.parent / unquote(parts.path))
                known = pages.get(Path(os.path.normpath(other)))
                named = unquote(parts.fragment)
                good = known is not None and (not named or named in known.ids)
            if not good:
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert not wrong


def test_nothing_is_fetched_from_elsewhere(pages, site):
    asked = {
        link
        for page in pages.values()
        for link in page.asked
        if re.match(r"(https?:)?//", link)
    }
    assert not asked
    styles = [path.read_text() for path in site.rglob("*.css")]
    assert not [text for text in styles if re.search(r"url\(['\"]?(https?:)?//", text)]


def test_no_trace_of_this_machine(site):
    """Neither paths of a home nor of the folder that the site was built in."""
    for path in (*site.rglob("*.html"), site / "searchindex.js"):
        text = path.read_text()
        assert str(HOUSE) not in text, path
        assert str(site) not in text, path
