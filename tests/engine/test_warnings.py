"""Numbers that are wrong though no row breaks a rule: refused, or warned of."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank.cli import main

RUN = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 3],
        "doc_id": ["007", "12", "007", "9"],
        "score": [2.0, 1.0, 1.0, 1.0],
    }
)
QRELS = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 3],
        "doc_id": ["12", "4", "007", "5"],
        "label": [1, 2, 0, 1],
    }
)
LOG = RUN.with_columns(label=pl.Series([0, 1, 2, 1]))
BOTH = pytest.mark.parametrize("function", [pr.evaluate, pr.per_query])


WAYS = ["frame", "streaming", *map(slow, ("in-memory", "contiguous", "bounded"))]


@pytest.fixture(params=WAYS)
def call(request):
    """Evaluate in one of the ways in which a plan is run."""

    def call(function, frame, measures="rr", **options):
        if request.param == "frame":
            return function(frame, measures, **options)
        ways = {
            "contiguous": {"layout": "contiguous"},
            "bounded": {"memory_limit": "1GB"},
        }
        lazy = {n: v.lazy() for n, v in options.items() if isinstance(v, pl.DataFrame)}
        options = {**options, **lazy, **ways.get(request.param, {})}
        engine = "in-memory" if request.param == "in-memory" else "streaming"
        return function(frame.lazy(), measures, **options).collect(engine=engine)

    return call


def silent(call, *args, **options) -> pl.DataFrame:
    """The result; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*args, **options)


def spelt(ids: pl.Expr) -> pl.DataFrame:
    return QRELS.with_columns(doc_id=ids)


DOC = pl.col("doc_id")
OTHERWISE = pytest.mark.parametrize(
    "qrels",
    [
        spelt("doc" + DOC),
        spelt(DOC + " "),
        spelt(DOC.replace_strict({"007": "7", "12": "012"}, default="x")),
    ],
    ids=["prefix", "blank", "zero"],
)


@BOTH
@OTHERWISE
def test_ids_that_never_match(call, function, qrels):
    with pytest.raises(pr.DataError) as caught:
        call(function, RUN, qrels=qrels)
    assert caught.value.rule == "no_common_doc"
    for word in ("'007', '12', '9'", repr(qrels["doc_id"][0]), "doc=", "zeros"):
        assert word in str(caught.value)
    with pytest.warns(pr.DataWarning, match="no judged document was retrieved"):
        assert call(function, RUN, qrels=qrels, check="warn")["rr"].sum() == 0
    assert silent(call, function, RUN, qrels=qrels, check="off")["rr"].sum() == 0


@BOTH
def test_nothing_relevant_retrieved_is_no_error_if_ids_match(call, function):
    """They do where a document was judged not relevant, or for another query."""
    lost = QRELS.filter(pl.col("label") != 1)
    assert silent(call, function, RUN, qrels=lost)["rr"].sum() == 0
    elsewhere = QRELS.with_columns(query_id=pl.Series([2, 2, 3, 1]))
    assert silent(call, function, RUN, qrels=elsewhere)["rr"].sum() == 0


@BOTH
@pytest.mark.parametrize(
    ("missing", "outcome", "rr"),
    [("zero", "counts as 0", 1 / 4), ("skip", "out", 1 / 2)],
)
def test_missing_queries_are_counted(call, function, missing, outcome, rr):
    run = RUN.filter(pl.col("query_id") == 1)
    qrels = QRELS.filter(pl.col("query_id") < 3)
    convention = pr.CONVENTIONS["trec_eval"].replace(missing=missing)
    found = rf"^1 of 2 judged queries is missing .*{outcome}.*missing=\"{missing}\"$"
    with pytest.warns(pr.DataWarning, match=found) as caught:
        values = call(function, run, qrels=qrels, convention=convention)
    assert len(caught) == 1
    assert values["rr"].mean() == rr
    said = silent(call, function, run, qrels=qrels, missing=missing)
    assert said.equals(values)
    silent(call, function, run, qrels=qrels, queries=run.select("query_id").unique())


@pytest.mark.parametrize("measure", ["rbo", "kendall_tau"])
def test_a_missing_query_has_no_value_where_a_measure_is_undefined(measure):
    run = RUN.filter(pl.col("query_id") == 1)
    told = "counts as 0, unless a measure is undefined without .* no value; if"
    for options in ({}, {"queries": pl.DataFrame({"query_id": [1, 2, 9]})}):
        with pytest.warns(pr.DataWarning, match=told):
            values = pr.per_query(run, [measure, "rr"], qrels=QRELS, **options)
        assert values.filter(query_id=2).row(0) == (2, None, 0.0)


