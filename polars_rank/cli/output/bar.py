"""Progress of an evaluation, on a terminal's standard error."""

from __future__ import annotations

from threading import Timer
from typing import TYPE_CHECKING, Any

from rich.console import Console

from polars_rank._engine.spill.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Display
    from rich.progress import TaskID

SOON = 1.0  # seconds
STAGES = {"partition": "rows into buckets", "evaluate": "buckets evaluated"}


class Bar:
    """A bar for each stage; nothing where standard error is not a terminal.

    A call with these ``options`` is to tell of its buckets, if its memory is limited.
    The clock runs on within a bucket, and where no progress is reported.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        if options and options.get("memory_limit") is not None:
            options["progress"] = self.told
        console = Console(stderr=True)
        self.display = _display(console) if console.is_terminal else None
        self.tasks: dict[str, TaskID] = {}
        self.timer = Timer(SOON, self.start)
        self.timer.daemon = True

    def start(self) -> None:
        """Show a bar of unknown length until a stage is told."""
        if self.display is not None and not self.tasks:
            self.tasks[""] = self.display.add_task("evaluating", total=None)
            self.display.start()

    def told(self, progress: Progress) -> None:
        """Move the bar of the stage."""
        if self.display is None:
            return
        if "" in self.tasks:
            self.display.remove_task(self.tasks.pop(""))
        self.display.start()
        stage, done = progress.stage, progress.done + progress.part
        if stage not in self.tasks:
            self.tasks[stage] = self.display.add_task(STAGES[stage])
        self.display.update(self.tasks[stage], completed=done, total=progress.total)

    def __enter__(self) -> Bar:
        """Show that something is done, unless it is done soon."""
        self.timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take them away."""
        self.timer.cancel()
        self.timer.join()
        if self.display is not None:
            self.display.stop()


def _display(console: Console) -> Display:
    from rich import progress as rich

    return rich.Progress(
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        console=console,
        transient=True,
    )
