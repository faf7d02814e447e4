"""Bounds: every labeling and every order of small lists, through plain loops."""

from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
from inspect import signature

import numpy as np
import polars as pl
import pytest
from reference import METRICS as REFERENCE
from reference import Doc
from slow import slow
from vocabularies import METRICS

import polars_rank as pr
from polars_rank.conventions.tools import complete_arguments
from polars_rank.uncertainty.bounds.known_bounds import ABOUT_JUDGING
from polars_rank.uncertainty.bounds.labelings import SCHEMES
from polars_rank.uncertainty.bounds.tie_orders import WAYS

# Parameters that make another class of a measure, beside none.
VARIANTS: dict[str, list[dict]] = {
    "precision": [{"k": 2}, {"k": 3, "divisor": "min_k_R"}, {"divisor": "retrieved"}],
    "recall": [{"k": 2}, {"k": 2, "divisor": "min_k_R"}],
    "f1": [{"k": 2}],
    "f_measure": [{"k": 2, "x": 3.0}],
    "ap": [
        {"k": 2},
        *({"k": 3, "divisor": d} for d in ("min_k_R", "min_k_R_n", "hits", "k")),
        {"divisor": "hits"},
        {"rel": 2},
    ],
    "cg": [{"k": 2, "gain": "exp2"}],
    "dcg": [{"k": 2}, {"discount": "position"}],
    "ndcg": [
        {"k": 2},
        {"k": 3, "gain": "exp2"},
        {"gain": "exp2", "discount": "log2_from_2"},
        {"gain": "binary"},
        {"rel": 2},
        *({"ideal": i} for i in ("retrieved", "min_k_n", "k")),
        {"gain": {1: 2.0, 2: 2.5}},
    ],
    "err": [{"k": 2}, {"max_grade": "query"}, {"stop": "linear"}],
    "nerr": [{"k": 2}, {"max_grade": "query"}],
    "pfound": [{"max_grade": "query"}],
    "rbp": [{"scale": 3.0}, {"k": 2}, {"gain": "binary"}],
    "mcc": [{"k": 2}],
    "binary_accuracy": [{"k": 2}],
    "fall_out": [{"k": 2}],
    "mean_label": [{"k": 2}],
    "overlap": [{"k": 2}],
    "jaccard": [{"k": 2}],
    "interpolated_precision": [{"recall": 0.5}],
    "q_measure": [{"k": 2}, {"beta": 3}],
    "compat": [{"normalize": False}],
    "auc": [{"k": 2}],
    "bpm": [{"k": 3}],
    "kendall_tau": [{"k": 2}],
    "squared_error": [{"k": 2}],
}
TOP = 2


def asked():
    for name in METRICS:
        if name in ABOUT_JUDGING:
            continue
        for params in [{}, *VARIANTS.get(name, [])]:
            yield name, params


def lists(rng, count, top=TOP, size=5, free=3, tied=False):
    """Documents of queries: some unjudged, some judged but not retrieved."""
    found = []
    for _ in range(count):
        n = rng.randint(1, size)
        labels: list[float | None] = [rng.randint(0, top) for _ in range(n)]
        for i in rng.sample(range(n), rng.randint(0, min(free, n))):
            labels[i] = None
        scores = [rng.randint(1, 3) if tied else float(n - i) for i in range(n)]
        docs = [
            Doc(f"d{i}", float(s), y)
            for i, (s, y) in enumerate(zip(scores, labels, strict=True))
        ]
        docs += [
            Doc(f"m{i}", None, rng.randint(0, top)) for i in range(rng.randint(0, 2))
        ]
        found.append(docs)
    return found


def frames(found):
    run = [(q, d.id, d.score) for q, ds in enumerate(found) for d in ds]
    qrels = [(q, d.id, d.label) for q, ds in enumerate(found) for d in ds]
    qrels = [row for row in qrels if row[2] is not None]
    # A query nobody judged would be left out.
    qrels += [(q, "never", 0) for q in range(len(found))]
    return (
        pl.DataFrame(
            [r for r in run if r[2] is not None],
            {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64},
            orient="row",
        ),
        pl.DataFrame(
            qrels,
            {"query_id": pl.Int64, "doc_id": pl.String, "label": pl.Float64},
            orient="row",
        ),
    )


