"""Changes of two runs: the formulas in plain loops, on all pairs of short lists."""

from __future__ import annotations

import math
import random
from itertools import permutations, product

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from random_lists import IDS, labels_of, lists_of, random_qrels, random_run
from slow import ENGINES

import polars_rank as pr
from polars_rank import analysis
from polars_rank._engine.spill import budget
from polars_rank.exceptions import DataError

MEASURES = [
    "overlap",
    "jaccard",
    "rbo",
    "churn",
    "same_top",
    "entered",
    "left",
    "moves",
]
BEFORE, AFTER, QRELS = random_run(11), random_run(12), random_qrels(11)


# -- the formulas, of two lists


def loops(a, b, k, p, labels=None):
    """Every measure of two lists of documents, as the docstring says it."""
    a, b = a[:k], b[:k]
    if not a and not b:
        return dict.fromkeys([*MEASURES[:5], "moves"]) | {"entered": 0, "left": 0}
    both, n = [d for d in a if d in b], max(len(a), len(b))
    agreed = sum(p ** (d - 1) * len({*a[:d]} & {*b[:d]}) / d for d in range(1, n + 1))
    worth = [1 / math.log2(i + 2) for i in range(k)]
    moved = sum(
        abs(
            (worth[b.index(d)] if d in b else 0.0)
            - (worth[a.index(d)] if d in a else 0.0)
        )
        for d in {*a, *b}
    )
    found = {
        "overlap": len(both) / n,
        "jaccard": len(both) / len({*a, *b}),
        "rbo": (1 - p) / (1 - p**n) * agreed,
        "churn": moved / (sum(worth[: len(a)]) + sum(worth[: len(b)])),
        "same_top": float(bool(a and b and a[0] == b[0])),
        "entered": len({*b} - {*a}),
        "left": len({*a} - {*b}),
        "moves": sum(abs(a.index(d) - b.index(d)) for d in both) / len(both)
        if both
        else None,
    }
    if labels is not None:
        found["new_unjudged"] = sum(d not in labels for d in {*b} - {*a})
    return found


def require_equal(queries, wanted):
    assert {row["query_id"] for row in queries} == wanted.keys()
    for row in queries:
        for name, value in wanted[row["query_id"]].items():
            assert row[name] == pytest.approx(value, abs=1e-14), (row, name)


def as_run(lists):
    """Lists of documents by query as a run."""
    return pl.DataFrame(
        [(q, d, -i) for q, docs in lists.items() for i, d in enumerate(docs)],
        {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Int64},
        orient="row",
    )


def test_all_pairs_of_short_lists():
    short = [[*docs] for n in range(4) for docs in permutations("abcd", n)]
    pairs = dict(enumerate(product(short, short)))
    before, after = (as_run({q: pair[i] for q, pair in pairs.items()}) for i in (0, 1))
    queries = pl.DataFrame({"query_id": [*pairs]})
    found = analysis.changes(before, after, k=2, queries=queries, pairs="all", p=0.8)
    require_equal(
        found.queries.to_dicts(), {q: loops(*pair, 2, 0.8) for q, pair in pairs.items()}
    )


def test_random_runs_with_ties_and_missing_queries():
    found = analysis.changes(BEFORE, AFTER, k=4, qrels=QRELS, pairs="all")
    old, new, judged = lists_of(BEFORE), lists_of(AFTER), labels_of(QRELS)
    wanted = {
        q: loops(old.get(q, []), new.get(q, []), 4, 0.9, judged.get(q, {}))
        for q in {*old, *new}
    }
    require_equal(found.queries.to_dicts(), wanted)
    for query, doc, before, after, kind, label in found.documents.rows():
        ranks = [
            docs.index(doc) + 1 if doc in docs else None
            for docs in (old.get(query, []), new.get(query, []))
        ]
        assert [before, after] == ranks
        assert label == judged.get(query, {}).get(doc)
        was, now = (rank is not None and rank <= 4 for rank in ranks)
        assert was or now
        if was and now:
            assert kind == ("same", "down", "up")[(after > before) - (after < before)]
        else:
            assert kind == ("entered" if now else "left")
    rows = [(q, d) for q, d, *_ in found.documents.rows()]
    wanted_rows = {
        (q, d) for q in {*old, *new} for d in old.get(q, [])[:4] + new.get(q, [])[:4]
    }
    assert len(rows) == len(wanted_rows)
    assert {*rows} == wanted_rows


