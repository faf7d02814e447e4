"""What newcomers get wrong: the message names the cause, the file and the way out."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main

RUN = pl.DataFrame(
    {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "score": [3.0, 2, 1]}
)
QRELS = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "c"], "label": [1, 1]})
OTHER = RUN.rename({"query_id": "qid", "doc_id": "docno"})
NotFound = pl.exceptions.ColumnNotFoundError
TREC_RUN = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 c 1 5 t\n"


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """Call the command in a folder of files; its status and what it says of errors."""
    monkeypatch.chdir(tmp_path)
    RUN.write_parquet("run.parquet")
    RUN.write_csv("run.csv")
    OTHER.write_parquet("other.parquet")
    QRELS.write_parquet("qrels.parquet")
    QRELS.rename({"label": "score"}).write_csv("graded.csv")
    QRELS.drop("label").write_parquet("held.parquet")
    Path("a.run").write_text(TREC_RUN)
    Path("b.run").write_text(TREC_RUN)
    text = "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n"
    Path("qrels.txt").write_text(text)
    Path("qrels.gz").write_bytes(gzip.compress(text.encode()))

    def told(line: str) -> tuple[int, str]:
        status = main(line.split())
        return status, capsys.readouterr().err

    return told


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        # names that differ on the two sides
        (
            {"query": "qid", "doc": "docno"},
            NotFound,
            ("qrels_query column 'qid' is not in the judgments", "with qrels_query="),
        ),
        (
            {"query": "qid", "doc": "docno", "qrels_query": "query_id"},
            NotFound,
            ("qrels_doc column 'docno' is not in the judgments", "with qrels_doc="),
        ),
        ({"qrels": None, "doc": None, "query": "qid"}, NotFound, ("qrels=",)),
        (
            {
                "query": "qid",
                "doc": "docno",
                "qrels": QRELS.drop("label").rename(
                    {"query_id": "qid", "doc_id": "docno"}
                ),
            },
            NotFound,
            ("label column 'label' is not in the judgments", "label=None"),
        ),
    ],
)
def test_the_way_out_leads_out(options, error, words):
    with pytest.raises(error) as caught:
        pr.per_query(OTHER, "rr", **{"qrels": QRELS} | options)
    for word in words:
        assert word in str(caught.value)


def test_judgments_with_other_names():
    options = {"query": "qid", "doc": "docno"}
    named = {"qrels_query": "query_id", "qrels_doc": "doc_id"}
    found = pr.per_query(OTHER, "rr", qrels=QRELS, **options, **named)
    assert found.rows() == [("q1", 1.0), ("q2", 1.0)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "other.parquet qrels.gz --query qid --doc docno",
            (
                "qrels.gz: --qrels-query column 'qid' is not in the judgments",
                "did you mean 'query_id'",
                "Name yours with --qrels-query.",
            ),
        ),
        (
            "other.parquet qrels.gz --query qid --doc docno --qrels-query query_id",
            ("qrels.gz: --qrels-doc column 'docno' is", "with --qrels-doc."),
        ),
        (
            "run.csv qrels.gz --label grade",
            ("qrels.gz: label column 'grade' is not in the",),
        ),
        (
            "run.csv held.parquet",
            ("held.parquet: label column 'label' is", "--label none"),
        ),
        # judgments that were forgotten, swapped or misnamed
        ("qrels.txt", ("qrels.txt: looks like judgments", "before", "run")),
        ("run.csv", ("no column 'label'", "judgments")),
        ("qrels.parquet", ("qrels.parquet: looks like judgments", "before", "run")),
        (
            "qrels.txt a.run",
            ("qrels.txt looks like judgments and a.run like a run", "swap", "last"),
        ),
        (
            "qrels.parquet run.csv",
            ("qrels.parquet looks like judgments and run.csv like a run", "swap"),
        ),
        ("a.run b.run", ("b.run: looks like a run", "judgments", "last", "--qrels")),
        ("a.run --qrels b.run", ("b.run: looks like a run",)),
        (
            "run.csv graded.csv",
            ("graded.csv has a column 'score'", "taken for a run", "--qrels"),
        ),
    ],
)
def test_the_command_names_the_file_and_the_way_out(told, line, words):
    status, err = told(f"evaluate {line}")
    assert status in (1, 2)
    for word in words:
        assert word in err
    assert "start it with #" not in err


def test_the_command_reads_what_its_message_says(told, capsys):
    for line in (
        "other.parquet qrels.gz --query qid --doc docno --qrels-query query_id "
        "--qrels-doc doc_id",
        "run.csv held.parquet --label none",
        "run.csv --qrels graded.csv --label score",
        "a.run qrels.txt",
    ):
        assert main(f"evaluate {line} -m rr --format csv".split()) == 0
        assert capsys.readouterr().out == "queries,rr\n2,1.0\n"


# -- lists

LISTS = pl.DataFrame(
    {
        "query_id": [1, 2, 3, 4],
        "retrieved": [["a", "b"], ["c"], ["d"], []],
        "relevant": [["b"], [], ["d"], []],
    }
)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_question_with_nothing_relevant_stays(lazy):
    run, qrels = pr.from_lists(LISTS.lazy() if lazy else LISTS)
    given = {"qrels": qrels, "rank": "rank", "missing": "zero"}
    found = [
        pr.per_query(run, ["rr", "recall@5"], **given, **options).lazy().collect()
        for options in ({}, {"no_relevant": "one"}, {"no_relevant": "skip"})
    ]
    for values, empty in zip(found, [0.0, 1.0, None], strict=True):
        assert values["query_id"].to_list() == [1, 2, 3, 4]
        assert values["rr"].to_list()[:3] == [0.5, empty, 1.0]
        assert values["recall@5"].to_list()[:3] == [1.0, empty, 1.0]


def test_null_lists_are_told():
    lists = LISTS.with_columns(
        relevant=pl.when(pl.col("query_id") != 1).then("relevant")
    )
    with pytest.warns(pr.DataWarning, match="1 of 4 queries is left out: null in 'rel"):
        _, qrels = pr.from_lists(lists)
    assert qrels["query_id"].to_list() == [2, 3, 4]
    with pytest.warns(pr.DataWarning, match="4 of 4 queries are left out"):
        assert len(pr.from_lists(lists.with_columns(relevant=None))[1]) == 0
    run, qrels = pr.from_lists(lists.lazy())
    assert len(run.collect()) == 4  # in silence
    for engine in ("in-memory", "streaming"):
        with pytest.warns(pr.DataWarning, match="^1 of 4 queries is left out") as told:
            found = qrels.collect(engine=engine)
        assert found["query_id"].to_list() == [2, 3, 4]
        assert len(told) == 1


@pytest.mark.parametrize(
    ("lists", "options", "error", "words"),
    [
        (
            LISTS.rename({"retrieved": "docs"}),
            {},
            NotFound,
            "retrieved column 'retrieved' is",
        ),
        (
            LISTS,
            {"scores": "s"},
            NotFound,
            "scores column 's' is not in the frame of lists",
        ),
        (
            LISTS.with_columns(retrieved=pl.lit('["a"]')),
            {},
            TypeError,
            "retrieved 'retrieved' must be a column of lists.*String.*json_decode",
        ),
        (LISTS.with_columns(relevant=pl.lit("b")), {}, TypeError, "pl.concat_list"),
        (
            LISTS.with_columns(relevant=[1]),
            {},
            TypeError,
            "documents are String in 'retrieved' but Int64 in 'relevant'",
        ),
        (
            LISTS.with_columns(s=pl.Series([[2.0, 1.0], [], [1.0], []])),
            {"scores": "s"},
            pr.DataError,
            "'s' must have a value for each.*in 1 query, e.g. in query 2: 0 and 1",
        ),
        (
            LISTS.with_columns(s=pl.Series([[1], [], [1, 2], [3]])),
            {"labels": "s"},
            pr.DataError,
            "differ in 2 queries, e.g. in query 3: 2 and 1",
        ),
        (
            LISTS.with_columns(
                retrieved=[{"_id": "a", "_score": 1.0}], relevant=[{"_id": "a"}]
            ),
            {},
            TypeError,
            "'retrieved' must hold ids .*'_id', '_score'; take the field of the id",
        ),
        ({"q1": ["a"]}, {}, TypeError, "from_lists takes one row per query"),
    ],
)
def test_lists_that_are_none(lists, options, error, words):
    with pytest.raises(error, match=words):
        pr.from_lists(lists, **options)
    if isinstance(lists, pl.DataFrame):
        with pytest.raises(error, match=words):
            pl.collect_all(pr.from_lists(lists.lazy(), **options))


def test_a_question_with_two_rows():
    with pytest.raises(pr.DataError, match="'query_id' must have one row per query, b"):
        pr.from_lists(pl.concat([LISTS, LISTS[1:3]]))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_question_with_two_rows_in_a_lazy_frame(engine):
    others = LISTS[1:3].with_columns(
        retrieved=pl.lit(["x"]), relevant=pl.lit(["y"]), scores=[0.5]
    )
    scored = LISTS.with_columns(
        scores=pl.col("retrieved").list.eval(pl.element().rank())
    )
    lists = pl.concat([scored, others.select(scored.columns)]).lazy()
    run, qrels = pr.from_lists(lists, scores="scores")
    values = pr.per_query(run, "rr", qrels=qrels)  # by score: no rank twice
    words = "'query_id' must have one row per query, but 2 have several, e.g. 2, 3"
    for lazy in (
        run,
        qrels,
        qrels.filter(pl.col("query_id") == 1),
        run.head(1),
        values,
    ):
        with pytest.raises(pr.DataError, match=words) as caught:
            lazy.collect(engine=engine)
        assert (caught.value.rule, caught.value.count) == ("duplicate_query", 2)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"q1": {"a": 1}, "q2": ["b"]}, r"lists of documents, .* pr.from_lists"),
        ({1: {"a": 1}, "2": {"b": 3}}, "query ids must be of one type, not of int and"),
        ({"1": {"a": 1, 3: 3}}, "document ids must be of one type, not of int and str"),
        ({"1": {"a": 1, "b": "x"}}, "values must be of one type, not of int and str"),
    ],
)
def test_dictionaries_of_other_things(frame, words):
    with pytest.raises(TypeError, match=words):
        pr.evaluate(frame, "rr", qrels={"q1": {"a": 1}})


@pytest.mark.parametrize("column", ["query_id", "doc_id"])
@pytest.mark.parametrize("side", ["run", "qrels"])
def test_ids_that_are_all_null_are_not_called_different(column, side):
    frames = {"run": RUN, "qrels": RUN.with_columns(label=1).drop("score")}
    nulls = pl.lit(None, frames[side].schema[column]).alias(column)
    frames[side] = frames[side].with_columns(nulls).head(1)
    with pytest.raises(pr.DataError, match="ids are null; drop these rows"):
        pr.evaluate(frames["run"], "ap", qrels=frames["qrels"], missing="zero")


@pytest.mark.parametrize("judged", [False, True])
def test_null_queries_are_told_before_the_duplicates_that_they_make(judged):
    log = RUN.with_columns(
        query_id=pl.Series([None, None, "q2"]), doc_id=pl.lit("a"), label=1
    )
    run, qrels = (log.drop("label"), log.drop("score")) if judged else (log, None)
    with pytest.raises(pr.DataError, match="query ids are null") as caught:
        pr.evaluate(run, "ap", qrels=qrels)
    assert caught.value.rule == "null_query"


# -- arguments that are something else

LOG = RUN.with_columns(label=pl.Series([0, 1, 1]))
LABEL = pl.col("label").rank_eval


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"score": None}, TypeError, "score must name a column, unless rank="),
        ({"weight": [1, 2]}, TypeError, r"weight must name a column.* \[1, 2\]"),
        ({"by": 3}, TypeError, "by must name a column.*, not 3"),
        ({"by": ["query_id", 3]}, TypeError, "by must name columns.*, not 3"),
        ({"query": 3}, TypeError, "query must name a column"),
        ({"doc": 3}, TypeError, "doc must name a column"),
        ({"label": 3}, TypeError, "label must name a column"),
        ({"rank": 3}, TypeError, "rank must name a column"),
        ({"descending": "no"}, TypeError, "descending must be True or False, not 'no'"),
        ({"qrels_query": "q"}, ValueError, "qrels_query names .* with qrels="),
        ({"qrels_doc": "q"}, ValueError, "qrels_doc names .* with qrels="),
        ({"measures": {"own": lambda r: r.label}}, TypeError, "'own', must return one"),
        ({"measures": {"own": lambda _: pl.lit("x")}}, TypeError, "'own', must return"),
        ({"measures": {"own": lambda r: r.hits_at(0)}}, ValueError, "k must be at lea"),
        (
            {"by": "country"},
            NotFound,
            "by column 'country' is not in the frame. Its columns",
        ),
    ],
)
def test_arguments_that_are_something_else(options, error, words):
    with pytest.raises(error, match=words) as caught:
        pr.evaluate(LOG, **{"measures": "rr"} | options)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"keep": "x"}, TypeError, "takes no keep; by= splits the mean by columns"),
        ({"measures": {"m": "ndcg@10"}}, TypeError, r"pr.measure\(..., name=...\)"),
        ({"query": ["query_id"] * 2}, ValueError, "'query_id' twice; name it once"),
        (
            {"label": pl.col("label", "score")},
            ValueError,
            "label must be one column; the expression .* is 'label', 'score'",
        ),
        (
            {"queries": QRELS.select(qid="query_id")},
            NotFound,
            "or rename the column of the queries to match the run's",
        ),
        (
            {"segments": QRELS.select(qid="query_id", by="label"), "by": "by"},
            NotFound,
            "or rename the column of the segments to match the run's",
        ),
        ({"by": "cuntry"}, NotFound, "; did you mean 'country'"),
        ({"by": "ountry"}, NotFound, "; did you mean 'country'"),
        ({"by": "user_id"}, NotFound, "'user_id' is not in the frame. Its columns"),
    ],
)
def test_the_way_out_leads_there(options, error, words):
    log = LOG.with_columns(country=pl.lit("DE"))
    with pytest.raises(error, match=words):
        pr.evaluate(log, **{"measures": "rr"} | options)


def test_query_columns_and_segments_of_values_per_query():
    with pytest.raises(TypeError, match="takes no by; keep= keeps columns"):
        pr.per_query(LOG, "rr", by="label")
    with pytest.raises(ValueError, match="leave out keep= for query columns"):
        pr.per_query(LOG, "rr", keep="query_id")


@pytest.mark.parametrize("function", [pr.bounds, pr.audit])
def test_systems_under_another_name(function):
    with pytest.raises(
        NotFound, match=r"^system column 'sys' is not in the run.*system="
    ):
        function(RUN, "rr", qrels=QRELS, system="sys")


def test_blanks_around_measures_are_no_part_of_their_names(told, capsys):
    assert pr.evaluate(LOG, [" rr@5 ", "ap "]).columns == ["queries", "rr@5", "ap"]
    options = ["--qrels-format", "parquet", "--format", "csv"]
    files = ["evaluate", "run.parquet", "qrels.parquet"]
    assert main([*files, "-m", "rr@5 , ap", *options]) == 0
    assert capsys.readouterr().out.startswith("queries,rr@5,ap\n")


def test_columns_to_keep_are_columns():
    with pytest.raises(TypeError, match="keep must name a column"):
        pr.per_query(LOG, "rr", keep=3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: LABEL.ndcg(5), TypeError, r"score must .* ndcg\('score', k=5\)"),
        (
            lambda: LABEL.ndcg([1, 2]),
            TypeError,
            "score must be the name of a column.* list",
        ),
        (
            lambda: LABEL.ndcg("score", doc=1),
            TypeError,
            "doc must be the name of a column",
        ),
        (lambda: LABEL.ndcg("label"), ValueError, "label and score are both column"),
        (lambda: LABEL.ndcg("score", doc="score"), ValueError, "score and doc are bot"),
        (lambda: LABEL.evaluate, AttributeError, "evaluate is for frames"),
        (lambda: pr.measure("ndcg@10"), ValueError, r"pr.measure\('ndcg'\) @ 10, or"),
    ],
)
def test_expressions_and_measures_of_something_else(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"query_id": 1.0}, {}, "a query id must be.*; cast it, e.g. with pl.col"),
        ({"doc_id": 1.0}, {}, "a document id must be.*; cast it, e.g. with pl.col"),
        ({"rank": 1.0}, {"rank": "rank"}, "a rank must be.*; cast it, e.g. with pl.co"),
    ],
)
def test_floats_where_integers_are_needed(change, options, words):
    log = LOG.with_columns(**{name: pl.lit(value) for name, value in change.items()})
    with pytest.raises(TypeError, match=words):
        pr.evaluate(log, "rr", **options)


# -- segments of a comparison


def _segments(**runs: list[str]) -> None:
    """Runs of 30 queries, with their countries; document b is relevant."""
    ids = [f"q{i}" for i in range(30)]
    for name, documents in runs.items():
        pl.DataFrame(
            {
                "query_id": [q for q in ids for _ in documents],
                "doc_id": documents * 30,
                "score": [3.0, 2.0] * 30,
                "country": [("DE", "FR")[i % 2] for i in range(30) for _ in documents],
            }
        ).write_parquet(f"{name}.parquet")
    pl.DataFrame({"query_id": ids, "doc_id": "b", "label": 1}).write_parquet("judged")


def test_segments_of_a_comparison_come_from_the_runs(told, capsys):
    _segments(old=["a", "b"], new=["b", "a"])
    files = "old.parquet new.parquet judged --qrels-format parquet -m rr --by country"
    assert main(f"compare {files} --format csv".split()) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(",")[:2] for row in rows[1:]] == [["DE", "rr"], ["FR", "rr"]]
    status, err = told(f"compare {files} --by contry")
    assert status == 1
    assert "old.parquet: no column 'contry'; did you mean 'country'?" in err


def test_a_baseline_keeps_segments(told, capsys):
    _segments(old=["a", "b"], new=["b", "a"])
    judged = "judged --qrels-format parquet -m rr --by country"
    assert main(f"gate b.parquet old.parquet {judged} --update-baseline".split()) == 0
    columns = pl.read_parquet_schema("b.parquet").names()
    assert columns == ["query_id", "country", "rr", "documents"]
    assert main(f"gate b.parquet new.parquet {judged}".split()) == 0
    out = capsys.readouterr().out
    assert "country = DE" in out
    assert "country = FR" in out


@pytest.mark.slow
def test_a_comparison_ranks_and_checks_as_an_evaluation_does(told, capsys):
    _segments(old=["a", "b"], new=["b", "a"])
    files = "old.parquet new.parquet judged --qrels-format parquet -m rr --format csv"
    means = {}
    for option in ("--rel 1", "-M 1", "--max-rank 1", "--rel 2"):
        assert main(f"compare {files} {option}".split()) == 0
        out = capsys.readouterr().out.splitlines()
        row = dict(zip(out[0].split(","), out[1].split(","), strict=True))
        means[option] = float(row["baseline_mean"]), float(row["mean"])
    assert means["--rel 1"] == (0.5, 1.0)
    assert means["-M 1"] == means["--max-rank 1"] == (0.0, 1.0)
    assert means["--rel 2"] == (0.0, 0.0)
    twice = "a.run b.run qrels.txt -m rr --format csv"
    Path("a.run").write_text(TREC_RUN + "q1 Q0 a 9 1 t\n")
    assert main(f"compare {twice}".split()) == 1
    assert main(f"compare {twice} --on-duplicate best".split()) == 0


def test_segments_in_the_judgments():
    runs = {"a": RUN, "b": RUN}
    qrels = QRELS.with_columns(country=pl.Series(["DE", "FR"]))
    found = pr.compare(runs, qrels=qrels, measures=["rr"], by="country")
    assert found.pairs["country"].to_list() == ["DE", "FR"]


# -- files


def test_semicolons_are_told(told):
    RUN.write_csv("semi.csv", separator=";")
    status, err = told("evaluate semi.csv qrels.txt")
    assert status == 1
    assert "semi.csv: its columns are separated by ';', not by ','" in err


def test_ids_of_two_types_have_a_way_out_in_the_command(told, capsys):
    qrels = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    run = pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "score": [1.0]})
    qrels.write_parquet("i.parquet")
    qrels.write_csv("i.csv")
    run.write_parquet("t.parquet")
    _, err = told("evaluate t.parquet i.parquet")
    assert "'query_id' is String in the run but Int64" in err
    assert "or as CSV" in err
    assert "cast" not in err
    assert main(["evaluate", "t.parquet", "i.csv", "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "queries,rr\n1,1.0\n"


def test_measures_takes_no_name_and_a_folder_far_away_needs_a_glob(told):
    assert "polars-rank explain ndcg" in told("measures ndcg")[1]
    assert "s3://b/logs/*.parquet" in told("evaluate s3://b/logs/ -m rr")[1]


def test_the_values_of_queries_need_a_folder_that_can_be_written(told, monkeypatch):
    def refuse(**_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("polars_rank.cli.apart.TemporaryFile", refuse)
    status, err = told("evaluate a.run qrels.txt --per-query values.csv")
    assert status == 1
    assert "values.csv: its folder, ., cannot be written to" in err


def test_an_empty_run_is_told():
    with pytest.raises(pr.DataError, match="the run is empty, the judgments 'q1'"):
        pr.evaluate(RUN.clear(), "rr", qrels=QRELS)


@pytest.mark.parametrize(
    "function", [pr.evaluate, pr.per_query], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "k",
            "takes no k: it is a parameter of measures; .* as in 'ndcg@10'",
        ),
        ("gain", r"as in 'ndcg\(gain=...\)@10'"),
        ("scores", "takes no scores; did you mean 'score'"),
        ("foo", "takes no foo$"),
    ],
)
def test_an_argument_that_is_not_taken(function, name, told):
    log = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1]})
    with pytest.raises(TypeError, match=told):
        pr.Evaluation(["ndcg"], **{name: 10})
    for frame in (log, log.lazy()):
        with pytest.raises(TypeError, match=told):
            function(frame, ["ndcg"], **{name: 10})
        with pytest.raises(TypeError, match=told):
            getattr(frame.rank_eval, function.__name__)(["ndcg"], **{name: 10})
