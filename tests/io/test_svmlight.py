"""Text of svmlight with query ids: LETOR, RankLib, Quepid's export for training."""

from __future__ import annotations

import gzip
import io
import random
import re

import numpy as np
import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.io.lines import blocks

# As LETOR 4.0 (MQ2007), RankLib, MSLR-WEB and Quepid write it.
LETOR = """\
2 qid:10032 1:0.056537 2:0.000000 46:0.076923 #docid = GX029-35-5894638 inc = 0.0119 \
prob = 0.139842
0 qid:10032 1:0.279152 2:0.000000 46:1.000000 #docid = GX030-77-6315042 inc = 1 prob = \
0.341364
0 qid:18219 1:0.027615 2:0.500000 46:0.046400 #docid = GX004-93-7097963 inc = 0.0428 \
prob = 0.860366
"""
RANKLIB = "3 qid:1 1:1 2:1 3:0 4:0.2 5:0 # 1A\n2 qid:1 1:0 2:0 3:1 4:0.1 5:1 # 1B\n"
MSLR = "0 qid:1 1:3 2:3 3:0 136:0 \n2 qid:1 1:0 2:0 3:1 136:5 \n"
QUEPID = "\n3 qid:7 # doc-1 star wars\n\n0 qid:7 # doc-2 star wars\n"
QUEPID_BEFORE = '3    qid:7 #    doc-1; "star wars"\n\n'


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            LETOR,
            [
                ("10032", "GX029-35-5894638", 2.0),
                ("10032", "GX030-77-6315042", 0.0),
                ("18219", "GX004-93-7097963", 0.0),
            ],
        ),
        (RANKLIB, [("1", "1A", 3.0), ("1", "1B", 2.0)]),
        (MSLR, [("1", 0.0), ("1", 2.0)]),
        (QUEPID, [("7", "doc-1", 3.0), ("7", "doc-2", 0.0)]),
        (QUEPID_BEFORE, [("7", "doc-1", 3.0)]),
        ("# made by a tool\n-1 qid:a 1:1e-3\r\n", [("a", -1.0)]),
        (
            "1 qid:1 1:1 # doc_id = 5\n0 qid:1 # DOCID=6\n",
            [("1", "5", 1.0), ("1", "6", 0)],
        ),
        (
            "1 qid:1 # id: 5\n0 qid:1 # identity\n",
            [("1", "5", 1.0), ("1", "identity", 0)],
        ),
    ],
)
def test_the_files_of_each_tool(tmp_path, text, rows):
    for name, data in (
        ("t.txt", text.encode()),
        ("t.dat.gz", gzip.compress(text.encode())),
    ):
        (tmp_path / name).write_bytes(data)
        frame = pr.scan(tmp_path / name)
        assert isinstance(frame, pl.LazyFrame)
        assert frame.drop("features").collect().rows() == rows
        assert frame.select("label").collect().rows() == [row[-1:] for row in rows]


def test_features_are_text_and_a_score_is_one_of_them(tmp_path):
    (tmp_path / "test.txt").write_text(LETOR)
    log = pr.scan(tmp_path / "test.txt")
    assert log.collect()["features"][1] == "1:0.279152 2:0.000000 46:1.000000"
    score = pl.col("features").str.extract(r"\b46:(\S+)").cast(pl.Float64)
    values = log.with_columns(score=score).rank_eval.per_query(["rr"]).collect()
    assert values.rows() == [("10032", 1 / 2), ("18219", 0.0)]
    found = pr.per_query(
        {"10032": ["GX030-77-6315042", "GX029-35-5894638"]},
        "rr",
        qrels=tmp_path / "test.txt",
        missing="zero",
    )
    assert found.sort("query_id").rows() == [("10032", 1 / 2), ("18219", 0.0)]


def plain(text: str) -> list[tuple[str, str, float, str]]:
    """What the lines say, read by hand."""
    rows = []
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        data, _, comment = line.partition("#")
        label, query, *features = data.split()
        doc = re.sub(r"^docid ?= ?", "", comment.strip()).split()[0]
        rows.append((query[4:], doc, float(label), features))
    return rows


