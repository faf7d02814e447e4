"""Make one row per impression of rows in any layout, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import polars as pl

from polars_rank._engine.checks.enforce import Check, enforce
from polars_rank._engine.layout import (
    in_batches,
    reject_if_shuffled,
    try_else,
    verify_contiguous,
)
from polars_rank._engine.request import Resources
from polars_rank._engine.stages.rank import pack, unpack
from polars_rank._engine.stages.sum import Plan
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.contiguous import ROWS, VARIES, run_sums
from polars_rank.core import rules
from polars_rank.core.source import is_rereadable, without_pushdown
from polars_rank.exceptions import DataError

KEY = "impression"
FACTOR = 4  # bytes that grouping takes for each byte of the rows


def in_layout(log: ClickLog, plan: Callable[[ClickLog], pl.LazyFrame]) -> pl.LazyFrame:
    """Plan in the requested layout.

    ``"auto"`` tries contiguous rows first, and plans for any order if they are not.
    """
    if log.layout != "auto" or log.small:
        return plan(log)
    fallback = plan(replace(log, layout="any"))
    if log.resources is not None and not is_rereadable(log.rows):
        return fallback
    check = "strict" if log.check == "warn" else log.check
    attempt = replace(log, layout="contiguous", check=check, unclaimed=True)
    return try_else(
        lambda: plan(attempt),
        fallback,
        name="layout=auto",
        claim="rows of an impression are contiguous",
        otherwise="grouping them by impression",
        reads=[log.rows],
    )


def may_be_tried(log: ClickLog) -> bool:
    """Return whether a plan that may fail is worth it, as rows can be reread.

    Small frames are not worth it, and rows that first have to go into buckets.
    """
    bounded = log.resources is not None and log.layout != "contiguous"
    return not (log.small or bounded) and is_rereadable(log.rows)


def order_of(log: ClickLog) -> Literal["left", "none"]:
    """Say whether joins must keep the rows of an impression contiguous."""
    return "left" if log.layout == "contiguous" else "none"


def impressions_of(
    log: ClickLog,
    words: Mapping[str, pl.Expr],
    *,
    totals: Mapping[str, pl.Expr] = MappingProxyType({}),
    documents: bool = False,
    prepare: Callable[[pl.LazyFrame, str], pl.LazyFrame] | None = None,
    proved: Callable[[pl.LazyFrame, str, list[str]], pl.LazyFrame] | None = None,
) -> Plan:
    """Plan one row per impression: ``key0`` ..., words, ``by0`` ..., and rules.

    ``words`` are aggregations of the rows of an impression, ``totals`` values of a row
    whose sums are words, too; ``documents`` says whether a document that comes twice
    would be counted twice. ``prepare`` adds columns that depend on other rows of the
    impression, which the column of its second argument identifies. ``proved`` makes the
    impressions itself, of rows, their key and the constants, and checks what is
    ``faulty``.
    """
    every_row = documents or log.every_document or prepare is not None
    if proved is not None:
        rows = log.rows
        if log.check != "off":
            rows = rows.with_columns(faulty=log.faulty)
        frame = proved(pack(rows, log.keys, KEY), KEY, _constants(log))
        checks: list[rules.Rule | None] = []
    elif log.shallow and log.layout == "contiguous" and not words and not every_row:
        frame, checks = _by_runs(log, totals)
    else:
        sums = {name: value.sum() for name, value in totals.items()}
        words = {**words, **sums}
        frame, checks = _by_rows(log, words, documents=documents, prepare=prepare)
    plan = Plan(unpack(frame, log.keys, KEY), {})
    if log.impressions is not None:
        plan = _with_all_impressions(log, plan)
    for i, rule in enumerate(checks):
        if rule is None:  # a fault of the rows, by its number
            fault = pl.col(f"check{i}")
            for number, broken in enumerate(log.rules, start=1):
                plan = plan.with_rule(broken, fault == number)
        else:
            plan = plan.with_rule(rule, pl.col(f"check{i}"))
    if log.weight is not None and log.check != "off":
        weight = pl.col(log.carried[log.weight]).cast(pl.Float64)
        sound = ((weight >= 0) & weight.is_finite()).fill_null(value=False)
        plan = plan.with_rule(rules.INVALID_WEIGHT, ~sound)
    if log.cluster and log.check != "off":
        plan = plan.with_rule(rules.NULL_CLUSTER, _without_cluster(log))
    return plan


def _by_runs(
    log: ClickLog, totals: Mapping[str, pl.Expr]
) -> tuple[pl.LazyFrame, list[rules.Rule | None]]:
    """Sum impressions over their runs; return the rules that were checked, too."""
    constants, bit = _constants(log), pl.col("bit")
    shown = next((name for name, value in totals.items() if value.meta.eq(bit)), "bit")
    rows = pack(log.rows, log.keys, KEY)
    sums = {**totals, shown: bit}
    frame = run_sums(rows, KEY, sums, constants, unclaimed=log.unclaimed)
    twice = pl.col(shown).bitwise_count_ones() < pl.col(ROWS)
    checks: dict[rules.Rule | None, pl.Expr] = {rules.DUPLICATE_POSITION: twice}
    if log.check != "off" and constants:
        checks[rules.TWO_VALUES] = pl.col(VARIES)
    named = {f"check{i}": broken for i, broken in enumerate(checks.values())}
    return frame.select(KEY, *totals, *constants, **named), [*checks]


def _by_rows(
    log: ClickLog,
    words: Mapping[str, pl.Expr],
    *,
    documents: bool,
    prepare: Callable[[pl.LazyFrame, str], pl.LazyFrame] | None,
) -> tuple[pl.LazyFrame, list[rules.Rule | None]]:
    """Group all rows of impressions; return the rules that were checked, too."""
    schema, constants = log.rows.collect_schema(), _constants(log)
    rows, checks = log.rows, dict[rules.Rule | None, pl.Expr]()
    if log.shallow:
        size = pl.col("bit").sum().bitwise_count_ones()
        checks[rules.DUPLICATE_POSITION] = size < pl.len()
    elif log.check != "off":
        checks[None] = pl.col("fault").max()
        checks[rules.DUPLICATE_POSITION] = pl.len() > pl.col("position").n_unique()
    if "doc" in schema and log.check != "off" and (documents or log.every_document):
        checks[rules.DUPLICATE_SHOWN] = pl.len() > pl.col("doc").n_unique()
    if constants and log.check != "off":
        rows, checks[rules.TWO_VALUES] = _varies(rows, constants, schema)
    taken = {name: _constant(name, schema) for name in constants} | {**words}
    taken |= {f"check{i}": broken for i, broken in enumerate(checks.values())}

    def grouped(rows: pl.LazyFrame) -> pl.LazyFrame:
        return prepared(rows).group_by(KEY).agg(**taken)

    def prepared(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows if prepare is None else prepare(rows, KEY)

    rows = pack(rows, log.keys, KEY)
    if log.layout == "contiguous":
        read = reject_if_shuffled(rows, KEY) if log.unclaimed else rows
        runs = (
            prepared(read)
            .set_sorted(KEY)
            .group_by(KEY, maintain_order=True)
            .agg(**taken)
        )
        frame = verify_contiguous(runs, rows, KEY)
    elif log.resources is not None:
        frame = bounded_by(log, rows, [KEY], grouped, repr([*taken.values()]))
    else:
        frame = grouped(rows)
    return frame, [*checks]


def _constants(log: ClickLog) -> list[str]:
    """List columns that are constant within an impression, beside its keys."""
    schema = log.rows.collect_schema()
    carried = dict.fromkeys(log.carried.values())
    query = ["query"] if "query" in schema else []
    return [c for c in carried if c in schema and c not in log.keys] + query


def _varies(
    rows: pl.LazyFrame, constants: Sequence[str], schema: pl.Schema
) -> tuple[pl.LazyFrame, pl.Expr]:
    """Return rows, and the aggregation whether one of the ``constants`` varies."""
    varies, same = pl.lit(value=False), pl.lit(0, pl.UInt64)
    for i, name in enumerate(constants):
        if schema[name].is_integer():
            value, known = pl.col(name), pl.col(name).count()
            varies = varies | (value.min() != value.max()).fill_null(value=False)
            if name != "query":  # null is a fault there
                varies = varies | ((known > 0) & (known < pl.len()))
        else:
            same = same ^ pl.col(name).hash(i)
    if any(not schema[name].is_integer() for name in constants):
        rows = rows.with_columns(constant=same)
        varies = varies | (pl.col("constant").min() != pl.col("constant").max())
    return rows, varies


def _constant(name: str, schema: pl.Schema) -> pl.Expr:
    """Take the value of a constant column: the least is found faster."""
    return pl.col(name).min() if schema[name].is_integer() else pl.col(name).first()


def _with_all_impressions(log: ClickLog, plan: Plan) -> Plan:
    """Add those without results: their words are null, but for what is known."""
    assert log.impressions is not None
    shown = plan.frame.with_columns(shown=pl.lit(value=True))
    frame = log.impressions.join(
        shown, on=log.keys, how="full", coalesce=True, nulls_equal=True
    )
    plan = plan._replace(frame=frame)
    if log.check != "off":
        plan = plan.with_rule(rules.UNKNOWN_IMPRESSION, pl.col("copies").is_null())
        plan = plan.with_rule(rules.DUPLICATE_IMPRESSION, pl.col("copies") > 1)
    return plan


def bounded_by(
    log: ClickLog,
    rows: pl.LazyFrame,
    keys: Sequence[str],
    evaluate: Callable[[pl.LazyFrame], pl.LazyFrame],
    fingerprint: str,
) -> pl.LazyFrame:
    """Evaluate all rows; with a memory limit, buckets of whole ``keys``."""
    return all_bounded_by(
        log, [rows], keys, lambda parts: evaluate(parts[0]), fingerprint
    )


def all_bounded_by(
    log: ClickLog,
    parts: Sequence[pl.LazyFrame],
    keys: Sequence[str],
    evaluate: Callable[[Sequence[pl.LazyFrame]], pl.LazyFrame],
    fingerprint: str,
) -> pl.LazyFrame:
    """Evaluate several frames: of each, the part that is in the bucket."""
    if log.resources is None:
        return evaluate(parts)
    from polars_rank._engine.spill.bounded import bounded  # slow to import

    source = bounded(
        parts,
        keys,
        evaluate,
        limit=log.resources.memory,
        temp_dir=log.resources.temp_dir,
        progress=log.resources.progress,
        fingerprint=fingerprint,
        factor=FACTOR,
    )
    return without_pushdown(source)


def all_held(
    log: ClickLog,
    plans: Sequence[pl.LazyFrame],
    *,
    factor: float,
    what: str,
    otherwise: str,
) -> list[pl.DataFrame]:
    """Collect what has to be held of several plans, which then read the log once."""
    if log.resources is None:
        return pl.collect_all(plans, engine="streaming")
    return [
        held(plan, log.resources, factor=factor, what=what, otherwise=otherwise)
        for plan in plans
    ]


def held(
    frame: pl.LazyFrame,
    resources: Resources | None,
    *,
    factor: float,
    what: str,
    otherwise: str,
) -> pl.DataFrame:
    """Collect what has to be held in memory; refuse what ``memory_limit`` forbids.

    What is done with it takes ``factor`` times its bytes. The error comes as soon as
    there are too many, and says ``what`` they are and what to do ``otherwise``.
    """
    if resources is None:
        return frame.collect(engine="streaming")
    from polars_rank._engine.spill.budget import MB, overhead  # slow to import

    free = max(resources.memory - overhead(), MB)
    batches: list[pl.DataFrame] = []
    taken = 0.0
    for batch in in_batches(frame):
        taken += batch.estimated_size() * factor
        if taken > free:
            msg = (
                f"{what} must be held in memory, which takes more than "
                f"{int(taken / MB)} MB beside the {int(overhead() / MB)} MB of the "
                f"process: more than memory_limit; raise it, or {otherwise}"
            )
            raise MemoryError(msg)
        batches.append(batch)
    return pl.concat(batches) if batches else frame.collect_schema().to_frame()


def _without_cluster(log: ClickLog) -> pl.Expr:
    return pl.any_horizontal(pl.col(name).is_null() for name in log.own(log.cluster))


def error_of(rule: rules.Rule, **words: object) -> DataError:
    """Return the error of a rule that is broken; ``words`` fill in its message."""
    message = rule.message.format(**words) if words else rule.message
    return DataError(message, rule=rule.name)


def refuse_rows(
    rows: pl.LazyFrame,
    broken: Mapping[rules.Rule, pl.Expr],
    *,
    example: str,
    check: Check,
    unit: str = "query",
) -> pl.LazyFrame:
    """Return the rows, if none of them breaks a rule: if no condition holds."""
    plan = Plan(rows, {})
    for rule, condition in broken.items():
        plan = plan.with_rule(rule, condition)
    return _enforced(plan, example, check, unit)


def _enforced(plan: Plan, example: str, check: Check, unit: str) -> pl.LazyFrame:
    return enforce(
        plan.frame,
        plan.rules,
        example=example,
        check=check,
        exact_counts=False,
        unit=unit,
    ).drop(plan.rules)


def enforced(log: ClickLog, plan: Plan) -> pl.LazyFrame:
    """Return the impressions, if they break no rule; the first key names examples."""
    check: Check = "strict" if log.shallow else log.check
    return _enforced(plan, log.keys[0], check, "impression")


def require_sound_rows(log: ClickLog) -> pl.LazyFrame:
    """Return the rows, if none breaks a rule; rules of impressions are not seen."""
    if log.check == "off":
        return log.rows
    fault = pl.col("fault")
    broken = {rule: fault == i for i, rule in enumerate(log.rules, start=1)}
    if log.cluster and not log.keys:
        broken[rules.NULL_CLUSTER] = _without_cluster(log)
    unit = "impression" if log.keys else "query"
    example = (*log.keys, "query")[0]
    return refuse_rows(log.rows, broken, example=example, check=log.check, unit=unit)
