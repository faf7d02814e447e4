"""The commands ``clicks ...`` that undo position bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias, cast

from cyclopts import CycloptsError, Parameter

from polars_rank import clicks
from polars_rank.cli.bar import Bar
from polars_rank.cli.clicks_log import (
    CHOICE,
    COLUMN,
    DEFAULT_LOG,
    FILES,
    LESS,
    Column,
    Example,
    Formats,
    Log,
    Out,
    Paths,
    Several,
    app,
    open_files,
    print_result,
    say_taken,
)
from polars_rank.cli.runs import open_file
from polars_rank.clicks.bias.position_rows import PropensityMethod
from polars_rank.clicks.judgments.judgments import JudgmentMethod
from polars_rank.clicks.off_policy.counterfactual import CounterfactualInterval
from polars_rank.clicks.off_policy.weighing import CounterfactualMethod

Bias: TypeAlias = Annotated[str | None, Parameter(group=FILES, metavar="FILE")]
Eta: TypeAlias = Annotated[float | None, CHOICE]
Systems: TypeAlias = Annotated[tuple[str, ...], COLUMN, LESS]
UNBIASED = (
    "say how likely each position is examined: --propensities FILE (what the command "
    "clicks propensities writes with --out), --eta NUMBER or --propensity COLUMN; for "
    "clicks counterfactual also --propensities harvest, from the log itself."
)
EXAMPLE_SYSTEMS = ("new_score", "score")


@app.command(usage="Usage: polars-rank clicks propensities LOG... [OPTIONS]")
def propensities(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    method: Annotated[PropensityMethod, CHOICE] = "harvest",
    estimator: Annotated[
        Literal["poisson", "all_pairs", "pivot_one", "chain"], CHOICE
    ] = "poisson",
    weighting: Annotated[Literal["harmonic", "equal"], CHOICE] = "harmonic",
    min_impressions: Annotated[int | None, CHOICE] = None,
    randomized: Column = None,
    shuffled: Annotated[int | None, CHOICE] = None,
    swap: Column = None,
    swapped: Column = None,
    relevance: Column = None,
    within: Several = (),
    cluster: Several = (),
    count: Column = None,
    normalize: Annotated[Literal["first", "max"], CHOICE] = "first",
    level: Annotated[float, CHOICE] = 0.95,
    max_steps: Annotated[int, CHOICE] = 500,
    tol: Annotated[float, CHOICE] = 1e-6,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Estimate how likely each position is examined, relative to the first one.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    method
        Source of the estimate: documents at several positions (harvest), an experiment
        (randomized, swap, fair_pairs), a model (em, regression_em), click rates (ctr);
        trust gives alpha and beta.
    estimator
        How harvest compares positions.
    weighting
        Weights of documents, for all estimators but poisson.
    min_impressions
        Documents of a query with fewer are left out; 50 for em, else 1.
    randomized
        Whether the list was shuffled.
    shuffled
        Number of positions that were shuffled, from the top; default: all.
    swap
        Position that a coin could swap with the first one; for fair_pairs: the position
        above or below that this document was paired with.
    swapped
        Whether the first document and that of the position were swapped.
    relevance
        Relevance of the document, for trust and regression_em.
    within
        Compare documents within the values of this column only; may be repeated.
    cluster
        Independent unit, usually the user; may be repeated.
    count
        For a log of totals: number of impressions; --clicked is the number of clicks.
    normalize
        Position whose propensity is 1.
    level
        Confidence level.
    max_steps
        Largest number of steps of a fit.
    tol
        Relative change at which a fit ends.
    format
        Default: table on a terminal, csv elsewhere.
    out
        Also write the result to this Parquet file.
    """
    bar = Bar()
    options = cast("dict[str, Any]", log.options(bar, count=count))
    result = clicks.propensities(
        open_files(files, example=example),
        method,
        estimator=estimator,
        weighting=weighting,
        min_impressions=min_impressions,
        randomized=randomized,
        shuffled=shuffled,
        swap=swap,
        swapped=swapped,
        relevance=relevance,
        within=within,
        normalize=normalize,
        level=level,
        max_steps=max_steps,
        tol=tol,
        cluster=cluster,
        **options,
    )
    with bar:
        print_result(result, files, len(log.by) + 1, format, out)


