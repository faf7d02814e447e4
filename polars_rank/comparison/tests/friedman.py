"""Friedman's rank test of several systems."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_rank.comparison.input.values import Values, cell
from polars_rank.comparison.tests.paired_tests import rounded
from polars_rank.core.extras import require


def friedman(values: Values) -> pl.DataFrame:
    """Test for each segment and measure whether the systems have equal ranks.

    ``w`` is Kendall's coefficient of concordance: 1 if all queries rank the systems
    alike, 0 if not at all.
    """
    columns = values.columns
    if columns.weight is not None or columns.cluster is not None or not values.paired:
        msg = "Friedman's test is for paired queries without weights or clusters"
        raise ValueError(msg)
    if len(values.systems) < 3:
        msg = "Friedman's test is for three systems or more; of two, see test='sign'"
        raise ValueError(msg)
    test = require("scipy.stats", "stats").friedmanchisquare
    by, df = values.by, len(values.systems) - 1
    parts = values.frame.partition_by(by, as_dict=True) if by else {(): values.frame}
    rows: list[tuple[object, ...]] = []
    for k, measure in enumerate(values.measures):
        cells = [cell(k, i) for i in range(len(values.systems))]
        for segment, part in parts.items():
            x = part.select(cells).drop_nulls().to_numpy()
            x = rounded(x, np.abs(x).max(initial=0.0))
            n = len(x)
            statistic = p = w = None
            if n > 1 and (x != x[:, :1]).any():
                statistic, p = map(float, test(*x.T))
                w = statistic / (n * df)
            elif n > 1:
                statistic, p, w = 0.0, 1.0, 0.0
            rows.append((*segment, measure, n, statistic, float(df), p, w))
    kinds = [values.frame.schema[name] for name in by]
    schema = {
        **dict(zip(columns.segments, kinds, strict=True)),
        "measure": pl.String(),
        "queries": pl.UInt32(),
        **dict.fromkeys(("statistic", "df", "p_value", "w"), pl.Float64()),
    }
    found = pl.DataFrame(rows, schema=schema, orient="row")
    order = pl.col("measure").rle_id()
    return found.sort(order, *columns.segments) if by else found
