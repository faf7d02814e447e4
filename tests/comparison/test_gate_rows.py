"""The gate, row by row: plain loops decide on small random values, in exact numbers."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from scipy import stats

import polars_rank as pr

LOWER = "ranking_loss"  # the only measure here that is better if it is lower
MEASURES = ["rr", "ndcg@10", LOWER]
Row = dict[str, Any]


def queries(draw: random.Random, measures: list[str]) -> list[Row]:
    kind = draw.choice(["steps", "smooth", "constant", "rare"])
    by = draw.choice([-0.1, -0.02, 0.0, 0.05])
    rows = []
    for q in range(draw.choice([2, 3, 8, 20, 60])):
        row: Row = {"query_id": q, "user": q // 3, "traffic": draw.choice([1, 2, 5])}
        row |= {"land": draw.choice(["x", "y", None]), "lang": draw.choice("ab")}
        for name in measures:
            old = draw.choice([0, 0.25, 0.5, 1.0])
            new = {
                "steps": draw.choice([0, 0.25, 0.5, 1.0]),
                "smooth": old + by + draw.gauss(0, 0.1),
                "constant": old + by,
                "rare": old if draw.random() < 0.8 else 1.0 - old,
            }[kind]
            unknown = q > 1 and draw.random() < 0.05
            row[name] = (None, None) if unknown else (old, new)
        rows.append(row)
    return rows


def check(rows: list[Row], measure: str, options: Row, shift: float) -> Row:
    """Mean gain, its error (HC1 or CR1) and p-value of a drop beyond the shift."""
    sign = -1 if measure == LOWER else 1
    known = [row for row in rows if row[measure][0] is not None]
    found: Row = {"queries": len(known), "wins": 0, "losses": 0, "p_value": None}
    weight, cluster = options["weight"], options["cluster"] or "query_id"
    w = [Fraction(row[weight]) if weight else Fraction(1) for row in known]
    if not known:
        return found
    pairs = [[Fraction(v) for v in row[measure]] for row in known]
    d = [sign * (new - old) for old, new in pairs]
    mean = sum(map(Fraction.__mul__, w, d)) / sum(w)
    old, new = (sum(a * p[i] for a, p in zip(w, pairs, strict=True)) for i in (0, 1))
    found |= {"baseline_mean": float(old / sum(w)), "mean": float(new / sum(w))}
    found |= {"wins": sum(v > 1e-9 for v in d), "losses": sum(v < -1e-9 for v in d)}
    found |= {"difference": sign * float(mean), "gain": float(mean)}
    found |= {"ties": len(known) - found["wins"] - found["losses"]}
    found |= dict.fromkeys(("se", "lower", "upper"))
    units: dict[int, Fraction] = {}
    for row, a, v in zip(known, w, d, strict=True):
        unit = row[cluster]
        units[unit] = units.get(unit, Fraction(0)) + a * (v - mean)
    g = len(units)
    if g > 1:
        square = Fraction(g, g - 1) * sum(e * e for e in units.values()) / sum(w) ** 2
        error, above = math.sqrt(square), float(mean) + shift
        above = above if abs(above) > 1e-12 else 0.0
        constant = math.copysign(math.inf, above) if above else 0.0
        t = above / error if error > 1e-13 else constant
        tail = stats.t.sf if options["rule"] == "non_inferior" else stats.t.cdf
        found["p_value"] = float(tail(t, g - 1))
        half = stats.t.ppf((1 + options["level"]) / 2, g - 1) * error
        found |= {"se": error, "lower": sign * float(mean) - half}
        found |= {"upper": sign * float(mean) + half}
    return found


def holm(given: list[float]) -> list[float]:
    order = sorted(range(len(given)), key=given.__getitem__)
    found, least = [0.0] * len(given), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(given) - rank) * given[place]))
        found[place] = least
    return found


def verdict(row: Row, measure: str, options: Row) -> str:
    floor = options["floors"].get(measure) if row["segment"] == "all" else None
    if floor is not None:
        low, high = sorted([row["mean"], floor])
        if low < high and (row["mean"] == (high if measure == LOWER else low)):
            return "fail"
    if not row["gated"]:
        return "untested"
    alpha, p = 1 - options["level"], row["p_adjusted"]
    sure = p is not None and p < alpha
    large = row["gain"] < -row["margin"] - 1e-12
    if options["rule"] == "threshold":
        return "fail" if large else "pass"
    if options["rule"] == "non_inferior":
        return "pass" if sure or not row["wins"] + row["losses"] else "fail"
    if sure and p < alpha / 5 and large:
        return "fail"
    return "warn" if sure else "pass"


def expected(rows: list[Row], measures: list[str], options: Row) -> list[Row]:
    found = []
    for measure in measures:
        margin = options["margin"]
        margin = margin.get(measure, 0) if isinstance(margin, dict) else margin
        shift = margin if options["rule"] == "non_inferior" else 0.0
        groups = [("all", rows)]
        for column in options["by"] or []:
            for value in {row[column] for row in rows}:
                part = [row for row in rows if row[column] == value]
                shown = "-" if value is None else value
                groups.append((f"{column} = {shown}", part))
        for segment, part in groups:
            row = check(part, measure, options, shift)
            row |= {"measure": measure, "segment": segment, "margin": margin}
            row["floor"] = options["floors"].get(measure) if segment == "all" else None
            row["gated"] = segment == "all" or row["queries"] >= options["min_queries"]
            row["p_value"] = row["p_value"] if row["gated"] else None
            found.append(row)
    tested = [row for row in found if row["p_value"] is not None]
    for row, p in zip(tested, holm([row["p_value"] for row in tested]), strict=True):
        row["p_adjusted"] = p
    for row in found:
        row.setdefault("p_adjusted", None)
        if row["queries"]:
            row["verdict"] = verdict(row, row["measure"], options)
    return found


EXACT = ("queries", "wins", "ties", "losses", "verdict")
NEARLY = (
    *("difference", "se", "lower", "upper", "baseline_mean", "mean"),
    *("margin", "floor", "p_value", "p_adjusted"),
)
KEYS = ("measure", "segment")
BY_HAND = ("detectable", "note")  # in test_gate.py


@pytest.mark.parametrize("seed", [*range(6), *(
    pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 24)
)])  # fmt: skip
def test_every_row_is_a_loop(seed):
    draw = random.Random(seed)
    measures = draw.sample(MEASURES, draw.randint(1, 3))
    rows = queries(draw, measures)
    options = {
        "by": draw.sample(["land", "lang"], draw.randint(0, 2)) or None,
        "weight": draw.choice([None, None, "traffic"]),
        "cluster": draw.choice([None, None, "user"]),
        "margin": draw.choice([0.0, 0.01, 0.05, dict.fromkeys(measures[:1], 0.02)]),
        "rule": draw.choice(["significant", "non_inferior", "threshold"]),
        "floors": draw.choice([{}, {}, {measures[0]: 0.5}]),
        "min_queries": draw.choice([2, 5, 20]),
        "level": draw.choice([0.95, 0.8]),
    }
    types = dict.fromkeys(measures, pl.Float64) | {"land": pl.String}
    old, new = (
        pl.DataFrame(
            [row | {m: row[m][i] for m in measures} for row in rows],
            schema_overrides=types,
        )
        for i in (0, 1)
    )
    new = new.sample(fraction=1.0, shuffle=True, seed=seed)
    found = pr.gate(new, baseline=old, measures=measures, **options)
    wanted = {
        (r["measure"], r["segment"]): r for r in expected(rows, measures, options)
    }
    for row in found.checks.to_dicts():
        own = wanted.pop((row["measure"], row["segment"]))
        if not own["queries"]:
            continue
        for name in EXACT:
            assert row[name] == own[name], (name, row, own)
        for name in NEARLY:
            near = (
                own[name] if own[name] is None else pytest.approx(own[name], abs=1e-9)
            )
            assert row[name] == near, (name, row, own)
    assert not [row for row in wanted.values() if row["queries"]]
    failed = "fail" in found.checks["verdict"].to_list()
    assert (found.verdict == "fail") == failed == (found.exit_code() == 3)


def test_every_column_of_a_check_is_compared():
    old = pl.DataFrame({"query_id": range(3), "rr": [0.0, 0.5, 1.0]})
    tested = {*KEYS, *EXACT, *NEARLY, *BY_HAND}
    apart = {*pr.gate(old, baseline=old).checks.columns} ^ tested
    assert not apart, "compare it with the loop: EXACT or NEARLY"
