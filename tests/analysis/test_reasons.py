"""Reasons of a difference: sums in plain loops, both orders, two weightings."""

from __future__ import annotations

import inspect
import math
import random
import statistics

import polars as pl
import pyarrow as pa
import pytest
from loops import LOOPS
from plain_reasons import drawn, reasons
from polars.testing import assert_frame_equal
from random_lists import IDS, labels_of, lists_of, random_qrels, random_run
from slow import ENGINES, slow

import polars_rank as pr
from polars_rank import analysis
from polars_rank._engine.spill import budget
from polars_rank.exceptions import DataError
from polars_rank.metrics import METRICS, of_vocabulary

BEFORE, AFTER = random_run(21), random_run(22)
OLD, NEW = random_qrels(21), random_qrels(22)
ZERO = {"missing": "zero", "no_relevant": "zero"}
ABOUT = pl.DataFrame({"query_id": range(40)}).with_columns(
    land=pl.col("query_id") * 7 % 3,
    user=pl.col("query_id") % 9,
    traffic=pl.col("query_id") % 5 + 1.0,
    traffic_before=pl.col("query_id") * 3 % 7 + 1.0,
)


def items(frame, part):
    rows = frame.filter(part=part)
    return dict(rows.select("item", "difference").rows())


def compared(measure, **options):
    runs = {"before": BEFORE, "after": AFTER}
    qrels = NEW.join(ABOUT, on="query_id")
    return pr.compare(runs, [measure], qrels=qrels, baseline="before", **options).pairs


