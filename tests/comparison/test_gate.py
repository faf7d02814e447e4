"""The gate: its rules by hand, what does not fit, and the way it is told."""

from __future__ import annotations

import json
import math
import random
import runpy
import statistics
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest
from scipy import stats

import polars_rank as pr
from polars_rank.comparison.gate.verdicts import Rule
from polars_rank.comparison.sums.definition import Definition


def base(n: int = 60) -> pl.DataFrame:
    draw = random.Random(1)
    return pl.DataFrame(
        {
            "query_id": [f"q{i:03}" for i in range(n)],
            "ndcg@10": [0.2 + 0.6 * draw.random() for _ in range(n)],
            "country": ["JP" if i < 24 else "DE" for i in range(n)],
        }
    )


def changed(by: float, noise: float, n: int = 60, seed: int = 2) -> pl.DataFrame:
    """The mean changes by exactly ``by``."""
    draw = random.Random(seed)
    shifts = [draw.gauss(0, noise) for _ in range(n)]
    middle = statistics.fmean(shifts)
    new = pl.Series([by + s - middle for s in shifts])
    return base(n).with_columns(pl.col("ndcg@10") + new)


@pytest.mark.parametrize(
    ("by", "noise", "margin", "verdicts"),
    [  # significant, non_inferior, threshold
        (-0.05, 0.02, 0.01, ("fail", "fail", "fail")),  # sure and large
        (-0.05, 0.50, 0.01, ("pass", "fail", "fail")),  # large, not sure
        (-0.05, 0.19, 0.01, ("warn", "fail", "fail")),  # large, sure at 95 % only
        (-0.005, 0.005, 0.01, ("warn", "pass", "pass")),  # sure, small
        (-0.002, 0.02, 0.01, ("pass", "pass", "pass")),
        (0.05, 0.02, 0.01, ("pass", "pass", "pass")),
        (0.0, 0.50, 0.01, ("pass", "fail", "pass")),  # nothing is sure
    ],
)
def test_rules(by, noise, margin, verdicts):
    new = changed(by, noise)
    rules = ("significant", "non_inferior", "threshold")
    found = [
        pr.gate(new, baseline=base(), margin=margin, rule=rule).verdict
        for rule in rules
    ]
    assert tuple(found) == verdicts


def test_a_check_by_hand():
    new = changed(-0.05, 0.1)
    (row,) = pr.gate(new, baseline=base(), margin=0.01).checks.rows(named=True)
    d = (new["ndcg@10"] - base()["ndcg@10"]).to_list()
    error = statistics.stdev(d) / math.sqrt(60)
    both = pr.compare(
        pl.concat(
            [
                base().with_columns(system=pl.lit("a")),
                new.with_columns(system=pl.lit("b")),
            ]
        )
    ).pairs.row(0, named=True)
    assert row["difference"] == pytest.approx(-0.05)
    assert row["p_value"] == pytest.approx(both["p_value"] / 2)
    assert (row["lower"], row["upper"]) == pytest.approx((both["lower"], both["upper"]))
    assert both["statistic"] == pytest.approx(-0.05 / error)
    assert row["queries"] == row["wins"] + row["losses"] == 60
    assert row["losses"] == sum(x < 0 for x in d)
    assert power(row["detectable"], error, alpha=0.01) == pytest.approx(0.8, abs=1e-4)


def power(drop: float, error: float, *, alpha: float, n: int = 60) -> float:
    """How often the one-sided paired t test sees a drop: noncentral t."""
    critical = stats.t.ppf(alpha, n - 1)
    return float(stats.nct.cdf(critical, n - 1, -drop / error))


def test_drops_that_are_detected_are_those_that_fail():
    """After the correction for three checks, and beyond the margin."""
    new = changed(-0.05, 0.1)
    d = (new["ndcg@10"] - base()["ndcg@10"]).to_list()
    error = statistics.stdev(d) / math.sqrt(60)
    for correction, alpha in (("holm", 0.01 / 3), ("none", 0.01)):
        found = pr.gate(
            new, baseline=base(), by="country", correction=correction
        ).checks
        drop = found.filter(segment="all")["detectable"].item()
        assert power(drop, error, alpha=alpha) == pytest.approx(0.8, abs=1e-4)
    wide = pr.gate(new, baseline=base(), margin=0.5).checks["detectable"].item()
    assert stats.norm.cdf(-0.5, -wide, error) == pytest.approx(0.8, abs=1e-4)


