"""Compare systems query by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank._statistics.distributions import Alternative
from polars_rank._statistics.intervals import require_level
from polars_rank.comparison import estimates, paired_tests
from polars_rank.comparison.arguments import (
    Correction,
    EffectName,
    Family,
    IntervalName,
    Pairing,
    TestName,
    require_choice,
)
from polars_rank.comparison.bootstrap import bounds, resampled, shift_test
from polars_rank.comparison.corrections import adjusted
from polars_rank.comparison.effects import cliff
from polars_rank.comparison.estimates import Plan
from polars_rank.comparison.moments import is_moments, sums_of
from polars_rank.comparison.result import Comparison
from polars_rank.comparison.runs import values_of_runs
from polars_rank.comparison.seeds import across_seeds
from polars_rank.comparison.values import (
    Columns,
    Source,
    Values,
    cell,
    lazy,
    lower_is_better,
    read,
)
from polars_rank.core.expr import ratio

__all__ = ["compare"]

Array: TypeAlias = npt.NDArray[np.float64]
FROM_ROWS = ("randomisation", "wilcoxon", "bootstrap", "randomised_tukey")
FAMILYWISE = ("tukey", "randomised_tukey")  # control the family themselves
SKEWED = 1 << 14  # queries up to which skewness can matter


def compare(
    values: Source | Mapping[str, AnyFrame],
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
    effect: EffectName = "d_z",
    margin: float | None = None,
    resamples: int = 9999,
    random_state: int = 0,
    pairs: Pairing = "same",
    tie: float = 1e-9,
    least: int = 20,
    qrels: AnyFrame | None = None,
    options: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare systems query by query: differences, intervals, tests, effect sizes.

    Parameters
    ----------
    values
        One row per system and query with a column per measure, as :func:`per_query`
        returns it with ``query=["system", "query_id"]``: a frame or a file. Or moments
        (:func:`moments`), for tests that need no rows. Or, with ``qrels``, runs:
        one frame with a column ``system``, or a mapping of names to runs.
    system, query
        Columns that name the system and the query (several columns, too).
    measures
        Columns to compare; default: all Float columns. With ``qrels``, the measures to
        compute.
    baseline
        One or several systems that all others are compared with; default: all pairs.
    by
        Columns that split the queries into segments, compared one by one.
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
        too (crossed random effects, test ``"t"``).
    test
        ``"t"``: paired t test. ``"randomisation"``: Fisher's, exact up to 40 queries
        that differ. ``"bootstrap"``: shift method. ``"wilcoxon"`` and ``"sign"`` ask
        whether differences are symmetric, or more often positive, not whether means
        differ. ``"tukey"``: all pairs at once, from the two-way analysis of variance.
        ``"randomised_tukey"``: its resampling twin. ``"lsd"``: t with the pooled
        residual variance. ``"tost"``: whether the systems are equivalent, within
        ``margin``.
    alternative
        ``"two-sided"``, or that the system's mean is ``"greater"`` or ``"less"`` than
        the baseline's.
    correction
        Correction of the p-values for the number of tests in a family: ``"holm"``
        (default), ``"bonferroni"``, ``"sidak"``, ``"hochberg"``, ``"bh"``, ``"by"`` or
        ``"none"``; see :func:`~polars_rank.comparison.corrections.adjusted`. Tukey's
        tests need none.
    family
        Tests that are corrected together: those of one ``"measure"`` (all pairs and
        segments), ``"all"``, or ``"none"``.
    level
        Confidence level of the intervals; adjusted p-values below 1 - level are
        significant. Intervals are not adjusted, except those of Tukey's test.
    interval
        Interval of the difference: ``"t"``, or from bootstrap resamples
        ``"percentile"``, ``"bca"``, ``"studentised"`` or ``"bayesian"``.
    effect
        ``"d_z"``: mean by standard deviation of the differences; ``"hedges"``: without
        its bias; ``"d_av"``, ``"glass"``: by the deviation of both systems', or the
        baseline's, values; ``"sakai"``: by that of the two-way residuals;
        ``"dominance"``: (wins - losses) / queries; ``"rank_biserial"``; ``"cliff"``:
        Cliff's delta, unpaired.
    margin
        Largest difference that does not matter, for ``"tost"``.
    resamples, random_state
        Number of draws of randomisation and bootstrap, and their seed. The order of
        rows does not matter, and all pairs and measures share the draws.
    pairs
        ``"same"``: all systems must have the same queries. ``"common"``: the others are
        left out, and counted in a note. ``"independent"``: the samples are not paired
        (Welch's t).
    tie
        Differences up to this size are ties.
    least
        Segments with fewer queries are shown, not tested.
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
    >>> found.pairs.select("difference", "p", "win", "tie", "loss").row(0)
    (0.09999..., 0.09172..., 3, 1, 0)
    """
    for name, value, choices in (
        ("test", test, TestName),
        ("alternative", alternative, Alternative),
        ("family", family, Family),
        ("interval", interval, IntervalName),
        ("effect", effect, EffectName),
        ("pairs", pairs, Pairing),
        ("seeds", seeds, Literal["fixed", "random"]),
        ("correction", correction or "holm", Correction),
    ):
        require_choice(name, value, choices)
    require_level(level)
    _require_together(locals())
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
    columns = Columns(system, query, measures, by, weight, cluster, seed)
    stored = is_moments(lazy(values).collect_schema().names())
    held = None if stored else read(values, columns, pairs)
    if held is None:
        _require_no_rows(locals())
        table = lazy(values).collect()
        if measures is not None:
            wanted = [measures] if isinstance(measures, str) else list(measures)
            table = table.filter(pl.col("measure").is_in(wanted))
        first = table.filter(pl.col("other").is_null())["system"]
        systems = first.unique(maintain_order=True).to_list()
        segments = columns.segments or [
            n for n in table.columns if n not in (*STORED, "definition")
        ]
    else:
        systems, segments = held.systems, columns.segments
    wanted_pairs = estimates.pairs_of(systems, baseline)
    plan = Plan(systems, wanted_pairs, segments, level, alternative)
    if held is not None:
        every = test in ("tukey", "lsd") or effect == "sakai"
        places = (
            list(combinations(range(len(systems)), 2))
            if every or baseline is None
            else [(systems.index(a), systems.index(b)) for a, b in wanted_pairs]
        )
        table = sums_of(held, places, tie).rename(
            dict(zip(held.by, columns.segments, strict=True))
        )
    table = estimates.estimated(table)
    own = table.filter(pl.col("other").is_null())
    frame = estimates.compared(
        estimates.estimated(estimates.oriented(table, plan)),
        own,
        plan,
        independent=pairs == "independent",
    )
    anova = _anova(table, own, plan, weight, cluster, pairs)
    frame = _tested(frame, test, margin, anova, plan, held, locals())
    frame = _with_effect(frame, effect, anova, plan, held)
    if interval != "t" and held is not None:
        frame = _with_bootstrap(frame, held, plan, interval, resamples, random_state)
    frame = _noted(frame, held, plan, interval, least, tie)
    if segments:
        known = pl.col("queries") >= least
        frame = frame.with_columns(
            pl.when(known).then(pl.col(c)).alias(c) for c in ("statistic", "df", "p")
        )
    chosen: str = "none" if test in FAMILYWISE else correction or "holm"
    frame = _corrected(frame, chosen, family, level)
    settings = {
        "test": test,
        "alternative": alternative,
        "correction": chosen,
        "family": family,
        "level": level,
        "interval": interval,
        "effect": effect,
        "margin": margin,
        "baseline": baseline,
        "weight": weight,
        "cluster": cluster,
        "seed": seed,
        "pairs": pairs,
        "resamples": resamples,
        "random_state": random_state,
        "notes": [] if held is None else held.notes,
    }
    return Comparison(
        estimates.means_of(own, plan),
        frame.select(_columns(frame, plan, test, interval)),
        settings,
        anova,
        held,
    )


