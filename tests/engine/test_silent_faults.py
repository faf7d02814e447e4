"""Corners in which a wrong number, or none, would come out silently."""

from __future__ import annotations

import random
from math import fsum, inf, nan

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank.metrics import METRICS, Metric

TREC = pr.CONVENTIONS["trec_eval"]
RUN = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"], "score": [1.0, 1.0]})
QRELS = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "z"], "label": [1, 1]})
RANK = pl.col("label").rank_eval


def test_a_query_with_unjudged_documents_only_is_in_the_run(collect):
    """Its documents are dropped, but it is not missing: rr = 0."""
    choice = TREC.replace(unjudged="drop", missing="skip")
    found = pr.evaluate(RUN.lazy(), "rr", qrels=QRELS.lazy(), convention=choice)
    assert collect(found).row(0) == (2, 1 / 2)
    refused = TREC.replace(unjudged="drop", missing="error")
    assert pr.evaluate(RUN, "rr", qrels=QRELS, convention=refused).row(0) == (2, 1 / 2)


def test_a_query_whose_judgments_lack_labels_has_nothing_relevant(collect):
    """As in a log, with its number in a warning."""
    qrels = QRELS.with_columns(label=pl.Series([1, None]))
    for policy, value in (("zero", 0.0), ("one", 1.0), ("skip", None)):
        choice = TREC.replace(no_relevant=policy)
        plan = pr.per_query(RUN.lazy(), "rr", qrels=qrels, convention=choice)
        with pytest.warns(pr.DataWarning, match="1 query has no judgment"):
            found = collect(plan)
        assert found.rows() == [(1, 1.0), (2, value)]


def test_a_query_without_a_document_at_rank_1_is_in_the_run(collect):
    run = RUN.with_columns(place=pl.Series([1, 3])).drop("score")
    skip = TREC.replace(missing="skip")
    found = pr.evaluate(run.lazy(), "rr", qrels=QRELS, rank="place", convention=skip)
    assert collect(found).row(0) == (2, 1 / 2)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([1, 1], "duplicate ranks within a query"),
        ([1.0, nan], "ranks that are not whole numbers of at least 1"),
        ([1.0, 1.5], "ranks that are not whole numbers of at least 1"),
        ([0, 1], "ranks that are not whole numbers of at least 1"),
    ],
)
def test_known_ranks_of_an_expression_are_checked(ranks, message):
    log = pl.DataFrame({"rank": ranks, "label": [1, 1]})
    with pytest.raises(pr.DataError, match=message):
        log.select(RANK.ap(rank="rank"))


def test_dropped_negative_grades_are_dropped_in_both_forms(collect):
    log = pl.DataFrame(
        {
            "query_id": 1,
            "doc_id": list("abcd"),
            "score": [4.0, 3.0, 2.0, 1.0],
            "label": [-1, 0, 2, 1],
        }
    )
    measures = ["kendall_distance", "spearman", "listmle", "hinge", "ap"]
    options = {"convention": TREC.replace(unjudged="drop")}
    single = collect(pr.per_query(log.lazy(), measures, **options))
    paired = pr.per_query(
        log.lazy().drop("label"), measures, qrels=log.drop("score"), **options
    )
    assert_frame_equal(single, collect(paired))
    alone = pr.per_query(log[1:], measures)
    assert_frame_equal(single, alone)


@pytest.mark.parametrize("label", [inf, -inf, nan])
@pytest.mark.parametrize("row", [0, 1])
def test_a_grade_that_is_no_number_is_found_in_any_place(label, row, collect):
    labels = [1.0, 1.0]
    labels[row] = label
    log = pl.LazyFrame({"query_id": 1, "score": [2, 1], "label": labels})
    with pytest.raises(pr.DataError, match="NaN or infinite"):
        collect(pr.per_query(log, "rr"))


def test_skipped_queries_keep_their_faults(collect):
    skip = {"convention": TREC.replace(missing="skip")}
    nameless = QRELS.with_columns(query_id=pl.Series([1, None]))
    with pytest.raises(pr.DataError, match="query ids are null"):
        collect(pr.per_query(RUN.lazy(), "rr", qrels=nameless, **skip))
    absent = QRELS[1:].with_columns(query_id=pl.lit(9))
    twice = pl.concat([QRELS, absent, absent], how="vertical_relaxed")
    with pytest.raises(pr.DataError, match="duplicate documents"):
        collect(pr.per_query(RUN.lazy(), "rr", qrels=twice, **skip))


@pytest.mark.parametrize("metric", ["ndcg", "nerr"])
def test_an_empty_ideal_is_undefined(metric):
    measure = pr.measure(metric, name="v", ideal="retrieved")
    options = {"qrels": QRELS[1:], "check": "off"}  # no judged document is retrieved
    refuse = TREC.replace(no_relevant="error")
    with pytest.raises(pr.DataError, match=f"{metric} is undefined"):
        pr.per_query(RUN, [measure], convention=refuse, **options)
    one = TREC.replace(no_relevant="one")
    assert pr.per_query(RUN, [measure], convention=one, **options)["v"].item() == 1


@pytest.mark.parametrize("metric", ["squared_error", "hinge", "listmle"])
def test_losses_refuse_infinite_scores(metric, collect):
    log = pl.LazyFrame({"query_id": 1, "score": [inf, 1.0], "label": [0, 1]})
    with pytest.raises(pr.DataError, match=r"infinite scores.*finite"):
        collect(pr.per_query(log, metric))
    with pytest.raises(pr.DataError, match=r"infinite scores.*finite"):
        collect(log.select(getattr(RANK, metric)("score")))


