"""Contributions: plain loops over one query, and the sum that they must have."""

from __future__ import annotations

import random
from itertools import pairwise, permutations
from math import log2

import polars as pl
import pytest
from loops import LOOPS
from polars.testing import assert_frame_equal
from random_lists import IDS, labels_of, lists_of, random_qrels, random_run
from slow import slow

import polars_rank as pr
from polars_rank import analysis
from polars_rank._engine.spill import budget
from polars_rank.exceptions import DataError
from polars_rank.metrics import METRICS, of_vocabulary

RUN, QRELS = random_run(1), random_qrels(1)
ZERO = {"missing": "zero", "no_relevant": "zero"}


@pytest.mark.parametrize("measure", LOOPS)
def test_a_document_adds_what_a_loop_over_its_query_says(measure):
    loop, k = LOOPS[measure]
    found = analysis.contributions(RUN, measure, qrels=QRELS, **ZERO)
    lists, judged = lists_of(RUN), labels_of(QRELS)
    added = {(q, d): c for q, d, *_, c in found.rows()}
    assert {q for q, _ in added} == {*judged}
    for query, labels in judged.items():
        docs = lists.get(query, [])
        wanted = loop(docs, labels, k)
        for doc in {*docs, *labels}:
            assert added[query, doc] == pytest.approx(wanted.get(doc, 0.0), abs=1e-15)
    assert len(added) == sum(
        len({*lists.get(query, []), *labels}) for query, labels in judged.items()
    )


@pytest.mark.parametrize("measure", [name for name in LOOPS if "err" not in name])
def test_expected_ties_are_the_mean_over_all_orders(measure):
    loop, k = LOOPS[measure]
    draw = random.Random(6)
    run, wanted, judged = [], {}, []
    for query in range(25):
        docs = [f"d{i}" for i in range(draw.randint(1, 6))]
        scores = {d: draw.randint(0, 2) for d in docs}
        unseen = ["x", "y"] if draw.random() < 0.5 else []
        labels = {d: draw.choice([0, 1, 2]) for d in [*docs[-4:], *unseen]}
        run += [(query, d, score) for d, score in scores.items()]
        judged += [(query, d, label) for d, label in labels.items()]
        orders = [
            [*order]
            for order in permutations(docs)
            if all(scores[a] >= scores[b] for a, b in pairwise(order))
        ]
        for order in orders:
            for d, added in loop(order, labels, k).items():
                share = wanted.get((query, d), 0.0) + added / len(orders)
                wanted[query, d] = share
    runs = pl.DataFrame(run, ["query_id", "doc_id", "score"], orient="row")
    qrels = pl.DataFrame(judged, ["query_id", "doc_id", "label"], orient="row")
    options = {"ties": "expected", **ZERO}
    found = analysis.contributions(runs, measure, qrels=qrels, **options)
    for query, doc, _, _, added in found.rows():
        assert added == pytest.approx(wanted.get((query, doc), 0.0), abs=1e-14)
    log = runs.join(qrels, on=["query_id", "doc_id"], how="left")
    share = pl.col("label").rank_eval.contribution(measure, "score", ties="expected")
    rows = log.with_columns(found=share.over("query_id"))
    alone = analysis.contributions(log, measure, **options)
    both = rows.join(alone, on=["query_id", "doc_id"])
    assert (both["found"] - both["contribution"]).abs().max() < 1e-14


def test_ranks_and_labels_are_those_of_the_lists():
    found = analysis.contributions(RUN, "ap", qrels=QRELS, **ZERO)
    lists, judged = lists_of(RUN), labels_of(QRELS)
    for query, doc, rank, label, _ in found.rows():
        docs = lists.get(query, [])
        assert rank == (docs.index(doc) + 1 if doc in docs else None)
        assert label == judged[query].get(doc)
    ordered = found.sort("query_id", "rank", nulls_last=True, maintain_order=True)
    assert_frame_equal(found, ordered)


