"""The table of a paper: its numbers, its letters, its LaTeX."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr

MEASURES = ["ndcg@10", "ap", "recall@100"]
HOSTILE = {
    "s0": r"a_b & <script>$x^2$</script>",
    "s1": r"50 % {done} #1 \~",
    "s2": r"[2] \\ \end{tabular}",
}


def values(systems: int, measures: list[str], n: int = 60) -> pl.DataFrame:
    draw = random.Random(5)
    rows = []
    for query in range(n):
        base = [draw.uniform(0.2, 0.5) for _ in measures]
        for s in range(systems):
            own = (b + 0.02 * s + draw.gauss(0, 0.1) for b in base)
            rows.append([f"s{s}", query, query % 2, *(min(1, max(0, x)) for x in own)])
    columns = ["system", "query_id", "half", *measures]
    return pl.DataFrame(rows, schema=columns, orient="row")


def compared(systems: int = 5, measures: list[str] = MEASURES, **options: object):
    return pr.compare(values(systems, measures), measures, **options)


def cells(text: str) -> list[list[str]]:
    """The cells of the rows, of a table whose names hold no ampersand."""
    body = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    rows = (line for line in body.splitlines() if line.endswith(r"\\"))
    return [row.removesuffix(r" \\").split(" & ") for row in rows]


def letters(marks: str) -> set[str]:
    """Letters, with ranges such as b--e spelled out."""
    for first, last in re.findall(r"(\w)--(\w)", marks):
        between = "".join(map(chr, range(ord(first), ord(last) + 1)))
        marks = marks.replace(f"{first}--{last}", between)
    return {*marks}


def require_sound(text: str) -> None:
    """Braces and environments are balanced; all rows have as many cells as columns."""
    bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum)\{\}", "", text)
    bare = re.sub(r"\\[{}&%#$_]", "", bare)
    depth = 0
    for c in bare:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{([^}]*)\}", bare):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    for align, body in re.findall(
        r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", bare, re.DOTALL
    ):
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {row.count("&") for row in rows} == {len(align) - 1}
        assert "$" not in body


@pytest.mark.parametrize("systems", [2, 5, 17])
def test_a_row_a_system_with_its_means_and_what_it_beats(systems):
    found = compared(systems)
    text = found.to_latex()
    require_sound(text)
    rows = cells(text)
    assert len(rows) == systems
    marked = "superscript" in text
    order = [row[marked] for row in rows]
    signs = {row[0]: row[1] for row in rows} if marked else {}
    worse = set()
    for row in found.pairs.filter("significant").iter_rows(named=True):
        two = row["system"], row["baseline"]
        better, other = two if row["difference"] > 0 else two[::-1]
        worse.add((row["measure"], better, other))
    means = {(r["measure"], r["system"]): r["mean"] for r in found.means.to_dicts()}
    for row, system in zip(rows, order, strict=True):
        for measure, cell in zip(MEASURES, row[-3:], strict=True):
            shown, _, marks = cell.partition(r"\textsuperscript")
            best = max(means[measure, s] for s in order) == means[measure, system]
            text = f"{means[measure, system]:.3f}"
            assert shown == (rf"\textbf{{{text}}}" if best else text)
            beaten = {signs[c] for c in letters(marks.strip("{}"))}
            assert beaten == {o for m, b, o in worse if (m, b) == (measure, system)}
    first = [means["ndcg@10", s] for s in order]
    assert first == sorted(first, reverse=True)


@pytest.mark.parametrize("lacks", ["ap", "ndcg@10"])
def test_a_system_that_lacks_a_measure_has_a_dash(lacks):
    """No part of the moments has both; without the first measure, it comes last."""
    both = ["ndcg@10", "ap"]
    parts = values(2, both), values(3, both, n=20).drop(lacks)
    sums = [pr.comparison.moments(part.drop("half")) for part in parts]
    text = pr.compare(pr.comparison.merge(sums)).to_latex()
    require_sound(text)
    rows = pl.concat(parts, how="diagonal")
    expected = {}
    for s in ("s0", "s1", "s2"):
        means = [rows.filter(system=s)[measure].mean() for measure in both]
        expected[s] = ["--" if mean is None else f"{mean:.3f}" for mean in means]
    found = {
        row[-4]: [re.search(r"--|\d\.\d+", c)[0] for c in row[-2:]]
        for row in cells(text)
    }
    assert found == expected
    assert [*found] == sorted(expected, key=lambda s: expected[s][0], reverse=True)


def test_seventeen_systems_are_one_table_of_seventeen_rows():
    text = compared(17, MEASURES[:2]).to_latex()
    assert text.count(r"\begin{table}") == 1
    assert len(text.splitlines()) == 27


def test_the_caption_names_the_test_and_the_correction():
    for correction, said in [
        ("holm", "(paired t, Holm-adjusted $p < 0.05$)."),
        ("none", "(paired t, $p < 0.05$)."),
    ]:
        caption = compared(correction=correction).to_latex().splitlines()[2]
        assert caption.endswith(f"better than these systems {said}}}"), caption


def test_what_the_author_decides():
    found = compared()
    text = found.to_latex(
        caption=r"Results on \textsc{Test}.",
        label="tab:main",
        order=["s3", "s0"],
        names={"s3": "BM25$_+$", "ndcg@10": r"nDCG\,@\,10", "system": "Run"},
        digits=2,
    )
    assert "\\caption{Results on \\textsc{Test}.}\n\\label{tab:main}\n" in text
    assert "& Run & nDCG\\,@\\,10 & ap & recall@100" in text.replace("\nRun", "& Run")
    rows = cells(text)
    assert [row[-4] for row in rows] == ["BM25$_+$", "s0"]
    assert re.fullmatch(r"0\.\d\d", rows[1][-1])
    pairs = found.to_latex(order=["s3", "s0"], pairs=True).partition("\n\n")[2]
    assert len(cells(pairs)) == 3
    assert len(cells(found.to_latex(pairs=True).partition("\n\n")[2])) == 30


def test_intervals_and_percent():
    found = compared()
    row = found.means.filter(pl.col("system") == "s4", pl.col("measure") == "ap")
    low, mean, high = (100 * row[c].item() for c in ("lower", "mean", "upper"))
    text = found.to_latex(intervals=True, percent=True)
    require_sound(text)
    cell = next(r for r in cells(text) if "s4" in r)[-2]
    assert f"{mean:.1f}" in cell
    assert cell.endswith(rf" {{\scriptsize [{low:.1f}, {high:.1f}]}}")
    assert text.startswith("\\begin{table*}")
    assert r"Means in percent over 60 queries, with 95~\% intervals; the best" in text


def test_segments_have_their_queries_and_rules_between_them():
    found = compared(3, by="half")
    text = found.to_latex(names={"0": "even", "1": "odd", "half": "queries"})
    require_sound(text)
    assert [row[0] for row in cells(text)] == ["even"] * 3 + ["odd"] * 3
    assert text.count(r"\midrule") == 2
    uneven = values(3, MEASURES).with_columns(half=pl.col("query_id") < 20)
    text = pr.compare(uneven, MEASURES, by="half").to_latex()
    assert {row[-4] for row in cells(text)} == {"20", "40"}


def test_points_are_below_each_other():
    first = pl.col("system") == "s0"
    wide = values(2, ["dcg"]).with_columns(dcg=pl.when(first).then(1000.0).otherwise(2))
    text = pr.compare(wide, "dcg").to_latex()
    assert r"\textbf{1000.000}" in text
    assert r"& \phantom{000}2.000" in text


def test_names_that_are_not_there_are_refused():
    found = compared()
    for order in (["s9"], [], ["s1", "s1"]):
        with pytest.raises(ValueError, match="order must list systems, each once"):
            found.to_latex(order=order)
    with pytest.raises(ValueError, match="names has 'bm25', which is no system"):
        found.to_latex(names={"bm25": "BM25"})
    for digits in (-1, 1.5, True):
        with pytest.raises(ValueError, match="digits must be a whole number"):
            found.to_latex(digits=digits)


def hostile():
    renamed = values(5, MEASURES).with_columns(pl.col("system").replace(HOSTILE))
    return pr.compare(renamed, MEASURES)


def test_hostile_names_are_text():
    text = hostile().to_latex(pairs=True)
    require_sound(text)
    assert r"[2] \textbackslash{}\textbackslash{} \textbackslash{}end\{tab" in text


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pdflatex", "tectonic"])
def test_tables_compile_and_fit_a_paper(tool, tmp_path: Path):
    """Five systems and three measures fit one of two columns."""
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    tables = [
        compared().to_latex(label="tab:main"),
        compared().to_latex(intervals=True, percent=True),
        compared(17, MEASURES[:2]).to_latex(),
        compared(4, MEASURES, by="half").to_latex(),
        hostile().to_latex(pairs=True),
    ]
    assert tables[0].startswith("\\begin{table}\n")
    text = "\n\n".join(tables)
    (tmp_path / "t.tex").write_text(
        "\\documentclass[twocolumn]{article}\n\\usepackage[T1]{fontenc}\n"
        "\\usepackage{booktabs}\n\\begin{document}\nSee Table~\\ref{tab:main}.\n"
        f"{text}\n\\end{{document}}\n"
    )
    options = {
        "pdflatex": ["-interaction=nonstopmode", "-halt-on-error"],
        "tectonic": ["--print"],
    }
    command = [tool, *options[tool], "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    fitting = "\n".join(tables[:4]).count("\n")
    for line in re.findall(r"Overfull \\hbox .* lines (\d+)--", done.stdout):
        assert int(line) > fitting, done.stdout  # names of a hostile width
