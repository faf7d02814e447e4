"""The site in a browser: search, copying, pictures, both schemes, wide and narrow."""

from __future__ import annotations

from urllib.parse import quote

import pytest

pytestmark = pytest.mark.slow
PAGES = (
    *("index", "questions", "guide/first-hour", "guide/compare", "measures/index"),
    *("measures/ndcg", "measures/err", "tools/lightgbm", "conventions", "parity"),
    *("api/index", "api/polars_rank.compare", "search"),
)
ASKED = {  # what people type, and pages of which one is among the first three results
    "trec_eval ties": ["questions.html#ties", "conventions.html"],
    "ndcg lightgbm vs sklearn": [
        "questions.html#why-is-my-ndcg-different",
        "guide/coming-from.html#lightgbm",
    ],
    "map pytrec_eval": ["tools/trec_eval_9.html", "guide/coming-from.html#trec-eval"],
    "recall above 1": ["questions.html#my-recall-is-above-1"],
    "unjudged documents": [
        "questions.html#how-do-i-ignore-unjudged",
        "measures/unjudged",
    ],
    "bootstrap ndcg": ["questions.html#bootstrap-interval", "guide/compare.html"],
    "mrr tie": ["measures/rr.html", "questions.html#ties"],
    "graded map": ["questions.html#graded-map"],
    "rbo implementation": ["measures/rbo.html"],
    "interleaving polars": ["guide/clicks.html"],
    "ips click": ["guide/clicks.html"],
    "novelty recommender": ["guide/recommend.html", "api/polars_rank.recommend.html"],
    "pandas ndcg": [
        "questions.html#i-have-a-pandas-frame",
        "guide/coming-from.html#pandas",
    ],
    "airflow": ["loops/airflow.html"],
    "langchain retriever": ["questions.html#langchain"],
    "spark map": [
        "tools/spark.html",
        "guide/spark.html",
        "guide/coming-from.html#spark",
    ],
    "xgboost early stopping": ["loops/xgboost.html", "questions.html#early-stopping"],
    "cold start users": ["questions.html#cold-start-users"],
    "ndcg github action": ["loops/pytest-and-github.html"],
    "explain query plan": ["guide/inside.html"],
    "custom metric": ["questions.html#custom-metric", "guide/own-measures.html"],
    "ndcg per country": ["questions.html#segments", "guide/segments"],
    "fail ci when ranker is worse": [
        "questions.html#ci-gate",
        "guide/pull-request-gate",
    ],
    "exclude items seen in training": ["questions.html#items-seen-in-training"],
    "implicit feedback": ["questions.html#implicit-feedback"],
    "trec_eval -q per query values": ["questions.html#values-per-query"],
    "relevance level 2": ["questions.html#relevance-level"],
    "pool bias new system": ["questions.html#pool-bias", "guide/judgments.html"],
    "kendall tau system rankings": [
        "questions.html#kendall",
        "measures/kendall_tau.html",
    ],
    "install": ["guide/first-steps.html#install"],
    "hit rate": ["measures/accuracy.html", "questions.html#what-is-hit-rate"],
    "recall per user activity": [
        "questions.html#users-by-activity",
        "guide/recommender-tour.html#is-it-so-for-everybody",
    ],
    "holm correction latex table": [
        "questions.html#latex",
        "guide/paper-table.html",
    ],
    "worst queries between two runs": ["questions.html#worst-queries"],
    "confidence interval per country": ["questions.html#confidence-interval"],
    "elasticsearch hits": [
        "questions.html#elasticsearch",
        "guide/coming-from.html#opensearch",
    ],
    "compare runs without judgments": ["questions.html#rbo"],
    "precision recall curve": [
        "measures/interpolated_precision.html",
        "measures/eleven_point_ap.html",
        "measures/families/recall_levels.html",
    ],
    "catboost pfound": ["measures/pfound.html", "loops/catboost.html"],
    "popularity bias recommender": [
        "guide/recommend",
        "measures/mean_popularity.html",
        "measures/families/recommendation.html",
    ],
    "dbt": ["loops/duckdb-and-dbt.html"],
    "number of topics power": ["questions.html#power", "guide/compare.html"],
    "out of memory": ["questions.html#out-of-memory", "large-data.html"],
    "sampled metrics too high": ["guide/recommend.html"],
    "merge daily results": ["guide/parts.html", "questions.html#can-i-add-up"],
    "position bias propensity": ["guide/clicks.html", "api/polars_rank.clicks"],
    "multi-hop questions": ["measures/full_recall.html", "guide/retrieval-for-rag"],
}
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
    tab.wait_for_selector("#search-results p.context")  # also from file://
    said = tab.locator("#search-results p.context").all_inner_texts()
    assert len(said) > 10
    assert any(text.startswith("DCG divided by the ideal DCG") for text in said)
    tab.locator("#search-results ul.search li a", has_text="ndcg").first.click()
    tab.wait_for_selector("h1")
    assert "search.html" not in tab.url


@pytest.mark.parametrize("tab", LOOKS[:1], indirect=True, ids=named)
def test_search_finds_what_people_ask(tab, site):
    wrong = {}
    for phrase, wanted in ASKED.items():
        tab.goto(f"{(site / 'search.html').as_uri()}?q={quote(phrase)}")
        tab.wait_for_selector("#search-results ul.search li:nth-child(3) a")
        links = tab.locator("#search-results ul.search li a")
        found = [links.nth(i).get_attribute("href") for i in range(3)]
        if not any(link.startswith(page) for link in found for page in wanted):
            wrong[phrase] = found
    assert not wrong


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