# -- the difference that a comparison prints


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight": "traffic"},
        {"cluster": "user"},
        {"no_relevant": "skip"},
        {"no_relevant": "one"},
        {"missing": "skip", "no_relevant": "zero"},
        {"ties": "optimistic"},
        {"unjudged": "drop"},
        slow({"rel": 2}),
        slow({"convention": "ranx"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("measure", ["recall@3", slow("ap"), slow("ndcg@5")])
def test_the_parts_sum_to_the_difference_of_a_comparison(measure, options):
    skips = options.get("missing") == "skip"
    options = {"missing": "zero"} | options
    pairs = {"pairs": "common"} if skips else {}
    wanted = compared(measure, **options, **pairs).row(0, named=True)
    if skips:  # the runs miss different queries
        common = BEFORE.join(AFTER, on="query_id", how="semi")
        common = common.join(NEW, on="query_id", how="semi")
        options["queries"] = common.select("query_id").unique()
    found = analysis.reasons(
        BEFORE, AFTER, measure, qrels=NEW, segments=ABOUT, **options
    )
    total = found.summary.row(0, named=True)
    for name in ("difference", "se", "lower", "upper"):
        assert total[name] == pytest.approx(wanted[name], abs=1e-12)
    n = len(found.queries)
    assert n == wanted["queries"]
    assert found.documents["contribution"].sum() / n == pytest.approx(
        wanted["difference"], abs=1e-12
    )
    assert found.queries["contribution"].mean() == pytest.approx(
        wanted["difference"], abs=1e-12
    )
    for part in ("effect", "kind", "label"):
        assert sum(items(found.summary, part).values()) == pytest.approx(
            wanted["difference"], abs=1e-12
        )
    assert found.settings["mean"] == pytest.approx(wanted["mean"], abs=1e-12)
    assert found.settings["baseline_mean"] == pytest.approx(
        wanted["baseline_mean"], abs=1e-12
    )
    values = found.queries.select("query_id", "difference")
    assert values["difference"].null_count() == 0


# -- documents, kinds and labels in plain loops


def kind_of(doc, old, new, k):
    was = doc in (old if k is None else old[:k])
    now = doc in (new if k is None else new[:k])
    if was != now:
        return "entered" if now else "left"
    if not was:
        return "other"
    step = new.index(doc) - old.index(doc)
    return "up" if step < 0 else "down" if step else "same"


@pytest.mark.parametrize("measure", LOOPS)
def test_documents_and_kinds_are_those_of_loops(measure):
    loop, k = LOOPS[measure]
    before, after, judged = lists_of(BEFORE), lists_of(AFTER), labels_of(NEW)
    documents, kinds, labels, by_query = {}, {}, {}, {}
    for query, grades in judged.items():
        old, new = before.get(query, []), after.get(query, [])
        a, b = (loop(docs, grades, k) for docs in (old, new))
        for doc in {*old, *new}:
            added = b.get(doc, 0.0) - a.get(doc, 0.0)
            documents[query, doc] = added
            kind, grade = kind_of(doc, old, new, k), grades.get(doc)
            label = "relevant" if (grade or 0) > 0 else "not relevant"
            label = "unjudged" if grade is None else label
            for sums, name in ((kinds, kind), (labels, label)):
                sums[name] = sums.get(name, 0.0) + added / len(judged)
            by_query.setdefault(kind, {}).setdefault(query, []).append(added)
    found = analysis.reasons(BEFORE, AFTER, measure, qrels=NEW, **ZERO)
    shown = {
        (row["query_id"], row["doc_id"]): row for row in found.documents.to_dicts()
    }
    for (query, doc), added in documents.items():
        old, new = before.get(query, []), after.get(query, [])
        first = {*old[:k], *new[:k]} if k else {*old, *new}
        row = shown.pop((query, doc), None)
        if row is None:
            assert doc not in first
            assert added == pytest.approx(0.0, abs=1e-14)
            continue
        assert row["contribution"] == pytest.approx(added, abs=1e-14)
        ranks = [docs.index(doc) + 1 if doc in docs else None for docs in (old, new)]
        assert [row["baseline_rank"], row["rank"]] == ranks
        assert row["kind"] == (kind_of(doc, old, new, k) if doc in first else None)
        assert row["label"] == judged[query].get(doc)
    assert not shown
    for part, wanted in (("kind", kinds), ("label", labels)):
        for item, difference in items(found.summary, part).items():
            assert difference == pytest.approx(wanted.get(item, 0.0), abs=1e-14)
    # The interval of a part: t of its sums over queries.
    entered = [math.fsum(by_query["entered"].get(q, [])) for q in judged]
    row = found.summary.filter(part="kind", item="entered").row(0, named=True)
    error = statistics.stdev(entered) / math.sqrt(len(judged))
    assert row["se"] == pytest.approx(error, abs=1e-14)
    assert row["lower"] < row["difference"] < row["upper"] or error == 0


def joined_contributions(before, after, measure, qrels, **options):
    """Both ranks of each document, its label and what it adds, from either run."""
    rows = {}
    for i, run in enumerate((before, after)):
        found = analysis.contributions(run, measure, qrels=qrels, **options)
        for query, doc, rank, label, added in found.rows():
            row = rows.setdefault((query, doc), [None, None, None, 0.0, 0.0])
            row[i], row[2], row[3 + i] = rank, label, added or 0.0
    return rows


CHOICES = [
    {},
    {"ties": "expected"},
    {"ties": "pessimistic"},
    {"unjudged": "drop"},
    {"rel": 2},
    {"no_relevant": "one"},
    {"convention": "ranx"},
    {"max_rank": 2},
    {"layout": "any"},
    {"on_duplicate": "best"},
    {"max_documents": 2},
    {"max_documents": 0},
    {"max_documents": None},
]


@pytest.mark.parametrize("options", CHOICES, ids=str)
@pytest.mark.parametrize("measure", ["recall@3", slow("ap"), slow("ndcg@3")])
def test_documents_are_those_of_both_contributions(measure, options):
    require_documents(measure, **options)


def require_documents(measure, **options):
    k = int(measure.split("@")[1]) if "@" in measure else None
    before, after = BEFORE, AFTER
    depths = (k, options.get("max_documents", 20))
    reach = min((rank for rank in depths if rank is not None), default=99)
    if "on_duplicate" in options:  # a lower copy of each document
        before, after = (
            pl.concat([run, run.with_columns(pl.col("score") - 2)])
            for run in (before, after)
        )
    given = {"qrels": NEW, "missing": "zero", **options}
    found = analysis.reasons(before, after, measure, **given)
    given.pop("max_documents", None)
    documents = joined_contributions(before, after, measure, **given)
    valued = {*found.queries["query_id"]}
    known = found.queries.select("baseline_value", "value").count().row(0)
    scales = [len(found.queries) / count for count in known]
    shown = {
        (query, doc): row
        for query, doc, *row in found.documents.select(
            "query_id", "doc_id", "baseline_rank", "rank", "label", "contribution"
        ).rows()
    }
    for place, (old, new, label, *adds) in documents.items():
        added = adds[1] * scales[1] - adds[0] * scales[0]
        first = any(r is not None and r <= reach for r in (old, new))
        wanted = first or abs(added) > 0
        assert (place in shown) == (wanted and place[0] in valued), place
        if place in shown:
            assert shown[place] == [old, new, label, pytest.approx(added, abs=1e-14)]
    assert shown.keys() <= documents.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name"), [*enumerate(of_vocabulary("ranking"))])
def test_documents_of_every_measure(place, name):
    """Choices take turns: each meets a fifth of the measures."""
    try:
        analysis.contributions(BEFORE, name, qrels=NEW)
    except ValueError:
        return  # it has none
    metric = METRICS[name]
    if metric.aggregate == "sum":
        return
    for options in [CHOICES[0], *CHOICES[1 + place % 5 :: 5]]:
        if options.get("no_relevant") and not metric.needs_relevant:
            continue
        expected = options.get("ties") == "expected"
        if not expected or metric.has_tie_mean({}):
            require_documents(name, **options)
        has_cutoff = metric.cutoff in inspect.signature(metric.function).parameters
        if has_cutoff and (not expected or metric.has_tie_mean({metric.cutoff: 2})):
            require_documents(f"{name}@2", **options)


@pytest.mark.parametrize("measure", ["precision@3", "ap"])
def test_known_ranks_and_ids_of_other_types_give_the_same(measure):
    """Ranks by hand; text queries, integer documents of two widths, a Parquet file."""
    wanted = analysis.reasons(BEFORE, AFTER, measure, qrels=NEW, **ZERO)
    ranked = [
        pl.DataFrame(
            [
                (q, d, i)
                for q, docs in lists_of(run).items()
                for i, d in enumerate(docs, 1)
            ],
            {"query_id": pl.Int64, "doc_id": pl.String, "rank": pl.Int64},
            orient="row",
        ).sample(fraction=1.0, shuffle=True, seed=1)
        for run in (BEFORE, AFTER)
    ]
    for layout in ("auto", "any"):
        found = analysis.reasons(*ranked, measure, qrels=NEW, layout=layout, **ZERO)
        for frame in ("summary", "queries", "documents"):
            assert_frame_equal(getattr(found, frame), getattr(wanted, frame))

    def renamed(frame, dtype):
        doc = pl.col("doc_id").str.slice(1).cast(dtype)
        return frame.with_columns(pl.format("q{}", "query_id").alias("query_id"), doc)

    before, after = renamed(ranked[0], pl.Int64), renamed(ranked[1], pl.UInt8)
    qrels = renamed(NEW, pl.Int32)
    found = analysis.reasons(before, after, measure, qrels=qrels, **ZERO)
    assert_frame_equal(found.summary, wanted.summary, abs_tol=1e-14)


@pytest.mark.parametrize("ids", IDS)
def test_documents_keep_the_type_of_their_ids(ids):
    before = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ids, "score": [2, 1]})
    after = before.with_columns(score=-pl.col("score"))
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ids[1:], "label": [1]})
    for ties in ("doc_desc", "order"):
        found = analysis.reasons(before, after, "rr", qrels=qrels, ties=ties).documents
        assert found.schema["doc_id"] == ids.dtype
        rows = found.select("doc_id", "baseline_rank", "rank", "contribution").rows()
        assert rows == [(ids[1], 2, 1, 0.5), (ids[0], 1, 2, 0.0)]


