"""The named conventions: the choices of each tool, and the metrics tested with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

from polars_rank.conventions import (
    learning_tools,
    rag_tools,
    recommender_tools,
    search_tools,
    trec_tools,
)
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tool import Tool
from polars_rank.core.metric.registry import Metric, closest

DEFAULT = "trec_eval"  # whose choices hold where the user makes none
ConventionLike: TypeAlias = str | Convention

_TOOLS = (
    *trec_tools.TOOLS,
    *learning_tools.TOOLS,
    *recommender_tools.TOOLS,
    *search_tools.TOOLS,
    *rag_tools.TOOLS,
)
TOOLS: dict[str, Tool] = {tool.convention.name: tool for tool in _TOOLS}


class Conventions(dict[str, Convention]):
    """Conventions by name; the error for an unknown name suggests the closest ones."""

    def __missing__(self, name: object) -> NoReturn:
        """Raise the error for an unknown name."""
        raise KeyError(_unknown(name))


CONVENTIONS = Conventions({name: tool.convention for name, tool in TOOLS.items()})


def convention_of(convention: ConventionLike, **choices: Any) -> Convention:
    """Look up a convention by name; ``choices`` that are not None replace its own."""
    if isinstance(convention, Convention):
        return convention.with_choices(**choices)
    if convention not in CONVENTIONS:
        raise ValueError(_unknown(convention))
    return CONVENTIONS[convention].with_choices(**choices)


def complete_arguments(
    metric: Metric,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    convention: Convention = CONVENTIONS[DEFAULT],
) -> dict[str, Any]:
    """Complete the arguments of a metric by the convention's, then by its own.

    If the metric does not allow the convention's choice, the default convention's
    applies.
    """
    chosen = metric.defaults | convention.defaults(metric.name) | dict(given)
    if len(chosen) < len(metric.parameters):
        chosen = CONVENTIONS[DEFAULT].defaults(metric.name) | chosen
    return {name: chosen[name] for name in metric.parameters}


def _unknown(name: object) -> str:
    near = closest(str(name), list(CONVENTIONS))
    return f"unknown convention {name!r}{near or '; known: ' + ', '.join(CONVENTIONS)}"
