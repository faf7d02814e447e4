"""What the commands ``clicks ...`` share: the log, its columns, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import polars as pl
from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank.cli.bar import Bar
from polars_rank.cli.derive import GROUPS
from polars_rank.cli.options import Formats, several
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import show_pairs, show_values
from polars_rank.cli.words import remark, terminal
from polars_rank.core.vocabulary import PARAMETERS
from polars_rank.example import clicks_path
from polars_rank.io import write

IMPRESSION = ("impression_id",)
HARVEST = "harvest"  # propensities of the log itself
Paths: TypeAlias = Annotated[
    str,
    Parameter(
        name="LOG",
        group=GROUPS["file"],
        help="Files with one row per document that an impression showed.",
    ),
]
Example: TypeAlias = Annotated[
    bool,
    Parameter(
        group=GROUPS["file"],
        help="Use the log that ships with the package.",
    ),
]
Out: TypeAlias = Annotated[
    Path | None,
    Parameter(
        group=GROUPS["output"],
        metavar="FILE",
        validator=PathRule(ext=("parquet",)),
        help="Also write the result to this Parquet file.",
    ),
]

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


def opened(options: dict[str, Any], bar: Bar) -> dict[str, Any]:
    """The options with files opened, measures split, and progress shown by the bar."""
    given: dict[str, Any] = {
        name: open_file(value, "run") if is_file(name, value) else value
        for name, value in options.items()
    }
    if "measures" in given:
        given["measures"] = several(given["measures"])
    if "memory_limit" in given:
        given["progress"] = bar.told
    return given


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
    out: Out = None

    def print(
        self,
        function: Callable[..., pl.LazyFrame],
        files: Sequence[str],
        options: dict[str, Any],
        keys: int = 1,
    ) -> None:
        """Call the function on the log, write where asked for, and print.

        ``keys`` columns name a row, besides those of ``--by``.
        """
        bar = Bar()
        result = function(
            open_files(files, example=self.example), **opened(options, bar)
        )
        with bar:
            table = result.collect(engine="streaming")
        if self.out is not None:
            write(table, self.out)
        keys += len(options.get("by", ()))
        if keys or (self.format or ("table" if terminal() else "csv")) != "table":
            show_values(table, keys=keys, format=self.format, quote_formulas=False)
        else:
            show_pairs("measure", "value", table.row(0, named=True))


SHOWN = Shown()


def say_taken(**options: object) -> None:
    """Say which options ``--example`` took for those that were not given."""
    words = [
        f"--{name} {value}"
        for name, given in options.items()
        for value in (given if isinstance(given, tuple) else (given,))
    ]
    if words:
        remark(f"--example takes {' '.join(words)}")
