"""Ranking evaluation as Polars expressions.

Importing the package registers ``.rank_eval`` on ``Expr``, ``DataFrame`` and
``LazyFrame``.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank import namespaces as _namespaces  # noqa: F401  # registers them
from polars_rank.core.seams import answered_by as _answered_by

if _TYPE_CHECKING:
    from polars_rank import analysis as analysis
    from polars_rank import clicks as clicks
    from polars_rank import comparison as comparison
    from polars_rank import example as example
    from polars_rank import fusion as fusion
    from polars_rank import integrations as integrations
    from polars_rank import io as io
    from polars_rank import parts as parts
    from polars_rank import recommend as recommend
    from polars_rank import uncertainty as uncertainty
    from polars_rank.comparison.compare import compare
    from polars_rank.comparison.gate.gate import gate
    from polars_rank.conventions.convention import Convention
    from polars_rank.conventions.explain import explain
    from polars_rank.conventions.tools import CONVENTIONS
    from polars_rank.core.expr import ratio
    from polars_rank.core.words.binding import metric_expr
    from polars_rank.core.words.ranking import Ranking
    from polars_rank.core.words.subtopics import Subtopics
    from polars_rank.evaluation.both import evaluate_both
    from polars_rank.evaluation.evaluate import evaluate, per_query
    from polars_rank.evaluation.match_report import match_report
    from polars_rank.evaluation.preferences import preferences
    from polars_rank.exceptions import DataError, DataWarning
    from polars_rank.io.scan import scan
    from polars_rank.io.shapes.group_sizes import from_groups
    from polars_rank.io.shapes.lists import from_lists
    from polars_rank.io.shapes.wide import from_wide
    from polars_rank.measures.measure import Measure, measure
    from polars_rank.namespaces.expr import expr
    from polars_rank.parts.evaluation import Evaluation
    from polars_rank.uncertainty.audit.audit import audit
    from polars_rank.uncertainty.bounds.bounds import bounds
    from polars_rank.uncertainty.estimate import estimate

__all__ = [
    "CONVENTIONS",
    "Convention",
    "DataError",
    "DataWarning",
    "Evaluation",
    "Measure",
    "Ranking",
    "Subtopics",
    "audit",
    "bounds",
    "compare",
    "estimate",
    "evaluate",
    "evaluate_both",
    "explain",
    "expr",
    "from_groups",
    "from_lists",
    "from_wide",
    "gate",
    "match_report",
    "measure",
    "metric_expr",
    "per_query",
    "preferences",
    "ratio",
    "scan",
]
__version__ = "0.1.0"

# All is imported when it is first used: the command shows its help without any of it.
_LATER = {
    "CONVENTIONS": "conventions.tools",
    "Convention": "conventions.convention",
    "DataError": "exceptions",
    "DataWarning": "exceptions",
    "Evaluation": "parts.evaluation",
    "Measure": "measures.measure",
    "Ranking": "core.words.ranking",
    "Subtopics": "core.words.subtopics",
    "audit": "uncertainty.audit.audit",
    "bounds": "uncertainty.bounds.bounds",
    "compare": "comparison.compare",
    "estimate": "uncertainty.estimate",
    "evaluate": "evaluation.evaluate",
    "evaluate_both": "evaluation.both",
    "explain": "conventions.explain",
    "expr": "namespaces.expr",
    "from_groups": "io.shapes.group_sizes",
    "from_lists": "io.shapes.lists",
    "from_wide": "io.shapes.wide",
    "gate": "comparison.gate.gate",
    "match_report": "evaluation.match_report",
    "measure": "measures.measure",
    "metric_expr": "core.words.binding",
    "per_query": "evaluation.evaluate",
    "preferences": "evaluation.preferences",
    "ratio": "core.expr",
    "scan": "io.scan",
}
_answered_by(  # comparison asks analysis, which is above it
    "the largest parts of a difference",
    "polars_rank.analysis.difference_parts",
    "parts_of",
)
_ROOMS = (
    *("analysis", "clicks", "comparison", "conventions", "core", "evaluation"),
    *("example", "exceptions", "fusion", "integrations", "io", "measures"),
    *("metrics", "parts", "recommend", "report", "typing", "uncertainty"),
)


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return _import_module(f"polars_rank.{name}")
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(_import_module(f"polars_rank.{_LATER[name]}"), name)
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