def test_what_no_document_adds_has_a_row():
    """A query with nothing relevant counts as 1, and as 0 where the run lacks it."""
    before, after = {"q1": ["a"]}, {"q1": ["a"], "q2": ["b"]}
    qrels = {"q1": {"a": 1}, "q2": {"b": 0}}
    options = {"no_relevant": "one", "missing": "zero"}
    for measure in ("recall@1", "recall"):
        found = analysis.reasons(before, after, measure, qrels=qrels, **options)
        rows = found.documents.filter(pl.col("contribution") != 0)
        assert rows.select("query_id", "doc_id", "contribution").rows() == [
            ("q2", None, 1.0)
        ]
        assert items(found.summary, "kind")["other"] == 0.5


@pytest.mark.parametrize("lazy", [False, True])
def test_a_single_query_has_all_its_first_documents(lazy):
    """Polars takes the wrong end of two sorted rows where a stream has one group."""
    run = pl.DataFrame({"query_id": 1, "doc_id": ["b", "a"], "score": [1.0, 2.0]})
    judged = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    runs = [run.lazy() if lazy else run] * 2
    rows = analysis.reasons(*runs, "rr@2", qrels=judged).documents.lazy().collect()
    shown = rows.sort("rank").select("doc_id", "baseline_rank", "rank", "kind").rows()
    assert shown == [("a", 1, 1, "same"), ("b", 2, 2, "same")]


def test_documents_without_a_score_rank_last():
    rows = {"query_id": [1] * 4, "doc_id": list("abcd"), "score": [2.0, None, 3.0, 1.0]}
    before = pl.DataFrame(rows)
    after = before.with_columns(score=-pl.col("score"))
    options = {"qrels": {1: {"a": 1, "d": 1}}, "check": "off"}
    found = analysis.reasons(before, after, "precision@4", **options).documents
    ranks = found.sort("doc_id").select("baseline_rank", "rank").rows()
    assert ranks == [(2, 2), (4, 4), (1, 3), (3, 1)]


def test_ranks_may_begin_below_the_cutoff():
    """Then no document of the run is among the first, and the query has a value."""
    rows = {"query_id": [1, 1, 2], "doc_id": ["a", "b", "c"], "rank": [1, 9, 1]}
    before = pl.DataFrame(rows)
    after = pl.DataFrame({**rows, "doc_id": ["d", "b", "c"], "rank": [5, 9, 1]})
    qrels = {1: {"b": 1}, 2: {"c": 1}}
    found = analysis.reasons(before, after, "precision@2", qrels=qrels)
    values = found.queries.select("baseline_value", "value", "difference").rows()
    assert values == [(0.0, 0.0, 0.0), (0.5, 0.5, 0.0)]


