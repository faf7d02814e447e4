"""Tuning: every candidate evaluated on its own, and choices made by plain loops."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from plain_fusion import frame, random_runs
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank import fusion
from polars_rank.fusion.cross_validation import CANDIDATE, cross_validated
from polars_rank.measures.measure import Measure


def judged(seed, queries=8):
    draw = random.Random(seed)
    return pl.DataFrame(
        [
            (f"q{q}", f"d{d}", draw.randint(0, 2))
            for q in range(queries)
            for d in range(9)
            if draw.random() < 0.6
        ],
        schema=["query_id", "doc_id", "label"],
        orient="row",
    )


def chosen_by_loops(values, folds, seed, better=max):
    """Candidate of each fold, the values held out, the best of all.

    ``values`` is a list of the values of queries for each candidate.
    """
    n = len(values[0])
    places = np.random.default_rng(seed).permutation(n).tolist()
    fold = {query: i % folds for i, query in enumerate(places)}
    choices, held_out = [], [0.0] * n
    for number in [*range(folds), None]:
        means = []
        for row in values:
            train = [row[q] for q in range(n) if fold[q] != number]
            means.append(round(sum(train) / len(train), 12))
        choices.append(means.index(better(means)))
        for q in (q for q in range(n) if fold[q] == number):
            held_out[q] = values[choices[-1]][q]
    return choices[:-1], held_out, choices[-1]


CASES = {
    "weights": dict(method="sum", steps=4),
    "votes": dict(method="condorcet", steps=2),
    "rrf": dict(method="rrf"),
    "gamma": dict(method="gmnz", norm="zmuv", grid={"gamma": [0, 1, 2]}),
    "both": dict(method="rrf", grid={"k": [1, 60], "weights": [[1, 1, 0], [0, 1, 2]]}),
    "depth": dict(method="rbc", depth=2),
    "loss": dict(method="mnz", steps=2, measure="unjudged@3"),
}


@pytest.mark.filterwarnings("ignore:.*missing from the run")
@pytest.mark.parametrize("case", CASES)
def test_choices_and_means_are_those_of_plain_loops(case):
    options = dict(CASES[case])
    measure = options.pop("measure", "ndcg@5")
    runs = {name: frame(run) for name, run in random_runs(31).items()}
    qrels = judged(31)
    tuned = fusion.tune(runs, measure, qrels=qrels, n_folds=3, seed=7, **options)
    tables = [
        pr.per_query(fusion.fuse(runs, **arguments), measure, qrels=qrels)
        for arguments in tuned.tried
    ]
    values = [table[measure].to_list() for table in tables]
    better = min if case == "loss" else max
    choices, held_out, best = chosen_by_loops(values, 3, 7, better)
    names = tuned.candidates["candidate"].to_list()
    assert len({*names}) == len(names) == len(tuned.tried)
    assert tuned.folds["candidate"].to_list() == [names[i] for i in choices]
    assert tuned.best == tuned.tried[best]
    assert tuned.values["query_id"].to_list() == tables[0]["query_id"].to_list()
    assert tuned.values[measure].to_list() == pytest.approx(held_out, abs=1e-12)
    assert tuned.mean == pytest.approx(sum(held_out) / len(held_out), abs=1e-12)
    means = [sum(row) / len(row) for row in values]
    assert tuned.candidates["mean"].to_list() == pytest.approx(means, abs=1e-12)
    assert tuned.optimistic_mean == pytest.approx(means[best], abs=1e-12)
    assert tuned.folds["queries"].sum() == len(held_out)
    weighted = (tuned.folds["mean"] * tuned.folds["queries"]).sum() / len(held_out)
    assert weighted == pytest.approx(tuned.mean)


def test_of_equal_means_the_first_is_taken():
    run = frame({f"q{i}": {"d0": 2.0, "d1": 1.0} for i in range(4)})
    qrels = frame({f"q{i}": {"d0": 1} for i in range(4)}, score="label")
    tuned = fusion.tune({"a": run, "b": run}, "rr", qrels=qrels, steps=3, n_folds=2)
    assert tuned.best["weights"] == {"a": 0.0, "b": 1.0}
    assert tuned.folds["candidate"].to_list() == ["a=0, b=1"] * 2


def test_the_grid_of_weights_loses_none():
    for runs, steps, count in ((2, 10, 11), (3, 10, 66), (4, 10, 286), (1, 3, 1)):
        grid = fusion.weight_grid("abcd"[:runs], steps=steps)
        assert len({tuple(row.values()) for row in grid}) == len(grid) == count
        assert all(abs(sum(row.values()) - 1) < 1e-12 for row in grid)
    with pytest.raises(ValueError, match="steps must be a whole number"):
        fusion.weight_grid("ab", steps=0)


def test_several_keys_other_names_and_files(tmp_path):
    runs = random_runs(33, runs=2)
    names = dict(query=["day", "topic"], doc="docno", score="sim")
    frames = {
        name: frame(run, "topic", "docno", "sim").with_columns(day=pl.lit(1))
        for name, run in runs.items()
    }
    qrels = judged(33).rename({"query_id": "topic", "doc_id": "id"})
    options = dict(steps=2, n_folds=2)
    found = fusion.tune(
        frames,
        "ap",
        qrels=qrels.with_columns(day=1),
        qrels_doc="id",
        **names,
        **options,
    )
    plain = {name: frame(run) for name, run in runs.items()}
    wanted = fusion.tune(plain, "ap", qrels=judged(33), **options)
    assert found.mean == wanted.mean
    assert found.values.columns == ["day", "topic", "ap"]
    assert_frame_equal(found.candidates, wanted.candidates)
    lines = (f"{q} 0 {d} {label}\n" for q, d, label in judged(33).iter_rows())
    (tmp_path / "qrels.txt").write_text("".join(lines))
    of_file = fusion.tune(plain, "ap", qrels=tmp_path / "qrels.txt", **options)
    assert of_file.mean == wanted.mean
    limited = fusion.tune(plain, "ap", qrels=judged(33), memory_limit="1GB", **options)
    assert_frame_equal(limited.values, wanted.values)


def test_the_held_out_values_are_a_system():
    runs = {name: frame(run) for name, run in random_runs(35, queries=20).items()}
    qrels = judged(35, 20)
    tuned = fusion.tune(runs, "ndcg@5", qrels=qrels, steps=2)
    base = pr.per_query(runs["a"], "ndcg@5", qrels=qrels)
    both = pl.concat(
        [
            base.select(pl.lit("a").alias("system"), pl.all()),
            tuned.values.select(pl.lit("tuned").alias("system"), pl.all()),
        ]
    )
    found = pr.compare(both, baseline="a").means
    assert found.filter(system="tuned")["mean"].item() == pytest.approx(tuned.mean)
    fused = fusion.fuse(runs, **tuned.best)
    means = pr.evaluate(fused, "ndcg@5", qrels=qrels)
    assert means["ndcg@5"].item() == pytest.approx(tuned.optimistic_mean)


def test_the_cross_validated_mean_is_honest_and_the_other_is_not():
    """No candidate is better: 300 draws, seed 1, of 40 queries and 20 candidates.

    All values are uniform, so the true mean of every candidate is 0.5.
    """
    draw = np.random.default_rng(1)
    measure = Measure("rr")
    honest, optimistic = [], []
    for seed in range(300):
        table = pl.DataFrame(
            {
                CANDIDATE: np.repeat(np.arange(20), 40),
                "query_id": np.tile(np.arange(40), 20),
                "rr": draw.random(800),
            }
        )
        tuned = cross_validated(table, measure, [{"k": k} for k in range(20)], 5, seed)
        honest.append(tuned.mean)
        optimistic.append(tuned.optimistic_mean)
    se = np.std(honest) / np.sqrt(len(honest))
    assert abs(np.mean(honest) - 0.5) < 3 * se < 0.012
    assert np.mean(optimistic) > 0.55


def test_undefined_values_are_left_out():
    runs = {name: frame(run) for name, run in random_runs(36, runs=2).items()}
    qrels = judged(36)
    nothing = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "label": [0]})
    qrels = pl.concat([qrels.filter(pl.col("query_id") != "q1"), nothing])
    tuned = fusion.tune(
        runs, "rr", qrels=qrels, steps=2, n_folds=3, no_relevant="null", missing="zero"
    )
    assert tuned.values.filter(query_id="q1")["rr"].item() is None
    assert tuned.folds["queries"].sum() == 7
    assert tuned.candidates["queries"].to_list() == [7] * 3


def test_what_is_printed():
    ids = {"query_id": [1, 1, 2, 2], "doc_id": ["a", "b", "a", "b"]}
    runs = {
        "bm25": pl.DataFrame(ids | {"score": [9.0, 8.0, 7.0, 6.0]}),
        "dense": pl.DataFrame(ids | {"score": [0.1, 0.9, 0.2, 0.8]}),
    }
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["b", "b"], "label": 1})
    tuned = fusion.tune(runs, "rr", qrels=qrels, n_folds=2)
    text = str(tuned)
    assert "bm25=0.1, dense=0.9" in text
    assert "6 more candidates." in text
    assert "Cross-validated mean: 1.0000" in text
    assert tuned.to_markdown().count("|") > 20


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "isr"}, ValueError, "'isr' has no parameter and no weights"),
        ({"method": "slidefuse"}, ValueError, "'slidefuse' learns from judgments"),
        (
            {"method": "probfuse", "grid": {"n_segments": [5]}},
            ValueError,
            r"give fuse\(train=\) some",
        ),
        ({"grid": {"k": [1]}}, TypeError, "'sum' takes no k; k is of rrf"),
        ({"grid": {"weights": []}}, ValueError, r"grid\['weights'\] must be a list"),
        ({"method": "rrf", "grid": {"k": [-1]}}, ValueError, "k must be a number"),
        ({"n_folds": 1}, ValueError, "n_folds must be a whole number of at least 2"),
        ({"n_folds": 3}, ValueError, "3 folds of 2 queries: give n_folds= of at most"),
        ({"seed": "x"}, ValueError, "seed must be a whole number"),
        ({"measure": "num_ret"}, ValueError, "'num_ret' is no mean over queries"),
        ({"measure": ["rr", "ap"]}, ValueError, "measure must be one measure"),
        ({"no_relevant": "null"}, pr.DataError, "no query has a value to choose by"),
    ],
)
def test_wrong_arguments(options, error, message):
    run = frame({"q1": {"x": 1.0}, "q2": {"x": 1.0}})
    qrels = frame({"q1": {"x": 0}, "q2": {"x": 0}}, score="label")
    options = {"measure": "rr", "steps": 2, "n_folds": 2} | options
    with pytest.raises(error, match=message):
        fusion.tune({"a": run, "b": run}, qrels=qrels, **options)
