"""What the command ``page`` shows beside the reasons, such as a gate's verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from warnings import catch_warnings

import polars as pl

import polars_rank
from polars_rank import analysis
from polars_rank.cli.commands.gate import margins
from polars_rank.cli.commands.moments import PERIOD, over_time
from polars_rank.cli.commands.why import Explained
from polars_rank.cli.derive import UsageError
from polars_rank.cli.input.options import EVALUATING, Input
from polars_rank.cli.input.runs import Options
from polars_rank.comparison.gate.gate import Gate
from polars_rank.comparison.result import Comparison
from polars_rank.comparison.sums.moments import is_moments
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.exceptions import DataError

SYSTEM = "system"
ROLES = ("by", "weight", "cluster")


def values_of_runs(
    runs: Mapping[str, pl.LazyFrame],
    measures: Sequence[str],
    data: Input,
    asked: Options,
) -> tuple[pl.DataFrame, list[str]]:
    """Return values per query, and the columns of measures.

    The judgments of the first run may be others.
    """
    names = (*EVALUATING, "doc", "score", "label", "qrels", "qrels_query", "qrels_doc")
    given = {name: asked[name] for name in (*names, "memory_limit") if name in asked}
    given |= {"query": data.query, "segments": asked.get("segments")}
    given["keep"] = _about(asked)
    judged = dict.fromkeys(runs, given.pop("qrels"))
    first = next(iter(runs))
    judged[first] = asked.get("qrels_before", judged[first])
    with catch_warnings(action="ignore"):  # they were told with the reasons
        values = pl.concat(
            polars_rank.per_query(run, [*measures], qrels=judged[name], **given)
            .lazy()
            .select(pl.lit(name).alias(SYSTEM), pl.all())
            for name, run in runs.items()
        ).collect(engine="streaming")
    about = (SYSTEM, *data.query, *given["keep"])
    return values, [name for name in values.columns if name not in about]


def compared(
    values: pl.DataFrame,
    measures: Sequence[str] | None,
    data: Input,
    asked: Options,
    by: Sequence[str] | None = None,
) -> Comparison:
    """Return the differences from the first system; of moments, those of all pairs."""
    baseline = None if is_moments(values.columns) else values[SYSTEM][0]
    roles: Options = {name: asked.get(name) for name in ROLES[1:]}
    with catch_warnings(action="ignore"):
        return polars_rank.compare(
            values,
            measures,
            system=SYSTEM,
            query=data.query,
            baseline=baseline,
            by=by,
            level=asked.get("level", 0.95),
            **roles,
        )


def gated(
    values: pl.DataFrame,
    measures: Sequence[str] | None,
    margin: Sequence[str],
    data: Input,
    asked: Options,
) -> Gate | None:
    """Return the verdict of a gate of two systems, if there is a margin."""
    if not margin:
        return None
    systems = values[SYSTEM].unique(maintain_order=True)
    if len(systems) != 2:
        raise UsageError("--margin is of a gate, of the run before and one run after.")
    old, new = (values.filter(pl.col(SYSTEM) == name).drop(SYSTEM) for name in systems)
    roles: Options = {name: asked.get(name) or None for name in ROLES}
    return polars_rank.gate(
        new,
        measures,
        baseline=old,
        query=data.query,
        margin=margins(margin),
        level=asked.get("level", 0.95),
        **roles,
    )


def followed(days: Sequence[str], measures: Sequence[str]) -> pl.DataFrame | None:
    """Return the trend over the moments of days, if there are any."""
    if not days:
        return None
    moments, summed = over_time(days, None, None, measures)
    if not summed:
        raise UsageError(f"{days[0]}: holds no moments; see polars-rank moments.")
    return polars_rank.comparison.trend(moments, measures or None, time=PERIOD)


def slices_of(
    views: Sequence[tuple[dict[str, str], pl.DataFrame]],
    features: Sequence[str],
    about: pl.LazyFrame | None,
    data: Input,
    min_queries: int,
) -> pl.DataFrame | None:
    """The slices of queries of each comparison, under its labels."""
    if not features:
        return None
    found = []
    for labels, queries in views:
        values = queries.lazy()
        if about is not None:
            more = [f for f in features if f not in queries.columns]
            attributes = about.select(*data.query, *more)
            values = values.join(attributes, on=list(data.query), how="left")
        slices = analysis.slices(
            values, features, query=data.query, min_queries=min_queries
        )
        named = [pl.lit(text).alias(label) for label, text in labels.items()]
        found.append(slices.select(*named, pl.all()))
    return pl.concat(found)


def labeled(
    why: Sequence[Explained],
) -> list[tuple[dict[str, str], pl.DataFrame]]:
    """The queries of each comparison, with what tells it from the others."""
    found = []
    for reasons in why:
        measure = {"measure": reasons.settings["measure"]} if len(why) > 1 else {}
        if isinstance(reasons, analysis.SeveralReasons):
            found += [
                (measure | {SYSTEM: name}, own.queries)
                for name, own in reasons.of.items()
            ]
        else:
            found.append((measure, reasons.queries))
    return found


def judged_next(
    runs: dict[str, pl.LazyFrame], measure: str, data: Input, asked: Options
) -> pl.DataFrame | None:
    """The documents to judge next; None if all are judged, or a query has no weight."""
    if asked["qrels"] is None:
        return None
    names = [
        *("query", "doc", "score", "rank", "descending", "label", "convention"),
        *("segments", "weight"),
        *SHORTCUTS,
    ]
    given = {name: asked[name] for name in names if name in asked}
    try:
        qrels = data.renamed(asked["qrels"])
        return analysis.to_judge(runs, measure, qrels=qrels, **given)
    except DataError as error:
        # Judgments that hold the weights have none of queries without judgments.
        if error.rule not in ("nothing_to_judge", "invalid_weight"):
            raise
        return None


def _about(asked: Options) -> list[str]:
    """Name the columns of queries that are asked for."""
    by = [*(asked.get("by") or ())]
    named = [*by, *(asked.get(name) for name in ROLES[1:])]
    return [name for name in dict.fromkeys(named) if name]