@BOTH
def test_judgments_without_rows_or_grades(call, function):
    if function is pr.evaluate:  # values per query have no rows either
        with pytest.warns(pr.DataWarning, match="the judgments have no rows"):
            call(function, RUN, qrels=QRELS.clear())
    nothing = pl.lit(None, pl.Int64)
    with pytest.warns(pr.DataWarning, match="'label' of the judgments is null in ev"):
        call(function, RUN, qrels=QRELS.with_columns(label=nothing))
    with pytest.warns(pr.DataWarning, match="'label' of the frame is null in every"):
        call(function, LOG.with_columns(label=nothing), ["ndcg", "ap"])
    zeros = LOG.with_columns(label=0)
    assert silent(call, function, zeros)["rr"].sum() == 0
    few = LOG.with_columns(label=pl.Series([None, 1, None, 1]))
    assert silent(call, function, few, no_relevant="zero")["rr"].sum() > 0


@BOTH
@pytest.mark.parametrize("judged", [False, True])
def test_a_scale_that_never_reaches_rel(call, function, judged):
    def ask(measures, factor, **options):
        scaled = pl.col("label") * factor
        if judged:
            options["qrels"] = QRELS.with_columns(scaled)
        frame = RUN if judged else LOG.with_columns(scaled)
        return call(function, frame, measures, **options)

    words = "no document is relevant to ap: the largest label is 0.5, .*; set rel= to"
    with pytest.warns(pr.DataWarning, match=words):
        ask(["ndcg", "ap"], 1 / 4)
    silent(ask, ["ndcg", "ap"], 1 / 2, rel=1)  # the largest is 1
    silent(ask, ["ndcg", "dcg"], 1 / 4)
    silent(ask, ["ndcg", "ap"], 1 / 4, rel=0.25)
    silent(ask, ["ndcg", "ap(rel=0.25)"], 1 / 4)
    silent(ask, ["ndcg", "ap"], 0)


@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
def test_a_warning_is_of_a_category_of_its_own_and_comes_once(layout):
    """Of each evaluation: the data of the next may be others."""
    for frame in (LOG, LOG.lazy()):
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                doubtful = frame.with_columns(label=0.5)
                pr.evaluate(doubtful, "ap", layout=layout).lazy().collect()
            assert [w.category for w in caught] == [pr.DataWarning]
    assert issubclass(pr.DataWarning, UserWarning)


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("ties", "optimistic"),
        ("missing", "skip"),
        ("no_relevant", "one"),
        ("unjudged", "drop"),
        ("rel", 2),
    ],
)
@BOTH
def test_shortcuts_replace_one_choice_of_the_convention(function, choice, value):
    run = pl.DataFrame(
        {
            "query_id": [1, 1, 1, 2, 3],
            "doc_id": ["a", "b", "c", "a", "a"],
            "score": [1.0, 1.0, 1.0, 1.0, 1.0],
        }
    )
    qrels = pl.DataFrame(
        {
            "query_id": [1, 1, 2, 3, 4],
            "doc_id": ["a", "b", "a", "a", "a"],
            "label": [1, 2, 0, 1, 1],
        }
    )
    for name in ("trec_eval", "xgboost"):
        convention = pr.CONVENTIONS[name]
        others = [e for e in convention.exceptions if e[1] != choice]
        exact = convention.replace(**{choice: value}, exceptions=tuple(others))
        for asked in (name, convention):
            options = {"qrels": qrels, "convention": asked, choice: value}
            found = function(run, ["rr", "precision@2"], **options)
            options = {"qrels": qrels, "convention": exact}
            assert found.equals(function(run, ["rr", "precision@2"], **options))
    default = function(run, ["rr", "precision@2"], qrels=qrels)
    options = {"qrels": qrels, choice: value}
    assert not function(run, ["rr", "precision@2"], **options).equals(default)
    with pytest.raises(ValueError, match=f"{choice} must be "):
        function(run, "rr", qrels=qrels, **{choice: "nonsense"})


def test_expression_and_frame_order_ties_alike_with_ids():
    tied = LOG.with_columns(score=1.0)
    label = pl.col("label").rank_eval
    own = tied.group_by("query_id", maintain_order=True).agg(
        rr=label.rr("score", doc="doc_id"), order=label.rr("score")
    )
    assert own["rr"].to_list() == pr.per_query(tied, "rr")["rr"].to_list()
    rows = pr.per_query(tied, "rr", doc=None)["rr"].to_list()
    assert own["order"].to_list() == rows == [1 / 2, 1, 1]
    assert own["rr"][0] == 1  # "12" goes before "007"


# -- columns taken for what they are not


@BOTH
def test_one_column_has_one_role(function):
    for options, words in (
        ({"label": "score"}, "score and label are both column 'score'"),
        ({"doc": "query_id"}, "query and doc are both column 'query_id'"),
        ({"rank": "label"}, "rank and label are both column 'label'"),
        ({"query": ["query_id", "query_id"]}, "query names column 'query_id' twice"),
    ):
        with pytest.raises(ValueError, match=words):
            function(LOG, "rr", **options)
    beir = QRELS.rename({"label": "score"})
    named = function(RUN, "rr", qrels=beir, label="score")  # of two frames
    assert named.equals(function(RUN, "rr", qrels=QRELS))
    with pytest.raises(ValueError, match="doc and label are both column 'doc_id'"):
        function(RUN, "rr", qrels=QRELS, label="doc_id")


