"""Estimates of position bias: their arguments, and the rows of their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.log.click_log import ClickLog

PropensityMethod: TypeAlias = Literal[
    "harvest",
    "randomized",
    "swap",
    "fair_pairs",
    "ctr",
    "em",
    "regression_em",
    "trust",
]
Estimator: TypeAlias = Literal["poisson", "all_pairs", "pivot_one", "chain"]
Weighting: TypeAlias = Literal["harmonic", "equal"]
Normalize: TypeAlias = Literal["first", "max"]
OFTEN = 50  # impressions of a pair, for EM
NO_CLICKS = "no clicks here"
NO_REFERENCE = "no clicks at the reference position"
NOT_SHUFFLED = "the position was not shuffled or swapped"
CONSTANT = "relevance does not vary here"
UNKNOWN = "relevance is not known here"
UNCONVERGED = "the fit did not converge"
COLUMNS = {
    "propensity": pl.Float64(),
    "se": pl.Float64(),
    "lower": pl.Float64(),
    "upper": pl.Float64(),
    "impressions": pl.Int64(),
    "clicks": pl.Int64(),
    "support": pl.Int64(),
    "clusters": pl.UInt32(),
    "effective_clusters": pl.Float64(),
}
ITERATIVE = {"steps": pl.Int64(), "converged": pl.Boolean()}
TRUST = dict.fromkeys(("alpha", "alpha_se", "beta", "beta_se"), pl.Float64())

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """The checked arguments; ``by`` and ``within`` are internal column names."""

    method: PropensityMethod
    estimator: Estimator
    weighting: Weighting
    normalize: Normalize
    least: int
    max_steps: int
    tol: float
    level: float
    by: list[str]
    within: list[str]
    shuffled: int | None = None
    halves: bool = False

    @classmethod
    def of(
        cls,
        method: str,
        estimator: str,
        weighting: str,
        normalize: str,
        least: int | None,
        max_steps: int,
        tol: float,
        level: float,
    ) -> Task:
        """Check the arguments."""
        for name, value, kind in (
            ("method", method, PropensityMethod),
            ("estimator", estimator, Estimator),
            ("weighting", weighting, Weighting),
            ("normalize", normalize, Normalize),
        ):
            if value not in get_args(kind):
                allowed = ", ".join(get_args(kind))
                msg = f"{name} must be one of {allowed}, not {value!r}"
                raise ValueError(msg)
        if estimator != "poisson" and method != "harvest":
            msg = f'estimator= is for method "harvest", not "{method}"'
            raise ValueError(msg)
        if method in ("swap", "fair_pairs") and normalize == "max":
            msg = (
                f'method "{method}" compares with the first position: normalize="first"'
            )
            raise ValueError(msg)
        for name, number in (("min_impressions", least), ("max_steps", max_steps)):
            if number is not None and (type(number) is not int or number < 1):
                msg = f"{name} must be a whole number of at least 1, not {number!r}"
                raise ValueError(msg)
        if not tol > 0:
            msg = f"tol must be above 0, not {tol!r}"
            raise ValueError(msg)
        require_level(level)
        return cls(
            method=cast("PropensityMethod", method),
            estimator=cast("Estimator", estimator),
            weighting=cast("Weighting", weighting),
            normalize=cast("Normalize", normalize),
            least=least or (OFTEN if method == "em" else 1),
            max_steps=max_steps,
            tol=tol,
            level=level,
            by=[],
            within=[],
        )

    @property
    def unclicked(self) -> bool:
        """Whether documents that nobody clicked say something, too."""
        return self.estimator == "all_pairs"

    @property
    def columns(self) -> dict[str, Any]:
        """Columns that only some methods have."""
        if self.method in ("em", "regression_em"):
            return ITERATIVE | {"log_likelihood": pl.Float64()}
        if self.method == "harvest" and self.estimator in ("poisson", "all_pairs"):
            return dict(ITERATIVE)
        return dict(TRUST) if self.method == "trust" else {}

    def row(
        self,
        total: dict[str, Any],
        value: float | None,
        error: float | None,
        support: int,
        clusters: int,
        note: str | None,
        *more: Any,
    ) -> Row:
        """A row of the result; NaN is null."""
        known = value is not None and math.isfinite(value)
        sure = known and error is not None and math.isfinite(error)
        segment = [total[name] for name in self.by]
        counts = total["impressions"], total["clicks"], support, clusters
        return (
            *segment,
            total["position"],
            value if known else None,
            error if sure else None,
            *(None, None),  # the ends of the interval: see with_intervals
            *counts,
            None,  # so is the effective number of clusters
            *more,
            note,
        )


def is_by_query(log: ClickLog) -> bool:
    """Whether queries are the independent units: they are by default."""
    return log.cluster in ((), (log.roles["query"],))


def segments_of(
    frame: pl.DataFrame, by: Sequence[str]
) -> dict[tuple[object, ...], pl.DataFrame]:
    """The rows of each segment, by its key."""
    if not by:
        return {(): frame}
    return frame.partition_by(by, as_dict=True, maintain_order=True)


def warn_of(positions: Sequence[int], key: Sequence[object], what: str) -> None:
    """Warn of the positions of a segment that have no propensity."""
    if positions:
        where = f" of {', '.join(map(str, key))}" if key else ""
        shown = ", ".join(map(str, sorted(positions)[:10]))
        more = ", ..." if len(positions) > 10 else ""
        warn(f"positions{where} without a propensity: {shown}{more}; {what}")


def warn_unconverged(steps: int | None) -> None:
    """Warn of a fit that was not done."""
    warn(
        f"the fit did not converge in {steps} steps, so its propensities are null; "
        "raise max_steps or tol"
    )
