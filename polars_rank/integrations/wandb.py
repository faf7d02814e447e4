"""Weights & Biases: means in the summary of a run, values of queries as a table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import polars as pl

from polars_rank.evaluation.both import Both

__all__ = ["log", "table"]


def table(values: pl.DataFrame | pl.LazyFrame) -> Any:
    """Return a frame, such as that of :func:`per_query`, as a ``wandb.Table``."""
    frame = values.lazy().collect()
    wandb: Any = import_module("wandb")
    return wandb.Table(columns=frame.columns, data=[[*row] for row in frame.rows()])


def log(
    run: Any, both: Both[Any], *, prefix: str = "", step: int | None = None
) -> None:
    """Log means, and the values of queries as a table, in one step of a run.

    Parameters
    ----------
    run
        What ``wandb.init`` returned.
    both
        From :func:`evaluate_both`. Means by segment are a table, too.
    prefix
        Put before the names, e.g. ``"test/"``.
    step
        Step of the run.
    """
    means, queries = (frame.lazy().collect() for frame in both)
    logged = {f"{prefix}queries": table(queries)}
    if means.columns[0] == "queries":
        values = means.drop("queries").row(0, named=True)
        logged |= {f"{prefix}{name}": value for name, value in values.items()}
    else:
        logged[f"{prefix}means"] = table(means)
    run.log(logged, step=step)
