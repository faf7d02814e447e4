"""Names of tests, corrections, intervals and effects, and checks of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from polars_rank.core.registry import closest

__all__ = [
    "Correction",
    "EffectName",
    "Family",
    "IntervalName",
    "Pairing",
    "TestName",
    "names_of",
    "require_choice",
    "require_names",
]

TestName: TypeAlias = Literal[
    "t",
    "randomisation",
    "wilcoxon",
    "sign",
    "bootstrap",
    "tukey",
    "randomised_tukey",
    "lsd",
    "tost",
]
Correction: TypeAlias = Literal[
    "holm", "bonferroni", "sidak", "hochberg", "bh", "by", "none"
]
Family: TypeAlias = Literal["measure", "all", "none"]
IntervalName: TypeAlias = Literal["t", "percentile", "bca", "studentised", "bayesian"]
EffectName: TypeAlias = Literal[
    "d_z", "hedges", "d_av", "glass", "sakai", "dominance", "rank_biserial", "cliff"
]
Pairing: TypeAlias = Literal["same", "common", "independent"]


def require_choice(name: str, value: Any, choices: Any) -> None:
    """Check that an argument is one of the values of its type."""
    allowed = get_args(choices)
    if value not in allowed:
        near = closest(str(value), list(allowed))
        msg = f"{name} must be one of {', '.join(allowed)}, not {value!r}{near}"
        raise ValueError(msg)


def names_of(value: str | Sequence[str] | None) -> list[str]:
    """One name, several or none, as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def require_names(given: Sequence[str], known: Sequence[str], what: str) -> None:
    """Check that names are among those there are."""
    for name in given:
        if name not in known:
            near = closest(str(name), [str(k) for k in known])
            listed = ", ".join(map(str, known[:20]))
            msg = f"no {what} {name!r}{near} There are: {listed}"
            raise ValueError(msg.replace("' There", "'; there"))
