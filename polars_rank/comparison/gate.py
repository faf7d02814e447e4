"""A gate for changes: it says whether a ranking got worse."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import tail
from polars_rank._statistics.intervals import require_level
from polars_rank.comparison.arguments import Correction, names_of, require_choice
from polars_rank.comparison.compare import compare
from polars_rank.comparison.corrections import adjusted
from polars_rank.comparison.definition import Definition
from polars_rank.comparison.power import detectable_effect
from polars_rank.comparison.values import Source, lazy, lower_is_better, require_values
from polars_rank.exceptions import DataError
from polars_rank.report.gate import gate_markdown, gate_text

__all__ = ["Gate", "Rule", "Verdict", "gate"]

Rule: TypeAlias = Literal["significant", "non_inferior", "threshold"]
Verdict: TypeAlias = Literal["pass", "warn", "fail", "invalid"]
BASE, NEW = "base", "new"
GONE = 0.9  # share of queries that lost everything: no change of a ranking does that
WORST = 10
EXIT = {"pass": 0, "warn": 0, "fail": 3, "invalid": 1}


@dataclass(frozen=True, eq=False)
class Gate:
    """The verdict, and the checks that it rests on.

    Attributes
    ----------
    verdict
        ``"pass"``; ``"warn"``: a drop that is significant but small, or large but not
        significant; ``"fail"``; ``"invalid"``: the inputs do not fit, see ``reason``.
    checks
        Per measure and segment: ``queries``, ``changed`` (how many differ), means
        ``base`` and ``new``, ``difference`` with the two-sided interval ``low``,
        ``high``; ``margin``; one-sided ``p`` and ``adjusted``; ``detectable``, the drop
        that is detected with 80 % power; ``floor``; ``verdict`` (``"untested"``: too
        few queries) and ``note``.
    worst
        The queries that lost the most.
    """

    verdict: Verdict
    checks: pl.DataFrame
    worst: pl.DataFrame
    settings: dict[str, Any]
    reason: str | None = None
    definition: Definition | None = field(default=None, repr=False)

    def exit_code(self, *, strict: bool = False) -> int:
        """0: pass or warn; 3: fail (or warn, if strict); 1: invalid."""
        return 3 if strict and self.verdict == "warn" else EXIT[self.verdict]

    def to_markdown(self) -> str:
        """A comment for a pull request: the table, details folded."""
        return gate_markdown(
            self.verdict,
            self.checks,
            self.worst,
            self.settings,
            self.reason,
            self._what,
        )

    def __str__(self) -> str:
        """The verdict and the checks as aligned text."""
        return gate_text(
            self.verdict,
            self.checks,
            self.worst,
            self.settings,
            self.reason,
            self._what,
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and numbers, for a machine."""
        told = {
            "verdict": self.verdict,
            "reason": self.reason,
            "settings": self.settings,
            "definition": self.definition and dataclasses.asdict(self.definition),
            "checks": self.checks.to_dicts(),
            "worst": self.worst.to_dicts(),
        }
        return dict(json.loads(json.dumps(told, default=str)))

    @property
    def _what(self) -> list[str]:
        """Convention and judgments, in words."""
        if self.definition is None:
            return []
        said = [f"convention {self.definition.convention['name']}"]
        if self.definition.judgments:
            said.append(f"judgments {self.definition.judgments}")
        return said


