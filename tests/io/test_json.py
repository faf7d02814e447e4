"""JSON documents: exports of search engines, rows, and dictionaries."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main

# The bodies in the documentation of each tool, shortened.
WORKBENCH = """{
  "name": "Imported Judgments",
  "description": "Judgments generated outside SRW",
  "type": "IMPORT_JUDGMENT",
  "judgmentRatings": [
    {
      "query": "red dress",
      "ratings": [
        {"docId": "B077ZJXCTS", "rating": "3.000"},
        {"docId": "B071S6LTJJ", "rating": "2.000"}
      ]
    },
    {"query": "blue jeans", "ratings": [{"docId": "B07L9V4Y98", "rating": 0}]}
  ]
}"""
ANSWER = """{"took":36,"timed_out":false,"_shards":{"total":1,"successful":1,
"skipped":0,"failed":0},"hits":{"total":{"value":1,"relation":"eq"},"max_score":1.0,"hits":[{"_index":
"search-relevance-judgment","_id":"b54f791a","_score":1.0,"_source":{"id":"b54f791a",
"timestamp":"2025-06-11T06:07:23.766Z","name":"Imported Judgments",
"status":"COMPLETED","type":"IMPORT_JUDGMENT","metadata":{},"judgmentRatings":
[{"query":"red dress","ratings":[{"docId":"B077ZJXCTS","rating":"3.000"},
{"docId":"B071S6LTJJ","rating":"2.000"}]},
{"query":"blue jeans","ratings":[{"docId":"B07L9V4Y98","rating":"0.000"}]}]}}]}}"""
RANK_EVAL = """{
  "requests": [
    {
      "id": "amsterdam_query",
      "request": { "query": { "match": { "text": "amsterdam" } } },
      "ratings": [
        { "_index": "my-index-000001", "_id": "doc1", "rating": 0 },
        { "_index": "my-index-000001", "_id": "doc2", "rating": 3 }
      ]
    },
    {
      "id": "berlin_query",
      "request": { "query": { "match": { "text": "berlin" } } },
      "ratings": [ { "_index": "my-index-000001", "_id": "doc1", "rating": 1 } ]
    }
  ],
  "metric": { "precision": { "k": 20, "relevant_rating_threshold": 1 } }
}"""
RATED = [
    ("red dress", "B077ZJXCTS", 3.0),
    ("red dress", "B071S6LTJJ", 2.0),
    ("blue jeans", "B07L9V4Y98", 0.0),
]
REQUESTED = [
    ("amsterdam_query", "doc1", 0.0),
    ("amsterdam_query", "doc2", 3.0),
    ("berlin_query", "doc1", 1.0),
]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "rows"), [(WORKBENCH, RATED), (ANSWER, RATED), (RANK_EVAL, REQUESTED)]
)
def test_judgments_of_search_engines(here, text, rows):
    (here / "judgments.json").write_text(text)
    found = pr.scan("judgments.json", kind="qrels").collect()
    assert found.select("query_id", "doc_id", "label").rows() == rows
    last = {query: (doc, label) for query, doc, label in rows}
    run = {query: [doc] for query, (doc, _) in last.items()}
    for qrels in ("judgments.json", json.loads(text)):
        values = pr.per_query(run, "rr", qrels=qrels)
        assert dict(values.rows()) == {q: float(last[q][1] > 0) for q in run}


def test_the_index_of_a_rated_document_is_kept(here):
    (here / "body.json").write_text(RANK_EVAL)
    found = pr.scan("body.json", kind="qrels").collect()
    assert found["index"].unique().to_list() == ["my-index-000001"]


def test_runs_rows_and_dictionaries(here):
    for name, document in (
        ("run", {"q1": {"a": 0.5, "b": 0.4}, "q2": {"a": 1}}),
        ("lists", {"q1": ["a", "b"], "q2": ["a"]}),
        ("qrels", {"q1": {"b": 1}, "q2": {"a": 2}}),
        ("sets", {"q1": ["b"], "q2": "a"}),
        ("rows", [{"query_id": q, "doc_id": d, "label": 1} for q, d in ("1b", "2a")]),
    ):
        (here / f"{name}.json").write_text(json.dumps(document))
    for run in ("run.json", "lists.json"):
        for qrels in ("qrels.json", "sets.json"):
            values = pr.per_query(run, "rr", qrels=qrels)
            assert values.rows() == [("q1", 1 / 2), ("q2", 1.0)]
    judged = pr.scan("rows.json", kind="qrels").collect()
    assert judged.rows() == [("1", "b", 1), ("2", "a", 1)]
    (here / "rows.dat").write_text((here / "rows.json").read_text())
    assert pr.scan("rows.dat", format="json").collect().equals(judged)
    assert pr.scan("*s.json", kind="qrels").collect().height == 3 + 2 + 2 + 2


def test_integers_of_a_frame_meet_the_text_of_json(here):
    (here / "qrels.json").write_text('{"1": {"2": 1}}')
    run = pl.DataFrame({"query_id": [1, 1], "doc_id": [3, 2], "score": [2, 1]})
    assert pr.per_query(run, "rr", qrels="qrels.json").rows() == [("1", 1 / 2)]


def test_in_the_command(here, capsys):
    (here / "run.json").write_text('{"red dress": ["x", "B071S6LTJJ"]}')
    (here / "judgments.json").write_text(WORKBENCH)
    argv = ["evaluate", "run.json", "judgments.json", "-m", "rr", "--missing", "skip"]
    assert main(argv) == 0
    assert capsys.readouterr().out == "queries,rr\n1,0.5\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"q":\n', "j.json: no JSON at line 2, column 1: Expecting value"),
        (
            '{"query_id": 1}\n{"query_id": 2}\n',
            "in each line: read it with format=",
        ),
        ("3", "j.json: found int, expected rows or an object"),
        ('["a"]', "every row must be a dictionary of columns, not 'a'"),
        ('{"q": 0.5}', "must be text or a whole number"),
        (
            WORKBENCH.replace('"docId": "B071S6LTJJ"', '"doc": "x"'),
            r"j.json: judgmentRatings\[0\].ratings\[1\]: has no 'docId'. In Open",
        ),
        (WORKBENCH.replace('"3.000"', "true"), "the rating True is not a number"),
        (WORKBENCH.replace('"3.000"', "Infinity"), "the rating inf is not a number"),
        (
            WORKBENCH.replace('"3.000"', '"good"'),
            r"\[0\]: the rating 'good' is not a n",
        ),
        (
            RANK_EVAL.replace('"rating": 3', '"grade": 3'),
            r"requests\[0\].ratings\[1\]: has no 'rating'. In a _rank_eval request a",
        ),
        (
            RANK_EVAL.replace('"id": "berlin_query",', ""),
            r"requests\[1\]: has no 'id'.*correct it, or take it out",
        ),
        (
            '{"requests": [{"id": "q", "request": {}}], "metric": {}}',
            r"requests\[0\].ratings: must be a list, not None. In a _rank_eval",
        ),
        ('{"q": {"a": 1}, "p": {"a": 1}, "q": {"b": 2}}', "has the key 'q' twice"),
        ('{"q": {"a": 1, "a": 2}}', "j.json: an object has the key 'a' twice"),
        ('[{"query_id": 1, "query_id": 2}]', "has the key 'query_id' twice"),
        (
            '{"query_id": {"0": "q"}, "doc_id": {"0": "a"}, "label": {"0": 1}}',
            r"has the columns 'query_id', 'doc_id' as its keys, as to_dict\(\) and",
        ),
        ('{"judgmentRatings": {"a": 1}}', "judgmentRatings: must be a list, not {'a'"),
        ('{"judgmentRatings": ["a"]}', r"judgmentRatings\[0\]: must be an object"),
        (
            '{"hits": {"hits": [{"_source": {"name": "A", "judgmentRatings": []}}, '
            '{"_source": {"name": "B", "judgmentRatings": []}}]}}',
            r"j.json: holds 2 judgment lists \('A', 'B'\); keep one of them",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(here, text, told):
    (here / "j.json").write_text(text)
    with pytest.raises(pr.DataError, match=told):
        pr.scan("j.json", kind="qrels").collect()


def test_queries_without_ratings_are_told(here):
    (here / "j.json").write_text(
        WORKBENCH.replace('[{"docId": "B07L9V4Y98", "rating": 0}]', "[]")
    )
    with pytest.warns(
        pr.DataWarning, match="1 of 2 queries names no document, e.g. 'b"
    ):
        assert pr.scan("j.json", kind="qrels").collect().height == 2
