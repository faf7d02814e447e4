"""The page: what it says, what it leaves out, and that names cannot break out."""

from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser

import polars as pl
import pytest

from polars_rank import analysis, report
from polars_rank.cli import main

HOSTILE = [
    "<script>stolen = 1</script>",
    "</script><script>stolen = 1</script>",
    "</style><img src=x onerror='stolen = 1'>",
    "\"'><b onmouseover='stolen = 1'>",
]


def rows(columns, found):
    return pl.DataFrame(found, columns, orient="row")


def data(queries=12, depth=6):
    draw = random.Random(5)
    before, after, judged, about, documents = [], [], [], [], []
    for q in range(queries):
        name = HOSTILE[q] if q < len(HOSTILE) else f"q{q}"
        about.append((name, f"asked {name}", ["JP", HOSTILE[0]][q % 2]))
        for d in range(depth):
            doc = f"{HOSTILE[d % 4]} {q}" if q < 2 else f"d{q}-{d}"
            before.append((name, doc, draw.random()))
            after.append((name, doc, draw.random()))
            link = ["https://example.org/", "javascript:stolen=1"][d % 2]
            documents.append((doc, f"title {doc}", link))
            if d:
                judged.append((name, doc, d % 4))
    ids = ["query_id", "doc_id"]
    return {
        "before": rows([*ids, "score"], before).unique(ids, maintain_order=True),
        "after": rows([*ids, "score"], after).unique(ids, maintain_order=True),
        "qrels": rows([*ids, "label"], judged).unique(ids, maintain_order=True),
        "queries": rows(["query_id", "asked", "land"], about),
        "documents": rows(["doc_id", "name", "link"], documents).unique("doc_id"),
    }


def reasons(made, measure="ndcg@5"):
    return analysis.reasons(
        made["before"],
        made["after"],
        measure,
        qrels=made["qrels"],
        segments=made["queries"],
        by="land",
    )


def full(made, **options):
    return report.page(
        reasons(made),
        about_documents=made["documents"],
        about_queries=made["queries"],
        title="name",
        url="link",
        text="asked",
        names=("live", HOSTILE[1]),
        **options,
    )


