"""Runs and judgments as Python holds them: sets, lists, rows, documents of others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

import polars_rank as pr

RUN = {"q1": ["a", "b"], "q2": ["c", "d"]}
VALUES = [("q1", 1 / 2), ("q2", 1 / 1)]  # b is second, c is first


@dataclass
class Document:
    """As of LangChain: the id may be absent."""

    page_content: str
    id: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass
class Node:
    """As of LlamaIndex."""

    node_id: str


@dataclass
class NodeWithScore:
    node: Node
    score: float | None = None


@pytest.mark.parametrize(
    "qrels",
    [
        {"q1": {"b"}, "q2": {"c", "x"}},
        {"q1": ["b"], "q2": ("x", "c")},
        {"q1": "b", "q2": "c"},
        {"q1": "b", "q2": frozenset({"c"})},
        {"q1": pl.Series(["b"]), "q2": np.array(["c"])},
        [
            {"query_id": "q1", "doc_id": "b", "label": 1},
            {"query_id": "q2", "doc_id": "c", "label": 2, "judge": "x"},
        ],
        {"query_id": ["q1", "q2"], "doc_id": ["b", "c"], "label": [1, 1]},
    ],
)
def test_judgments(qrels):
    assert pr.per_query(RUN, "rr", qrels=qrels).rows() == VALUES
    frame = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["b", "c"], "label": 1})
    assert pr.evaluate(RUN, "rr", qrels=frame).equals(
        pr.evaluate(RUN, "rr", qrels=qrels)
    )


def of_nodes(scores):
    return [
        NodeWithScore(Node(id), score) for id, score in zip("ab", scores, strict=True)
    ]


@pytest.mark.parametrize(
    ("documents", "columns"),
    [
        (["a", "b"], ["rank"]),
        (np.array(["a", "b"]), ["rank"]),
        ([("a", 0.9), ("b", np.float32(0.5))], ["rank", "score"]),
        ([Document("x", "a"), Document("y", "b")], ["rank"]),
        ([(Document("x", "a"), 0.3), (Document("y", "b"), 0.2)], ["rank", "score"]),
        ([(Document("x", "a"), 0.2), (Document("y", "b"), 0.5)], ["rank", "distance"]),
        (of_nodes([0.9, 0.5]), ["rank", "score"]),
        (of_nodes([None, None]), ["rank"]),
    ],
)
def test_retrieved_documents(documents, columns):
    """Distances rise; taken for scores, they would turn the list around."""
    qrels = {"q1": {"b"}}
    assert pr.per_query({"q1": documents}, "rr", qrels=qrels).rows() == [("q1", 1 / 2)]
    rows = [{"query_id": "q1", "retrieved": documents, "relevant": {"b"}}]
    run, judged = pr.from_lists(rows)
    assert run.columns == ["query_id", "doc_id", *columns]
    assert run["doc_id"].to_list() == ["a", "b"]
    assert pr.per_query(run, "rr", qrels=judged).rows() == [("q1", 1 / 2)]


def test_real_documents():
    documents = pytest.importorskip("langchain_core.documents")
    schema = pytest.importorskip("llama_index.core.schema")
    pair = (documents.Document(page_content="x", id="a"), 0.5)
    node = schema.NodeWithScore(node=schema.TextNode(text="x", id_="a"), score=0.5)
    for item in (pair, node):
        run, _ = pr.from_lists([{"query_id": 1, "retrieved": [item], "relevant": "a"}])
        assert run.rows() == [(1, "a", 1, 0.5)]


def test_lists_of_rows_and_columns_are_those_of_a_frame():
    rows = [
        {"q": 1, "got": ["a", "b"], "good": ["b"]},
        {"q": 2, "got": [], "good": ["c"]},
        {"q": 3, "got": ["d"], "good": []},
        {"q": 4, "got": ["e"], "good": None},
    ]
    roles = {"query": "q", "retrieved": "got", "relevant": "good"}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    with pytest.warns(pr.DataWarning, match="1 of 4 queries is left out"):
        wanted = pr.from_lists(pl.DataFrame(rows), **roles)
    for given in (rows, tuple(rows), columns):
        with pytest.warns(pr.DataWarning, match="1 of 4 queries is left out"):
            found = pr.from_lists(given, **roles)
        assert all(a.equals(b) for a, b in zip(found, wanted, strict=True))


def test_a_run_of_whole_ranks_needs_no_scores():
    """But other ranks, and distances, are not guessed."""
    run = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "rank": [2, 1]})
    qrels = {1: {"a"}}
    assert pr.per_query(run, "rr", qrels=qrels).rows() == [(1, 1 / 2)]
    labeled = run.with_columns(label=pl.Series([1, 0]))
    assert pr.per_query(labeled.lazy(), "rr").collect().rows() == [(1, 1 / 2)]
    for odd, options in (
        (run.cast({"rank": pl.Float64}), {}),
        (run, {"descending": False}),
        (run, {"score": "similarity"}),
    ):
        with pytest.raises(
            pl.exceptions.ColumnNotFoundError, match="is not in the run"
        ):
            pr.per_query(odd, "rr", qrels=qrels, **options)
    with pytest.raises(ValueError, match="pearson looks at the scores themselves"):
        pr.per_query(run, "pearson", qrels=qrels)


def test_a_judged_query_without_documents_is_told():
    for empty in (set(), [], {}):
        qrels = {"q1": {"b": 1} if empty == {} else {"b"}, "q2": empty}
        with pytest.warns(
            pr.DataWarning, match="1 of 2 queries names no document, e.g. 'q2'"
        ):
            found = pr.per_query(RUN, "rr", qrels=qrels)
        assert found.rows() == VALUES[:1]


@pytest.mark.parametrize(
    ("run", "error", "told"),
    [
        ({"q1": {"a", "b"}}, TypeError, "query 'q1': a set of documents has no order"),
        ({"q1": "a"}, TypeError, r"\{query: \[document, ...\]\} in rank order"),
        (
            {"q1": {"a": 1}, "q2": ["a"]},
            TypeError,
            "must be {query: {document: score}}",
        ),
        ({"q1": ["a", "a"]}, pr.DataError, "duplicate documents .* document 'a'"),
        ({"q1": [3, "a"]}, TypeError, "document ids must be of one type, not of int"),
        ({"q1": [("a", "b", "c")]}, TypeError, "a document is an id, an object with"),
        (
            {"q1": [Document("x")]},
            TypeError,
            "must be text or a whole number, or an attribute of it; Doc",
        ),
        (
            {"q1": [("a", 1), ("b", 2)], "q2": [("a", 2), ("b", 1)]},
            pr.DataError,
            "fall along the list of query 'q2' and rise along that of 'q1'",
        ),
        ({"query_id": [1, 1], "doc_id": ["a"]}, TypeError, "makes no frame: .*height"),
        (
            {"rank": ["a", "b"], "q": ["a"]},
            TypeError,
            "since 'rank' names one, makes no",
        ),
        ([{"query_id": 1}, 7], TypeError, "every row must be a dictionary"),
        ([{"query_id": 1}, None], TypeError, r"of columns, not None \(row 2\)"),
        ([0, {"query_id": 1}], TypeError, r"of columns, not 0 \(row 1\)"),
        ({"q1": {"a": 2**53 + 1, "b": 2**53, "c": 0.5}}, TypeError, "give all as int"),
    ],
)
def test_what_is_refused(run, error, told):
    with pytest.raises(error, match=told):
        pr.per_query(run, "rr", qrels={"q1": "a", "q2": "b"})


TABLE = {"query_id": ["q1", "q1"], "doc_id": ["1", "2"], "score": [1, 2]}


@pytest.mark.parametrize("orient", ["dict", "index", "split", "tight"])
@pytest.mark.parametrize("names", [TABLE, ("user", "item", "score")])
def test_a_table_of_pandas_is_not_taken_for_queries(orient, names):
    """Each of these would be a run of queries that are called as columns or rows."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE)
    frame.columns = list(names)
    columns = {} if names is TABLE else {"query": "user", "doc": "item"}
    with pytest.raises(TypeError, match="give the frame itself"):
        pr.per_query(frame.to_dict(orient), "rr", qrels={"q1": {"1": 1}}, **columns)
    for taken in (frame, frame.to_dict("list"), frame.to_dict("records")):
        qrels = pl.DataFrame({**TABLE, "label": [1, 0]}).drop("score")
        qrels.columns = [*[*names][:2], "label"]
        assert pr.per_query(taken, "rr", qrels=qrels, **columns).row(0) == ("q1", 1 / 2)