def all_labels(docs, top=TOP):
    """Every labeling, and the judgments as they are."""
    docs = [*docs, Doc("never", None, 0)]
    yield docs
    free = [i for i, d in enumerate(docs) if d.label is None]
    for labels in itertools.product(range(top + 1), repeat=len(free)):
        own = dict(zip(free, labels, strict=True))
        yield [Doc(d.id, d.score, own.get(i, d.label)) for i, d in enumerate(docs)]


def all_orders(docs):
    """Every order of tied documents, whose scores stay equal."""
    found = [d for d in docs if d.score is not None]
    rest = [d for d in docs if d.score is None]
    for order in itertools.permutations(found):
        scores = [d.score for d in order]
        if scores == sorted(scores, reverse=True):
            yield [*order, *rest]


def value(name, params, docs):
    policy = {n: v for n, v in params.items() if n == "no_relevant"}
    own = {n: v for n, v in params.items() if n not in policy}
    complete = complete_arguments(METRICS[name], own) | policy
    reference = REFERENCE[name]
    order = {"ties": "order"} if "ties" in signature(reference).parameters else {}
    return reference(docs, **order, **complete)


def brute(name, params, variants):
    values = [value(name, params, docs) for docs in variants]
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if known else (None, None)


def check(found, wanted, what):
    for row, (low, high) in zip(found, wanted, strict=True):
        assert row["lower"] == pytest.approx(low, abs=1e-9), (what, row)
        assert row["upper"] == pytest.approx(high, abs=1e-9), (what, row)
        if row["value"] is not None and low is not None:
            assert row["exact"] in (True, False)


def contract(names, count, seed, top=TOP, **options):
    """The bounds over labels are those of all labelings."""
    found = lists(random.Random(seed), count, top, **options)
    run, qrels = frames(found)
    got = pr.bounds(
        run, named(names), qrels=qrels, max_grade=top, per_query=True, ties="order"
    )
    check_each(got, names, [[*all_labels(docs, top)] for docs in found])


def named(names):
    """A measure for each name and its parameters, called ``0``, ``1`` and so on."""
    return [
        pr.measure(name, name=str(i), **params)
        for i, (name, params) in enumerate(names)
    ]


def check_each(got, names, variants):
    """The bounds of each measure are those of all variants of each query."""
    for i, (name, params) in enumerate(names):
        rows = got.filter(measure=str(i)).sort("query_id").iter_rows(named=True)
        wanted = [brute(name, params, docs) for docs in variants]
        check(rows, wanted, (name, params))


def in_tens(names):
    names = list(names)
    return [names[i : i + 10] for i in range(0, len(names), 10)]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("ndcg", {"k": 2, "gain": "exp2"}),
        ("recall", {"k": 2}),
        ("nerr", {}),
        ("p_measure", {}),
    ],
)
def test_labels_of_usual_measures(name, params):
    contract([(name, params)], 12, 1)


JUDGED_ALONE = [  # of which an unjudged document is no document without relevance
    ("inf_ap", {}), ("bpref", {}), ("rbo", {}), ("kendall_tau", {}), ("jaccard", {}),
    ("squared_error", {"k": 2}), ("coverage_error", {}), ("listmle", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "tied", "per_query"),
    [
        *((JUDGED_ALONE, tied, not tied) for tied in (False, True)),
        *(slow(JUDGED_ALONE, tied, tied) for tied in (False, True)),
        *(
            slow(ten, tied, (i + tied) % 2 == 0)
            for i, ten in enumerate(in_tens(asked()))
            for tied in (False, True)
        ),
    ],
    ids=lambda value: value[0][0] if isinstance(value, list) else None,
)
def test_a_value_is_within_its_own_limits(names, tied, per_query):
    over = ("labels", "ties") if tied else ("labels",)
    found = lists(random.Random(31), 30, size=4 if tied else 5, tied=tied)
    run, qrels = frames(found)
    options = {"qrels": qrels, "max_grade": TOP, "over": over, "per_query": per_query}
    options |= {} if tied else {"ties": "order"}
    for _ in range(2):
        got = pr.bounds(run, named(names), **options)
        now = "value" if per_query else "mean"
        now = "difference" if "baseline" in options else now
        wrong = got.filter(~pl.col(now).is_between("lower", "upper"))
        assert wrong.is_empty(), wrong.with_columns(pl.lit(str(names)))
        if not per_query and any(METRICS[n].aggregate != "mean" for n, _ in names):
            break  # of sums and geometric means, whose differences are no means
        # And the difference of two systems that rank the same documents otherwise.
        turned = run.with_columns(-pl.col("score"), system=pl.lit("b"))
        run = pl.concat([run.with_columns(system=pl.lit("a")), turned])
        options |= {"system": "system", "baseline": "a"}


