"""Names of tests, corrections, intervals and effects, and checks of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from polars_rank.core.registry import closest

TestName: TypeAlias = Literal[
    "t",
    "randomization",
    "wilcoxon",
    "sign",
    "bootstrap",
    "tukey",
    "randomized_tukey",
    "lsd",
    "tost",
]
Correction: TypeAlias = Literal[
    "holm", "bonferroni", "sidak", "hochberg", "bh", "by", "none"
]
Family: TypeAlias = Literal["measure", "all", "none"]
IntervalName: TypeAlias = Literal["t", "percentile", "bca", "studentized", "bayesian"]
EffectName: TypeAlias = Literal[
    "d_z", "hedges", "d_av", "glass", "sakai", "dominance", "rank_biserial", "cliff"
]
Pairing: TypeAlias = Literal["same", "common", "independent"]
Order: TypeAlias = Literal["mean", "name", "given"]
ZeroMethod: TypeAlias = Literal["wilcox", "pratt", "zsplit"]
FROM_ROWS = ("randomization", "wilcoxon", "bootstrap", "randomized_tukey")
FAMILYWISE = ("tukey", "randomized_tukey")  # control the family themselves


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


def require_together(given: Mapping[str, Any]) -> None:
    """Refuse combinations of arguments that exclude each other."""
    if not 0 <= given["tie"] < float("inf"):
        msg = f"tie must be a number of 0 or more, not {given['tie']!r}"
        raise ValueError(msg)
    test, interval = given["test"], given["interval"]
    told = {n: given[n] for n in ("weight", "cluster") if given[n] is not None}
    for name in told:
        if test in ("wilcoxon", "sign", "tukey", "randomized_tukey", "lsd"):
            msg = (
                f"{name}= cannot be used with test={test!r}; use 't' or 'randomization'"
            )
            raise ValueError(msg)
        if given["effect"] == "sakai":
            msg = f"{name}= cannot be used with effect='sakai'"
            raise ValueError(msg)
    if test in FAMILYWISE and given["correction"] not in (None, "none"):
        msg = (
            f"test={test!r} corrects for all pairs by itself: leave out "
            f"correction={given['correction']!r}"
        )
        raise ValueError(msg)
    if (
        test in ("tukey", "randomized_tukey", "lsd", "tost")
        and given["alternative"] != "two-sided"
    ):
        msg = f"test={test!r} has no one-sided form; leave out alternative="
        raise ValueError(msg)
    if test in ("tukey", "lsd") and interval != "t":
        msg = f"test={test!r} has intervals of its own: leave out interval={interval!r}"
        raise ValueError(msg)
    if given["simultaneous"] and (test == "tukey" or given["family"] == "none"):
        why = (
            "the intervals of test='tukey' hold at once by themselves"
            if test == "tukey"
            else "family='none' corrects for no other test"
        )
        msg = f"{why}: leave out simultaneous=True"
        raise ValueError(msg)
    if given["zero_method"] != "wilcox" and test != "wilcoxon":
        msg = "zero_method= belongs to test='wilcoxon': name both or none"
        raise ValueError(msg)
    margin = given["margin"]
    if (test == "tost") != (margin is not None):
        msg = "margin= belongs to test='tost': name both or none"
        raise ValueError(msg)
    if margin is not None and not margin > 0:
        msg = f"margin must be above 0, not {margin!r}"
        raise ValueError(msg)
    if test == "tost" and given["level"] <= 0.5:
        msg = "level must be above 0.5 for test='tost'"
        raise ValueError(msg)
    resampling = (
        test in ("randomization", "bootstrap", "randomized_tukey") or interval != "t"
    )
    if resampling and given["resamples"] < 99:
        msg = f"resamples must be at least 99, not {given['resamples']}"
        raise ValueError(msg)
    if interval != "t" and given["alternative"] != "two-sided":
        msg = f"interval={interval!r} has no one-sided form; leave out alternative="
        raise ValueError(msg)
    if given["pairs"] == "independent" and (
        test != "t" or interval != "t" or told or given["seed"]
    ):
        msg = "pairs='independent' is for test='t' and interval='t', without weights"
        raise ValueError(msg)
    if given["seeds"] == "random" and (given["seed"] is None or test != "t" or told):
        msg = "seeds='random' needs seed= and test='t', without weight= or cluster="
        raise ValueError(msg)
    if given["seeds"] == "random" and interval in ("bca", "studentized"):
        msg = (
            f"interval={interval!r} is for fixed seeds; with seeds='random' choose "
            "'t', 'percentile' or 'bayesian'"
        )
        raise ValueError(msg)


def needs_rows(given: Mapping[str, Any]) -> bool:
    """Whether a comparison looks at the values of single queries, not only at sums."""
    by_rows = given["test"] in FROM_ROWS or given["interval"] != "t"
    return by_rows or given["effect"] in ("rank_biserial", "cliff")


def require_no_rows(given: Mapping[str, Any]) -> None:
    """Moments hold no values of single queries."""
    if given["test"] in FROM_ROWS or given["interval"] != "t":
        what = (
            f"test={given['test']!r}"
            if given["test"] in FROM_ROWS
            else f"interval={given['interval']!r}"
        )
        msg = f"{what} needs the values of the queries, and these are moments"
        msg += "; use test='t' or test='tukey'" if given["test"] in FROM_ROWS else ""
        raise ValueError(msg)
    for name in ("weight", "cluster", "seed"):
        if given[name] is not None:
            msg = f"{name}= is chosen when moments are made"
            raise ValueError(msg)
    if given["effect"] in ("rank_biserial", "cliff"):
        msg = (
            f"effect={given['effect']!r} needs values of the queries; these are moments"
        )
        raise ValueError(msg)
