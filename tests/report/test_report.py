"""Tables of a comparison: every format holds the numbers, and nothing breaks out."""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
from html.parser import HTMLParser
from itertools import combinations
from typing import get_args

import polars as pl
import pytest
from scipy import stats
from test_compare import SHORT, values

import polars_rank as pr
from polars_rank.comparison.input.procedures import TestName
from polars_rank.report import curves
from polars_rank.report.comparison import TESTS

ODD = {"A": "a_b & <script>$x^2$</script>", "B": "50 % {done} #1 \\~", "C": "|p|*q*`"}


def odd() -> pr.comparison.Comparison:
    named = pl.col("system").replace(ODD)
    return pr.compare(values().with_columns(named), baseline="D")


@SHORT
def test_text():
    text = str(
        pr.compare(values(), baseline="A", interval="percentile", n_resamples=99)
    )
    assert text.startswith("Means with 95 % intervals\n\nsystem")
    assert "+0.1308 [" in text
    assert "Paired t, Holm over 3, percentile intervals; *: adjusted p < 0.05." in text
    assert "8/3/1" in text
    assert repr(pr.compare(values())) == str(pr.compare(values()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"test": "tukey"}, "Paired Tukey HSD; *: p < 0.05."),
        ({"test": "tost", "margin": 0.1}, "Equivalence (TOST) within 0.1, Holm over 6"),
        ({"alternative": "less"}, "one-sided (less)"),
        ({"cluster": "user"}, "cluster by user"),
        ({"pairs": "independent"}, "Welch's t"),
        ({"correction": "bh", "family": "all"}, "Benjamini-Hochberg over 6"),
        ({"family": "none"}, "Holm over 1"),
        ({"level": 0.999}, "99.9 % intervals"),
    ],
)
def test_the_method_is_told(options, said):
    assert said in str(pr.compare(values(), **options))


def test_the_best_is_bold_and_letters_say_what_it_beats():
    found = pr.compare(values())
    assert r"\textbf{0.596}\textsuperscript{cd}" in found.to_latex()
    assert r"**0.5958 \[0.4242, 0.7674\]**<sup>cd</sup>" in found.to_markdown()
    lower = pr.compare(values(measure="arp"))
    assert r"\textbf{0.433" in lower.to_latex()


@pytest.mark.parametrize("test", ["sign", "wilcoxon"])
def test_letters_of_tests_that_are_not_of_means(test):
    """B is a little better in 27 queries, and far worse in 3."""
    d = [0.01 + 0.0001 * i for i in range(27)] + [-0.9] * 3
    frame = pl.DataFrame(
        {
            "system": ["A"] * 30 + ["B"] * 30,
            "query_id": [*range(30)] * 2,
            "ndcg@10": [0.95] * 30 + [0.95 + v for v in d],
        }
    )
    found = pr.compare(frame, test=test)
    means = found.means["mean"].to_list()
    assert means[1] < means[0]
    first, second = str(found).splitlines()[3:5]
    assert (first[-1], second[-2:]) == ("]", " a")
    assert rf"{means[1]:.3f}\textsuperscript{{a}}" in found.to_latex()
    assert drawn(found.plot.forest())[0][0]["side"] == "better"


@pytest.mark.slow
def test_letters_tell_what_differs():
    """Two systems share a letter if and only if they do not differ significantly."""
    for options in ({}, {"test": "tukey"}, {"correction": "none"}, {"level": 0.999999}):
        found = pr.compare(values(), **options)
        rows = found.letters().select("system", "letters").rows()
        for (a, x), (b, y) in combinations(rows, 2):
            pair = found.pairs.filter(
                pl.col("baseline").is_in([a, b]) & pl.col("system").is_in([a, b])
            )
            assert pair["significant"].item() == (not {*x} & {*y})
        assert all(letters for _, letters in rows)


def test_segments_have_rows_of_their_own():
    split = values().with_columns(part=pl.when(pl.col("query_id") < "q05").then(1))
    text = pr.compare(split, by="part", baseline="A", min_queries=2).to_markdown()
    assert "| 1 | D" in text
    assert "| - | D" in text