@pytest.mark.slow
@pytest.mark.parametrize("names", in_tens(asked()), ids=lambda ten: ten[0][0])
def test_labels_of_every_measure(names):
    contract(names, 10, 2)
    contract(names, 10, 3, top=1, free=4)


@pytest.mark.parametrize(
    ("name", "params"),
    [("dcg", {}), ("ndcg", {}), ("rbp", {"scale": 9}), ("q_measure", {})],
)
def test_gains_that_fall_with_the_grade(name, params):
    """A mapping leaves out grade 3, so that its gain is below that of 2."""
    contract([(name, {**params, "gain": {1: 3.5, 2: 9}})], 12, 12, top=3)


@pytest.mark.parametrize(
    ("name", "params", "grades", "top"),
    [
        ("bpm", {}, [None, 1, 2, 3], 3),
        ("bpm_dynamic", {"median": 0.25}, [0, None, None, None, 2], 2),
        ("ncu_gu", {"gain": "binary"}, [0, None, None, None, 1], 2),
        ("q_measure", {"gain": "exp2"}, [None, None, 2.25, None, 2.25], 1),
        ("ncu_rb", {"gain": "exp2"}, [None, None, 2.25, None, 2.25], 1),
        ("g_measure", {"gain": lambda grade: grade + 0.5}, [None, None, None], 2),
    ],
)
def test_labels_that_no_short_cut_finds(name, params, grades, top):
    docs = [Doc(f"d{i}", float(-i), g) for i, g in enumerate(grades)]
    run, qrels = frames([docs, [Doc("d0", 1.0, 1)]])
    got = pr.bounds(
        run, pr.measure(name, **params), qrels=qrels, max_grade=top, ties="order",
        per_query=True,
    ).row(0, named=True)  # fmt: skip
    low, high = brute(name, params, all_labels(docs, top))
    assert (got["lower"], got["upper"]) == (pytest.approx(low), pytest.approx(high))


def test_labels_of_a_blended_ratio_are_not_sorted():
    labels = {"d0": None, "d1": 3, "d2": None, "d3": None, "d4": 0}
    orders = {"a": ["d0"], "b": ["d2", "d4", "d1", "d3"]}
    run, qrels = pooled([(orders, labels)])
    params = {"beta": 10, "gain": "exp2"}
    got = pr.bounds(
        run, pr.measure("q_measure", **params), qrels=qrels, max_grade=3,
        system="system", universe="pool", per_query=True, ties="order",
    )  # fmt: skip
    every = (docs["b"] for docs in pool_labelings(orders, labels, 3))
    low, high = brute("q_measure", params, every)
    row = got.filter(system="b").row(0, named=True)
    assert (row["lower"], row["upper"]) == (pytest.approx(low), pytest.approx(high))


def test_ties_in_the_order_of_rows():
    """Joins keep no order of rows by themselves."""
    found = lists(random.Random(16), 60, tied=True, size=4)
    run, qrels = frames(found)
    for name, params in (("dcg", {}), ("ap", {}), ("ndcg", {"k": 2})):
        measure = pr.measure(name, name=name, **params)
        got = pr.bounds(
            run, measure, qrels=qrels, max_grade=TOP, per_query=True, ties="order"
        )
        rows = [sorted(docs, key=lambda d: -(d.score or 0)) for docs in found]
        wanted = [brute(name, params, all_labels(docs)) for docs in rows]
        check(got.iter_rows(named=True), wanted, name)


@pytest.mark.parametrize(
    ("name", "params"),
    [("precision", {}), ("rr", {}), ("dcg", {"k": 2}), ("err", {}), ("set_ap", {})],
)
def test_labels_where_nothing_relevant_counts_as_1(name, params):
    """One label, of the last document, is less than none."""
    found = lists(random.Random(17), 25)
    run, qrels = frames(found)
    got = pr.bounds(
        run, pr.measure(name, name=name, **params), qrels=qrels, max_grade=TOP,
        per_query=True, ties="order", no_relevant="one",
    )  # fmt: skip
    params = {**params, "no_relevant": "one"}
    wanted = [brute(name, params, all_labels(docs)) for docs in found]
    check(got.iter_rows(named=True), wanted, name)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_labels_that_move_tied_documents(ties):
    rng = random.Random(13)
    found = lists(rng, 12, tied=True)
    run, qrels = frames(found)
    asked = [("ndcg", {}), ("ap", {}), ("recall", {"k": 2}), ("dcg", {"k": 2})]
    least = min if ties == "pessimistic" else max
    for name, params in asked:
        got = pr.bounds(
            run, pr.measure(name, name=name, **params), qrels=qrels, max_grade=TOP,
            per_query=True, ties=ties,
        )  # fmt: skip
        wanted = []
        for docs in found:
            values = [
                least(value(name, params, order) for order in all_orders(labeled))
                for labeled in all_labels(docs)
            ]
            wanted.append((min(values), max(values)))
        check(got.iter_rows(named=True), wanted, (name, ties))
        assert got["exact"].all()


