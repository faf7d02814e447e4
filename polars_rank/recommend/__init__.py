"""Recommenders: splits of interactions, and what to check about them.

It imports ``io``, the check of columns in ``_engine``, and from ``clicks`` the hash
that is the same on every machine.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from polars_rank.recommend.split_log import Split, split
    from polars_rank.recommend.split_report import SplitReport, check_split

__all__ = [
    "Split",
    "SplitReport",
    "check_split",
    "split",
]

_LATER = {
    "Split": "split_log",
    "SplitReport": "split_report",
    "check_split": "split_report",
    "split": "split_log",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
    return globals().setdefault(name, found)
