"""Files as they are met: forced formats, no header, MS MARCO, BEIR, hints."""

from __future__ import annotations

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.measures.measure import parse_measures

TREC_RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n2 Q0 a 1 0.7 t\n"
TREC_QRELS = "1 0 b 1\n2 0 a 2\n"
ROWS = [("1", 0.5), ("2", 1.0)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_text(TREC_RUN)
    (tmp_path / "qrels").write_text(TREC_QRELS)
    return tmp_path


def rows(run: pl.LazyFrame, qrels: pl.LazyFrame, **options: object) -> list[tuple]:
    return pr.per_query(run, "rr", qrels=qrels, **options).collect().rows()


def test_scans_at_the_top(here):
    assert pr.scan("run").collect().equals(pr.io.scan_trec_run("run").collect())
    qrels = pr.scan("qrels", kind="qrels")
    assert qrels.collect().equals(pr.io.scan_trec_qrels("qrels").collect())
    assert rows(pr.scan("run"), qrels) == ROWS


@pytest.mark.parametrize(
    ("format", "write"),
    [
        ("parquet", pl.DataFrame.write_parquet),
        ("arrow", pl.DataFrame.write_ipc),
        ("csv", pl.DataFrame.write_csv),
        ("tsv", lambda frame, path: frame.write_csv(path, separator="\t")),
        ("ndjson", pl.DataFrame.write_ndjson),
    ],
)
def test_forced_formats(here, format, write):
    run = pr.scan("run").collect()
    write(run, here / "run.dat")
    found = pr.scan("run.dat", format=format)
    assert found.collect().select(run.columns).equals(run)
    with pytest.raises(ValueError, match="format must be one of parquet, arrow, csv"):
        pr.scan("run.dat", format="xml")


def test_trec_text_under_another_name(here):
    (here / "run.csv").write_text(TREC_RUN)
    assert pr.scan("run.csv", format="trec").collect().equals(pr.scan("run").collect())


def test_files_without_a_header(here):
    (here / "run.csv").write_text("007,a,0.9\n007,b,0.8\n2,a,0.7\n")
    (here / "qrels.tsv").write_text("007\tb\tx\t1\n2\ta\ty\t2\n")
    run = pr.scan("run.csv", columns=["query_id", "doc_id", "score"])
    assert run.collect_schema() == {
        "query_id": pl.String,
        "doc_id": pl.String,
        "score": pl.Float64,
    }
    names = ["query_id", "doc_id", "part", "label"]
    qrels = pr.scan("qrels.tsv", kind="qrels", columns=names)
    assert rows(run, qrels) == [("007", 0.5), ("2", 1.0)]
    with pytest.raises(pr.DataError, match="has 3 fields, but the names"):
        pr.scan("run.csv", columns=["query_id", "doc_id"])
    with pytest.raises(ValueError, match="columns= is for CSV and TSV"):
        pr.scan("run", columns=["query_id", "doc_id"])


def test_msmarco(here):
    (here / "run.tsv").write_text("1\ta\t1\n1\tb\t2\n2\ta\t1\n")
    (here / "scored.tsv").write_text("1\ta\t1\t0.9\n1\tb\t2\t0.8\n2\ta\t1\t0.7\n")
    (here / "qrels.tsv").write_text("1\t0\tb\t1\n2\t0\ta\t1\n")
    qrels = pr.scan("qrels.tsv", kind="qrels", format="msmarco")
    assert rows(pr.scan("run.tsv", format="msmarco"), qrels, rank="rank") == ROWS
    assert rows(pr.scan("scored.tsv", format="msmarco"), qrels) == ROWS
    (here / "other.tsv").write_text("1\ta\n")
    with pytest.raises(pr.DataError, match="2 fields, but MS MARCO's are: query_id"):
        pr.scan("other.tsv", format="msmarco")


@pytest.fixture
def beir(here):
    folder = here / "scifact"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "y"}\n')
    lines = "query-id\tcorpus-id\tscore\n1\tb\t1\n2\ta\t2\n"
    (folder / "qrels" / "test.tsv").write_text(lines)
    return folder