def test_differences_where_labels_move_documents_are_limits():
    run = pl.DataFrame(
        {"system": ["a"] * 3 + ["b"] * 3, "query_id": 1, "doc_id": list("xyzzyx"),
         "score": [1.0, 1.0, 1.0, 3.0, 2.0, 1.0]}
    )  # fmt: skip
    qrels = pl.DataFrame({"query_id": [1], "doc_id": ["x"], "label": [1]})
    asked = {"qrels": qrels, "system": "system", "baseline": "a", "max_grade": 1}
    found = pr.bounds(run, "dcg@1", ties="optimistic", **asked).row(0, named=True)
    # The best of three tied documents is first: 1 whatever the labels; b has 0 or 1.
    assert (found["lower"], found["upper"], found["exact"]) == (-1.0, 0.0, False)


@pytest.mark.slow
def test_labels_of_documents_that_nobody_retrieved():
    found = lists(random.Random(23), 6, free=2)
    run, qrels = frames(found)
    more = [[*docs, *(Doc(f"free{i}", None, None) for i in range(2))] for docs in found]
    for names in in_tens(asked()):
        got = pr.bounds(
            run, named(names), qrels=qrels, max_grade=TOP, per_query=True,
            ties="order", max_unseen=2,
        )  # fmt: skip
        check_each(got, names, [[*all_labels(docs)] for docs in more])


@pytest.mark.slow
def test_labels_of_ndcg_on_many_lists():
    for seed, (gain, discount, k) in enumerate(
        itertools.product(
            ("linear", "exp2"), ("log2", "position", "log2_from_2"), (None, 1, 3)
        )
    ):
        params = {"gain": gain, "discount": discount}
        params |= {} if k is None else {"k": k}
        contract([("ndcg", params)], 60, seed, top=3, size=6, free=4)


def ties(names, found):
    """The bounds over ties are those of all orders."""
    run, qrels = frames(found)
    orders = [[*all_orders([*docs, Doc("never", None, 0)])] for docs in found]
    for ten in in_tens(names):
        got = pr.bounds(run, named(ten), qrels=qrels, over="ties", per_query=True)
        check_each(got, ten, orders)


ABOUT = [
    ("judged", {"k": 2}), ("unjudged", {"k": 2}), ("rbp_residual", {"k": 3}),
    ("rbp_residual", {}), ("cg", {"k": 2, "gain": {1: 3.0, 2: 1.0}}),
    ("ndcg", {"gain": {1: 3.0, 2: 1.0}}), ("q_measure", {"gain": {1: 3.0, 2: 1.0}}),
    ("ap", {"rel": 0}), ("precision", {"k": 2, "rel": 0}), ("mean_label", {"k": 3}),
    ("ap", {"k": 2, "divisor": "hits"}), ("p_measure", {"rel": 2}),
    ("opa", {"k": 2}), ("relevant_above", {"k": 2}), ("pair_accuracy", {"k": 3}),
    ("hinge", {"k": 2}), ("bpm", {"T": 0.5, "k": 10}), ("mcc", {"k": 3, "rel": 2}),
    ("fall_out", {"k": 3, "rel": 2}),
]  # fmt: skip


@pytest.mark.parametrize("count", [6, slow(12)])
def test_ties_of_every_measure(count):
    names = [*asked(), *ABOUT]
    found = lists(random.Random(4), count, tied=True, size=5)
    ties(names if count > 6 else names[::20], found)


