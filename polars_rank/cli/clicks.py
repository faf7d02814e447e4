"""The commands ``clicks ...``: what click logs say."""

from __future__ import annotations

import shlex
import shutil
import warnings
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank import clicks
from polars_rank.cli.bar import Bar
from polars_rank.cli.clicks_log import (
    HARVEST,
    IMPRESSION,
    SHOWN,
    Example,
    Paths,
    Shown,
    app,
    open_files,
    opened,
    say_taken,
)
from polars_rank.cli.derive import GROUPS, options_of, told
from polars_rank.cli.options import Formats
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import show, show_pairs, show_rows, show_values
from polars_rank.cli.words import sentence, terminal
from polars_rank.clicks.behavior.measures import DEFAULT
from polars_rank.clicks.simulation.users import UserModel
from polars_rank.example import clicks_path
from polars_rank.exceptions import DataWarning
from polars_rank.io import write

__all__ = ["app"]

EXAMPLE_SYSTEMS = ("new_score", "score")
UNBIASED = (
    "say how likely each position is examined: --propensities FILE (what the command "
    "clicks propensities writes with --out), --eta NUMBER or --propensity COLUMN; for "
    "clicks counterfactual also --propensities harvest, from the log itself."
)
Bias = Annotated[
    str | None,
    Parameter(
        group=GROUPS["file"],
        metavar="FILE",
        help="File with position and propensity (or alpha and beta); counterfactual "
        "also takes harvest, to estimate them from this log, with their errors in the "
        "intervals.",
    ),
]
Eta = Annotated[
    float | None,
    Parameter(
        group=GROUPS["choice"],
        help="Instead of a file: the propensity is position ** -eta.",
    ),
]


@app.command(usage="Usage: polars-rank clicks report LOG... [OPTIONS]")
@options_of(clicks.report, without=("check", "layout"), impression=IMPRESSION)
def report(
    *files: Paths, example: Example = False, format: Formats = None, **options: Any
) -> None:
    """Say what is in a log, what is wrong, and what can be estimated from it.

    Nothing is refused: what is wrong is reported on standard error in every format,
    and in a table of its own on a terminal.
    """
    bar = Bar()
    with bar:
        found = clicks.report(
            open_files(files, example=example), **opened(options, bar)
        )
    _warn_of_faults(found)
    chosen = format or ("table" if terminal() else "csv")
    if chosen != "table":
        show_rows(found.facts, chosen, keys=1)
        return
    facts = found.facts.rows()
    show_pairs("", "", {n: int(v) if v == int(v) else v for n, v in facts})
    for named, keys in ((found.positions, 1), (found.faults, 1), (found.methods, 3)):
        if not named.is_empty():
            show("")
            if keys == 1 and "message" in named.columns:
                named = named.select("rule", "message", "rows")
                keys = 2
            for words in {"message", "why"} & {*named.columns}:
                named = named.with_columns(_in_options(named[words]))
            show_values(named, keys=keys, format="table", quote_formulas=False)


def _warn_of_faults(report: clicks.LogReport) -> None:
    """Say which rules are broken, and what the facts are about then."""
    for _, count, message in report.faults.iter_rows():
        warnings.warn(f"{message} ({count} found)", DataWarning, stacklevel=2)
    facts = dict(report.facts.iter_rows())
    rows, sound = int(facts["rows"]), int(facts["rows that break no rule"])
    if sound < rows:
        text = (
            f"{rows - sound} of {rows} rows break a rule; clicks, positions and pairs "
            "are those of the others"
        )
        warnings.warn(text, DataWarning, stacklevel=2)


def _in_options(messages: pl.Series) -> pl.Series:
    """Messages of the library, with the options of the commands for its arguments."""
    from polars_rank.cli.app import options  # which imports this

    known = options(["clicks", "report"]) | options(["clicks", "behavior"])
    said = [sentence(message, known) for message in messages]
    return pl.Series(messages.name, said, dtype=pl.String)


@app.command(usage="Usage: polars-rank clicks behavior LOG... [OPTIONS]")
@options_of(clicks.behavior, impression=IMPRESSION, measures=DEFAULT)
def behavior(
    *files: Paths,
    shown: Shown = SHOWN,
    **options: Any,
) -> None:
    """Measure how people use a search: clicks, abandonment, positions, dwell times."""
    keys = int(options.get("interval", "none") != "none")
    shown.print(clicks.behavior, files, options, keys=keys)


