"""sentence-transformers: InformationRetrievalEvaluator, given hits; no model."""

from __future__ import annotations

import pytest
from parity.compare import compare, need
from parity.random_runs import random_runs, relevant

from polars_rank.conventions.tools import TOOLS

evaluation = need("sentence_transformers.evaluation")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["sentence_transformers"].equal


def theirs_of(name):
    def theirs(run, qrels, k):
        values = {}
        for query, grades in qrels.items():
            scores, items = run.get(query, {}), relevant(grades)
            if not items:  # it leaves such a query out
                values[query] = None if query in run else 0.0
                continue
            depth = {
                f"{kind}_at_k": [k]
                for kind in ("mrr", "ndcg", "accuracy", "precision_recall", "map")
            }
            evaluator = evaluation.InformationRetrievalEvaluator(
                {query: ""},
                dict.fromkeys([*scores, *items], ""),
                {query: items},
                **depth,
            )
            hits = [{"corpus_id": d, "score": s} for d, s in scores.items()]
            found = evaluator.compute_metrics([hits])
            values[query] = float(found[f"{name}@k"][k])
        return values

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_sentence_transformers(metric):
    data = [random_runs(45, missing=True)]
    compare("sentence_transformers", metric, theirs_of(EQUAL[metric]), data)
