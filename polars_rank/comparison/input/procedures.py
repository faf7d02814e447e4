"""Names of tests, corrections, intervals and effects, and checks of arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from polars_rank._statistics.distributions import Alternative
from polars_rank._statistics.intervals import require_level
from polars_rank.core.metric.registry import closest
from polars_rank.measures.text import split_measures

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
Repeats: TypeAlias = Literal["fixed", "random"]
FROM_ROWS = ("randomization", "wilcoxon", "bootstrap", "randomized_tukey")
FAMILYWISE = ("tukey", "randomized_tukey")  # control the family themselves
POOLED = (*FAMILYWISE, "lsd")  # look at all systems at once
RESAMPLING = ("randomization", "bootstrap", "randomized_tukey")
EFFECTS_FROM_ROWS = ("rank_biserial", "cliff")
CHOICES = {
    "test": TestName,
    "alternative": Alternative,
    "family": Family,
    "interval": IntervalName,
    "effect": EffectName,
    "pairs": Pairing,
    "zero_method": ZeroMethod,
    "order": Order,
    "repeats": Repeats,
}


@dataclass(frozen=True)
class Columns:
    """Which column is what."""

    system: str = "system"
    query: str | Sequence[str] = "query_id"
    measures: Sequence[str] | None = None
    by: str | Sequence[str] | None = None
    weight: str | None = None
    cluster: str | None = None
    repeat: str | None = None

    @property
    def keys(self) -> list[str]:
        """The columns that name a query."""
        return names_of(self.query)

    @property
    def own_keys(self) -> list[str]:
        """Own names of these columns, which no column of the user's can have."""
        return [f"key{i}" for i in range(len(self.keys))]

    @property
    def segments(self) -> list[str]:
        """The columns that split queries into segments."""
        return names_of(self.by)

    @property
    def about(self) -> list[str]:
        """Columns that say something of a query: segments, weight and cluster."""
        named = [*self.segments, self.weight, self.cluster]
        return [name for name in dict.fromkeys(named) if name is not None]

    @property
    def roles(self) -> dict[str, str | None]:
        """Columns that may be given for a query, or a run of it, by argument."""
        return {"weight": self.weight, "cluster": self.cluster, "repeat": self.repeat}


@dataclass(frozen=True, kw_only=True)
class Procedure:
    """How systems are compared: the arguments of the same names of ``compare``."""

    test: TestName
    alternative: Alternative
    correction: Correction | None
    family: Family
    level: float
    interval: IntervalName
    simultaneous: bool
    effect: EffectName
    margin: float | None
    zero_method: ZeroMethod
    repeats: Repeats
    n_resamples: int
    seed: int
    pairs: Pairing
    tie: float
    min_queries: int
    order: Order

    def __post_init__(self) -> None:
        """Refuse what no comparison takes."""
        for name, choices in CHOICES.items():
            require_choice(name, getattr(self, name), choices)
        require_level(self.level)
        if self.correction is not None:
            require_choice("correction", self.correction, Correction)
        if not 0 <= self.tie < float("inf"):
            msg = f"tie must be a number of 0 or more, not {self.tie!r}"
            raise ValueError(msg)

    @property
    def chosen_correction(self) -> Correction:
        """The correction that is made: none of tests that need none."""
        return "none" if self.test in FAMILYWISE else self.correction or "holm"

    @property
    def needs_rows(self) -> bool:
        """Whether it looks at the values of single queries, not only at sums."""
        by_rows = self.test in FROM_ROWS or self.interval != "t"
        return by_rows or self.effect in EFFECTS_FROM_ROWS

    @property
    def needs_all_pairs(self) -> bool:
        """Whether it rests on the analysis of variance of all systems."""
        return self.test in ("tukey", "lsd") or self.effect == "sakai"


def require_choice(name: str, value: Any, choices: Any) -> None:
    """Check that an argument is one of the values of its type."""
    allowed = get_args(choices)
    if value not in allowed:
        near = closest(str(value), list(allowed))
        msg = f"{name} must be one of {', '.join(allowed)}, not {value!r}{near}"
        raise ValueError(msg)


