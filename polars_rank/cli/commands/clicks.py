"""The commands ``clicks ...``: what click logs say."""

from __future__ import annotations

import shlex
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from cyclopts import App

from polars_rank import clicks
from polars_rank.cli.derive import F, UsageError, group, options_of, tuple_of
from polars_rank.cli.input.runs import Options, open_file
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.words import remark, sentence
from polars_rank.cli.shown import Shown, pairs, show
from polars_rank.clicks.behavior.measures import DEFAULT
from polars_rank.clicks.simulation.design import UserModel
from polars_rank.core.vocabulary import PARAMETERS
from polars_rank.example import clicks_path
from polars_rank.exceptions import DataWarning
from polars_rank.io import write

IMPRESSION = ("impression_id",)
EXAMPLE_SYSTEMS = ("new_score", "score")
HARVEST = "harvest"  # propensities of the log itself

app = App(name="clicks")


def command(
    function: Callable[..., Any], usage: str = "LOG... [OPTIONS]", **settings: Any
) -> Callable[[F], F]:
    """Add a command for a function of logs, with its options; see ``options_of``."""

    def add(own: F) -> F:
        words = f"Usage: polars-rank clicks {own.__name__.replace('_', '-')} {usage}"
        named = {"impression": IMPRESSION} | settings
        return app.command(options_of(function, **named)(own), usage=words)

    return add


def opened(options: Options) -> Options:
    """The options, with the files that they name opened."""
    files = {
        name: open_file(value, "run")
        for name, value in options.items()
        if PARAMETERS[name].kind == "file"
        and isinstance(value, str)  # the bias may be a number,
        and value != HARVEST  # or a method
    }
    return options | files


@group
class OfLog(Shown):
    """What is read and how the result is shown."""

    example: bool = False
    out: Path | None = None

    def log(self, files: Sequence[str]) -> pl.LazyFrame:
        """The rows of all files, or of the example."""
        if self.example and files:
            raise UsageError("--example brings its own data: name no LOG with it.")
        if self.example:
            return pl.scan_parquet(clicks_path())
        if not files:
            raise UsageError("name a LOG, or try --example.")
        return pl.concat([open_file(f, "run") for f in files], how="vertical_relaxed")

    def taken(self, options: Options, **usual: Any) -> Options:
        """Add what ``--example`` takes for options that are not given, and say so."""
        lacking = {n: v for n, v in usual.items() if self.example and n not in options}
        words = [f"--{n} {v}" for n, own in lacking.items() for v in tuple_of(own)]
        if words:
            remark(f"--example takes {' '.join(words)}")
        return options | lacking

    def print(
        self,
        function: Callable[..., pl.LazyFrame],
        files: Sequence[str],
        options: Options,
        keys: int = 1,
    ) -> None:
        """Call the function on the log, write where asked for, and print.

        ``keys`` columns name a row, besides those of ``--by``.
        """
        log, given = self.log(files), opened(options)
        with Bar(given):
            table = function(log, **given).collect(engine="streaming")
        if self.out is not None:
            write(table, self.out)
        keys += len(options.get("by", ()))
        if keys or self.form != "table":
            self.values(table, keys)
        else:
            show(pairs("measure", "value", table.row(0, named=True)))


@command(clicks.report, without=("check", "layout"))
def report(*files: str, shown: Shown, example: bool = False, **options: Any) -> None:
    """Say what is in a log, what is wrong, and what can be estimated from it.

    Nothing is refused: what is wrong is reported on standard error in every format,
    and in a table of its own on a terminal.
    """
    log, given = OfLog(example=example).log(files), opened(options)
    with Bar(given):
        found = clicks.report(log, **given)
    for _, count, message in found.faults.rows():
        warnings.warn(f"{message} ({count} found)", DataWarning, stacklevel=2)
    facts = {name: int(v) if v == int(v) else v for name, v in found.facts.rows()}
    rows, broken = facts["rows"], facts["rows"] - facts["rows that break no rule"]
    if broken:
        text = f"{broken} of {rows} rows break a rule; clicks, positions and pairs are"
        warnings.warn(f"{text} those of the others", DataWarning, stacklevel=2)
    shown.rows(found.facts, 1, [pairs("", "", facts)])
    if shown.form != "table":
        return
    faults = found.faults.select("rule", "message", "rows")
    for table, keys in ((found.positions, 1), (faults, 2), (found.methods, 3)):
        if not table.is_empty():
            show("")
            told = [_in_options(table[n]) for n in ("message", "why") if n in table]
            shown.values(table.with_columns(told), keys)


def _in_options(messages: pl.Series) -> pl.Series:
    """Messages of the library, with the options of the commands for its arguments."""
    from polars_rank.cli.app import options  # which imports this

    known = options(["clicks", "report"]) | options(["clicks", "behavior"])
    said = [sentence(message, known) for message in messages]
    return pl.Series(messages.name, said, dtype=pl.String)


@command(clicks.behavior, measures=DEFAULT)
def behavior(*files: str, shown: OfLog, **options: Any) -> None:
    """Measure how people use a search: clicks, abandonment, positions, dwell times."""
    keys = int(options.get("interval", "none") != "none")
    shown.print(clicks.behavior, files, options, keys=keys)


@command(clicks.propensities)
def propensities(*files: str, shown: OfLog, **options: Any) -> None:
    """Estimate how likely each position is examined, relative to the first one.

    The --method is the source of the estimate: documents at several positions
    (harvest), an experiment (randomized, swap, fair_pairs), a model (em,
    regression_em) or click rates (ctr); trust gives alpha and beta.
    """
    shown.print(clicks.propensities, files, options)


