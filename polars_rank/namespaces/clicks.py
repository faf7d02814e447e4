"""``.rank_eval.clicks`` on frames: functions of ``polars_rank.clicks``, as methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from polars_rank import clicks
from polars_rank._engine.request import AnyFrame
from polars_rank.namespaces.methods import show_signature

P = ParamSpec("P")
R = TypeVar("R")


def _method(
    function: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[ClickLogRankEval, P], R]:
    @wraps(function)
    def method(self: ClickLogRankEval, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self._log, *args, **kwargs)

    show_signature(method, function)
    return method


class ClickLogRankEval:
    """Evaluate the click log in a frame."""

    def __init__(self, log: AnyFrame) -> None:
        self._log = log

    behavior = _method(clicks.behavior)
    click_entropy = _method(clicks.click_entropy)
    compare_arms = _method(clicks.compare_arms)
    counterfactual = _method(clicks.counterfactual)
    dedupe = _method(clicks.dedupe)
    interleaving = _method(clicks.interleaving)
    judgments = _method(clicks.judgments)
    per_impression = _method(clicks.per_impression)
    propensities = _method(clicks.propensities)
    report = _method(clicks.report)
    sensitivity = _method(clicks.sensitivity)
    team_shares = _method(clicks.team_shares)
