"""interleaving of Kato and Manabe: credits of each method, and who wins a list."""

from __future__ import annotations

import random

import polars as pl
import pytest
from parity.compare import need

from polars_rank import clicks

theirs = need("interleaving")
if not hasattr(theirs, "TeamDraft"):  # an empty package has the name, too
    pytest.skip("interleaving is another package", allow_module_level=True)
ranking = need("interleaving.ranking")
pytestmark = pytest.mark.parity

LISTS, LENGTH, RANKERS = 60, 6, 2


def lists(method):
    """Interleaved lists of two random rankings, with clicks and their scores."""
    rng = random.Random(4)
    draft = getattr(theirs, method)
    for _ in range(LISTS):
        docs = list(range(8))
        rankings = [rng.sample(docs, LENGTH) for _ in range(RANKERS)]
        if method == "Optimized":  # its lists take a solver; any will do here
            shown = ranking.CreditRanking(RANKERS, rng.sample(docs, LENGTH))
            for team, order in enumerate(rankings):
                credit = {d: 1 / r for r, d in enumerate(order, start=1)}
                shown.credits[team] = {d: credit.get(d, 1 / 7) for d in shown}
        else:
            shown = draft(rankings, max_length=LENGTH).interleave()
        clicked = sorted(rng.sample(range(len(shown)), rng.randint(1, 3)))
        scores = draft.compute_scores(shown, clicked)
        yield rankings, shown, clicked, (scores[0], scores[1])


def log_of(data):
    """One impression per list, with the columns that any of the methods needs."""
    rows = []
    for i, (rankings, shown, clicked, _) in enumerate(data):
        for at, doc in enumerate(shown):
            ranks = [r.index(doc) + 1 if doc in r else None for r in rankings]
            teams = getattr(shown, "teams", {})
            team = next((t for t, docs in teams.items() if doc in docs), None)
            credits = getattr(shown, "credits", {0: {}, 1: {}})
            credit = [float(credits[t].get(doc, 0.0)) for t in (0, 1)]
            rows.append((i, at + 1, at in clicked, team, *ranks, *credit))
    names = ["impression_id", "position", "clicked", "team"]
    names += ["rank_a", "rank_b", "credit_a", "credit_b"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("TeamDraft", {"team": "team"}),
        ("Balanced", {"method": "balanced", "ranks": {"A": "rank_a", "B": "rank_b"}}),
        ("Optimized", {"credits": {"A": "credit_a", "B": "credit_b"}}),
    ],
)
def test_who_wins(method, call):
    data = [*lists(method)]
    found = clicks.interleaving(log_of(data), by="impression_id", **call)
    assert found["impression_id"].to_list() == [*range(LISTS)]
    for row, (*_, (a, b)) in zip(found.iter_rows(named=True), data, strict=True):
        assert (row["wins"], row["losses"]) == (a > b + 1e-9, a < b - 1e-9)


def test_probabilities():
    """Theirs are joint with the list; ours are given the list."""
    data = [*lists("Probabilistic")]
    found = clicks.interleaving(
        log_of(data),
        by="impression_id",
        method="probabilistic",
        ranks={"A": "rank_a", "B": "rank_b"},
        depth=LENGTH,
    )
    for row, (_, shown, clicked, _) in zip(
        found.iter_rows(named=True), data, strict=True
    ):
        scores = theirs.Probabilistic.compute_scores(shown, clicked)
        whole = sum(p for _, p in scores.allocations.values())
        assert row["wins"] == pytest.approx(scores[0] / whole, abs=1e-12)
        assert row["losses"] == pytest.approx(scores[1] / whole, abs=1e-12)
