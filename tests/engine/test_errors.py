"""Bad input: one test for each row of the table in the design. Nothing is lost."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from datetime import date
from math import inf, nan

import polars as pl
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal
from slow import slow

import polars_rank as pr

TREC = pr.CONVENTIONS["trec_eval"]
LOG = pl.DataFrame(
    {
        "query_id": [1, 1, 2],
        "doc_id": ["a", "b", "a"],
        "score": [3.0, 2.0, 1.0],
        "label": [0, 1, 1],
    }
)  # rr: 1/2 and 1
RUN, QRELS = LOG.drop("label"), LOG.drop("score")
LABEL = pl.col("label").rank_eval
BOTH = pytest.mark.parametrize("function", [pr.per_query, pr.evaluate])
OWN = {"own": lambda r: r.retrieved_count()}
NotFound = pl.exceptions.ColumnNotFoundError


@pytest.fixture(params=["frame", "streaming", slow("in-memory")])
def call(request):
    """Evaluate frames as they are, or lazily on either engine."""

    def call(function, frame, measures="rr", **options):
        if request.param == "frame":
            return function(frame, measures, **options)
        lazy = {n: v.lazy() for n, v in options.items() if isinstance(v, pl.DataFrame)}
        result = function(frame.lazy(), measures, **options | lazy)
        return result.collect(engine=request.param)

    return call


@pytest.fixture
def unread():
    """A frame whose rows cannot be read."""

    def source(*_):
        raise AssertionError("rows were read")
        yield

    return register_io_source(source, schema=LOG.schema)


@contextmanager
def refused(error, *words):
    """Exactly this error; its message has the culprit and the way out."""
    with pytest.raises(error) as caught:
        yield
    assert caught.type is error
    for word in words:
        assert word in str(caught.value)


def put(frame: pl.DataFrame, column: str, value, row: int = 0) -> pl.DataFrame:
    values = frame[column].to_list()
    values[row] = value
    dtype = pl.Float64 if isinstance(value, float) else frame.schema[column]
    return frame.with_columns(pl.Series(column, values, dtype=dtype))


def again(frame: pl.DataFrame, row: int) -> pl.DataFrame:
    return pl.concat([frame, frame[row : row + 1]])


@pytest.mark.parametrize(
    ("frame", "options", "query"),
    [
        (RUN, {"qrels": again(QRELS, 1)}, 1),
        (RUN, {"qrels": again(QRELS, 0)}, 1),
        (RUN, {"qrels": again(put(QRELS, "doc_id", "lost", row=2), 2)}, 2),
        (again(RUN, 1), {"qrels": QRELS}, 1),
        (again(RUN, 0), {"qrels": QRELS}, 1),  # judged, not relevant
        (again(RUN, 0), {"qrels": QRELS, "measures": "bpref"}, 1),
        (again(RUN, 0), {"qrels": QRELS[1:]}, 1),  # unjudged
        (again(RUN, 0), {"qrels": QRELS[1:], "measures": OWN}, 1),
        (again(LOG, 1), {}, 1),
        (again(LOG, 0), {}, 1),  # judged, not relevant
        (again(put(LOG, "label", None), 0), {}, 1),  # unjudged
        (again(LOG, 2), {"convention": TREC.replace(ties="order")}, 2),
        (again(LOG, 2), {"convention": TREC.replace(ties="expected")}, 2),
    ],
)
def test_duplicates(call, frame, options, query):
    words = "duplicate documents", "1 found", f"query {query}", 'on_duplicate="best"'
    with refused(pr.DataError, *words):
        call(pr.per_query, frame, **options)


def test_on_duplicate_best_keeps_best_score_and_label(call):
    best = {"on_duplicate": "best"}
    run = put(again(RUN, 1), "score", 4.0, row=3)
    qrels = put(again(QRELS, 1), "label", 0, row=3)
    assert call(pr.per_query, run, qrels=qrels, **best)["rr"].to_list() == [1, 1]
    log = put(put(again(LOG, 1), "score", 4.0, row=3), "label", 0, row=3)
    assert call(pr.per_query, log, **best)["rr"].to_list() == [1, 1]


def test_on_duplicate_best_needs_no_check():
    log = pl.DataFrame(
        {"query_id": [1, 1], "doc_id": ["a", "a"], "score": [2, 1], "label": [1, 1]}
    )
    options = {"on_duplicate": "best", "check": "off", "ties": "order"}
    assert pr.evaluate(log, "hits", **options)["hits"].item() == 1


def test_on_duplicate_best_keeps_the_best_rank(call):
    """The relevant document stands at ranks 4 and 1."""
    ids = {"query_id": 1, "doc_id": ["a", "b", "c", "a"]}
    log = pl.DataFrame({**ids, "rank": [4, 2, 3, 1], "label": [1, 0, 0, 1]})
    options = {"rank": "rank", "on_duplicate": "best"}
    assert call(pr.per_query, log, **options)["rr"].item() == 1
    run, qrels = log.drop("label"), log.drop("rank").unique("doc_id")
    assert call(pr.per_query, run, qrels=qrels, **options)["rr"].item() == 1


def test_on_duplicate_best_keeps_the_input_order_of_ties(call):
    ids = {"query_id": 1, "doc_id": range(300)}
    tied = pl.DataFrame({**ids, "score": 1.0, "label": [0] * 299 + [1]})
    options = {"convention": TREC.replace(ties="order"), "on_duplicate": "best"}
    assert call(pr.per_query, tied, **options)["rr"].item() == 1 / 300


@pytest.mark.parametrize("bad", [nan, None])
def test_on_duplicate_best_hides_no_bad_score(call, bad):
    run = put(again(RUN, 0), "score", bad, row=3)
    with refused(pr.DataError, "scores"):
        call(pr.per_query, run, qrels=QRELS, on_duplicate="best")


@BOTH
@pytest.mark.parametrize("options", [{}, {"qrels": QRELS}])
@pytest.mark.parametrize(
    ("column", "bad", "words"),
    [
        ("score", nan, ("NaN scores", "1 found", "query 1", "fill_nan")),
        ("score", None, ("scores are null", "1 found", "query 1", "drop")),
        ("query_id", None, ("query ids are null", "1 found", "drop")),
        ("doc_id", None, ("document ids are null", "1 found", "query 1", "drop")),
    ],
)
def test_bad_scores_and_ids(call, function, options, column, bad, words):
    with refused(pr.DataError, *words):
        call(function, put(RUN if options else LOG, column, bad), **options)


def test_null_ids_of_judgments_and_queries(call):
    for column, what in (("query_id", "query"), ("doc_id", "document")):
        with refused(pr.DataError, f"{what} ids are null", "1 found", "drop"):
            call(pr.per_query, RUN, qrels=put(QRELS, column, None, row=2))
    with refused(pr.DataError, "query ids are null", "drop"):
        call(pr.per_query, LOG, queries=pl.DataFrame({"query_id": [1, None]}))


@pytest.mark.parametrize("run", [False, True])
@pytest.mark.parametrize(
    ("metric", "params", "grade", "words"),
    [
        ("ndcg", {"gain": "exp2"}, 1024, ("1023", 'gain="linear"')),
        ("err", {}, 5, ("max_grade=4", "max_grade=5", 'max_grade="query"')),
        ("nerr", {"max_grade": 2}, 3, ("max_grade=2", 'max_grade="query"')),
        ("err", {"max_grade": "query"}, 2000, ("overflows",)),
        ("err", {"max_grade": 2000}, 1500, ("overflows",)),
        ("rr", {}, nan, ("NaN or infinite", "null for unjudged")),
        ("rr", {}, inf, ("NaN or infinite", "null for unjudged")),
        ("rr", {}, -inf, ("NaN or infinite", "null for unjudged")),
    ],
)
def test_bad_grades(call, run, metric, params, grade, words):
    log = put(LOG, "label", grade, row=1)
    options = {"qrels": log.drop("score")} if run else {}
    with refused(pr.DataError, *words, "1 found", "query 1"):
        measure = pr.measure(metric, **params)
        call(pr.per_query, RUN if run else log, measure, **options)
    with refused(pr.DataError, *words):
        log.select(getattr(LABEL, metric)("score", **params))


def test_empty_frames_give_typed_empty_results(call):
    asked, types = ["rr", "spearman"], {"rr": pl.Float64, "spearman": pl.Float64}
    keyed = pl.DataFrame(schema={"query_id": pl.Int64, **types})
    parts = pl.DataFrame(schema={"doc_id": pl.String, "queries": pl.UInt32, **types})
    total = pl.DataFrame([(0, None, None)], parts.schema.names()[1:], orient="row")
    total = total.cast({"queries": pl.UInt32, **types})
    for frame, options in ((LOG, {}), (RUN, {"qrels": QRELS.clear()})):
        none = frame.clear()
        assert_frame_equal(call(pr.per_query, none, asked, **options), keyed)
        with pytest.warns(pr.DataWarning, match="no rows, so no query is evaluated"):
            assert_frame_equal(call(pr.evaluate, none, asked, **options), total)
        for layout in ("any", "contiguous"):
            lazy = pr.evaluate(
                none.lazy(), asked, by="doc_id", layout=layout, **options
            )
            with pytest.warns(pr.DataWarning, match="no rows, so no query") as told:
                assert_frame_equal(lazy.collect(engine="streaming"), parts)
            assert len(told) == 1


@BOTH
@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_no_query_in_common(call, function, missing):
    qrels = QRELS.with_columns(query_id=pl.col("query_id") + 70)
    with refused(pr.DataError, "the run", "1, ", "2", "judgments", "71, 72", "query="):
        call(function, RUN, qrels=qrels, convention=TREC.replace(missing=missing))


QUERIES = pl.DataFrame({"query_id": [1, 2], "weight": [1.0, 2.0], "by": ["x", "y"]})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rank": [1, 0, 1]}, ("at least 1", "1 found", "query 1", "from 1")),
        ({"rank": [2, 2, 1]}, ("duplicate ranks", "query 1", "a rank of its own")),
        ({"by": ["x", "y", "x"]}, ("by=", "varies within a query", "query 1")),
        ({"weight": [1.0, 2.0, 1.0]}, ("weight=", "varies within a query", "query 1")),
        ({"weight": [1.0, 1.0, None]}, ("weights that are null", "query 2")),
        ({"weight": [1.0, 1.0, -1.0]}, ("negative", "query 2", "give each query")),
        ({"weight": put(QUERIES, "weight", None)}, ("weights that are null",)),
        ({"weight": put(QUERIES, "weight", nan)}, ("not finite", "query 1")),
        ({"by": again(QUERIES, 0)}, ("queries=", "query 1", "one row")),
    ],
)
@pytest.mark.parametrize("run", [False, True])
def test_bad_ranks_segments_and_weights(call, run, options, words):
    """The option names a column of its own name, in the log or in queries=."""
    ((name, values),) = options.items()
    log, options = RUN if run else LOG, {name: name}
    if isinstance(values, pl.DataFrame):
        options["queries"] = values
    else:
        log = log.with_columns(pl.Series(name, values, strict=False))
    with refused(pr.DataError, *words):
        call(pr.evaluate, log, **options, **{"qrels": QRELS} if run else {})


@BOTH
@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"missing": "error"}, ("missing from the run", "query 3", 'missing="skip"')),
        (
            {"no_relevant": "error"},
            ("rr is undefined", "query 4", 'no_relevant="zero"'),
        ),
    ],
)
def test_conventions_that_refuse(call, function, choice, words):
    more = pl.DataFrame({"query_id": [3, 4], "doc_id": "a", "label": [1, 0]})
    run = pl.concat([RUN, RUN[2:].with_columns(query_id=4)], how="vertical_relaxed")
    options = {"qrels": pl.concat([QRELS, more], how="vertical_relaxed")}
    with refused(pr.DataError, *words):
        call(function, run, convention=TREC.replace(**choice), **options)
    if "no_relevant" in choice:
        with refused(pr.DataError, "rr is undefined", 'no_relevant="zero"'):
            more[1:].select(LABEL.rr("query_id", **choice))


@BOTH
def test_counts_and_examples_and_check_warn_and_off(call, function):
    """Only the aggregate of evaluate has seen every row."""
    n = 60_000
    many = pl.DataFrame({"query_id": range(n), "score": [nan] * n, "label": 1})
    with pytest.raises(
        pr.DataError, match=r"\d+ found, e\.g\. in query (\d+(, )?){1,5}[:)]"
    ):
        call(function, many)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warned = call(function, many, check="warn")
    told = [str(w.message) for w in caught]
    assert all("NaN scores" in message and "found" in message for message in told)
    assert function is pr.per_query or [f"({n} found" in m for m in told] == [True]
    assert_frame_equal(warned, call(function, many, check="off"))


@pytest.mark.parametrize("k", [0, -3, 2.0, True, "3"])
def test_cutoffs(unread, k):
    for build in (
        lambda: LABEL.rr("score", k=k),
        lambda: pr.measure("rr", k=k),
        lambda: pr.per_query(unread, f"rr(k={k!r})"),
    ):
        with refused(ValueError, "k must", "at least 1", repr(k)):
            build()


@pytest.mark.parametrize(
    ("measures", "error", "words"),
    [
        ("ndgc@10", ValueError, ("'ndgc'", "did you mean", "'ndcg'")),
        ("nothing_like_it", ValueError, ("'nothing_like_it'", "common ones", "recall")),
        ("ndcg@", ValueError, ("'ndcg@'", "at least 1")),
        ("ndcg@10@5", ValueError, ("'ndcg@10@5'", "metric@k")),
        ("ndcg(gian=exp2)", ValueError, ("'gian'", "did you mean 'gain'")),
        (["rr", "rr"], ValueError, ("given twice", "rr")),
        ({"own": lambda r: 3}, TypeError, ("'own'", "expression", "int")),
        ({"queries": lambda r: r.rank.max()}, ValueError, ("'queries'", "rename")),
    ],
)
def test_measures(unread, measures, error, words):
    for options in ({}, {"qrels": unread}):
        with refused(error, *words):
            pr.evaluate(unread, measures, **options)
    with pytest.raises(AssertionError, match="rows were read"):
        pr.evaluate(unread, "ndcg@10").collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"query": "queryid"}, ("query column 'queryid'", "did you mean 'query_id'")),
        ({"doc": "docid"}, ("doc column 'docid'", "did you mean 'doc_id'")),
        ({"score": "scores"}, ("score column 'scores'", "did you mean 'score'")),
        ({"rank": "place"}, ("rank column 'place'", "the frame")),
        ({"by": "labels"}, ("by column 'labels'", "did you mean 'label'")),
        ({"weight": "scorr"}, ("weight column 'scorr'", "did you mean 'score'")),
        (
            {"qrels": QRELS, "label": "labels"},
            ("label column 'labels'", "the judgments"),
        ),
        ({"queries": LOG.drop("query_id")}, ("query column 'query_id'", "queries")),
    ],
)
def test_wrong_column_names(unread, options, words):
    with refused(NotFound, *words, "columns are: ", "'doc_id'"):
        pr.evaluate(unread, "rr", **options)


@pytest.mark.parametrize(
    ("column", "dtype", "expected"),
    [
        ("query_id", pl.Float64, "integer"),
        ("doc_id", pl.Float64, "text"),
        ("doc_id", pl.Struct({"_id": pl.String}), "a field"),
        ("score", pl.String, "numeric"),
        ("score", pl.List(pl.Float64), "a row of every document"),
        ("label", pl.Date, "numeric"),
        ("rank", pl.Float64, "integer"),
        ("weight", pl.String, "numeric"),
    ],
)
def test_wrong_dtypes(column, dtype, expected):
    log = LOG.clear().with_columns(pl.lit(None, dtype).alias(column))
    roles = {column: column} if column in ("rank", "weight") else {}
    with refused(TypeError, repr(column), str(dtype), expected):
        pr.evaluate(log.lazy(), "rr", **roles)


def test_a_run_of_ranks_without_scores():
    with refused(NotFound, 'or ranks with rank="rank".'):
        pr.evaluate(RUN.lazy().rename({"score": "rank"}), "rr", qrels=QRELS)


def test_text_is_no_score_of_an_expression():
    """As text, 9 would stand above 10."""
    log = LOG.with_columns(score=pl.Series(["9", "10", "1"]))
    with pytest.raises(Exception, match=r"str.*cast first"):
        log.group_by("query_id").agg(LABEL.rr("score"))


@pytest.mark.parametrize(
    ("left", "right"), [(7, "007"), ("7", 7), (True, 1), (date(2026, 1, 1), "x")]
)
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_ids_of_different_kinds_are_never_equal(column, left, right):
    run = RUN.with_columns(pl.Series(column, [left] * 3))
    qrels = QRELS.with_columns(pl.Series(column, [right] * 3))
    types = str(run.schema[column]), str(qrels.schema[column])
    with refused(TypeError, repr(column), *types, "the run", "the judgments", "cast"):
        pr.per_query(run.lazy(), "rr", qrels=qrels.lazy())


@pytest.mark.parametrize("lazy", [False, True])
def test_objects_are_no_segments(lazy):
    objects = pl.Series("by", [object(), object()], dtype=pl.Object)
    run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1]})
    qrels = run.drop("score").with_columns(label=1)
    queries = pl.DataFrame({"query_id": [1]}).with_columns(objects.head(1))
    wrong = pytest.raises(TypeError, match=r"'by' of .* has dtype Object.*a segment")
    log = run.with_columns(objects)
    log = log.lazy() if lazy else log
    with wrong:
        pr.evaluate(log, "rr", qrels=qrels, by="by")
    with wrong:
        pr.evaluate(log.drop("by"), "rr", qrels=qrels, queries=queries, by="by")
    with wrong:
        pr.preferences(run, qrels.with_columns(objects), by="by")


@pytest.mark.parametrize("name", ["satisfied", "preferences", "prefs_pair"])
def test_preferences_need_room_for_their_counts(name):
    run = pl.DataFrame({name: [1], "doc_id": ["a"], "score": [1.0]})
    qrels = run.select(name, "doc_id", label=1)
    with pytest.raises(
        ValueError, match=f"two output columns would be called '{name}'"
    ):
        pr.preferences(run, qrels, query=name)


@pytest.mark.parametrize("text", ["sdcg@2147483647", "alpha_ndcg@1000001"])
def test_a_cutoff_whose_places_are_listed_is_bounded(text):
    with pytest.raises(ValueError, match="of at least 1 and of at most 1"):
        pr.Measure.parse(text)


SYSTEMS = ["system", "query_id"]


@BOTH
def test_errors_name_the_side_and_the_whole_key(call, function):
    run = RUN.with_columns(system=pl.lit("x"))
    first = 'run: duplicate documents .*; add a forgotten column to query= .*"best"'
    cases = (
        (again(run, 1), QRELS, first, ("x", 1)),
        (run, again(QRELS, 2), "judgments: duplicate documents", ("x", 2)),
        (put(run, "doc_id", None), QRELS, "run: document ids are null", ("x", 1)),
        (run, put(QRELS, "doc_id", None), "judgments: document ids", ("x", 1)),
    )
    for run, qrels, words, key in cases:
        with pytest.raises(pr.DataError, match=f"^{words}") as caught:
            call(function, run, qrels=qrels, query=SYSTEMS)
        assert f"e.g. in query {key!r}" in str(caught.value)
        assert caught.value.examples == (key,)
    log = again(LOG, 0).with_columns(system=pl.lit("x"))
    with pytest.raises(pr.DataError, match=r"^duplicate documents .* \('x', 1\)[:)]"):
        call(function, log, query=SYSTEMS)


# What breaks a rule: side, column, value, and the document that the error names.
ROWS_AT_FAULT = {
    "nan": ("run", "sim", nan, "b"),
    "null": ("run", "sim", None, "b"),
    "infinite": ("judgments", "grade", inf, "b"),
    "duplicate": ("run", "item", "a", "a"),
    "judged_twice": ("judgments", "item", "a", "a"),
}


@pytest.mark.parametrize("options", [{}, {"memory_limit": "1GB"}], ids=str)
def test_errors_of_files_name_the_document_once(options, tmp_path):
    put(LOG, "score", nan).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(pr.DataError) as caught:
        pr.evaluate(tmp_path / "log.parquet", "ap", **options)
    assert str(caught.value).count("column 'score'") == 1


@pytest.mark.parametrize("form", ["eager", "lazy"])
@pytest.mark.parametrize("fault", ROWS_AT_FAULT.values(), ids=ROWS_AT_FAULT)
def test_errors_name_the_document_and_the_column(fault, form):
    side, column, value, document = fault
    rows = {"system": ["x"] * 4, "q": [1, 1, 1, 2], "item": ["a", "c", "b", "a"]}
    run = pl.DataFrame(rows | {"sim": [4.0, 3.0, 2.0, 1.0]})
    qrels = pl.DataFrame(rows | {"grade": [1.0, 0.0, 1.0, 1.0]})
    place = (pl.col("q") == 1) & (pl.col("item") == "b")
    wrong = pl.when(place).then(pl.lit(value)).otherwise(column).alias(column)
    if side == "run":
        run = run.with_columns(wrong)
    else:
        qrels = qrels.with_columns(wrong)
    names = {"query": ["system", "q"], "doc": "item", "score": "sim", "label": "grade"}
    run, qrels = (run, qrels) if form == "eager" else (run.lazy(), qrels.lazy())
    with pytest.raises(pr.DataError, match=f"^{side}: ") as caught:
        pr.evaluate(run, "ndcg", qrels=qrels, **names).lazy().collect()
    assert str(caught.value).endswith(
        f"e.g. in query ('x', 1): document '{document}', column '{column}' of the "
        "query in 'system', 'q')"
    )


def test_an_error_in_the_rows_shows_no_frame_of_the_plan():
    log = pl.DataFrame({"query_id": [1], "score": [nan], "label": [1]})
    for call in (pr.evaluate, log.rank_eval.per_query):
        given = (log, "rr") if call is pr.evaluate else ("rr",)
        with pytest.raises(pr.DataError) as caught:
            call(*given)
        files = [frame.path.name for frame in caught.traceback]
        assert "enforce.py" not in files
        assert files[-1] == "frame_function.py"
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_a_copy_of_an_unjudged_document_takes_the_place_of_another():
    """rr would be 1/3, and is 1/2."""
    run = pl.DataFrame({"query_id": 1, "doc_id": ["z", "z", "r"], "score": [3, 2, 1]})
    run = run.with_columns(rank=pl.Series([1, 2, 3]))
    qrels = pl.DataFrame({"query_id": [1], "doc_id": ["r"], "label": [1]})
    log = run.join(qrels, on=["query_id", "doc_id"], how="left")
    ways = [(log, {}), (run, {"qrels": qrels}), (run, {"qrels": qrels, "rank": "rank"})]
    told = r"1 found, .*query 1: document 'z', column 'doc_id'"
    for frame, options in ways:
        for layout in ("any", "contiguous", "auto"):
            with pytest.raises(pr.DataError, match=told):
                pr.evaluate(frame, "rr", layout=layout, **options)
    for frame, options in ways[:2]:
        best = pr.evaluate(frame, "rr", on_duplicate="best", **options)
        assert best["rr"].item() == 1 / 2


def test_a_segment_that_varies_is_named(call):
    log = LOG.with_columns(day=pl.Series([1, 2, 2]), kind=pl.lit("k"))
    varies = r"^column 'day': .* varies within a query"
    with pytest.raises(pr.DataError, match=varies):
        call(pr.evaluate, log, by=["kind", "day"])
    with pytest.raises(pr.DataError, match=varies):
        call(pr.evaluate, log, by="kind", weight="day")
    with pytest.raises(pr.DataError, match=r"^run: column 'day'"):
        call(pr.evaluate, log.drop("label"), by="day", qrels=QRELS)


@pytest.mark.parametrize("lazy", [False, True])
def test_lengths_of_time_are_no_document_ids(lazy):
    """Equal scores are ordered by text, which a length of time has none of."""
    log = pl.DataFrame(
        {
            "query_id": [1, 1],
            "doc_id": pl.Series([1, 2]).cast(pl.Duration),
            "score": [1.0, 1.0],
            "label": [0, 1],
        }
    )
    found = log.lazy() if lazy else log
    with pytest.raises(TypeError, match="'doc_id' of the frame has dtype Duration"):
        pr.evaluate(found, "rr", doc="doc_id")