@pytest.mark.slow
def test_ties_that_a_cutoff_divides():
    """Long blocks, of which some documents are inside."""
    names = [n for n in ABOUT if n[0] in ("judged", "unjudged", "rbp_residual")]
    names += [
        (name, {"k": k, **params})
        for k in (2, 3, 5)
        for name, params in (
            ("mean_label", {}), ("ap", {"divisor": "hits"}), ("mcc", {}),
            ("fall_out", {}), ("binary_accuracy", {}),
            ("ap", {"divisor": "hits", "rel": 2}),
        )
    ]  # fmt: skip
    rng = random.Random(19)
    found = []
    for _ in range(24):
        labels = [rng.choice([None, 0, 0, 1, 2]) for _ in range(6)]
        docs = [
            Doc(f"d{i}", float(rng.random() < 0.7), y) for i, y in enumerate(labels)
        ]
        found.append([*docs, Doc("m", None, rng.randint(0, TOP))])
    ties(names, found)


@pytest.mark.slow
def test_too_many_orders_are_refused():
    log = {"query_id": 1, "doc_id": range(8), "score": [1] * 8, "label": [1, 0] * 4}
    told = "40320 orders of the tied documents of a query would have to be tried"
    with pytest.raises(ValueError, match=told):
        pr.bounds(pl.DataFrame(log), "p_measure", over="ties")
    found = pr.bounds(pl.DataFrame(log), "p_measure", over="ties", max_orders=50_000)
    assert found["upper"].item() > found["lower"].item()
    nine = pl.DataFrame(
        log | {"label": [None] * 6 + [1, 0], "score": [1] * 4 + [2] * 4}
    )
    told = r"36864 orders .* under 64 labelings"
    with pytest.raises(ValueError, match=told):
        pr.bounds(nine, "p_measure", over=("ties", "labels"))


@pytest.mark.slow
def test_ties_and_labels_together():
    rng = random.Random(7)
    found = lists(rng, 25, tied=True, size=4, free=2)
    run, qrels = frames(found)
    for name, params in (
        ("ndcg", {}), ("ndcg", {"k": 2}), ("ap", {}), ("recall", {"k": 2}),
        ("precision", {"k": 2}), ("rr", {}), ("err", {}), ("nerr", {}), ("rbp", {}),
        ("mcc", {"k": 2}), ("fall_out", {"k": 2}), ("mean_label", {"k": 2}),
        ("ap", {"k": 2, "divisor": "hits"}), ("p_measure", {}), ("first_click", {}),
        ("jaccard", {"k": 2}), ("bpm", {"k": 3}), ("ap", {"rel": 0}),
    ):  # fmt: skip
        got = pr.bounds(
            run, pr.measure(name, name=name, **params), qrels=qrels, max_grade=TOP,
            over=("ties", "labels"), per_query=True,
        )  # fmt: skip
        wanted = [
            brute(
                name,
                params,
                (o for labels in all_labels(docs) for o in all_orders(labels)),
            )
            for docs in found
        ]
        check(got.iter_rows(named=True), wanted, (name, params))


def systems(rng, count, top=TOP):
    """Two systems that rank the same or other documents."""
    found = []
    for _ in range(count):
        docs = [f"d{i}" for i in range(5)]
        labels = {d: rng.choice([None, None, *range(top + 1)]) for d in docs}
        found.append(({s: rng.sample(docs, rng.randint(1, 4)) for s in "ab"}, labels))
    return found


def pooled(found):
    run = [
        (s, q, d, float(9 - i))
        for q, (orders, _) in enumerate(found)
        for s, docs in orders.items()
        for i, d in enumerate(docs)
    ]
    qrels = [
        (q, d, y) for q, (_, labels) in enumerate(found) for d, y in labels.items()
        if y is not None
    ]  # fmt: skip
    qrels += [(q, "never", 0) for q in range(len(found))]
    return (
        pl.DataFrame(run, ["system", "query_id", "doc_id", "score"], orient="row"),
        pl.DataFrame(qrels, ["query_id", "doc_id", "label"], orient="row"),
    )


def pool_labelings(orders, labels, top=TOP):
    seen = {d for docs in orders.values() for d in docs}
    free = [d for d, y in labels.items() if y is None and d in seen]
    for own in itertools.product(range(top + 1), repeat=len(free)):
        full = {d: y for d, y in labels.items() if y is not None}
        full |= dict(zip(free, own, strict=True)) | {"never": 0}
        yield {
            s: [
                Doc(d, float(9 - docs.index(d)) if d in docs else None, y)
                for d, y in sorted(
                    full.items(), key=lambda x: docs.index(x[0]) if x[0] in docs else 9
                )
            ]
            for s, docs in orders.items()
        }


DIFFERENCES = [
    ("ndcg", {}), ("ndcg", {"k": 2, "gain": "exp2"}), ("recall", {"k": 2}),
    ("recall", {}), ("dcg", {"k": 3}), ("precision", {"k": 2}), ("hits", {}),
    ("rbp", {"scale": 2.0}), ("sdcg", {"k": 3}), ("cg", {}),
]  # fmt: skip