STORED = (
    "measure", "system", "other", "queries", "n", "x", "d", "xx", "xd", "dd",
    "squares", "win", "tie", "loss",
)  # fmt: skip


# -- arguments


def _require_together(given: Mapping[str, Any]) -> None:
    """Refuse combinations of arguments that exclude each other."""
    test, interval = given["test"], given["interval"]
    told = {n: given[n] for n in ("weight", "cluster") if given[n] is not None}
    for name in told:
        if test in ("wilcoxon", "sign", "tukey", "randomised_tukey", "lsd"):
            msg = (
                f"{name}= cannot be used with test={test!r}; use 't' or 'randomisation'"
            )
            raise ValueError(msg)
        if given["effect"] == "sakai":
            msg = f"{name}= cannot be used with effect='sakai'"
            raise ValueError(msg)
    if test in FAMILYWISE and given["correction"] not in (None, "none"):
        msg = (
            f"test={test!r} corrects for all pairs by itself: leave out "
            f"correction={given['correction']!r}"
        )
        raise ValueError(msg)
    if (
        test in ("tukey", "randomised_tukey", "lsd", "tost")
        and given["alternative"] != "two-sided"
    ):
        msg = f"test={test!r} has no one-sided form; leave out alternative="
        raise ValueError(msg)
    if test in ("tukey", "lsd") and interval != "t":
        msg = f"test={test!r} has intervals of its own: leave out interval={interval!r}"
        raise ValueError(msg)
    margin = given["margin"]
    if (test == "tost") != (margin is not None):
        msg = "margin= belongs to test='tost': name both or none"
        raise ValueError(msg)
    if margin is not None and not margin > 0:
        msg = f"margin must be above 0, not {margin!r}"
        raise ValueError(msg)
    if test == "tost" and given["level"] <= 0.5:
        msg = "level must be above 0.5 for test='tost'"
        raise ValueError(msg)
    resampling = (
        test in ("randomisation", "bootstrap", "randomised_tukey") or interval != "t"
    )
    if resampling and given["resamples"] < 99:
        msg = f"resamples must be at least 99, not {given['resamples']}"
        raise ValueError(msg)
    if interval != "t" and given["alternative"] != "two-sided":
        msg = f"interval={interval!r} has no one-sided form; leave out alternative="
        raise ValueError(msg)
    if given["pairs"] == "independent" and (
        test != "t" or interval != "t" or told or given["seed"]
    ):
        msg = "pairs='independent' is for test='t' and interval='t', without weights"
        raise ValueError(msg)
    if given["seeds"] == "random" and (given["seed"] is None or test != "t" or told):
        msg = "seeds='random' needs seed= and test='t', without weight= or cluster="
        raise ValueError(msg)


