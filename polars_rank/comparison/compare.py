"""Compare systems query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import NamedTuple, Unpack

import polars as pl

from polars_rank._statistics.distributions import Alternative
from polars_rank.comparison.input.procedures import (
    Correction,
    EffectName,
    Family,
    IntervalName,
    Order,
    Pairing,
    Procedure,
    Repeats,
    TestName,
    ZeroMethod,
    names_of,
    require_no_rows,
    require_together,
)
from polars_rank.comparison.input.reading import read, read_parts
from polars_rank.comparison.input.run_values import RunOptions, values_of_runs
from polars_rank.comparison.input.values import Columns, Source, Values, lazy, read_once
from polars_rank.comparison.notes import noted
from polars_rank.comparison.result import Comparison
from polars_rank.comparison.sums.given_moments import (
    never_together,
    require_columns_of_moments,
    require_rows_of_moments,
)
from polars_rank.comparison.sums.merging import read_moments, segments_of, selected
from polars_rank.comparison.sums.moments import is_moments, sums_of_parts
from polars_rank.comparison.tests import estimates
from polars_rank.comparison.tests.detectable import left_out, with_detectable
from polars_rank.comparison.tests.estimates import Plan
from polars_rank.comparison.tests.families import corrected, level_at_once
from polars_rank.comparison.tests.from_values import (
    tested,
    with_bootstrap,
    with_effect,
)
from polars_rank.comparison.tests.repeats import with_pigeonhole
from polars_rank.comparison.tests.segments import between_segments, unlike
from polars_rank.io.frames import FrameLike

MANY = 10_000
SLOW = f"Of more than {MANY:,} queries, the paired t test says the same, and at once."


def compare(
    values: Source | Mapping[str, FrameLike],
    measures: str | Sequence[str] | None = None,
    *,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    baseline: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    repeat: str | None = None,
    repeats: Repeats = "fixed",
    test: TestName = "t",
    alternative: Alternative = "two-sided",
    correction: Correction | None = None,
    family: Family = "measure",
    level: float = 0.95,
    interval: IntervalName = "t",
    simultaneous: bool = False,
    effect: EffectName = "d_z",
    margin: float | None = None,
    zero_method: ZeroMethod = "wilcox",
    n_resamples: int = 9999,
    seed: int = 0,
    pairs: Pairing = "same",
    tie: float = 1e-9,
    min_queries: int = 20,
    order: Order = "mean",
    qrels: FrameLike | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Compare systems query by query: differences, intervals, tests, effect sizes.

    Parameters
    ----------
    values
        One row per system and query with a column per measure, as :func:`per_query`
        returns it with ``query=["system", "query_id"]``: a frame or a file. Of lazy
        frames and files that are large, only sums are kept, if the test needs no more:
        one pass, with temporary files and a bounded part of the rows in memory. Or
        moments (:func:`moments`), for tests that need no rows; those of several parts
        are added up, as :func:`merge` does. Or, with ``qrels``, runs: one frame with a
        column ``system``, or a mapping of names to runs (frames, files,
        dictionaries).
    measures
        Columns to compare; default: all Float columns. Of runs, the measures to
        compute.
    system, query
        Columns that name the system and the query (several columns, too).
    baseline
        One or several systems that all others are compared with; default: all pairs.
    by
        Columns that split the queries into segments, compared one by one. Default, of
        moments: all that they have; others are added up (``by=[]``: all of them).
    weight
        Column with the weight of a query, such as its traffic: means are weighted, the
        standard error is HC1.
    cluster
        Column with the group of queries that depend on each other, such as the user:
        the standard error is CR1, with t of clusters - 1 degrees of freedom.
    repeat
        Column that tells several runs of a system apart, such as those of random seeds.
        The value of a query is the mean over them.
    repeats
        ``"fixed"``: conclusions hold for these runs. ``"random"``: for other runs, too
        (crossed random effects, test ``"t"``; resamples are of queries and runs).
    test
        ``"t"``: paired t test. ``"randomization"``: Fisher's, exact up to 40 queries
        that differ. ``"bootstrap"``: shift method, liberal for few queries.
        ``"wilcoxon"`` and ``"sign"`` ask whether differences are symmetric, or more
        often positive, not whether means differ: unreliable for many queries.
        ``"tukey"``: all pairs at once, from the two-way analysis of variance.
        ``"randomized_tukey"``: its resampling twin, weak where one system stands out,
        since its hypothesis is that all are equal. ``"lsd"``: t with the pooled
        residual variance. ``"tost"``: whether the systems are equivalent, within
        ``margin``.
    alternative
        ``"two-sided"``, or that the system's mean is ``"greater"`` or ``"less"`` than
        the baseline's.
    correction
        Correction of the p-values for the number of tests in a family: ``"holm"``
        (default), ``"bonferroni"``, ``"sidak"``, ``"hochberg"``, ``"bh"``, ``"by"`` or
        ``"none"``. Tukey's tests need none.
    family
        Tests that are corrected together: those of one ``"measure"`` (all pairs and
        segments), ``"all"``, or ``"none"``.
    level
        Confidence level of the intervals; adjusted p-values below 1 - level are
        significant. Intervals are not adjusted, except those of Tukey's test and
        ``simultaneous`` ones. That of a mean is Wilson's where all values are 0 or 1,
        as those of ``success@k`` are.
    interval
        Interval of the difference: ``"t"``, or from bootstrap resamples
        ``"percentile"``, ``"bca"``, ``"studentized"`` or ``"bayesian"``. Of rankings
        t holds the truth at least as often, and of few queries more often: those that
        are known to be too short are told in ``note``, and in a warning.
    simultaneous
        Whether the intervals of a family of k differences hold at once: those of t are
        at level 1 - (1 - level) / k, or of the k-th root with ``"sidak"``. With
        ``"bonferroni"`` or ``"sidak"`` they exclude 0 where a difference is
        significant.
    effect
        The mean difference divided by a standard deviation: ``"d_z"``: that of the
        differences; ``"hedges"``: the same, corrected for bias; ``"d_av"``: the root
        mean square of the two systems'; ``"glass"``: the baseline's; ``"sakai"``:
        that of the residuals of the two-way analysis of variance. Or
        ``"dominance"``: (wins - losses) / queries; ``"rank_biserial"``; ``"cliff"``:
        Cliff's delta, unpaired.
    margin
        Largest difference that does not matter, for ``"tost"``.
    zero_method
        What ``"wilcoxon"`` does with differences of 0: ``"wilcox"`` leaves them out,
        ``"pratt"`` ranks them before it leaves them out, and ``"zsplit"`` ranks them
        and counts half of each as positive.
    n_resamples, seed
        Number of draws of randomization and bootstrap, and their seed. The order of
        rows does not matter, and all pairs and measures share the draws.
    pairs
        ``"same"``: all systems must have the same queries. ``"common"``: the others are
        left out, and counted in a note. ``"independent"``: the samples are not paired
        (Welch's t).
    tie
        Differences up to this size are ties.
    min_queries
        Segments with fewer queries are shown, not tested.
    order
        Order of the systems in tables and pictures: ``"mean"``, the best mean of the
        first measure first; ``"name"``; or ``"given"``, as they come in ``values``. The
        frames, and which of a pair is the baseline, do not depend on it.
    qrels
        Judgments of ``values`` that are runs. Columns ``by``, ``weight`` and
        ``cluster`` of either are kept.
    **options
        Further arguments of :func:`per_query` for ``values`` that are runs, such as
        ``ties``, ``convention`` and ``check``.

    Returns
    -------
    A :class:`Comparison`: prints a table; ``.means`` and ``.pairs`` are frames.

    Raises
    ------
    ValueError
        At once, for wrong arguments, and for fewer than two systems.
    TypeError
        For ``options`` of values that are no runs.
    DataWarning
        For bootstrap intervals that are known to be short.
    DataError
        For rows that break a rule: unequal sets of queries, duplicates, nulls of one
        system only, NaN, weights that are not positive.

    Notes
    -----
    Source: Student, 1908; Smucker, Allan and Carterette, CIKM 2007; Carterette, TOIS
    2012; Sakai, 2018; Urbano, Lima and Hanjalic, SIGIR 2019. Equal to
    ``scipy.stats.ttest_rel``, ``wilcoxon``, ``binomtest``, ``permutation_test`` and
    ``bootstrap``, and to statsmodels' ``WLS`` (HC1), ``OLS`` (cluster),
    ``ttost_paired`` and ``multipletests``.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {
    ...         "system": ["bm25"] * 4 + ["dense"] * 4,
    ...         "query_id": [1, 2, 3, 4] * 2,
    ...         "ndcg@10": [0.4, 0.5, 0.1, 0.9, 0.5, 0.7, 0.2, 0.9],
    ...     }
    ... )
    >>> found = pr.compare(values, baseline="bm25")
    >>> found.pairs.select("difference", "p_value", "wins", "ties", "losses").row(0)
    (0.09999..., 0.09172..., 3, 1, 0)
    """
    how = Procedure(
        test=test,
        alternative=alternative,
        correction=correction,
        family=family,
        level=level,
        interval=interval,
        simultaneous=simultaneous,
        effect=effect,
        margin=margin,
        zero_method=zero_method,
        repeats=repeats,
        n_resamples=n_resamples,
        seed=seed,
        pairs=pairs,
        tie=tie,
        min_queries=min_queries,
        order=order,
    )
    require_together(how, weight=weight, cluster=cluster, repeat=repeat)
    columns = Columns(system, query, measures, by, weight, cluster, repeat)
    if isinstance(values, Mapping) or qrels is not None:
        values = values_of_runs(values, measures, columns, qrels=qrels, **options)
        columns = replace(columns, measures=None)
    elif options:
        msg = (
            f"{next(iter(options))}= is for runs, which are evaluated: a mapping of "
            "names to runs, or a frame with qrels="
        )
        raise TypeError(msg)
    sums = _summed(read_once(values), columns, how, baseline)
    plan = _planned(sums, how, baseline)
    own, anova, frame, plan = _estimated(sums, plan, columns, how)
    between = None
    if plan.segments:
        between = between_segments(frame, min_queries=min_queries)
    frame = tested(frame, how, anova, plan, sums.held)
    frame = with_effect(frame, how.effect, anova, plan, sums.held)
    frame = _resampled(frame, how, plan, sums.held)
    frame = noted(frame, columns, how, plan)
    frame = _untested(frame, how, plan)
    frame = with_detectable(frame, how)
    frame = corrected(frame, how)
    settings = asdict(how) | {
        "correction": how.chosen_correction,
        "baseline": baseline,
        "weight": weight,
        "cluster": cluster,
        "repeat": repeat,
        "notes": _notes(frame, sums, plan, how, between, weight),
    }
    means = estimates.means_of(own, plan)
    shown = frame.select(_columns(plan, how))
    return Comparison(means, shown, settings, anova, sums.held, between)