def gate(
    baseline: Source,
    values: Source,
    *,
    query: str | Sequence[str] = "query_id",
    measures: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    margin: float | Mapping[str, float] = 0.0,
    rule: Rule = "significant",
    floors: Mapping[str, float] | None = None,
    correction: Correction = "holm",
    level: float = 0.95,
    least: int = 20,
    tie: float = 1e-9,
    definition: Definition | None = None,
) -> Gate:
    """Decide whether a change of a ranking may ship.

    Parameters
    ----------
    baseline, values
        Values per query of the ranking that is live, and of the new one, as
        :func:`per_query` returns them: frames or files.
    query, measures
        Columns that name the query, and the measures to gate; default: all Float
        columns of the baseline.
    by
        Columns with segments; each segment is a check of its own.
    weight, cluster
        As in :func:`compare`.
    margin
        Largest drop that does not matter: one number, or one per measure.
    rule
        ``"significant"``: fail if the drop is significant (one-sided) and larger than
        the margin. ``"non_inferior"``: fail unless it is significant that the drop is
        smaller than the margin. ``"threshold"``: fail if the drop is larger than the
        margin, significant or not.
    floors
        Lowest mean that is allowed, by measure (the highest, where lower is better).
    correction, level
        Correction of the p-values for the number of checks; adjusted p-values below 1 -
        level are significant.
    least
        Segments with fewer queries are shown, not gated.
    tie
        Differences up to this size are ties.
    definition
        Definition of ``values``, unless they are a file that holds it.

    Returns
    -------
    A :class:`Gate`. Inputs that do not fit (other queries, definitions or judgments,
    missing measures, a run whose ids no longer match) are no error: the verdict is
    ``"invalid"``, with the reason.

    Raises
    ------
    ValueError
        For wrong arguments.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> base = pl.DataFrame({"query_id": range(40), "rr": [0.5, 1.0] * 20})
    >>> new = base.with_columns(rr=pl.col("rr") - 0.1 * (pl.col("query_id") % 3 > 0))
    >>> pr.gate(base, new, margin=0.01).verdict
    'fail'
    """
    require_choice("rule", rule, Rule)
    require_choice("correction", correction, Correction)
    require_level(level)
    _require_margins(margin)
    settings = {
        "rule": rule,
        "margin": margin,
        "correction": correction,
        "level": level,
        "least": least,
        "weight": weight,
        "cluster": cluster,
    }
    known = definition or _definition(values)
    try:
        _require_same_definition(_definition(baseline), known, measures)
        frame, names = _joined(baseline, values, query, measures, by, weight, cluster)
        checks, worst = _checks(
            frame,
            names,
            query,
            by,
            weight,
            cluster,
            margin,
            rule,
            floors or {},
            correction,
            level,
            least,
            tie,
        )
    except DataError as error:
        empty = pl.DataFrame()
        return Gate("invalid", empty, empty, settings, str(error), known)
    verdict: Verdict = "pass"
    worse: Verdict
    for worse in ("warn", "fail"):
        if (checks["verdict"] == worse).any():
            verdict = worse
    return Gate(verdict, checks, worst, settings, None, known)


def _require_margins(margin: float | Mapping[str, float]) -> None:
    given = margin.values() if isinstance(margin, Mapping) else [margin]
    if wrong := [m for m in given if not m >= 0]:
        msg = f"margin must be 0 or more, not {wrong[0]!r}"
        raise ValueError(msg)


def _definition(values: Source) -> Definition | None:
    return Definition.read(values) if isinstance(values, str | Path) else None


def _require_same_definition(
    base: Definition | None,
    new: Definition | None,
    measures: str | Sequence[str] | None,
) -> None:
    if base is None or new is None:
        return
    mine, others = base.by_measure(), new.by_measure()
    for name in names_of(measures) or mine:
        if name in mine and name in others and mine[name] != others[name]:
            _refuse(
                f"{name!r} is another measure in the baseline ({mine[name]}) than now "
                f"({others[name]}); compute the baseline anew"
            )
    if base.judgments and new.judgments and base.judgments != new.judgments:
        _refuse(
            f"the baseline was computed with other judgments ({base.judgments}, now "
            f"{new.judgments}); compute it anew"
        )


def _refuse(message: str) -> None:
    raise DataError(message, rule="different_definition", count=1)


def _joined(
    baseline: Source,
    values: Source,
    query: str | Sequence[str],
    measures: str | Sequence[str] | None,
    by: str | Sequence[str] | None,
    weight: str | None,
    cluster: str | None,
) -> tuple[pl.DataFrame, list[str]]:
    """Baseline and new values in one frame, told apart by ``_system``."""
    frames = {BASE: lazy(baseline), NEW: lazy(values)}
    schemas = {name: frame.collect_schema() for name, frame in frames.items()}
    roles = [*names_of(by), *names_of(weight), *names_of(cluster)]
    keys = names_of(query)
    names = names_of(measures) or [
        n for n, t in schemas[BASE].items() if t.is_float() and n not in {*roles, *keys}
    ]
    for column in roles:
        if not any(column in schema for schema in schemas.values()):
            msg = f"no column {column!r} in the values, nor in the baseline"
            raise ValueError(msg)
    for name, schema in schemas.items():
        which = "values of the baseline" if name == BASE else "new values"
        if measures is None:
            require_values(schema, which)
        if lacking := [m for m in [*names, *keys] if m not in schema]:
            _refuse(f"the {which} have no column {', '.join(map(repr, lacking))}")
    if not names:
        _refuse("the baseline has no measure (a column of type Float)")
    parts = [
        frame.select(
            pl.lit(name).alias("_system"),
            *keys,
            *(r for r in roles if r in schemas[name]),
            *(pl.col(m).cast(pl.Float64) for m in names),
        )
        for name, frame in frames.items()
    ]
    frame = pl.concat(parts, how="diagonal_relaxed").collect(engine="streaming")
    _require_one_system(frame, keys, schemas)
    return frame, names