# -- the sum over a query is its value


def sums_of(found, measure):
    """The sum of every query; null if a document has none."""
    known = pl.col("contribution").null_count() == 0
    total = pl.when(known).then(pl.col("contribution").sum())
    return found.group_by("query_id", maintain_order=True).agg(total.alias(measure))


def require_sums(measure, **options):
    values = pr.per_query(RUN, measure, qrels=QRELS, missing="zero", **options)
    found = analysis.contributions(RUN, measure, qrels=QRELS, missing="zero", **options)
    assert_frame_equal(sums_of(found, measure), values, abs_tol=1e-14, rel_tol=1e-14)


CHOICES = [
    {},
    {"ties": "expected"},
    {"ties": "optimistic"},
    {"unjudged": "drop"},
    {"rel": 2},
    {"no_relevant": "one"},
    {"no_relevant": "one_unweighted"},
    {"no_relevant": "null"},
    {"convention": "ranx"},
    {"max_rank": 4},
]


@pytest.mark.parametrize("options", CHOICES, ids=str)
@pytest.mark.parametrize("measure", ["precision@3", slow("ndcg"), slow("recall@3")])
def test_contributions_sum_to_the_value_under_every_choice(measure, options):
    require_sums(measure, **options)


NOT_SUMS = {
    "auc", "average_ndcg", "compat", "coverage_error", "eleven_point_ap", "first_click",
    "full_recall", "gm_ap", "gm_bpref", "hinge", "interpolated_precision", "jaccard",
    "kendall_distance", "kendall_tau", "last_click", "listmle", "lrap", "mcc", "num_q",
    "num_rel", "num_ret", "opa", "overlap", "pair_accuracy", "pearson", "ranking_loss",
    "rbo", "set_ap", "spearman", "tau_ap", "unexpectedness", "weighted_tau", "yaap",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name"), [*enumerate(of_vocabulary("ranking"))])
def test_every_measure_is_a_sum_or_refused(place, name):
    """Choices take turns: each meets a third of the measures."""
    if name in NOT_SUMS:
        with pytest.raises(ValueError, match=f"{name} has no contributions"):
            analysis.contributions(RUN, name, qrels=QRELS)
        return
    metric = METRICS[name]
    for options in [CHOICES[0], *CHOICES[1 + place % 3 :: 3]]:
        if options.get("no_relevant") and not metric.needs_relevant:
            continue
        if options.get("ties") == "expected" and not metric.has_tie_mean({}):
            continue
        require_sums(name, **options)


def test_a_measure_of_ones_own_that_sums():
    mine = {"gain": lambda r: r.sum(r.gain() * r.in_top(2)) / r.relevant_count()}
    found = analysis.contributions(RUN, mine, qrels=QRELS, missing="zero")
    values = pr.per_query(RUN, mine, qrels=QRELS, missing="zero")
    assert_frame_equal(sums_of(found, "gain"), values)
    with pytest.raises(ValueError, match=r"reads label otherwise than by r\.sum"):
        analysis.contributions(RUN, {"n": lambda r: r.label.sum()}, qrels=QRELS)


# -- undefined values, queries without documents


def small(**options):
    run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1]})
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "c"], "label": [0, 1]})
    found = analysis.contributions(run, "recall", qrels=qrels, **options)
    return found.select("query_id", "doc_id", "contribution").rows()


def test_what_no_document_adds_has_a_row_of_its_own():
    zero = [(2, "c", 0.0)]
    for policy, first in {
        "zero": [(1, "a", 0.0), (1, "b", 0.0)],
        "one": [(1, "a", 0.0), (1, "b", 0.0), (1, None, 1.0)],
        "one_unweighted": [(1, "a", 0.0), (1, "b", 0.0), (1, None, 1.0)],
        "skip": [(1, "a", None), (1, "b", None)],
    }.items():
        assert small(no_relevant=policy, missing="zero") == first + zero
    asked = pl.DataFrame({"query_id": [2, 9]})
    assert small(queries=asked, missing="zero") == [*zero, (9, None, 0.0)]
    assert small(no_relevant="zero", missing="skip") == [(1, "a", 0.0), (1, "b", 0.0)]