def test_a_run_is_as_it_is_and_sides_can_be_swapped():
    same = analysis.changes(BEFORE, BEFORE, k=5).queries
    for name, value in {"overlap": 1, "rbo": 1, "churn": 0, "entered": 0}.items():
        assert same[name].to_list() == pytest.approx([value] * len(same))
    there = analysis.changes(BEFORE, AFTER, k=5, pairs="all").queries
    back = analysis.changes(AFTER, BEFORE, k=5, pairs="all").queries
    turned = back.rename({"entered": "left", "left": "entered"}).select(there.columns)
    assert_frame_equal(there, turned, abs_tol=1e-14)


def test_recall_of_an_approximate_search():
    """As in ann-benchmarks: neighbors that are as near as the k-th count."""
    draw = random.Random(5)
    points = {f"d{i}": draw.randint(1, 9) for i in range(20)}
    rows = {"exact": [], "found": []}
    wanted = {}
    for query in range(30):
        distance = {d: abs(x - query % 10) for d, x in points.items()}
        nearest = sorted(points, key=lambda d: (distance[d], d))[:5]
        picked = draw.sample(sorted(points, key=lambda d: distance[d])[:12], 5)
        rows["exact"] += [(query, d, distance[d]) for d in nearest]
        rows["found"] += [(query, d, distance[d]) for d in picked]
        limit = distance[nearest[-1]]
        wanted[query] = sum(distance[d] <= limit for d in picked) / 5
    exact, approximate = (
        pl.DataFrame(r, ["query_id", "doc_id", "distance"], orient="row")
        for r in rows.values()
    )
    options = {"k": 5, "score": "distance", "descending": False}
    found = analysis.changes(exact, approximate, ties="distance", **options).queries
    assert dict(found.select("query_id", "overlap").rows()) == pytest.approx(wanted)
    strict = analysis.changes(exact, approximate, **options).queries
    assert (strict["overlap"] <= found["overlap"]).all()
    assert (strict["overlap"] < found["overlap"]).any()
    assert_frame_equal(strict.drop("overlap"), found.drop("overlap"))


# -- queries of one run, segments, several systems


def test_queries_that_one_run_lacks():
    old, new = lists_of(BEFORE), lists_of(AFTER)
    with pytest.raises(DataError, match=r'in one run only.*pairs="common"'):
        analysis.changes(BEFORE, AFTER)
    common = analysis.changes(BEFORE, AFTER, pairs="common").queries
    assert {*common["query_id"]} == old.keys() & new.keys()
    union = analysis.changes(BEFORE, AFTER, pairs="all").queries
    assert {*union["query_id"]} == old.keys() | new.keys()
    assert_frame_equal(
        union.filter(pl.col("query_id").is_in(old.keys() & new.keys())), common
    )
    asked = pl.DataFrame({"query_id": [3, 4, 99]})
    some = analysis.changes(BEFORE, AFTER, pairs="all", queries=asked)
    assert some.queries["query_id"].to_list() == [3, 4, 99]
    assert some.queries.row(2)[1:4] == (None, None, None)
    assert {*some.documents["query_id"]} <= {3, 4}


def test_means_and_intervals_are_those_of_a_comparison():
    about = pl.DataFrame({"query_id": range(40)}).with_columns(
        land=pl.col("query_id") % 3, traffic=pl.col("query_id") % 5 + 1
    )
    found = analysis.changes(
        BEFORE, AFTER, pairs="all", k=3, by="land", weight="traffic", segments=about
    )
    values = pl.concat(
        found.queries.with_columns(pl.lit(name).alias("system")) for name in "ab"
    )
    measures = ["churn", "entered", "rbo"]
    options = {"measures": measures, "weight": "traffic"}
    wanted = pr.compare(values, **options, by="land").means.filter(system="a")
    own = found.segments.filter(pl.col("measure").is_in(measures))
    assert_frame_equal(
        own.sort("land", "measure"),
        wanted.sort("land", "measure").select(own.columns),
    )
    total = pr.compare(values, **options).means.filter(system="a")
    own = found.summary.filter(pl.col("measure").is_in(measures)).sort("measure")
    assert_frame_equal(own, total.sort("measure").select(own.columns))
    assert found.summary.columns == [
        "measure",
        "queries",
        "mean",
        "se",
        "lower",
        "upper",
    ]
    assert "by segment" in str(found)


