"""Compare systems query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._statistics.distributions import Alternative
from polars_rank._statistics.intervals import require_level
from polars_rank.comparison.input.procedures import (
    FAMILYWISE,
    Correction,
    EffectName,
    Family,
    IntervalName,
    Order,
    Pairing,
    TestName,
    ZeroMethod,
    names_of,
    needs_rows,
    require_choice,
    require_no_rows,
    require_together,
)
from polars_rank.comparison.input.reading import read, read_parts
from polars_rank.comparison.input.run_values import values_of_runs
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
from polars_rank.comparison.tests.seeds import with_pigeonhole
from polars_rank.comparison.tests.segments import between_segments, unlike
from polars_rank.io.frames import FrameLike

Array: TypeAlias = npt.NDArray[np.float64]
MANY = 10_000
SLOW = f"Of more than {MANY:,} queries, the paired t test says the same, and at once."


def compare(
    values: Source | Mapping[str, FrameLike],
    *,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    measures: str | Sequence[str] | None = None,
    baseline: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    seed: str | None = None,
    seeds: Literal["fixed", "random"] = "fixed",
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
    resamples: int = 9999,
    random_state: int = 0,
    pairs: Pairing = "same",
    tie: float = 1e-9,
    least: int = 20,
    order: Order = "mean",
    qrels: FrameLike | None = None,
    options: Mapping[str, Any] | None = None,
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
    system, query
        Columns that name the system and the query (several columns, too).
    measures
        Columns to compare; default: all Float columns. With ``qrels``, the measures to
        compute.
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
    seed
        Column that tells several runs of a system apart. The value of a query is the
        mean over them.
    seeds
        ``"fixed"``: conclusions hold for these runs. ``"random"``: for other seeds,
        too (crossed random effects, test ``"t"``; resamples are of queries and seeds).
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
    resamples, random_state
        Number of draws of randomization and bootstrap, and their seed. The order of
        rows does not matter, and all pairs and measures share the draws.
    pairs
        ``"same"``: all systems must have the same queries. ``"common"``: the others are
        left out, and counted in a note. ``"independent"``: the samples are not paired
        (Welch's t).
    tie
        Differences up to this size are ties.
    least
        Segments with fewer queries are shown, not tested.
    order
        Order of the systems in tables and pictures: ``"mean"``, the best mean of the
        first measure first; ``"name"``; or ``"given"``, as they come in ``values``. The
        frames, and which of a pair is the baseline, do not depend on it.
    qrels, options
        Judgments, and further arguments of :func:`per_query`, for ``values`` that are
        runs. Their columns ``by``, ``weight`` and ``cluster`` are kept.

    Returns
    -------
    A :class:`Comparison`: prints a table; ``.means`` and ``.pairs`` are frames.

    Raises
    ------
    ValueError
        At once, for wrong arguments, and for fewer than two systems.
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
    for name, value, choices in (
        ("test", test, TestName),
        ("alternative", alternative, Alternative),
        ("family", family, Family),
        ("interval", interval, IntervalName),
        ("effect", effect, EffectName),
        ("pairs", pairs, Pairing),
        ("zero_method", zero_method, ZeroMethod),
        ("order", order, Order),
        ("seeds", seeds, Literal["fixed", "random"]),
        ("correction", correction or "holm", Correction),
    ):
        require_choice(name, value, choices)
    require_level(level)
    require_together(locals())
    if isinstance(values, Mapping) or qrels is not None:
        values = values_of_runs(
            values,
            measures,
            qrels=qrels,
            system=system,
            query=query,
            seed=seed,
            by=by,
            weight=weight,
            cluster=cluster,
            options=options,
        )
        measures = None
    values = read_once(values)
    columns = Columns(system, query, measures, by, weight, cluster, seed)
    every = test in ("tukey", "lsd") or effect == "sakai"

    def places(systems: list[str]) -> list[tuple[int, int]]:
        if every or baseline is None:
            return list(combinations(range(len(systems)), 2))
        wanted = estimates.pairs_of(systems, baseline)
        return [(systems.index(a), systems.index(b)) for a, b in wanted]

    held: Values | None = None
    require_columns_of_moments(schema := lazy(values).collect_schema())
    if is_moments(names := schema.names()):
        require_no_rows(locals())
        segments = segments_of(names) if by is None else columns.segments
        table = selected(read_moments(values), segments, names_of(measures))
        require_rows_of_moments(table, segments)
        if test == "sign" and not estimates.counts_once(table):
            msg = (
                "these moments have weights or clusters, which test='sign' cannot "
                "use; use test='t'"
            )
            raise ValueError(msg)
    else:
        parts: Iterable[Values] = (
            [read(values, columns, pairs, summed=True)]
            if pairs != "same" or needs_rows(locals())
            else read_parts(values, columns)
        )
        table, last, alone = sums_of_parts(parts, places, tie)
        held = last if alone else None
        segments = columns.segments
    first = table.filter(pl.col("other").is_null())["system"]
    systems = first.unique(maintain_order=True).to_list()
    if len(systems) < 2:
        only = ", ".join(map(repr, systems)) or "no system"
        msg = f"nothing to compare: these are moments of {only}; see its trend"
        raise ValueError(msg)
    wanted_pairs = estimates.pairs_of(systems, baseline)
    plan = Plan(systems, wanted_pairs, segments, level, alternative, level)
    chosen: Correction = "none" if test in FAMILYWISE else correction or "holm"
    table = estimates.estimated(table, segments)
    own = table.filter(pl.col("other").is_null())
    wide = estimates.oriented(table, plan)
    apart = pairs == "independent"
    frame = estimates.compared(wide, own, plan, independent=apart)
    if simultaneous:
        at_once = level_at_once(frame, plan, chosen, family, least)
        plan = replace(plan, interval_level=at_once)
        frame = estimates.compared(wide, own, plan, independent=apart)
    between = between_segments(frame, least=least) if segments else None
    anova = _anova(table, own, plan, weight, cluster, pairs)
    frame = tested(frame, test, margin, anova, plan, held, locals())
    frame = with_effect(frame, effect, anova, plan, held)
    if interval != "t" and held is not None:
        resample = with_pigeonhole if seeds == "random" else with_bootstrap
        frame = resample(frame, held, plan, interval, resamples, random_state)
    frame = noted(frame, columns, plan, interval, seeds, least)
    if segments:
        known = pl.col("queries") >= least
        frame = frame.with_columns(
            pl.when(known).then(pl.col(c)).alias(c)
            for c in ("statistic", "df", "p_value")
        )
    frame = with_detectable(frame, chosen, locals())
    frame = corrected(frame, chosen, family, level)
    why = left_out(locals())
    settings = {
        "test": test,
        "alternative": alternative,
        "correction": chosen,
        "family": family,
        "level": level,
        "interval": interval,
        "simultaneous": simultaneous,
        "effect": effect,
        "margin": margin,
        "zero_method": zero_method,
        "baseline": baseline,
        "weight": weight,
        "cluster": cluster,
        "seed": seed,
        "pairs": pairs,
        "order": order,
        "resamples": resamples,
        "random_state": random_state,
        "notes": [
            *([] if held is None else held.notes),
            *never_together(frame, wanted_pairs),
            *([] if between is None else unlike(between, 1.0 - level)),
            *([] if weight is None else _effective_size(frame)),
            *([] if why is None else [f"Detectable is left out: {why}."]),
            *([SLOW] if test == "randomization" and _is_large(frame) else []),
        ],
    }
    return Comparison(
        estimates.means_of(own, plan),
        frame.select(_columns(frame, plan, test, interval)),
        settings,
        anova,
        held,
        between,
    )


# -- tests


def _anova(
    table: pl.DataFrame,
    own: pl.DataFrame,
    plan: Plan,
    weight: str | None,
    cluster: str | None,
    pairs: Pairing,
) -> pl.DataFrame | None:
    """Of systems and queries, where all pairs are known and every query counts once."""
    m = len(plan.systems)
    segments = len(own) // m
    complete = len(table) - len(own) == segments * m * (m - 1) // 2
    if weight or cluster or pairs == "independent" or not complete:
        return None
    if not estimates.counts_once(table):
        return None
    return estimates.analysis_of_variance(
        table.filter(pl.col("other").is_not_null()), own, plan
    )


# -- what follows


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


def _columns(
    frame: pl.DataFrame, plan: Plan, test: str, interval: str
) -> list[str | pl.Expr]:
    equivalence = ["p_value_lower", "p_value_upper"] if test == "tost" else []
    posterior = ["probability"] if interval == "bayesian" else []
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
