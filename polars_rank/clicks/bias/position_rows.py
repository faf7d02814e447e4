"""Check the arguments of estimates of position bias, and build their rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import Count, require_arguments
from polars_rank.core.parameters import refuse

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


class Note:
    """Why a position has no propensity."""

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
Cells: TypeAlias = dict[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """The arguments, checked; ``by`` and ``within`` are internal column names."""

    method: PropensityMethod = "harvest"
    estimator: Estimator = "poisson"
    weighting: Weighting = "harmonic"
    normalize: Normalize = "first"
    min_impressions: int | None = None
    max_steps: int = 500
    tol: float = 1e-6
    level: float = 0.95
    by: list[str] = field(default_factory=list)
    within: list[str] = field(default_factory=list)
    shuffled: int | None = None
    halves: bool = False

    def __post_init__(self) -> None:
        """Check the arguments."""
        require_arguments(
            method=(PropensityMethod, self.method),
            estimator=(Estimator, self.estimator),
            weighting=(Weighting, self.weighting),
            normalize=(Normalize, self.normalize),
        )
        if self.estimator != "poisson" and self.method != "harvest":
            msg = f'estimator= is for method "harvest", not "{self.method}"'
            raise ValueError(msg)
        if self.method in ("swap", "fair_pairs") and self.normalize == "max":
            msg = (
                f'method "{self.method}" compares with the first position: '
                'normalize="first"'
            )
            raise ValueError(msg)
        if self.min_impressions is not None:
            require_arguments(min_impressions=(Count, self.min_impressions))
        require_arguments(max_steps=(Count, self.max_steps))
        if not self.tol > 0:
            refuse("tol", "above 0", self.tol)
        require_level(self.level)

    @property
    def least(self) -> int:
        """Return impressions that a pair needs."""
        return self.min_impressions or (OFTEN if self.method == "em" else 1)

    @property
    def unclicked(self) -> bool:
        """Return whether documents that nobody clicked say something, too."""
        return self.estimator == "all_pairs"

    @property
    def columns(self) -> dict[str, Any]:
        """Return columns that only some methods have."""
        if self.method in ("em", "regression_em"):
            return ITERATIVE | {"log_likelihood": pl.Float64()}
        if self.method == "harvest" and self.estimator in ("poisson", "all_pairs"):
            return dict(ITERATIVE)
        return dict(TRUST) if self.method == "trust" else {}

    def rows(
        self,
        totals: pl.DataFrame,
        estimate: Callable[[tuple[Any, ...], int], Sequence[Any]],
    ) -> Iterator[Row]:
        """Yield a row of the result for each of the totals of a position.

        ``estimate`` of a segment and a position has the propensity, its error, the
        support, the clusters and a note, then what only some methods have; NaN is null.
        A warning tells of positions that have no propensity.
        """
        missing: dict[tuple[Any, ...], list[int]] = {}
        for total in totals.iter_rows(named=True):
            key, position = key_of(total[n] for n in self.by), total["position"]
            value, error, support, clusters, note, *more = estimate(key, position)
            if note not in (None, Note.UNCONVERGED):  # of which another warning tells
                missing.setdefault(key, []).append(position)
            value = _finite(value)
            yield (
                *(*key, position, value, None if value is None else _finite(error)),
                *(None, None),  # the ends of the interval: see with_intervals
                *(total["impressions"], total["clicks"], support, clusters),
                None,  # so is the effective number of clusters
                *more,
                note,
            )
        for key, positions in missing.items():
            _warn_of(positions, key)

    def by_place(self, frame: pl.DataFrame, *names: str) -> Cells:
        """Return the rows of a frame by segment and columns of ``names``."""
        keys = [*self.by, *names]
        rows = frame.iter_rows(named=True)
        return {key_of(row[name] for name in keys): row for row in rows}


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def is_by_query(log: ClickLog) -> bool:
    """Return whether queries are the independent units: they are by default."""
    return log.cluster in ((), (log.roles["query"],))


def segments_of(
    frame: pl.DataFrame, by: Sequence[str]
) -> dict[tuple[object, ...], pl.DataFrame]:
    """Return the rows of each segment, by its key."""
    if not by:
        return {(): frame}
    parts = frame.partition_by(by, as_dict=True, maintain_order=True)
    return {key_of(key): part for key, part in parts.items()}


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Make a key of a dictionary: each NaN is the same object, so the same key."""
    return tuple(
        math.nan if isinstance(value, float) and math.isnan(value) else value
        for value in values
    )


def _warn_of(positions: Sequence[int], key: Sequence[object]) -> None:
    """Warn of the positions of a segment that have no propensity."""
    where = f" of {', '.join(map(str, key))}" if key else ""
    shown = ", ".join(map(str, sorted(positions)[:10]))
    more = ", ..." if len(positions) > 10 else ""
    warn(
        f"positions{where} without a propensity: {shown}{more}; they are null; see the "
        "column note"
    )


def warn_unconverged(steps: int | None) -> None:
    """Warn of a fit that was not done."""
    warn(
        f"the fit did not converge in {steps} steps, so its propensities are null; "
        "raise max_steps or tol"
    )


# -- numbers as multiples of a unit

# The last bit of a sum of floats depends on the order of its terms, so that scores are
# whole multiples of a unit, and sums and products of sums exact. Units are powers of
# two, and so small that the largest sum takes 61 bits: the rounding is far below that
# of a float, relative to all terms together.
BITS = 61


def units_of(largest: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Choose units of sums whose absolute terms add up to ``largest``."""
    _, exponent = np.frexp(np.asarray(largest, dtype=np.float64))
    return np.asarray(np.ldexp(1.0, exponent - BITS), dtype=np.float64)


def in_units(value: pl.Expr, unit: float | pl.Expr) -> pl.Expr:
    """Count the units; NaN is null. Products of sums take 128 bits."""
    return (value / unit).round().cast(pl.Int64, strict=False)
