"""The grammar: which commands there are and how they are parsed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Literal

from cyclopts import App, Parameter

import polars_rank
from polars_rank.cli.help import WrappedHelp, shown_default
from polars_rank.cli.words import STDIN, terminal

COMMANDS = {  # as their docstrings begin, so that the help imports none of them
    "evaluate": "Print the mean of every measure over the queries.",
    "compare": "Compare systems query by query: differences, intervals, tests, effect "
    "sizes.",
    "gate": "Fail if a change made the ranking worse than a baseline.",
    "audit": "Measure the effect of every disputed choice: on values, on the order of "
    "systems.",
    "bounds": "Bound the values over unknown labels, and over orders of ties.",
    "estimate": "Estimate means from few judgments by people and many by a model.",
    "power": "Plan a comparison: queries needed, or the difference that can be "
    "detected.",
    "moments": "Sum up a day: all that compare and trend need, in a file of a few "
    "kilobytes.",
    "merge": "Add up moments: days to a month, months to a year.",
    "trend": "Follow systems and their differences over time, from moments of days.",
    "orders": "Compare the orders in which measures put the systems: rank correlation, "
    "swaps.",
    "discriminative": "Measure discriminative power: how many pairs of systems a "
    "measure tells apart.",
    "match-report": "Report how the ids of a run match those of its judgments: counts "
    "and shares.",
    "coverage": "Another name for match-report.",
    "measures": "List the measures by family: names, what is measured, parameters and "
    "defaults.",
    "conventions": "List the conventions: name, tool, and its choices in a few words.",
    "explain": "Explain a measure: definition, choices, undefined case, source, tools.",
    "clicks": "Click logs: what users saw, and what they clicked.",
}
PLACES = {  # where the command is not a file of its name
    "bounds": "audit:bounds",
    "clicks": "clicks:app",
    "conventions": "describe:conventions",
    "coverage": "match:match_report",
    "discriminative": "orders:discriminative",
    "explain": "describe:explain",
    "match-report": "match:match_report",
    "measures": "describe:measures",
    "merge": "moments:merge",
    "trend": "moments:trend",
}
USAGE = {  # where it is not FILE...
    "gate": "BASE FILE...",
    "power": "[FILE]",
    "match-report": "RUN QRELS",
    "coverage": "RUN QRELS",
    "explain": "MEASURE",
}
PLAIN = ("measures", "conventions", "clicks")  # these are used without any


def run(argv: Sequence[str]) -> int:
    """Parse the arguments, run the command they name, return its exit status."""
    asked = next((word for word in argv if word in COMMANDS), None)
    app = _grammar("default" if terminal() else "plain", asked)
    tokens = [STDIN if token == "-" else token for token in argv]
    command, given, _ = app.parse_args(
        tokens, exit_on_error=False, print_error=False, verbose=False
    )
    if command.__module__.startswith(polars_rank.__name__):  # and not --help
        from polars_rank.cli.outputs import require_outputs_apart

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
def _grammar(
    help_formatter: Literal["default", "plain"], asked: str | None = None
) -> App:
    """The commands; the help of the one that is ``asked`` for is its docstring."""
    app = App(
        name="polars-rank",
        help="Evaluate rankings: nDCG, average precision and more, from files.",
        help_format="plaintext",  # rich is slow to import for Markdown
        version=f"polars-rank {polars_rank.__version__}",
        help_formatter=WrappedHelp() if help_formatter == "plain" else help_formatter,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
        default_parameter=Parameter(negative=(), show_default=shown_default),
    )
    for name, about in COMMANDS.items():
        usage = f"Usage: polars-rank {name} {USAGE.get(name, 'FILE...')} [OPTIONS]"
        app.command(
            f"polars_rank.cli.{PLACES.get(name, f'{name}:{name}')}",
            name=name,
            help=None if name == asked != "coverage" else about,
            **({} if name in PLAIN else {"usage": usage}),
        )
    app.register_install_completion_command(
        help="Set up Tab completion of commands and options in bash, zsh or fish."
    )
    return app
