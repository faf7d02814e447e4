"""``.rank_eval`` on Expr: one method for every metric of the registry.

The types stand in ``expression.pyi``, which ``python docs/make.py`` writes.
"""

from __future__ import annotations

from typing import NoReturn

import polars as pl

from polars_rank.core.registry import known, of_vocabulary
from polars_rank.namespaces.method import method

__all__ = ["ExprRankEval"]


@pl.api.register_expr_namespace("rank_eval")
class ExprRankEval:
    """Metrics of one ranked list; the expression holds the labels.

    Every method takes the score that ranks the documents (highest first). Metrics of
    relevance also take ``rank=`` instead, a column of known places; ``doc=``, document
    ids that break ties; ``ties=``; and ``no_relevant=``, the value where nothing is
    relevant. The parameters and definitions are those of ``polars_rank.metrics``.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank
    >>> log = pl.DataFrame({"score": [0.9, 0.8], "label": [0, 1]})
    >>> log.select(pl.col("label").rank_eval.rr("score")).item()
    0.5
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._label = expr

    def __getattr__(self, name: str) -> NoReturn:
        """What is no method: a measure of diversity, or a mistake."""
        metric = known(name)
        if metric is None or metric.vocabulary == "ranking":
            msg = f"rank_eval of an expression has no method {name!r}"
        else:
            msg = (
                f"{metric.name} looks at a query's subtopics, which one expression of "
                "labels cannot hold: ask a frame for it, with evaluate or per_query, "
                "qrels= and subtopic="
            )
        raise AttributeError(msg, name=name, obj=self)


for _metric in of_vocabulary("ranking").values():
    setattr(ExprRankEval, _metric.name, method(_metric))
