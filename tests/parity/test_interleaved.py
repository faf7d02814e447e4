"""interleaved of Wikimedia: wins, losses, ties and the preference, on its examples."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from parity.compare import need

from polars_rank import clicks

theirs = need("interleaved")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("preference", ["a", "b", "no"])
def test_preference(preference):
    folder = Path(theirs.__file__).parent / "data"
    events = pl.read_csv(
        folder / f"interleaved_{preference}-pref.csv", null_values="NA"
    )
    log = events.filter(event="click").select(
        impression_id="search_id",
        team="ranking_function",
        position=pl.int_range(1, pl.len() + 1).over("search_id"),  # they count clicks
        clicked=1,
    )
    search, team = (log[c].to_numpy() for c in ("impression_id", "team"))
    wanted = theirs.Experiment(queries=search, clicks=team)
    row = clicks.interleaving(log, team="team").row(0, named=True)
    outcomes = [row["wins"], row["losses"], row["ties"]]
    assert outcomes == [wanted._outcomes.count(o) for o in ("A", "B", "Draw")]
    statistic = wanted.preference_statistic()
    assert row["preference"] == pytest.approx(statistic, abs=1e-12)
