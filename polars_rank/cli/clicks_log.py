"""What the commands ``clicks ...`` share: the log, its columns, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

import polars as pl
from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank._engine.options import Layout
from polars_rank.cli.bar import Bar
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import Format, show_pairs, show_values, terminal
from polars_rank.cli.words import remark
from polars_rank.clicks.log.log_columns import LogCheck, LogOptions
from polars_rank.example import clicks_path
from polars_rank.io import write

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
class AnyLog:
    """Columns of the log and how it is read, whatever is wrong with it.

    Parameters
    ----------
    impression
        Impression id; repeat the option if several columns make up the id.
    query
        Query id, or its text. Default: query_id.
    doc
        Document id. Default: doc_id.
    position
        Place of the document in the list. Default: position.
    clicked
        Whether it was clicked: true or false, 0 or 1. Default: clicked.
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
        Whether the results answered the query without a click.
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
    memory_limit
        Memory limit, e.g. 2GB; impressions are spilled to disk.
    temp_dir
        Folder for spill files.
    """

    impression: Annotated[tuple[str, ...], COLUMN, Parameter(show_default=" ".join)] = (
        "impression_id",
    )
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Log(AnyLog):
    """The same for commands that refuse bad rows.

    Parameters
    ----------
    check
        What to do about bad rows: an error, a warning or nothing; full is strict, and
        always looks for duplicate documents.
    layout
        Whether the rows of each impression are contiguous (verified); auto finds out.
    """

    check: Annotated[LogCheck, CHOICE] = "strict"
    layout: Annotated[Layout, RESOURCE] = "auto"


ANY_LOG = AnyLog()
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
    table = result.collect(engine="streaming")
    if out is not None:
        write(table, out)
    if keys or (format or ("table" if terminal() else "csv")) != "table":
        show_values(table, keys=keys, format=format, quote_formulas=False)
    else:
        show_pairs("measure", "value", table.row(0, named=True))


def say_taken(**options: object) -> None:
    """Say which options ``--example`` took for those that were not given."""
    words = [
        f"--{name} {value}"
        for name, given in options.items()
        for value in (given if isinstance(given, tuple) else (given,))
    ]
    if words:
        remark(f"--example takes {' '.join(words)}")