def test_why_a_check_passes_or_warns():
    for by, noise, margin, why in (
        (-0.05, 0.50, 0.01, "large, but not significant"),
        (-0.05, 0.19, 0.01, "large, but significant at 95 % only"),
        (-0.005, 0.005, 0.01, "significant, but within the margin"),
        (-0.05, 0.50, 0.0, None),  # of a drop beyond 0 there is nothing to say
    ):
        found = pr.gate(changed(by, noise), baseline=base(), margin=margin)
        assert found.checks["note"].item() == why


@pytest.fixture(scope="module")
def simulation():
    folder = Path(__file__).parents[2] / "benchmarks"
    return runpy.run_path(str(folder / "gate.py"))


def shares(simulation, n: int, runs: int, **drop: Any) -> tuple[float, float]:
    """Of builds that warn, and that fail: 30 % of the queries change."""
    changes = simulation["some_change"](0.3)
    return simulation["shares"](simulation["builds"](changes, n, runs, 5, **drop))


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 1000])
def test_builds_that_change_nothing(simulation, n):
    """Among up to 15 checks: 5 % may warn and 1 % fail, and 2 errors more in luck."""
    warns, fails = shares(simulation, n, 500)
    assert warns <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 500)
    assert fails <= 0.01 + 2 * math.sqrt(0.01 * 0.99 / 500)


def test_a_column_may_be_called_segment():
    named = base().rename({"country": "segment"})
    found, wanted = (
        pr.gate(values, baseline=values, by=by)
        for values, by in ((named, "segment"), (base(), "country"))
    )
    names = wanted.checks["segment"].str.replace("country", "segment")
    assert found.checks.equals(wanted.checks.with_columns(segment=names))


def test_real_drops_fail(simulation):
    assert shares(simulation, 200, 40, drop=0.05)[1] > 0.8


def test_a_loss_in_one_segment_is_seen():
    new = base().with_columns(
        pl.when(pl.col("country") == "JP")
        .then(
            pl.col("ndcg@10")
            - 0.1
            - pl.col("query_id").str.slice(1).cast(pl.Float64) / 500
        )
        .otherwise(pl.col("ndcg@10") + 0.09)
    )
    assert pr.gate(new, baseline=base(), margin=0.01).verdict in ("pass", "warn")
    found = pr.gate(new, baseline=base(), margin=0.01, by="country")
    assert found.verdict == "fail"
    verdicts = dict(found.checks.select("segment", "verdict").rows())
    assert verdicts["country = JP"] == "fail"
    assert verdicts["country = DE"] == "pass"
    few = pr.gate(new, baseline=base(), margin=0.01, by="country", min_queries=30)
    assert few.checks.filter(segment="country = JP")["verdict"].item() == "untested"
    assert few.verdict in ("pass", "warn")
    assert len(found.checks) == 3
    from_new = pr.gate(new, baseline=base().drop("country"), margin=0.01, by="country")
    assert from_new.checks.equals(found.checks)


def test_the_correction_counts_all_checks():
    new = changed(-0.02, 0.065, seed=3)
    p = pr.gate(new, baseline=base()).checks["p_value"].item()
    assert 0.01 < p < 0.05 / 2
    found = pr.gate(new, baseline=base(), by="country", correction="bonferroni")
    assert found.checks["p_adjusted"].to_list() == pytest.approx(
        [min(1.0, 3 * p) for p in found.checks["p_value"]]
    )


def test_lower_is_better_for_some():
    worse = changed(0.05, 0.02).rename({"ndcg@10": "arp"})
    assert (
        pr.gate(worse, baseline=base().rename({"ndcg@10": "arp"}), margin=0.01).verdict
        == "fail"
    )
    better = changed(-0.05, 0.02).rename({"ndcg@10": "arp"})
    assert (
        pr.gate(better, baseline=base().rename({"ndcg@10": "arp"}), margin=0.01).verdict
        == "pass"
    )
    held = base().rename({"ndcg@10": "arp"})
    for most, verdict in ((held["arp"].mean() - 0.01, "fail"), (0.99, "pass")):
        found = pr.gate(held, baseline=held, floors={"arp": most})
        assert found.verdict == verdict
        assert ("above the limit" in str(found)) == (verdict == "fail")


