"""What a user gains per document that she looks at: place by place, a thousand deep."""

from __future__ import annotations

import math
from collections.abc import Callable

from reference.core import Doc, grade, nothing, order

Go = Callable[[int, float, float], float]  # place, gain here, gain so far -> chance


def _per_look(
    docs: list[Doc],
    go: Go,
    depth: int,
    max_grade: float,
    min_grade: float,
    ties: str,
    no_relevant: str,
) -> float | None:
    """Return the mean gain of the places seen; `go` is the chance to go on."""
    if any(d.label is not None and d.label > max_grade for d in docs):
        raise ValueError(f"a label exceeds max_grade {max_grade}")
    if not any(grade(d) > 0 for d in docs):
        return nothing(no_relevant)
    gains = [
        (max(grade(d), min_grade) - min_grade) / (max_grade - min_grade)
        for d in order(docs, ties)
    ]
    seen, gained, so_far, look = [], [], 0.0, 1.0
    for place in range(1, depth + 1):
        gain = gains[place - 1] if place <= len(gains) else 0.0
        so_far += gain
        seen.append(look)
        gained.append(look * gain)
        look *= go(place, gain, so_far)
        if look == 0:
            break
    return math.fsum(gained) / math.fsum(seen)


def sdcg(
    docs: list[Doc],
    *,
    k: int = 10,
    max_grade: float = 4,
    min_grade: float = 0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the gain per place of a user whose interest falls as 1 / log2(i + 1)."""

    def go(place: int, gain: float, so_far: float) -> float:
        return math.log2(place + 1) / math.log2(place + 2)

    return _per_look(docs, go, k, max_grade, min_grade, ties, no_relevant)


def insq(
    docs: list[Doc],
    *,
    T: float = 1,
    max_grade: float = 4,
    min_grade: float = 0,
    depth: int = 1000,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the gain per place of a user with a target."""

    def go(place: int, gain: float, so_far: float) -> float:
        return ((place + 2 * T - 1) / (place + 2 * T)) ** 2

    return _per_look(docs, go, depth, max_grade, min_grade, ties, no_relevant)


def inst(
    docs: list[Doc],
    *,
    T: float = 1,
    max_grade: float = 4,
    min_grade: float = 0,
    depth: int = 1000,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the gain per place of a user who adapts to what is left of her target."""

    def go(place: int, gain: float, so_far: float) -> float:
        left = T - so_far
        return ((place + T + left - 1) / (place + T + left)) ** 2

    return _per_look(docs, go, depth, max_grade, min_grade, ties, no_relevant)


def bpm(
    docs: list[Doc],
    *,
    k: int = 10,
    T: float = 1,
    max_grade: float = 4,
    min_grade: float = 0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the gain per place of a user who stops at T or at k."""

    def go(place: int, gain: float, so_far: float) -> float:
        return 1.0 if so_far < T else 0.0

    return _per_look(docs, go, k, max_grade, min_grade, ties, no_relevant)


def bpm_dynamic(
    docs: list[Doc],
    *,
    k: int = 10,
    T: float = 1,
    hb: float = 1,
    hc: float = 0,
    median: float = 0.5,
    max_grade: float = 4,
    min_grade: float = 0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the same for a user whose limits move with what she finds."""
    wanted, affordable = T, float(k)

    def go(place: int, gain: float, so_far: float) -> float:
        nonlocal wanted, affordable
        on = so_far < wanted and place < affordable
        wanted += hb * (gain - median)
        affordable += hc * (gain - median)
        return 1.0 if on else 0.0

    return _per_look(docs, go, 3000, max_grade, min_grade, ties, no_relevant)


def nerr8(
    docs: list[Doc],
    *,
    k: int = 10,
    max_grade: float = 4,
    min_grade: float = 0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the gain per place of a user whom a gain stops."""

    def go(place: int, gain: float, so_far: float) -> float:
        return 1 - gain

    return _per_look(docs, go, k, max_grade, min_grade, ties, no_relevant)


def nerr9(
    docs: list[Doc],
    *,
    k: int = 10,
    max_grade: float = 4,
    min_grade: float = 0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the same with leaving at place i with chance 1 / (i + 1)."""

    def go(place: int, gain: float, so_far: float) -> float:
        return (1 - gain) * place / (place + 1)

    return _per_look(docs, go, k, max_grade, min_grade, ties, no_relevant)


def nerr10(
    docs: list[Doc],
    *,
    p: float = 0.9,
    max_grade: float = 4,
    min_grade: float = 0,
    depth: int = 1000,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the same with persistence p."""

    def go(place: int, gain: float, so_far: float) -> float:
        return (1 - gain) * p

    return _per_look(docs, go, depth, max_grade, min_grade, ties, no_relevant)


def nerr11(
    docs: list[Doc],
    *,
    T: float = 1,
    max_grade: float = 4,
    min_grade: float = 0,
    depth: int = 1000,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the same with a target."""

    def go(place: int, gain: float, so_far: float) -> float:
        return (1 - gain) * ((place + 2 * T - 1) / (place + 2 * T)) ** 2

    return _per_look(docs, go, depth, max_grade, min_grade, ties, no_relevant)


_SCALES = [{"max_grade": 7}, {"max_grade": 5.5, "min_grade": 1}]
_CUT = [*_SCALES, {"min_grade": 2, "k": 3}]
_DEEP = [*_SCALES, {"min_grade": 2, "depth": 5}, {"depth": 1}]
_TARGETS = [{"T": 0.5}, {"T": 3.25, "max_grade": 6}]
VARIANTS = {
    **dict.fromkeys(("sdcg", "nerr8", "nerr9"), _CUT),
    "bpm": [*_CUT, *_TARGETS, {"T": 0.7, "k": 40}],
    # Exact in binary: where a limit is met to the last bit, rounding decides.
    "bpm_dynamic": [
        {"T": 2.5, "hb": 0.5, "max_grade": 8, "min_grade": 0.0},
        {"T": 0.5, "hb": 2, "median": 0.25},
        {"hb": 0, "hc": 1, "median": 0},
        {"hb": 0, "hc": 0.5, "k": 40, "T": 100},
        {"hb": 1.5, "hc": 1, "median": 0.125, "T": 4, "k": 3},
    ],
    "nerr10": _DEEP,
    **{name: [*_DEEP, *_TARGETS] for name in ("insq", "inst", "nerr11")},
}
