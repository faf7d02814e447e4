"""States of behaviour that are kept: what they are, and whether they are whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.clicks.impression import Impression
from polars_rank.clicks.log import ClickLog
from polars_rank.clicks.log_options import CHOICES, DEFAULTS, LogColumns, LogOptions
from polars_rank.clicks.measures import BEHAVIOUR, BehaviourMeasure
from polars_rank.clicks.traced import Per
from polars_rank.core.aggregate import RatioMoments
from polars_rank.core.state import (
    DEFINITION,
    DIGESTS,
    PLACE,
    State,
    Type,
    added_up,
    damaged,
    defined,
    digest,
)
from polars_rank.io.frames import FrameLike
from polars_rank.io.states import read_states

__all__ = ["CONTENT", "definitions_of", "read_behaviour", "sealed"]

CONTENT = "polars_rank.content"  # a number of the rows that were summed
UNSEEN = {"by", "layout", "memory_limit", "temp_dir", "progress"}  # decide no value
STATE = [*RatioMoments(pl.lit(1)).state(pl.lit(1))]
TYPES: dict[str, Type] = {
    "measure": "text",
    **dict.fromkeys(["impressions", *STATE], "number"),
}


def definitions_of(
    measures: Sequence[BehaviourMeasure],
    log: ClickLog,
    per: Per | None,
    options: LogOptions,
) -> dict[str, str]:
    """All that can change a value, by measure: segments are columns of the state."""
    names = {**LogColumns.__annotations__, **LogOptions.__annotations__}
    usual: dict[str, Any] = {**DEFAULTS, **{n: v[0] for n, v in CHOICES.items()}}
    usual["first_position"] = 1
    chosen = {n: options.get(n, usual.get(n)) for n in names if n not in UNSEEN}
    chosen["impressions"] = options.get("impressions") is not None
    return {
        m.name: defined(
            "behaviour", {"measure": _spelled(m, log), "per": per, **chosen}
        )
        for m in measures
    }


def _spelled(measure: BehaviourMeasure, log: ClickLog) -> str:
    """A measure with the version of its definition; a function with its formula."""
    known = BEHAVIOUR.get(measure.formula.__name__)
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
    """States with their definitions and their digest, of the sums of ``CONTENT``."""
    return states.with_columns(
        pl.col("measure").replace_strict(definitions).alias(DEFINITION),
        digest(by, CONTENT, part),
    ).drop(CONTENT)


def read_behaviour(
    parts: FrameLike | Iterable[FrameLike],
) -> tuple[pl.DataFrame, list[str]]:
    """The rows of states of one definition, each there once; and their segments."""
    states = read_states(parts, "state")
    whole = added_up(states, "behaviour", TYPES, _require_possible)
    by = [name for name in whole.columns if name not in {*TYPES, DEFINITION, DIGESTS}]
    return whole.select(*by, *TYPES), by


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
    wrong = whole.filter(~right.fill_null(value=False))
    for place, measure in wrong.select(PLACE, "measure").rows():
        fault = f"the sums of {measure!r} are none that impressions have; make it anew"
        raise damaged(states[place].name, fault)