def test_arguments_that_contradict_each_other():
    log = RUN.with_columns(label=1)
    with pytest.raises(ValueError, match="doc must name the column"):
        pr.evaluate(log, "rr", on_duplicate="best", doc=None)
    with pytest.raises(ValueError, match="rel is given twice"):
        pr.evaluate(log, "ap(rel=2)-l3")
    with pytest.raises(ValueError, match="gain must be one of linear"):
        TREC.replace(gain="x")
    with pytest.raises(TypeError, match="a measure is text like 'ndcg@10'"):
        pr.evaluate(log, 3)
    with pytest.raises(ValueError, match=r"looks at the scores themselves|rank="):
        pr.evaluate(log.with_columns(at=1), "hinge", rank="at")


@pytest.mark.parametrize(
    "measures",
    [["precision(rel=2)@1", "precision@1"], ["ndcg(ideal=retrieved)", "ndcg"]],
)
def test_each_measure_refuses_for_itself(measures):
    """The first is undefined for query 2, the second is not."""
    options = {"qrels": QRELS, "convention": TREC.replace(no_relevant="error")}
    for asked in (measures, measures[::-1], measures[:1]):
        with pytest.raises(pr.DataError, match="is undefined"):
            pr.per_query(RUN, asked, **options)
    assert pr.per_query(RUN, measures[1:], **options).height == 2


def test_known_ranks_have_no_ties():
    log = pl.DataFrame({"rank": [1, 2, 3, 4], "label": [0, 1, 0, 1]})
    assert log.select(RANK.ap(rank="rank", ties="expected")).item() == 1 / 2
    assert log.select(RANK.rr(rank="rank", ties="expected", k=1)).item() == 0


def test_large_whole_scores_tie_only_if_equal():
    log = pl.DataFrame({"score": [2**53, 2**53 + 1], "label": [1, 0]})
    assert log.select(RANK.rr("score", ties="expected")).item() == 1 / 2


def test_gains_below_0_are_refused(collect):
    log = pl.LazyFrame({"query_id": 1, "score": [2, 1], "label": [0, 1]})
    with pytest.raises(ValueError, match="gains of at least 0"):
        pr.measure("ndcg", gain={0: -1})
    measure = pr.measure("ndcg", gain=lambda grade: grade - 0.5)
    with pytest.raises(pr.DataError, match="gains below 0"):
        collect(pr.per_query(log, [measure]))


def test_a_skipped_query_is_not_refused():
    """Query 9 is judged, not in the run, and has nothing relevant."""
    absent = pl.DataFrame({"query_id": [9], "doc_id": ["a"], "label": [0]})
    qrels = pl.concat([QRELS, absent])
    choice = TREC.replace(missing="skip", no_relevant="error")
    assert pr.per_query(RUN, "rr", qrels=qrels, convention=choice).height == 2


def test_a_measure_of_your_own_sees_ranks_as_scores(collect):
    log = pl.LazyFrame({"query_id": 1, "at": [1, 2], "label": [0, 1]})
    own = {"best": lambda r: r.score.max()}
    assert collect(pr.per_query(log, own, rank="at"))["best"].item() == -1


def test_binary_document_ids_need_not_be_text(collect):
    ids = pl.Series([b"\xff", b"\x00"])
    log = pl.LazyFrame({"query_id": 1, "doc_id": ids, "score": 1.0, "label": [0, 1]})
    assert collect(pr.per_query(log, "rr"))["rr"].item() == 1 / 2


def test_a_sum_beside_documents_is_explained():
    def rprec(r):
        return r.sum(r.relevant() & (r.rank <= r.relevant_count()))

    METRICS["rprec"] = Metric(name="rprec", function=rprec, family="own")
    try:
        with pytest.raises(ValueError, match=r"write r\.broadcast\(term\.sum\(\)\)"):
            pr.per_query(RUN, "rprec", qrels=QRELS)
    finally:
        del METRICS["rprec"]


@pytest.mark.parametrize("check", ["warn", "off"])
@pytest.mark.parametrize("function", [pr.per_query, pr.evaluate])
def test_what_the_convention_refuses_is_an_error_whatever_is_checked(check, function):
    log = RUN.with_columns(label=pl.Series([1, 0]))
    refuse = TREC.replace(no_relevant="error")
    with pytest.raises(pr.DataError, match="rr is undefined"):
        function(log, "rr", convention=refuse, check=check)
    absent = QRELS.with_columns(query_id=pl.Series([1, 9]))
    refuse = TREC.replace(missing="error")
    with pytest.raises(pr.DataError, match="missing from the run"):
        function(RUN, "rr", qrels=absent, convention=refuse, check=check)


def test_hinge_of_large_scores(collect):
    """Only differences count: seconds since 1970 lose nothing."""
    draw = random.Random(5)
    scores = [1.7e9 + draw.gauss(0, 1) for _ in range(300)]
    labels = [draw.randrange(4) for _ in scores]
    above = [(i, j) for i in range(300) for j in range(300) if labels[i] > labels[j]]
    losses = [max(0.0, 1.0 - (scores[i] - scores[j])) for i, j in above]
    frame = pl.LazyFrame({"query_id": 1, "score": scores, "label": labels})
    (found,) = collect(frame.rank_eval.evaluate("hinge"))["hinge"]
    assert found == pytest.approx(fsum(losses) / len(losses), rel=1e-12)
