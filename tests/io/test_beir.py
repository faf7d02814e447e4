"""Folders of BEIR: judgments of a split, and texts."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

import polars_rank as pr

# As in scifact: metadata of many forms, ids of digits.
FILES = {
    "corpus.jsonl": (
        '{"_id": "4983", "title": "Development of white matter", "text": "Alterations '
        'of the architecture", "metadata": {}}\n'
        '{"_id": "5836", "title": "", "text": "Syndromes", "metadata": {"url": "x"}}\n'
    ),
    "queries.jsonl": (
        '{"_id": "1", "text": "0-dimensional biomaterials", "metadata": {"4983": '
        '[{"sentences": [1], "label": "SUPPORT"}]}}\n'
        '{"_id": "3", "text": "1,000 genomes", "metadata": {}}\n'
    ),
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\t4983\t1\n",
    "qrels/train.tsv": "query-id\tcorpus-id\tscore\n3\t5836\t1\n",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_data_set(folder):
    data = pr.io.scan_beir(folder)
    assert all(isinstance(frame, pl.LazyFrame) for frame in data)
    assert data.qrels.collect().rows() == [("1", "4983", 1.0)]
    texts = [("1", "0-dimensional biomaterials"), ("3", "1,000 genomes")]
    assert data.queries.collect().rows() == texts
    assert data.documents.collect().rows() == [
        ("4983", "Development of white matter", "Alterations of the architecture"),
        ("5836", "", "Syndromes"),
    ]
    assert data.documents.select("title").collect().height == 2
    train = pr.io.scan_beir(str(folder), split="train").qrels
    assert train.collect().rows() == [("3", "5836", 1.0)]
    run = pl.LazyFrame(
        {"query_id": ["1", "1"], "doc_id": ["5836", "4983"], "rank": [1, 2]}
    )
    values = pr.per_query(run, "rr", qrels=data.qrels)
    assert values.join(data.queries, on="query_id").collect().rows() == [
        ("1", 1 / 2, "0-dimensional biomaterials")
    ]


def test_packed_texts(folder):
    (folder / "corpus.jsonl").unlink()
    packed = gzip.compress(FILES["corpus.jsonl"].encode())
    (folder / "corpus.jsonl.gz").write_bytes(packed)
    assert pr.io.scan_beir(folder).documents.collect().height == 2


@pytest.mark.parametrize("first", ["1\td1\t1", "1\td1\t2"])
def test_judgments_without_their_header_are_named(folder, first):
    file = folder / "qrels" / "test.tsv"
    file.write_text(f"{first}\n1\td2\t0\n")
    with pytest.raises(pr.DataError, match="not the header of BEIR's judgments, wh"):
        pr.io.scan_beir(folder)
    names = ["query_id", "doc_id", "label"]
    read = pr.scan(file, format="tsv", columns=names, kind="qrels").collect()
    assert read.columns == names
    assert read.height == 2


def test_what_is_missing_is_named(folder):
    with pytest.raises(
        pr.DataError, match=r"no qrels/dev.tsv .*: test, train. Name an"
    ):
        pr.io.scan_beir(folder, split="dev")
    (folder / "queries.jsonl").write_text('{"id": "1", "text": "x"}\n')
    with pytest.raises(pr.DataError, match=r"queries.jsonl: 1 line has no '_id'"):
        pr.io.scan_beir(folder).queries.collect()
    (folder / "queries.jsonl").unlink()
    with pytest.raises(pr.DataError, match=r"no queries.jsonl in it, as in a BEIR dat"):
        pr.io.scan_beir(folder)
