"""The commands ``clicks ...``: what click logs say."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

import polars as pl
from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank import clicks
from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.request import Layout
from polars_rank.cli.bar import Bar
from polars_rank.cli.evaluate import require_apart
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import (
    Format,
    show,
    show_pairs,
    show_rows,
    show_values,
    terminal,
)
from polars_rank.clicks.log import LogOptions
from polars_rank.clicks.measures import DEFAULT
from polars_rank.clicks.simulation import UserModel
from polars_rank.example import clicks_path
from polars_rank.io import write

__all__ = ["app", "open_files", "print_result"]

FILES = Group("Files", sort_key=1)
COLUMNS = Group("Columns", sort_key=2)
CHOICES = Group("Choices", sort_key=3)
RESOURCES = Group("Resources", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
COLUMN = Parameter(group=COLUMNS, metavar="COLUMN")
CHOICE = Parameter(group=CHOICES)
RESOURCE = Parameter(group=RESOURCES)
LESS = Parameter(show_default=False)

Paths: TypeAlias = Annotated[str, Parameter(name="LOG", group=FILES)]
Example: TypeAlias = Annotated[bool, Parameter(group=FILES), LESS]
Column: TypeAlias = Annotated[str | None, COLUMN]
Several: TypeAlias = Annotated[tuple[str, ...], COLUMN, LESS]
Measures: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(name=("--measure", "-m"), metavar="MEASURE", show_default=" ".join),
    CHOICE,
]
Formats: TypeAlias = Annotated[Format | None, Parameter(group=OUTPUT)]
Out: TypeAlias = Annotated[
    Path | None,
    Parameter(group=OUTPUT, metavar="FILE", validator=PathRule(ext=("parquet",))),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Log:
    """Columns of the log and how it is read.

    Parameters
    ----------
    impression
        Impression id; repeat the option if several columns make up the id.
    query
        Query id, or its text.
    doc
        Document id.
    position
        Place of the document.
    clicked
        Whether it was clicked: true or false, 0 or 1.
    page
        Number of the page, if positions begin anew on every page.
    page_size
        Number of positions per page.
    dwell
        Seconds that a click lasted.
    time
        Time of the impression.
    clicked_at
        Time of the click.
    user
        User id.
    session
        Session id.
    flag
        Whether the impression was answered without a click.
    seen
        Use only rows where this is true.
    by
        Column that splits the result, constant within an impression; may be repeated.
    weight
        Weight of the impression.
    impressions
        File with one row per impression, with or without results.
    first_position
        0 if positions count from 0.
    clicked_null
        Meaning of null in --clicked.
    on_duplicate
        What to do about duplicate documents within an impression.
    check
        What to do about bad rows.
    layout
        Whether the rows of each impression are contiguous (verified); auto finds out.
    memory_limit
        Memory limit, e.g. 2GB; impressions are spilled to disk.
    temp_dir
        Folder for spill files.
    """

    impression: Annotated[tuple[str, ...], COLUMN, LESS] = ("impression_id",)
    query: Column = None
    doc: Column = None
    position: Column = None
    clicked: Column = None
    page: Column = None
    page_size: Annotated[int | None, CHOICE] = None
    dwell: Column = None
    time: Column = None
    clicked_at: Column = None
    user: Column = None
    session: Column = None
    flag: Column = None
    seen: Column = None
    by: Several = ()
    weight: Column = None
    impressions: Annotated[str | None, Parameter(group=FILES, metavar="FILE")] = None
    first_position: Annotated[Literal[0, 1], CHOICE] = 1
    clicked_null: Annotated[Literal["error", "zero"], CHOICE] = "error"
    on_duplicate: Annotated[Literal["error", "first"], CHOICE] = "error"
    check: Annotated[Check, CHOICE] = "strict"
    layout: Annotated[Layout, RESOURCE] = "auto"
    memory_limit: Annotated[str | None, Parameter(metavar="SIZE"), RESOURCE] = None
    temp_dir: Annotated[Path | None, Parameter(metavar="FOLDER"), RESOURCE] = None

    def options(self, bar: Bar, **more: object) -> LogOptions:
        """Keyword arguments of the functions of click logs."""
        given: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.impressions is not None:
            given["impressions"] = open_file(self.impressions, "run")
        if self.memory_limit is not None:
            given["progress"] = bar.told
        given |= {name: value for name, value in more.items() if value is not None}
        return cast("LogOptions", given)


DEFAULT_LOG = Log()
app = App(name="clicks", help="Click logs: what users saw, and what they clicked.")


def open_files(files: Sequence[str], *, example: bool) -> pl.LazyFrame:
    """The rows of all files, or of the example."""
    if example and files:
        raise CycloptsError(msg="--example brings its own data: name no LOG with it.")
    if not files and not example:
        raise CycloptsError(msg="name a LOG, or try --example.")
    if example:
        return pl.scan_parquet(clicks_path())
    frames = [open_file(file, "run") for file in files]
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")


def print_result(
    result: pl.LazyFrame,
    files: Sequence[str],
    keys: int,
    format: Format | None,
    out: Path | None,
) -> None:
    """Collect, write where asked for, and print: ``keys`` columns name a row."""
    require_apart(out, files)
    table = result.collect(engine="streaming")
    if out is not None:
        write(table, out)
    if keys or (format or ("table" if terminal() else "csv")) != "table":
        show_values(table, keys=keys, format=format, quote_formulas=False)
    else:
        show_pairs("measure", "value", table.row(0, named=True))


@app.command(usage="Usage: polars-rank clicks check LOG... [OPTIONS]")
def check(
    *files: Paths,
    example: Example = False,
    log: Log = DEFAULT_LOG,
    team: Column = None,
    arm: Column = None,
    count: Column = None,
    format: Formats = None,
) -> None:
    """Say what is in a log, what is wrong, and what can be estimated from it.

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
        Number of impressions in a log of totals, where --clicked is the number of
        clicks.
    format
        Default: tables on a terminal, csv of the facts elsewhere.
    """
    bar = Bar()
    options = log.options(bar, team=team, arm=arm, count=count)
    with bar:
        report = clicks.check(open_files(files, example=example), **options)
    chosen = format or ("table" if terminal() else "csv")
    if chosen != "table":
        show_rows(report.facts, chosen, keys=1)
        return
    show_pairs(
        "", "", {n: int(v) if v == int(v) else v for n, v in report.facts.rows()}
    )
    for frame, keys in ((report.positions, 1), (report.faults, 1), (report.methods, 3)):
        if not frame.is_empty():
            show("")
            named = frame.cast(
                {c: pl.String for c in frame.columns if frame[c].dtype == pl.Boolean}
            )
            if keys == 1 and "message" in named.columns:
                named = named.select("rule", "message", "rows")
                keys = 2
            show_values(named, keys=keys, format="table", quote_formulas=False)


@app.command(usage="Usage: polars-rank clicks behaviour LOG... [OPTIONS]")
def behaviour(
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
        Measure, such as ctr@3 or satisfied_clicks(dwell=45)@10; may be repeated.
    cluster
        Independent unit, usually the user; may be repeated.
    per
        Report the mean of the ratios per impression instead of the ratio of sums.
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
    result = clicks.behaviour(
        open_files(files, example=example),
        measure,
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
    control: Annotated[str, Parameter(metavar="ARM"), CHOICE],
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
        Log of the time before the experiment, to reduce the variance (CUPED).
    measure
        Measure, such as ctr@3 or satisfied_clicks(dwell=45)@10; may be repeated.
    arm
        Arm of the experiment.
    control
        Arm that the others are compared with.
    cluster
        Unit that was assigned to arms, usually the user; may be repeated.
    level
        Confidence level.
    power
        Power at which mde, the minimum detectable effect, is detected.
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
        measure,
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


@app.command(usage="Usage: polars-rank clicks simulate --out FILE [OPTIONS]")
def simulate(
    *,
    out: Annotated[
        Path,
        Parameter(group=OUTPUT, metavar="FILE", validator=PathRule(ext=("parquet",))),
    ],
    impressions: Annotated[float, CHOICE] = 10_000,
    queries: Annotated[int, CHOICE] = 2000,
    docs: Annotated[int, CHOICE] = 15,
    k: Annotated[int, CHOICE] = 10,
    user: Annotated[UserModel, CHOICE] = "pbm",
    eta: Annotated[float, CHOICE] = 1.0,
    rankers: Annotated[int, CHOICE] = 3,
    randomized: Annotated[float, CHOICE] = 0.0,
    swap: Annotated[float, CHOICE] = 0.0,
    interleaved: Annotated[float, CHOICE] = 0.0,
    users: Annotated[int | None, CHOICE] = None,
    user_sd: Annotated[float, CHOICE] = 0.0,
    arms: Annotated[int, CHOICE] = 1,
    lift: Annotated[float, CHOICE] = 0.0,
    zipf: Annotated[float, CHOICE] = 1.1,
    seed: Annotated[int, CHOICE] = 0,
    truth: Out = None,
    example: Example = False,
) -> None:
    """Write a click log whose truth is known.

    Parameters
    ----------
    out
        Parquet file for the log.
    impressions
        Number of impressions, such as 10000 or 1e6.
    queries
        Number of queries.
    docs
        Documents that each query can show.
    k
        Length of the list.
    user
        Click model of the users.
    eta
        How steeply examination falls with the position.
    rankers
        Number of rankers that served lists.
    randomized
        Share of lists that are shuffled.
    swap
        Share of lists that take part in a swap.
    interleaved
        Share of lists that are team drafts.
    users
        Number of users; a tenth of the impressions unless given.
    user_sd
        Standard deviation of the users' effects on the logit of a click.
    arms
        Number of arms.
    lift
        Relative change of relevance in all arms but the first.
    zipf
        Exponent of the Zipf distribution of traffic over queries.
    seed
        Seed of all random numbers.
    truth
        Also write the relevance of every document to this Parquet file.
    example
        Write the log that ships with the package; all other options are ignored.
    """
    if example:
        shutil.copyfile(clicks_path(), out)
        return
    if impressions != int(impressions):
        raise CycloptsError(msg="--impressions must be a whole number.")
    for target in (out, truth):
        require_apart(target, [])
    design = clicks.simulate(
        int(impressions),
        queries=queries,
        docs=docs,
        k=k,
        user=user,
        eta=eta,
        rankers=rankers,
        randomized=randomized,
        swap=swap,
        interleaved=interleaved,
        users=users,
        user_sd=user_sd,
        arms=arms,
        lift=lift,
        zipf=zipf,
        seed=seed,
    )
    write(design.scan(), out)
    if truth is not None:
        write(design.truth, truth)
