"""Progress of an evaluation, on a terminal's standard error."""

from __future__ import annotations

from threading import Timer
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Display

from polars_rank._engine.spill.progress import Progress

SOON = 1.0  # seconds
STAGES = {"partition": "rows into buckets", "evaluate": "buckets evaluated"}


class Bar:
    """A bar for each stage; nothing where standard error is not a terminal.

    The clock runs on within a bucket, and where no progress is reported.
    """

    def __init__(self) -> None:
        self.display = Display(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.display.disable = not self.display.console.is_terminal
        self.tasks: dict[str, TaskID] = {}
        self.timer = Timer(SOON, self.start)
        self.timer.daemon = True

    def start(self) -> None:
        """Show a bar of unknown length until a stage is told."""
        if not self.tasks and not self.display.disable:
            self.tasks[""] = self.display.add_task("evaluating", total=None)
            self.display.start()

    def told(self, progress: Progress) -> None:
        """Move the bar of the stage."""
        stage = progress.stage
        if "" in self.tasks:
            self.display.remove_task(self.tasks.pop(""))
        self.display.start()
        if stage not in self.tasks:
            self.tasks[stage] = self.display.add_task(STAGES[stage])
        self.display.update(
            self.tasks[stage],
            completed=progress.done + progress.part,
            total=progress.total,
        )

    def __enter__(self) -> Bar:
        """Show that something is done, unless it is done soon."""
        self.timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take them away."""
        self.timer.cancel()
        self.timer.join()
        self.display.stop()