@pytest.mark.parametrize("count", [8, slow(150)])
def test_differences_under_shared_labels(count):
    found = systems(random.Random(8), count)
    run, qrels = pooled(found)
    for name, params in DIFFERENCES[: 3 if count == 8 else None]:
        got = pr.bounds(
            run, pr.measure(name, name=name, **params), qrels=qrels, max_grade=TOP,
            system="system", baseline="a", per_query=True, ties="order",
        )  # fmt: skip
        assert got["exact"].all()
        for row, (orders, labels) in zip(got.iter_rows(named=True), found, strict=True):
            differences = [
                value(name, params, docs["b"]) - value(name, params, docs["a"])
                for docs in pool_labelings(orders, labels)
            ]
            assert row["lower"] == pytest.approx(min(differences), abs=1e-9), (
                name,
                row,
            )
            assert row["upper"] == pytest.approx(max(differences), abs=1e-9), (
                name,
                row,
            )
            assert row["lower"] - 1e-9 <= row["difference"] <= row["upper"] + 1e-9


def test_other_differences_are_limits():
    found = systems(random.Random(9), 10)
    run, qrels = pooled(found)
    got = pr.bounds(
        run, "ap", qrels=qrels, max_grade=1, system="system", baseline="a",
        per_query=True, ties="order",
    )  # fmt: skip
    assert not got["exact"].any()
    for row, (orders, labels) in zip(got.iter_rows(named=True), found, strict=True):
        for docs in pool_labelings(orders, labels, 1):
            difference = value("ap", {}, docs["b"]) - value("ap", {}, docs["a"])
            assert row["lower"] - 1e-9 <= difference <= row["upper"] + 1e-9


def test_pool_counts_what_others_retrieved():
    found = systems(random.Random(10), 12)
    run, qrels = pooled(found)
    for name, params in (
        ("recall", {"k": 2}),
        ("ndcg", {}),
        ("ap", {}),
        ("set_ap", {}),
    ):
        got = pr.bounds(
            run, pr.measure(name, name=name, **params), qrels=qrels, max_grade=TOP,
            system="system", universe="pool", per_query=True, ties="order",
        ).sort("query_id", "system")  # fmt: skip
        rows = iter(got.iter_rows(named=True))
        for orders, labels in found:
            for system in "ab":
                every = (x[system] for x in pool_labelings(orders, labels))
                low, high = brute(name, params, every)
                row = next(rows)
                assert row["lower"] == pytest.approx(low, abs=1e-9)
                assert row["upper"] == pytest.approx(high, abs=1e-9)


def test_the_mean_of_the_bounds():
    found = lists(random.Random(11), 8)
    run, qrels = frames(found)
    asked = ["ndcg@3", "gm_ap", "hits", "kendall_tau"]
    each = pr.bounds(run, asked, qrels=qrels, max_grade=2, per_query=True)
    whole = pr.bounds(run, asked, qrels=qrels, max_grade=2)
    assert whole["measure"].to_list() == asked
    assert each.filter(measure="kendall_tau")["exact"].any()
    for row in whole.iter_rows(named=True):
        own = each.filter(measure=row["measure"])
        assert row["queries"] == own["value"].count()
        assert row["exact"] == own["exact"].all() == (row["measure"] != "kendall_tau")
        known = own.drop_nulls("value")  # the queries that the mean value is of
        for end, of_queries in (("lower",) * 2, ("mean", "value"), ("upper",) * 2):
            mean = known[of_queries].mean()
            wanted = math.exp(mean) if row["measure"] == "gm_ap" else mean
            assert row[end] == pytest.approx(wanted)
    assert whole.schema["queries"] == pl.UInt32
    evaluated = pr.evaluate(run, asked, qrels=qrels)
    assert whole["mean"].to_list() == list(evaluated.select(asked).row(0))


