"""How a command shows its result."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from polars_rank.cli.derive import group
from polars_rank.cli.output.show import Format, ReportFormat, show_rows, table_of
from polars_rank.cli.output.words import emit, terminal
from polars_rank.report.table import as_text


@group
class Shown:
    """The format of a result."""

    format: Format | None = None

    @property
    def form(self) -> str:
        """The format that was asked for, or else the one that fits the output."""
        return self.format or ("table" if terminal() else "csv")

    def frame(
        self,
        found: pl.DataFrame,
        title: str,
        keys: int | str = 1,
        notes: Sequence[str] = (),
        long: Sequence[str] = (),
    ) -> None:
        """Print rows, on a terminal with a title.

        They are named by so many columns, or by those up to one, or before the number
        of queries. Columns with ``long`` texts are left out of tables for people.
        """
        if isinstance(keys, str):
            keys = found.columns.index(keys) + (keys != "queries")
        if self.form in ("table", "markdown"):
            found = found.drop(long)
        if self.form != "json":
            lists = cs.list().cast(pl.List(pl.String))
            found = found.with_columns(lists.list.join("; "))
        if self.form == "table":
            emit(as_text(table_of(found, title, keys, notes)) + "\n")
        else:
            show_rows(found, self.form, keys=max(keys, 1))


@group
class Reported(Shown):
    """The format of a result that may be a page."""

    format: ReportFormat | None = None  # type: ignore[assignment]