# -- sums


class _Sums(NamedTuple):
    """Sums of systems and pairs by segment, and the values, if they are held."""

    table: pl.DataFrame
    segments: list[str]
    held: Values | None


def _summed(
    values: Source,
    columns: Columns,
    how: Procedure,
    baseline: str | Sequence[str] | None,
) -> _Sums:
    """Add up values of queries, or parts of moments."""
    schema = lazy(values).collect_schema()
    require_columns_of_moments(schema)
    if is_moments(schema.names()):
        return _of_moments(values, schema.names(), columns, how)

    def places(systems: list[str]) -> list[tuple[int, int]]:
        if how.needs_all_pairs or baseline is None:
            return list(combinations(range(len(systems)), 2))
        wanted = estimates.pairs_of(systems, baseline)
        return [(systems.index(a), systems.index(b)) for a, b in wanted]

    parts = (
        iter([read(values, columns, how.pairs, summed=True)])
        if how.pairs != "same" or how.needs_rows
        else read_parts(values, columns)
    )
    table, last, alone = sums_of_parts(parts, places, how.tie)
    return _Sums(table, columns.segments, last if alone else None)


def _of_moments(
    values: Source, names: Sequence[str], columns: Columns, how: Procedure
) -> _Sums:
    require_no_rows(
        how, weight=columns.weight, cluster=columns.cluster, repeat=columns.repeat
    )
    segments = segments_of(names) if columns.by is None else columns.segments
    table = selected(read_moments(values), segments, names_of(columns.measures))
    require_rows_of_moments(table, segments)
    if how.test == "sign" and not estimates.counts_once(table):
        msg = (
            "these moments have weights or clusters, which test='sign' cannot "
            "use; use test='t'"
        )
        raise ValueError(msg)
    return _Sums(table, segments, None)


