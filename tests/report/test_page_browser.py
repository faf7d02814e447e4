"""The page in a browser: what a reader sees, by keyboard, in both schemes."""

from __future__ import annotations

import polars as pl
import pytest
from test_page import HOSTILE, compared, data, full, reasons, relabeled, several

import polars_rank as pr
from polars_rank import report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    full(data(), path=path)
    return path


@pytest.fixture(params=[("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390)])
def tab(request, browser, file):
    """A tab that fails if anything is logged or fetched."""
    scheme, width = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    tab, said, asked = context.new_page(), [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url.split("#")[0]))
    tab.goto(file.as_uri())
    yield tab
    assert not said
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {
        file.as_uri()
    }
    context.close()


def test_nothing_of_a_name_runs(tab):
    links = tab.locator("#list a")
    for i in range(links.count()):
        tab.evaluate(
            "hash => { location.hash = hash }", links.nth(i).get_attribute("href")
        )
        tab.wait_for_function("document.querySelector('#query h3') !== null")
    assert tab.evaluate("typeof stolen") == "undefined"
    assert tab.locator("#query a[href^='javascript']").count() == 0
    assert tab.locator("#query a[href^='https://example.org']").count() > 0


def test_no_part_is_wider_than_the_window(tab):
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def part_of(land):
    """What the page says of the queries of a segment."""
    why = reasons(data())
    added = why.queries.filter(land=land)["contribution"].sum() / len(why.queries)
    return f"6 of 12 queries: {added:.4f} of the difference".replace("-", "−")


def test_filters_and_order(tab):
    def listed():
        return tab.locator("#list tbody tr").all_inner_texts()

    assert len(listed()) == 12
    tab.fill("#search", "Q11")
    assert len(listed()) == 1
    tab.fill("#search", "nothing like it")
    assert tab.locator("#none").is_visible()
    tab.fill("#search", "")
    tab.select_option("#sign", "lower")
    lower = len(listed())
    tab.select_option("#sign", "higher")
    assert lower + len(listed()) <= 12
    tab.select_option("#sign", "")
    tab.select_option("#segments select", label="JP")
    assert len(listed()) == 6
    assert tab.locator("#count").inner_text() == part_of("JP")
    tab.select_option("#segments select", "")
    tab.fill("#search", "jp")  # names of segments are found, too
    assert len(listed()) == 6
    tab.fill("#search", "")
    tab.click("th button[data-by=after]")
    values = [float(x) for x in tab.locator("#list td:nth-child(4)").all_inner_texts()]
    assert values == sorted(values)
    tab.click("th button[data-by=after]")
    values = [float(x) for x in tab.locator("#list td:nth-child(4)").all_inner_texts()]
    assert values == sorted(values, reverse=True)


def test_keyboard_alone(tab):
    tab.focus("#search")
    tab.keyboard.type("q7")
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.matches('#list tbody a')"):
            break
    tab.keyboard.press("Enter")
    tab.wait_for_function("document.activeElement.id === 'query'")
    assert tab.url.endswith("#q=q7")
    assert tab.locator("#query h3").inner_text() == "asked q7"


def test_an_address_opens_a_query(tab):
    for name in HOSTILE:
        tab.evaluate("q => { location.hash = 'q=' + encodeURIComponent(q) }", name)
        tab.wait_for_function(
            "q => document.querySelector('#query h3')?.textContent === 'asked ' + q",
            arg=name,
        )
        tab.reload()
        assert tab.locator("#query h3").inner_text() == f"asked {name}"
    tab.evaluate("() => { location.hash = 'q=unknown' }")
    tab.wait_for_function(
        "document.querySelector('#query').innerText.includes('No query')"
    )


@pytest.fixture
def choice(browser, tmp_path):
    """A page of four comparisons."""
    path = tmp_path / "several.html"
    several(data(), path=path)
    tab = browser.new_context().new_page()
    said = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(path.as_uri())
    yield tab
    assert not said
    tab.context.close()


def test_a_reader_chooses_a_comparison(choice):
    def headings():
        return choice.locator("h2:visible").all_inner_texts()

    assert headings()[0] == "Overview: ndcg@5, live → new"
    assert len(headings()) == 5
    before = choice.locator("#list td:nth-child(2)").all_inner_texts()
    choice.select_option("#view", "3")
    assert headings()[0] == f"Overview: ap, live → {HOSTILE[0]}"
    assert choice.locator("#list td:nth-child(2)").all_inner_texts() != before
    assert choice.locator("th button[data-by=after]").inner_text() == HOSTILE[0]
    assert choice.evaluate("typeof stolen") == "undefined"
    choice.click("#list tbody a >> nth=0")
    choice.wait_for_function("document.querySelector('#query h3') !== null")
    assert choice.url.endswith("&view=3")
    query = choice.locator("#query h3").inner_text()
    choice.reload()
    assert headings()[0] == f"Overview: ap, live → {HOSTILE[0]}"
    assert choice.locator("#view").input_value() == "3"
    assert choice.locator("#query h3").inner_text() == query
    choice.select_option("#view", "0")  # the same query, of the first comparison
    choice.wait_for_function("!location.hash.includes('view')")
    assert choice.locator("#query h3").inner_text() == query
    assert headings()[0] == "Overview: ndcg@5, live → new"
    choice.click("nav a >> text=Differences")
    assert choice.url.endswith("#differences-0")


def test_each_list_has_the_grades_of_its_time(browser, tmp_path):
    path = tmp_path / "relabeled.html"
    made, old, _ = relabeled(path)
    tab = browser.new_context().new_page()
    tab.goto(f"{path.as_uri()}#q=q5")
    new = dict(made["qrels"].filter(query_id="q5").select("doc_id", "label").rows())
    old = dict(old.filter(query_id="q5").select("doc_id", "label").rows())
    for place, grades in enumerate((old, new)):
        for item in tab.locator("#query ol").nth(place).locator("li").all():
            doc = item.locator(".title").inner_text()
            grade = grades.get(doc)
            wanted = "unjudged" if grade is None else f"grade {grade}"
            assert item.locator(".grade").inner_text()[2:] == wanted
            was = "was unjudged" if old.get(doc) is None else f"was grade {old[doc]}"
            changed = place == 1 and old.get(doc) != new.get(doc)
            assert (was in item.inner_text()) == changed
    assert "of it by labels" in tab.locator("#count").inner_text()
    tab.context.close()


def test_axe_finds_nothing_among_several(choice):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    choice.select_option("#view", "2")
    found = axe.Axe().run(choice).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


def test_the_download_is_the_list(tab):
    with tab.expect_download() as waiting:
        tab.click("#download")
    text = waiting.value.path().read_text()
    assert text.startswith("query_id,doc_id,rank\n")


def test_axe_finds_nothing(tab):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    tab.evaluate("() => { location.hash = 'q=q7' }")
    tab.wait_for_function("document.querySelector('#query h3') !== null")
    for details in tab.locator("summary").all():
        details.click()
    found = axe.Axe().run(tab).response["violations"]
    assert not [
        (rule["id"], rule["impact"], rule["nodes"][0]["html"]) for rule in found
    ]


@pytest.mark.parametrize("kind", ["values", "trend"])
def test_pages_without_documents(browser, tmp_path, kind):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    path = tmp_path / "page.html"
    comparison = compared(data(), by="land")
    days = [("live", d, q, (q + d) % 3 / 2) for d in range(2) for q in range(5)]
    values = pl.DataFrame(days, ["system", "day", "query_id", "rr"], orient="row")
    trend = pr.comparison.trend(values, time="day")
    shown = {"comparison": comparison} if kind == "values" else {"trend": trend}
    report.page(path=path, **shown)
    for width in (1400, 390):
        tab = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        said = []
        tab.on("console", lambda message, said=said: said.append(message.text))
        tab.on("pageerror", lambda error, said=said: said.append(str(error)))
        tab.goto(path.as_uri())
        if kind == "values":
            tab.click("#list tbody a >> nth=0")
            tab.wait_for_function("document.querySelector('#query h3') !== null")
            assert tab.locator("#query ol").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = axe.Axe().run(tab).response["violations"]
        assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in found]
        assert not said
        tab.context.close()