def _require_no_rows(given: Mapping[str, Any]) -> None:
    """Moments hold no values of single queries."""
    if given["test"] in FROM_ROWS or given["interval"] != "t":
        what = (
            f"test={given['test']!r}"
            if given["test"] in FROM_ROWS
            else f"interval={given['interval']!r}"
        )
        msg = f"{what} needs the values of the queries, and these are moments"
        raise ValueError(msg)
    for name in ("weight", "cluster", "seed"):
        if given[name] is not None:
            msg = f"{name}= is chosen when moments are made: pr.moments({name}=...)"
            raise ValueError(msg)
    if given["effect"] in ("rank_biserial", "cliff"):
        msg = (
            f"effect={given['effect']!r} needs values of the queries; these are moments"
        )
        raise ValueError(msg)


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
    once = table.select(
        (pl.col("n") == pl.col("queries")).all() & (pl.col("d") == pl.col("n")).all()
    ).item()
    if weight or cluster or pairs == "independent" or not complete or not once:
        return None
    return estimates.analysis_of_variance(
        table.filter(pl.col("other").is_not_null()), own, plan
    )


def _tested(
    frame: pl.DataFrame,
    test: TestName,
    margin: float | None,
    anova: pl.DataFrame | None,
    plan: Plan,
    held: Values | None,
    given: Mapping[str, Any],
) -> pl.DataFrame:
    """Replace the t test by the one that is asked for."""
    if test in ("tukey", "lsd"):
        if anova is None:
            msg = f"test={test!r} needs all pairs, unweighted, of the same queries"
            raise ValueError(msg)
        make = estimates.tukey if test == "tukey" else estimates.fisher_lsd
        return make(frame, anova, plan)
    if test == "tost":
        return estimates.equivalence(frame, float(margin or 0.0), plan.level)
    if test == "sign":
        rows = frame.select("win", "loss").rows()
        sense = _sense(frame)
        found = [
            paired_tests.sign(*((win, loss) if up else (loss, win)), plan.alternative)
            for (win, loss), up in zip(rows, sense, strict=True)
        ]
        return _replaced(frame, found, frame["queries"].to_list())
    if test == "t":
        if given["seeds"] == "random" and held is not None:
            return across_seeds(frame, held, plan)
        return frame
    assert held is not None
    resamples, random_state = given["resamples"], given["random_state"]
    found = []
    for x, w, matrix, places in _blocks(held, plan):
        if not len(x):
            found += [paired_tests.Tested(0.0, 1.0)] * len(plan.pairs)
        elif test == "wilcoxon":
            found += [paired_tests.wilcoxon(d, plan.alternative) for d in x.T]
        elif test == "randomisation":
            found += paired_tests.randomisation(
                paired_tests.rounded(x),
                resamples=resamples,
                random_state=random_state,
                alternative=plan.alternative,
            )
        elif test == "bootstrap":
            drawn = resampled(x, w, resamples=resamples, random_state=random_state)
            found += shift_test(x, w, drawn, plan.alternative)
        else:
            found += paired_tests.randomised_tukey(
                *_by_name(held, matrix, places),
                resamples=resamples,
                random_state=random_state,
            )
    return _replaced(frame, found, frame["n"].to_list())