def test_no_rows_are_no_queries():
    for empty in ([], (), {}):
        with pytest.raises(pr.DataError, match="the run is empty"):
            pr.per_query(empty, "rr", qrels={"q1": "a"})
        with pytest.warns(pr.DataWarning, match="the judgments have no rows"):
            pr.evaluate({"q1": ["a"]}, "rr", qrels=empty)


def test_lists_that_are_refused():
    row = {"query_id": 1, "retrieved": ["a"], "relevant": ["a"]}
    with pytest.raises(TypeError, match="'retrieved' of 1: a set of documents has no"):
        pr.from_lists([row | {"retrieved": {"a"}}])
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="with retrieved="):
        pr.from_lists([{"query_id": 1, "docs": ["a"], "relevant": ["a"]}])
    with pytest.raises(TypeError, match="one row per query: a dictionary has columns"):
        pr.from_lists({"q1": ["a"]})


RANKED = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "q2"],
        "doc_id": ["a", "b", "c", "d"],
        "score": [2.0, 1.0, 2.0, 1.0],
    }
)
QRELS = {"q1": {"b": 1, "a": 0}, "q2": {"c": 1, "d": 0}}


@pytest.mark.parametrize("unsigned", [False, True])
def test_ranks_are_an_order_in_other_functions(unsigned):
    ranks = RANKED.drop("score").with_columns(rank=pl.Series([1, 2, 1, 2]))
    run = ranks.cast({"rank": pl.UInt32}) if unsigned else RUN
    for function in (pr.match_report, pr.preferences):
        assert function(run, QRELS).equals(function(RANKED, QRELS))
    audited = pr.audit(run, "rr", qrels=QRELS)
    assert str(audited) == str(pr.audit(ranks, "rr", qrels=QRELS))