def test_several_systems_are_compared_with_one():
    other = random_run(13)
    several = {"x": AFTER, "y": other}
    found = analysis.changes(BEFORE, several, pairs="all", qrels=QRELS)
    stacked = pl.concat(
        run.with_columns(pl.lit(n).alias("ranker")) for n, run in several.items()
    )
    by_column = analysis.changes(
        BEFORE, stacked, pairs="all", qrels=QRELS, system="ranker"
    )
    for name, run in several.items():
        alone = analysis.changes(BEFORE, run, pairs="all", qrels=QRELS)
        for frame in ("summary", "queries", "documents"):
            wanted = getattr(alone, frame)
            for many, column in ((found, "system"), (by_column, "ranker")):
                own = getattr(many, frame).filter(pl.col(column) == name).drop(column)
                assert_frame_equal(own, wanted, abs_tol=1e-14)


# -- every way of reading


@pytest.mark.parametrize("engine", ENGINES)
def test_lazy_frames_and_buckets_give_the_same(engine, monkeypatch):
    before, after = random_run(14, queries=120), random_run(15, queries=120)
    options = {"k": 5, "qrels": random_qrels(14, queries=120), "pairs": "all"}
    expected = analysis.changes(before, after, **options)
    lazy = analysis.changes(before.lazy(), after.lazy(), **options)
    assert_frame_equal(lazy.documents.collect(engine=engine), expected.documents)
    assert_frame_equal(lazy.queries, expected.queries, abs_tol=1e-14)
    small = budget.Budget(bucket=24_000, buffers=1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)
    monkeypatch.setattr(budget.Budget, "buckets", lambda self, size: 3)
    spilled = analysis.changes(before, after, memory_limit="1GB", **options)
    assert_frame_equal(spilled.documents, expected.documents)
    assert_frame_equal(spilled.queries, expected.queries, abs_tol=1e-14)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("memory_limit", [None, "1GB"])
def test_ids_keep_their_type_and_are_compared_as_text(ids, memory_limit):
    before = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ids, "score": [2, 1]})
    after = before.with_columns(score=1)
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ids[1:], "label": [1]})
    for ties, first in (("doc_desc", 1), ("distance", 1), ("doc_asc", 0), ("order", 0)):
        options = {"ties": ties, "memory_limit": memory_limit}
        found = analysis.changes(before, after, 1, qrels=qrels, **options).documents
        assert found.schema["doc_id"] == ids.dtype
        entered = (ids[1], 2, 1, "entered", 1), (ids[0], 1, 2, "left", None)
        assert found.drop("query_id").rows() == (
            [*entered] if first else [(ids[0], 1, 1, "same", None)]
        )


def test_names_of_the_user_and_other_arguments():
    names = {"query_id": "q", "doc_id": "d", "score": "s"}
    before, after = BEFORE.rename(names), AFTER.rename(names)
    found = analysis.changes(
        before, after, query="q", doc="d", score="s", ties="doc_asc", pairs="all"
    )
    assert found.queries.columns == ["q", *MEASURES]
    assert found.documents.columns == ["q", "d", "baseline_rank", "rank", "kind"]
    ranked = BEFORE.with_columns(
        rank=pl.struct("score", "doc_id")
        .rank("ordinal", descending=True)
        .over("query_id")
    ).drop("score")
    known = analysis.changes(ranked, ranked, rank="rank")
    assert known.summary.filter(measure="overlap")["mean"].item() == 1.0


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"k": 0}, ValueError, "k must be a whole number"),
        ({"p": 1}, ValueError, "p must lie between 0 and 1"),
        ({"level": 95}, ValueError, "level must lie"),
        ({"pairs": "both"}, ValueError, "pairs must be one of same, common, all"),
        ({"ties": "expected"}, ValueError, "ties must be one of"),
        ({"tie": "order", "qrel": 1}, TypeError, "changes takes no qrel"),
        ({"doc": pl.col("doc_id")}, TypeError, "doc must be the name of a column"),
        ({"query": "kind"}, ValueError, "two columns would be called 'kind'"),
        ({"by": "land"}, pl.exceptions.ColumnNotFoundError, "land"),
        ({"system": "ranker"}, pl.exceptions.ColumnNotFoundError, "ranker"),
        ({"temp_dir": "."}, ValueError, "give memory_limit too"),
    ],
)
def test_wrong_arguments(options, error, told):
    with pytest.raises(error, match=told):
        analysis.changes(BEFORE, AFTER, **options)


