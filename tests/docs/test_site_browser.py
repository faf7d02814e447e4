"""The site in a browser: search, copying, pictures, both schemes, wide and narrow."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
PAGES = (
    *("index", "questions", "guide/first-hour", "guide/compare", "measures/index"),
    *("measures/ndcg", "measures/err", "tools/lightgbm", "conventions", "parity"),
    *("api/index", "api/polars_rank.compare", "search"),
)
LOOKS = [("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390)]
TWO = [LOOKS[0], LOOKS[3]]  # each scheme and each width once: many pages take long


def named(look: tuple[str, int]) -> str:
    return f"{look[0]}-{look[1]}"


@pytest.fixture(params=LOOKS, ids=named)
def tab(request, browser):
    """A tab that fails if anything is fetched from elsewhere."""
    scheme, width = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        permissions=["clipboard-read", "clipboard-write"],
    )
    tab, asked = context.new_page(), []
    tab.on("request", lambda sent: asked.append(sent.url))
    yield tab
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()


def test_search_finds_ndcg(tab, site):
    tab.goto(f"{(site / 'search.html').as_uri()}?q=ndcg")
    tab.wait_for_selector("#search-results ul.search li a")
    found = tab.locator("#search-results ul.search li a").all_inner_texts()
    assert "ndcg" in found
    tab.locator("#search-results ul.search li a", has_text="ndcg").first.click()
    tab.wait_for_selector("h1")
    assert "search.html" not in tab.url


def test_the_copy_button_copies_what_runs(tab, site):
    tab.goto((site / "measures" / "ndcg.html").as_uri())
    block = tab.locator("div.highlight", has=tab.locator("button.copybtn")).first
    block.hover()
    block.locator("button.copybtn").click()
    tab.wait_for_selector("button.copybtn.success")
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("import polars as pl\nimport polars_rank as pr\n")
    assert ">>>" not in copied
    compile(copied, "copied", "exec")


def test_formula_and_picture_are_there(tab, site):
    tab.goto((site / "measures" / "ndcg.html").as_uri())
    formula = tab.locator(".formula math").first.bounding_box()
    assert formula["height"] > 20
    picture = tab.locator("figure.curve svg").bounding_box()
    assert picture["width"] > 250
    assert picture["height"] > 90
    assert tab.locator("figure.curve circle").count() == 10


@pytest.mark.parametrize("tab", TWO, indirect=True, ids=named)
@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_the_window(tab, site, page):
    tab.goto((site / f"{page}.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("tab", TWO, indirect=True, ids=named)
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(tab, site, page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    tab.goto((site / f"{page}.html").as_uri())
    found = axe.Axe().run(tab).response["violations"]
    assert not [
        (rule["id"], [node["html"][:200] for node in rule["nodes"][:3]])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


def test_keyboard_alone(tab, site):
    """The first key press leads to a link that skips the header."""
    tab.goto((site / "index.html").as_uri())
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent").strip().startswith("Skip")
