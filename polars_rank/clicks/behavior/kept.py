"""Describe states of behavior that are kept, and check that they are whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank.clicks.behavior.impression import Impression
from polars_rank.clicks.behavior.measures import BEHAVIOR, BehaviorMeasure
from polars_rank.clicks.behavior.traced import Unit
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import CHOICES, DEFAULTS, LogColumns, LogOptions
from polars_rank.core.exact.aggregate import RatioMoments
from polars_rank.core.exact.state import (
    DEFINITION,
    DIGESTS,
    PLACE,
    State,
    Type,
    added_up,
    chosen,
    damaged,
    defined,
    digest,
)
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike
from polars_rank.io.states import read_states

CONTENT = "polars_rank.content"  # a number of the rows that were summed
UNSEEN = {"by", "layout", "memory_limit", "temp_dir", "progress"}  # decide no value
STATE = [*RatioMoments(pl.lit(1)).state(pl.lit(1))]
TYPES: dict[str, Type] = {
    "measure": "text",
    **dict.fromkeys(["impressions", *STATE], "number"),
}
CLUSTER_SUMS: dict[str, Type] = {
    "impressions": "number",
    "cluster": "hash",
    **dict.fromkeys(["x", "d"], "number"),
}
CLUSTER_TYPES: dict[str, Type] = {"measure": "text", **CLUSTER_SUMS}
COLUMNS = (*dict.fromkeys([*TYPES, *CLUSTER_TYPES, DEFINITION, DIGESTS]),)


class Kept(NamedTuple):
    """The rows of states, and the columns that tell their segments apart.

    ``clusters`` says whether a row is that of a single cluster; ``definitions`` are
    those of the measures.
    """

    rows: pl.DataFrame
    by: list[str]
    clusters: bool
    definitions: dict[str, str]


def definitions_of(
    measures: Sequence[BehaviorMeasure],
    log: ClickLog,
    unit: Unit | None,
    options: LogOptions,
    *,
    keep_clusters: bool = False,
) -> dict[str, str]:
    """Describe all that can change a value, by measure: ``by`` is in the state."""
    names = {**LogColumns.__annotations__, **LogOptions.__annotations__}
    usual: dict[str, Any] = {**DEFAULTS, **{n: v[0] for n, v in CHOICES.items()}}
    usual["first_position"] = 1
    how: dict[str, object] = {"unit": unit}
    how |= {n: options.get(n, usual.get(n)) for n in names if n not in UNSEEN}
    how["impressions"] = options.get("impressions") is not None
    how["keep_clusters"] = keep_clusters
    return {
        m.name: defined("behavior", {"measure": _spelled(m, log), **how})
        for m in measures
    }


def _spelled(measure: BehaviorMeasure, log: ClickLog) -> str:
    """Spell a measure with the version of its definition, a function as formula."""
    known = BEHAVIOR.get(measure.formula.__name__)
    if known is None or known.formula is not measure.formula:
        impression = Impression(log.roles, log.carried)
        pair = " / ".join(map(str, measure.pair(impression)))
        words = impression.words | impression.totals | impression.steps
        return "; ".join([pair, *(f"{name}: {e}" for name, e in words.items())])
    given = "".join(f", {n}={v!r}" for n, v in sorted(measure.arguments.items()))
    return f"{known.name}{given}, version {known.version}"


def sealed(
    states: pl.LazyFrame,
    by: Sequence[str],
    definitions: Mapping[str, str],
    part: str | None,
) -> pl.LazyFrame:
    """Add definitions and the digest, of the sums of ``CONTENT``, to states."""
    return states.with_columns(
        pl.col("measure").replace_strict(definitions).alias(DEFINITION),
        digest(by, CONTENT, part),
    ).drop(CONTENT)


def read_behavior(parts: FrameLike | Iterable[FrameLike], one: str = "state") -> Kept:
    """Read states of one definition, each there once. ``one`` is their name."""
    states = read_states(parts, one)
    sound = [s for s in states if DEFINITION in s.frame.columns]
    without = [s.name for s in sound if not _keeps(s.frame)]
    clusters = len(without) < len(sound)
    if clusters and without:
        _refuse(f"{without[0]} does", len(without))
    types = CLUSTER_TYPES if clusters else TYPES
    possible = _require_possible_clusters if clusters else _require_possible
    whole = added_up(states, "behavior", types, possible)
    by = [name for name in whole.columns if name not in COLUMNS]
    told = whole.select("measure", DEFINITION).unique(
        "measure", keep="first", maintain_order=True
    )
    return Kept(whole.select(*by, *types), by, clusters, dict(told.rows()))


def _keeps(frame: pl.DataFrame) -> bool:
    return "cluster" in frame.columns  # the name of no segment: see COLUMNS


def require_clusters(kept: Kept, name: str) -> None:
    """Raise an error unless the states keep their clusters."""
    if not kept.clusters:
        _refuse(f"{name} do", 1)


def _refuse(who: str, count: int) -> None:
    msg = (
        f"{who} not keep the sums of each cluster: make them with "
        "behavior_state(..., keep_clusters=True)"
    )
    raise DataError(msg, rule="clusters_not_kept", count=count)


def warn_of_returning(kept: Kept) -> None:
    """Warn where clusters that are not kept may be in several parts."""
    named = any(chosen(text, "cluster") for text in kept.definitions.values())
    some = kept.rows.filter(pl.col("n") > 0).select(*kept.by, "measure")
    if named and some.is_duplicated().any():
        warn(
            "clusters, such as users, are counted anew in every part: if they come "
            "back, there are fewer of them, and the errors are larger. Make states "
            "with behavior_state(..., keep_clusters=True), or say that every cluster "
            "lies in one part: whole_clusters=True"
        )


def _require_possible_clusters(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse sums that no cluster has."""
    right = (
        ~pl.any_horizontal(pl.col("measure", *CLUSTER_SUMS).is_null())
        & pl.all_horizontal(pl.col("x", "d").cast(pl.Float64).is_finite())
        & (pl.col("impressions") > 0)
    )
    _refuse_damage(whole, states, right)


def _require_possible(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse sums that no impressions have."""
    some = [name for name in STATE if not name.endswith("_high")]
    plain = [name for name in STATE if name.endswith("_plain")]
    right = (
        ~pl.any_horizontal(pl.col("measure", "impressions", *some).is_null())
        & pl.all_horizontal(pl.col(plain).is_finite())
        & pl.all_horizontal(pl.col("xx_plain", "dd_plain") >= 0)
        & pl.col("n").is_between(0, pl.col("impressions"))
    )
    _refuse_damage(whole, states, right)


def _refuse_damage(
    whole: pl.DataFrame, states: Sequence[State], right: pl.Expr
) -> None:
    wrong = whole.filter(~right.fill_null(value=False)).head(1)
    for place, measure in wrong.select(PLACE, "measure").rows():
        fault = f"the sums of {measure!r} are none that impressions have; make it anew"
        raise damaged(states[place].name, fault)