def names_of(value: str | Sequence[str] | None) -> list[str]:
    """Return one name, several or none as a list."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        msg = (
            f"systems and columns are named by text, such as {str(value)!r}, not by "
            f"{value!r}"
        )
        raise TypeError(msg)
    return list(value)


def measures_of(value: str | Sequence[str] | None, known: Iterable[str]) -> list[str]:
    """Return the names of measures; a text is one that is known, or names several."""
    if isinstance(value, str) and value not in known:
        return split_measures(value)
    return names_of(value)


def require_names(given: Sequence[str], known: Sequence[str], what: str) -> None:
    """Check that names are among those there are."""
    for name in given:
        if name not in known:
            near = closest(str(name), [str(k) for k in known])
            listed = ", ".join(map(str, known[:20]))
            msg = f"no {what} {name!r}{near} There are: {listed}"
            raise ValueError(msg.replace("' There", "'; there"))


def require_together(how: Procedure, columns: Columns) -> None:
    """Refuse combinations of arguments that exclude each other."""
    dependent = [n for n in ("weight", "cluster") if columns.roles[n] is not None]
    repeat = columns.repeat
    _require_plain_queries(how, dependent)
    _require_one_correction(how)
    _require_two_sided(how)
    _require_margin(how)
    if how.zero_method != "wilcox" and how.test != "wilcoxon":
        msg = "zero_method= belongs to test='wilcoxon': name both or none"
        raise ValueError(msg)
    resampling = how.test in RESAMPLING or how.interval != "t"
    if resampling and how.n_resamples < 99:
        msg = f"n_resamples must be at least 99, not {how.n_resamples}"
        raise ValueError(msg)
    plain = how.test == "t" and not dependent
    if how.pairs == "independent" and (
        not plain or how.interval != "t" or repeat is not None
    ):
        msg = "pairs='independent' is for test='t' and interval='t', without weights"
        raise ValueError(msg)
    if how.repeats == "random" and (repeat is None or not plain):
        msg = "repeats='random' needs repeat= and test='t', without weight= or cluster="
        raise ValueError(msg)
    if how.repeats == "random" and how.interval in ("bca", "studentized"):
        msg = (
            f"interval={how.interval!r} is for fixed repeats; with repeats='random' "
            "choose 't', 'percentile' or 'bayesian'"
        )
        raise ValueError(msg)


def _require_plain_queries(how: Procedure, dependent: Sequence[str]) -> None:
    """Refuse weights where ranks, signs or the variance count every query once."""
    for name in dependent:
        if how.test in ("wilcoxon", "sign", *POOLED):
            msg = (
                f"{name}= cannot be used with test={how.test!r}; use 't' or "
                "'randomization'"
            )
            raise ValueError(msg)
        if how.effect == "sakai":
            msg = f"{name}= cannot be used with effect='sakai'"
            raise ValueError(msg)


def _require_one_correction(how: Procedure) -> None:
    """Refuse a second correction of tests and intervals that have their own."""
    if how.test in FAMILYWISE and how.correction not in (None, "none"):
        msg = (
            f"test={how.test!r} corrects for all pairs by itself: leave out "
            f"correction={how.correction!r}"
        )
        raise ValueError(msg)
    if how.test in ("tukey", "lsd") and how.interval != "t":
        msg = (
            f"test={how.test!r} has intervals of its own: leave out "
            f"interval={how.interval!r}"
        )
        raise ValueError(msg)
    if how.simultaneous and (how.test == "tukey" or how.family == "none"):
        why = (
            "the intervals of test='tukey' hold at once by themselves"
            if how.test == "tukey"
            else "family='none' corrects for no other test"
        )
        msg = f"{why}: leave out simultaneous=True"
        raise ValueError(msg)


def _require_two_sided(how: Procedure) -> None:
    """Refuse one-sided forms of tests and resampled intervals that have none."""
    if how.alternative == "two-sided":
        return
    if how.test in (*POOLED, "tost"):
        msg = f"test={how.test!r} has no one-sided form; leave out alternative="
        raise ValueError(msg)
    if how.interval != "t":
        msg = f"interval={how.interval!r} has no one-sided form; leave out alternative="
        raise ValueError(msg)


def _require_margin(how: Procedure) -> None:
    """Require the margin of equivalence, whose interval has level 1 - 2 (1 - level)."""
    if (how.test == "tost") != (how.margin is not None):
        msg = "margin= belongs to test='tost': name both or none"
        raise ValueError(msg)
    if how.margin is not None and not how.margin > 0:
        msg = f"margin must be above 0, not {how.margin!r}"
        raise ValueError(msg)
    if how.test == "tost" and how.level <= 0.5:
        msg = "level must be above 0.5 for test='tost'"
        raise ValueError(msg)


def require_no_rows(how: Procedure, columns: Columns) -> None:
    """Refuse what needs the values of single queries: moments hold none."""
    from_rows = how.test in FROM_ROWS
    if from_rows or how.interval != "t":
        what = f"test={how.test!r}" if from_rows else f"interval={how.interval!r}"
        msg = f"{what} needs the values of the queries, and these are moments"
        msg += "; use test='t' or test='tukey'" if from_rows else ""
        raise ValueError(msg)
    for name, column in columns.roles.items():
        if column is not None:
            msg = f"{name}= is chosen when moments are made"
            raise ValueError(msg)
    if how.effect in EFFECTS_FROM_ROWS:
        msg = f"effect={how.effect!r} needs values of the queries; these are moments"
        raise ValueError(msg)