def test_floors_and_margins_by_measure():
    low = base()["ndcg@10"].mean() + 0.01
    found = pr.gate(base(), baseline=base(), floors={"ndcg@10": low})
    assert found.verdict == "fail"
    assert "below the floor" in found.checks["note"].item()
    assert (
        pr.gate(base(), baseline=base(), floors={"ndcg@10": low - 0.02}).verdict
        == "pass"
    )
    new = changed(-0.05, 0.02)
    assert pr.gate(new, baseline=base(), margin={"ndcg@10": 0.06}).verdict == "warn"
    with pytest.raises(ValueError, match="a floor is set for 'ap', which is not gated"):
        pr.gate(base(), baseline=base(), floors={"ap": 0.1})
    with pytest.raises(ValueError, match="margin must be 0 or more"):
        pr.gate(base(), baseline=base(), margin=-0.1)
    with pytest.raises(ValueError, match="not '1%'; for a share of a mean, multiply"):
        pr.gate(base(), baseline=base(), margin="1%")
    with pytest.raises(ValueError, match="rule must be one of"):
        pr.gate(base(), baseline=base(), rule="any")
    with pytest.raises(ValueError, match="no column 'language'"):
        pr.gate(base(), baseline=base(), by="language")


def test_margins_of_several_measures():
    """Whole numbers among them, and names that are gated."""
    both = base().with_columns(ap=pl.col("ndcg@10"))
    new = both.with_columns(pl.col("ndcg@10", "ap") - 0.05)
    found = pr.gate(new, baseline=both, margin={"ndcg@10": 1, "ap": 0.01})
    assert found.checks["margin"].to_list() == [1.0, 0.01]
    assert found.checks["verdict"].to_list() == ["warn", "fail"]
    with pytest.raises(ValueError, match="a margin is set for 'app', which is not gat"):
        pr.gate(new, baseline=both, margin={"app": 0.01})
    with pytest.raises(ValueError, match="margin must be 0 or more"):
        pr.gate(new, baseline=both, margin={"ap": -0.01})


def test_a_mean_that_is_exactly_the_same():
    """One query wins what another loses: no drop beyond the margin, and no doubt."""
    old = pl.DataFrame({"query_id": range(400), "rr": [0.5, 1.0] * 200})
    new = old.with_columns(pl.col("rr").head(2).reverse().append(old["rr"].tail(398)))
    (row,) = pr.gate(
        new, baseline=old, margin=0.02, rule="non_inferior"
    ).checks.to_dicts()
    error = statistics.stdev([0.5, -0.5] + [0.0] * 398) / 20
    assert (row["difference"], row["wins"] + row["losses"], row["verdict"]) == (
        0.0,
        2,
        "pass",
    )
    assert row["p_value"] == pytest.approx(stats.t.sf(0.02 / error, 399), rel=1e-6)
    assert row["detectable"] == pytest.approx((1.6487 + 0.8427) * error, rel=2e-3)


def test_a_loss_that_vanishes_is_no_fault():
    """For a measure where 0 is the worst, it says that ids no longer match."""
    old = pl.DataFrame({"query_id": range(40), "ranking_loss": [0.5] * 40})
    new = old.with_columns(ranking_loss=pl.lit(0.0))
    assert pr.gate(new, baseline=old).verdict == "pass"
    names = {"ranking_loss": "ndcg@10"}
    found = pr.gate(new.rename(names), baseline=old.rename(names))
    assert "were documents or ids replaced" in found.reason


def test_nothing_changed():
    for rule in ("significant", "non_inferior", "threshold"):
        found = pr.gate(base(), baseline=base(), rule=rule)
        assert found.verdict == "pass"
        assert "0 of 60 queries changed" in str(found)
        assert found.checks["p_value"].to_list() == [0.5]  # as likely below as above


