"""Ranking evaluation as Polars expressions.

Importing the package registers ``.rank_eval`` on ``Expr``, ``DataFrame`` and
``LazyFrame``.
"""

from __future__ import annotations

from polars_rank import metrics, namespaces
from polars_rank._engine.spill.progress import Progress
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.explain import explain
from polars_rank.conventions.tools import CONVENTIONS
from polars_rank.core.binding import metric_expr
from polars_rank.core.expr import ratio
from polars_rank.core.ranking import Ranking
from polars_rank.core.subtopics import Subtopics
from polars_rank.evaluation.evaluate import evaluate, per_query
from polars_rank.evaluation.match_report import match_report
from polars_rank.evaluation.preferences import preferences
from polars_rank.exceptions import DataError
from polars_rank.measures.measure import Measure, measure
from polars_rank.scale.evaluation import Evaluation

__all__ = [
    "CONVENTIONS",
    "Convention",
    "DataError",
    "Evaluation",
    "Measure",
    "Progress",
    "Ranking",
    "Subtopics",
    "evaluate",
    "explain",
    "match_report",
    "measure",
    "metric_expr",
    "metrics",
    "namespaces",
    "per_query",
    "preferences",
    "ratio",
]
__version__ = "0.1.0"