def test_beir(here, beir):
    expected = [("1", "b", 1.0), ("2", "a", 2.0)]
    assert pr.scan(beir, kind="qrels").collect().rows() == expected
    file = beir / "qrels" / "test.tsv"
    found = pr.scan(file, kind="qrels", format="beir").collect()
    assert found.rows() == expected
    assert found.columns == ["query_id", "doc_id", "label"]
    assert pr.per_query("run", "rr", qrels=beir).rows() == ROWS
    (beir / "qrels" / "train.tsv").write_text(file.read_text())
    with pytest.raises(pr.DataError, match=r"several splits: name one of .*train\.tsv"):
        pr.scan(beir, kind="qrels")
    with pytest.raises(pr.DataError, match="no qrels/"):
        pr.scan(here, kind="qrels", format="beir")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "1\t7\t1\n", r"looks like data, .* format='msmarco'"),
        ("a.csv", "q1,d1,0.5\n", "Name them with columns="),
        ("a.tsv", TREC_RUN.replace(" ", "\t"), "a TREC run: format='trec'"),
        (
            "a.csv",
            "query_id\tdoc_id\tscore\n1\ta\t1\n",
            "looks like TSV: .*format='tsv'",
        ),
        ("a.tsv", "query_id,doc_id,score\n1,a,1\n", "looks like CSV"),
    ],
)
def test_hints(here, name, text, message):
    (here / name).write_text(text)
    with pytest.raises(pr.DataError, match=message):
        pr.scan(name)


def test_a_header_of_one_column_or_of_years_is_a_header(here):
    (here / "queries.csv").write_text("query_id\n1\n")
    assert pr.scan("queries.csv").collect().rows() == [("1",)]
    (here / "wide.csv").write_text("query_id,2024,2025\n1,a,b\n")
    assert pr.scan("wide.csv").collect().width == 3


# -- the command


def out(capsys, *arguments: str) -> list[str]:
    status = main(["evaluate", *arguments])
    printed = capsys.readouterr()
    assert (status, "warning" in printed.err) == (0, False)
    return printed.out.splitlines()


def refused(capsys, *arguments: str) -> str:
    assert main(["evaluate", *arguments]) in (1, 2)
    return capsys.readouterr().err


@pytest.mark.slow
def test_values_on_standard_output(here, capsys):
    expected = ["query_id,rr,ap", "1,0.5,0.5", "2,1.0,1.0"]
    for option in (["-q"], ["--per-query", "-"]):
        assert out(capsys, "run", "qrels", "-m", "rr,ap", *option) == expected
    lines = out(capsys, "run", "qrels", "-m", "rr", "-q", "--format", "tsv")
    assert lines == ["query_id\trr", "1\t0.5", "2\t1.0"]
    (here / "other").write_text(TREC_RUN.replace("a", "c"))
    lines = out(capsys, "run", "other", "qrels", "-m", "rr", "-q")
    assert lines[:2] == ["system,query_id,rr", "run,1,0.5"]
    assert len(lines) == 5
    markdown = out(capsys, "run", "qrels", "-m", "rr", "-q", "--format", "markdown")
    assert markdown[-1] == "| 2 | 1.0000 |"


def test_several_measures_in_one_option(here, capsys):
    lines = out(capsys, "run", "qrels", "-m", "ndcg(gain=exp2,discount=log2)@5,rr")
    assert lines[0] == 'queries,"ndcg(gain=exp2,discount=log2)@5",rr'
    assert out(capsys, "run", "qrels", "-m", "official")[0].count(",") == 29