def _by_name(
    held: Values, matrix: Array, places: list[tuple[int, int]]
) -> tuple[Array, list[tuple[int, int]]]:
    """Systems in the order of their names: draws must not depend on that of rows."""
    order = sorted(range(len(held.systems)), key=held.systems.__getitem__)
    rank = {i: place for place, i in enumerate(order)}
    return matrix[:, order], [(rank[i], rank[j]) for i, j in places]


def _sense(frame: pl.DataFrame) -> list[bool]:
    """Whether a win is a positive difference, row by row."""
    return [not lower_is_better(name) for name in frame["measure"]]


def _replaced(
    frame: pl.DataFrame, found: Sequence[paired_tests.Tested], sizes: Sequence[int]
) -> pl.DataFrame:
    some = [size is not None and size > 1 for size in sizes]
    rows = [
        (t.statistic, t.p) if known else (None, None)
        for t, known in zip(found, some, strict=True)
    ]
    new = pl.DataFrame(
        rows, schema={"statistic": pl.Float64, "p": pl.Float64}, orient="row"
    )
    return frame.with_columns(*new, df=pl.lit(None, dtype=pl.Float64))


def _blocks(
    held: Values, plan: Plan
) -> Iterator[tuple[Array, Array, Array, list[tuple[int, int]]]]:
    """Units of each measure and segment, in the order of the rows of ``.pairs``.

    Sums of weighted differences, sums of weights; the values; places of the pairs.
    """
    places = [(held.systems.index(a), held.systems.index(b)) for a, b in plan.pairs]
    parts = (
        [
            part
            for _, part in held.ordered.sort(held.by, maintain_order=True).group_by(
                held.by, maintain_order=True
            )
        ]
        if held.by
        else [held.ordered]
    )
    for k in range(len(held.measures)):
        for part in parts:
            cells = [cell(k, i) for i in range(len(held.systems))]
            known = part.drop_nulls(cells)
            matrix = known.select(cells).to_numpy()
            n = len(known)
            d = paired_tests.rounded(
                np.column_stack([matrix[:, j] - matrix[:, i] for i, j in places])
            )
            w = (
                known["weight"].cast(pl.Float64).to_numpy()
                if "weight" in known.columns
                else np.ones(n)
            )
            x = d * w[:, None]
            if "cluster" in known.columns:
                codes = known["cluster"].rank("dense").to_numpy() - 1
                groups = int(codes.max()) + 1 if n else 0
                x = np.column_stack(
                    [np.bincount(codes, column, minlength=groups) for column in x.T]
                )
                w = np.bincount(codes, w, minlength=groups)
            yield x, w, matrix, places


def _with_bootstrap(
    frame: pl.DataFrame,
    held: Values,
    plan: Plan,
    interval: IntervalName,
    resamples: int,
    random_state: int,
) -> pl.DataFrame:
    low: list[float] = []
    high: list[float] = []
    above: list[float] = []
    bayesian = interval == "bayesian"
    for x, w, _, places in _blocks(held, plan):
        if len(x) < 2:
            nothing = [float("nan")] * len(places)
            low, high, above = low + nothing, high + nothing, above + nothing
            continue
        drawn = resampled(
            x, w, resamples=resamples, random_state=random_state, bayesian=bayesian
        )
        ends = bounds(x, w, drawn, interval, plan.level)
        low += ends.low.tolist()
        high += ends.high.tolist()
        above += (drawn.estimate > 0).mean(axis=0).tolist()
    frame = frame.with_columns(
        low=pl.Series(low).fill_nan(None), high=pl.Series(high).fill_nan(None)
    )
    if bayesian:
        frame = frame.with_columns(probability=pl.Series(above).fill_nan(None))
    return frame


