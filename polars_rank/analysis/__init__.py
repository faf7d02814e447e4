"""Why a value moved: documents, queries and segments, and what each adds.

``contributions`` imports evaluation alone; the others import ``comparison``, whose
intervals they have, and ``contributions``.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from polars_rank.analysis.contribution_rows import contributions
    from polars_rank.analysis.difference_reasons import reasons
    from polars_rank.analysis.next_judgments import to_judge
    from polars_rank.analysis.results import Changes, Reasons, SeveralReasons
    from polars_rank.analysis.run_changes import changes
    from polars_rank.analysis.slice_search import slices

__all__ = [
    "Changes",
    "Reasons",
    "SeveralReasons",
    "changes",
    "contributions",
    "reasons",
    "slices",
    "to_judge",
]

_LATER = {
    "Changes": "results",
    "Reasons": "results",
    "SeveralReasons": "results",
    "changes": "run_changes",
    "contributions": "contribution_rows",
    "reasons": "difference_reasons",
    "slices": "slice_search",
    "to_judge": "next_judgments",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
    return globals().setdefault(name, found)
