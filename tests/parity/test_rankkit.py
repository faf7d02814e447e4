"""rankkit: IPS, clipped IPS, SNIPS and diagnostics of a new ranking."""

from __future__ import annotations

import pytest

from polars_rank import clicks

rankkit = pytest.importorskip("rankkit")
pytestmark = pytest.mark.parity

WEIGHTS = {"dcg": "dcg", "recall": "hits@5", "rr": "inverse_rank"}


@pytest.mark.parametrize("clip", [0.0, 0.2])
@pytest.mark.parametrize("eta", [0.5, 1.0])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_estimates(weight, eta, clip):
    log = clicks.simulate(400, n_queries=30, seed=13).draw()
    lists = log.sort("impression_id", "position").group_by(
        "impression_id", maintain_order=True
    )
    queries, policy = [], {}
    for (impression,), rows in lists:
        name, docs = str(impression), [str(d) for d in rows["doc_id"]]
        clicked = [d for d, c in zip(docs, rows["clicked"], strict=True) if c]
        queries.append(rankkit.ClickQuery(name, docs, clicked))
        order = rows.sort("new_score", descending=True, maintain_order=True)
        policy[name] = [str(d) for d in order["doc_id"]]
    wanted = rankkit.estimate(
        queries, rankkit.policy_from(policy), eta=eta, weight=weight, k=5, clip=clip
    )
    about = rankkit.diagnose(queries, eta=eta, clip=clip)
    call = {
        "new": "new_score",
        "propensities": eta,
        "clip": clip or None,
        "cluster": "user_id",
    }
    ips, snips = (
        clicks.counterfactual(log, WEIGHTS[weight], method=method, **call).row(
            0, named=True
        )
        for method in ("ips", "snips")
    )
    found = {
        "ips": ips["estimate"],
        "snips": snips["estimate"],
        "ess": ips["effective_size"],
        "largest": ips["largest_weight_share"],
        "clipped": ips["clipped"] * log["clicked"].sum(),
        "relevant": ips["relevant_per_impression"],
    }
    assert found == pytest.approx(
        {
            "ips": wanted.ips,
            "snips": wanted.snips,
            "ess": about.ess,
            "largest": about.max_weight_share,
            "clipped": about.clipped,
            "relevant": about.relevant_per_query,
        },
        rel=1e-12,
    )