# -- estimates


def _planned(sums: _Sums, how: Procedure, baseline: str | Sequence[str] | None) -> Plan:
    """The comparisons to make; there is at least one."""
    first = sums.table.filter(pl.col("other").is_null())["system"]
    systems = first.unique(maintain_order=True).to_list()
    if len(systems) < 2:
        only = ", ".join(map(repr, systems)) or "no system"
        msg = f"nothing to compare: these are moments of {only}; see its trend"
        raise ValueError(msg)
    wanted = estimates.pairs_of(systems, baseline)
    return Plan(systems, wanted, sums.segments, how.level, how.alternative, how.level)


def _estimated(
    sums: _Sums, plan: Plan, columns: Columns, how: Procedure
) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame, Plan]:
    """Systems, their analysis of variance, and pairs with intervals and t tests."""
    table = estimates.estimated(sums.table, plan.segments)
    own = table.filter(pl.col("other").is_null())
    wide = estimates.oriented(table, plan)
    apart = how.pairs == "independent"
    frame = estimates.compared(wide, own, plan, independent=apart)
    if how.simultaneous:
        plan = replace(plan, interval_level=level_at_once(frame, plan, how))
        frame = estimates.compared(wide, own, plan, independent=apart)
    return own, _anova(table, own, plan, columns, how), frame, plan