WORDS = {
    "entered": "gained {} in {}",
    "left": "lost {} from {}",
    "up": "rank {} higher",
    "down": "rank {} lower",
    "other": "have {} below {}",
    "same": "keep {} at its rank",
}


@pytest.mark.parametrize("measure", LOOPS)
def test_the_largest_parts_are_those_of_loops(measure):
    loop, k = LOOPS[measure]
    before, after, judged = lists_of(BEFORE), lists_of(AFTER), labels_of(NEW)
    sums, queries = {}, {}
    for query, grades in judged.items():
        old, new = before.get(query, []), after.get(query, [])
        a, b = (loop(docs, grades, k) for docs in (old, new))
        for doc in {*old, *new}:
            if added := b.get(doc, 0.0) - a.get(doc, 0.0):
                grade = grades.get(doc)
                what = "an unjudged document"
                what = what if grade is None else f"a document of grade {grade:g}"
                top = "the list" if k is None else f"the first {k}"
                item = WORDS[kind_of(doc, old, new, k)].format(what, top)
                sums[item] = sums.get(item, 0.0) + added / len(judged)
                queries.setdefault(item, set()).add(query)
    why = analysis.reasons(BEFORE, AFTER, measure, qrels=NEW, **ZERO)
    found = why.largest(100)
    total = why.summary["difference"].item(0)
    assert {*found["item"]} == {i for i, d in sums.items() if abs(d) > 1e-12}
    for item, count, difference, share in found.rows():
        assert count == len(queries[item])
        assert difference == pytest.approx(sums[item], abs=1e-14)
        assert share == pytest.approx(sums[item] / total)
    sizes = found["difference"].abs()
    assert sizes.to_list() == pytest.approx(sorted(sizes, reverse=True))
    assert why.largest(2).equals(found.head(2))
    with pytest.raises(ValueError, match="n_parts must be a whole number of at least"):
        why.largest(0)


def test_segments_are_among_the_largest_parts():
    qrels = NEW.join(ABOUT, on="query_id")
    why = analysis.reasons(BEFORE, AFTER, "dcg@3", qrels=qrels, by="land")
    rows = {row[0]: row[1:3] for row in why.largest(100).rows()}
    for land, queries, added in why.segments.select(
        "land", "queries", "contribution"
    ).rows():
        assert rows[f"land = {land}"] == (queries, added)
    assert "The largest parts" in str(why)
    lazy = analysis.reasons(BEFORE.lazy(), AFTER, "dcg@3", qrels=qrels, by="land")
    assert "The largest parts" not in str(lazy)  # which would run the plan
    assert_frame_equal(lazy.largest(), why.largest())


@pytest.mark.parametrize("function", ["reasons", "changes"])
def test_queries_that_are_asked_for_describe_themselves(function):
    """As a frame of segments does."""
    few = ABOUT.filter(pl.col("query_id") % 4 > 0)
    measure = ["dcg@3"] if function == "reasons" else []
    asked = {"qrels": NEW, "by": "land", "weight": "traffic", "queries": few}
    asked |= {} if measure else {"pairs": "all"}
    found, wanted = (
        getattr(analysis, function)(BEFORE, AFTER, *measure, **asked, **more)
        for more in ({}, {"segments": ABOUT})
    )
    assert_frame_equal(found.segments, wanted.segments)
    assert_frame_equal(found.queries, wanted.queries)


def test_each_of_several_columns_adds_up_alone():
    about = ABOUT.with_columns(even=pl.col("query_id") % 2 == 0)
    why = analysis.reasons(
        BEFORE, AFTER, "dcg@3", qrels=NEW, segments=about, by=["land", "even"], **ZERO
    )
    known = {row["query_id"]: row for row in about.rows(named=True)}
    wanted = {}
    for query, adds in why.queries.select("query_id", "contribution").rows():
        land, even = (known[query][name] for name in ("land", "even"))
        even = str(even).lower()
        both = f"land = {land}, even = {even}"
        for item in (f"land = {land}", f"even = {even}", both):
            count, sum_ = wanted.get(item, (0, 0.0))
            wanted[item] = count + 1, sum_ + adds / len(why.queries)
    rows = {item: row for item, *row in why.largest(100).rows()}
    wanted = {item: row for item, row in wanted.items() if abs(row[1]) > 1e-12}
    assert {item for item in rows if " = " in item} == {*wanted}
    for item, (count, added) in wanted.items():
        assert rows[item][:2] == [count, pytest.approx(added, abs=1e-13)]


# -- several runs