def test_a_query_without_documents_has_one_row():
    run = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2]})
    qrels = pl.DataFrame({"query_id": [1, 3], "doc_id": ["a", "c"], "label": [1, None]})
    more = {"more": lambda r: r.sum(r.gain() * r.in_top(2)) + 1.0}
    found = analysis.contributions(run, more, qrels=qrels, missing="zero")
    rows = found.select("query_id", "doc_id", "contribution").rows()
    assert rows == [(1, "a", 1.0), (1, None, 1.0), (3, None, 1.0)]


def test_duplicates_are_an_error_or_the_best_of_them():
    rows = {"query_id": [1] * 3, "doc_id": ["a", "b", "a"], "score": [1, 2, 3]}
    log = pl.DataFrame({**rows, "label": [1, 0, 1]})
    with pytest.raises(DataError, match="duplicate"):
        analysis.contributions(log, "rr")
    found = analysis.contributions(log, "rr", on_duplicate="best")
    assert found.rows() == [(1, "a", 1, 1.0, 1.0), (1, "b", 2, 0.0, 0.0)]


@pytest.mark.parametrize("copied", ["A", 7])
def test_later_copies_keep_their_ranks_and_add_nothing(copied):
    """By hand: gains 1 at ranks 1 and 4 of the list A, A, B, C."""
    ids = [copied, copied, *(("B", "C") if copied == "A" else (8, 9))]
    run = pl.DataFrame({"query_id": 1, "doc_id": ids, "score": [4, 3, 2, 1]})
    judged = pl.DataFrame({"query_id": 1, "doc_id": [ids[0], ids[3]], "label": 1})
    found = analysis.contributions(run, "dcg", qrels=judged, on_duplicate="keep_rank")
    assert found["doc_id"].to_list() == ids
    assert found["contribution"].to_list() == pytest.approx([1, 0, 0, 1 / log2(5)])
    with pytest.raises(ValueError, match="on_duplicate='best', which makes them one"):
        analysis.changes(run, run, qrels=judged, on_duplicate="keep_rank")


def test_columns_have_the_names_and_types_of_the_user():
    log = pl.DataFrame(
        {"q": ["x", "x"], "d": [7, 8], "s": [1, 2], "g": [1, 1], "land": ["de"] * 2}
    )
    found = analysis.contributions(
        log, "rr", query="q", doc="d", score="s", label="g", keep="land"
    )
    assert found.rows() == [("x", "de", 8, 1, 1.0, 1.0), ("x", "de", 7, 2, 1.0, 0.0)]
    assert found.schema == {
        "q": pl.String, "land": pl.String, "d": pl.Int64, "rank": pl.UInt32,
        "label": pl.Float64, "contribution": pl.Float64,
    }  # fmt: skip
    nameless = analysis.contributions(
        log, "rr", query="q", doc=None, score="s", label="g"
    )
    assert nameless.columns == ["q", "rank", "label", "contribution"]
    empty = analysis.contributions(
        log.clear(), "rr", query="q", doc="d", score="s", label="g", check="off"
    )
    assert empty.is_empty()
    renamed = log.rename({"q": "rank", "d": "doc_id", "s": "score", "g": "label"})
    with pytest.raises(ValueError, match="two columns would be called 'rank'"):
        analysis.contributions(renamed, "rr", query="rank")


