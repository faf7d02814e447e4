"""``.rank_eval`` on Expr, DataFrame and LazyFrame."""

from __future__ import annotations

from polars_rank.namespaces.expr import ExprRankEval
from polars_rank.namespaces.frame import DataFrameRankEval, LazyFrameRankEval

__all__ = ["DataFrameRankEval", "ExprRankEval", "LazyFrameRankEval"]
