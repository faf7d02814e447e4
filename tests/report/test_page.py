"""The page: what it says, what it leaves out, and that names cannot break out."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from html import escape as html_of
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

import polars_rank as pr
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


@cache
def usual_page():
    return full(data())


@cache
def usual_reasons():
    return reasons(data())


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


def shown_first(html):
    """The first of the comparisons of a page."""
    return json.loads(Tags(html).own)["views"][0]


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
    html = usual_page()
    page = Tags(html)
    assert page.tags.count("script") == 2
    assert page.tags.count("style") == 1
    assert "img" not in page.tags
    assert "b" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_nothing_is_fetched():
    """Links of documents are data, which the script makes links only if it is asked."""
    page = Tags(usual_page())
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith(("#", "data:,")), value
    assert "default-src 'none'" in usual_page()


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
    assert "shown down to rank 2" in html


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


def texts(html, part):
    """The cells of the first table of a part of the page, row by row."""
    inside = html[html.index(f'id="{part}') :]
    body = inside[inside.index("<tbody>") : inside.index("</tbody>")]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>")]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in rows if row]


def test_the_largest_parts_are_told_first():
    made = data()
    html = full(made)
    wanted = reasons(made).largest(8)
    found = texts(html, "overview-0")
    assert [row[1] for row in found] == [str(n) for n in wanted["queries"]]
    assert any(row[0].startswith(("lost ", "gained ", "rank ")) for row in found)
    assert any(row[0] == "land = JP" for row in found)


def test_holes_are_told():
    """A query without a list, and unjudged documents, are counted for each run."""
    made = data()
    ids = ["query_id", "doc_id"]
    gone = {**made, "after": made["after"].filter(pl.col("query_id") != "q7")}
    judged = {*made["qrels"].select(ids).rows()}
    counts = []
    for name in ("before", "after"):
        first, lists = 0, {}
        for query, doc, score in gone[name].rows():
            lists.setdefault(query, []).append((-score, doc))
        for query, docs in lists.items():
            first += sum((query, d) not in judged for _, d in sorted(docs)[:5])
        counts.append(first)
    with pytest.warns(UserWarning, match="missing from the run"):
        html = report.page(reasons(gone), names=("live", "new"))
    assert "new has no list for 1 query: q7." in html
    assert "live has no list" not in html
    said = f"among the first 5: {counts[0]} in live and {counts[1]} in new."
    assert said in html
    assert "has no list" not in full(made)


def test_what_to_judge_leads_to_the_lists():
    made = data()
    runs = {"live": made["before"], "new": made["after"]}
    asked = analysis.to_judge(runs, "ndcg@5", qrels=made["qrels"])
    html = full(made, to_judge=asked, max_queries=3)
    shown_ids = {*shown(html)["shown"]}
    links = re.findall(r'<a href="#q=([^"]*)">', html)
    few = asked["query_id"].head(10).to_list()
    assert [unquote(q) for q in links] == [q for q in few if q in shown_ids]
    assert "could turn the order of two runs around" in html
    cells = texts(html, "judge")
    assert {row[-1] for row in cells} <= {"yes", "no"}
    sure = asked.with_columns(reverses=pl.lit(value=False))
    assert "Not even all of their labels together" in full(made, to_judge=sure)


def relabeled(path):
    """A page of runs whose judgments changed; what it is made of, and its HTML."""
    made = data()
    old = made["qrels"].with_columns(label=(pl.col("label") + 1) % 4)
    old = old.filter(pl.col("doc_id") != "d5-2")
    why = analysis.reasons(
        made["before"], made["after"], "ndcg@5", qrels=made["qrels"], qrels_before=old
    )
    return made, old, report.page(why, path)


def test_labels_of_both_times(tmp_path):
    made, old, html = relabeled(tmp_path / "page.html")
    documents = shown(html)["documents"]
    for column, qrels in (("baseline_label", old), ("label", made["qrels"])):
        grades = {row[:2]: row[2] for row in qrels.rows()}
        for query, doc, label in zip(
            documents["id"], documents["doc"], documents[column], strict=True
        ):
            assert grades.get((query, doc)) == label


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


def test_the_command_asks_for_labels_only_where_it_evaluates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, ids = data(), ["query_id", "doc_id"]
    for name in ("before", "after", "qrels"):
        made[name].write_parquet(f"{name}.parquet")
    files = [f"{name}.parquet" for name in ("before", "after", "qrels")]
    assert main(["page", *files, "-m", "dcg", "--max-rank", "2", "-o", "p.html"]) == 0
    judge = pl.read_csv(
        json.loads(Tags(Path("p.html").read_text()).own)["judge"].encode()
    )
    seen = [
        made[side].sort("score", descending=True).group_by("query_id").head(2)
        for side in ("before", "after")
    ]
    unjudged = pl.concat(seen).unique(ids).join(made["qrels"], on=ids, how="anti")
    assert {*judge.select(ids).rows()} == {*unjudged.select(ids).rows()}


def compared(made, **options):
    runs = {"live": made["before"], "new": made["after"], "old": made["before"]}
    about = {"qrels": made["qrels"], "segments": made["queries"]}
    measures = ["ndcg@5", "kendall_tau"]
    return pr.compare(runs, measures, baseline="live", **about, **options)


@pytest.mark.parametrize("by", [None, "land"])
def test_values_alone_have_a_page_without_documents(by):
    """Also of measures that are no sums over documents."""
    made = data()
    html = report.page(comparison=compared(made, by=by))
    found = json.loads(Tags(html).own)
    assert [view["names"] for view in found["views"]] == [
        ["live", "new"],
        ["live", "old"],
    ] * 2
    assert not any(view["lists"] for view in found["views"])
    assert found["judge"] == ""
    assert "What to judge next" not in html
    assert "<code>max_queries" not in html
    wanted = reasons(made)
    queries = found["views"][0]["queries"]
    differences = dict(zip(queries["id"], queries["difference"], strict=True))
    told = dict(wanted.queries.select("query_id", "difference").rows())
    assert differences == pytest.approx(told, abs=1e-8)
    assert f"{wanted.summary['difference'][0]:.4f}".lstrip("-") in html
    if by is not None:
        rows = texts(html, "segments-0")
        parts = dict(wanted.segments.select("land", "contribution").rows())
        assert {row[0]: row[-2].replace("−", "-") for row in rows} == {
            html_of(land): f"{adds:.4f}" for land, adds in parts.items()
        }


def test_traffic_counts_in_a_page_of_values():
    made = data()
    made["queries"] = made["queries"].with_columns(traffic=pl.int_range(pl.len()) + 1)
    found = compared(made, weight="traffic")
    view = shown_first(report.page(comparison=found))
    mean = sum(view["queries"]["contribution"]) / len(view["queries"]["id"])
    pair = found.pairs.filter(measure="ndcg@5", system="new")
    assert mean == pytest.approx(pair["difference"].item(), abs=1e-8)


@pytest.mark.parametrize("weight", [None, "traffic"])
def test_segments_keep_the_interval_of_all_queries(weight):
    made = data()
    made["queries"] = made["queries"].with_columns(traffic=pl.int_range(pl.len()) + 1)
    headlines = []
    for by in (None, "land"):
        html = report.page(comparison=compared(made, weight=weight, by=by))
        headlines.append(re.findall(r"95 % interval (.*?)</dd>", html))
    assert len(headlines[0]) == 4
    assert headlines[0] == headlines[1]


def test_a_page_of_a_trend_has_no_script():
    rows = [(day, q, (q + day) % 5 / 4) for day in range(3) for q in range(9)]
    values = pl.DataFrame(rows, ["day", "query_id", "rr"], orient="row")
    values = values.with_columns(system=pl.lit(HOSTILE[0]))
    trend = pr.comparison.trend(values, time="day")
    html = report.page(trend=trend)
    page = Tags(html)
    assert page.tags.count("script") == 1  # of data
    assert len(texts(html, "trend")) == 3
    assert "Means and differences" in html
    for wrong in ((), [], None):
        with pytest.raises(ValueError, match="a page needs reasons, a comparison or"):
            report.page(wrong)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"max_queries": 0}, ValueError, "max_queries must be a whole number from 1"),
        ({"title": "name"}, ValueError, "is taken from about_documents=: give it"),
    ],
)
def test_wrong_arguments(options, error, said):
    with pytest.raises(error, match=said):
        report.page(usual_reasons(), **options)


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


@pytest.mark.slow
def test_command_names_its_own_option(tmp_path, capsys):
    files = [tmp_path / name for name in ("a.csv", "b.csv", "qrels.csv")]
    for file, column in zip(files, ("score", "score", "label"), strict=True):
        pl.DataFrame({"query_id": 1, "doc_id": 1, column: 1}).write_csv(file)
    call = ["page", *map(str, files), "-o", str(tmp_path / "page.html")]
    assert main([*call, "--title", "name"]) == 2
    assert "'name' is taken from --documents: give it, too" in capsys.readouterr().err


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
    assert main([*words, "--min-queries", "1"]) == 2
    assert "--min-queries must be" in capsys.readouterr().err
    assert "The comparison of all measures" in html
    for measure in measures:
        assert html.count(f"<td>{measure}</td>") >= 2  # of both runs
    assert "kendall_tau has no contributions" in html
    assert main([*words, "-m", "kendall_tau"]) == 2
    assert "kendall_tau has no contributions" in capsys.readouterr().err


@pytest.mark.slow
def test_command_with_judgments_and_weights_that_changed(tmp_path, capsys):
    made = data()
    made["old"] = made["qrels"].with_columns(label=(pl.col("label") + 1) % 4)
    made["traffic"] = made["queries"].with_columns(
        now=pl.int_range(pl.len()) + 1, then=pl.lit(1)
    )
    for name, frame in made.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    file = {name: str(tmp_path / f"{name}.parquet") for name in made}
    out = tmp_path / "page.html"
    words = ["page", file["before"], file["after"], "--qrels", file["qrels"]]
    words += ["-m", "ndcg@5", "-m", "dcg@5", "-o", str(out)]
    assert main([*words, "--qrels-before", file["old"]]) == 0
    for measure in ("ndcg@5", "dcg@5"):
        why = analysis.reasons(
            made["before"], made["after"], measure, qrels=made["qrels"],
            qrels_before=made["old"],
        )  # fmt: skip
        means = [why.settings[name] for name in ("baseline_mean", "mean")]
        rows = texts(out.read_text(), "measures")
        (row,) = (row for row in rows if row[0] == measure)
        assert row[4:6] == [f"{mean:.4f}" for mean in means]
    weights = ["--queries", file["traffic"], "--weight", "now"]
    assert main([*words, *weights, "--weight-before", "then"]) == 0
    html = out.read_text()
    why = analysis.reasons(
        made["before"], made["after"], "ndcg@5", qrels=made["qrels"],
        segments=made["traffic"], weight="now", weight_before="then",
    )  # fmt: skip
    view = json.loads(Tags(html).own)["views"][0]
    wanted = dict(why.queries.select("query_id", "contribution").rows())
    found = dict(
        zip(view["queries"]["id"], view["queries"]["contribution"], strict=True)
    )
    assert found == pytest.approx(wanted, abs=1e-7)
    assert "The comparison of all measures" not in html
    runs = {name: made[name] for name in ("before", "after")}
    asked = {"qrels": made["qrels"], "segments": made["traffic"], "weight": "now"}
    wanted = analysis.to_judge(runs, "ndcg@5", **asked)
    assert json.loads(Tags(html).own)["judge"] == wanted.write_csv()
    assert (
        wanted["stake"].to_list()
        != analysis.to_judge(runs, "ndcg@5", qrels=made["qrels"])["stake"].to_list()
    )
    capsys.readouterr()


def test_command_of_logs_with_labels_of_their_own(tmp_path, capsys):
    made = data()
    logs, ids = {}, ["query_id", "doc_id"]
    for name in ("before", "after"):
        logs[name] = made[name].join(made["qrels"], on=ids, how="left")
        logs[name].write_parquet(tmp_path / f"{name}.parquet")
    out = tmp_path / "page.html"
    files = [str(tmp_path / f"{name}.parquet") for name in logs]
    assert main(["page", *files, "-m", "ndcg@5", "-o", str(out)]) == 0
    why = analysis.reasons(logs["before"], logs["after"], "ndcg@5")
    alone = shown(report.page(why))
    found = shown(out.read_text())
    assert found["queries"] == alone["queries"]
    assert found["judge"] == alone["judge"]


@pytest.fixture
def days(tmp_path):
    """Values of two systems, in a file; and their moments, day by day."""
    draw = random.Random(3)
    files = []
    for day in ("2026-11-21", "2026-11-22"):
        rows = [
            (s, q, draw.random(), "DE" if q % 2 else "JP")
            for s in ("live", "new")
            for q in range(30)
        ]
        names = ["system", "query_id", "rr", "land"]
        values = pl.DataFrame(rows, names, orient="row")
        files.append(str(tmp_path / f"{day}.parquet"))
        pr.comparison.moments(values, path=files[-1])
    values.write_parquet(tmp_path / "values.parquet")
    return values, files


def test_command_of_values(tmp_path, capsys, days):
    values, files = days
    out = tmp_path / "page.html"
    words = ["page", str(tmp_path / "values.parquet"), "-o", str(out)]
    assert main([*words, "--by", "land", "--margin", "0.01"]) == 0
    assert capsys.readouterr().out == f"{out}: 30 queries\n"
    view = shown_first(out.read_text())
    assert view["names"] == ["live", "new"]
    old, new = (values.filter(system=s).sort("query_id") for s in ("live", "new"))
    wanted = dict(zip(old["query_id"], new["rr"] - old["rr"], strict=True))
    queries = view["queries"]
    found = dict(zip(map(int, queries["id"]), queries["difference"], strict=True))
    assert found == pytest.approx(wanted, abs=1e-8)
    gate = pr.gate(new, "rr", baseline=old, margin=0.01, by="land")
    assert f"Gate: {gate.verdict}" in out.read_text()
    assert main([*words, "--days", files[0], "--days", files[1]]) == 0
    assert len(texts(out.read_text(), "trend")) == 2


def test_command_of_days(tmp_path, capsys, days):
    _, files = days
    out = tmp_path / "page.html"
    assert main(["page", *files, "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 60 queries\n"
    html = out.read_text()
    assert not json.loads(Tags(html).own)["views"]
    assert [row[0] for row in texts(html, "trend")] == ["2026-11-21", "2026-11-22"]
    assert main(["page", *files, "-o", str(out), "--margin", "0.1"]) == 2
    assert "--margin and --features need runs" in capsys.readouterr().err


def test_command_with_the_verdict_of_a_gate(tmp_path, capsys):
    made = data()
    for name, frame in made.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    file = {name: str(tmp_path / f"{name}.parquet") for name in made}
    out = tmp_path / "page.html"
    words = ["page", file["before"], file["after"], "--qrels", file["qrels"]]
    words += ["-m", "ndcg@5", "-o", str(out), "--margin", "ndcg@5=0.2"]
    assert main(words) == 0
    old, new = (
        pr.per_query(made[name], "ndcg@5", qrels=made["qrels"])
        for name in ("before", "after")
    )
    verdict = pr.gate(new, "ndcg@5", baseline=old, margin=0.2).verdict
    assert f"Gate: {verdict}" in out.read_text()