@pytest.mark.parametrize("way", ["mapping", "frame", slow("lazy")])
def test_several_runs_are_each_compared_with_the_first(way):
    third = random_run(23)
    runs = {"new": AFTER, "other": third}
    options = {"qrels": NEW.join(ABOUT, on="query_id"), "by": "land", **ZERO}
    single = {
        n: analysis.reasons(BEFORE, r, "ap@4", **options) for n, r in runs.items()
    }
    before = BEFORE.lazy() if way == "lazy" else BEFORE
    if way == "mapping":
        found = analysis.reasons(before, runs, "ap@4", **options)
        column = "system"
    else:
        frames = [f.with_columns(tool=pl.lit(name)) for name, f in runs.items()]
        after = pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=1)
        column = "tool"
        found = analysis.reasons(before, after, "ap@4", system=column, **options)
    assert isinstance(found.documents, pl.LazyFrame) == (way == "lazy")
    assert [*found.of] == [*runs]
    for name, wanted in single.items():
        for frame in ("summary", "segments", "queries", "documents"):
            rows = getattr(found, frame).lazy().collect()
            rows = rows.filter(pl.col(column) == name).drop(column)
            assert_frame_equal(rows, getattr(wanted, frame), abs_tol=1e-14)
        largest = found.largest().filter(pl.col(column) == name).drop(column)
        assert_frame_equal(largest, wanted.largest(), abs_tol=1e-14)
        assert f"{name}: Why ap@4 moved from" in str(found)
        assert found.settings["mean"][name] == pytest.approx(wanted.settings["mean"])
    assert found.notes == tuple(f"{n}: {x}" for n, w in single.items() for x in w.notes)


# -- judgments that changed


@pytest.mark.parametrize("measure", ["ndcg@4", "ap", slow("rr"), slow("recall@3")])
def test_effects_are_means_over_both_orders_of_the_changes(measure):
    both = OLD.join(NEW, on="query_id", how="semi").select("query_id").unique()
    old, new = (q.join(both, on="query_id", how="semi") for q in (OLD, NEW))

    def value(run, qrels):
        frame = pr.per_query(run, measure, qrels=qrels, **ZERO)
        return dict(frame.rows())

    v = {
        (i, j): value(run, qrels)
        for i, run in enumerate((BEFORE, AFTER))
        for j, qrels in enumerate((old, new))
    }
    found = analysis.reasons(
        BEFORE, AFTER, measure, qrels=new, qrels_before=old, **ZERO
    )
    ranks, labels = [], []
    for row in found.queries.rows(named=True):
        q = row["query_id"]
        first_ranks = v[1, 0][q] - v[0, 0][q], v[1, 1][q] - v[1, 0][q]
        first_labels = v[1, 1][q] - v[0, 1][q], v[0, 1][q] - v[0, 0][q]
        ranks.append((first_ranks[0] + first_labels[0]) / 2)
        labels.append((first_ranks[1] + first_labels[1]) / 2)
        assert row["rank_effect"] == pytest.approx(ranks[-1], abs=1e-13)
        assert row["label_effect"] == pytest.approx(labels[-1], abs=1e-13)
        assert row["difference"] == pytest.approx(ranks[-1] + labels[-1], abs=1e-13)
    n = len(ranks)
    assert items(found.summary, "effect") == pytest.approx(
        {"rank": sum(ranks) / n, "label": sum(labels) / n}, abs=1e-13
    )
    for name in ("rank_effect", "label_effect"):
        assert found.documents[name].sum() == pytest.approx(found.queries[name].sum())
    parts = found.documents["rank_effect"] + found.documents["label_effect"]
    assert (parts - found.documents["contribution"]).abs().max() < 1e-13
    assert {"baseline_label", "label"} <= {*found.documents.columns}


@pytest.mark.parametrize("measure", ["precision@2", "precision"])
def test_labels_are_those_of_both_judgments(measure):
    """Of documents that are gone, and not relevant today, too."""
    before, after = {"q": ["a", "b"]}, {"q": ["b", "c"]}
    old, new = {"q": {"a": 1, "b": 1}}, {"q": {"a": 0, "b": 1}}
    found = analysis.reasons(before, after, measure, qrels=new, qrels_before=old)
    rows = found.documents.sort("doc_id").select("doc_id", "baseline_label", "label")
    assert rows.rows() == [("a", 1.0, 0.0), ("b", 1.0, 1.0), ("c", None, None)]


def test_logs_have_labels_of_their_own():
    """A document that left has the label that it had."""
    rows = {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1]}
    before = pl.DataFrame({**rows, "label": [1, 0]})
    after = pl.DataFrame({**rows, "doc_id": ["b", "c"], "label": [0, 1]})
    found = analysis.reasons(before, after, "dcg@1")
    assert found.documents.select("doc_id", "kind", "label", "contribution").rows() == [
        ("b", "entered", 0.0, 0.0),
        ("a", "left", 1.0, -1.0),
    ]
    assert items(found.summary, "label")["relevant"] == -1.0