def _with_effect(
    frame: pl.DataFrame,
    effect: EffectName,
    anova: pl.DataFrame | None,
    plan: Plan,
    held: Values | None,
) -> pl.DataFrame:
    frame = estimates.with_effect(frame, effect, plan.level)
    if effect == "sakai":
        if anova is None:
            msg = "effect='sakai' needs all pairs, unweighted, of the same queries"
            raise ValueError(msg)
        keys = [*plan.segments, "measure"]
        known = anova.select(*keys, residual=pl.col("variance").sqrt())
        return frame.join(
            known, on=keys, how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(effect=ratio(pl.col("mean"), pl.col("residual")))
    if effect in ("rank_biserial", "cliff"):
        assert held is not None
        found: list[float] = []
        for x, _, matrix, places in _blocks(held, plan):
            if not len(x):
                found += [float("nan")] * len(places)
            elif effect == "cliff":
                found += [cliff(matrix[:, i], matrix[:, j]) for i, j in places]
            else:
                found += [paired_tests.rank_biserial(d) for d in x.T]
        return frame.with_columns(effect=pl.Series(found).fill_nan(None))
    return frame


# -- what follows


def _noted(
    frame: pl.DataFrame,
    held: Values | None,
    plan: Plan,
    interval: IntervalName,
    least: int,
    tie: float,
) -> pl.DataFrame:
    clustered = held is not None and held.columns.cluster is not None
    said = estimates.notes(
        cluster=clustered,
        weight=held is not None and held.columns.weight is not None,
        segmented=bool(plan.segments),
        least=least,
        unit="cluster" if clustered else "query",
    )
    if held is not None and interval == "t" and len(held.frame) <= SKEWED:
        frame = frame.with_columns(skewed=pl.Series(list(_skewed(held, plan))))
        advice = pl.lit("skewed differences: see interval='bca'")
        enough = max(5, least) if plan.segments else 5
        skewed = pl.col("skewed") & (pl.col("queries") >= enough)
        said.append(pl.when(skewed).then(advice))
    note = pl.concat_list(said).list.drop_nulls()
    note = pl.when(note.list.len() > 0).then(note.list.join("; "))
    return frame.with_columns(note=note)


def _skewed(held: Values, plan: Plan) -> Iterator[bool]:
    """Cochran's rule: the t interval wants n > 25 times the squared skewness."""
    for x, *_ in _blocks(held, plan):
        n = len(x)
        if not n:
            yield from [False] * x.shape[1]
            continue
        centred = x - x.mean(axis=0)
        centred[np.abs(centred) < 1e-12] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = (centred**3).mean(axis=0) / (centred**2).mean(axis=0) ** 1.5
        yield from (bool(n < 25 * s * s) for s in skewness)


def _corrected(
    frame: pl.DataFrame, correction: str, family: Family, level: float
) -> pl.DataFrame:
    if family == "measure":
        groups = frame["measure"].rle_id().to_list()
    elif family == "all":
        groups = [0] * len(frame)
    else:
        groups = list(range(len(frame)))
    p = frame["p"].fill_null(float("nan")).to_numpy()
    result = np.full(len(p), np.nan)
    ids = np.array(groups)
    for group in np.unique(ids):
        result[ids == group] = adjusted(p[ids == group], correction)  # type: ignore[arg-type]
    frame = frame.with_columns(adjusted=pl.Series(result).fill_nan(None))
    return frame.with_columns(significant=pl.col("adjusted") < 1.0 - level)


def _columns(
    frame: pl.DataFrame, plan: Plan, test: str, interval: str
) -> list[str | pl.Expr]:
    equivalence = ["p_low", "p_high"] if test == "tost" else []
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
        "low",
        "high",
        *posterior,
        "statistic",
        "df",
        *equivalence,
        "p",
        "adjusted",
        "significant",
        "effect",
        "effect_low",
        "effect_high",
        "win",
        "tie",
        "loss",
        "detectable",
        "note",
    ]
