"""The commands ``clicks interleaving`` and ``compare``: who won an experiment."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal, cast

import polars as pl
from cyclopts import CycloptsError, Parameter

from polars_rank import clicks
from polars_rank.cli.bar import Bar
from polars_rank.cli.clicks_log import (
    CHOICE,
    COLUMN,
    DEFAULT_LOG,
    FILES,
    LESS,
    Example,
    Formats,
    Log,
    Measures,
    Out,
    Paths,
    Several,
    app,
    open_files,
    print_result,
    say_taken,
)
from polars_rank.cli.options import several
from polars_rank.cli.runs import open_file
from polars_rank.clicks.behavior.measures import DEFAULT


@app.command(usage="Usage: polars-rank clicks interleaving LOG... [OPTIONS]")
def interleaving(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    team: Annotated[str, COLUMN] = "team",
    cluster: Several = (),
    credit: Annotated[str, Parameter(metavar="NAME"), CHOICE] = "clicks",
    no_click: Annotated[Literal["ignore", "tie"], CHOICE] = "ignore",
    test: Annotated[Literal["sign", "permutation"], CHOICE] = "sign",
    permutations: Annotated[int, CHOICE] = 10_000,
    level: Annotated[float, CHOICE] = 0.95,
    seed: Annotated[int, CHOICE] = 0,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Say which of the interleaved rankers won (team draft).

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    team
        Ranker that put the document into the list.
    cluster
        Independent unit, usually the user; may be repeated.
    credit
        What a click is worth: clicks, any, first, satisfied, inverse_rank or a column.
    no_click
        Whether impressions without a click are ignored or count as ties.
    test
        Test of the preference; permutation adds p_permutation.
    permutations
        Number of draws of the permutation test.
    level
        Confidence level.
    seed
        Seed of the permutation test.
    format
        Default: table on a terminal, csv elsewhere.
    out
        Also write the result to this Parquet file.
    """
    bar = Bar()
    options = cast("dict[str, Any]", log.options(bar, cluster=cluster))
    result = clicks.interleaving(
        open_files(files, example=example),
        team=team,
        credit=credit,
        no_click=no_click,
        test=test,
        permutations=permutations,
        level=level,
        seed=seed,
        **options,
    )
    with bar:
        print_result(result, files, len(log.by) + 2, format, out)


@app.command(usage="Usage: polars-rank clicks compare LOG... --control ARM [OPTIONS]")
def compare(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    covariates: Annotated[str | None, Parameter(group=FILES, metavar="FILE")] = None,
    measure: Measures = DEFAULT,
    arm: Annotated[str, COLUMN] = "arm",
    control: Annotated[str | None, Parameter(metavar="ARM"), CHOICE] = None,
    cluster: Annotated[tuple[str, ...], COLUMN, Parameter(show_default=" ".join)] = (
        "user_id",
    ),
    level: Annotated[float, CHOICE] = 0.95,
    power: Annotated[float, CHOICE] = 0.8,
    sequential: Annotated[bool, CHOICE, LESS] = False,
    adjust: Annotated[Literal["holm"] | None, CHOICE] = None,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Compare the arms of an experiment with its control.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    covariates
        Log of the time before the experiment, to reduce the variance (CUPED): each
        measure is adjusted by its own value in that time, user by user.
    measure
        Measure, such as ctr@3 or satisfied_clicks(dwell=45)@10; may be repeated, or
        several separated by commas.
    arm
        Arm of the experiment.
    control
        Arm that the others are compared with.
    cluster
        Unit that was assigned to arms, usually the user; may be repeated.
    level
        Confidence level.
    power
        Probability of noticing a true effect of the size of mde, the minimum detectable
        effect.
    sequential
        Use intervals and p-values that hold whenever one looks (always-valid).
    adjust
        Add p-values adjusted for the number of comparisons.
    format
        Default: table on a terminal, csv elsewhere.
    out
        Also write the result to this Parquet file.
    """
    bar = Bar()
    frame = open_files(files, example=example)
    if control is None:
        if not example:
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
    before = None if covariates is None else open_file(covariates, "run")
    options = cast("dict[str, Any]", log.options(bar))
    result = clicks.compare(
        frame,
        several(measure),
        arm=arm,
        control=value,
        cluster=cluster,
        covariates=before,
        level=level,
        power=power,
        sequential=sequential,
        adjust=adjust,
        **options,
    )
    with bar:
        print_result(result, files, len(log.by) + 2, format, out)


def _choices(frame: pl.LazyFrame, arm: str) -> str:
    """The option with its values: the arms of the log, if it has that column."""
    if arm not in frame.collect_schema():
        return "--control ARM"
    arms = frame.select(pl.col(arm).drop_nulls().unique().sort().head(10))
    found = arms.collect(engine="streaming")[arm].cast(pl.String)
    return " or ".join(f"--control {shlex.quote(name)}" for name in found)
