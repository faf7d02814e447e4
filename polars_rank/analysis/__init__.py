"""Why a value moved: documents, queries and segments, and what each adds.

``contributions`` imports evaluation alone; the others import ``comparison``, whose
intervals they have, and ``contributions``. The room ``slicing`` imports none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank.core.later import later as _later

if _TYPE_CHECKING:
    from polars_rank.analysis.contribution_rows import contributions
    from polars_rank.analysis.difference_reasons import reasons
    from polars_rank.analysis.next_judgments import to_judge
    from polars_rank.analysis.results import Changes, Reasons, SeveralReasons
    from polars_rank.analysis.run_changes import changes
    from polars_rank.analysis.slicing.slice_search import (
        merge_slices,
        slices,
        slices_state,
    )

__all__ = [
    "Changes",
    "Reasons",
    "SeveralReasons",
    "changes",
    "contributions",
    "merge_slices",
    "reasons",
    "slices",
    "slices_state",
    "to_judge",
]

_LATER = {
    "Changes": "results",
    "Reasons": "results",
    "SeveralReasons": "results",
    "changes": "run_changes",
    "contributions": "contribution_rows",
    "merge_slices": "slicing.slice_search",
    "reasons": "difference_reasons",
    "slices": "slicing.slice_search",
    "slices_state": "slicing.slice_search",
    "to_judge": "next_judgments",
}

__getattr__ = _later(__name__, _LATER)
