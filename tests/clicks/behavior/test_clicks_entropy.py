"""Click entropy, by a plain loop."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import polars as pl
import pytest
from test_clicks_propensities import loop_of, random_log

from polars_rank import DataError, clicks


@pytest.mark.parametrize("by", [None, "day"])
def test_the_entropy_of_clicks(by):
    log = random_log(8).with_columns(
        clicked=pl.col("clicked") & (pl.col("query_id") != "q3")  # never clicked
    )
    counts, shown = defaultdict(Counter), Counter()
    for r in loop_of(log):
        key = (r[by], r["query_id"]) if by else (r["query_id"],)
        counts[key][r["doc_id"]] += r["clicked"]
        shown[key] += 1
    found = clicks.click_entropy(log, **({"by": by} if by else {}))
    rows = {row[:-4]: row[-4:] for row in found.rows()}
    assert rows.keys() == counts.keys()
    for key, documents in counts.items():
        total = sum(documents.values())
        shares = [n / total for n in documents.values() if n]
        impressions, clicked, several, entropy = rows[key]
        assert (impressions, clicked, several) == (shown[key], total, len(shares))
        wanted = -sum(p * math.log2(p) for p in shares) if total else None
        assert entropy == (pytest.approx(wanted, rel=1e-12) if total else None)


def test_a_document_that_comes_twice():
    with pytest.raises(DataError, match="document"):
        clicks.click_entropy(random_log(1).with_columns(doc_id=pl.lit("d")))


def test_the_last_bit_does_not_depend_on_the_order_of_rows():
    totals = pl.DataFrame(
        {"query_id": [i % 20 for i in range(2000)], "doc_id": range(2000)}
    ).with_columns(position=1, clicked=pl.col("doc_id") % 47 + 3, count=pl.lit(60))
    orders = [totals.sample(fraction=1.0, shuffle=True, seed=i) for i in range(9)]
    one, *others = (clicks.click_entropy(rows, count="count") for rows in orders)
    assert all(one.equals(other) for other in others)
