"""How the values of queries are put together: mean, sum, geometric mean."""

from __future__ import annotations

from math import exp, log, log2, sqrt
from statistics import mean, stdev

import numpy as np
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


@pytest.mark.parametrize("tool", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("frame", [LOG, LOG.lazy()], ids=["eager", "lazy"])
def test_a_query_without_gain_adds_one_whatever_it_weighs(tool, frame):
    """Query c; ndcg of a and b is known by hand."""
    first = 1 / log2(3)
    options = {"queries": QUERIES, "convention": tool}
    each = pr.per_query(frame, "ndcg", convention=tool).lazy().collect()
    assert each["ndcg"].to_list() == pytest.approx([first, 1.0, 1.0])
    mean = pr.evaluate(frame, "ndcg", weight="traffic", **options).lazy().collect()
    wanted = (3 * first + 1 * 1.0 + 1.0) / (3 + 1 + 2)
    assert mean["ndcg"].item() == pytest.approx(wanted)
    by = pr.evaluate(frame, "ndcg", weight="traffic", by="kind", **options)
    wanted = [(3 * first + 1) / (3 + 1), 1.0 / 2]
    assert by.lazy().collect()["ndcg"].to_list() == pytest.approx(wanted)
    plain = pr.evaluate(frame, "ndcg", convention=tool).lazy().collect()
    assert plain["ndcg"].item() == pytest.approx((first + 1 + 1) / 3)


def test_one_unweighted_of_other_aggregates():
    convention = TREC.replace(no_relevant="one_unweighted")
    assert value("gm_map", convention=convention) == pytest.approx((1 / 2) ** (1 / 3))
    label = pl.col("label").rank_eval.ap("score", no_relevant="one_unweighted")
    found = LOG.group_by("query_id", maintain_order=True).agg(label)["label"]
    assert found.to_list() == [1 / 2, 1.0, 1.0]


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
    measures = ["gm_map", "map", "num_ret", "judged"]
    found = pr.per_query(LOG, measures, queries=more, missing="zero")
    assert found.row(1) == ("z", pytest.approx(log(1e-5)), 0.0, 0.0, None)


def test_sums_and_means_of_nothing_are_null():
    with pytest.warns(pr.DataWarning, match="no rows"):
        empty = pr.evaluate(LOG.clear(), ["num_ret", "gm_map", "map"])
    assert empty.row(0) == (0, None, None, None)


# -- statistics beside the mean

ALL: list = ["mean", "n", "std", "se"]
MANY = pl.DataFrame(
    {
        "query_id": [i // 3 for i in range(30)],
        "score": [i * 7 % 11 for i in range(30)],
        "label": [int(i % 4 == 1) for i in range(30)],
        "half": [i // 15 for i in range(30)],
    }
)


@pytest.mark.parametrize("layout", ["auto", "contiguous", "any"])
@pytest.mark.parametrize("by", [None, "half"])
def test_statistics_are_those_of_the_values_that_exist(layout, by):
    asked = {"measures": ["ap", "rr"], "no_relevant": "skip", "layout": layout}
    values = pr.per_query(MANY.lazy(), **asked).collect()
    found = pr.evaluate(MANY.lazy(), **asked, by=by, stats=ALL).collect()
    assert found.columns[-8:-4] == ["ap", "ap_n", "ap_std", "ap_se"]
    for row in found.iter_rows(named=True):
        own = values.filter(pl.col("query_id") // 5 == row["half"]) if by else values
        assert row["queries"] == len(own)
        for name in ("ap", "rr"):
            each = own[name].drop_nulls().to_list()
            assert 1 < len(each) == row[f"{name}_n"] < row["queries"]
            assert row[name] == pytest.approx(mean(each), rel=1e-15)
            assert row[f"{name}_std"] == pytest.approx(stdev(each), rel=1e-12)
            error = stdev(each) / sqrt(len(each))
            assert row[f"{name}_se"] == pytest.approx(error, rel=1e-12)


def test_statistics_that_are_not_defined():
    stats = pr.evaluate(LOG, ["num_ret", "gm_map", "spearman"], stats=ALL)
    for name, n in (("num_ret", 3), ("gm_map", 3), ("spearman", 1)):
        assert stats[f"{name}_n"].item() == n
        assert stats[f"{name}_std"].item() is stats[f"{name}_se"].item() is None
    spread = pr.evaluate(LOG, "ap", no_relevant="null", stats=ALL)
    assert spread.row(0) == (3, None, 2, None, None)
    one = pr.evaluate(LOG, "ap", stats="n", queries=QUERIES, weight="traffic")
    assert one.row(0) == (3, 3)
    with pytest.raises(ValueError, match="no std and se of weighted queries"):
        pr.evaluate(LOG, "ap", stats="se", queries=QUERIES, weight="traffic")


def test_statistics_are_asked_for_by_name():
    for bad in ("var", [], ["mean", "sd"], 0.5, [0.5], None):
        with pytest.raises(ValueError, match="stats must be one or more of mean, n"):
            pr.evaluate(LOG, "ap", stats=bad)
    with pytest.raises(ValueError, match="two output columns would be called 'ap_n'"):
        pr.evaluate(LOG, ["ap", pr.measure("rr", name="ap_n")], stats=["mean", "n"])


def test_statistics_of_parts_are_those_of_the_whole():
    evaluation = pr.Evaluation(["ap", "rr"], stats=ALL, no_relevant="skip")
    parts = [evaluation.partial(MANY[:12]), evaluation.partial(MANY[12:])]
    whole = pr.evaluate(MANY, ["ap", "rr"], stats=ALL, no_relevant="skip")
    assert evaluation.merge(parts).equals(whole)
    values = pr.per_query(MANY, ["ap", "rr"], no_relevant="skip")
    assert evaluation.per_query(MANY).collect().equals(values)
    assert evaluation.definition != pr.Evaluation(["ap", "rr"]).definition


# -- the distribution of values

TAILS: list = ["median", "p10", "p99.5", "min", "max", "worst_tenth"]


def tails(values: list[float], *, high: bool = False) -> list[float]:
    """The oracle of all of them, for values without weights."""
    ordered, left, worst = sorted(values, reverse=high), len(values) / 10, 0.0
    for value in ordered:
        worst += value * min(left, 1.0)
        left -= min(left, 1.0)
    quantiles = np.quantile(values, [0.5, 0.1, 0.995]).tolist()
    return [*quantiles, min(values), max(values), worst / (len(values) / 10)]


@pytest.mark.parametrize("layout", ["auto", "contiguous", "any", "small"])
@pytest.mark.parametrize("by", [None, "half"])
def test_tails_are_those_of_the_values_that_exist(layout, by):
    """For a distance, high values are the worst."""
    measures = ["ap", "kendall_distance", "num_rel"]
    asked = {"measures": measures, "no_relevant": "skip"}
    frame = MANY if layout == "small" else MANY.lazy()
    asked |= {} if layout == "small" else {"layout": layout}
    values = pr.per_query(frame, **asked).lazy().collect()
    found = pr.evaluate(frame, **asked, by=by, stats=TAILS).lazy().collect()
    assert found.columns[-6:] == [f"num_rel_{stat}" for stat in TAILS]
    for row in found.iter_rows(named=True):
        own = values.filter(pl.col("query_id") // 5 == row["half"]) if by else values
        for name in measures:
            each = own[name].drop_nulls().to_list()
            wanted = tails(each, high=name == "kendall_distance")
            told = [row[f"{name}_{stat}"] for stat in TAILS]
            assert told == pytest.approx(wanted, rel=1e-13), name


def test_tails_with_weights_are_those_of_weighted_queries():
    """The values of ap are 1/2, 1 and 0, with weights 3, 1 and 2."""
    found = pr.evaluate(LOG, "ap", stats=TAILS, queries=QUERIES, weight="traffic")
    assert found.row(0) == (3, 0.5, 0.0, 1.0, 0.0, 1.0, 0.0)
    values, weights = [0.5, 1.0, 0.0], [3, 1, 2]
    for p in range(0, 101, 5):
        name = f"ap_p{p}"
        found = pr.evaluate(LOG, "ap", stats=f"p{p}", queries=QUERIES, weight="traffic")
        q = np.quantile(values, p / 100, weights=weights, method="inverted_cdf")
        assert found[name].item() == q, p


def test_tails_that_are_not_defined():
    stats = pr.evaluate(LOG, ["gm_map", "spearman"], stats=TAILS)
    assert stats.row(0)[1:7] == (None,) * 6  # a mean of logarithms
    assert None not in stats.row(0)[7:]
    spread = pr.evaluate(LOG, "ap", no_relevant="null", stats=TAILS)
    assert spread.row(0) == (3, *[None] * 6)
    with pytest.warns(pr.DataWarning, match="no rows"):
        empty = pr.evaluate(LOG.clear(), "ap", stats=TAILS)
    assert empty.row(0) == (0, *[None] * 6)


def test_tails_of_parts_are_those_of_the_whole(tmp_path):
    evaluation = pr.Evaluation(["ap", "rr"], stats=TAILS, no_relevant="skip", by="half")
    for i, rows in enumerate((MANY[:12], MANY[12:18], MANY[:0], MANY[18:])):
        evaluation.partial(rows, part=str(i)).write_parquet(tmp_path / f"{i}.parquet")
    whole = pr.evaluate(MANY, ["ap", "rr"], stats=TAILS, no_relevant="skip", by="half")
    assert evaluation.merge(tmp_path).equals(whole)
    assert evaluation.merge(evaluation.add(tmp_path)).equals(whole)
    ends = pr.Evaluation("ap", stats=["min", "max"])
    assert "counts" not in ends.partial(MANY).columns


def test_counts_that_no_part_can_have_are_refused():
    evaluation = pr.Evaluation("ap", stats="median")
    part = evaluation.partial(MANY)
    counts = pl.col("counts").struct
    lost = counts.with_fields(counts.field("values").list.head(1))
    unknown = pl.when(pl.lit(value=False)).then("counts")
    for damage in (lost, unknown):
        with pytest.raises(pr.DataError, match="'counts' holds a number that no part"):
            evaluation.merge(part.with_columns(damage))
    with pytest.raises(pr.DataError, match="'counts' is Null, no struct"):
        evaluation.merge(part.with_columns(counts=None))
    with pytest.raises(pr.DataError, match="'low' holds a number that no part"):
        evaluation.merge(part.with_columns(low=pl.lit(None, pl.Float64)))


@pytest.mark.parametrize("options", [{}, {"by": "half"}, {"weight": "half"}])
def test_tails_within_a_memory_limit(options, monkeypatch):
    """Values are counted batch by batch, with the rules and facts beside them."""
    from polars_rank._engine import layout

    monkeypatch.setattr(layout, "BATCH", 3)
    asked = {"measures": ["ap", "num_rel"], "stats": ["mean", *TAILS], **options}
    whole = pr.evaluate(MANY.lazy(), **asked).collect()
    found = pr.evaluate(MANY.lazy(), **asked, memory_limit="1GB").collect()
    assert found.equals(whole)
    bad = MANY.with_columns(half=pl.when(pl.col("query_id") == 7).then(-1.0))
    with pytest.raises(pr.DataError, match=r"weight.*\(10 found"):
        pr.evaluate(
            bad.lazy(), "ap", stats="median", weight="half", memory_limit="1GB"
        ).collect()