def _require_one_system(
    frame: pl.DataFrame, keys: list[str], schemas: Mapping[str, pl.Schema]
) -> None:
    """A row per query on each side."""
    twice = frame.filter(pl.struct("_system", *keys).is_duplicated()).head(1)
    for name, *query in twice.select("_system", *keys).iter_rows():
        which = "baseline has" if name == BASE else "new values have"
        way = "keep the rows of one system"
        if "system" in schemas[name]:
            way += ", such as values.filter(pl.col('system') == 'b')"
        shown = query[0] if len(query) == 1 else tuple(query)
        _refuse(f"the {which} several rows for query {shown!r}: {way}")


def _checks(
    frame: pl.DataFrame,
    names: list[str],
    query: str | Sequence[str],
    by: str | Sequence[str] | None,
    weight: str | None,
    cluster: str | None,
    margin: float | Mapping[str, float],
    rule: Rule,
    floors: Mapping[str, float],
    correction: Correction,
    level: float,
    least: int,
    tie: float,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    if unknown := [m for m in floors if m not in names]:
        msg = f"a floor is set for {unknown[0]!r}, which is not gated"
        raise ValueError(msg)
    parts = []
    for column in [None, *names_of(by)]:
        try:
            found = compare(
                _attributed(frame, query, [c for c in (column, weight, cluster) if c]),
                system="_system",
                query=query,
                measures=names,
                baseline=BASE,
                by=column,
                weight=weight,
                cluster=cluster,
                level=level,
                least=2,
                tie=tie,
            )
        except ValueError as error:
            if isinstance(error, DataError) or "nothing to compare" not in str(error):
                raise
            raise DataError(str(error), rule="one_system", count=1) from error
        label = (
            pl.lit("all")
            if column is None
            else pl.format(
                "{} = {}", pl.lit(column), pl.col(column).cast(pl.String).fill_null("-")
            )
        )
        parts.append(found.pairs.with_columns(segment=label).drop(column or []))
        if column is None:
            assert found.values is not None
            deltas = found.values.differences([(BASE, NEW)])
    _require_ids_that_match(deltas, names)
    rows = pl.concat(parts)
    lower = [m for m in names if lower_is_better(m)]
    turned = pl.col("measure").is_in(lower)
    gain = pl.when(turned).then(-pl.col("difference")).otherwise(pl.col("difference"))
    allowed = (
        pl.col("measure").replace_strict(
            dict(margin), default=0.0, return_dtype=pl.Float64
        )
        if isinstance(margin, Mapping)
        else pl.lit(float(margin))
    )
    floor = (
        pl.col("measure").replace_strict(
            dict(floors), default=None, return_dtype=pl.Float64
        )
        if floors
        else pl.lit(None, dtype=pl.Float64)
    )
    rows = rows.with_columns(
        gain=gain,
        margin=allowed,
        floor=pl.when(pl.col("segment") == "all").then(floor),
        changed=pl.col("win") + pl.col("loss"),
        error=pl.col("difference") / pl.col("statistic"),
        gated=(pl.col("segment") == "all") | (pl.col("queries") >= least),
    )
    rows = _one_sided(rows, rule, correction, level)
    broken = (
        pl.when(turned)
        .then(pl.col("mean") > pl.col("floor"))
        .otherwise(pl.col("mean") < pl.col("floor"))
        .fill_null(value=False)
    )
    sure = (pl.col("adjusted") < 1 - level).fill_null(value=False)
    # Margins are decimal numbers: 0.55 - 0.54 is more than 0.01 by rounding only.
    large = pl.col("gain") < -pl.col("margin") - 1e-12
    same = pl.col("changed") == 0
    fails = {
        "significant": sure & large,
        "non_inferior": ~sure & ~same,
        "threshold": large,
    }[rule]
    warns = {
        "significant": (sure | large) & (pl.col("gain") < 0),
        "non_inferior": large,
        "threshold": pl.lit(value=False),
    }[rule]
    reason = (
        pl.when(broken)
        .then(
            pl.when(turned)
            .then(pl.format("above the limit of {}", "floor"))
            .otherwise(pl.format("below the floor of {}", "floor"))
        )
        .when(~pl.col("gated"))
        .then(pl.lit(f"fewer than {least} queries"))
        .when(same)
        .then(pl.lit("no query changed"))
        .when(~fails & warns & ~sure)
        .then(pl.lit("large, but not significant"))
        .when(~fails & warns)
        .then(pl.lit("significant, but within the margin"))
        .when(fails & (rule == "non_inferior"))
        .then(pl.lit("a drop beyond the margin is not excluded"))
    )
    verdict = (
        pl.when(broken)
        .then(pl.lit("fail"))
        .when(~pl.col("gated"))
        .then(pl.lit("untested"))
        .when(fails)
        .then(pl.lit("fail"))
        .when(warns)
        .then(pl.lit("warn"))
        .otherwise(pl.lit("pass"))
    )
    order = {name: i for i, name in enumerate(names)}
    checks = (
        rows.with_columns(verdict=verdict, note=reason)
        .with_row_index("_place")
        .sort(pl.col("measure").replace_strict(order, return_dtype=pl.Int64), "_place")
        .select(
            "measure",
            "segment",
            "queries",
            "changed",
            pl.col("baseline_mean").alias("base"),
            pl.col("mean").alias("new"),
            "difference",
            "low",
            "high",
            "margin",
            "p",
            "adjusted",
            "detectable",
            "floor",
            "verdict",
            "note",
        )
    )
    return checks, _worst(deltas, names[0], names[0] in lower)


def _one_sided(
    rows: pl.DataFrame, rule: Rule, correction: Correction, level: float
) -> pl.DataFrame:
    """p-values of a drop, or of none beyond the margin; adjusted over the checks."""
    sign = pl.when(pl.col("gain") == pl.col("difference")).then(1.0).otherwise(-1.0)
    width = pl.col("high") - pl.col("low")
    error = pl.col("error").abs()
    t = rows.with_columns(
        t=(
            (pl.col("gain") + pl.col("margin")) / error
            if rule == "non_inferior"
            else pl.col("statistic") * sign
        )
    ).with_columns(
        t=pl.when((width == 0) & (rule == "non_inferior"))
        .then((pl.col("gain") + pl.col("margin")).sign() * float("inf"))
        .otherwise(pl.col("t"))
    )
    values, df = t["t"].cast(pl.Float64).to_numpy(), t["df"].cast(pl.Float64).to_numpy()
    p = np.asarray(tail(values, df, "greater" if rule == "non_inferior" else "less"))
    p = np.where(rows["gated"].to_numpy(), p, np.nan)
    n = (rows["df"].fill_null(0) + 1).to_numpy()
    effect = detectable_effect(n, alpha=min(0.999, 2 * (1 - level)))
    return rows.with_columns(
        p=pl.Series(p).fill_nan(None),
        adjusted=pl.Series(adjusted(p, correction)).fill_nan(None),
        detectable=pl.when(width == 0)
        .then(0.0)
        .otherwise(pl.Series(effect).fill_nan(None) * error * pl.Series(n).sqrt()),
    )


def _attributed(
    frame: pl.DataFrame, query: str | Sequence[str], roles: list[str]
) -> pl.DataFrame:
    """Segment, weight and cluster of a query, where only one of both files has them."""
    keys = names_of(query)
    return frame.with_columns(
        pl.coalesce(r, pl.col(r).drop_nulls().first().over(keys)).alias(r)
        for r in roles
    )


def _require_ids_that_match(deltas: pl.DataFrame, names: Sequence[str]) -> None:
    """Refuse values if too many fell to 0: the ids have changed, not the ranking."""
    had = pl.col("baseline_value") > 0
    lost = had & (pl.col("value") == 0)
    shares = (
        deltas.group_by("measure")
        .agg(had=had.sum(), lost=lost.sum())
        .filter(pl.col("had") >= 10)
    )
    if len(shares) < len(names):
        return
    least = (shares["lost"] / shares["had"]).min()
    if least is not None and least >= GONE:  # type: ignore[operator]
        _refuse(
            f"in {100 * float(least):.0f} % of the queries nothing relevant is found "  # type: ignore[arg-type]
            "any more: were documents or ids replaced? Then the judgments no longer fit"
        )


def _worst(deltas: pl.DataFrame, measure: str, lower: bool) -> pl.DataFrame:
    """Queries that lost most in the first measure."""
    own = deltas.filter(pl.col("measure") == measure).drop(
        "measure", "baseline", "system"
    )
    gain = -pl.col("difference") if lower else pl.col("difference")
    named = own.rename({"baseline_value": "base", "value": "new"})
    return named.filter(gain < -1e-9).sort(gain, maintain_order=True).head(WORST)
