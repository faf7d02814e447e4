"""ultr-bias-toolkit: click rates and intervention harvesting.

Its all-pairs estimator confuses pairs of positions with the same product, such as
(1, 6) and (2, 3): five positions are the most that can be compared.
"""

from __future__ import annotations

import polars as pl
import pytest

from polars_rank import clicks

toolkit = pytest.importorskip("ultr_bias_toolkit.bias.naive")
harvesting = pytest.importorskip("ultr_bias_toolkit.bias.intervention_harvesting")
pytestmark = pytest.mark.parity


def simulated(k):
    log = clicks.simulate(
        8000, n_queries=40, k=k, n_docs=8, n_rankers=9, seed=21
    ).draw()
    whole = pl.col("query_id", "doc_id", "position").cast(pl.Int64)
    frame = log.select(whole, click=pl.col("clicked").cast(pl.Int64))
    return log, frame.to_pandas()


@pytest.mark.parametrize(
    ("theirs", "options"),
    [
        (lambda: toolkit.NaiveCtrEstimator(), {"method": "ctr"}),
        (lambda: harvesting.PivotEstimator(1), {"estimator": "pivot_one"}),
        (lambda: harvesting.AdjacentChainEstimator(), {"estimator": "chain"}),
    ],
    ids=["ctr", "pivot_one", "chain"],
)
def test_closed_forms(theirs, options):
    log, frame = simulated(6)
    wanted = theirs()(frame).sort_values("position")["examination"].to_list()
    method = options.get("method", "harvest")
    more = {} if method == "ctr" else {**options, "weighting": "equal"}
    found = clicks.propensities(log.drop("user_id"), method, **more)
    assert found["propensity"].to_list() == pytest.approx(wanted, rel=1e-12)


@pytest.fixture
def doubles():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("doubles")
def test_all_pairs():
    log, frame = simulated(5)
    wanted = harvesting.AllPairsEstimator(epochs=3000, lr=0.03)(frame)[
        "examination"
    ].to_list()
    found = clicks.propensities(
        log, estimator="all_pairs", weighting="equal", tol=1e-12, max_steps=50_000
    )
    assert found["propensity"].to_list() == pytest.approx(wanted, rel=1e-6)