@app.command(usage="Usage: polars-rank clicks propensities LOG... [OPTIONS]")
@options_of(clicks.propensities, impression=IMPRESSION)
def propensities(
    *files: Paths,
    shown: Shown = SHOWN,
    **options: Any,
) -> None:
    """Estimate how likely each position is examined, relative to the first one.

    The --method is the source of the estimate: documents at several positions
    (harvest), an experiment (randomized, swap, fair_pairs), a model (em,
    regression_em) or click rates (ctr); trust gives alpha and beta.
    """
    shown.print(clicks.propensities, files, options)


@app.command(usage="Usage: polars-rank clicks counterfactual LOG... --new COLUMN")
@options_of(clicks.counterfactual, impression=IMPRESSION, measure="dcg@10")
def counterfactual(
    *files: Paths,
    shown: Shown = SHOWN,
    propensities: Bias = None,
    eta: Eta = None,
    **options: Any,
) -> None:
    """Estimate what other rankings would have scored on a log."""
    taken: dict[str, object] = {}
    if shown.example and "new" not in options:
        taken = {"new": EXAMPLE_SYSTEMS}
        if "baseline" not in options:
            taken["baseline"] = EXAMPLE_SYSTEMS[-1]
        options |= taken
    bias = _bias(
        propensities,
        eta,
        options,
        example=shown.example,
        words=(HARVEST,),
        without=("dm",),
    )
    if shown.example:
        say_taken(**taken, **_as_eta(bias, eta))
    shown.print(
        clicks.counterfactual, files, {"new": _systems(options)} | options | bias
    )


@app.command(usage="Usage: polars-rank clicks sensitivity LOG... --new COLUMN")
@options_of(clicks.sensitivity, impression=IMPRESSION, measure="dcg@10")
def sensitivity(
    *files: Paths,
    shown: Shown = SHOWN,
    **options: Any,
) -> None:
    """Show how the winner depends on the position bias that is assumed."""
    if shown.example and "new" not in options:
        options["new"] = EXAMPLE_SYSTEMS
        say_taken(new=EXAMPLE_SYSTEMS)
    columns = [*options.get("by", ()), "eta", "system", "crossover"]
    columns += ["estimate", "difference"]
    shown.print(
        lambda log, **given: clicks.sensitivity(log, **given).select(columns),
        files,
        {"new": _systems(options)} | options,
        keys=3,
    )


@app.command(usage="Usage: polars-rank clicks judgments LOG... [OPTIONS]")
@options_of(clicks.judgments, impression=IMPRESSION)
def judgments(
    *files: Paths,
    shown: Shown = SHOWN,
    propensities: Bias = None,
    eta: Eta = None,
    threshold: Annotated[
        tuple[float, ...],
        Parameter(
            group=GROUPS["choice"],
            help="The label is the number of thresholds that the estimate reaches; may "
            "be repeated.",
        ),
    ] = (),
    grades: Annotated[
        int | None,
        Parameter(
            group=GROUPS["choice"],
            help="Number of grades, with about as many documents in each.",
        ),
    ] = None,
    **options: Any,
) -> None:
    """Make judgments of queries and documents from clicks."""
    if threshold and grades is not None:
        raise CycloptsError(msg="give --threshold or --grades, not both.")
    if [*threshold] != sorted({*threshold}):
        rising = " ".join(f"--threshold {t:g}" for t in sorted({*threshold}))
        raise CycloptsError(msg=f"thresholds must rise: {rising}.")
    bias = _bias(
        propensities, eta, options, example=shown.example, without=("ctr", "coec")
    )
    if shown.example:
        say_taken(**_as_eta(bias, eta))
    graded = {"grades": threshold or grades} if threshold or grades is not None else {}
    shown.print(
        clicks.judgments,
        files,
        options | bias | graded,
        keys=2 - len(options.get("by", ())),
    )


@app.command(usage="Usage: polars-rank clicks interleaving LOG... [OPTIONS]")
@options_of(
    clicks.interleaving,
    without=("method",),
    impression=IMPRESSION,
    team="team",
)
def interleaving(
    *files: Paths,
    shown: Shown = SHOWN,
    **options: Any,
) -> None:
    """Say which of the interleaved rankers won (team draft)."""
    shown.print(clicks.interleaving, files, options, keys=2)