@pytest.mark.parametrize("ids", IDS)
def test_ids_keep_their_type_and_are_compared_as_text(ids):
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ids, "score": [2.0, 2.0]})
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ids[1:], "label": [1]})
    firsts = {"doc_desc": 1, "optimistic": 1, "expected": 0.75}
    firsts |= {"doc_asc": 0.5, "order": 0.5, "pessimistic": 0.5}
    for ties, first in firsts.items():
        for more in ({}, {"memory_limit": "1GB"}):
            found = analysis.contributions(run, "rr", qrels=qrels, ties=ties, **more)
            assert found.schema["doc_id"] == ids.dtype
            added = dict(found.select("doc_id", "contribution").rows())
            assert added == {ids[0]: 0, ids[1]: first}


def test_what_is_no_argument_is_told():
    with pytest.raises(TypeError, match="contributions takes no tie; did you mean"):
        analysis.contributions(RUN, "rr", qrels=QRELS, tie="order")
    with pytest.raises(ValueError, match="of one measure, not of rr, ap"):
        analysis.contributions(RUN, ["rr", "ap"], qrels=QRELS)
    with pytest.raises(ValueError, match="leave out subtopic="):
        analysis.contributions(RUN, "rr", qrels=QRELS, subtopic="label")
    with pytest.raises(ValueError, match="err has no closed form"):
        analysis.contributions(RUN, "err", qrels=QRELS, ties="expected")
    with pytest.raises(AttributeError, match="contributions is for frames"):
        pl.col("label").rank_eval.contributions  # noqa: B018


# -- every way of reading


def test_layouts_and_engines_agree(collect, tmp_path):
    run, qrels = random_run(2, queries=120), random_qrels(2, queries=120)
    expected = analysis.contributions(run, "ap", qrels=qrels, **ZERO)
    together = run.sort("query_id", maintain_order=True)
    run.write_parquet(tmp_path / "run.parquet", row_group_size=100)
    lazy = pl.scan_parquet(tmp_path / "run.parquet")
    for frame, options in (
        (run.lazy(), {"layout": "any"}),
        (together.lazy(), {"layout": "contiguous"}),
        (lazy, {"memory_limit": "1GB"}),
        (lazy, {}),
    ):
        found = frame.rank_eval.contributions("ap", qrels=qrels, **ZERO, **options)
        assert isinstance(found, pl.LazyFrame)
        assert_frame_equal(collect(found), expected)
    one = collect(found.filter(pl.col("query_id") == 7))
    assert_frame_equal(one, expected.filter(pl.col("query_id") == 7))


def test_buckets_hold_the_documents_of_their_queries(monkeypatch):
    run, qrels = random_run(3, queries=150), random_qrels(3, queries=150)
    expected = analysis.contributions(run, "ndcg@5", qrels=qrels, **ZERO)
    small = budget.Budget(bucket=24_000, buffers=1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)
    monkeypatch.setattr(budget.Budget, "buckets", lambda self, size: 3)
    told = []
    found = analysis.contributions(
        run.lazy(),
        "ndcg@5",
        qrels=qrels,
        memory_limit="1GB",
        layout="any",
        progress=told.append,
        **ZERO,
    ).collect()
    found = found.sort("query_id", maintain_order=True)
    assert max(p.total for p in told if p.unit == "buckets") > 2
    assert_frame_equal(found, expected)


# -- as an expression


@pytest.mark.parametrize("measure", ["ap", "ndcg@3", slow("recall@2"), slow("err@4")])
@pytest.mark.parametrize("ties", [None, "order", slow("optimistic")])
def test_an_expression_gives_every_row_its_own(measure, ties):
    log = RUN.join(QRELS, on=["query_id", "doc_id"], how="left", maintain_order="left")
    doc = None if ties == "order" else "doc_id"
    share = pl.col("label").rank_eval.contribution(measure, "score", doc=doc, ties=ties)
    found = log.with_columns(contribution=share.over("query_id"))
    expected = analysis.contributions(log, measure, ties=ties)
    both = found.join(expected, on=["query_id", "doc_id"], suffix="_wanted")
    assert len(both) == len(log) == len(expected)
    assert_frame_equal(
        both.select("contribution"),
        both.select(contribution="contribution_wanted"),
        abs_tol=1e-14,
    )
    lists = log.group_by("query_id").agg(share.alias("lists"))
    assert lists["lists"].list.len().sum() == len(log)


