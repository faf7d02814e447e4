"""Parameters that change a metric's value, read off its annotations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from reference import VARIANTS

from polars_rank.core.parameters import Range
from polars_rank.core.weights import Discount, Gain
from polars_rank.metrics import METRICS

GAINS = ["exp2", "binary", {1: 3.5, 2: 9}, {0: 1, 1: 2}, lambda grade: grade + 0.5]
RELEVANT = [0, 0.5, 2, 3]


def hints(name: str) -> dict[str, Any]:
    """Types of a metric's parameters."""
    found = get_type_hints(METRICS[name].function, include_extras=True)
    return {p: hint for p, hint in found.items() if p in METRICS[name].defaults}


def variants(name: str) -> list[dict[str, Any]]:
    """No parameter, each value of each parameter, with and without a cutoff."""
    types = hints(name)
    singles = [{p: v} for p, hint in types.items() for v in values(p, hint)]
    if "k" in types:
        singles += [{**single, "k": 3 + i % 4} for i, single in enumerate(singles)]
        singles += [{"k": 1}, {"k": 5}, {"k": 1000}]
    return [{}, *singles, *VARIANTS.get(name, [])]


def values(parameter: str, hint: Any) -> list[Any]:
    """Values worth trying; none where only the metric's family can know."""
    inside = get_args(hint)
    if parameter == "rel":
        return RELEVANT
    if hint == Gain:
        return GAINS
    if hint is bool:
        return [True, False]
    if get_origin(hint) is Literal:
        return list(inside)
    if get_origin(hint) is Annotated:
        return within(inside[1]) if inside[0] is float else []
    return [v for part in inside if hint != Discount for v in values("", part)] + (
        ["log2_from_2", "position"] if hint == Discount else []
    )


def within(bounds: Range) -> list[float]:
    """Numbers between two bounds, the bounds among them if they belong to the range."""
    low = bounds.above if bounds.least is None else bounds.least
    high = bounds.below if bounds.most is None else bounds.most
    if low is None or high is None:
        return []
    points = [low + (high - low) * part for part in (0.0, 0.25, 0.6, 1.0)]
    return [point for point in points if point in bounds]