@app.command(
    usage="Usage: polars-rank clicks compare-arms LOG... --control ARM [OPTIONS]"
)
@options_of(
    clicks.compare_arms,
    impression=IMPRESSION,
    measures=DEFAULT,
    arm="arm",
    cluster=("user_id",),
)
def compare_arms(
    *files: Paths,
    shown: Shown = SHOWN,
    control: Annotated[
        str | None,
        Parameter(
            group=GROUPS["choice"],
            metavar="ARM",
            help="Arm that the others are compared with.",
        ),
    ] = None,
    **options: Any,
) -> None:
    """Compare the arms of an experiment with its control."""
    frame = open_files(files, example=shown.example)
    arm = options["arm"]
    if control is None:
        if not shown.example:
            raise CycloptsError(
                msg=f"name the arm to compare with: {_choices(frame, arm)}."
            )
        control = "A"
        say_taken(control=control)
    dtype = frame.collect_schema().get(arm)
    value: object = control
    if dtype is not None and dtype.is_integer():
        value = int(control) if control.lstrip("-").isdigit() else control
    elif dtype == pl.Boolean:
        value = {"true": True, "false": False}.get(control.lower(), control)
    shown.print(clicks.compare_arms, files, options | {"control": value}, keys=2)


def _choices(frame: pl.LazyFrame, arm: str) -> str:
    """The option with its values: the arms of the log, if it has that column."""
    if arm not in frame.collect_schema():
        return "--control ARM"
    arms = frame.select(pl.col(arm).drop_nulls().unique().sort().head(10))
    found = arms.collect(engine="streaming")[arm].cast(pl.String)
    return " or ".join(f"--control {shlex.quote(name)}" for name in found)


def _systems(options: dict[str, Any]) -> tuple[str, ...]:
    if "new" not in options:
        raise CycloptsError(msg="name a column of scores with --new.")
    return tuple(options["new"])


def _bias(
    file: str | None,
    eta: float | None,
    options: dict[str, Any],
    *,
    example: bool,
    without: tuple[str, ...],
    words: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Propensities in a file, one of the words, or a power of the position.

    The example takes eta 1.
    """
    if file is not None and eta is not None:
        raise CycloptsError(msg="give --propensities or --eta, not both.")
    known = file is not None or eta is not None or "propensity" in options
    if known or options.get("method") in without:
        if file is None or file in words:
            bias: Any = file or eta
        else:
            bias = open_file(file, "run")
        return {} if bias is None else {"propensities": bias}
    if not example:
        raise CycloptsError(msg=UNBIASED)
    return {"propensities": 1.0}


def _as_eta(bias: dict[str, Any], given: float | None) -> dict[str, object]:
    """The strength that the example takes where none was given."""
    taken = given is None and isinstance(bias.get("propensities"), float)
    return {"eta": 1.0} if taken else {}


@app.command(usage="Usage: polars-rank clicks simulate --out FILE [OPTIONS]")
@options_of(clicks.simulate, without=("user_model", "gamma", "continuation"))
def simulate(
    *,
    out: Annotated[
        Path,
        told("output", "Parquet file for the log.", metavar="FILE"),
        Parameter(validator=PathRule(ext=("parquet",))),
    ],
    n_impressions: Annotated[
        float, told("choice", "Number of impressions, such as 10000 or 1e6.")
    ] = 10_000,
    user_model: Annotated[UserModel, told("user_model")] = "pbm",
    truth: Annotated[
        Path | None,
        told(
            "output",
            "Also write the relevance of every document to this Parquet file.",
            metavar="FILE",
        ),
        Parameter(validator=PathRule(ext=("parquet",))),
    ] = None,
    example: Annotated[
        bool,
        told(
            "file",
            "Write the log that ships with the package; all other options are ignored.",
            metavar=None,
        ),
    ] = False,
    **options: Any,
) -> None:
    """Write a click log whose truth is known."""
    if example:
        shutil.copyfile(clicks_path(), out)
        return
    if n_impressions != int(n_impressions):
        raise CycloptsError(msg="--n-impressions must be a whole number.")
    design = clicks.simulate(int(n_impressions), user_model=user_model, **options)
    write(design.scan(), out)
    if truth is not None:
        write(design.truth, truth)
