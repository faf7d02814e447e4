"""Preferences: against plain loops over pairs; every option; what may be wrong."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import polars as pl
import pytest

import polars_rank as pr

RUN = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
JUDGED = {"query_id": pl.String, "who": pl.String, "doc_id": pl.String}


def frames(run: list, judged: list) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    return (
        pl.LazyFrame(run, schema=RUN, orient="row"),
        pl.LazyFrame(judged, schema=JUDGED | {"label": pl.Float64}, orient="row"),
    )


def made_up(seed: int) -> tuple[list, list]:
    rng = random.Random(seed)
    run, judged = [], []
    for q in range(30):
        docs = [f"d{i}" for i in range(rng.choice([1, 5, 11]))]
        for who in range(rng.choice([1, 3])):
            levels = rng.choice([1, 2, 5])
            judged += [
                (f"q{q:02}", f"w{who}", doc, rng.randrange(levels))
                for doc in docs
                if rng.random() < 0.7
            ]
        if rng.random() < 0.8:
            found = rng.sample(docs, rng.randint(1, len(docs)))
            run += [(f"q{q:02}", doc, float(rng.randrange(5))) for doc in found]
    rng.shuffle(judged)
    return run, judged


def loop(run: list, judged: list, ties: str, unretrieved: str) -> dict:
    """Look at every pair of every group."""
    found = {}
    for query in sorted({row[0] for row in judged}):
        score = {doc: s for q, doc, s in run if q == query}
        by_pair: dict[frozenset, list[float]] = {}
        by_group: list[list[float]] = []
        for who in sorted({w for q, w, *_ in judged if q == query}):
            level = {d: g for q, w, d, g in judged if (q, w) == (query, who)}
            shares = []
            for better, worse in itertools.permutations(level, 2):
                if level[better] <= level[worse]:
                    continue
                if better in score and worse in score:
                    difference = score[better] - score[worse]
                    if difference == 0:
                        kept = {
                            "expected": 0.5,
                            "doc_desc": float(better > worse),
                            "doc_asc": float(better < worse),
                        }[ties]
                    else:
                        kept = float(difference > 0)
                elif unretrieved == "leave_out":
                    continue
                else:
                    kept = float(better in score)
                shares.append(kept)
                by_pair.setdefault(frozenset((better, worse)), []).append(kept)
            by_group.append(shares)
        every = [kept for shares in by_group for kept in shares]
        means = [statistics.fmean(s) for s in by_group if s]
        pairs = [statistics.fmean(s) for s in by_pair.values()]
        found[query] = {
            "preferences": len(every),
            "satisfied": math.fsum(every),
            "prefs_simp": statistics.fmean(every) if every else None,
            "prefs_pair": statistics.fmean(pairs) if pairs else None,
            "prefs_avgjg": statistics.fmean(means) if means else None,
        }
    return found


@pytest.mark.parametrize("unretrieved", ["below", "leave_out"])
@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "expected"])
@pytest.mark.parametrize("ids", [pl.String, pl.Categorical])
def test_plain_loops(ties, unretrieved, ids, collect):
    run, judged = made_up(1)
    ranked, better = (
        f.with_columns(pl.col("doc_id").cast(ids)) for f in frames(run, judged)
    )
    found = collect(
        ranked.rank_eval.preferences(
            better, by="who", ties=ties, unretrieved=unretrieved
        )
    )
    wanted = loop(run, judged, ties, unretrieved)
    assert found["query_id"].to_list() == list(wanted)
    for row in found.iter_rows(named=True):
        for name, value in wanted[row["query_id"]].items():
            assert row[name] == (value if value is None else pytest.approx(value))


A_B_C = [("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.0)]


def test_by_hand():
    """One of two assessors disagrees about a and b; d was not retrieved."""
    judged = [("q", "x", "a", 2), ("q", "x", "b", 1), ("q", "x", "d", 0)]
    judged += [("q", "y", "b", 1), ("q", "y", "a", 0)]
    ranked, better = frames(A_B_C, judged)
    (row,) = pr.preferences(ranked, better, by="who").collect().rows(named=True)
    assert row == {
        "query_id": "q",
        "preferences": 4,
        "satisfied": 3.0,
        "prefs_simp": 3 / 4,
        "prefs_pair": pytest.approx((1 / 2 + 1 + 1) / 3),
        "prefs_avgjg": (3 / 3 + 0 / 1) / 2,
    }
    kept = pr.preferences(ranked, better, by="who", unretrieved="leave_out")
    assert kept.collect().row(0)[1:4] == (2, 1.0, 1 / 2)


def test_without_groups_and_by_rank():
    judged = pl.DataFrame(
        {"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "label": [1, 0, 2]}
    )
    run = frames(A_B_C, [])[0].collect()
    by_score = run.rank_eval.preferences(judged)
    assert by_score["prefs_simp"].item() == pytest.approx(1 / 3)
    ranks = run.select("query_id", "doc_id", place=pl.Series([1, 2, 3], dtype=pl.UInt8))
    assert pr.preferences(ranks, judged, rank="place").equals(by_score)


@pytest.mark.parametrize(
    ("ties", "kept"), [("doc_desc", 0.0), ("doc_asc", 1.0), ("expected", 0.5)]
)
def test_equal_scores_go_by_document_id(ties, kept):
    """As text, d9 comes after d10; trec_eval's own order is the ascending one."""
    ranked, better = frames(
        [("q", "d10", 1.0), ("q", "d9", 1.0)],
        [("q", "x", "d10", 1), ("q", "x", "d9", 0)],
    )
    found = pr.preferences(ranked, better, ties=ties).collect()
    assert found["satisfied"].to_list() == [kept]


