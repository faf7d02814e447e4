"""scikit-learn's ranking and classification measures, one call a query."""

from __future__ import annotations

import warnings

import pytest
from parity.against import against, both
from reference import random_queries

import polars_rank as pr

sklearn = pytest.importorskip("sklearn.metrics")
pytestmark = pytest.mark.parity


def test_area_under_the_curve():
    for max_fpr in (1, 0.1, 0.35, 0.8):

        def theirs(docs, max_fpr=max_fpr):
            scores, labels = both(docs)
            positive = [label >= 2 for label in labels]
            if len(set(positive)) < 2:
                return None
            return float(sklearn.roc_auc_score(positive, scores, max_fpr=max_fpr))

        measure = pr.measure("auc", rel=2, max_fpr=max_fpr)
        against("scikit-learn", measure, random_queries(22, 120), theirs)


@pytest.mark.parametrize(
    "name",
    ["label_ranking_average_precision_score", "coverage_error", "label_ranking_loss"],
)
def test_its_names_under_its_convention(name):
    def theirs(docs):
        scores, labels = both(docs)
        positive = [label >= 1 for label in labels]
        if len(scores) < 2:
            return None
        return float(getattr(sklearn, name)([positive], [scores]))

    queries = {q: whole(docs) for q, docs in random_queries(23, 120).items()}
    measure = pr.Measure.parse(name)
    against("scikit-learn", measure, queries, theirs, convention="sklearn")


def whole(docs):
    """The documents with a score and a grade that it takes."""
    return [
        doc
        for doc in docs
        if doc.score is not None and doc.label is not None and doc.label >= 0
    ]


def test_roc_auc_score_under_its_convention():
    def theirs(docs):
        scores, labels = both(docs)
        positive = [label >= 1 for label in labels]
        if len(set(positive)) < 2:
            return None
        return float(sklearn.roc_auc_score(positive, scores))

    queries = {q: whole(docs) for q, docs in random_queries(25, 120).items()}
    measure = pr.Measure.parse("roc_auc_score")
    against("scikit-learn", measure, queries, theirs, convention="sklearn")


def test_squared_error():
    def theirs(docs):
        scores, labels = both(docs)
        return float(sklearn.mean_squared_error(labels, scores)) if scores else None

    queries = random_queries(37, 120)
    against("scikit-learn", pr.measure("squared_error"), queries, theirs)


def test_matthews_correlation_and_accuracy():
    """The first k documents are those predicted, of the judged ones."""

    def theirs(function):
        def value(docs):
            judged = [d for d in docs if d.label is not None]
            scored = [d for d in docs if d.score is not None]
            top = sorted(scored, key=lambda d: -d.score)[:5]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return float(
                    function([d.label >= 1 for d in judged], [d in top for d in judged])
                )

        return value

    queries = random_queries(24, 120)
    for metric, function in (
        ("mcc", sklearn.matthews_corrcoef),
        ("binary_accuracy", sklearn.accuracy_score),
    ):
        measure = pr.measure(metric, k=5)
        against("scikit-learn", measure, queries, theirs(function))
