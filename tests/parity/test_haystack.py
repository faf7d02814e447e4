"""Haystack: its four evaluators of documents, compared by id."""

from __future__ import annotations

import pytest
from parity.compare import need
from parity.id_lists import compare_lists, id_lists, liked

from polars_rank.conventions.tools import TOOLS

haystack = need("haystack")
evaluators = need("haystack.components.evaluators")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["haystack"].equal
COPIES = "also of lists with copies of documents"


def theirs_of(name):
    mode, _, kind = name.partition(" of ")
    options = {} if mode == "score" else {"mode": mode}
    evaluator = getattr(evaluators, kind)(document_comparison_field="id", **options)

    def theirs(ids, grades, k):
        graded = "NDCG" in kind
        true = [
            haystack.Document(id=d, content="", score=grades[d] if graded else None)
            for d in (grades if graded else liked(grades))
        ]
        found = [haystack.Document(id=d, content="") for d in ids[:k]]
        return evaluator.run([true], [found])["individual_scores"][0]

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_haystack(metric):
    """It knows no cutoff: its lists are cut."""
    data = [id_lists(3, empty=True), id_lists(4, empty=True, copies=True)]
    theirs, cuts = theirs_of(EQUAL[metric]), [1, 3, 10, None]
    if metric == "ndcg":
        cuts = [None]  # its ideal order is not cut
    compare_lists("haystack", metric, theirs, data, cutoffs=cuts, note=COPIES)