def test_the_same_run_moves_by_its_labels_alone():
    found = analysis.reasons(
        BEFORE, BEFORE, "ndcg@4", qrels=NEW, qrels_before=OLD, **ZERO
    )
    effects = items(found.summary, "effect")
    assert effects["rank"] == pytest.approx(0.0, abs=1e-15)
    assert effects["label"] != 0


# -- queries and traffic that changed


def log(days):
    """A log in which a query has the value 1 or 0 at precision@1."""
    rows = [
        (f"{land} {i}", "a", 1.0, int(i < hits), land, day)
        for day, land, hits, n in days
        for i in range(n)
    ]
    schema = ["query_id", "doc_id", "score", "label", "land", "day"]
    return pl.DataFrame(rows, schema, orient="row")


def test_simpsons_paradox():
    """Every segment is better, and the mean is worse."""
    before = log([(1, "x", 64, 80), (1, "y", 6, 20)])
    after = log([(2, "x", 246, 300), (2, "y", 245, 700)])
    found = analysis.reasons(
        before, after, "precision@1", by="land", no_relevant="zero"
    )
    assert found.settings["baseline_mean"] == pytest.approx(0.7)
    assert found.settings["mean"] == pytest.approx(0.491)
    parts = items(found.summary, "segments")
    assert parts["within"] == pytest.approx(0.0335)
    assert parts["mix"] == pytest.approx(-0.2425)
    assert found.segments["difference"].to_list() == pytest.approx([0.02, 0.05])
    # Fewer queries of x, which is above the mean, and more of y, which is below it.
    assert (found.segments["mix"] < 0).all()
    assert any(note.startswith("Simpson's paradox") for note in found.notes)
    assert "Simpson's paradox" in str(found)
    assert found.summary["se"].null_count() == len(found.summary)


@pytest.mark.parametrize("seed", range(3))
def test_weights_and_queries_that_changed(seed):
    draw = random.Random(seed)
    old, new = (
        q.filter(pl.col("query_id").is_in(draw.sample(range(40), 30)))
        for q in (OLD, NEW)
    )
    found = analysis.reasons(
        BEFORE, AFTER, "ndcg@4", qrels=new, qrels_before=old, segments=ABOUT,
        by="land", weight="traffic", weight_before="traffic_before", **ZERO,
    )  # fmt: skip
    about = {row["query_id"]: row for row in ABOUT.rows(named=True)}
    sides = []
    for run, qrels, weight in (
        (BEFORE, old, "traffic_before"),
        (AFTER, new, "traffic"),
    ):
        values = dict(pr.per_query(run, "ndcg@4", qrels=qrels, **ZERO).rows())
        whole = sum(about[q][weight] for q in values)
        by_land = {}
        for q, value in values.items():
            w = about[q][weight] / whole
            sums = by_land.setdefault(about[q]["land"], [0.0, 0.0])
            sums[0] += w
            sums[1] += w * value
        sides.append({land: (w, m / w) for land, (w, m) in by_land.items()})
    one, two = sides
    means = [sum(w * m for w, m in side.values()) for side in sides]
    middle = sum(means) / 2
    for row in found.segments.rows(named=True):
        (w, m), (w2, m2) = one[row["land"]], two[row["land"]]
        assert row["within"] == pytest.approx((w + w2) / 2 * (m2 - m), abs=1e-13)
        mix = ((m + m2) / 2 - middle) * (w2 - w)
        assert row["mix"] == pytest.approx(mix, abs=1e-13)
        assert [row["baseline_share"], row["share"]] == pytest.approx([w, w2])
    difference = means[1] - means[0]
    assert found.segments["contribution"].sum() == pytest.approx(difference, abs=1e-13)
    total = items(found.summary, "difference")["difference"]
    assert total == pytest.approx(difference, abs=1e-13)
    for part in ("effect", "kind", "label", "segments"):
        assert sum(items(found.summary, part).values()) == pytest.approx(
            difference, abs=1e-12
        )
    n = len(found.queries)
    assert found.documents["contribution"].sum() / n == pytest.approx(difference)
    one_sided = found.queries.filter(pl.col("difference").is_null())
    told = found.documents.filter(kind="query")["query_id"]
    assert {*told} <= {*one_sided["query_id"]}
    assert len(one_sided) > 0