@pytest.mark.parametrize("drop", [0.04, 0.02, 0.005])
@pytest.mark.parametrize("noise", [0.0, 0.015])
@pytest.mark.parametrize("rule", get_args(Rule))
def test_drops_of_ties_count(rule, drop, noise):
    """By all rules, a tie is a query that neither wins; its drop is in the mean."""
    old = base()
    apart = [noise * (-1) ** i - drop for i in range(60)]
    new = old.with_columns(pl.col("ndcg@10") + pl.Series(apart))
    found = pr.gate(new, baseline=old, margin=0.01, tie=0.06, rule=rule)
    error = noise / math.sqrt(59)
    t = (0.01 - drop) / error if error else math.copysign(math.inf, 0.01 - drop)
    passed = stats.t.sf(t, 59) < 0.05 if rule == "non_inferior" else drop <= 0.01
    (row,) = found.checks.to_dicts()
    assert row["ties"] == 60
    assert (row["verdict"] != "fail") == passed
    assert row["note"] != "no query changed"
    assert "0 queries better, 60 the same, 0 worse" in str(found)


def test_a_constant_drop_is_sure():
    new = base().with_columns(pl.col("ndcg@10") - 0.1)
    assert pr.gate(new, baseline=base(), margin=0.01).verdict == "fail"
    assert (
        pr.gate(new, baseline=base(), margin=0.2, rule="non_inferior").verdict == "pass"
    )
    assert (
        pr.gate(new, baseline=base(), margin=0.01, rule="non_inferior").verdict
        == "fail"
    )


def broken() -> list[tuple[pl.DataFrame, str]]:
    return [
        (base()[1:], "1 query has no value of every system ('new' lacks 1)"),
        (
            pl.concat([base(), base()[:1]]),
            f"the new values have several rows for query {base()['query_id'][0]!r}",
        ),
        (
            pl.concat(base().with_columns(system=pl.lit(s)) for s in "ab"),
            "keep the rows of one system, such as values.filter(pl.col('system')",
        ),
        (base().rename({"ndcg@10": "ap"}), "the new values have no column 'ndcg@10'"),
        (base().with_columns(pl.col("ndcg@10") * 0), "in 100 % of the queries nothing"),
        (base().with_columns(pl.lit(math.nan).alias("ndcg@10")), "NaN or infinite"),
        (base().clear(), "one system"),
    ]


@pytest.mark.parametrize("rule", get_args(Rule))
def test_a_measure_without_any_value_is_invalid(rule):
    """No floor holds, and nothing says that it is not worse."""
    old = base().with_columns(ap=pl.lit(None, pl.Float64))
    found = pr.gate(old, baseline=old, rule=rule, floors={"ap": 0.5})
    assert found.verdict == "invalid"
    assert "no query has a value of 'ap'" in found.reason
    assert pr.gate(old, "ndcg@10", baseline=old, rule=rule).verdict == "pass"


@pytest.mark.parametrize(("new", "reason"), broken())
def test_what_does_not_fit_is_invalid(new, reason):
    found = pr.gate(new, baseline=base())
    assert found.verdict == "invalid"
    assert reason in found.reason
    assert found.exit_code() == 1
    assert reason in str(found)
    assert reason in found.to_markdown()


def test_other_definitions_are_invalid(tmp_path):
    def file(name, convention, judgments):
        made = Definition.of(["ndcg@10"], convention, ["query_id"], judgments)
        made.write(base(), tmp_path / name)
        return tmp_path / name

    first = file("a.parquet", "trec_eval", "9f3c")
    assert (
        pr.gate(file("b.parquet", "trec_eval", "9f3c"), baseline=first).verdict
        == "pass"
    )
    other = pr.gate(file("c.parquet", "lightgbm", "9f3c"), baseline=first)
    assert "'ndcg@10' is another measure in the baseline" in other.reason
    judged = pr.gate(file("d.parquet", "trec_eval", "0000"), baseline=first)
    assert "computed with other judgments (9f3c, now 0000)" in judged.reason
    told = pr.gate(first, baseline=first)
    assert "convention trec_eval; judgments 9f3c" in told.to_markdown()
    assert pr.gate(base(), baseline=first).verdict == "pass"  # nothing known to differ


