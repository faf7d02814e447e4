"""Small logs that ship with the package, for trying things out.

It holds data and their paths, and imports nothing of the package.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["clicks_path", "path", "systems_path"]


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


def clicks_path() -> Path:
    """Path of a simulated click log, one row per shown document.

    10,000 impressions of 10 documents, 200 queries, 1,500 users; made by
    ``clicks.simulate``, by ``python -m polars_rank.clicks.simulation.example``.
    Relevance is 10 % higher in arm B; a tenth of the lists was shuffled
    (``randomized``), another fifth is a team draft of two rankers (``team``).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import example
    >>> log = pl.scan_parquet(example.clicks_path())
    >>> log.select(pl.col("clicked").sum()).collect().item()
    12065
    """
    return Path(str(files(__name__) / "clicks.parquet"))


def systems_path() -> Path:
    """Path of four systems' rankings: system, query_id, country, traffic, doc_id ...

    120 queries of three countries with 10 documents each, simulated; ``score`` and
    ``label`` as in a log (``python -m polars_rank.example.systems``).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import example
    >>> pl.read_parquet(example.systems_path())["system"].unique().sort().to_list()
    ['bm25', 'dense', 'hybrid', 'hybrid2']
    """
    return Path(str(files(__name__) / "systems.parquet"))
