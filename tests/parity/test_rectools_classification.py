"""RecTools: AUC over the first negatives, accuracy and MCC, intersections."""

from __future__ import annotations

import warnings

import pytest
from parity.against import against, untied
from reference import random_queries

import polars_rank as pr

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pd = pytest.importorskip("pandas")
    rectools = pytest.importorskip("rectools.metrics", exc_type=ImportError)
pytestmark = pytest.mark.parity
CATALOG = 4000


def frames(docs):
    """The ranked list of one user and what is relevant; None if nothing is."""
    found = sorted((d for d in docs if d.score is not None), key=lambda d: -d.score)
    good = [d.id for d in docs if d.label is not None and d.label >= 1]
    if not good or not found:
        return None
    reco = pd.DataFrame({"user_id": 1, "item_id": [d.id for d in found]})
    reco["rank"] = range(1, len(found) + 1)
    return reco, pd.DataFrame({"user_id": 1, "item_id": good})


def calc(metric, docs, *more):
    given = frames(docs)
    if given is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(metric.calc_per_user(*given, *more).iloc[0])


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("positives", ["all", "k"])
def test_partial_auc(k, positives):
    metric = {"all": rectools.PartialAUC, "k": rectools.PAP}[positives](k=k)
    measure = pr.measure("partial_auc", k=k, positives=positives)
    queries = random_queries(31, 70)
    against("RecTools", measure, queries, lambda docs: calc(metric, docs))


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(
    ("name", "tool"), [("mcc", "MCC"), ("binary_accuracy", "Accuracy")]
)
def test_catalog(name, tool, k):
    metric = getattr(rectools, tool)(k=k)
    measure = pr.measure(name, k=k, catalog=CATALOG)
    items = [f"d{i}" for i in range(CATALOG)]
    queries = random_queries(32, 70)
    against("RecTools", measure, queries, lambda docs: calc(metric, docs, items))


@pytest.mark.parametrize("k", [1, 3, 10])
def test_intersection(k):
    """The list by score, and that by label, where both have k documents or more."""
    metric = rectools.Intersection(k=k)

    def theirs(docs):
        lists = []
        for value in ("score", "label"):
            known = [d for d in docs if getattr(d, value) is not None]
            known.sort(key=lambda d, value=value: -getattr(d, value))
            ids = [d.id for d in known]
            frame = pd.DataFrame({"user_id": 1, "item_id": ids})
            lists.append(frame.assign(rank=range(1, len(ids) + 1)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(metric.calc_per_user(*lists).iloc[0])

    against("RecTools", pr.measure("overlap", k=k), untied(41, 10), theirs)
