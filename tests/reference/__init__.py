"""Plain, slow reference metrics, written from their definitions.

One query is a list of documents. Nothing here is vectorized or shared with the library.
Every public function of a family's module is a metric; its ``VARIANTS`` are parameters
to try, beside those that ``variants.py`` reads off the annotations.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from reference import subtopic
from reference.core import Doc, Metric, expected, order
from reference.queries import random_queries

__all__ = [
    "METRICS",
    "SUBTOPIC_METRICS",
    "SUBTOPIC_VARIANTS",
    "VARIANTS",
    "Doc",
    "expected",
    "order",
    "random_queries",
]

FAMILIES = [
    import_module(f"reference.{module.name}")
    for module in iter_modules(__path__)
    if module.name not in ("core", "fairness", "queries", "recommendation", "subtopic")
]
METRICS: dict[str, Metric] = {
    name: function
    for family in FAMILIES
    for name, function in vars(family).items()
    if getattr(function, "__module__", "") == family.__name__ and name[0] != "_"
}
VARIANTS: dict[str, list[dict]] = {
    name: rows
    for family in FAMILIES
    for name, rows in getattr(family, "VARIANTS", {}).items()
}
SUBTOPIC_METRICS: dict[str, Metric] = {
    name: function
    for name, function in vars(subtopic).items()
    if getattr(function, "__module__", "") == subtopic.__name__ and name[0] != "_"
}
SUBTOPIC_VARIANTS: dict[str, list[dict]] = subtopic.VARIANTS