@app.command(usage="Usage: polars-rank clicks counterfactual LOG... --new COLUMN")
def counterfactual(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    measure: Annotated[
        str, Parameter(name=("--measure", "-m"), metavar="MEASURE"), CHOICE
    ] = "dcg@10",
    new: Systems = (),
    baseline: Column = None,
    propensities: Bias = None,
    eta: Eta = None,
    propensity: Column = None,
    method: Annotated[CounterfactualMethod, CHOICE] = "ips",
    clip: Annotated[float | None, CHOICE] = None,
    reward: Column = None,
    cluster: Several = (),
    interval: Annotated[CounterfactualInterval | None, CHOICE] = None,
    level: Annotated[float, CHOICE] = 0.95,
    replicates: Annotated[int, CHOICE] = 1000,
    seed: Annotated[int, CHOICE] = 0,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Estimate what other rankings would have scored on a log.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    measure
        Measure that adds up over documents, such as dcg@10 or precision@5.
    new
        Scores of a new ranking; may be repeated.
    baseline
        Ranking that the others are compared with.
    propensities
        File with position and propensity (or alpha and beta); or harvest, to estimate
        them from this log, with their errors in the intervals.
    eta
        Instead of a file: the propensity is position ** -eta.
    propensity
        Logged probability that the position is examined.
    method
        Estimator.
    clip
        Lower limit of the propensities.
    reward
        A model's probability of a click on an examined document, for dr and dm.
    cluster
        Independent unit, usually the user; may be repeated.
    interval
        How intervals are computed. Default: normal; jackknife with --propensities
        harvest.
    level
        Confidence level.
    replicates
        Number of bootstrap replicates.
    seed
        Seed of the bootstrap.
    format
        Default: table on a terminal, csv elsewhere.
    out
        Also write the result to this Parquet file.
    """
    bar = Bar()
    if example:
        more: dict[str, object] = {}
        if not new:
            new = more["new"] = EXAMPLE_SYSTEMS
            if baseline is None:
                baseline = more["baseline"] = EXAMPLE_SYSTEMS[-1]
        biased = any(x is not None for x in (propensities, eta, propensity))
        if not biased and method != "dm":
            eta = more["eta"] = 1.0
        say_taken(**more)
    elif method != "dm" and propensities is None and eta is None and not propensity:
        raise CycloptsError(msg=UNBIASED)
    options = cast("dict[str, Any]", log.options(bar, propensity=propensity))
    result = clicks.counterfactual(
        open_files(files, example=example),
        measure,
        new=_systems(new),
        baseline=baseline,
        propensities=_bias(propensities, eta, words=("harvest",)),
        method=method,
        clip=clip,
        reward=reward,
        interval=interval,
        level=level,
        replicates=replicates,
        seed=seed,
        cluster=cluster,
        **options,
    )
    with bar:
        print_result(result, files, len(log.by) + 1, format, out)


@app.command(usage="Usage: polars-rank clicks sensitivity LOG... --new COLUMN")
def sensitivity(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    measure: Annotated[
        str, Parameter(name=("--measure", "-m"), metavar="MEASURE"), CHOICE
    ] = "dcg@10",
    new: Systems = (),
    baseline: Column = None,
    eta: Annotated[tuple[float, ...], CHOICE, Parameter(show_default=False)] = (
        *(0.0, 0.5, 1.0, 1.5, 2.0),
    ),
    format: Formats = None,
    out: Out = None,
) -> None:
    """Show how the winner depends on the position bias that is assumed.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    measure
        Measure that adds up over documents, such as dcg@10 or precision@5.
    new
        Scores of a new ranking; may be repeated.
    baseline
        Ranking that the others are compared with; default: the last one.
    eta
        Strength of the bias, position ** -eta; may be repeated. Default: 0 to 2.
    format
        Default: table on a terminal, csv elsewhere.
    out
        Also write the result to this Parquet file.
    """
    bar = Bar()
    if example and not new:
        new = EXAMPLE_SYSTEMS
        say_taken(new=new)
    result = clicks.sensitivity(
        open_files(files, example=example),
        measure,
        new=_systems(new),
        baseline=baseline,
        eta=eta,
        **log.options(bar),
    )
    with bar:
        columns = [*log.by, "eta", "system", "crossover", "estimate", "difference"]
        print_result(result.select(columns), files, len(log.by) + 3, format, out)


@app.command(usage="Usage: polars-rank clicks judgments LOG... [OPTIONS]")
def judgments(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    method: Annotated[JudgmentMethod, CHOICE] = "ratio",
    propensities: Bias = None,
    eta: Eta = None,
    propensity: Column = None,
    threshold: Annotated[tuple[float, ...], CHOICE, LESS] = (),
    grades: Annotated[int | None, CHOICE] = None,
    grades_within: Annotated[Literal["log", "query"], CHOICE] = "log",
    min_impressions: Annotated[int, CHOICE] = 10,
    min_clicks: Annotated[int, CHOICE] = 0,
    prior: Annotated[Literal["log", "query"] | None, CHOICE] = None,
    count: Column = None,
    level: Annotated[float, CHOICE] = 0.95,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Make judgments of queries and documents from clicks.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    method
        Estimator of the relevance.
    propensities
        File with position and propensity (or alpha and beta).
    eta
        Instead of a file: the propensity is position ** -eta.
    propensity
        Logged probability that the position is examined.
    threshold
        The label is the number of thresholds that the estimate reaches; may be
        repeated.
    grades
        Number of grades, with about as many documents in each.
    grades_within
        Spread the documents of the log, or those of each query, evenly over --grades.
    min_impressions
        Documents with fewer have no label.
    min_clicks
        Documents with fewer have no label.
    prior
        Shrink uncertain estimates towards the mean of the log, or of the query.
    count
        For a log of totals: number of impressions; --clicked is the number of clicks.
    level
        Confidence level.
    format
        Default: table on a terminal, csv elsewhere.
    out
        Also write the result to this Parquet file.
    """
    if threshold and grades is not None:
        raise CycloptsError(msg="give --threshold or --grades, not both.")
    if [*threshold] != sorted({*threshold}):
        rising = " ".join(f"--threshold {t:g}" for t in sorted({*threshold}))
        raise CycloptsError(msg=f"thresholds must rise: {rising}.")
    bar = Bar()
    biased = any(x is not None for x in (propensities, eta, propensity))
    if example and not biased and method not in ("ctr", "coec"):
        eta = 1.0
        say_taken(eta=eta)
    elif not biased and method not in ("ctr", "coec"):
        raise CycloptsError(msg=UNBIASED)
    more = {"propensity": propensity, "count": count}
    options = cast("dict[str, Any]", log.options(bar, **more))
    result = clicks.judgments(
        open_files(files, example=example),
        method,
        propensities=_bias(propensities, eta),
        grades=threshold or grades,
        grades_within=grades_within,
        min_impressions=min_impressions,
        min_clicks=min_clicks,
        prior=prior,
        level=level,
        **{**options, "by": log.by or None},
    )
    with bar:
        print_result(result, files, 2, format, out)


def _systems(new: tuple[str, ...]) -> tuple[str, ...]:
    if not new:
        raise CycloptsError(msg="name a column of scores with --new.")
    return new


def _bias(file: str | None, eta: float | None, words: Sequence[str] = ()) -> Any:
    """Propensities: in a file, a power of the position, or one of the words."""
    if file is not None and eta is not None:
        raise CycloptsError(msg="give --propensities or --eta, not both.")
    if file is None or file in words:
        return file or eta
    return open_file(file, "run")