def test_exit_codes():
    codes = {
        "pass": pr.gate(base(), baseline=base()),
        "warn": pr.gate(changed(-0.005, 0.005), baseline=base(), margin=0.01),
        "fail": pr.gate(changed(-0.05, 0.02), baseline=base(), margin=0.01),
    }
    assert {v: g.exit_code() for v, g in codes.items()} == {
        "pass": 0,
        "warn": 0,
        "fail": 3,
    }
    assert {v: g.exit_code(strict=True) for v, g in codes.items()} == {
        "pass": 0,
        "warn": 3,
        "fail": 3,
    }


def lists(n: int = 60, name: str = "d") -> pl.Series:
    return pl.Series([[f"{name}{i}-{j}" for j in range(3)] for i in range(n)])


def test_documents_that_left():
    old = base().with_columns(documents=lists())
    new = changed(-0.05, 0.02).with_columns(documents=lists().list.slice(1))
    found = pr.gate(new, baseline=old, documents="documents")
    assert found.documents == {"count": 180, "gone": 60}
    for row in found.worst.iter_rows(named=True):
        assert row["left"] == f"d{int(row['query_id'][1:])}-0"
    text = found.to_markdown()
    assert "60 of 180 documents of the baseline are in no list now." in text
    assert found.notes == ()
    same = pr.gate(
        new.with_columns(old["documents"]), baseline=old, documents="documents"
    )
    assert same.worst["left"].null_count() == len(same.worst) == 10
    assert "0 of 180 documents of the baseline are in no list now." in str(same)
    with pytest.raises(ValueError, match="the new values have no column 'documents'"):
        pr.gate(new.drop("documents"), baseline=old, documents="documents")
    with pytest.raises(ValueError, match="the baseline have no lists, but String, in"):
        pr.gate(new, baseline=old, documents="country")


@pytest.mark.parametrize("empty", [None, []])
def test_queries_without_documents_are_told(empty):
    """Their values are 0, which is no word of why."""
    old = base().with_columns(documents=lists())
    lost = pl.col("query_id") < "q003"
    new = old.with_columns(
        pl.when(~lost).then("ndcg@10").otherwise(0.0).alias("ndcg@10"),
        pl.when(~lost)
        .then("documents")
        .otherwise(pl.lit(empty, pl.List(pl.String)))
        .alias("documents"),
    )
    found = pr.gate(new, baseline=old, documents="documents")
    told = "3 of 60 queries have no document now; in the baseline 0 had none"
    assert found.notes == (told,)
    for text in (str(found), found.to_markdown()):
        assert f"\n\nNote: {told}.\n" in text
    assert json.loads(json.dumps(found.to_dict()))["notes"] == [told]
    bad = new.with_columns(pl.lit(math.nan).alias("ndcg@10"))
    invalid = pr.gate(bad, baseline=old, documents="documents")
    assert invalid.verdict == "invalid"
    for text in (str(invalid), invalid.to_markdown()):
        assert text.endswith(f"\n\nNote: {told}.")


def test_replaced_documents_are_no_regression():
    """All values fall to 0: by other ids it is invalid, by the same ones a failure."""
    old = base().with_columns(documents=lists())
    none = base().with_columns(pl.col("ndcg@10") * 0)
    new = none.with_columns(documents=lists(name="e"))
    other = pr.gate(new, baseline=old, documents="documents")
    assert other.verdict == "invalid"
    assert "180 of 180 documents of the baseline are in no list" in other.reason
    same = pr.gate(
        none.with_columns(documents=lists()), baseline=old, documents="documents"
    )
    assert same.verdict == "fail"
    better = old.with_columns(documents=lists(name="e"))  # judged under the new ids
    assert pr.gate(better, baseline=old, documents="documents").verdict == "pass"


