"""Quepid's exports: ratings and snapshots as CSV, with the bytes that it writes."""

from __future__ import annotations

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main

# A query that nobody has rated is alone in its line.
RATINGS = (
    'query,docid,rating\n"shoes, red",doc-1,3\n"shoes, red",doc-2,0\nboots\ndog,007,1\n'
)
SNAPSHOT = (
    "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position,title\r\n"
    "(3/5/26) Weekly check,2026-03-05T12:00:00Z,8,dog,008,1,Good dog\r\n"
    '(3/5/26) Weekly check,2026-03-05T12:00:00Z,8,dog,007,2,"Great, dog"\r\n'
)
VALUES = [("dog", 1 / 2)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "snapshot.csv").write_bytes(SNAPSHOT.encode())
    return tmp_path


def test_ratings(here):
    found = pr.scan("ratings.csv", kind="qrels").collect()
    assert found.select("query_id", "doc_id", "label").rows() == [
        ("shoes, red", "doc-1", 3.0),
        ("shoes, red", "doc-2", 0.0),
        ("dog", "007", 1.0),
    ]


def test_a_snapshot_is_a_run(here):
    run = pr.scan("snapshot.csv")
    columns = ["query_id", "doc_id", "rank", "Snapshot Name"]
    assert run.select(columns).collect().rows() == [
        ("dog", "008", 1, "(3/5/26) Weekly check"),
        ("dog", "007", 2, "(3/5/26) Weekly check"),
    ]
    values = pr.per_query("snapshot.csv", "rr", qrels="ratings.csv", missing="skip")
    assert values.drop_nulls().rows() == VALUES


def test_the_names_of_quepid_still_work(here):
    names = {"qrels_query": "query", "qrels_doc": "docid", "label": "rating"}
    run = pl.DataFrame({"query_id": "dog", "doc_id": ["8", "007"], "score": [2.0, 1]})
    found = pr.per_query(run, "rr", qrels="ratings.csv", missing="skip", **names)
    assert found.drop_nulls().rows() == VALUES


def test_others_with_such_names_are_left_alone(here):
    (here / "other.csv").write_text("query,docid,rating,judge\na,b,1,x\n")
    assert pr.scan("other.csv").collect_schema().names() == [
        *("query", "docid", "rating", "judge")
    ]


def test_damage_is_still_seen(here):
    (here / "ratings.csv").write_bytes(RATINGS.replace("boots", "bo\0ts").encode())
    with pytest.raises(pr.DataError, match="found NUL bytes"):
        pr.scan("ratings.csv").collect()
    (here / "ratings.csv").write_text(RATINGS.replace(",1\n", ",good\n"))
    with pytest.raises(pl.exceptions.ComputeError, match="could not parse `good`"):
        pr.scan("ratings.csv").collect()


def test_in_the_command(here, capsys):
    argv = ["evaluate", "snapshot.csv", "ratings.csv", "-m", "rr", "--missing", "skip"]
    assert main(argv) == 0
    assert capsys.readouterr().out == "queries,rr\n1,0.5\n"
