"""Evidently: a user a call, because it prints means only; rows in rank order."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, remark
from parity.random_runs import in_order, random_runs

from polars_rank.conventions.tools import TOOLS

pandas = need("pandas")
evidently = need("evidently")
recsys = need("evidently.metrics.recsys")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["evidently"].equal


def values(name, scores, labels, users="u"):
    """Its values at 1, 2 ..., of one user or of the mean."""
    rows = {"user": users, "item": range(len(scores)), "score": scores, "label": labels}
    roles = {"user_id": "user", "item_id": "item", "prediction": "score"}
    ranking = evidently.Recsys(**roles, target="label")
    data = evidently.Dataset.from_pandas(
        pandas.DataFrame(rows),
        data_definition=evidently.DataDefinition(ranking=[ranking]),
    )
    metric = getattr(recsys, name)(k=min(10, len(set(scores))))
    report = evidently.Report([metric]).run(data, None)
    (found,) = report.dict()["metrics"]
    return found["value"]


def at(found, k):
    return list(found["value"].values())[k - 1]


@pytest.mark.parametrize("metric", EQUAL)
def test_evidently(metric):
    """Each user gets at least k items, in the order of untied scores."""
    seen = {}

    def theirs(run, qrels, k):
        for user, scores in run.items():
            listed = in_order(scores)
            labels = [qrels[user].get(item, 0) for item in listed]
            if user not in seen:
                ranked = [scores[item] for item in listed]
                some = any(label > 0 for label in labels)
                seen[user] = values(EQUAL[metric], ranked, labels) if some else None
        return {u: None if seen[u] is None else at(seen[u], k) for u in run}

    data = [random_runs(47, queries=30, fewest=10, ties=False)]
    note = "of one user a call, in rank order, without ties"
    compare("evidently", metric, theirs, data, note=note)


def test_average_precision_of_other_rows():
    """It takes the last row for that of rank k, and a short list for a long one."""
    lower = values("MAP", [2.0, 3.0, 1.0], [1, 0, 0])
    assert [at(lower, k) for k in (1, 2, 3)] == [0, 0, 0]  # 1/2 by its rank
    long, short = [12.0 - i for i in range(12)], [2.0, 1.0]
    found = values("MAP", [*short, *long], [1, 1, 1, *[0] * 11], ["u"] * 2 + ["v"] * 12)
    assert at(found, 10) == 3
    note = "is wrong for rows in another order, and above 1 for lists shorter than k"
    remark("evidently", "ap", note)


def test_ranks_in_the_table():
    found = values("NDCG", [3.0, 2.0, 1.0], [0, 1, 0])
    assert list(found["rank"].values()) == [2, 3, 4]
    assert at(found, 1) == 0
    remark("evidently", "ndcg", "its table says 2, 3, 4 where it means 1, 2, 3")
    remark("evidently", "rr", "its table says 2, 3, 4 where it means 1, 2, 3")
