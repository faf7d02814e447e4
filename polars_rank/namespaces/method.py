"""A metric as a method of its label expression."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeAlias

import polars as pl
import polars.selectors as cs

from polars_rank.core.binding import metric_expr
from polars_rank.core.ranking import NoRelevant, Ties
from polars_rank.core.registry import Metric, check, closest, value

__all__ = ["Column", "NoRelevant", "Score", "Ties", "method"]

Column: TypeAlias = str | pl.Expr
Score: TypeAlias = Column | None


def _option(name: str, annotation: str, default: object = None) -> Parameter:
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
SCORE = Parameter("score", Parameter.POSITIONAL_OR_KEYWORD, annotation="Column")
RANK = _option("rank", "Score")
DOC = _option("doc", "Score")
TIES = _option("ties", "Ties | None")
NO_RELEVANT = _option("no_relevant", "NoRelevant", "zero")


def method(metric: Metric) -> Callable[..., pl.Expr]:
    """The method: its score is needed where ``rank=`` cannot stand for it."""
    options = [] if metric.uses_scores else [RANK]
    options += [DOC, TIES] if metric.tie_sensitive else []
    options += [NO_RELEVANT] if metric.needs_relevant else []
    known = {option.name: option.default for option in options}

    def call(self: Any, score: Score, **given: Any) -> pl.Expr:
        asked = {n: v for n, v in given.items() if n not in known}
        for name in asked:
            if name not in metric.defaults:
                allowed = [*metric.defaults, *known]
                msg = (
                    f"{call.__qualname__}() got an unexpected keyword argument "
                    f"{name!r}{closest(name, allowed)}"
                )
                raise TypeError(msg)
        option = known | given
        no_relevant: NoRelevant = option.get("no_relevant", "zero")
        ties: Ties | None = option.get("ties")
        check(metric, asked, ties, no_relevant)
        label: pl.Expr = self._label
        return metric_expr(
            lambda ranking: value(metric, ranking, asked, no_relevant),
            label,
            score=_expr(score),
            rank=_expr(option.get("rank")),
            doc=_expr(option.get("doc")),
            ties=ties,
        )

    call.__name__, call.__qualname__ = metric.name, f"ExprRankEval.{metric.name}"
    call.__doc__ = metric.summary
    score = SCORE
    if not metric.uses_scores:
        call.__defaults__ = (None,)
        score = SCORE.replace(annotation="Score", default=None)
    hints = metric.function.__annotations__
    own = [_option(n, hints[n], default) for n, default in metric.defaults.items()]
    signature = Signature([SELF, score, *own, *options], return_annotation="pl.Expr")
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _expr(column: Score) -> pl.Expr | None:
    """A name is one column, also where it looks like a pattern."""
    return cs.by_name(column).as_expr() if isinstance(column, str) else column