@pytest.mark.slow
def test_markdown_fits_a_pull_request():
    new = changed(-0.05, 0.02)
    text = pr.gate(new, baseline=base(), margin=0.01).to_markdown()
    assert text.startswith("### Ranking gate: **failed** (1 of 1 check)")
    assert "<details><summary>The 10 queries that lost most in ndcg@10" in text
    many = pl.concat([base(400)] * 1).with_columns(part=pl.int_range(pl.len()) // 2)
    worse = many.with_columns(pl.col("ndcg@10") - 0.1 * pl.int_range(pl.len()) % 0.3)
    found = pr.gate(worse, baseline=many, by="part", min_queries=2)
    assert len(found.checks) == 201
    text = found.to_markdown()
    assert len(text) < 65_536
    assert "101 more checks are not shown" in text


def test_worst_queries():
    new = changed(-0.05, 0.02)
    d = dict(zip(base()["query_id"], new["ndcg@10"] - base()["ndcg@10"], strict=True))
    expected = sorted(d, key=d.__getitem__)[:10]
    assert pr.gate(new, baseline=base()).worst["query_id"].to_list() == expected
    both = base().with_columns(ap=pl.col("ndcg@10"))
    lost = both.with_columns(ap=pl.col("ap") - pl.int_range(60) / 1000)
    (ap,) = pr.gate(lost, baseline=both).worst.partition_by("measure")
    assert ap["measure"].unique().item() == "ap"
    assert ap["query_id"].to_list() == [f"q{i:03}" for i in range(59, 49, -1)]


@pytest.mark.parametrize("measure", ["ndcg@10", "ranking_loss"])
def test_worst_queries_are_those_that_lost(measure):
    """Not those that tie: 0.4 - 0.3 is more than 0.1 by rounding alone."""
    old, new = [3, 4, 2, 4, 0], [2, 3, 0, 4, 2]
    sense = -1 if measure == "ranking_loss" else 1
    frames = [
        pl.DataFrame({"query_id": range(5), measure: [v / 10 for v in values]})
        for values in (old, new)
    ]
    found = pr.gate(frames[1], baseline=frames[0], tie=0.1)
    lost = [i for i in range(5) if sense * (old[i] - new[i]) > 1]
    assert found.worst["query_id"].to_list() == lost
    assert found.checks["losses"].item() == len(lost)


def test_dict_is_json():
    found = pr.gate(changed(-0.05, 0.02), baseline=base(), margin={"ndcg@10": 0.01})
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["verdict"] == "fail"
    assert told["checks"][0]["measure"] == "ndcg@10"


@pytest.mark.parametrize("measure", ["rr", "arp"])
def test_better_and_worse_go_by_the_sense_of_the_measure(measure):
    old = pl.DataFrame({"query_id": range(30), measure: [0.5] * 30})
    step = pl.Series([0.1] * 20 + [-0.1] * 7 + [0.0] * 3)
    found = pr.gate(old.with_columns(pl.col(measure) + step), baseline=old).checks
    better, worse = (20, 7) if measure == "rr" else (7, 20)
    assert found.select("wins", "losses").row(0) == (better, worse)


def test_a_column_in_two_roles():
    """Segments that are clusters; clusters of the same query on several days."""
    both = pl.DataFrame({"day": [1, 2] * 30, "query_id": [q // 2 for q in range(60)]})
    old = both.with_columns(rr=pl.col("query_id").cast(pl.Float64) / 30)
    new = old.with_columns(rr=pl.col("rr") * (1 - 0.1 * (pl.col("query_id") % 3)))
    found = pr.gate(
        new, baseline=old, query=["day", "query_id"], by="day", cluster="query_id"
    )
    values = pl.concat(
        [old.with_columns(system=pl.lit("a")), new.with_columns(system=pl.lit("b"))]
    )
    keys = {"query": ["day", "query_id"], "cluster": "query_id", "measures": "rr"}
    whole = pr.compare(values, **keys, alternative="less").pairs["p_value"].item()
    assert found.checks.filter(segment="all")["p_value"].item() == pytest.approx(whole)
    again = pr.gate(
        new, baseline=old, query=["day", "query_id"], by="day", cluster="day"
    )
    assert again.checks["queries"].to_list() == [60, 30, 30]


def test_floors_are_numbers():
    with pytest.raises(ValueError, match="a floor must be a finite number, not nan"):
        pr.gate(base(), baseline=base(), floors={"ndcg@10": float("nan")})


@pytest.mark.parametrize("missing", ["baseline", "values"])
def test_a_file_that_does_not_exist_is_no_verdict(missing, tmp_path):
    given = {"values": base(), "baseline": base()}
    given[missing] = tmp_path / "no such.parquet"
    with pytest.raises(FileNotFoundError, match=r"no such\.parquet: no such file"):
        pr.gate(**given)
