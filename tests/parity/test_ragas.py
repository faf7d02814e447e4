"""Ragas: context precision and recall, without a language model."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace

import pytest
from parity.compare import need, remark
from parity.id_lists import compare_lists, id_lists, liked

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

precision = need("ragas.metrics._context_precision")
recall = need("ragas.metrics._context_recall")
samples = need("ragas.dataset_schema")
strings = need("ragas.metrics._string")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["ragas"].equal
EPSILON = 2e-10  # it divides by the hits + 1e-10


def scored(metric, **columns):
    sample = samples.SingleTurnSample(**columns)
    return asyncio.run(metric._single_turn_ascore(sample, callbacks=None))


def by_ids(kind):
    def theirs(ids, grades, k):
        return scored(
            kind(), retrieved_context_ids=ids[:k], reference_context_ids=liked(grades)
        )

    return theirs


def context_precision(ids, grades, k):
    """By verdicts, as a language model gives them; and by equal texts."""
    verdicts = [SimpleNamespace(verdict=int(grades.get(d, 0) > 0)) for d in ids[:k]]
    metric = object.__new__(precision.ContextPrecision)
    value = metric._calculate_average_precision(verdicts)
    if any(verdict.verdict for verdict in verdicts):
        exact = precision.NonLLMContextPrecisionWithReference(
            distance_measure=strings.ExactMatch()
        )
        texts = dict(retrieved_contexts=ids[:k], reference_contexts=liked(grades))
        assert scored(exact, **texts) == value
    return float(value)


THEIRS = {
    "ap": context_precision,
    "precision": by_ids(precision.IDBasedContextPrecision),
    "recall": by_ids(recall.IDBasedContextRecall),
}


@pytest.mark.parametrize("metric", EQUAL)
def test_ragas(metric):
    note = "divides by the hits + 1e-10" if metric == "ap" else ""
    slack = {"tolerance": EPSILON, "note": note} if metric == "ap" else {}
    compare_lists("ragas", metric, THEIRS[metric], [id_lists(10)], **slack)


@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_copies_of_ids(metric):
    convention = pr.CONVENTIONS["ragas"].replace(on_duplicate="best")
    data, note = [id_lists(11, copies=True)], "of lists with copies: on_duplicate=best"
    compare_lists(convention, metric, THEIRS[metric], data, cutoffs=[None], note=note)


def test_empty_lists_have_no_precision():
    assert math.isnan(THEIRS["precision"]([], {"a": 1}, None))
    assert THEIRS["recall"]([], {"a": 1}, None) == 0
    remark("ragas", "precision", "undefined where nothing is retrieved")
