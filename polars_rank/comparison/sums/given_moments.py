"""Refuse moments that lack columns or rows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank.comparison.sums.moments import KEYS, ORDER
from polars_rank.exceptions import DataError

NAMES = [*KEYS, *ORDER]
MOST = 10  # of 14 names: no values of queries have as many by chance
AGAIN = "make them anew with moments, and keep them in Parquet"


def require_columns_of_moments(schema: pl.Schema) -> None:
    """Refuse moments of which columns are missing.

    They would be read as values of queries that lack a column ``query_id``.
    """
    lacking = [name for name in NAMES if name not in schema]
    if len(lacking) > len(NAMES) - MOST:
        return
    if lacking:
        msg = f"these are moments without {', '.join(map(repr, lacking))}; {AGAIN}"
        raise DataError(msg, rule="missing_column", count=len(lacking))


def require_rows_of_moments(table: pl.DataFrame, segments: Sequence[str]) -> None:
    """Refuse moments that lack the sums of a pair's system, or those of all pairs."""
    keys = [*segments, "measure"]
    own = table.filter(pl.col("other").is_null()).select(*keys, "system")
    pairs = table.filter(pl.col("other").is_not_null()).select(*keys, *KEYS[1:])
    for role in ("system", "other"):
        known = own.rename({"system": role})
        lost = pairs.join(known, on=[*keys, role], how="anti", nulls_equal=True)
        if len(lost):
            measure, system = lost.select("measure", role).row(0)
            msg = (
                f"these moments have differences of {system!r} in {measure!r}, but "
                f"no sums of {system!r} alone (a row whose 'other' is null); {AGAIN}"
            )
            raise DataError(msg, rule="missing_row", count=len(lost))
    systems = own["system"].unique(maintain_order=True).to_list()
    if len(systems) > 1 and not len(pairs):
        named = " and ".join(map(repr, systems[:2]))
        msg = (
            f"these moments have no differences between {named}: only moments of "
            f"values that hold both systems do; {AGAIN}"
        )
        raise DataError(msg, rule="missing_row", count=1)


def never_together(pairs: pl.DataFrame, wanted: Sequence[tuple[str, str]]) -> list[str]:
    """Note which of the wanted pairs no part of the moments holds."""
    held = {*pairs.select("baseline", "system").rows()}
    lost = [" and ".join(pair) for pair in wanted if pair not in held]
    if not lost:
        return []
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    return [f"Not compared, since no part holds both: {', '.join(lost[:3])}{more}."]