def _anova(
    table: pl.DataFrame,
    own: pl.DataFrame,
    plan: Plan,
    columns: Columns,
    how: Procedure,
) -> pl.DataFrame | None:
    """Analyze the variance of systems and queries.

    None if pairs are missing, or if queries are weighted, clustered or not paired.
    """
    m = len(plan.systems)
    segments = len(own) // m
    complete = len(table) - len(own) == segments * m * (m - 1) // 2
    if columns.weight or columns.cluster or how.pairs == "independent":
        return None
    if not complete or not estimates.counts_once(table):
        return None
    return estimates.analysis_of_variance(
        table.filter(pl.col("other").is_not_null()), own, plan
    )


# -- intervals and segments


def _resampled(
    frame: pl.DataFrame, how: Procedure, plan: Plan, held: Values | None
) -> pl.DataFrame:
    """Replace the intervals by resampled ones, if these are asked for."""
    if how.interval == "t" or held is None:
        return frame
    resample = with_pigeonhole if how.repeats == "random" else with_bootstrap
    return resample(frame, held, plan, how.interval, how.n_resamples, how.seed)


def _untested(frame: pl.DataFrame, how: Procedure, plan: Plan) -> pl.DataFrame:
    """Take the tests from segments with too few queries."""
    if not plan.segments:
        return frame
    known = pl.col("queries") >= how.min_queries
    return frame.with_columns(
        pl.when(known).then(pl.col(name)).alias(name)
        for name in ("statistic", "df", "p_value")
    )


# -- what is told


def _notes(
    frame: pl.DataFrame,
    sums: _Sums,
    plan: Plan,
    how: Procedure,
    between: pl.DataFrame | None,
    weight: str | None,
) -> list[str]:
    """Remarks on the comparison as a whole."""
    why = left_out(how)
    slow = how.test == "randomization" and _is_large(frame)
    return [
        *([] if sums.held is None else sums.held.notes),
        *never_together(frame, plan.pairs),
        *([] if between is None else unlike(between, 1.0 - how.level)),
        *([] if weight is None else _effective_size(frame)),
        *([] if why is None else [f"Detectable is left out: {why}."]),
        *([SLOW] if slow else []),
    ]


def _is_large(frame: pl.DataFrame) -> bool:
    """Whether some comparison has more units than randomization is of use for."""
    return bool((frame["n"] > MANY).any())


def _effective_size(frame: pl.DataFrame) -> list[str]:
    """What unequal weights leave of the number of queries, in words."""
    sizes = frame["size"].drop_nulls().round(1)
    if not len(sizes):
        return []
    ends = " to ".join(dict.fromkeys(map(str, (sizes.min(), sizes.max()))))
    return [f"Effective number of queries, by their weights: {ends}."]


def _columns(plan: Plan, how: Procedure) -> list[str | pl.Expr]:
    """The columns of ``Comparison.pairs``."""
    equivalence = ["p_value_lower", "p_value_upper"] if how.test == "tost" else []
    posterior = ["probability"] if how.interval == "bayesian" else []
    return [
        *plan.segments,
        "measure",
        "baseline",
        "system",
        "queries",
        "baseline_mean",
        pl.col("system_mean").alias("mean"),
        pl.col("mean").alias("difference"),
        "relative",
        "se",
        "lower",
        "upper",
        *posterior,
        "statistic",
        "df",
        *equivalence,
        "p_value",
        "p_adjusted",
        "significant",
        "effect",
        "effect_lower",
        "effect_upper",
        "wins",
        "ties",
        "losses",
        "detectable",
        "note",
    ]