def test_rows_that_break_a_rule():
    with pytest.raises(DataError, match="duplicate"):
        analysis.changes(pl.concat([BEFORE, BEFORE]), AFTER, pairs="all")
    with pytest.raises(DataError, match="NaN"):
        analysis.changes(BEFORE.with_columns(score=float("nan")), AFTER, pairs="all")
    with pytest.raises(ValueError, match="no query to compare"):
        analysis.changes(BEFORE.clear(), AFTER.clear(), check="off")
    with pytest.raises(TypeError, match="is Int64 in before but String in after"):
        analysis.changes(BEFORE, AFTER.with_columns(pl.col("query_id").cast(pl.String)))


def test_an_error_names_the_run_at_fault():
    twice = pl.concat([AFTER, AFTER])
    with pytest.raises(DataError, match=r"^after: .*duplicate documents") as told:
        analysis.changes(BEFORE, twice, pairs="all")
    assert told.value.rule == "duplicate_doc"
    with pytest.raises(DataError, match=r"^before: .*duplicate documents"):
        analysis.reasons(twice.lazy(), AFTER, "rr", qrels=QRELS)
    with pytest.raises(DataError, match=r"^judgments: duplicate documents"):
        analysis.reasons(BEFORE, AFTER, "rr", qrels=pl.concat([QRELS, QRELS]))


def test_judgments_of_changes_are_checked():
    other = QRELS.with_columns(label=pl.col("label") + 1)
    with pytest.raises(DataError, match="duplicate documents within a query"):
        analysis.changes(BEFORE, AFTER, qrels=pl.concat([QRELS, other]), pairs="all")
    best = analysis.changes(
        BEFORE,
        AFTER,
        qrels=pl.concat([QRELS, other]),
        pairs="all",
        on_duplicate="best",
    )
    wanted = analysis.changes(BEFORE, AFTER, qrels=other, pairs="all")
    assert_frame_equal(best.documents, wanted.documents)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="label column 'grade'"):
        analysis.changes(BEFORE, AFTER, qrels=QRELS, pairs="all", label="grade")
    text = QRELS.with_columns(pl.col("query_id").cast(pl.String))
    with pytest.raises(TypeError, match="Int64 in the runs but String in the judg"):
        analysis.changes(BEFORE, AFTER, qrels=text, pairs="all")
    known = analysis.changes(BEFORE, AFTER, qrels=QRELS, pairs="all", label=None)
    assert {*known.documents["label"]} == {1.0, None}


def test_the_id_of_a_query_may_be_several_columns():
    def split(frame):
        return frame.with_columns(
            pl.col("doc_id").str.slice(1).cast(pl.Int32), market=pl.col("query_id") % 2
        )

    before, after, qrels = map(split, (BEFORE, AFTER, QRELS))
    options = {"query": ["market", "query_id"], "qrels": qrels}
    found = analysis.changes(before, after, pairs="all", **options)
    wanted = analysis.changes(BEFORE, AFTER, pairs="all", qrels=QRELS)
    assert_frame_equal(found.summary, wanted.summary, abs_tol=1e-14)
    assert found.documents.schema["doc_id"] == pl.Int32
    why = analysis.reasons(before, after, "ap", missing="zero", **options)
    known = analysis.reasons(BEFORE, AFTER, "ap", missing="zero", qrels=QRELS)
    assert_frame_equal(why.summary, known.summary, abs_tol=1e-14)


def test_runs_of_scores_and_of_lists_are_not_mixed():
    scores, lists = {"q": {"a": 2.0, "b": 1.0}}, {"q": ["b", "a"]}
    with pytest.raises(ValueError, match="run 'two' has ranks and no scores, as lists"):
        analysis.changes(scores, {"one": scores, "two": lists})
    assert analysis.changes(scores, {"one": lists, "two": lists}).queries.height == 2