@group
class Bias:
    """How likely each position is examined."""

    propensities: str | None = None
    eta: float | None = None

    def given(
        self, options: Options, shown: OfLog, *without: str, **usual: Any
    ) -> Options:
        """Add the argument, which the methods ``without`` it lack.

        The example has one, and takes what is ``usual``.
        """
        file, eta = self.propensities, self.eta
        if file is not None and eta is not None:
            raise UsageError("give --propensities or --eta, not both.")
        known = "propensity" in options or options.get("method") in without
        if file is None and eta is None and not known:
            usual["eta"] = 1.0
        options = shown.taken(options, **usual)
        value = options.pop("eta", eta) if file is None else file
        if value is None and not known:
            raise UsageError(
                "say how likely each position is examined: --propensities FILE (what "
                "the command clicks propensities writes with --out), --eta NUMBER or "
                "--propensity COLUMN; for clicks counterfactual also --propensities "
                "harvest, from the log itself."
            )
        return options if value is None else options | {"propensities": value}


@command(clicks.counterfactual, "LOG... --new COLUMN", measure="dcg@10")
def counterfactual(*files: str, shown: OfLog, bias: Bias, **options: Any) -> None:
    """Estimate what other rankings would have scored on a log."""
    systems = {"new": EXAMPLE_SYSTEMS, "baseline": EXAMPLE_SYSTEMS[-1]}
    usual = {} if "new" in options else systems
    options = bias.given(options, shown, "dm", **usual)
    shown.print(clicks.counterfactual, files, _with_systems(options))


@command(clicks.sensitivity, "LOG... --new COLUMN", measure="dcg@10")
def sensitivity(*files: str, shown: OfLog, **options: Any) -> None:
    """Show how the winner depends on the position bias that is assumed."""
    options = _with_systems(shown.taken(options, new=EXAMPLE_SYSTEMS))
    names = ("eta", "system", "crossover", "estimate", "difference")
    columns = [*options.get("by", ()), *names]
    shown.print(
        lambda log, **given: clicks.sensitivity(log, **given).select(columns),
        *(files, options, 3),
    )


def _with_systems(options: Options) -> Options:
    if "new" not in options:
        raise UsageError("name a column of scores with --new.")
    return options | {"new": tuple(options["new"])}


@command(clicks.judgments)
def judgments(
    *files: str,
    shown: OfLog,
    bias: Bias,
    threshold: tuple[float, ...] = (),
    grades: int | None = None,
    **options: Any,
) -> None:
    """Make judgments of queries and documents from clicks."""
    if threshold and grades is not None:
        raise UsageError("give --threshold or --grades, not both.")
    if [*threshold] != sorted({*threshold}):
        rising = " ".join(f"--threshold {t:g}" for t in sorted({*threshold}))
        raise UsageError(f"thresholds must rise: {rising}.")
    options = bias.given(options, shown, "ctr", "coec")
    if threshold or grades is not None:
        options["grades"] = threshold or grades
    keys = 2 - len(options.get("by", ()))
    shown.print(clicks.judgments, files, options, keys=keys)


@command(clicks.interleaving, without=("method",), team="team")
def interleaving(*files: str, shown: OfLog, **options: Any) -> None:
    """Say which of the interleaved rankers won (team draft)."""
    shown.print(clicks.interleaving, files, options, keys=2)


@command(
    clicks.compare_arms,
    "LOG... --control ARM [OPTIONS]",
    measures=DEFAULT,
    arm="arm",
    cluster=("user_id",),
)
def compare_arms(
    *files: str, shown: OfLog, control: str | None = None, **options: Any
) -> None:
    """Compare the arms of an experiment with its control."""
    log, arm = shown.log(files), options["arm"]
    control = control or shown.taken({}, control="A").get("control")
    if control is None:
        raise UsageError(f"name the arm to compare with: {_choices(log, arm)}.")
    dtype, value = log.collect_schema().get(arm, pl.String), None
    if dtype == pl.Boolean:
        value = {"true": True, "false": False}.get(control.lower())
    elif dtype.is_integer():
        value = pl.Series([control]).cast(dtype, strict=False).item()
    options["control"] = control if value is None else value
    shown.print(clicks.compare_arms, files, options, keys=2)


def _choices(log: pl.LazyFrame, arm: str) -> str:
    """The option with its values: the arms of the log, if it has that column."""
    if arm not in log.collect_schema():
        return "--control ARM"
    arms = log.select(pl.col(arm).drop_nulls().unique().sort().head(10))
    found = arms.collect(engine="streaming")[arm].cast(pl.String)
    return " or ".join(f"--control {shlex.quote(name)}" for name in found)


@app.command(usage="Usage: polars-rank clicks simulate --out FILE [OPTIONS]")
@options_of(clicks.simulate, without=("gamma", "continuation"))
def simulate(
    *,
    out: Path,
    n_impressions: float = 10_000,
    user_model: UserModel = "pbm",
    truth: Path | None = None,
    example: bool = False,
    **options: Any,
) -> None:
    """Write a click log whose truth is known."""
    if example:
        shutil.copyfile(clicks_path(), out)
        return
    if n_impressions != int(n_impressions):
        raise UsageError("--n-impressions must be a whole number.")
    design = clicks.simulate(int(n_impressions), user_model=user_model, **options)
    write(design.scan(), out)
    if truth is not None:
        write(design.truth, truth)
