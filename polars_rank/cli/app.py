"""The grammar: which commands there are and how they are parsed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Literal

from cyclopts import App, Parameter

import polars_rank
from polars_rank.cli.audit import audit, bounds
from polars_rank.cli.compare import compare
from polars_rank.cli.describe import conventions, explain, measures
from polars_rank.cli.estimate import estimate
from polars_rank.cli.evaluate import evaluate
from polars_rank.cli.gate import gate
from polars_rank.cli.help import WrappedHelp
from polars_rank.cli.match import match_report
from polars_rank.cli.moments import merge, moments, trend
from polars_rank.cli.orders import discriminative, orders
from polars_rank.cli.outputs import require_outputs_apart
from polars_rank.cli.power import power
from polars_rank.cli.runs import STDIN


def run(argv: Sequence[str]) -> int:
    """Parse the arguments, run the command they name, return its exit status."""
    app = _grammar("default" if sys.stdout.isatty() else "plain")
    tokens = [STDIN if token == "-" else token for token in argv]
    command, given, _ = app.parse_args(
        tokens, exit_on_error=False, print_error=False, verbose=False
    )
    if command.__module__.startswith(polars_rank.__name__):  # and not --help
        require_outputs_apart(command, given)
    status = command(*given.args, **given.kwargs)
    return status if isinstance(status, int) else 0


def options(argv: Sequence[str]) -> frozenset[str]:
    """The options of the command that the arguments name: ``--memory-limit`` ..."""
    return _options(_grammar("plain").parse_commands(argv)[0])


@cache
def _options(path: tuple[str, ...]) -> frozenset[str]:
    """The options of a command; listing them takes as long as parsing them."""
    *_, command = _grammar("plain").parse_commands(path)[1]
    if command.default_command is None:  # a group of commands
        return frozenset()
    names = (argument.names for argument in command.assemble_argument_collection())
    return frozenset(chain.from_iterable(names))


@cache
def _grammar(help_formatter: Literal["default", "plain"]) -> App:
    """The commands; registering them takes a third of the time of a short call."""
    app = App(
        name="polars-rank",
        help="Evaluate rankings: nDCG, average precision and more, from files.",
        version=f"polars-rank {polars_rank.__version__}",
        help_formatter=WrappedHelp() if help_formatter == "plain" else help_formatter,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
        default_parameter=Parameter(negative=()),
    )
    app.command(evaluate, usage="Usage: polars-rank evaluate FILE... [OPTIONS]")
    app.command(compare, usage="Usage: polars-rank compare FILE... [OPTIONS]")
    app.command(gate, usage="Usage: polars-rank gate BASE FILE... [OPTIONS]")
    app.command(audit, usage="Usage: polars-rank audit FILE... [OPTIONS]")
    app.command(bounds, usage="Usage: polars-rank bounds FILE... [OPTIONS]")
    app.command(estimate, usage="Usage: polars-rank estimate FILE... [OPTIONS]")
    app.command(power, usage="Usage: polars-rank power [FILE] [OPTIONS]")
    app.command(moments, usage="Usage: polars-rank moments FILE... [OPTIONS]")
    app.command(merge, usage="Usage: polars-rank merge FILE... [OPTIONS]")
    app.command(trend, usage="Usage: polars-rank trend FILE... [OPTIONS]")
    app.command(orders, usage="Usage: polars-rank orders FILE... [OPTIONS]")
    app.command(
        discriminative, usage="Usage: polars-rank discriminative FILE... [OPTIONS]"
    )
    app.command(
        match_report,
        name="match-report",
        usage="Usage: polars-rank match-report RUN QRELS [OPTIONS]",
    )
    app.command(
        match_report,
        name="coverage",
        help="Another name for match-report.",
        usage="Usage: polars-rank coverage RUN QRELS [OPTIONS]",
    )
    app.command(measures)
    app.command(conventions)
    app.command(explain, usage="Usage: polars-rank explain MEASURE [OPTIONS]")
    app.command(
        "polars_rank.cli.clicks:app",
        name="clicks",
        help="Click logs: what users saw, and what they clicked.",
    )
    app.register_install_completion_command(
        help="Set up Tab completion of commands and options in bash, zsh or fish."
    )
    return app
