"""Compare systems query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Unpack

import polars as pl

from polars_rank._statistics.distributions import Alternative
from polars_rank.comparison.explained import by_name, runs_to_explain, with_parts
from polars_rank.comparison.input.catalog_values import (
    Asked,
    require_jackknife,
    values_of_catalog,
)
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
    require_no_rows,
    require_together,
)
from polars_rank.comparison.input.reading import read, read_parts
from polars_rank.comparison.input.run_values import (
    OF_DOCUMENTS,
    RunOptions,
    values_of_runs,
)
from polars_rank.comparison.input.values import Columns, Source, Values, lazy, read_once
from polars_rank.comparison.notes import noted, remarks
from polars_rank.comparison.result import Comparison
from polars_rank.comparison.sums.merging import (
    read_moments,
    require_columns_of_moments,
    require_rows_of_moments,
    segments_of,
    selected,
)
from polars_rank.comparison.sums.moments import is_moments, sums_of_parts
from polars_rank.comparison.tests.catalogs import Catalogs
from polars_rank.comparison.tests.corrections import corrected, levels_at_once
from polars_rank.comparison.tests.detectable import with_detectable
from polars_rank.comparison.tests.effects import with_effect
from polars_rank.comparison.tests.estimates import (
    Study,
    analysis_of_variance,
    compared,
    counts_once,
    estimated,
    means_of,
    oriented,
    pairs_of,
)
from polars_rank.comparison.tests.from_values import resampled_intervals, tested
from polars_rank.comparison.tests.segments import between_segments
from polars_rank.io.frames import FrameLike


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
    largest_parts: bool = False,
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
        are added up, as :func:`merge` does. Or runs: a mapping of names to runs
        (frames, files, dictionaries), or one frame with a column ``system``, if
        ``qrels``, ``history``, ``items`` or a column of documents (``doc``, ``score``,
        ``rank``, ``label``) is given.
    measures
        Columns to compare; default: all Float columns. Of runs, the measures to
        compute. Those of the catalog, such as ``coverage@10``, have no values of
        queries: their errors are those of a jackknife that leaves 20 groups of users
        out in turn, the same in all systems; t has 19 degrees of freedom.
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
        Differences up to this size, and those within rounding, are ties.
    min_queries
        Segments with fewer queries are shown, not tested.
    order
        Order of the systems in tables and pictures: ``"mean"``, the best mean of the
        first measure first; ``"name"``; or ``"given"``, as they come in ``values``. The
        frames, and which of a pair is the baseline, do not depend on it.
    qrels
        Judgments of ``values`` that are runs. Columns ``by``, ``weight`` and
        ``cluster`` of either are kept.
    largest_parts
        Whether to show the largest parts of each difference between runs, from
        ``baseline`` or the first run: segments, and documents that were lost, gained or
        moved. Runs are read again for them; :func:`polars_rank.analysis.reasons` has
        all of them.
    **options
        Further arguments of :func:`per_query` for ``values`` that are runs, such as
        ``ties``, ``convention`` and ``check``.

    Returns
    -------
    A :class:`Comparison`: prints tables; ``.means`` and ``.pairs`` are frames.

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
    columns = Columns(system, query, measures, by, weight, cluster, repeat)
    require_together(how, columns)
    asked = catalog = None  # values of measures of the catalog, if there are any
    if largest_parts:
        values, qrels = runs_to_explain(values, qrels, columns)
    runs: Any = values
    of_documents = qrels is not None or not OF_DOCUMENTS.isdisjoint(options)
    if isinstance(values, Mapping) or of_documents:
        asked = Asked.of(measures)
        if asked.of_catalog:
            require_jackknife(asked, how, columns)
            catalog = values_of_catalog(values, asked, columns, qrels=qrels, **options)
        values = values_of_runs(values, asked.others, columns, qrels=qrels, **options)
        columns = replace(columns, measures=None)
    elif options:
        msg = (
            f"{next(iter(options))}= is for runs, which are evaluated: a mapping of "
            "names to runs, or a frame whose documents qrels=, doc= or label= tell of"
        )
        raise TypeError(msg)
    sums, segments, held = _summed(read_once(values), columns, how, baseline)
    study = _planned(sums, segments, held, columns, how, baseline)
    catalogs = None
    if asked is not None and catalog is not None:
        catalogs = Catalogs.of(catalog, study, asked.names)

    # Estimates, with t tests and intervals
    table = estimated(sums, segments)
    own = table.filter(pl.col("other").is_null())
    study = replace(study, anova=analysis_of_variance(table, own, study))
    wide = oriented(table, study)
    frame = compared(wide, own, study)
    if simultaneous:
        every = frame if catalogs is None else catalogs.with_pairs(frame, study)
        study = replace(study, levels=levels_at_once(every, study))
        frame = compared(wide, own, study)
    between = between_segments(frame, min_queries=min_queries) if segments else None

    # The test that is asked for, effects, other intervals, corrections
    frame = tested(frame, study)
    frame = with_effect(frame, study)
    frame = resampled_intervals(frame, study)
    frame = noted(frame, study)
    anova = study.anova
    if catalogs is not None:
        frame = catalogs.with_pairs(frame, study)
        between, anova = catalogs.asked(between), catalogs.asked(anova)
    frame = _untested(frame, study)
    frame = with_detectable(frame, how)
    frame = corrected(frame, how)

    settings = asdict(how) | {
        "correction": how.chosen_correction,
        "baseline": baseline,
        "weight": weight,
        "cluster": cluster,
        "repeat": repeat,
        "notes": remarks(frame, study, between),
    }
    means = means_of(own, segments, level, held)
    if catalogs is not None:
        means = catalogs.with_means(means, level)
    pairs_found = frame.select(_columns(study))
    found = Comparison(means, pairs_found, settings, anova, held, between)
    if not largest_parts or measures is None:
        return found
    about = {"by": by, "weight": weight, "cluster": cluster, "level": level}
    return with_parts(
        found,
        by_name(runs, study.systems, system),
        measures,
        baseline,
        query=query,
        qrels=qrels,
        **about,
        **options,
    )


def _summed(
    values: Source,
    columns: Columns,
    how: Procedure,
    baseline: str | Sequence[str] | None,
) -> tuple[pl.DataFrame, list[str], Values | None]:
    """Add up values of queries, or parts of moments.

    Return sums of systems and pairs by segment, the columns of segments, and the
    values, if they are held.
    """
    schema = lazy(values).collect_schema()
    require_columns_of_moments(schema)
    if is_moments(schema.names()):
        require_no_rows(how, columns)
        segments = segments_of(schema) if columns.by is None else columns.segments
        table = selected(read_moments(values), segments, columns.measures)
        require_rows_of_moments(table, segments)
        if how.test == "sign" and not counts_once(table):
            msg = (
                "these moments have weights or clusters, which test='sign' cannot "
                "use; use test='t'"
            )
            raise ValueError(msg)
        return table, segments, None

    def places(systems: list[str]) -> list[tuple[int, int]]:
        wanted = pairs_of(systems, None if how.needs_all_pairs else baseline)
        return [(systems.index(a), systems.index(b)) for a, b in wanted]

    parts = (
        iter([read(values, columns, how.pairs, summed=True)])
        if how.pairs != "same" or how.needs_rows
        else read_parts(values, columns)
    )
    table, last, alone = sums_of_parts(parts, places, how.tie)
    return table, columns.segments, last if alone else None


def _planned(
    sums: pl.DataFrame,
    segments: list[str],
    held: Values | None,
    columns: Columns,
    how: Procedure,
    baseline: str | Sequence[str] | None,
) -> Study:
    """Plan the comparisons to make; there is at least one."""
    first = sums.filter(pl.col("other").is_null())["system"]
    systems = first.unique(maintain_order=True).to_list()
    if len(systems) < 2:
        only = ", ".join(map(repr, systems)) or "no system"
        msg = f"nothing to compare: these are moments of {only}; see its trend"
        raise ValueError(msg)
    return Study(
        how=how,
        columns=columns,
        systems=systems,
        pairs=pairs_of(systems, baseline),
        segments=segments,
        held=held,
    )


def _untested(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Take the tests from segments with too few queries."""
    if not study.segments:
        return frame
    known = pl.col("queries") >= study.how.min_queries
    results = pl.col("statistic", "df", "p_value")
    return frame.with_columns(pl.when(known).then(results))


def _columns(study: Study) -> list[str | pl.Expr]:
    """Name the columns of ``Comparison.pairs``."""
    how = study.how
    equivalence = ["p_value_lower", "p_value_upper"] if how.test == "tost" else []
    posterior = ["probability"] if how.interval == "bayesian" else []
    return [
        *study.segments, "measure", "baseline", "system", "queries",
        "baseline_mean", pl.col("system_mean").alias("mean"),
        pl.col("mean").alias("difference"), "relative", "se", "lower", "upper",
        *posterior, "statistic", "df", *equivalence,
        "p_value", "p_adjusted", "significant", "better",
        "effect", "effect_lower", "effect_upper",
        "wins", "ties", "losses", "detectable", "note",
    ]  # fmt: skip
