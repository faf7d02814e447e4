"""What the commands ``clicks ...`` share: the log, its columns, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import polars as pl
from cyclopts import App, Parameter

from polars_rank.cli.derive import F, UsageError, options_of, told, tuple_of
from polars_rank.cli.input.options import Formats, Parquet
from polars_rank.cli.input.runs import Options, open_file
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.show import chosen, pairs, show, show_values
from polars_rank.cli.output.words import remark
from polars_rank.core.vocabulary import PARAMETERS
from polars_rank.example import clicks_path
from polars_rank.io import write

IMPRESSION = ("impression_id",)
HARVEST = "harvest"  # propensities of the log itself
Paths: TypeAlias = Annotated[
    str,
    told(
        "file", "Files with one row per document that an impression showed.", name="LOG"
    ),
]
Example: TypeAlias = Annotated[
    bool, told("file", "Use the log that ships with the package.")
]

app = App(name="clicks")


def command(
    function: Callable[..., Any], usage: str = "LOG... [OPTIONS]", **settings: Any
) -> Callable[[F], F]:
    """Add a command for a function of logs, with its options; see ``options_of``."""

    def add(own: F) -> F:
        name = own.__name__.replace("_", "-")
        shown = f"Usage: polars-rank clicks {name} {usage}"
        named = {"impression": IMPRESSION} | settings
        return app.command(options_of(function, **named)(own), usage=shown)

    return add


def open_files(files: Sequence[str], *, example: bool) -> pl.LazyFrame:
    """The rows of all files, or of the example."""
    if example and files:
        raise UsageError("--example brings its own data: name no LOG with it.")
    if not files and not example:
        raise UsageError("name a LOG, or try --example.")
    if example:
        return pl.scan_parquet(clicks_path())
    frames = [open_file(file, "run") for file in files]
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")


def opened(options: Options) -> Options:
    """The options, with the files that they name opened."""
    return {
        name: open_file(value, "run") if is_file(name, value) else value
        for name, value in options.items()
    }


def is_file(name: str, value: object) -> bool:
    """Whether the option names a file; the bias may be a number or a method, too."""
    named = isinstance(value, str) and value != HARVEST
    return PARAMETERS[name].kind == "file" and named


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is read and how the result is shown."""

    example: Example = False
    format: Formats = None
    out: Parquet = None

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
        log, given = open_files(files, example=self.example), opened(options)
        with Bar.of(given):
            table = function(log, **given).collect(engine="streaming")
        if self.out is not None:
            write(table, self.out)
        keys += len(options.get("by", ()))
        if keys or chosen(self.format) != "table":
            show_values(table, keys=keys, format=self.format)
        else:
            show(pairs("measure", "value", table.row(0, named=True)))


def say_taken(options: Options) -> None:
    """Say which options ``--example`` took for those that were not given."""
    words = [f"--{n} {v}" for n, given in options.items() for v in tuple_of(given)]
    if words:
        remark(f"--example takes {' '.join(words)}")
