"""DeepEval: contextual precision of given verdicts; no language model is asked."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from parity.compare import need
from parity.id_lists import compare_lists, id_lists

from polars_rank.conventions.tools import TOOLS

os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
module = need("deepeval.metrics.contextual_precision.contextual_precision")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["deepeval"].equal


def score(verdicts):
    metric = object.__new__(module.ContextualPrecisionMetric)
    metric.strict_mode, metric.threshold = False, 0.5
    yes, no = module.Verdict.YES, module.Verdict.NO
    metric.verdicts = [SimpleNamespace(verdict=yes if v else no) for v in verdicts]
    return float(metric._calculate_score())


@pytest.mark.parametrize("metric", EQUAL)
def test_deepeval(metric):
    def theirs(ids, grades, k):
        return score([grades.get(d, 0) > 0 for d in ids[:k]])

    compare_lists("deepeval", metric, theirs, [id_lists(9, empty=True)])
