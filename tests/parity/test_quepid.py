"""Quepid: its scorers as plain loops.

Source: o19s/quepid at f80322f (20 August 2026), ``db/scorers``. Quepid runs them on the
documents that it shows, and on ``bestDocs``, which are all rated documents of a query;
its ``queriesSvc`` takes 0 for a score that is no number.
"""

from __future__ import annotations

import math

import pytest
from parity.compare import remark
from parity.id_lists import compare_lists, id_lists, values_of

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

pytestmark = pytest.mark.parity
EQUAL = TOOLS["quepid"].equal
NOTE = "its scorer as a loop; Quepid is not run"
TOP = 3  # of the scale


def gains(grades):
    return sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(grades))


def cg(docs, rated, k):
    return or_zero(sum(rated.get(d, math.nan) for d in docs[:k]))


def dcg(docs, rated, k):
    return or_zero(gains(rated.get(d, math.nan) for d in docs[:k]))


def or_zero(score):
    return 0.0 if math.isnan(score) else score


def ndcg_cut(docs, rated, k):
    ideal = gains(sorted(rated.values(), reverse=True)[:k])
    return gains(rated.get(d, 0) for d in docs[:k]) / ideal if ideal else 0.0


def ndcg(docs, rated, k):
    """All rated documents are in the ideal order, k of the list are in the sum."""
    ideal = gains(sorted(rated.values(), reverse=True))
    return gains(rated.get(d, 0) for d in docs[:k]) / ideal if ideal else 0.0


def ap(docs, rated, k):
    count = total = 0
    for i, doc in enumerate(docs[: min(k, len(docs))]):
        if rated.get(doc, 0) > 0:
            count += 1
            total += count / (i + 1)
    relevant = sum(rating > 0 for rating in rated.values())
    return total / relevant if relevant else 0.0


def rr(docs, rated, k):
    for i, doc in enumerate(docs[:k]):
        if rated.get(doc, 0) > 0:
            return 1 / (i + 1)
    return 0.0


def precision(docs, rated, k):
    good = [rated.get(doc, 0) > 0 for doc in docs[:k]]
    return sum(good) / len(good) if good else 0.0


def err(docs, rated, k):
    found, trust = 0.0, 1.0
    for i, doc in enumerate(docs[:k]):
        useful = (2 ** rated.get(doc, 0) - 1) / 2**TOP
        found += trust * useful / (i + 1)
        trust *= 1 - useful
    return found


SCORERS = {
    "ndcg": ndcg_cut,
    "dcg": dcg,
    "cg": cg,
    "ap": ap,
    "rr": rr,
    "precision": precision,
    "err": err,
}


def rated_only(seed):
    """All documents of a list are rated, as CG and DCG need them."""
    lists, qrels = id_lists(seed)
    return lists, {q: dict.fromkeys(lists[q], 0) | own for q, own in qrels.items()}


@pytest.mark.parametrize("metric", EQUAL)
def test_quepid(metric):
    rated = metric in ("cg", "dcg")
    data = [rated_only(15)] if rated else [id_lists(15)]
    note = f"{NOTE}; without unrated documents" if rated else NOTE
    compare_lists("quepid", metric, SCORERS[metric], data, note=note)


def test_unrated_documents():
    assert cg(["a", "x"], {"a": 3}, 2) == dcg(["a", "x"], {"a": 3}, 2) == 0
    note = "0 for a list with an unrated document"
    remark("quepid", "cg", note)
    remark("quepid", "dcg", note)


def test_ndcg_is_that_of_a_list_cut_at_k():
    lists, qrels = id_lists(16)
    convention = pr.CONVENTIONS["quepid"]
    cut = {query: ids[:3] for query, ids in lists.items()}
    own = values_of(cut, qrels, pr.measure("ndcg"), convention)
    for query, found in own.items():
        assert found == pytest.approx(ndcg(lists[query], qrels[query], 3), abs=1e-12)
    assert any(own[q] < ndcg_cut(lists[q], qrels[q], 3) - 0.01 for q in own)
    remark("quepid", "ndcg", "NDCG@10 is ndcg with max_rank=10, NDCG_CUT@10 is ndcg@10")
