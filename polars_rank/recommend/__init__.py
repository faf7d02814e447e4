"""Recommenders: splits, their check, and measures from sampled negatives.

``rank_counts`` makes a state of a log, ``sampled_measures`` values of states, and
``rank_estimators`` holds the numbers and knows no frame. The room imports ``io``,
``measures``, checks and plans of ``_engine``, and from ``clicks`` how rows are told
apart by segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from polars_rank.core.later import later as _later

if _TYPE_CHECKING:
    from polars_rank.recommend.sampled_ranks import (
        ListOptions,
        merge_sampled,
        sampled,
        sampled_state,
    )
    from polars_rank.recommend.split_log import Split, split
    from polars_rank.recommend.split_report import SplitReport, check_split

__all__ = [
    "ListOptions",
    "Split",
    "SplitReport",
    "check_split",
    "merge_sampled",
    "sampled",
    "sampled_state",
    "split",
]

_LATER = {
    "ListOptions": "sampled_ranks",
    "Split": "split_log",
    "SplitReport": "split_report",
    "check_split": "split_report",
    "merge_sampled": "sampled_ranks",
    "sampled": "sampled_ranks",
    "sampled_state": "sampled_ranks",
    "split": "split_log",
}

__getattr__ = _later(__name__, _LATER)
