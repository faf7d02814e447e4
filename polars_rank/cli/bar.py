"""How far an evaluation in bounded memory is, on a terminal's standard error."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Display

from polars_rank._engine.spill.progress import Progress

__all__ = ["Bar"]

STAGES = {"partition": "rows into buckets", "evaluate": "buckets evaluated"}


class Bar:
    """A bar for each stage; nothing where standard error is no terminal."""

    def __init__(self) -> None:
        self.display = Display(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.display.disable = not self.display.console.is_terminal
        self.tasks: dict[str, TaskID] = {}

    def told(self, progress: Progress) -> None:
        """Move the bar of the stage."""
        stage = progress.stage
        self.display.start()
        if stage not in self.tasks:
            self.tasks[stage] = self.display.add_task(STAGES[stage])
        self.display.update(
            self.tasks[stage], completed=progress.done, total=progress.total
        )

    def __enter__(self) -> Bar:
        """Bars appear with the first that is told."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take them away."""
        self.display.stop()