@pytest.mark.slow
def test_means_of_bounds_are_exact():
    """The sum is rounded once, whatever the order and number of the queries."""
    draw = np.random.default_rng(5)
    run = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(500), 4),
            "doc_id": np.tile(np.arange(4), 500),
            "score": draw.random(2000),
        }
    )
    qrels = run.select("query_id", "doc_id", label=draw.integers(0, 3, 2000))
    qrels = qrels.filter(pl.Series(draw.random(2000) < 0.7))
    options = {"over": "labels", "max_grade": 2}
    for rows in (run, run.sample(fraction=1.0, shuffle=True, seed=1)):
        each = pr.bounds(rows, "ndcg@3", qrels=qrels, per_query=True, **options)
        whole = pr.bounds(rows, "ndcg@3", qrels=qrels, **options).row(0, named=True)
        assert whole["queries"] == len(each)
        for end, of_queries in (("mean", "value"), ("lower",) * 2, ("upper",) * 2):
            assert whole[end] == math.fsum(each[of_queries]) / len(each)


def test_missing_queries_and_default_grades():
    run = pl.DataFrame({"query_id": [1, 3], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["b", "a"], "label": [3, 1]})
    found = pr.bounds(run, ["ndcg", "dcg"], qrels=qrels, per_query=True)
    assert found["query_id"].to_list() == [1, 1, 2, 2]
    rows = found.select("measure", "lower", "upper").rows()
    assert rows[1] == ("dcg", 0.0, 3.0)  # the largest label is 3
    assert rows[2] == ("ndcg", 0.0, 0.0)
    runs = {"one": run, "two": run}
    both = pr.bounds(runs, "ndcg", qrels=qrels, per_query=True)
    assert both.filter(system="two").drop("system").equals(found.filter(measure="ndcg"))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"baseline": "a"}])
def test_ids_of_other_sizes(options):
    found = systems(random.Random(14), 4)
    run, qrels = pooled(found)
    number = pl.col("doc_id").replace({"never": "d9"}).str.slice(1).cast(pl.Int64)
    run, qrels = (frame.with_columns(doc_id=number) for frame in (run, qrels))
    asked = {"system": "system", "per_query": True, "max_grade": 2, **options}
    wanted = pr.bounds(run, ["ndcg", "ap"], qrels=qrels, **asked)
    small = {"query_id": pl.Int32, "doc_id": pl.Int16}
    for one, other in ((run.cast(small), qrels), (run, qrels.cast(small))):
        assert pr.bounds(one, ["ndcg", "ap"], qrels=other, **asked).equals(wanted)


ODD = [("place", "j"), ("u", "row"), ("m", "x"), ("m0", "turned")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "odd"),
    [
        ({"baseline": "a"}, ODD[::2]),
        ({"over": "ties"}, ODD[1::2]),
        *(slow(options, ODD) for options in ({}, {"baseline": "a"}, {"over": "ties"})),
    ],
    ids=str,
)
def test_columns_of_any_name(options, odd):
    run, qrels = pooled(systems(random.Random(18), 4))
    asked = {"per_query": True, "max_grade": 2, **options}
    wanted = pr.bounds(run, ["ndcg", "ap"], qrels=qrels, system="system", **asked)
    for query, system in odd:
        names = {"query_id": query, "system": system}
        got = pr.bounds(
            run.rename(names), ["ndcg", "ap"], qrels=qrels.rename({"query_id": query}),
            query=query, system=system, **asked,
        )  # fmt: skip
        assert got.equals(wanted.rename(names)), names


def test_judgments_without_labels_are_of_relevant_documents():
    run = pl.DataFrame({"query_id": 1, "doc_id": [*"abc"], "score": [3, 2, 1]})
    judged = pl.DataFrame({"query_id": 1, "doc_id": ["b", "z"]})
    found = pr.bounds(run, ["ap", "recall@2"], qrels=judged, label=None)
    told = pr.bounds(run, ["ap", "recall@2"], qrels=judged.with_columns(label=1))
    assert found.equals(told)
    with pytest.raises(ValueError, match="tell documents apart"):
        pr.bounds(run, "ap", qrels=judged, doc=None)
    with pytest.raises(ValueError, match="label=None is for judgments"):
        pr.bounds(run, "ap", label=None)


@pytest.mark.slow
def test_ranks_and_distances():
    run, qrels = pooled(systems(random.Random(15), 4))
    run = run.filter(pl.col("score").is_first_distinct().over("system", "query_id"))
    asked = {"qrels": qrels, "system": "system", "max_grade": 2}
    wanted = pr.bounds(run, ["ndcg", "ap"], **asked)
    key = ["system", "query_id"]
    rank = pl.col("score").rank("ordinal", descending=True).over(key)
    ranked = run.with_columns(rank=rank).drop("score")
    assert pr.bounds(ranked, ["ndcg", "ap"], rank="rank", **asked).equals(wanted)
    far = run.with_columns(-pl.col("score"))
    assert pr.bounds(far, ["ndcg", "ap"], descending=False, **asked).equals(wanted)
    for wrong, words in (
        (pl.lit(1), "duplicate ranks"),
        (pl.col("rank") - 1, "whole numbers of at least 1"),
        (pl.when(pl.col("rank") > 1).then("rank"), "whole numbers of at least 1"),
    ):
        with pytest.raises(pr.DataError, match=words):
            pr.bounds(ranked.with_columns(rank=wrong), "ap", rank="rank", **asked)
    with pytest.raises(ValueError, match="looks at the scores themselves"):
        pr.bounds(ranked, "hinge", rank="rank", **asked)