def test_queries_of_weight_0_count_nothing():
    """As if they were not there."""
    about = ABOUT.with_columns(
        traffic=pl.when(pl.col("query_id") % 4 > 0).then("traffic").otherwise(0.0)
    )
    options = {"by": "land", "weight": "traffic", **ZERO}
    found = analysis.reasons(BEFORE, AFTER, "ap", qrels=NEW, segments=about, **options)
    some = NEW.filter(pl.col("query_id") % 4 > 0).join(ABOUT, on="query_id")
    runs = {"before": BEFORE, "after": AFTER}
    wanted = pr.compare(runs, ["ap"], qrels=some, baseline="before", **options)
    names = ["difference", "se", "lower", "upper"]
    assert_frame_equal(found.segments.select(names), wanted.pairs.select(names))
    del options["by"]
    wanted = pr.compare(runs, ["ap"], qrels=some, baseline="before", **options)
    whole = found.summary.filter(part="difference")
    assert_frame_equal(whole.select(names), wanted.pairs.select(names))


@pytest.mark.parametrize("side", ["weight", "weight_before"])
def test_a_mean_of_no_weight_is_undefined(side):
    weights = ABOUT.with_columns(nothing=0.0)
    options = dict.fromkeys(["weight", "weight_before"], "traffic") | {side: "nothing"}
    run = {"weight": "after", "weight_before": "before"}[side]
    with pytest.raises(DataError, match=f"{run}: no query .* weight above 0"):
        analysis.reasons(
            BEFORE, AFTER, "ap", qrels=NEW, segments=weights, **options, **ZERO
        )


def test_segments_have_the_intervals_of_a_comparison():
    found = analysis.reasons(
        BEFORE, AFTER, "ap", qrels=NEW, by="land", segments=ABOUT, **ZERO
    )
    wanted = compared("ap", by="land", **ZERO)
    names = ["land", "queries", "baseline_mean", "mean", "difference"]
    names += ["se", "lower", "upper"]
    assert_frame_equal(
        found.segments.select(names), wanted.select(names), abs_tol=1e-12
    )
    assert items(found.summary, "segments")["mix"] == pytest.approx(0.0, abs=1e-15)
    assert found.notes == ()


# -- every way of reading


def test_many_queries():
    """From 16,384 rows on, threads of Polars share a frame in memory."""
    ids = {"query_id": range(20_000), "doc_id": ["d"] * 20_000}
    before = pl.DataFrame(ids).with_columns(score=1.0)
    qrels = pl.DataFrame(ids).with_columns(label=pl.col("query_id") % 2)
    found = analysis.reasons(before, before.head(10_000), "rr", qrels=qrels)
    assert found.summary["difference"][0] == -0.25  # half are relevant
    assert len(found.documents) == 20_000


@pytest.mark.parametrize("measure", ["ndcg@3", slow("ap")])
@pytest.mark.parametrize("engine", ENGINES)
def test_lazy_frames_and_buckets_give_the_same(engine, measure, monkeypatch):
    before, after = random_run(23, queries=100), random_run(24, queries=100)
    qrels = {"qrels": random_qrels(23, queries=100)}
    qrels["qrels_before"] = random_qrels(24, queries=100)
    expected = analysis.reasons(before, after, measure, **qrels, **ZERO)
    lazy = analysis.reasons(before.lazy(), after.lazy(), measure, **qrels, **ZERO)
    assert_frame_equal(lazy.documents.collect(engine=engine), expected.documents)
    assert_frame_equal(lazy.summary, expected.summary, abs_tol=1e-14)
    small = budget.Budget(bucket=24_000, buffers=1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)
    monkeypatch.setattr(budget.Budget, "buckets", lambda self, size: 3)
    spilled = analysis.reasons(
        before, after, measure, memory_limit="1GB", **qrels, **ZERO
    )
    assert_frame_equal(spilled.documents, expected.documents)
    assert_frame_equal(spilled.summary, expected.summary, abs_tol=1e-14)


@pytest.mark.parametrize(
    ("measure", "options", "error", "told"),
    [
        ("kendall_tau", {}, ValueError, "kendall_tau has no contributions"),
        ("num_rel_ret", {}, ValueError, "a count that is summed"),
        (["rr", "ap"], {}, ValueError, "of one measure"),
        ("rr", {"level": 0}, ValueError, "level must lie"),
        ("rr", {"max_documents": -1}, ValueError, "max_documents must be a whole"),
        ("rr", {"qrel": NEW}, TypeError, "reasons takes no qrel"),
        ("rr", {"weight": "hits"}, pl.exceptions.ColumnNotFoundError, "hits"),
        ("rr", {"query": "item"}, ValueError, "would be called 'item'"),
        ("rr", {"weight": "w"}, DataError, "'w' is not in 1 query"),
    ],
)
def test_wrong_arguments(measure, options, error, told):
    weights = pl.DataFrame({"query_id": range(40), "w": [-1.0] + [1.0] * 39})
    with pytest.raises(error, match=told):
        analysis.reasons(
            BEFORE, AFTER, measure, qrels=OLD, segments=weights, **options, **ZERO
        )