def written(rng: random.Random, lines: int) -> str:
    out = []
    for n in range(lines):
        features = " ".join(f"{i}:{rng.random():.3g}" for i in range(rng.randrange(4)))
        mark = rng.choice(["# docid = ", "#docid=", "# ", "#"])
        rest = rng.choice(["", " inc = 1", " star wars 1:2"])
        blank = rng.choice([" ", "  ", "\t"])
        label = rng.choice(["0", "1", "2.5", "-1", "1e1"])
        out.append(f"{label}{blank}qid:{rng.randrange(9)} {features} {mark}d{n}{rest}")
        out += rng.choice([[], [], [""], ["# a comment"]])
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("seed", range(5))
def test_against_a_plain_parser_in_blocks_of_any_size(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    text = written(rng, 60)
    (tmp_path / "log").write_text(text)
    for size in (1, 100, 1 << 20):
        monkeypatch.setattr(blocks, "BLOCK", size)
        rows = pr.scan(tmp_path / "log").collect().rows()
        found = [(q, d, label, features.split()) for q, d, label, features in rows]
        assert found == plain(text)


def test_against_scikit_learn(tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    for text in (LETOR, RANKLIB, MSLR):
        _, labels, queries = datasets.load_svmlight_file(
            io.BytesIO(text.encode()), query_id=True
        )
        (tmp_path / "log").write_text(text)
        found = pr.scan(tmp_path / "log").collect()
        assert np.array_equal(found["label"], labels)
        assert np.array_equal(found["query_id"].cast(pl.Int64), queries)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("3 qid:1 1:1\n2 1:0\n", r"log, line 2: found no qid: after the label"),
        ("3 qid:1 1:1\n\nx qid:1\n", r"log, line 3: the label 'x' is not a number"),
        ("3 qid:1 1:1\nnan qid:1\n", r"line 2: the label 'nan' is not a number"),
        ("3 qid:1 1:1\n1_0 qid:1\n", r"line 2: the label '1_0' is not a number"),
        ("3 qid:1 1:1\n3 qid:1 # a\n", "line 2: found the document 'a' after #"),
        ("3 qid:1 # a\n2 qid:1\n", "line 2: found no document after #, as the first"),
        ("3 qid:1 1:1\n2 qid:1 1:0 7\n", "line 2: the feature '7' is not of the form"),
        ("3 qid:1 1:1\n2 qid:1 1:\xff\n", "line 2: found bytes that are not UTF-8"),
        ("3 qid:1 1:1\n2 q\0id:1\n", "line 2: found NUL bytes"),
        (
            "3 qid:1 1:1 2:1\n3 qid:1 1:1 2:1\n3 qid:1 1:1",
            "the last line has no newline",
        ),
    ],
)
def test_bad_lines_are_named(tmp_path, text, told):
    (tmp_path / "log").write_bytes(text.encode("latin-1"))
    with pytest.raises(pr.DataError, match=told):
        pr.scan(tmp_path / "log").collect()


def test_files_of_two_kinds(tmp_path):
    (tmp_path / "a.txt").write_text(LETOR)
    (tmp_path / "b.txt").write_text("q 0 d 1\n")
    with pytest.raises(pr.DataError, match="holds TREC text and svmlight text"):
        pr.scan(tmp_path / "*.txt", kind="qrels")
    (tmp_path / "b.txt").write_text(MSLR)
    with pytest.raises(pr.DataError, match=r"b\.txt: its first line names no document"):
        pr.scan(tmp_path / "*.txt")
    (tmp_path / "b.txt").write_text(RANKLIB)
    assert pr.scan(tmp_path / "*.txt").collect().height == 5
    forced = pr.scan(tmp_path / "b.txt", format="svmlight")
    assert forced.collect().equals(pr.scan(tmp_path / "b.txt").collect())


def test_in_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.txt").write_text(LETOR)
    run = "10032 Q0 GX030-77-6315042 1 2 t\n10032 Q0 GX029-35-5894638 2 1 t\n"
    (tmp_path / "run").write_text(run)
    argv = ["evaluate", "run", "test.txt", "-m", "rr", "--missing", "skip"]
    assert main(argv) == 0
    assert capsys.readouterr().out == "queries,rr\n1,0.5\n"