def test_formats_and_columns_in_the_command(here, beir, capsys):
    (here / "run.tsv").write_text("1\ta\t1\n1\tb\t2\n2\ta\t1\n")
    (here / "judged.csv").write_text("1,b\n2,a\n")
    expected = ["queries,rr", "2,0.75"]
    common = ["-m", "rr", "--rank", "rank", "--run-format", "msmarco"]
    assert out(capsys, "run.tsv", "qrels", *common) == expected
    forced = ["--qrels-format", "trec"]
    assert out(capsys, "run.tsv", "--qrels", "qrels", *common, *forced) == expected
    assert out(capsys, "run.tsv", "scifact", *common) == expected
    liked = ["--qrels-columns", "query_id,doc_id", "--label", "none"]
    assert out(capsys, "run.tsv", "judged.csv", *common, *liked) == expected
    named = ["--qrels-query", "q", "--qrels-doc", "d", "--qrels-columns", "q,d,label"]
    (here / "judged.csv").write_text("1,b,1\n2,a,1\n")
    assert out(capsys, "run.tsv", "judged.csv", *common, *named) == expected
    error = refused(capsys, "run.tsv", "qrels", "-m", "rr")
    assert "looks like data" in error
    assert "--label none is for judgments" in refused(capsys, "run", "--label", "none")
    assert "its name must end in a format" in refused(
        capsys, "run", "qrels", "--per-query", "x.txt"
    )


def test_lower_is_better_and_segments(here, capsys):
    (here / "about.csv").write_text("query_id,part\n1,x\n2,y\n9,z\n")
    lines = out(capsys, "run", "qrels", "-m", "rr", "--no-descending")
    assert lines == ["queries,rr", "2,1.0"]
    about = ["--segments", "about.csv"]
    lines = out(capsys, "run", "qrels", "-m", "rr", *about, "--by", "part")
    assert lines == ["part,queries,rr", "x,1,0.5", "y,1,1.0"]
    lines = out(capsys, "run", "qrels", "-m", "rr", *about, "--keep", "part", "-q")
    assert lines == ["query_id,part,rr", "1,x,0.5", "2,y,1.0"]


# -- groups of measures


def test_groups_are_what_trec_eval_prints():
    """Names and order of ``-m all_trec`` and ``-m official``, as it printed them."""
    from pathlib import Path

    printed = Path(__file__).parents[1] / "golden" / "all_trec.c.txt"
    wanted = []
    for line in printed.read_text().splitlines():
        name, query, _ = line.split()
        if query == "all" and name != "runid":
            wanted.append(name)
    assert [m.name for m in parse_measures("all_trec")] == wanted
    official = [m.name for m in parse_measures(["official"])]
    assert official == wanted[: wanted.index("P_1000") + 1]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("P", [f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]),
        ("unj", ["unj_5", "unj_10", "unj_20"]),
        ("iprec_at_recall", [f"iprec_at_recall_{i / 10:.2f}" for i in range(11)]),
        ("Rprec_mult", [f"Rprec_mult_{i / 5:.2f}" for i in range(1, 11)]),
        ("map_cut.5,10", ["map_cut_5", "map_cut_10"]),
        ("success_1,3", ["success_1", "success_3"]),
        ("iprec_at_recall.0.1,0.35", ["iprec_at_recall_0.1", "iprec_at_recall_0.35"]),
        ("utility.1,-1,0,0", ["utility.1,-1,0,0"]),
        ("recall", ["recall"]),
    ],
)
def test_names_of_trec_eval_without_a_cutoff_are_all_that_it_prints(text, printed):
    assert [m.name for m in parse_measures(text)] == printed


def test_cutoffs_in_the_command_are_of_one_measure(here, capsys):
    lines = out(capsys, "run", "qrels", "-m", "P.5,10,rr,utility.1,-1,0,0")
    assert lines[0] == 'queries,P_5,P_10,rr,"utility.1,-1,0,0"'


def test_families_are_groups():
    names = [m.name for m in parse_measures("gain")]
    assert names == ["cg", "dcg", "ndcg"]
    assert len(parse_measures(["gain", "rr"])) == 4