ONE = {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1]}


@pytest.mark.parametrize(
    ("measure", "options", "words"),
    [
        ("ndcg", {"over": "label"}, "over must be"),
        ("judged@2", {}, "about who was judged"),
        ("ndcg", {"no_relevant": "skip"}, "which queries are in the mean"),
        ("ndcg", {"unjudged": "drop"}, "no labels"),
        ("ndcg", {"convention": "haystack"}, "leaves copies in the list"),
        ("ndcg", {"ties": "expected"}, "need an order"),
        ("ndcg", {"max_grade": 0}, "max_grade must be"),
        ("ndcg", {"baseline": "a"}, "name the column of systems"),
        ("ndcg", {"universe": "pool"}, "give qrels="),
        ("ndcg", {"baseline": "a", "over": "ties"}, "needs over='labels'"),
        ("ndcg", {"query": "doc"}, "rename that of the queries"),
        ("ndcg", {"query": "lower"}, "'lower' is a column of bounds itself"),
        ("ndcg", {"universe": "all"}, "universe must be"),
        ("p_measure", {"max_orders": 1}, "more than max_orders=1"),
        ({"mine": lambda r: r.hits_at(2)}, {}, "is your own measure"),
        ("alpha_ndcg", {}, "subtopics"),
        ("ndcg", {"score": "scroe"}, "scroe"),
    ],
)  # fmt: skip
def test_refused(measure, options, words):
    log = pl.DataFrame(ONE | {"label": [1, None, 0]})
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=words):
        pr.bounds(log, measure, **options)


def test_bounds_of_copies_made_one():
    """Those of the list without the worse copies."""
    alone = {"query_id": 1, "doc_id": ["a", "b", "c"], "score": [4, 2, 2]}
    twice = {"query_id": 1, "doc_id": ["a", "b", "a", "c"], "score": [4, 2, 3, 2]}
    qrels = pl.DataFrame({"query_id": 1, "doc_id": ["a", "c"], "label": [1, 1]})
    found, wanted = (
        pr.bounds(
            pl.DataFrame(run),
            ["ndcg", "precision@2"],
            qrels=qrels,
            over=["ties", "labels"],
            on_duplicate="best",
        )
        for run in (twice, alone)
    )
    assert found.equals(wanted)


def test_schemes_name_metrics():
    assert {*SCHEMES, *WAYS, *ABOUT_JUDGING} <= {*METRICS}


MANY = """
import polars as pl, polars_rank as pr
rows = [(s, q, d, 1.0) for s in "ab" for q in (1, 2) for d in "xy"]
run = pl.DataFrame(rows, schema=["system", "query_id", "doc_id", "score"], orient="row")
qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["x", "x"], "label": [1, 2]})
measures = [
    f"ndcg(gain={gain})@{k}" for gain in ("linear", "exp2") for k in range(1, 61)
]
found = pr.bounds(run, measures, qrels=qrels, system="system", baseline="a")
assert found["measure"].n_unique() == len(measures)
"""


@pytest.mark.slow
def test_many_measures_do_not_wait_for_each_other():
    """With few threads, where a plan of them all took minutes or never came back."""
    env = {**os.environ, "POLARS_MAX_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", MANY],
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr


def test_what_no_label_changes_is_the_value_to_the_last_bit():
    """nDCG's bounds are computed in another way than its value."""
    draw = random.Random(4)
    rows = [
        (q, f"d{i:02}", draw.random(), draw.randint(0, 3))
        for q in range(60)
        for i in range(10)
    ]
    log = pl.DataFrame(rows, ["query_id", "doc_id", "score", "label"], orient="row")
    found = pr.bounds(log, ["ndcg@10", "ap"], over=("ties", "labels"), per_query=True)
    assert found["lower"].equals(found["value"].alias("lower"))
    assert found["upper"].equals(found["value"].alias("upper"))
