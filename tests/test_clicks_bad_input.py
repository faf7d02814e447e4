"""Logs that cannot be right, and logs that say nothing: an error, or null with why."""

from __future__ import annotations

import polars as pl
import pytest

from polars_rank import DataError, clicks

LOG = pl.DataFrame(
    {
        "impression_id": [1, 1, 2, 2, 3, 3],
        "query_id": ["a", "a", "a", "a", "b", "b"],
        "doc_id": ["x", "y", "y", "x", "x", "z"],
        "position": [1, 2, 1, 2, 1, 2],
        "clicked": [1, 0, 0, 1, 0, 0],
        "arm": ["A", "A", "B", "B", "B", "B"],
        "u": [1, 1, 2, 2, 3, 3],
        "s": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    }
)
RANKING = pl.DataFrame({"query_id": ["a", "b"], "doc_id": ["x", "x"], "rank": [1, 1]})


def of(rule, call, *change, **columns):
    return pytest.param(rule, call, LOG.with_columns(*change, **columns), id=rule)


def behaviour(log, **options):
    return clicks.behaviour(log, "ctr", **options)


def estimated(log, **options):
    return clicks.counterfactual(log, propensities=1.0, cluster="u", **options)


BROKEN = [
    of("invalid_position", behaviour, position=pl.col("position") - 1),
    of("invalid_position", behaviour, position=pl.lit(None, pl.Int64)),
    of("invalid_position", behaviour, position=-pl.col("position")),
    of("duplicate_position", behaviour, position=1),
    of("invalid_click", behaviour, clicked=pl.lit(None, pl.Int8)),
    of("invalid_click", behaviour, clicked=0.5),
    of("invalid_click", behaviour, clicked=2),
    of("two_values", behaviour, query_id="doc_id"),
    of("null_doc", behaviour, doc_id=pl.lit(None, pl.String)),
    of("duplicate_shown", lambda log: clicks.judgments(log, "ctr"), doc_id=pl.lit("x")),
    of(
        "arms_missing",
        lambda log: clicks.compare(log, "ctr", arm="arm", control="A", cluster="u"),
        arm=pl.lit("A"),
    ),
    of(
        "two_arms",
        lambda log: clicks.compare(log, "ctr", arm="arm", control="A", cluster="u"),
        u=1,
    ),
    of(
        "no_support",
        lambda log: estimated(log, new=RANKING.with_columns(doc_id=pl.lit("new"))),
    ),
    of("invalid_rank", lambda log: estimated(log, new=RANKING.with_columns(rank=0))),
    of(
        "duplicate_impression",
        lambda log: behaviour(
            log, impressions=pl.DataFrame({"impression_id": [1, 2, 3, 3]})
        ),
    ),
    of(
        "one_half",
        lambda log: clicks.propensities(
            log, "swap", swap="swap", swapped="swapped", cluster="u"
        ),
        swap=2,
        swapped=pl.lit(value=True),
    ),
    of(
        "not_neighbours",
        lambda log: clicks.propensities(log, "fair_pairs", swap="swap", cluster="u"),
        swap=9,
    ),
]


@pytest.mark.parametrize(("rule", "call", "log"), BROKEN)
def test_what_cannot_be_right_is_an_error(rule, call, log):
    with pytest.raises(DataError) as error:
        call(log)
    assert error.value.rule == rule


def test_fractional_positions_and_what_is_allowed():
    with pytest.raises((DataError, TypeError, pl.exceptions.PolarsError)):
        behaviour(LOG.with_columns(position=pl.col("position") + 0.5))
    skipped = LOG.with_columns(position=pl.col("position") * 3)
    assert behaviour(skipped)["ctr"].item() == pytest.approx(2 / 6)
    unknown = LOG.with_columns(clicked=pl.when(pl.col("clicked") > 0).then(1))
    assert behaviour(unknown, clicked_null="zero")["ctr"].item() == pytest.approx(2 / 6)


@pytest.mark.filterwarnings("ignore:there are no clicks")
def test_nothing_to_estimate_is_null():
    none = LOG.with_columns(clicked=0)
    with pytest.warns(UserWarning, match="without a propensity"):
        found = clicks.propensities(none)
    assert found["propensity"].is_null().sum() >= 1
    assert estimated(none, new="s")["estimate"].item() is None
    assert estimated(none, new="s", method="snips")["estimate"].item() is None
    one = clicks.behaviour(
        LOG.with_columns(u=1), "ctr", cluster="u", interval="normal"
    ).row(0, named=True)
    assert one["estimate"] == pytest.approx(2 / 6)
    assert (one["clusters"], one["se"], one["lower"]) == (1, None, None)


def test_harvest_without_documents_at_two_positions():
    apart = LOG.filter(pl.col("impression_id") != 2)
    with pytest.warns(UserWarning, match="without a propensity: 2"):
        found = clicks.propensities(apart)
    assert found["propensity"].to_list() == [1.0, None]
    assert "no document was shown here" in found["note"][1]
