"""Position bias: how likely a position is examined, estimated from a log."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast, get_args

import polars as pl

from polars_rank._engine.request import Frame, like_input
from polars_rank._statistics.distributions import normal_quantile, t_quantile
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.behaviour import warn_of_users
from polars_rank.clicks.counts import (
    checked,
    cluster_keys,
    moments,
    pair_table,
    position_totals,
    rows_with_known,
    shown,
)
from polars_rank.clicks.log import ClickLog, LogOptions
from polars_rank.clicks.ratios import FEW
from polars_rank.core.rules import INVALID_RELEVANCE, NOTHING_SHUFFLED, ONE_HALF
from polars_rank.core.source import is_rereadable, lazy_source
from polars_rank.exceptions import DataError

if TYPE_CHECKING:
    from polars_rank.clicks.bias_fits import Counts, Estimator, Fit, Weighting

__all__ = ["PropensityMethod", "propensities"]

PropensityMethod: TypeAlias = Literal[
    "harvest", "randomized", "swap", "ctr", "em", "trust"
]
Normalize: TypeAlias = Literal["first", "max"]
OFTEN = 50  # impressions of a pair, for EM
NO_CLICKS = "no clicks here"
NO_REFERENCE = "no clicks at the reference position"
NOT_SHUFFLED = "the position was not shuffled or swapped"
CONSTANT = "relevance does not vary here"
COLUMNS = {
    "propensity": pl.Float64(),
    "se": pl.Float64(),
    "lower": pl.Float64(),
    "upper": pl.Float64(),
    "impressions": pl.Int64(),
    "clicks": pl.Int64(),
    "support": pl.Int64(),
    "clusters": pl.Int64(),
}
ITERATIVE = {"steps": pl.Int64(), "converged": pl.Boolean()}
TRUST = dict.fromkeys(("alpha", "alpha_se", "beta", "beta_se"), pl.Float64())


def propensities(
    log: Frame,
    method: PropensityMethod = "harvest",
    /,
    *,
    estimator: Estimator = "poisson",
    weighting: Weighting = "harmonic",
    min_impressions: int | None = None,
    randomized: str | None = None,
    shuffled: int | None = None,
    swap: str | None = None,
    swapped: str | None = None,
    relevance: str | None = None,
    within: str | Sequence[str] | None = None,
    normalize: Normalize = "first",
    level: float = 0.95,
    max_steps: int = 500,
    tol: float = 1e-6,
    **options: Unpack[LogOptions],
) -> Frame:
    """Estimate how likely each position is examined, relative to the first one.

    ``P(click) = theta_k * attractiveness`` of a document at position k. Without an
    experiment, use ``"harvest"``; a shuffled or swapped slice of the traffic assumes
    less; ``"ctr"`` is biased, and is there for comparison only.

    Parameters
    ----------
    log
        One row per document that an impression showed. ``"ctr"``, ``"harvest"``,
        ``"em"`` and ``"trust"`` also take totals (``count=``).
    method
        ``"harvest"``: from documents that were shown at several positions of the same
        query. It assumes that where they were shown does not depend on anything else
        that moves clicks, such as the user or the season; else see ``within``.

        ``"randomized"``: clicks per impression, where the list was shuffled.

        ``"swap"``: where a coin decided whether the first document and the one at
        another position change places.

        ``"ctr"``: clicks per impression, of all: relevance counts as examination.

        ``"em"``: the position-based model by expectation maximization. Unbiased for
        documents with many impressions only.

        ``"trust"``: with trust bias, ``P(click) = alpha_k * relevance + beta_k``; takes
        a column of ``relevance``, since clicks alone do not identify the two.
    estimator
        Estimator of ``"harvest"``: ``"poisson"`` (conditional likelihood of a
        document's clicks over its positions), or those of Agarwal et al.:
        ``"all_pairs"``, ``"pivot_one"`` (each position against the reference),
        ``"chain"`` (against its neighbour).
    weighting
        Weights of the documents in those of Agarwal et al.: ``"equal"``, as published,
        or ``"harmonic"``, by the inverse of the variance.
    min_impressions
        Documents of a query with fewer impressions are left out by ``"harvest"`` and
        ``"em"``. Default 50 for ``"em"``, else 1.
    randomized
        Boolean column: the impression was shuffled.
    shuffled
        How many positions were shuffled, from the top. Default: all.
    swap
        Column with the position that took part in the swap with the first, of all
        impressions whose coin was tossed, swapped or not; else null.
    swapped
        Boolean column: whether the two documents were swapped. With it both halves have
        the same weight, so the coin need not be fair.
    relevance
        Column with the probability that the document is clicked if examined and
        trusted, or a binary judgment; null: not known, the row is not used.
    within
        Columns, constant within an impression, such as the day: documents are compared
        within their values only.
    normalize
        Position whose propensity is set to 1: the ``"first"`` of the log, or the one
        with the ``"max"``.
    level
        Confidence level.
    max_steps, tol
        Limits of iterative fits: they end after ``max_steps``, or when no propensity
        changes by more than ``tol``, relatively.
    **options
        Columns and options of :class:`LogOptions`. ``cluster`` is the impression by
        default, and the query for ``"harvest"`` and ``"em"``.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, one row per segment and
    position: the ``by`` columns, ``position``, ``propensity`` (can exceed 1), its
    standard error ``se``, ``lower`` and ``upper`` (computed for the logarithm, so above
    0), ``impressions`` and ``clicks`` of the log, ``support`` (the impressions that the
    estimate rests on), ``clusters``, and ``note``: why the propensity is null. Fits
    also have ``steps`` and ``converged``; ``"em"`` has ``log_likelihood``, ``"trust"``
    has ``alpha``, ``alpha_se``, ``beta``, ``beta_se``.

    Warnings
    --------
    UserWarning
        When collected: positions that cannot be compared with the reference; a fit
        that did not converge.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Source: Agarwal et al., WSDM 2019 (harvest); Hausman, Hall and Griliches, 1984
    (fixed-effects Poisson); Wang et al., SIGIR 2016 (randomized); Joachims,
    Swaminathan and Schnabel, WSDM 2017 (swap); Vardasbi, Oosterhuis and de Rijke, CIKM
    2020 (trust).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> log = clicks.simulate(50_000, k=3, queries=2000, seed=1).log  # truth: 1/k
    >>> found = clicks.propensities(log)
    >>> found.select(pl.col("position", "propensity", "se").round(2)).rows()
    [(1, 1.0, 0.0), (2, 0.5, 0.01), (3, 0.32, 0.01)]
    """
    given: dict[str, Any] = {
        "randomized": randomized,
        "swap": swap,
        "swapped": swapped,
        "relevance": relevance,
    }
    task: _Task = _Task.of(
        method, estimator, weighting, normalize, min_impressions, max_steps, tol, level
    )
    _require_columns_of(method, given, shuffled)
    by: list[str] = _several(options.get("by"))
    inside: list[str] = _several(within)
    if "weight" in options and options["weight"] is not None:
        msg = "propensities take no weight=; filter the log, or split it with by="
        raise ValueError(msg)
    wide = cast("LogOptions", {**options, "by": [*dict.fromkeys([*by, *inside])]})
    pairs = method in ("harvest", "em")
    needs: list[str] = ["query", "doc"] if pairs else []
    summed: bool = options.get("count") is not None
    bound: ClickLog = ClickLog.of(
        log,
        wide,
        needs=[*needs, *(["query"] if summed else [])],
        totals=method not in ("randomized", "swap"),
        columns={n: c for n, c in given.items() if c is not None},
    )
    bound = rows_with_known(bound)
    if pairs and estimator != "poisson" and not task._by_query(bound):
        msg = (
            f'estimator="{estimator}" leaves out queries in turn; cluster= is for '
            'estimator="poisson"'
        )
        raise ValueError(msg)
    task = replace(
        task,
        by=[f"by:{i}" for i in range(len(by))],
        within=[f"within:{i}" for i in range(len(inside))],
        shuffled=shuffled,
        halves=swapped is not None,
    )
    own = dict(zip(task.by, bound.own(by), strict=True))
    own |= dict(zip(task.within, bound.own(inside), strict=True))
    rows = bound.rows.with_columns(pl.col(c).alias(n) for n, c in own.items())
    bound = replace(bound, rows=rows)
    types = rows.collect_schema()
    if not pairs:
        warn_of_users(bound)
    schema = {name: types[name] for name in task.by} | {"position": pl.Int64()}
    schema |= COLUMNS | task.columns | {"note": pl.String()}

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        found = pl.DataFrame([*task.run(bound)], schema=schema, orient="row")
        yield found.sort(*task.by, "position", nulls_last=True)

    result = lazy_source(
        read, schema, name="propensities", rereadable=is_rereadable(bound.rows)
    )
    titles = dict(zip(task.by, by, strict=True))
    return like_input(log, result.rename(titles))


def _several(names: str | Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else [*(names or ())]


def _require_columns_of(
    method: str, given: dict[str, str | None], shuffled: int | None
) -> None:
    """Require the columns that the method takes, and refuse others."""
    takes = {"randomized": ["randomized"], "swap": ["swap"], "trust": ["relevance"]}
    needed = takes.get(method, [])
    for name in needed:
        if given[name] is None:
            msg = f'method "{method}" needs the column of {name}: name it with {name}='
            raise ValueError(msg)
    allowed = [*needed, *(["swapped"] if method == "swap" else [])]
    for name, column in given.items():
        if column is not None and name not in allowed:
            msg = f'{name}= is not for method "{method}"'
            raise ValueError(msg)
    if shuffled is not None and (method != "randomized" or shuffled < 2):
        msg = 'shuffled= is for method "randomized" and must be at least 2'
        raise ValueError(msg)


Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
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
    ) -> _Task:
        from polars_rank.clicks.bias_fits import Estimator, Weighting

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
        if method == "swap" and normalize == "max":
            msg = 'method "swap" compares with the first position: normalize="first"'
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
    def columns(self) -> dict[str, Any]:
        """Columns that only some methods have."""
        if self.method == "em":
            return ITERATIVE | {"log_likelihood": pl.Float64()}
        if self.method == "harvest" and self.estimator in ("poisson", "all_pairs"):
            return dict(ITERATIVE)
        return dict(TRUST) if self.method == "trust" else {}

    def run(self, log: ClickLog) -> Iterator[Row]:
        """One row per segment and position."""
        if self.method in ("harvest", "em"):
            yield from self._from_pairs(log)
        elif self.method == "swap":
            yield from self._from_swaps(log)
        else:
            yield from self._from_rates(log)

    def _row(
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
        import math

        known = value is not None and math.isfinite(value)
        sure = known and error is not None and math.isfinite(error)
        lower = upper = None
        if known and sure:
            assert value is not None
            assert error is not None
            factor = (
                math.exp(_quantile(clusters, self.level) * error / value)
                if value
                else 1.0
            )
            lower, upper = value / factor, value * factor
        segment = [total[name] for name in self.by]
        counts = total["impressions"], total["clicks"], support, clusters
        return (
            *segment,
            total["position"],
            value if known else None,
            error if sure else None,
            *(lower, upper),
            *counts,
            *more,
            note,
        )

    # -- documents at several positions

    def _from_pairs(self, log: ClickLog) -> Iterator[Row]:
        import numpy as np

        totals, table, _ = pl.collect_all(
            [
                position_totals(log, self.by),
                self._table(log),
                checked(log, documents=True),
            ],
            engine="streaming",
        )
        order = [*self.by, "query", *self.within, "doc", "position"]
        table = table.sort(order, nulls_last=True)
        totals = totals.sort(*self.by, "position", nulls_last=True)
        tables = _parted(table, self.by)
        for key, segment in _parted(totals, self.by).items():
            positions = segment["position"]
            part = tables.get(key, table.clear())
            counts = _counts(part, positions, [*self.within, "doc"])
            fit = self._fit(counts, 0)
            if fit.scores is not None and not self._by_query(log):
                fit = self._clustered(
                    log, fit, part, dict(zip(self.by, key, strict=True))
                )
            if self.normalize == "max" and np.isfinite(fit.theta).any():
                fit = fit.relative_to(int(np.nanargmax(fit.theta)))
            used = counts.informative(least=self.least)
            support = used.of_position(used.n)
            self._tell(fit, positions, key)
            more: list[Any] = [fit.steps, fit.converged][: len(self.columns)]
            if self.method == "em":
                more.append(fit.log_likelihood)
            for i, total in enumerate(segment.iter_rows(named=True)):
                yield self._row(
                    total,
                    fit.theta[i],
                    fit.se[i],
                    int(support[i]),
                    fit.groups,
                    fit.notes[i],
                    *more,
                )

    def _table(self, log: ClickLog) -> pl.LazyFrame:
        """The rows of documents that were clicked, at several positions."""
        keys = [*self.by, *self.within, "query", "doc"]
        pairs = pair_table(log, [*self.by, *self.within])
        lists = pairs.group_by(keys).agg("position", "n", "c")
        several = pl.col("position").list.len() > 1
        kept = lists.filter(several & (pl.col("c").list.sum() > 0))
        return kept.explode("position", "n", "c", empty_as_null=True)

    def _fit(self, counts: Counts, reference: int) -> Fit:
        from polars_rank.clicks import bias_fits

        steps, tol = self.max_steps, self.tol
        if self.method == "em":
            return bias_fits.em(
                counts, reference, least=self.least, max_steps=steps, tol=tol
            )
        counts = counts.informative(least=self.least)
        if self.estimator == "poisson":
            return bias_fits.poisson(counts, reference, max_steps=steps, tol=tol)
        return bias_fits.jackknifed(
            counts,
            reference,
            self.estimator,
            self.weighting,
            max_steps=steps,
            tol=tol,
        )

    def _by_query(self, log: ClickLog) -> bool:
        return log.cluster in ((), (log.roles["query"],))

    def _clustered(
        self, log: ClickLog, fit: Fit, table: pl.DataFrame, segment: dict[str, Any]
    ) -> Fit:
        """Errors of clusters that are not queries: scores row by row."""
        import numpy as np

        scores = fit.scores
        assert scores is not None
        k = scores.rows.positions
        share = np.zeros((int(scores.rows.pair.max(initial=-1)) + 1, k))
        share[scores.rows.pair, scores.rows.position] = scores.share
        keys = [*self.within, "query", "doc", "position"]
        known = table[scores.rows.row].select(
            *keys,
            at=pl.Series(scores.rows.position),
            mean=pl.Series(scores.mean),
            scale=pl.Series(scores.scale),
            **{f"s{i}": pl.Series(share[scores.rows.pair, i]) for i in range(k)},
        )
        here = [pl.col(name).eq_missing(value) for name, value in segment.items()]
        clusters = {f"c{i}": pl.col(c) for i, c in enumerate(log.own(log.cluster))}
        rows = log.rows.filter(*here).select(
            *keys, n=shown(log), c=pl.col("clicked"), **clusters
        )
        residual = (pl.col("c") - pl.col("n") * pl.col("mean")) * pl.col("scale")
        sums = [
            (pl.col("residual") * ((pl.col("at") == i) - pl.col(f"s{i}")))
            .sum()
            .alias(f"u{i}")
            for i in range(k)
        ]
        products = [
            (pl.col(f"u{i}") * pl.col(f"u{j}")).sum().alias(f"{i}:{j}")
            for i in range(k)
            for j in range(k)
        ]
        found = (
            rows.join(known.lazy(), on=keys, nulls_equal=True)
            .with_columns(residual=residual)
            .group_by([*clusters])
            .agg(sums)
            .select(*products, groups=pl.len())
            .collect(engine="streaming")
            .row(0)
        )
        meat = np.array(found[:-1], dtype=float).reshape(k, k)
        return fit.clustered(meat, int(found[-1]))

    def _tell(self, fit: Fit, positions: pl.Series, key: Sequence[object]) -> None:
        """Warn of positions without an estimate."""
        missing = [
            p for p, note in zip(positions, fit.notes, strict=True) if note is not None
        ]
        _warn_of(missing, key, "they are null; see the column note")
        if fit.converged is False:
            warnings.warn(
                f"the fit did not converge in {fit.steps} steps; raise max_steps or "
                "tol",
                UserWarning,
                stacklevel=2,
            )

    # -- rates

    def _from_rates(self, log: ClickLog) -> Iterator[Row]:
        """Clicks per impression at a position by those at the reference."""
        trust = self.method == "trust"
        rows = log.rows
        if self.method == "randomized":
            rows = rows.filter("randomized")
            if self.shuffled is not None:
                rows = rows.filter(pl.col("position") <= self.shuffled)
        known = pl.col("relevance").cast(pl.Float64)
        if trust:
            rows = rows.with_columns(relevance=known).filter(known.is_not_null())
        used = replace(log, rows=rows)
        totals, parts, _ = pl.collect_all(
            [
                position_totals(log, self.by),
                _regressions(used, self.by)
                if trust
                else position_totals(used, self.by),
                checked(log, documents=False),
            ],
            engine="streaming",
        )
        if self.method == "randomized" and parts.is_empty():
            raise DataError(NOTHING_SHUFFLED.message, rule=NOTHING_SHUFFLED.name)
        if trust:
            _require_probabilities(parts)
        rate = pl.col("alpha") + pl.col("beta")
        if not trust:
            rate = pl.col("clicks") / pl.col("impressions")
        parts = parts.with_columns(rate=rate).sort(*self.by, "position")
        best = (
            pl.col("position").sort_by("rate", descending=True, maintain_order=True)
            if self.normalize == "max"
            else pl.col("position")
        )
        reference = (
            parts.drop_nulls("rate").group_by(self.by).agg(best.first())
            if self.by
            else parts.drop_nulls("rate").select(best.first())
        )
        values = {"n": shown(used), "c": pl.col("clicked").cast(pl.Int64)}
        if trust:
            used, values = _influences(used, self.by, parts)
        sums = moments(used, self.by, values, reference).collect(engine="streaming")
        yield from self._rows_of_rates(totals, parts, reference, sums)

    def _rows_of_rates(
        self,
        totals: pl.DataFrame,
        parts: pl.DataFrame,
        reference: pl.DataFrame,
        sums: pl.DataFrame,
    ) -> Iterator[Row]:
        import math

        found = {
            (*(row[n] for n in self.by), row["position"]): row
            for row in parts.iter_rows(named=True)
        }
        products = {
            (*(row[n] for n in self.by), row["position"]): row
            for row in sums.iter_rows(named=True)
        }
        first = {row[:-1]: row[-1] for row in reference.iter_rows()}
        missing: dict[tuple[Any, ...], list[int]] = {}
        for total in totals.iter_rows(named=True):
            key = tuple(total[n] for n in self.by)
            at, base = (*key, total["position"]), (*key, first.get(key))
            part, other = found.get(at), found.get(base)
            groups = products[*key, None]["clusters"] if (*key, None) in products else 0
            note = self._why_not(part, other)
            if note is not None or part is None or other is None:
                missing.setdefault(key, []).append(total["position"])
                more = self._more(part, products.get(at), groups)
                support = part["impressions"] if part else 0
                yield self._row(total, None, None, support, groups, note, *more)
                continue
            value = part["rate"] / other["rate"]
            own, its = _weights(part), _weights(other)
            variance = _variance(products[at], products[base], own, its)
            error = None
            if at == base:
                error = 0.0
            elif groups > 1 and value > 0:
                error = value * math.sqrt(variance * groups / (groups - 1))
            more = self._more(part, products.get(at), groups)
            yield self._row(
                total, value, error, part["impressions"], groups, None, *more
            )
        for key, positions in missing.items():
            _warn_of(positions, key, "they are null; see the column note")

    def _why_not(
        self, part: dict[str, Any] | None, other: dict[str, Any] | None
    ) -> str | None:
        if part is None:
            return NOT_SHUFFLED if self.method == "randomized" else CONSTANT
        if part["rate"] is None:
            return CONSTANT
        if other is None or other["rate"] == 0:
            return NO_REFERENCE
        return None if part["rate"] > 0 else NO_CLICKS

    def _more(
        self, part: dict[str, Any] | None, sums: dict[str, Any] | None, groups: int
    ) -> list[float | None]:
        """``alpha`` and ``beta`` with their errors."""
        if self.method != "trust":
            return []
        if part is None or part["alpha"] is None:
            return [None] * 4
        if sums is None or groups < 2:
            return [part["alpha"], None, part["beta"], None]
        factor = groups / (groups - 1)
        errors = [(sums[f"{v}:{v}"] * factor) ** 0.5 for v in ("a", "b")]
        return [part["alpha"], errors[0], part["beta"], errors[1]]

    # -- swaps

    def _from_swaps(self, log: ClickLog) -> Iterator[Row]:
        """Clicks at the other position by clicks at the first, of swap participants."""
        import math

        other = pl.col("swap").cast(pl.Int32)
        half = pl.col("swapped").cast(pl.Int32) if self.halves else pl.lit(0)
        place = pl.col("position")
        part = other.is_not_null() & ((place == 1) | (place == other))
        keys = {f"cluster{i}": pl.col(c) for i, c in enumerate(cluster_keys(log))}
        clicks = pl.col("clicked").cast(pl.Int64)
        own = place == other
        values = {
            f"{kind}{side}{h}": pl.when((own == (side == 0)) & (half == h))
            .then(value)
            .otherwise(0)
            .sum()
            for h in (range(2) if self.halves else range(1))
            for side in range(2)
            for kind, value in (("n", pl.lit(1, pl.Int64)), ("c", clicks))
        }
        names = [*values]
        products = {
            f"{a}:{b}": (pl.col(a) * pl.col(b)).sum() for a in names for b in names
        }
        cells = (
            log.rows.filter(part)
            .with_columns(**keys, other=other)
            .group_by(*self.by, "other", *keys)
            .agg(**values)
        )
        sums = cells.group_by(*self.by, "other").agg(
            **{f"sum {n}": pl.col(n).sum() for n in names},
            **products,
            clusters=pl.len(),
        )
        totals, found, _ = pl.collect_all(
            [position_totals(log, self.by), sums, checked(log, documents=False)],
            engine="streaming",
        )
        if found.is_empty():
            raise DataError(NOTHING_SHUFFLED.message, rule=NOTHING_SHUFFLED.name)
        by_place = {
            (*(row[n] for n in self.by), row["other"]): row
            for row in found.iter_rows(named=True)
        }
        missing: dict[tuple[Any, ...], list[int]] = {}
        for total in totals.iter_rows(named=True):
            key = tuple(total[n] for n in self.by)
            if total["position"] == 1:
                mine = [r for k, r in by_place.items() if k[:-1] == key]
                support = sum(r[f"sum n1{h}"] for r in mine for h in self._halves)
                groups = sum(r["clusters"] for r in mine)
                yield self._row(total, 1.0, 0.0, support, groups, None)
                continue
            row = by_place.get((*key, total["position"]))
            value, weights, note = self._ratio(row)
            if row is None or value is None:
                missing.setdefault(key, []).append(total["position"])
                support = sum(row[f"sum n0{h}"] for h in self._halves) if row else 0
                groups = row["clusters"] if row else 0
                yield self._row(total, None, None, support, groups, note)
                continue
            groups = row["clusters"]
            variance = sum(
                weights[a] * weights[b] * row[f"{a}:{b}"] for a in names for b in names
            )
            error = (
                value * math.sqrt(max(variance, 0.0) * groups / (groups - 1))
                if groups > 1
                else None
            )
            support = sum(row[f"sum n0{h}"] for h in self._halves)
            yield self._row(total, value, error, support, groups, None)
        for key, positions in missing.items():
            _warn_of(positions, key, "they are null; see the column note")

    @property
    def _halves(self) -> range:
        return range(2) if self.halves else range(1)

    def _ratio(
        self, row: dict[str, Any] | None
    ) -> tuple[float | None, dict[str, float], str | None]:
        """The ratio, and the weights of the sums of a cluster in its logarithm."""
        if row is None:
            return None, {}, NOT_SHUFFLED
        shown = [row[f"sum n{side}{h}"] for side in range(2) for h in self._halves]
        if not all(shown):
            raise DataError(ONE_HALF.message, rule=ONE_HALF.name)
        means = {
            (side, h): row[f"sum c{side}{h}"] / row[f"sum n{side}{h}"]
            for side in range(2)
            for h in self._halves
        }
        rates = [sum(means[side, h] for h in self._halves) for side in range(2)]
        if not all(rates):
            return None, {}, NO_REFERENCE if not rates[1] else NO_CLICKS
        weights = {}
        for (side, h), mean in means.items():
            one = (1 if side == 0 else -1) / row[f"sum n{side}{h}"] / rates[side]
            weights[f"c{side}{h}"], weights[f"n{side}{h}"] = one, -mean * one
        return rates[0] / rates[1], weights, None


# -- parts of the methods


def _parted(
    frame: pl.DataFrame, by: Sequence[str]
) -> dict[tuple[object, ...], pl.DataFrame]:
    if not by:
        return {(): frame}
    return frame.partition_by(by, as_dict=True, maintain_order=True)


def _counts(table: pl.DataFrame, positions: pl.Series, names: Sequence[str]) -> Counts:
    """Arrays of a sorted table."""
    import numpy as np

    from polars_rank.clicks.bias_fits import Counts

    codes = table.select(
        pair=pl.struct("query", *names).rle_id(),
        group=pl.col("query").rle_id(),
        position=pl.col("position").replace_strict(
            positions, range(len(positions)), return_dtype=pl.Int64
        ),
        n=pl.col("n").cast(pl.Float64),
        c=pl.col("c").cast(pl.Float64),
    ).with_columns(pl.col("pair", "group").cast(pl.Int64))
    arrays = {name: codes[name].to_numpy() for name in codes.columns}
    return Counts(**arrays, row=np.arange(len(table)), positions=len(positions))


def _regressions(log: ClickLog, by: Sequence[str]) -> pl.LazyFrame:
    """Least squares line of clicks on relevance, per position."""
    rows = log.rows.select(*by, "position", "relevance", "clicked", n=shown(log))
    x, n, c = pl.col("relevance"), pl.col("n"), pl.col("clicked").cast(pl.Int64)
    sums = {
        "impressions": n,
        "clicks": c,
        "x": n * x,
        "xx": n * x * x,
        "xc": c * x,
        "outside": (~x.is_between(0, 1) | x.is_nan()).cast(pl.Int64),
    }
    found = rows.group_by(*by, "position").agg(
        value.sum().alias(name) for name, value in sums.items()
    )
    n, c = pl.col("impressions"), pl.col("clicks")
    spread = pl.col("xx") - pl.col("x") ** 2 / n
    slope = (pl.col("xc") - pl.col("x") * c / n) / spread
    varies = spread > 1e-12 * pl.col("xx")
    found = found.with_columns(alpha=pl.when(varies).then(slope), spread=spread)
    beta = c / n - pl.col("alpha") * pl.col("x") / n
    return found.with_columns(beta=beta, mean=pl.col("x") / n)


def _influences(
    log: ClickLog, by: Sequence[str], lines: pl.DataFrame
) -> tuple[ClickLog, dict[str, pl.Expr]]:
    """Rows, and the influence of each on alpha (a), beta (b) and their sum (f)."""
    fit = lines.lazy().select(
        *by, "position", "alpha", "beta", "mean", "spread", number="impressions"
    )
    rows = log.rows.join(fit, on=[*by, "position"], nulls_equal=True)
    x, n = pl.col("relevance"), shown(log)
    residual = pl.col("clicked") - n * (pl.col("alpha") * x + pl.col("beta"))
    off = x - pl.col("mean")
    slope = residual * off / pl.col("spread")
    level = residual / pl.col("number") - slope * pl.col("mean")
    values = {"a": slope, "b": level, "f": slope + level}
    return replace(log, rows=rows), {n: v.fill_nan(None) for n, v in values.items()}


def _require_probabilities(lines: pl.DataFrame) -> None:
    if wrong := int(lines["outside"].sum()):
        message = f"{INVALID_RELEVANCE.message} ({wrong} found)"
        raise DataError(message, rule=INVALID_RELEVANCE.name, count=wrong)


def _weights(part: dict[str, Any]) -> dict[str, float]:
    """Weight of the sums of a cluster in the logarithm of the rate."""
    if "alpha" in part:
        return {"f": 1 / part["rate"]}
    return {"c": 1 / part["clicks"], "n": -1 / part["impressions"]}


def _variance(
    here: dict[str, Any],
    there: dict[str, Any],
    own: dict[str, float],
    its: dict[str, float],
) -> float:
    """Sum over clusters of the square of the difference of two influences."""

    def quadratic(row: dict[str, Any], weights: dict[str, float]) -> float:
        return sum(
            weights[a] * weights[b] * (row.get(f"{a}:{b}", row.get(f"{b}:{a}")) or 0.0)
            for a in weights
            for b in weights
        )

    cross = sum(own[a] * its[b] * (here[f"{a}|{b}"] or 0.0) for a in own for b in its)
    return max(quadratic(here, own) + quadratic(there, its) - 2 * cross, 0.0)


def _quantile(clusters: int, level: float) -> float:
    p = 0.5 + level / 2
    if clusters >= FEW or clusters < 2:
        return normal_quantile(p)
    return float(t_quantile(p, clusters - 1))


def _warn_of(positions: Sequence[int], key: Sequence[object], what: str) -> None:
    if positions:
        where = f" of {', '.join(map(str, key))}" if key else ""
        shown = ", ".join(map(str, sorted(positions)[:10]))
        more = ", ..." if len(positions) > 10 else ""
        warnings.warn(
            f"positions{where} without a propensity: {shown}{more}; {what}",
            UserWarning,
            stacklevel=2,
        )