@pytest.mark.parametrize("lacks", ["ap", "ndcg@10"])
def test_a_system_that_lacks_a_measure_has_a_dash(lacks):
    """No part of the moments has both; without the first measure, it comes last."""
    both = values("ABC").with_columns(ap=pl.col("ndcg@10") / 2)
    parts = both.filter(pl.col("system") < "C"), both.drop(lacks)
    sums = [pr.comparison.moments(part.drop("traffic", "user")) for part in parts]
    merged = pr.comparison.merge(sums)
    text = pr.compare(merged).to_markdown().replace("*", "")
    rows = {line[2]: line.split(" | ")[-2:] for line in text.splitlines()[4:7]}
    means = {s: statistics.fmean(both.filter(system=s)["ndcg@10"]) for s in "ABC"}
    for name, mean in means.items():
        expected = {"ndcg@10": f"{mean:.4f}", "ap": f"{mean / 2:.4f}"}
        expected |= {lacks: "-"} if name == "C" else {}
        assert [cell.split()[0] for cell in rows[name]] == [*expected.values()]
    ranked = sorted("ABC", key=lambda s: (s == "C" and lacks == "ndcg@10", -means[s]))
    assert [*rows] == ranked
    for order in ("name", "given"):
        assert str(pr.compare(merged, order=order)).count("\nC ") == 1


