"""Ranking evaluation as Polars expressions.

Importing the package registers ``.rank_eval`` on ``Expr``, ``DataFrame`` and
``LazyFrame``.
"""

from __future__ import annotations

from polars_rank import metrics, namespaces
from polars_rank.convention import CONVENTIONS, Convention
from polars_rank.coverage import coverage
from polars_rank.errors import DataError
from polars_rank.evaluate import evaluate, per_query
from polars_rank.expression import ranked
from polars_rank.measure import Measure, measure
from polars_rank.ranking import Ranking, ratio

__all__ = [
    "CONVENTIONS",
    "Convention",
    "DataError",
    "Measure",
    "Ranking",
    "coverage",
    "evaluate",
    "measure",
    "metrics",
    "namespaces",
    "per_query",
    "ranked",
    "ratio",
]
__version__ = "0.1.0"
