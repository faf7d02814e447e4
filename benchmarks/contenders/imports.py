"""What ``import polars_rank`` takes (first) on top of ``import polars`` (load)."""

from __future__ import annotations

import importlib

from task import Contender, Means, Task


def contender(task: Task) -> Contender:
    def evaluate(loaded: object) -> Means:
        importlib.import_module("polars_rank")
        return {}

    return lambda: importlib.import_module("polars"), evaluate
