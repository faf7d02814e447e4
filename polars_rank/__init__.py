"""Ranking evaluation as Polars expressions.

Importing the package registers ``.rank_eval`` on ``Expr``, ``DataFrame`` and
``LazyFrame``.
"""

from __future__ import annotations

from polars_rank import metrics, namespaces
from polars_rank.arithmetic import ratio
from polars_rank.convention import Convention
from polars_rank.conventions import CONVENTIONS
from polars_rank.coverage import coverage
from polars_rank.engine import Progress
from polars_rank.errors import DataError
from polars_rank.evaluate import evaluate, per_query
from polars_rank.explain import explain
from polars_rank.expression import ranked
from polars_rank.measure import Measure, measure
from polars_rank.preferences import preferences
from polars_rank.ranking import Ranking
from polars_rank.subtopics import Subtopics

__all__ = [
    "CONVENTIONS",
    "Convention",
    "DataError",
    "Measure",
    "Progress",
    "Ranking",
    "Subtopics",
    "coverage",
    "evaluate",
    "explain",
    "measure",
    "metrics",
    "namespaces",
    "per_query",
    "preferences",
    "ranked",
    "ratio",
]
__version__ = "0.1.0"
