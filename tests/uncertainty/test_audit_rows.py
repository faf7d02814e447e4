"""The audit, row by row: plain loops compute every alternative, its order and swaps."""

from __future__ import annotations

import math
import random
import struct
from itertools import combinations, pairwise
from typing import Any

import polars as pl
import pytest
from reference import METRICS, Doc, expected
from scipy import stats

import polars_rank as pr

Query = list[tuple[str, float]]
MEASURES: dict[str, tuple[str, dict[str, Any]]] = {
    "ndcg@3": ("ndcg", {"k": 3}),
    "ap": ("ap", {}),
    "precision@3": ("precision", {"k": 3}),
    "recall@2": ("recall", {"k": 2}),
    "rr": ("rr", {}),
    "dcg@2": ("dcg", {"k": 2}),
}
PARAMETERS = {
    "ap_divisor": "divisor",
    "precision_divisor": "divisor",
    "recall_divisor": "divisor",
    **{name: name for name in ("k", "rel", "gain", "discount", "ideal")},
}
NEAR = 1.0 + 1e-9  # 1.0 in single precision


def single(score: float) -> float:
    return struct.unpack("f", struct.pack("f", score))[0]


def value(
    run: Query | None, labels: dict[str, int], name: str, choice: str, other: Any
) -> float | None:
    """The value of a query; None: it is left out of the mean."""
    if run is None:
        return None if (choice, other) == ("missing", "skip") else 0.0
    if choice == "unjudged":
        run = [(d, s) for d, s in run if d in labels]
    if choice == "score_dtype":
        run = [(d, single(s)) for d, s in run]
    docs = [Doc(d, s, labels.get(d)) for d, s in run]
    if choice != "judgments":
        seen = {d for d, _ in run}
        docs += [Doc(d, None, label) for d, label in labels.items() if d not in seen]
    metric, options = MEASURES[name]
    loop = METRICS[metric]
    given: dict[str, Any] = {"ties": "doc_desc", "no_relevant": "zero", **options}
    if choice in PARAMETERS:
        number = choice in ("k", "rel")
        given[PARAMETERS[choice]] = int(other) if number else other
    elif choice == "ties" and other == "expected":
        return expected(loop, docs, **given)
    elif choice in ("ties", "no_relevant"):
        given[choice] = "one" if other == "one_unweighted" else other
    return loop(docs, **given)


def values(runs, qrels, name, choice="", other=None) -> list[float | None]:
    return [
        value(runs.get(query), labels, name, choice, other)
        for query, labels in qrels.items()
    ]


def mean(*asked) -> float | None:
    found = values(*asked)
    known = [v for v in found if v is not None]
    return math.fsum(known) / len(known) if known else None


def differ(one: list[float | None], other: list[float | None]) -> bool:
    """By the paired t test, at 5 %, of the queries that have both values."""
    moves = [a - b for a, b in zip(one, other, strict=True) if None not in (a, b)]
    if len(moves) < 2:
        return False
    if max(moves) - min(moves) < 1e-12:  # t is infinite, or has no value
        return abs(moves[0]) > 1e-12
    return stats.ttest_1samp(moves, 0.0).pvalue < 0.05


def logs(draw: random.Random):
    """Three systems, some of which lack queries; ties, and judgments with holes."""
    names = [f"d{i}" for i in range(7)]
    qrels, systems = {}, {s: {} for s in "abc"}
    for query in range(draw.randint(1, 5)):
        judged = draw.sample(names, draw.randint(2, 6))
        qrels[query] = {d: draw.choice([0, 0, 1, 2, 3]) for d in judged}
        if query == 0 or draw.random() < 0.6:
            qrels[query][judged[0]] = 2
        for runs in systems.values():
            lacks = query and 2 in qrels[query].values() and draw.random() < 0.2
            if not lacks:
                docs = draw.sample(names, draw.randint(1, 5))
                runs[query] = [(d, draw.choice([1.0, NEAR, 2.0, 3.0])) for d in docs]
        if draw.random() < 0.3:
            systems["b"] = {**systems["b"], query: systems["a"].get(query, [])}
            if not systems["b"][query]:
                del systems["b"][query]
    return systems, qrels


# Means that differ by rounding only are those of seeds 5 and 33.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 33])
@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
def test_every_row_is_a_loop(seed):
    systems, qrels = logs(random.Random(seed))
    frames = {
        s: pl.DataFrame(
            [(q, d, score) for q, docs in runs.items() for d, score in docs],
            schema=["query_id", "doc_id", "score"], orient="row",
        )
        for s, runs in systems.items()
    }  # fmt: skip
    judged = pl.DataFrame(
        [(q, d, label) for q, labels in qrels.items() for d, label in labels.items()],
        schema=["query_id", "doc_id", "label"], orient="row",
    )  # fmt: skip
    found = pr.audit(frames, list(MEASURES), qrels=judged)
    before = {(m, s): mean(systems[s], qrels, m) for m in MEASURES for s in systems}
    after: dict[tuple[str, ...], dict[str, float | None]] = {}
    for row in found.values.to_dicts():
        name, choice, other = row["measure"], row["choice"], row["value"]
        own = mean(systems[row["system"]], qrels, name, choice, other)
        after.setdefault((name, choice, other), {})[row["system"]] = own
        base = before[name, row["system"]]
        assert row["baseline_mean"] == pytest.approx(base, abs=1e-12)
        if own is None:
            assert row["mean"] is None, row
            continue
        assert row["mean"] == pytest.approx(own, abs=1e-12), row
        assert row["difference"] == pytest.approx(own - base, abs=1e-12), row
    sizes = []
    for row in found.choices.to_dicts():
        name = row["measure"]
        new = after[name, row["choice"], row["value"]]
        moves = [new[s] - before[name, s] for s in systems if new[s] is not None]
        known = [s for s in systems if new[s] is not None]
        if not moves:
            assert row["size"] is None
            continue
        assert row["min_difference"] == pytest.approx(min(moves), abs=1e-12), row
        assert row["max_difference"] == pytest.approx(max(moves), abs=1e-12), row
        assert row["size"] == pytest.approx(max(map(abs, moves)), abs=1e-12), row
        sizes.append(row["size"])
        swapped = [
            f"{a}, {b}"
            for a, b in combinations(known, 2)
            if (before[name, a] - before[name, b]) * (new[a] - new[b]) < 0
            and abs(before[name, a] - before[name, b]) > 1e-12
            and abs(new[a] - new[b]) > 1e-12
        ]
        assert row["swapped"] == swapped, row
        changed = name, row["choice"], row["value"]
        assert row["significant_swaps"] == [
            f"{a}, {b}"
            for a, b in combinations(known, 2)
            if f"{a}, {b}" in swapped
            and any(
                differ(*(values(systems[s], qrels, *how) for s in (a, b)))
                for how in ((name,), changed)
            )
        ], row
        orders = [[round(before[name, s], 12), round(new[s], 12)] for s in known]
        if len({a for a, _ in orders}) < 2 or len({b for _, b in orders}) < 2:
            assert row["tau"] is None, row
            continue
        tau = stats.kendalltau(*zip(*orders, strict=True)).statistic
        assert row["tau"] == pytest.approx(tau), row
    assert all(a >= b - 1e-12 for a, b in pairwise(sizes))


