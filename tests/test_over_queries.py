"""How the values of queries are put together: mean, sum, geometric mean."""

from __future__ import annotations

from math import exp, log

import polars as pl
import pytest

import polars_rank as pr

LOG = pl.DataFrame(
    {
        "query_id": ["a", "a", "b", "b", "c", "c", "c"],
        "score": [2, 1, 2, 1, 3, 2, 1],
        "label": [0, 1, 1, 1, 0, 0, 0],
    }
)  # ap: 1/2, 1, 0
TREC = pr.CONVENTIONS["trec_eval"]
QUERIES = pl.DataFrame(
    {"query_id": ["a", "b", "c"], "kind": ["x", "x", "y"], "traffic": [3, 1, 2]}
)


def value(measure: str, **options: object) -> float | None:
    return pr.evaluate(LOG, measure, **options)[measure].item()


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [("num_q", 3), ("num_ret", 7), ("num_rel", 3), ("num_nonrel_judged_ret", 4)],
)
def test_counts_are_summed(measure, wanted):
    assert value(measure) == wanted


def test_the_weight_of_an_undefined_value_does_not_count():
    """The labels of b are all the same, and those of c."""
    each = pr.per_query(LOG, "spearman")["spearman"].to_list()
    assert each == [-1.0, None, None]
    assert value("spearman", queries=QUERIES, weight="traffic") == -1.0


def test_counts_are_summed_by_segment_and_weighted():
    by = pr.evaluate(LOG, ["num_ret", "num_q"], queries=QUERIES, by="kind")
    assert by.rows() == [("x", 2, 4.0, 2.0), ("y", 1, 3.0, 1.0)]
    assert value("num_ret", queries=QUERIES, weight="traffic") == 3 * 2 + 2 + 2 * 3


def test_a_geometric_mean_is_of_values_of_at_least_1e_5():
    wanted = exp((log(1 / 2) + log(1) + log(1e-5)) / 3)
    assert value("gm_map") == pytest.approx(wanted)
    each = pr.per_query(LOG, "gm_map")["gm_map"].to_list()
    assert each == pytest.approx([log(1 / 2), 0.0, log(1e-5)])


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [("one", (1 / 2) ** (1 / 3)), ("skip", (1 / 2) ** (1 / 2)), ("null", None)],
)
def test_a_geometric_mean_keeps_the_choice_for_nothing_relevant(choice, wanted):
    found = value("gm_map", convention=TREC.replace(no_relevant=choice))
    assert found == (wanted if wanted is None else pytest.approx(wanted))


def test_a_weighted_geometric_mean():
    wanted = exp((3 * log(1 / 2) + 1 * log(1) + 2 * log(1e-5)) / 6)
    found = value("gm_map", queries=QUERIES, weight="traffic")
    assert found == pytest.approx(wanted)


def test_a_query_without_rows_counts_as_nothing():
    more = pl.DataFrame({"query_id": ["a", "z"]})
    found = pr.per_query(LOG, ["gm_map", "map", "num_ret", "judged"], queries=more)
    assert found.row(1) == ("z", pytest.approx(log(1e-5)), 0.0, 0.0, None)


def test_sums_and_means_of_nothing_are_null():
    empty = pr.evaluate(LOG.clear(), ["num_ret", "gm_map", "map"])
    assert empty.row(0) == (0, None, None, None)