@BOTH
@pytest.mark.parametrize("name", ["docno", "Doc-ID", "item_id", "corpus-id", "doc"])
def test_document_ids_are_not_missed_by_accident(function, name):
    log = LOG.rename({"doc_id": name})
    with pytest.raises(ValueError, match="looks like document ids") as caught:
        function(log, "rr")
    assert f"doc='{name}', or doc=None" in str(caught.value)
    assert function(log, "rr", doc=name).equals(function(LOG, "rr"))
    function(log, "rr", doc=None)
    if function is pr.evaluate:
        function(log, "rr", by=name, query=["query_id", name])


def test_the_command_names_document_ids_and_goes_without(tmp_path, capsys):
    LOG.rename({"doc_id": "docno"}).write_csv(tmp_path / "log.csv")
    argv = ["evaluate", str(tmp_path / "log.csv"), "-m", "rr"]
    assert main(argv) == 2
    assert "--doc docno, or --doc none" in capsys.readouterr().err
    assert main([*argv, "--doc", "docno"]) == main([*argv, "--doc", "none"]) == 0


@BOTH
@pytest.mark.parametrize("where", ["queries", "segments"])
@pytest.mark.parametrize("judged", [True, False])
def test_queries_and_segments_that_no_query_has(call, function, where, judged):
    """Not even where 0 for missing queries is asked for."""
    frame, options = (RUN, {"qrels": QRELS}) if judged else (LOG, {})
    options |= {"missing": "zero"} if where == "queries" else {"by": "area"}
    about = pl.DataFrame({"query_id": [11, 12], "area": ["x", "y"]})
    if function is pr.per_query:
        options.pop("by", None)
        options |= {"keep": "area"} if where == "segments" else {}
    with pytest.raises(pr.DataError) as caught:
        call(function, frame, **options, **{where: about})
    assert caught.value.rule == "no_query_found"
    side = "judgments" if judged else "frame"
    told = f"{where}=: it has queries like 11, 12, the {side} queries like 1, 2, 3"
    assert told in str(caught.value)
    with pytest.warns(pr.DataWarning, match="none of the queries evaluated"):
        call(function, frame, check="warn", **options, **{where: about})
    one = about.with_columns(query_id=pl.Series([1, 12]))
    assert len(silent(call, function, frame, **options, **{where: one}))


@BOTH
@pytest.mark.parametrize("judged", [True, False])
def test_labels_between_0_and_1_that_are_not_relevant(call, function, judged):
    """A label of 1 among probabilities hides that the others do not count."""
    labels = pl.Series("label", [0.9, 0.0, 1.0, 0.2])
    frame, options = LOG.with_columns(labels), {}
    if judged:
        frame, options = RUN, {"qrels": QRELS.with_columns(labels)}
    with pytest.warns(
        pr.DataWarning, match="^2 labels lie .* which ap counts .* set rel="
    ):
        call(function, frame, ["ndcg", "ap"], **options)
    for meant in ({"rel": 1}, {"rel": 0.5}, {"check": "off"}):
        silent(call, function, frame, "ap", **options, **meant)
    for measure in ("ndcg", "ap(rel=1)"):
        silent(call, function, frame, measure, **options)


OTHER_RUN = pl.DataFrame(
    {"query_id": [1, 1, 4], "doc_id": ["a", "c", "a"], "score": [2.0, 1.0, 1.0]}
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("measure", ["overlap@2", "rbo", "unexpectedness"])
@pytest.mark.parametrize("options", [{}, {"layout": "any"}, {"memory_limit": "1GB"}])
def test_queries_of_one_run_alone_are_told(measure, options):
    run = pl.DataFrame(
        {"query_id": [1, 2, 2, 3], "doc_id": ["a", "a", "b", "a"], "score": 1.0}
    )
    options = {"qrels": OTHER_RUN, "label": "score", "missing": "zero"} | options
    told = f"2 queries of the run have no judgment and are left out, .* {measure} comp"
    with pytest.warns(pr.DataWarning, match=told):
        pr.evaluate(run, [measure, "rr"], **options)
    with pytest.warns(
        pr.DataWarning, match="1 query of the run has no judgment and is"
    ):
        pr.evaluate(run.filter(pl.col("query_id") < 3), measure, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pr.evaluate(run, "rr", **options)  # of judgments, that is as usual
        pr.evaluate(run.head(1), measure, **options)
        pr.evaluate(run, measure, **options, queries=OTHER_RUN[1:])
        pr.evaluate(run, measure, **options, check="off")
