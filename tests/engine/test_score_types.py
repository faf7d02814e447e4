"""Scores are compared in their own type: what Float64 would round is no tie.

Each query has small numbers as scores, which the plain loops see, moved to where the
neighbors of a number are the same Float64.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any, NamedTuple

import polars as pl
import pytest
from reference import METRICS as LOOPS
from reference import Doc
from slow import slow
from vocabularies import METRICS

import polars_rank as pr

ALL = [name for name in METRICS if name != "squared_error"]  # which sees no differences
FEW = ["auc", "kendall_tau", "hinge"]
COMPARING = [
    *("auc", "pair_accuracy", "opa", "ranking_loss", "lrap", "coverage_error"),
    *("kendall_tau", "kendall_distance", "weighted_tau", "tau_ap", "spearman"),
    *("pearson", "rbo", "hinge", "listmle"),
]


class Type(NamedTuple):
    """A type, a number in it, and the difference of neighbors."""

    dtype: pl.DataType | type[pl.DataType]
    base: Any
    unit: Any


TYPES = {
    "Int64": Type(pl.Int64, 2**53, 1),
    "nanoseconds": Type(pl.Int64, 1_700_000_000_000_000_000, 1),
    "UInt64": Type(pl.UInt64, 2**63 + 2**40, 1),
    "Int128": Type(pl.Int128, -(2**100), 1),
    "UInt128": Type(pl.UInt128, 2**100, 1),
    "Decimal": Type(pl.Decimal(30, 2), Decimal(2**60), Decimal("0.01")),
    "UInt8": Type(pl.UInt8, 4, 1),
    "Float32": Type(pl.Float32, 2.0**22, 0.5),
}


TRIED = {
    **{name: (name, FEW) for name in TYPES},
    "Int64-comparing": ("Int64", COMPARING),
    **{f"{name}-all": slow(name, ALL) for name in ("UInt128", "Decimal", "Float32")},
}
EVERY_TYPE = pytest.mark.parametrize(("name", "metrics"), TRIED.values(), ids=TRIED)


def small_queries() -> dict[str, list[Doc]]:
    """Judged lists with scores from -4 to 4."""
    rng = random.Random(4)
    return {
        f"q{q}": [
            Doc(f"d{i}", rng.randint(-4, 4), float(rng.randint(0, 3)))
            for i in range(rng.choice([2, 5, 9]))
        ]
        for q in range(8)
    }


def typed(kind: Type) -> tuple[pl.DataFrame, dict[str, list[Doc]]]:
    """A log with scores of the type, and the same documents near 0."""
    rows, near = [], {}
    for query, docs in small_queries().items():
        for d in docs:
            score = kind.base + d.score * kind.unit
            rows.append((query, d.id, score, int(d.label)))
        unit = float(kind.unit)
        near[query] = [Doc(d.id, d.score * unit, d.label) for d in docs]
    names = ["query_id", "doc_id", "score", "label"]
    types = [pl.String, pl.String, kind.dtype, pl.Int64]
    schema = dict(zip(names, types, strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row"), near


def check(found: pl.DataFrame, near: dict[str, list[Doc]]) -> None:
    assert set(found["query_id"]) == near.keys()
    for row in found.iter_rows(named=True):
        query = row.pop("query_id")
        for name, value in row.items():
            wanted = LOOPS[name](near[query])
            where = name, query, value, wanted
            if value is None or wanted is None:
                assert value is wanted, where
            else:
                assert math.isclose(value, wanted, rel_tol=1e-11, abs_tol=1e-12), where


@EVERY_TYPE
def test_in_frames(name, metrics):
    log, near = typed(TYPES[name])
    options = {"convention": pr.CONVENTIONS["trec_eval"].replace(ties="order")}
    check(pr.per_query(log, metrics, **options), near)
    run, qrels = log.drop("label"), log.drop("score").reverse()
    found = pr.per_query(run.lazy(), metrics, qrels=qrels.lazy(), **options)
    check(found.collect(), near)


@EVERY_TYPE
def test_in_expressions(name, metrics):
    log, near = typed(TYPES[name])
    label = pl.col("label").rank_eval
    values = [getattr(label, metric)("score").alias(metric) for metric in metrics]
    check(log.group_by("query_id").agg(values), near)


@pytest.mark.parametrize(
    ("scores", "dtype", "wanted"),
    [
        ([1.7e18 + 512, 1.7e18 + 256, 1.7e18], pl.Float64, 1.0),
        ([3e200, 2e200, 1e200], pl.Float64, 1.0),
        ([3e-200, 2e-200, 1e-200], pl.Float64, 1.0),
        ([1.5e308, 0.0, -1.5e308], pl.Float64, 1.0),
        ([2**63 - 1, -1, -(2**63) + 1], pl.Int64, 1.0),
        ([3e38, 2e38, 1e38], pl.Float32, 1.0),
        ([2e200, 3e200, 1e200], pl.Float64, 0.5),
        ([math.inf, 2.0, 1.0], pl.Float64, None),
    ],
)
def test_pearson_of_scores_of_any_size(scores, dtype, wanted):
    types = {"score": dtype}
    log = pl.DataFrame({"score": scores, "label": [3, 2, 1]}, schema_overrides=types)
    log = log.with_columns(query_id=1)
    by_expression = log.select(pl.col("label").rank_eval.pearson("score")).item()
    by_frame = pr.per_query(log, "pearson")["pearson"].item()
    for found in (by_expression, by_frame):
        if wanted is None:
            assert found is None
        else:
            assert math.isclose(found, wanted, rel_tol=1e-12)


def test_labels_of_any_size():
    log = pl.DataFrame({"score": [3, 2, 1], "label": [3e200, 2e200, 1e200]})
    assert log.select(pl.col("label").rank_eval.pearson("score")).item() == 1.0
