"""Names of measures: the library's, other tools', and other spellings of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from polars_rank.core.metric.registry import (
    ALIASES,
    METRICS,
    Metric,
    find_metric,
    similar,
)

NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)")
RANX_PERSISTENCE = re.compile(r"rbp\.(\d+)")
SUFFIX = re.compile(r"(?:_at_|[_.])(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
CUTOFF = re.compile(r"(?P<name>.*?[^\d_-])(?:[_-]?at)?[_-]?(?P<k>\d+|k)")
USUAL = ("ndcg", "ap", "rr", "precision", "recall", "accuracy")


class Named(NamedTuple):
    """The meaning of a name: a metric, its preset parameters, those in its suffix."""

    metric: Metric
    preset: dict[str, Any]
    after: dict[str, Any]


def resolve_name(name: str) -> Named:
    """Read a name such as ``ndcg``, ``P_5``, ``map_cut.10``, ``Recall_at_20``, ``HR``.

    An exact name takes precedence over other spellings, which count only if they mean a
    single thing.
    """
    if digits := RANX_PERSISTENCE.fullmatch(name):
        return Named(METRICS["rbp"], {"scale": 1}, {"p": float(f"0.{digits[1]}")})
    if metric := find_metric(name):
        return Named(metric, dict(metric.aliases.get(name, {})), {})
    for form in (str, _folded, _squashed):
        for names, after in _readings(name, form):
            meanings = {(_metric(n).name, str(_preset(n))) for n in names}
            if len(meanings) > 1:
                raise ValueError(_ambiguous(name, names))
            return Named(_metric(names[0]), _preset(names[0]), after)
    raise unknown_measure(name)


def _readings(
    name: str, form: Callable[[str], str]
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield known prefixes, longest first, and the parameters set by the rest."""
    spellings = _spellings(form)
    for end in range(min(len(name), _longest(spellings)), 0, -1):
        names = spellings.get(form(name[:end]))
        if names and end == len(name):
            yield names, {}
        elif names and (rest := SUFFIX.fullmatch(name, end)):
            after = _after(_metric(names[0]), rest["rest"])
            if after is not None:
                yield names, after


def _after(metric: Metric, rest: str) -> dict[str, Any] | None:
    """Read trec_eval's ``5``, ``0.10``, ``1,-1,0,0``, ``1=3.5,2=9`` or ``p=0.8``."""
    parts = [part.partition("=") for part in rest.split(",")]
    if not all(NUMBER.fullmatch(value or name) for name, _, value in parts):
        return None
    if all(equals for _, equals, _ in parts):
        named = {name: _number(value) for name, _, value in parts}
        gain = metric.named("gain")
        if gain is not None and all(map(NUMBER.fullmatch, named)):
            return {gain: {_number(grade): value for grade, value in named.items()}}
        return named if named.keys() <= metric.parameters.keys() else None
    if len(parts) != len(metric.after) or any(equals for _, equals, _ in parts):
        return None
    values = [_number(name) for name, _, _ in parts]
    return dict(zip(metric.after, values, strict=True))


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


# -- other letters


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _squashed(name: str) -> str:
    return _folded(name).replace("_", "")


def _spellings(form: Callable[[str], str]) -> dict[str, list[str]]:
    """Return all names by their normalized form; a metric's own name comes first."""
    spellings: dict[str, list[str]] = {}
    for name in (*METRICS, *ALIASES):
        spellings.setdefault(form(name), []).append(name)
    return spellings


def _longest(spellings: Iterable[str]) -> int:
    """Return the length of the longest name, signs between its words included."""
    return 2 * max(map(len, spellings))


def _metric(name: str) -> Metric:
    return METRICS.get(name) or ALIASES[name]


def _preset(name: str) -> dict[str, Any]:
    return dict(_metric(name).aliases.get(name, {}))


# -- errors


def unknown_measure(name: str) -> ValueError:
    """Return the error for an unknown name, with the names that are close."""
    return ValueError(f"unknown measure {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    if len(several := [part.strip() for part in name.split(",")]) > 1:
        return f"; to name several, give a list: {several}"
    if (cutoff := CUTOFF.fullmatch(name)) and (same := _same(cutoff["name"])):
        k = cutoff["k"] if cutoff["k"].isdigit() else 10
        return f"; did you mean '{same}@{k}'?"
    if near := _close(_folded(name)):
        return "; did you mean " + " or ".join(map(repr, near)) + "?"
    return (
        f"; common ones are {', '.join(USUAL)}; for all of them, see: polars-rank "
        "measures"
    )


def _same(name: str) -> str | None:
    """Return the name as it is spelled, of a metric with a cutoff."""
    spellings = _spellings(_squashed)
    names = spellings.get(_squashed(name), [])
    return next((n for n in names if _metric(n).named("k")), None)


def _close(folded: str) -> list[str]:
    """Return names that begin with the word or resemble it, one per metric.

    Names of two letters resemble too many words.
    """
    spellings = _spellings(_folded)
    if folded in spellings:
        return [_metric(spellings[folded][0]).name]
    longer = [form for form in spellings if len(form) > 2]
    begun = [form for form in longer if form.startswith(folded) and len(folded) > 1]
    if len(folded) > _longest(longer):  # nothing can be close, which takes long to find
        return []
    near: dict[str, str] = {}
    for form in begun + similar(folded, longer, n=9):
        shown = spellings[form][0]
        near.setdefault(_metric(shown).name, shown)
    return list(near.values())[:3]


def _ambiguous(name: str, names: list[str]) -> str:
    own, *others = names
    meant = (f"{other!r}, which is {_written(other)}" for other in others)
    return f"the measure {name!r} may be {own!r} or {', or '.join(meant)}; pick one"


def _written(alias: str) -> str:
    preset = ", ".join(f"{n}={value}" for n, value in _preset(alias).items())
    return _metric(alias).name + (f"({preset})" if preset else "")
