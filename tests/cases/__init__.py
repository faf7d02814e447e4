"""One row a fact: the rows of all families, and what else is true of which metric.

A family's module has ``CASES`` and, where the contracts need it, ``WHERE``: a fact in
words -> the metrics for which it holds.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from cases.case import FACTS, Case
from cases.subtopic import CASES as SUBTOPIC_CASES

__all__ = ["CASES", "FACTS", "FAMILIES", "SUBTOPIC_CASES", "Case", "where"]

FAMILIES = [
    import_module(f"cases.{module.name}")
    for module in iter_modules(__path__)
    if module.name not in ("case", "subtopic")
]
CASES: list[Case] = [case for family in FAMILIES for case in family.CASES]


def where(fact: str) -> list[str]:
    """The metrics for which a fact holds."""
    assert fact in FACTS
    return [n for f in FAMILIES for n in getattr(f, "WHERE", {}).get(fact, ())]
