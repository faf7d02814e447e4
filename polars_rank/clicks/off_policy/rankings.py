"""Bind new rankings to be estimated: columns of scores, or frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import Columns, bind_columns
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import refuse_rows
from polars_rank.clicks.log.open_log import opened
from polars_rank.clicks.off_policy.additive import Additive
from polars_rank.core import rules

Systems: TypeAlias = str | Sequence[str] | AnyFrame | Mapping[str, str | AnyFrame]


class System:
    """A ranking: a column of scores, or a frame."""

    def __init__(self, name: str, place: int, frame: pl.LazyFrame | None) -> None:
        self.name = name
        self.weight = f"weight{place}"
        self.score = f"new{place}"
        self.support, self.modeled = f"support{place}", f"modeled{place}"
        self.frame = frame


def named(new: Systems) -> dict[str, str | AnyFrame]:
    """Name the systems."""
    if isinstance(new, Mapping):
        new = {name: _opened(system, name) for name, system in new.items()}
    new = _opened(new, "new")
    if isinstance(new, str):
        return {new: new}
    if isinstance(new, pl.DataFrame | pl.LazyFrame):
        return {"new": new}
    if isinstance(new, Mapping):
        systems = dict(new)
    else:
        systems = {name: name for name in new}
        if len(systems) < len([*new]):
            msg = f"new names a column twice: {', '.join(new)}"
            raise ValueError(msg)
    for name, system in systems.items():
        if not isinstance(system, str | pl.DataFrame | pl.LazyFrame):
            msg = (
                f"the ranking {name!r} must be a column of the log or a frame, not "
                f"{type(system).__name__}"
            )
            raise TypeError(msg)
    if not systems:
        msg = "new must name at least one ranking: a column of scores, or a frame"
        raise ValueError(msg)
    return systems


def _opened(given: Any, name: str) -> Any:
    """Open a frame of another library, or a file, as a Polars frame."""
    foreign = hasattr(given, "__arrow_c_stream__") or isinstance(given, Path)
    return opened(given, f"the ranking {name!r}") if foreign else given


def with_baseline(
    new: Systems, baseline: str | None, log: AnyFrame
) -> dict[str, str | AnyFrame]:
    """Name the systems. A baseline that is another column of the log is last."""
    systems = named(new)
    if baseline is None or baseline in systems:
        return systems
    if baseline not in log.lazy().collect_schema():
        msg = (
            f"baseline must be one of the systems {', '.join(systems)}, or a column of "
            f"scores in the log, not {baseline!r}"
        )
        raise ValueError(msg)
    return {**systems, baseline: baseline}


def with_scores(log: ClickLog, scores: Sequence[str], *, rewarded: bool) -> ClickLog:
    """Add faults of rows: scores that rank nothing, rewards that cannot be."""
    broken = {}
    if scores:
        bad = [
            pl.col(s).is_null() | pl.col(s).cast(pl.Float64).is_nan() for s in scores
        ]
        broken[rules.INVALID_NEW_SCORE] = pl.any_horizontal(bad)
    if rewarded:
        reward = pl.col("reward").cast(pl.Float64).fill_null(0.0)
        log = replace(log, rows=log.rows.with_columns(reward))
        broken[rules.INVALID_RELEVANCE] = _improbable(pl.col("reward"))
    return log.breaking(broken)


def _improbable(value: pl.Expr) -> pl.Expr:
    return value.is_nan() | ~value.is_between(0, 1)


def ranking(
    name: str,
    frame: AnyFrame,
    log: ClickLog,
    measure: Additive,
    reward: str | None,
    place: int,
) -> pl.LazyFrame:
    """Plan a ranking in a frame: query, doc, weight of the place, reward."""
    where = f"the ranking {name!r}"
    schema = frame.lazy().collect_schema()
    order = [column for column in ("rank", "score") if column in schema]
    if not order:
        msg = f"{where} needs a column 'score' or 'rank'; it has {', '.join(schema)}"
        raise pl.exceptions.ColumnNotFoundError(msg)
    roles = {"query": log.roles["query"], "doc": log.roles["doc"], order[0]: order[0]}
    carry = {}
    if reward is not None:
        if reward not in schema:
            msg = f"reward {reward!r} is not in {where}; every document needs one"
            raise pl.exceptions.ColumnNotFoundError(msg)
        carry = {"reward": reward}
    rows = bind_columns(
        frame.lazy(), Columns((), roles), where=where, roles=(*roles,), carry=carry
    ).frame
    if order[0] == "score":
        rank = pl.col("score").rank("ordinal", descending=True)
        rows = rows.with_columns(rank=rank.over("query", order_by="doc"))
        bad = pl.col("score").is_null() | pl.col("score").cast(pl.Float64).is_nan()
        wrong = rules.INVALID_NEW_SCORE
    else:
        bad, wrong = pl.col("rank").is_null() | (pl.col("rank") < 1), rules.INVALID_RANK
    broken = {wrong: bad, rules.DUPLICATE_DOC: pl.len().over("query", "doc") > 1}
    if reward is not None:
        rows = rows.with_columns(pl.col("reward").cast(pl.Float64).fill_null(0.0))
        broken[rules.INVALID_RELEVANCE] = _improbable(pl.col("reward"))
    sound = refuse_rows(rows, broken, example="query", check=log.check)
    weight = measure.weight(pl.col("rank").cast(pl.Float64)).alias(f"weight{place}")
    return sound.select("query", "doc", weight, *carry)