@pytest.mark.parametrize("ties", ["doc_desc", "optimistic", "pessimistic"])
def test_rows_in_any_order_give_the_same_bits(ties):
    options = {"qrels": NEW, "qrels_before": OLD, "ties": ties, **ZERO}
    found = analysis.reasons(BEFORE, AFTER, "ap", **options)
    changed = analysis.changes(BEFORE, AFTER, pairs="all")
    before, after = (
        frame.sample(fraction=1.0, shuffle=True, seed=3) for frame in (BEFORE, AFTER)
    )
    again = analysis.reasons(before, after, "ap", **options)
    for frame in ("summary", "queries", "documents"):
        own, wanted = getattr(again, frame), getattr(found, frame)
        assert_frame_equal(own, wanted, check_exact=True)
    again = analysis.changes(before, after, pairs="all")
    for frame in ("summary", "queries", "documents"):
        own, wanted = getattr(again, frame), getattr(changed, frame)
        assert_frame_equal(own, wanted, check_exact=True)


def test_buckets_are_told_of():
    told = []
    given = {"memory_limit": "1GB", "progress": told.append}
    analysis.reasons(BEFORE, AFTER, "ap", qrels=NEW, **given, **ZERO)
    assert "evaluate" in {step.stage for step in told}
    assert told[-1].done == told[-1].total
    told.clear()
    analysis.changes(BEFORE, AFTER, pairs="all", **given)
    assert "evaluate" in {step.stage for step in told}
    for function, asked in ((analysis.reasons, ["ap"]), (analysis.changes, [])):
        with pytest.raises(ValueError, match="give memory_limit too"):
            function(BEFORE, AFTER, *asked, progress=told.append)


def test_streams_are_read_once():
    expected = analysis.reasons(BEFORE, AFTER, "rr@3", qrels=NEW, **ZERO)
    streams = (pa.RecordBatchReader.from_stream(f) for f in (BEFORE, AFTER, NEW))
    before, after, qrels = streams
    found = analysis.reasons(before, after, "rr@3", qrels=qrels, **ZERO)
    assert_frame_equal(found.documents, expected.documents)
    before, after, qrels = (
        pa.RecordBatchReader.from_stream(f) for f in (BEFORE, AFTER, NEW)
    )
    changed = analysis.changes(before, after, qrels=qrels, pairs="all")
    wanted = analysis.changes(BEFORE, AFTER, qrels=NEW, pairs="all")
    assert_frame_equal(changed.documents, wanted.documents)


def test_old_judgments_need_new_ones():
    with pytest.raises(ValueError, match="give qrels= too"):
        analysis.reasons(BEFORE, AFTER, "rr", qrels_before=OLD)


@pytest.mark.parametrize("wrong", ["before", "after"])
def test_the_side_is_named_whose_judgments_are_wrong(wrong):
    """Each run is also evaluated with the judgments of the other."""
    good = NEW.select("query_id", "doc_id", "label")
    bad = pl.concat([good, good.head(1)])
    old, new = (bad, good) if wrong == "before" else (good, bad)
    with pytest.raises(pr.DataError, match=f"^{wrong}: judgments: duplicate"):
        analysis.reasons(BEFORE, AFTER, "ndcg@3", qrels=new, qrels_before=old)


# -- few queries, with everything at once


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
@pytest.mark.parametrize("seed", [*range(8), *(slow(i) for i in range(8, 100))])
def test_all_parts_of_few_queries_are_those_of_loops(seed):
    before, after, new, old, about = drawn(seed)
    draw = random.Random(seed)
    measure = draw.choice([*LOOPS])
    old = new if draw.random() < 0.5 else old
    now = draw.choice([None, "now"])
    then = draw.choice([now, "then"])
    wanted = reasons(measure, (before, after), (old, new), about, (then, now))
    options = {} if old is new else {"qrels_before": old}
    found = analysis.reasons(
        before, after, measure, qrels=new, by="land", weight=now, weight_before=then,
        segments=pl.DataFrame([{"query_id": q, **row} for q, row in about.items()]),
        **options, **ZERO,
    )  # fmt: skip
    total = items(found.summary, "difference")["difference"]
    for part in ("kind", "label", "effect", "segments"):
        shown = items(found.summary, part)
        told = {name: wanted[part].get(name, 0.0) for name in shown}
        assert shown == pytest.approx(told, abs=1e-12), part
        assert sum(shown.values()) == pytest.approx(total, abs=1e-12)
        rest = {name: x for name, x in wanted[part].items() if name not in shown}
        assert rest == pytest.approx(dict.fromkeys(rest, 0.0), abs=1e-12)
    rows = found.documents.select("query_id", "doc_id", "kind", "contribution").rows()
    shown = {(q, doc): (kind, added) for q, doc, kind, added in rows}
    for key, (kind, added) in wanted["documents"].items():
        assert shown[key] == (kind, pytest.approx(added, abs=1e-12)), key
