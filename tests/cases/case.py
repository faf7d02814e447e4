"""A row: a metric, a list small enough to check by hand, the formula.

``labels`` stand in rank order; None is unjudged. ``unretrieved`` are grades of judged
documents that the run lacks: only the frame level can know them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    metric: str
    labels: list[float | None]
    expected: float | None
    params: dict[str, Any] = field(default_factory=dict)
    scores: list[float] | None = None
    unretrieved: tuple[float, ...] = ()

    def __str__(self) -> str:
        named = {n: getattr(v, "__name__", v) for n, v in self.params.items()}
        params = ",".join(f"{n}={v}" for n, v in named.items())
        return f"{self.metric}({params})-{self.labels}{self.scores or ''}"


ODD = [1, 0, 1, 0, 1]  # the first, third and fifth of five are relevant
LATE = [0, 0, 0, 0, 1]
NONE = [0, 0, 0, 0, 0]
GRADES = [3, 2, 3, 0, 1]
TOY = [3, 2, 3, 0, 1, 2]  # two more judged documents, 3 and 2, were not retrieved


def exp2(grade: float) -> float:
    return 2**grade - 1


FACTS = (
    "a list shorter than k costs",
    "there is no upper bound",
    "it can be negative",
    "the best order is 1",
    "a better document moved up never costs",
    "a better order can cost",
)