def test_groups_without_a_preference_are_left_out():
    """trec_eval counts them as 0: it would say 1/2, and 0 for a query without any."""
    judged = [("q", "x", "a", 1), ("q", "x", "b", 0)]
    judged += [("q", "y", "a", 1), ("q", "y", "b", 1)]
    judged += [("r", "x", "a", 2), ("r", "x", "b", 2)]
    run = [*A_B_C, ("r", "a", 2.0), ("r", "b", 1.0)]
    found = pr.preferences(*frames(run, judged), by="who").collect()
    assert found["prefs_avgjg"].to_list() == [1.0, None]
    assert found["preferences"].to_list() == [1, 0]


def test_documents_without_a_grade_are_not_preferred():
    """Neither they nor those that nobody judged; a query of these has no preference."""
    judged = [("q", "x", "a", None), ("q", "x", "b", 1), ("q", "x", "c", 0)]
    judged += [("r", "x", "a", None), ("r", "x", "b", 1)]
    found = pr.preferences(*frames(A_B_C, judged)).collect()
    assert found["preferences"].to_list() == [1, 0]
    assert found["prefs_simp"].to_list() == [1.0, None]


def test_nothing_to_prefer():
    ranked, better = frames(A_B_C, [("q", "x", "a", 1), ("q", "x", "b", 1)])
    found = pr.preferences(ranked, better).collect().row(0)[1:]
    assert found == (0, 0.0, None, None, None)


@pytest.mark.parametrize(
    ("run", "judged", "message"),
    [
        ([("q", "a", float("nan"))], [], "NaN scores"),
        ([("q", "a", None)], [], "scores are null"),
        ([("q", "a", 1.0)], [], "duplicate documents"),
        ([], [("q", "x", "a", 2)], "duplicate documents"),
        ([], [("q", "x", "z", float("inf"))], "grades that are NaN or infinite"),
    ],
)
def test_wrong_data(run, judged, message):
    start = A_B_C if "duplicate" in message else A_B_C[1:]
    ranked, better = frames(
        [*start, *run], [("q", "x", "a", 1), ("q", "x", "b", 0), *judged]
    )
    with pytest.raises(pr.DataError, match=message):
        pr.preferences(ranked, better, by="who").collect()
    with pytest.warns(UserWarning, match=message):
        pr.preferences(ranked, better, by="who", check="warn").collect()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ties": "order"}, ValueError, "ties must be one of doc_desc, doc_asc, exp"),
        ({"unretrieved": "last"}, ValueError, "unretrieved must be one of below, le"),
        ({"check": "some"}, ValueError, "check must be one of"),
        (
            {"by": "whom"},
            pl.exceptions.ColumnNotFoundError,
            "by column 'whom' is not in the judgments; did you mean 'who'",
        ),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        pr.preferences(*frames(A_B_C, []), **options)