def test_several_runs_of_lists():
    """A run by query is not several runs by name."""
    other = {"q1": ["b", "a"], "q2": ["c", "d"]}
    several = pr.compare({"A": RUN, "B": other}, "rr", qrels=QRELS)
    assert several.means["mean"].to_list() == [(1 / 2 + 1) / 2, 1.0]
    assert "system" in str(pr.audit({"A": RUN, "B": other}, "rr", qrels=QRELS))
    assert "system" not in str(pr.audit(RUN, "rr", qrels=QRELS))


def test_pairs_of_a_document_and_its_label():
    """Taken for documents alone, all would be relevant."""
    pairs = {"q1": [("b", 3), ("a", 0)], "q2": {("c", 1)}}
    grades = {"q1": {"b": 3, "a": 0}, "q2": {"c": 1}}
    wanted = pr.per_query(RUN, "rr dcg", qrels=grades)
    assert pr.per_query(RUN, "rr dcg", qrels=pairs).equals(wanted)
    with pytest.raises(TypeError, match=r"have none, e\.g\. 'a'; give all"):
        pr.per_query(RUN, "rr", qrels={"q1": [("b", 3), "a"], "q2": "c"})
    with pytest.raises(TypeError, match="'relevant' must hold documents alone, not"):
        pr.from_lists([{"query_id": 1, "retrieved": ["a"], "relevant": [("a", 2)]}])
