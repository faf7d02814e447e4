"""Parameters that change a metric's value, read off its annotations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

from reference import VARIANTS
from vocabularies import METRICS

from polars_rank.core.parameters import Parameter, Range
from polars_rank.core.weights import DiscountLike, GainLike

GAINS = ["exp2", "binary", {1: 3.5, 2: 9}, {0: 1, 1: 2}, lambda grade: grade + 0.5]
DISCOUNTS = ["log2_from_2", "position"]
RELEVANT = [0, 0.5, 2, 3]
GAIN, DISCOUNT = get_args(GainLike)[0], get_args(DiscountLike)[0]


def variants(name: str) -> list[dict[str, Any]]:
    """No parameter, each value of each parameter, with and without a cutoff."""
    metric = METRICS[name]
    singles = [{p.name: v} for p in metric.parameters.values() for v in values(p)]
    if (k := metric.named("k")) is not None:
        singles += [{**single, k: 3 + i % 4} for i, single in enumerate(singles)]
        singles += [{k: 1}, {k: 5}, {k: 1000}]
    return [{}, *singles, *VARIANTS.get(name, [])]


def values(parameter: Parameter) -> list[Any]:
    """Values worth trying; none where only the metric's family can know."""
    if parameter.meaning in ("rel", "optional_rel"):
        return RELEVANT
    if parameter.meaning == "k":
        return []
    return of_type(parameter.hint)


def of_type(hint: Any) -> list[Any]:
    """Values of a type that are worth trying."""
    inside = get_args(hint)
    if hint is bool:
        return [True, False]
    if hint == GAIN:
        return GAINS
    if hint == DISCOUNT:
        return DISCOUNTS
    if get_origin(hint) is Literal:
        return list(inside)
    if get_origin(hint) is Annotated:
        ranges = [bounds for bounds in inside if isinstance(bounds, Range)]
        if ranges:
            return within(ranges[0]) if inside[0] is float else []
        return of_type(inside[0])
    return [value for part in inside for value in of_type(part)]


def within(bounds: Range) -> list[float]:
    """Numbers between two bounds, the bounds among them if they belong to the range."""
    low = bounds.above if bounds.least is None else bounds.least
    high = bounds.below if bounds.most is None else bounds.most
    if low is None or high is None:
        return []
    points = [low + (high - low) * part for part in (0.0, 0.25, 0.6, 1.0)]
    return [point for point in points if point in bounds]
