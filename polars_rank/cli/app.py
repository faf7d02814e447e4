"""The grammar: which commands there are and how they are parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from cyclopts import App, Parameter

import polars_rank
from polars_rank.cli.output.help import WrappedHelp, shown_default
from polars_rank.cli.output.words import STDIN, terminal

HERE = Path(__file__).parent
MODULES = {  # of the commands, which --help sorts
    "evaluate": ("evaluate",),
    "compare": ("compare", "power", "orders", "discriminative"),
    "gate": ("gate",),
    "why": ("changes", "reasons", "contributions", "slices", "to-judge"),
    "page": ("page",),
    "audit": ("audit", "bounds", "estimate"),
    "moments": ("moments", "merge", "trend"),
    "describe": (
        *("match-report", "coverage", "split-check"),
        *("measures", "conventions", "explain"),
    ),
    "clicks": ("clicks",),
}
COMMANDS = {name: module for module, names in MODULES.items() for name in names}
FUNCTIONS = {"clicks": "app", "coverage": "match_report"}  # of another name
ABOUT = {  # where that is not how the docstring begins
    "clicks": "Click logs: what users saw, and what they clicked.",
    "coverage": "Another name for match-report.",
}
USAGE = {  # where it is not FILE...
    "gate": "BASE FILE...",
    "power": "[FILE]",
    "match-report": "RUN QRELS",
    "coverage": "RUN QRELS",
    "split-check": "TRAIN TEST",
    "explain": "MEASURE",
}
LISTED: dict[tuple[str, ...], frozenset[str]] = {}  # options of commands
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
        from polars_rank.cli.apart import require_outputs_apart

        require_outputs_apart(command, given)
    status = command(*given.args, **given.kwargs)
    return status if isinstance(status, int) else 0


def options(argv: Sequence[str]) -> frozenset[str]:
    """The options of the command that the arguments name: ``--memory-limit`` ..."""
    path, apps, _ = _grammar("plain").parse_commands(argv)
    if apps[-1].default_command is None:  # a group of commands
        return frozenset()
    if path not in LISTED:  # listing them takes as long as parsing them
        arguments = apps[-1].assemble_argument_collection()
        LISTED[path] = frozenset(name for own in arguments for name in own.names)
    return LISTED[path]


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
    for name, module in COMMANDS.items():
        function = FUNCTIONS.get(name, name.replace("-", "_"))
        about = ABOUT.get(name) or (None if asked else summary(module, function))
        usage = f"Usage: polars-rank {name} {USAGE.get(name, 'FILE...')} [OPTIONS]"
        app.command(
            f"polars_rank.cli.commands.{module}:{function}",
            name=name,
            help=about,
            **({} if name in PLAIN else {"usage": usage}),
        )
    app.register_install_completion_command(
        help="Set up Tab completion of commands and options in bash, zsh or fish."
    )
    return app


def summary(module: str, function: str) -> str:
    """How a docstring begins, read from the file: the list of commands imports none."""
    source = HERE.joinpath("commands", f"{module}.py").read_text(encoding="utf-8")
    start = rf'^def {function}\(.*?"""(.*?)(?:\n\n|""")'
    return " ".join(re.findall(start, source, re.DOTALL | re.MULTILINE)[0].split())