def test_swaps_that_are_more_than_noise():
    """a has the first document in 7 of 12 queries, b in 5, and sometimes two more."""
    first = {"a": range(7), "b": range(7, 12)}
    for most, significant in ((2, False), (12, True)):
        rows = []
        for query in range(12):
            for system, leads in first.items():
                more = system == "b" and query < most
                for place, hit in enumerate((query in leads, more, more)):
                    rows.append((system, query, 3 - place, int(hit)))
        names = ["system", "query_id", "score", "label"]
        log = pl.DataFrame(rows, names, orient="row")
        found = pr.audit(log, "precision@1", system="system", choices={"k": [3]})
        row = found.choices.row(0, named=True)
        assert row["swapped"] == ["a, b"]
        assert row["significant_swaps"] == (["a, b"] if significant else [])
        tests = []
        for k in (1, 3):
            one, other = (
                [
                    sum(hit for s, q, score, hit in rows if (s, q) == (system, query)
                        and score > 3 - k) / k
                    for query in range(12)
                ]
                for system in "ab"
            )  # fmt: skip
            tests.append(stats.ttest_rel(one, other).pvalue)
        assert (min(tests) < 0.05) == significant
        told = (
            "1 of them significantly" if significant else "none of them significantly"
        )
        assert told in found.verdict


@pytest.mark.parametrize(
    ("choice", "reason", "change"),
    [
        ("ties", "no scores of a query are equal", {"score": [2, 2, 1, 2]}),
        ("unjudged", "every retrieved document is judged", {"label": [1, None, 0, 1]}),
        ("gain", "every grade is 0 or 1", {"label": [2, 0, 1, 1]}),
        ("no_relevant", "every query has a relevant document", {"label": [1, 0, 0, 0]}),
        ("max_rank", "no list is longer than 3", None),
    ],
)
def test_why_a_choice_has_no_effect(choice, reason, change):
    log = pl.DataFrame(
        {
            "query_id": [1, 1, 1, 2],
            "doc_id": ["x", "y", "z", "x"],
            "score": [3, 2, 1, 2],
            "label": [1, 0, 0, 1],
        }
    )
    asked = ["dcg", "recall@3"]
    tried = {"max_rank": [3]} if choice == "max_rank" else [choice]
    found = pr.audit(log, asked, choices=tried)
    assert {*found.choices["note"]} == {reason}
    assert f"No effect here: {choice} ({reason})." in str(found)
    if change is None:
        found = pr.audit(log, asked, choices={"max_rank": [2]})
    else:
        other = log.with_columns(pl.Series(name, new) for name, new in change.items())
        found = pr.audit(other, asked, choices=tried)
    assert {*found.choices["note"]} == {None}


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
def test_reasons_about_judgments():
    run = pl.DataFrame({"query_id": [1], "doc_id": ["x"], "score": [1.0]})
    qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["x", "y"], "label": [1, 0]})
    tried = ["judgments", "missing"]
    found = pr.audit(run, "ndcg", qrels=qrels, choices=tried).choices
    assert dict(found.select("choice", "note").rows()) == {
        "judgments": "every document with a grade above 0 is retrieved",
        "missing": "no judged query is missing",
    }
    more = pl.DataFrame({"query_id": [1, 2], "doc_id": ["z", "x"], "label": [1, 0]})
    more = pl.concat([qrels, more])
    found = pr.audit(run, "ndcg", qrels=more, choices=tried).choices
    assert found["note"].to_list() == [None, None]


def test_a_depth_is_an_argument_of_evaluate():
    log = pl.DataFrame(
        {"query_id": [1] * 4, "score": [4, 3, 2, 1], "label": [1, 0, 1, 1]}
    )
    found = pr.audit(log, ["ap", "recall@3"], choices={"max_rank": [1, 3]}).values
    found = found.select("measure", "value", "mean")
    assert {row[:2]: row[2] for row in found.rows()} == {
        ("ap", "1"): pytest.approx(1 / 3),
        ("ap", "3"): pytest.approx((1 + 2 / 3) / 3),
        ("recall@3", "1"): pytest.approx(1 / 3),
        ("recall@3", "3"): pytest.approx(2 / 3),
    }
