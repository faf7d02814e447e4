"""Help for a pipe or a file: plain text, wrapped, without boxes."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from cyclopts.help import HelpPanel, PlainFormatter
from rich.console import Console, ConsoleOptions

UNWRAPPED = 1 << 12  # columns: no description is longer


def shown_default(value: Any) -> str | None:
    """Show the default of an option; none is shown of flags and where nothing is."""
    if isinstance(value, tuple):
        value = " ".join(map(str, value)) or None
    return None if value is None or isinstance(value, bool) else str(value)


class WrappedHelp(PlainFormatter):
    """Plain help whose options are wrapped with a hanging indent."""

    def __call__(
        self, console: Console, options: ConsoleOptions, panel: HelpPanel
    ) -> None:
        """Print the entries of a panel."""
        file = io.StringIO()
        super().__call__(Console(file=file, width=UNWRAPPED), options, panel)
        for line in file.getvalue().splitlines():
            text = textwrap.fill(
                line,
                console.width,
                subsequent_indent=" " * 6,
                break_long_words=False,
                break_on_hyphens=False,
            )
            console.out(text, highlight=False)

    def render_description(
        self, console: Console, options: ConsoleOptions, description: Any
    ) -> None:
        """Print the description, without the blanks that fill its lines."""
        file = io.StringIO()
        plain = Console(file=file, width=console.width)
        super().render_description(plain, options, description)
        for line in file.getvalue().splitlines():
            console.out(line.rstrip(), highlight=False)