def test_an_expression_of_known_ranks():
    log = pl.DataFrame({"rank": [2, None, 1], "label": [1, 1, 0]})
    share = pl.col("label").rank_eval.contribution("recall@2", rank="rank")
    assert log.select(share).to_series().to_list() == [0.5, 0.0, 0.0]
    for wrong, told in (
        ([1, 1, 2], "rank"),
        ([0, 1, 2], "rank"),
    ):
        with pytest.raises(DataError, match=told):
            log.with_columns(rank=pl.Series(wrong)).select(share)


def test_an_expression_refuses_what_a_frame_refuses():
    label = pl.col("label").rank_eval
    with pytest.raises(ValueError, match="rbo has no contributions"):
        label.contribution("rbo", "score")
    with pytest.raises(ValueError, match="of one measure"):
        label.contribution(["rr", "ap"], "score")
    with pytest.raises(ValueError, match="either a score"):
        label.contribution("rr")
    with pytest.raises(ValueError, match="needs doc="):
        label.contribution("rr", "score", ties="doc_asc")
    log = pl.DataFrame({"score": [1.0, float("nan")], "label": [1, 0]})
    with pytest.raises(DataError, match=r"NaN scores.*\(1 found\)"):
        log.select(label.contribution("rr", "score"))


def test_tied_documents_of_a_log_have_their_own_ranks():
    """Also of equal labels, which no value tells apart."""
    log = RUN.join(QRELS, on=["query_id", "doc_id"], how="left", maintain_order="left")
    lists = lists_of(RUN)
    for options in ({"layout": "any"}, {"layout": "auto"}, {"memory_limit": "1GB"}):
        found = analysis.contributions(log.lazy(), "ap", **options).collect()
        for query, doc, rank, *_ in found.rows():
            assert lists[query].index(doc) == rank - 1


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_equal_scores_go_by_grade_and_then_by_id(ties):
    """The unjudged are below every grade; integers are compared as text."""
    run = RUN.with_columns(doc_id=pl.col("doc_id").str.slice(1).cast(pl.Int64))
    qrels = QRELS.with_columns(doc_id=pl.col("doc_id").str.slice(1).cast(pl.Int64))
    judged, sign = labels_of(qrels), 1 if ties == "optimistic" else -1

    def place(row):
        query, doc, score = row
        grade = judged.get(query, {}).get(doc, -9)
        return sign * score, grade, str(doc)

    wanted = {}
    for query, rows in run.group_by("query_id"):
        best = sorted(rows.rows(), key=place, reverse=sign == 1)
        wanted |= {(*query, row[1]): i for i, row in enumerate(best, 1)}
    shuffled = run.sample(fraction=1.0, shuffle=True, seed=5)
    log = shuffled.join(qrels, on=["query_id", "doc_id"], how="left")
    for frame, options in (
        (shuffled, {"qrels": qrels}),
        (shuffled.lazy(), {"qrels": qrels, "memory_limit": "1GB"}),
        (log, {}),
        (log.sort("query_id").lazy(), {}),
    ):
        found = analysis.contributions(frame, "ap", ties=ties, **options).lazy()
        ranks = found.filter(pl.col("rank").is_not_null()).collect()
        assert ranks.height > 100
        for query, doc, rank, *_ in ranks.rows():
            assert rank == wanted[query, doc]


def test_any_order_of_rows_gives_the_same():
    rows = [*RUN.rows()]
    random.Random(4).shuffle(rows)
    shuffled = pl.DataFrame(rows, RUN.schema, orient="row")
    found = analysis.contributions(shuffled, "ndcg@3", qrels=QRELS, **ZERO)
    expected = analysis.contributions(RUN, "ndcg@3", qrels=QRELS, **ZERO)
    assert_frame_equal(found, expected)
