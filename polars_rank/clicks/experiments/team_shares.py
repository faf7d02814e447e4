"""Check a draft: compute each team's share of the documents at a position."""

from __future__ import annotations

from typing import Unpack, cast

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._statistics.distributions import chi_square_tail
from polars_rank.clicks.experiments.crediting import NO_WEIGHT
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import require_sound_rows
from polars_rank.clicks.log.log_columns import (
    LogOptions,
    refuse_options,
    require_distinct,
)
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.log.position_counts import rows_with_known


@function_of_log
def team_shares(  # type: ignore[misc]  # team= is an option, named here
    log: AnyFrame, /, *, team: str, **options: Unpack[LogOptions]
) -> AnyFrame:
    """Compute the share of each team's documents per position: equal in a fair draft.

    Bugs of a draft show here: a team that begins more often, or that fills the end.

    Parameters
    ----------
    log, team, **options
        As in :func:`interleaving`; ``by`` among them.

    Returns
    -------
    A frame like ``log``: the ``by`` columns, ``position``, ``team``, ``documents``,
    ``share`` of the position's, and ``p_value`` of equal shares (chi-square);
    null where there is one team only.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks, example
    >>> log = pl.scan_parquet(example.clicks_path())
    >>> shares = clicks.team_shares(log, team="team").collect()
    >>> shares.select("position", "team", "documents").head(2).rows()
    [(1, 'A', 1037), (1, 'B', 993)]
    """
    refuse_options(options, ["weight"], NO_WEIGHT)
    bound: ClickLog = ClickLog.of(log, cast("LogOptions", {**options, "team": team}))
    bound = rows_with_known(bound)
    by = bound.segments
    rows = require_sound_rows(bound).drop_nulls("team").with_columns(**by)
    place, own = [*by, "position"], ["team", "documents", "share", "p_value"]
    require_distinct([*bound.by, "position", *own])
    found = rows.group_by(*place, "team").agg(documents=pl.len())
    n, whole = pl.col("documents"), pl.col("documents").sum()
    teams = found.select(teams=pl.col("team").n_unique())
    equal = whole / pl.col("teams").first()
    # A team without a document at a position has no row: what it lacks is missing, too.
    lacking = (pl.col("teams").first() - pl.len()) * equal
    statistic = ((n - equal) ** 2 / equal).sum() + lacking
    found = found.join(teams, how="cross").with_columns(
        share=(n / whole).over(place),
        p_value=pl.struct(statistic.over(place), "teams").map_batches(
            _chi_square, return_dtype=pl.Float64, is_elementwise=True
        ),
    )
    shown = found.select(*place, *own)
    ordered = shown.sort(*place, "team", nulls_last=True)
    return like_input(log, bound.titled(ordered))


def _chi_square(rows: pl.Series) -> pl.Series:
    statistic, teams = (rows.struct.field(name) for name in rows.struct.fields)
    pairs = zip(statistic, teams, strict=True)
    tails = [chi_square_tail(x, n - 1) if n > 1 else None for x, n in pairs]
    return pl.Series(tails, dtype=pl.Float64)
