"""The commands ``clicks check`` and ``behavior``: what is in a log."""

from __future__ import annotations

import warnings
from typing import Annotated, Literal

import polars as pl

from polars_rank import clicks
from polars_rank.cli.bar import Bar
from polars_rank.cli.clicks_log import (
    ANY_LOG,
    CHOICE,
    DEFAULT_LOG,
    AnyLog,
    Column,
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
)
from polars_rank.cli.options import several
from polars_rank.cli.show import show, show_pairs, show_rows, show_values, terminal
from polars_rank.cli.words import sentence
from polars_rank.clicks.behavior.measures import DEFAULT
from polars_rank.exceptions import DataWarning


@app.command(usage="Usage: polars-rank clicks check LOG... [OPTIONS]")
def check(
    *files: Paths,
    example: Example = False,
    log: AnyLog = ANY_LOG,
    team: Column = None,
    arm: Column = None,
    count: Column = None,
    format: Formats = None,
) -> None:
    """Say what is in a log, what is wrong, and what can be estimated from it.

    Nothing is refused: what is wrong is reported on standard error in every format,
    and in a table of its own on a terminal.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    team
        Ranker that put the document into an interleaved list.
    arm
        Arm of an experiment.
    count
        For a log of totals: number of impressions; --clicked is the number of clicks.
    format
        Default: tables on a terminal, csv of the facts elsewhere.
    """
    bar = Bar()
    options = log.options(bar, team=team, arm=arm, count=count)
    with bar:
        report = clicks.check(open_files(files, example=example), **options)
    _warn_of_faults(report)
    chosen = format or ("table" if terminal() else "csv")
    if chosen != "table":
        show_rows(report.facts, chosen, keys=1)
        return
    show_pairs(
        "", "", {n: int(v) if v == int(v) else v for n, v in report.facts.rows()}
    )
    for named, keys in ((report.positions, 1), (report.faults, 1), (report.methods, 3)):
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

    known = options(["clicks", "check"]) | options(["clicks", "behavior"])
    said = [sentence(message, known) for message in messages]
    return pl.Series(messages.name, said, dtype=pl.String)


@app.command(usage="Usage: polars-rank clicks behavior LOG... [OPTIONS]")
def behavior(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    measure: Measures = DEFAULT,
    cluster: Several = (),
    per: Annotated[Literal["impression"] | None, CHOICE] = None,
    interval: Annotated[Literal["none", "normal", "bootstrap"], CHOICE] = "none",
    level: Annotated[float, CHOICE] = 0.95,
    replicates: Annotated[int, CHOICE] = 1000,
    seed: Annotated[int, CHOICE] = 0,
    format: Formats = None,
    out: Out = None,
) -> None:
    """Measure how people use a search: clicks, abandonment, positions, dwell times.

    Parameters
    ----------
    files
        Files with one row per document that an impression showed.
    example
        Use the log that ships with the package.
    measure
        Measure, such as ctr@3 or satisfied_clicks(dwell=45)@10; may be repeated, or
        several separated by commas.
    cluster
        Independent unit, usually the user; may be repeated.
    per
        impression: take the ratio of each impression, and report their mean. Default:
        the sum of the numerators divided by that of the denominators.
    interval
        How intervals are computed.
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
    result = clicks.behavior(
        open_files(files, example=example),
        several(measure),
        per=per,
        interval=interval,
        level=level,
        replicates=replicates,
        seed=seed,
        **log.options(bar, cluster=cluster),
    )
    keys = len(log.by) + (interval != "none")
    with bar:
        print_result(result, files, keys, format, out)
