"""Open Bandit Pipeline: item-position IPS is IPS of a ranking.

There the weight of a click is a ratio of two policies; here it is that of the new rank
over the propensity of the logged position.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from polars_rank import clicks

pytestmark = pytest.mark.parity


@pytest.fixture
def slates(monkeypatch):
    """The estimators of slates alone: all of obp takes old torch and much else."""
    spec = importlib.util.find_spec("obp")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("obp is not installed")
    folder = spec.submodule_search_locations[0]
    torch = ModuleType("torch")
    torch.Tensor = torch.tensor = type("Tensor", (), {})  # in annotations only
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name, path in (("obp", folder), ("obp.ope", f"{folder}/ope")):
        package = ModuleType(name)
        package.__path__ = [path]
        monkeypatch.setitem(sys.modules, name, package)
    for name in ("helper", "estimators_slate"):
        monkeypatch.delitem(sys.modules, f"obp.ope.{name}", raising=False)
    return importlib.import_module("obp.ope.estimators_slate")


@pytest.mark.parametrize("eta", [0.5, 1.0])
def test_ips(slates, eta):
    log = clicks.simulate(400, n_queries=30, k=6, seed=13).draw()
    log = log.sort("impression_id", "position")
    ranks = pl.col("new_score").rank("ordinal", descending=True)
    rank = log.select(ranks.over("impression_id")).to_series()
    position = log["position"].to_numpy()
    weight = [1 / math.log2(r + 1) if r <= 4 else 0.0 for r in rank]
    wanted = slates.SlateIndependentIPS(len_list=6).estimate_policy_value(
        slate_id=log["impression_id"].to_numpy().astype(int),
        reward=log["clicked"].to_numpy().astype(float),
        position=position.astype(int) - 1,
        pscore_item_position=position.astype(float) ** -eta,
        evaluation_policy_pscore_item_position=np.array(weight),
    )
    found = clicks.counterfactual(
        log, "dcg@4", new="new_score", propensities=eta, cluster="user_id"
    )
    assert found["estimate"].item() == pytest.approx(wanted, rel=1e-12)