class Reader(HTMLParser):
    """What a browser would show."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_html(tmp_path):
    comparison = odd()
    text = comparison.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text in page
    reader = Reader()
    reader.feed(page)
    shown = "".join(reader.texts)
    assert "script" not in reader.tags
    assert all(name in shown for name in ODD.values())
    assert "0.5958 [0.4242, 0.7674]" in shown
    assert comparison._repr_html_() == text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the notebook's own
def test_a_notebook_shows_tables_and_pictures():
    client = pytest.importorskip("nbclient")
    notebook = pytest.importorskip("nbformat").v4
    pytest.importorskip("ipykernel")
    cells = [
        "import polars as pl, polars_rank as pr\n"
        "values = pl.DataFrame({'system': ['a<b'] * 30 + ['c'] * 30, 'query_id': "
        "[*range(30)] * 2, 'rr': [i % 7 / 10 for i in range(60)]})\n"
        "found = pr.compare(values)\nfound",
        "found.plot.forest()",
    ]
    book = notebook.new_notebook(cells=[notebook.new_code_cell(c) for c in cells])
    client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    table, picture = (cell.outputs[-1]["data"]["text/html"] for cell in book.cells)
    assert table.count("</table>") == 2
    assert "a&lt;b" in table
    assert "a<b" not in table
    assert "vega" in picture


def test_markdown_shows_odd_names_as_they_are():
    text = odd().to_markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for row in rows:
        bare = row.replace(r"\|", "")
        assert bare.count("|") in (4, bare.count("|"))
    assert r"\|p\|\*q\*\`" in text
    assert r"\<script\>\$x^2\$" in text


def test_latex_escapes_what_it_would_obey():
    text = odd().to_latex(pairs=True)
    assert r"a\_b \& \textless{}script\textgreater{}\$x\textasciicircum{}2\$" in text
    assert r"50 \% \{done\} \#1 \textbackslash{}\textasciitilde{}" in text
    for name in ("table*", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path):
    head = "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n"
    head += "\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "t.tex").write_text(f"{head}{odd().to_latex()}\n\\end{{document}}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_table_as_pyterrier_has_it():
    frame = values()
    found = pr.compare(frame, baseline="A", correction="bonferroni").to_pyterrier()
    own = {s: v["ndcg@10"].to_list() for (s,), v in frame.group_by("system")}
    assert found.columns == [
        "name", "ndcg@10", "ndcg@10 +", "ndcg@10 -", "ndcg@10 p-value",
        "ndcg@10 reject", "ndcg@10 p-value corrected",
    ]  # fmt: skip
    assert found.row(0)[2:] == (None, None, None, False, None)
    for name, mean, better, worse, p, reject, corrected in found.rows():
        assert mean == pytest.approx(sum(own[name]) / len(own[name]))
        if name == "A":
            continue
        pairs = list(zip(own[name], own["A"], strict=True))
        assert better == sum(x - a > 1e-9 for x, a in pairs)
        assert worse == sum(a - x > 1e-9 for x, a in pairs)
        assert p == pytest.approx(stats.ttest_rel(own[name], own["A"]).pvalue)
        assert corrected == pytest.approx(min(1.0, 3 * p))
        assert reject == (corrected < 0.05)
    plain = pr.compare(frame, baseline="A", correction="none").to_pyterrier()
    assert plain.columns[-1] == "ndcg@10 p-value"
    with pytest.raises(ValueError, match="one baseline and no segments"):
        pr.compare(frame).to_pyterrier()


def test_percent_on_request():
    found = pr.compare(values(), baseline="A")
    plain, shown = found.to_markdown(), found.to_markdown(percent=True)
    assert "**Means in percent with 95 % intervals**" in shown
    assert "**Differences in percent with 95 % intervals**" in shown
    row = found.pairs.row(0, named=True)
    own, low, high = (100 * row[name] for name in ("difference", "lower", "upper"))
    assert f"{own:+.2f} \\[{low:.2f}, {high:.2f}\\]" in shown
    detectable, effect = row["detectable"], row["effect"]
    assert f"| {100 * detectable:.2f} |" in shown
    assert f"| {effect:.2f} |" in shown
    assert f"| {detectable:.4f} |" in plain
    mean = found.means["mean"].max()
    assert rf"\textbf{{{100 * mean:.1f}}}" in found.to_latex(percent=True)
    assert f"{100 * mean:.2f}" in found.to_html(percent=True)


def test_dict_is_json():
    split = values().with_columns(part=pl.col("query_id") == "q05")
    told = pr.compare(split, by="part", alternative="greater").to_dict()
    again = json.loads(json.dumps(told, allow_nan=False))
    assert len(again["pairs"]) == 12
    assert again["settings"]["test"] == "t"
    assert again["pairs"][0]["upper"] == "Infinity"


@pytest.mark.slow
def test_without_an_extra_its_name_is_told():
    code = (
        "import sys; sys.modules['great_tables'] = sys.modules['altair'] = None\n"
        "import polars as pl, polars_rank as pr\n"
        "v = pl.DataFrame({'system': ['<a>', '<a>', 'b', 'b'],\n"
        "    'query_id': [1, 2] * 2, 'v': [.1, .5, .3, .4]})\n"
        "c = pr.compare(v)\n"
        "print(c._repr_html_()[:5], '&lt;a&gt;' in c._repr_html_())\n"
        "for f in (c.to_html, c.plot.forest):\n"
        "    try: f()\n"
        "    except ModuleNotFoundError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "<pre> True",
        "this needs great_tables: pip install 'polars-rank[report]'",
        "this needs altair: pip install 'polars-rank[plot]'",
    ], done.stderr


def test_every_test_has_a_title():
    apart = {*TESTS} ^ {*get_args(TestName)}
    assert not apart, "a title in TESTS of report/comparison.py for each"


def drawn(chart) -> list[list[dict]]:
    """The rows of every data set of a chart, but the line at 0."""
    sets = chart.to_dict()["datasets"].values()
    return [rows for rows in sets if rows != [{"x": 0.0}]]


@pytest.mark.slow
def test_pictures_hold_the_numbers():
    found = pr.compare(values(), baseline="A", order="given")
    (rows,) = drawn(found.plot.forest())
    assert [r["pair"] for r in rows] == ["B − A", "C − A", "D − A"]
    assert [r["side"] for r in rows] == ["better", "not significant", "better"]
    for name in ("difference", "lower", "upper"):
        assert [r[name] for r in rows] == pytest.approx(found.pairs[name].to_list())
    deltas = drawn(found.plot.deltas())
    assert [len(d) for d in deltas] == [12, 12, 12]
    ends = [(r["left"], r["right"]) for r in deltas[0]]
    assert ends == [(i + 0.5, i + 1.5) for i in range(12)]  # side by side
    first = [r["difference"] for r in deltas[0]]
    assert first == sorted(first, reverse=True)
    assert [r["side"] for r in deltas[0]].count("same") == 3
    lower = pr.compare(values(measure="arp"), baseline="A", order="given")
    assert drawn(lower.plot.forest())[0][0]["side"] == "worse"
    with pytest.raises(ValueError, match="no measure 'ap' was compared"):
        found.plot.forest("ap")


def domains(chart) -> list[list[float]]:
    """The scale of the intervals of every panel."""
    found = []
    for panel in chart.to_dict()["vconcat"]:
        spans = [x for x in panel["layer"] if "x2" in x["encoding"]]
        found += [x["encoding"]["x"]["scale"]["domain"] for x in spans]
    return found


@pytest.mark.slow
def test_panels_share_a_scale_and_show_the_margin():
    frame = values().with_columns(
        rr=pl.col("ndcg@10") * 0.5, arp=pl.col("ndcg@10") * 100
    )
    two = pr.compare(frame, measures=["ndcg@10", "rr"])
    ends = [two.pairs["lower"].min(), two.pairs["upper"].max()]
    assert domains(two.plot.forest()) == [pytest.approx(ends)] * 2
    apart = domains(pr.compare(frame, measures=["ndcg@10", "arp"]).plot.forest())
    assert apart == [pytest.approx(ends), pytest.approx([100 * e for e in ends])]
    split = frame.with_columns(part=pl.col("query_id") < "q05")
    by = pr.compare(split, measures="ndcg@10", by="part", baseline="A")
    first, *others = domains(by.plot.segments())
    assert others == [first, first]
    assert first == pytest.approx([by.pairs["lower"].min(), by.pairs["upper"].max()])
    same = pr.compare(
        frame, "ndcg@10", baseline="A", test="tost", margin=0.15, order="given"
    ).plot.forest()
    lines, rows = sorted(drawn(same), key=len)
    assert lines == [{"x": -0.15}, {"x": 0.15}]
    sides = ["equivalent", "equivalent", "not significant"]
    assert [r["side"] for r in rows] == sides
    assert domains(same)[0][0] == -0.15


@pytest.mark.slow
def test_pictures_of_segments_and_depths():
    split = values().with_columns(part=pl.col("query_id") < "q05")
    found = pr.compare(split, by="part", baseline="A")
    rows = drawn(found.plot.segments())
    assert [[r["segment"] for r in part] for part in rows] == [
        ["false (n = 7)", "true (n = 5)"]
    ] * 3
    with pytest.raises(ValueError, match="compare with by="):
        pr.compare(values()).plot.segments()
    deep = values().with_columns(pl.col("ndcg@10").alias(f"ndcg@{k}") for k in (5, 20))
    found = pr.compare(deep)
    (rows,) = drawn(found.plot.depth())
    assert sorted({r["k"] for r in rows}) == [5, 10, 20]
    assert len(rows) == len(found.means)
    assert not any("lower" in row for row in rows)  # intervals of means would mislead
    found = pr.compare(deep, baseline="A", order="given")
    means, zero, differences = drawn(found.plot.depth())
    assert len(means) == len(found.means)
    assert zero == [{"y": 0.0}]
    ends = ("difference", "lower", "upper")
    for k in (5, 10, 20):
        wanted = found.pairs.filter(measure=f"ndcg@{k}").select("system", *ends).rows()
        shown = [
            (r["system"], *(r[e] for e in ends)) for r in differences if r["k"] == k
        ]
        assert [pytest.approx(row[1:]) for row in wanted] == [row[1:] for row in shown]
    with pytest.raises(ValueError, match="compare without by="):
        pr.compare(deep.with_columns(part=1), by="part").plot.depth()
    with pytest.raises(ValueError, match="a measure at several cutoffs"):
        pr.compare(values()).plot.depth()


@pytest.mark.slow
def test_pictures_of_time():
    days = pl.concat(
        values().with_columns(day=pl.date(2026, 11, d), rr=pl.col("ndcg@10") / d)
        for d in (20, 21, 22)
    )
    found = pr.comparison.trend(days, time="day", baseline="A")
    sets = [d for d in drawn(curves.trend(found)) if "time" in d[0]]
    assert len(sets) == 4  # means and differences of two measures
    for shown, (measure, apart) in zip(
        sets, [(m, a) for m in ("ndcg@10", "rr") for a in (False, True)], strict=True
    ):
        own = found.filter(pl.col("measure") == measure)
        own = own.filter(pl.col("baseline").is_not_null() == apart)
        name = "difference" if apart else "estimate"
        assert [r[name] for r in shown] == pytest.approx(own["estimate"].to_list())
        assert all(("lower" in r) == apart for r in shown)
    for time, kind in (
        (pl.col("day").dt.day(), "quantitative"),
        (pl.format("run {}", "day"), "ordinal"),
        (pl.col("day").cast(pl.Datetime), "temporal"),
    ):
        one = days.select("system", "query_id", "ndcg@10", day=time)
        found = pr.comparison.trend(one, time="day")
        plain = curves.trend(found).to_dict()
        assert f"'type': '{kind}'" in str(plain)
        first = found.to_series(0).first()
        marked = curves.trend(found, {first: "v2"})
        events = [d for d in drawn(marked) if "label" in d[0]]
        assert [d["label"] for (d,) in events] == ["v2"]
        assert len(marked.to_dict()["vconcat"]) == len(plain["vconcat"])


@pytest.mark.slow
def test_a_scatter_plot_counts_queries():
    frame = pl.DataFrame(
        {
            "system": ["a"] * 4 + ["b"] * 4,
            "query_id": [1, 2, 3, 4] * 2,
            "rr": [0.5, 0.5, 1.0, None, 1.0, 1.0, 0.5, None],
        }
    )
    (points,) = [d for d in drawn(pr.compare(frame).plot.scatter()) if "side" in d[0]]
    assert points == [
        {"baseline_value": 0.5, "value": 1.0, "queries": 2, "side": "better"},
        {"baseline_value": 1.0, "value": 0.5, "queries": 1, "side": "worse"},
    ]
    rng = random.Random(2)
    many = pl.DataFrame(
        {
            "system": ["a"] * 900 + ["b"] * 900,
            "query_id": [*range(900)] * 2,
            "v": [rng.random() for _ in range(1800)],
        }
    )
    (points,) = [d for d in drawn(pr.compare(many).plot.scatter()) if "side" in d[0]]
    assert len(points) < 26 * 26
    assert sum(p["queries"] for p in points) == 900


@pytest.mark.slow
def test_curves_of_precision_and_of_significance():
    levels = [0.0, 0.5, 1.0]
    frame = values().with_columns(
        (pl.col("ndcg@10") * (1 - level)).alias(f"interpolated_precision@{level}")
        for level in levels
    )
    found = pr.compare(frame)
    (rows,) = drawn(found.plot.precision_recall())
    at = {(r["system"], r["recall"]): r["precision"] for r in rows}
    assert len(at) == 4 * len(levels)
    mean = dict(found.means.filter(measure="ndcg@10").select("system", "mean").rows())
    assert at == {
        (s, x): pytest.approx(m * (1 - x)) for s, m in mean.items() for x in levels
    }
    with pytest.raises(ValueError, match="at several levels of recall"):
        pr.compare(values()).plot.precision_recall()
    found = pr.compare(values(), correction="none")
    (rows,) = [d for d in drawn(found.plot.significance()) if "p" in d[0]]
    p = sorted((max(p, 1e-6) for p in found.pairs["p_value"]), reverse=True)
    assert [(r["pair"], r["p"]) for r in rows] == [
        (i, pytest.approx(x)) for i, x in enumerate(p, start=1)
    ]
    one = pr.compare(values("AB").filter(pl.col("query_id") == "q01"))
    with pytest.raises(ValueError, match="no pair was tested"):
        one.plot.significance()


@pytest.mark.slow
def test_many_queries_are_thinned_out():
    rows = 3 * 5000
    frame = pl.DataFrame(
        {
            "system": ["a"] * rows + ["b"] * rows,
            "query_id": [*range(rows)] * 2,
            "v": [0.0] * rows + [i / rows - 0.5 for i in range(rows)],
        }
    )
    (shown,) = drawn(pr.compare(frame).plot.deltas())
    assert len(shown) == 5000
    assert [shown[i]["right"] for i in (0, -1)] == [shown[1]["left"], rows + 0.5]
    assert shown[0]["difference"] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.slow
def test_pictures_become_png_without_a_browser(tmp_path):
    pr.compare(values()).plot.forest().save(str(tmp_path / "p.png"))
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
