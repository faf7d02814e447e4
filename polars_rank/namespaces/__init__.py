"""``.rank_eval`` on Expr, DataFrame and LazyFrame, imported when it is first used.

Methods pass their arguments on; all functions that are methods are imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from polars_rank.namespaces.expr import ExprRankEval
    from polars_rank.namespaces.frame import DataFrameRankEval, LazyFrameRankEval

__all__ = ["DataFrameRankEval", "ExprRankEval", "LazyFrameRankEval"]

_MODULES = {
    "DataFrameRankEval": "polars_rank.namespaces.frame",
    "ExprRankEval": "polars_rank.namespaces.expr",
    "LazyFrameRankEval": "polars_rank.namespaces.frame",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_MODULES[name]), name)


class _Later:
    """Makes the namespace of a frame or expression; has the attributes of its class."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, of: Any) -> Any:
        return __getattr__(self.__name__)(of)

    def __getattr__(self, name: str) -> Any:
        return getattr(__getattr__(self.__name__), name)


_register: Any  # for mypy, which wants a class
for _name, _register in (
    ("DataFrameRankEval", pl.api.register_dataframe_namespace),
    ("ExprRankEval", pl.api.register_expr_namespace),
    ("LazyFrameRankEval", pl.api.register_lazyframe_namespace),
):
    _register("rank_eval")(_Later(_name))
