"""Clicks as labels: where they are in the list."""

from __future__ import annotations

from reference.core import Doc, is_relevant, order


def _ranks(docs: list[Doc], rel: float, ties: str) -> list[int]:
    """Return the ranks of the relevant docs that were retrieved."""
    ranked = order(docs, ties)
    return [i for i, d in enumerate(ranked, start=1) if is_relevant(d, rel)]


def first_click(
    docs: list[Doc], *, rel: float = 1, ties: str = "order", no_relevant: str = "zero"
) -> float | None:
    """Return the rank of the first click, None without one."""
    return min(_ranks(docs, rel, ties), default=None)


def last_click(
    docs: list[Doc], *, rel: float = 1, ties: str = "order", no_relevant: str = "zero"
) -> float | None:
    """Return the rank of the last click, None without one."""
    return max(_ranks(docs, rel, ties), default=None)


def mean_click(
    docs: list[Doc], *, rel: float = 1, ties: str = "order", no_relevant: str = "zero"
) -> float | None:
    """Return the mean rank of the clicks, None without one."""
    clicked = _ranks(docs, rel, ties)
    return sum(clicked) / len(clicked) if clicked else None


def mean_rr(
    docs: list[Doc], *, rel: float = 1, ties: str = "order", no_relevant: str = "zero"
) -> float | None:
    """Return the mean of 1 / rank over the clicks, 0 without one."""
    clicked = _ranks(docs, rel, ties)
    return sum(1 / rank for rank in clicked) / len(clicked) if clicked else 0.0


def p_skip(
    docs: list[Doc], *, rel: float = 1, ties: str = "order", no_relevant: str = "zero"
) -> float | None:
    """Return the share of docs not clicked down to the last click, None without one."""
    clicked = _ranks(docs, rel, ties)
    last = max(clicked, default=0)
    return len({*range(1, last + 1)} - {*clicked}) / last if last else None


VARIANTS = {
    name: [{"rel": 2}]
    for name in ("first_click", "last_click", "mean_click", "mean_rr", "p_skip")
}