class Tags(HTMLParser):
    """All tags, and the data of the page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.own, self.in_data = [], [], "", False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.in_data = dict(attrs).get("id") == "data"

    def handle_data(self, text):
        if self.in_data:
            self.own += text

    def handle_endtag(self, tag):
        self.in_data = False


def shown(html):
    found = json.loads(Tags(html).own)
    (view,) = found.pop("views")
    return {**view, **found}


def several(made, **options):
    """Two runs and two measures: four comparisons."""
    asked = {"qrels": made["qrels"], "segments": made["queries"], "by": "land"}
    runs = {"new": made["after"], HOSTILE[0]: made["before"].reverse()}
    runs[HOSTILE[0]] = runs[HOSTILE[0]].with_columns(score=-pl.col("score"))
    whys = [
        analysis.reasons(made["before"], runs, m, **asked) for m in ("ndcg@5", "ap")
    ]
    return whys, report.page(whys, names=("live", "unused"), **options)


def test_names_are_text():
    html = full(data())
    page = Tags(html)
    assert page.tags.count("script") == 2
    assert page.tags.count("style") == 1
    assert "img" not in page.tags
    assert "b" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_nothing_is_fetched():
    """Links of documents are data, which the script makes links only if it is asked."""
    page = Tags(full(data()))
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith(("#", "data:,")), value
    assert "default-src 'none'" in full(data())


def test_values_are_those_of_a_loop():
    """Documents of a query add up to its contribution, and ranks are positions."""
    made = data()
    found = shown(full(made, max_queries=100))
    documents, queries = found["documents"], found["queries"]
    sums = dict.fromkeys(queries["id"], 0.0)
    for query, adds in zip(documents["id"], documents["contribution"], strict=True):
        sums[query] += adds
    wanted = dict(zip(queries["id"], queries["contribution"], strict=True))
    assert sums == pytest.approx(wanted, abs=1e-7)
    for side, column in (("before", "baseline_rank"), ("after", "rank")):
        lists = {}
        for query, doc, score in made[side].rows():
            lists.setdefault(query, []).append((-score, doc))
        places = zip(documents["id"], documents["doc"], documents[column], strict=True)
        for query, doc, rank in places:
            order = [name for _, name in sorted(lists[query])]
            assert order.index(doc) + 1 == rank


def test_the_rest_is_said():
    html = full(data(), max_queries=3, max_documents=2)
    found = shown(html)
    assert len(found["shown"]) == 3
    assert len(found["queries"]["id"]) == 12
    sizes = [abs(x) for x in found["queries"]["contribution"]]
    assert sizes == sorted(sizes, reverse=True)
    assert {*found["documents"]["id"]} <= {*found["queries"]["id"][:3]}
    ranks = zip(
        found["documents"]["rank"], found["documents"]["baseline_rank"], strict=True
    )
    assert all(min(pair) <= 2 for pair in ranks)
    assert re.search(r"The 3 queries that\s+moved the mean most have their lists", html)
    assert "--max-queries" in html
    assert "rank 2 " in html


def test_unjudged_documents_can_be_taken_away():
    made = data()
    found = shown(full(made))
    listed = pl.read_csv(found["judge"].encode())
    judged = {row[:2] for row in made["qrels"].rows()}
    assert listed.columns == ["query_id", "doc_id", "rank"]
    assert len(listed)
    assert not {*listed.select("query_id", "doc_id").rows()} & judged
    own = pl.DataFrame({"query_id": ["q9"], "doc_id": ["x"]})
    assert shown(full(made, to_judge=own))["judge"] == "query_id,doc_id\nq9,x\n"


def test_lazy_runs_have_the_same_page():
    made = data()
    lazy = {**made, "before": made["before"].lazy(), "after": made["after"].lazy()}
    assert shown(full(lazy)) == shown(full(made))


def test_several_runs_and_measures_are_views_of_a_page():
    made = data()
    whys, html = several(made)
    views = json.loads(Tags(html).own)["views"]
    assert [view["names"] for view in views] == [
        ["live", "new"],
        ["live", HOSTILE[0]],
    ] * 2
    singles = [why.of[name] for why in whys for name in ("new", HOSTILE[0])]
    for view, why in zip(views, singles, strict=True):
        alone = shown(report.page(why))
        assert view["queries"] == alone["queries"]
        assert view["documents"] == alone["documents"]
    assert html.count('data-view="') == 8  # the comparison, and what is left out
    assert len(re.findall(r'<option value="\d">', html)) == 4
    assert "Overview: ap, live → new" in html
    assert Tags(html).tags.count("script") == 2
    ids = [value for name, value in Tags(html).attributes if name == "id"]
    assert len(ids) == len({*ids})
    judge = pl.read_csv(json.loads(Tags(html).own)["judge"].encode())
    assert not judge.select("query_id", "doc_id").is_duplicated().any()
    with pytest.raises(ValueError, match="a page needs reasons"):
        report.page([])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"max_queries": 0}, ValueError, "max_queries must be a whole number from 1"),
        ({"title": "name"}, ValueError, "is taken from about_documents=: give it"),
    ],
)
def test_wrong_arguments(options, error, said):
    with pytest.raises(error, match=said):
        report.page(reasons(data()), **options)


def test_a_column_that_is_not_there():
    made = data()
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="headline"):
        report.page(reasons(made), about_documents=made["documents"], title="headline")


def test_command(tmp_path, capsys):
    made = data()
    for name, frame in made.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("before", "after")]
    out = tmp_path / "page.html"
    words = ["page", *files, "--qrels", str(tmp_path / "qrels.parquet")]
    about = ["--queries", str(tmp_path / "queries.parquet"), "--by", "land"]
    words += [*about, "--text", "asked", "-m", "ndcg@5", "-o", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{out}: 12 queries\n"
    found = shown(out.read_text())
    assert found["names"] == ["before", "after"]
    assert found["queries"]["text"][0].startswith("asked ")
    assert main(["page", files[0], *words[3:]]) == 2
    assert "the run after" in capsys.readouterr().err


def test_command_with_several_runs_and_measures(tmp_path, capsys):
    made = data()
    made["third"] = made["before"].with_columns(score=-pl.col("score"))
    for name, frame in made.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{n}.parquet") for n in ("before", "after", "third")]
    about = str(tmp_path / "queries.parquet")
    out = tmp_path / "page.html"
    words = ["page", *files, "--qrels", str(tmp_path / "qrels.parquet"), "-o", str(out)]
    words += ["--queries", about, "--by", "land", "--features", "land"]
    measures = ["ndcg@5", "kendall_tau", "ap"]
    assert main([*words, *(f"--measure={m}" for m in measures)]) == 0
    assert capsys.readouterr().out == f"{out}: 12 queries\n"
    html = out.read_text()
    views = json.loads(Tags(html).own)["views"]
    assert [view["names"][1] for view in views] == ["after", "third"] * 2
    runs = {"after": made["after"], "third": made["third"]}
    why = analysis.reasons(made["before"], runs, "ap", qrels=made["qrels"])
    for i, name in enumerate(runs):
        wanted = dict(why.of[name].queries.select("query_id", "difference").rows())
        queries = views[2 + i]["queries"]
        found = dict(zip(queries["id"], queries["difference"], strict=True))
        assert found == pytest.approx(wanted, abs=1e-9)
    assert "The comparison of all measures" in html
    for measure in measures:
        assert html.count(f"<td>{measure}</td>") >= 2  # of both runs
    assert "kendall_tau has no contributions" in html
    assert main([*words, "-m", "kendall_tau"]) == 2
    assert "kendall_tau has no contributions" in capsys.readouterr().err
