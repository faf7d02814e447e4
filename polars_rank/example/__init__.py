"""A small search log that ships with the package, for trying things out."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["path"]


def path() -> Path:
    """Path of the Parquet file: query_id, doc_id, score, label, country.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr, polars_rank.example
    >>> log = pl.scan_parquet(pr.example.path())
    >>> log.select(pl.col("query_id").n_unique()).collect().item()
    5
    """
    return Path(str(files(__name__) / "search.parquet"))
