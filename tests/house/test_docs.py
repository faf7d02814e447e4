"""The pages: their links lead somewhere, and the generated ones are up to date."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from collections import Counter
from operator import attrgetter
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
DOCS = HOUSE / "docs"
PAGES = [
    *sorted(HOUSE.glob("*.md")),
    HOUSE / "benchmarks" / "README.md",
    *sorted(DOCS.rglob("*.md")),
]
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```", re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ROOMS = ["clicks", "comparison", "fusion", "io", "parts", "recommend", "uncertainty"]
NAME = re.compile(rf"(?<![\w./-])(pr|{'|'.join(ROOMS)})\.(?!md\b)(\w+(?:\.\w+)*)")


def name_of(page: Path) -> str:
    return str(page.relative_to(HOUSE))


def prose(page: Path) -> str:
    return CODE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of headings."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), target
        assert other.is_relative_to(HOUSE), target
        assert not anchor or anchor in anchors(other), target


def test_code_that_is_shown_can_be_parsed():
    """What is no session: functions to be copied."""
    for page in PAGES:
        for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
            ast.parse(code)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_that_are_told_are_in_the_package(page):
    text = page.read_text()
    if page.name == "CHANGELOG.md":  # the table of old names has old names
        text = text.partition("\n### Measures\n")[2]
    for room, name in set(NAME.findall(text)):
        module = "polars_rank" if room == "pr" else f"polars_rank.{room}"
        attrgetter(name)(importlib.import_module(module))


def test_every_page_can_be_reached():
    reached, ways = set(), [HOUSE / "README.md"]
    while ways:
        page = ways.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = (target.partition("#")[0] for target in LINK.findall(prose(page)))
        ways += [
            (page.parent / target).resolve()
            for target in targets
            if target and ":" not in target
        ]
    assert not set(DOCS.rglob("*.md")) - reached


def test_generated_pages_are_written():
    """A second run of the generator changes nothing: it reads what is there."""
    generator = runpy.run_path(str(DOCS / "pages.py"))
    pages = generator["written"]()
    for path, text in pages.items():
        assert path.exists(), "run python docs/make.py"
        assert path.read_text() == text, f"run python docs/make.py: {name_of(path)}"
    assert set((DOCS / "measures").iterdir()) <= pages.keys()


def test_the_page_of_parity_is_what_was_found():
    parity = runpy.run_path(str(DOCS / "parity.py"))
    assert parity["PAGE"].read_text() == parity["page"](parity["held"]())
