"""The pages of measures and tools: complete, and with numbers that loops confirm."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from math import log2
from pathlib import Path

import pytest

from polars_rank.conventions.tools import TOOLS
from polars_rank.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"
SESSION = re.compile(r"```pycon\n(.*?)```", re.DOTALL)
GRADES = {"a": 3, "b": 0, "c": 0, "d": 2, "e": 1}  # c is not judged
IDEAL = [3, 2, 1, 1]  # f, of grade 1, was not retrieved


@pytest.fixture(scope="module")
def web():
    """The modules that write the pages."""
    sys.path.insert(0, str(DOCS))
    names = ("formulas", "measures", "sample", "sources", "tools")
    yield {name: importlib.import_module(f"web.{name}") for name in names}
    sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def rows(web):
    """Where the tools differ on nDCG, row by row."""
    return "\n".join(web["measures"].differs(METRICS["ndcg"])).splitlines()


def dcg(grades, gain=float):
    return sum(gain(g) / log2(i + 1) for i, g in enumerate(grades, 1))


def test_every_measure_has_a_formula_whose_symbols_are_explained(web):
    formulas, symbols = web["formulas"].FORMULAS, web["formulas"].SYMBOLS
    assert formulas.keys() == METRICS.keys()
    used = {s for _, said in formulas.values() for s in said.split()}
    assert used == symbols.keys()


def letters(tex):
    """Letters and upright words of a formula, Greek ones by their command."""
    words = re.findall(r"\\mathrm\{([^}]*)\}", tex)
    tex = re.sub(r"\\(?:text|mathrm)\{[^{}]*\}", " ", tex)
    greek = {"alpha", "beta", "gamma", "delta", "epsilon", "ell", "pi"}
    commands = re.findall(r"\\([A-Za-z]+)", tex)
    plain = re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", tex))
    names = {word.replace("\\_", "_").rstrip("@") for word in words}
    return names | {word for word in commands if word in greek} | set(plain)


def test_every_letter_of_a_formula_is_explained(web):
    """By its symbols, within it (``m = ...``, an index) or as a parameter."""
    formulas, symbols = web["formulas"].FORMULAS, web["formulas"].SYMBOLS
    usual = {"i", "j", "e", "sgn", "rank", "round", *METRICS}
    left = {}
    for name, (tex, used) in formulas.items():
        said = [part for symbol in used.split() for part in symbols[symbol]]
        known = usual.union(METRICS[name].parameters)
        for part in said[::2]:
            known |= letters(part)
        for part in said[1::2]:
            known |= letters(" ".join(re.findall(r"\$(.*?)\$", part)))
        known |= letters(
            " ".join(re.findall(r"([A-Za-z]\w*|\\[a-z]+)(?:_\w|\([a-z]\))? =", tex))
        )
        known |= letters(" ".join(re.findall(r"\\(?:sum|min|max)_\{?(\w)", tex)))
        if unknown := letters(tex) - known:
            left[name] = unknown
    assert not left


def test_every_formula_can_be_shown(web):
    convert = pytest.importorskip("latex2mathml.converter").convert
    for tex, _ in web["formulas"].FORMULAS.values():
        assert "<math" in convert(tex)


@pytest.mark.parametrize(
    ("tool", "order", "ideal", "gain"),
    [
        ("trec_eval", "abdce", IDEAL, float),
        ("ranx", "abcde", IDEAL, float),
        ("gdeval", "abdce", IDEAL, lambda g: 2**g - 1),
        ("lightgbm", "abcde", [3, 2, 1], lambda g: 2**g - 1),
        ("recommenders", "abcde", IDEAL, lambda g: float(g > 0)),
    ],
)
def test_the_ndcg_of_a_tool(web, rows, tool, order, ideal, gain):
    expected = dcg([GRADES[doc] for doc in order], gain) / dcg(ideal, gain)
    value = web["sample"].value("ndcg", convention=tool)
    assert value == pytest.approx(expected, abs=1e-12)
    row = next(row for row in rows if f"(../tools/{tool}.md)" in row)
    assert f"| {expected:.4f}".rstrip("0") in row
    assert ("`gain=" in row) == (gain is not float)
    assert ("`ties=" in row) == (order != "abdce")
    assert ("`judgments=" in row) == (ideal != IDEAL)


def test_a_query_that_was_not_run(web):
    alone = web["sample"].value("ndcg")
    rows = "\n".join(web["measures"].what_if(METRICS["ndcg"])).splitlines()
    found = [row.split("|")[1:3] for row in rows if row.startswith("| `missing=")]
    values = {choice.strip(" `"): value.strip() for choice, value in found}
    assert float(values["missing=skip"]) == pytest.approx(alone, abs=1e-4)
    assert float(values["missing=zero"]) == pytest.approx(alone / 2, abs=1e-4)
    assert values["missing=error"] == "an error"


def test_a_relevant_document_on_its_way_down(web):
    values, ranks = web["sample"].on_its_way_down(), range(1, 11)
    assert values["ndcg"] == pytest.approx([1 / log2(i + 1) for i in ranks])
    assert values["ap"] == pytest.approx([1 / i for i in ranks])
    assert values["q_measure"] == pytest.approx([(1 + 4) / (i + 4) for i in ranks])
    assert values["first_click"] == list(ranks)


def test_every_identifier_is_that_of_a_paper_which_a_measure_names(web):
    texts = [" ".join(m.doc.split()) for m in METRICS.values()]
    for paper, doi in web["sources"].DOIS.items():
        assert re.fullmatch(r"10\.\d{4}/\S+", doi), doi
        assert any(paper in text for text in texts), paper
        fact = web["sources"].linked(f"- **Source:** {paper}, eq. 3.")
        assert fact == f"- **Source:** [{paper}](https://doi.org/{doi}), eq. 3."


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_a_page_has_its_parts_and_an_example_that_prints_what_it_shows(web, name):
    text = "\n\n".join(web["measures"].page(METRICS[name]))
    for part in ("## Formula", "## Facts", "## Example", "**Undefined", "**Source"):
        assert part in text, part
    if name in ("ndcg", "ap", "rr", "err", "rbp", "auc"):
        assert "<svg" in text
    example = SESSION.search(text)[1]
    test = doctest.DocTestParser().get_doctest(example, {}, name, None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted
    assert not result.failed, "".join(report)


@pytest.mark.slow
def test_every_tool_has_a_page_with_all_its_measures(web):
    written = web["tools"].written()
    for name, tool in TOOLS.items():
        for theirs in tool.compared.values():
            assert f"`{theirs}`" in written[f"tools/{name}.md"]


def test_questions_are_short_and_lead_on():
    questions = (DOCS / "questions.md").read_text().split("\n### ")[1:]
    assert len(questions) >= 40
    assert f"| {len(questions)} questions, each" in (DOCS / "index.md").read_text()
    for text in questions:
        (session,) = SESSION.findall(text)
        lines = re.findall(r"^(?:>>>|\.\.\.) ", session, re.MULTILINE)
        assert len(lines) <= 6, text.partition("\n")[0]
        assert "](" in text, text.partition("\n")[0]


def test_the_readme_and_the_first_page_say_the_same():
    readme, index = (
        path.read_text().split("\n\n")[1]
        for path in (DOCS.parent / "README.md", DOCS / "index.md")
    )
    assert readme == index
