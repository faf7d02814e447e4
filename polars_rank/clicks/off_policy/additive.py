"""Define measures that add up over documents: the weight of a click at a rank."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import polars as pl

from polars_rank.measures.names import resolve_name

RankWeight: TypeAlias = Callable[[pl.Expr], pl.Expr]
AdditiveMeasure: TypeAlias = str | Mapping[str, RankWeight]
TEXT = re.compile(r"\s*(\w+)\s*(?:\(\s*p\s*=\s*([0-9.]+)\s*\))?\s*(?:@\s*(\d+))?\s*")
PERSISTENCE = 0.9

ADDITIVE: dict[str, str] = {
    "dcg": "1 / log2(rank + 1)",
    "hits": "1, number of relevant documents in the top k",
    "precision": "1 / k in the top k",
    "rbp": "(1 - p) p^(rank - 1), p = 0.9",
    "inverse_rank": "1 / rank, of every relevant document and not just of the first",
    "average_rank": "rank; lower is better, and a mean with method='snips' only",
}
"""Weight of a document at its rank, by the name of the measure."""


class Additive(NamedTuple):
    """A measure: its name, and the weight of a 1-based rank."""

    name: str
    weight: RankWeight

    @classmethod
    def of(cls, measure: AdditiveMeasure) -> Additive:
        """Read the argument; measures that do not add up are refused."""
        if isinstance(measure, Mapping):
            if len(measure) != 1 or not all(map(callable, measure.values())):
                msg = "a measure of your own is one name: function of the rank"
                raise ValueError(msg)
            ((name, weight),) = measure.items()
            return cls(name, weight)
        if not isinstance(measure, str):
            msg = (
                "measure must be text such as 'dcg@10' or a mapping of a name to a "
                f"function of the rank, not {type(measure).__name__}"
            )
            raise TypeError(msg)
        found = TEXT.fullmatch(measure)
        name, p, k = found.groups() if found else (measure, None, None)
        if found is None or name not in ADDITIVE:
            raise _refused(measure, name)
        if p is not None and (name != "rbp" or not 0 < float(p) < 1):
            msg = f"{measure!r}: p belongs to rbp, and lies between 0 and 1"
            raise ValueError(msg)
        depth = None if k is None else int(k)
        if depth == 0 or (name == "precision" and depth is None):
            msg = f"{measure!r} needs a cutoff of at least 1, such as {name}@10"
            raise ValueError(msg)
        full = _weight(name, float(p or PERSISTENCE), depth)
        if depth is None:
            return cls(measure.strip(), full)
        return cls(
            measure.strip(),
            lambda rank: pl.when(rank <= depth).then(full(rank)).otherwise(0.0),
        )


def _weight(name: str, p: float, k: int | None) -> RankWeight:
    if name == "dcg":
        return lambda rank: 1.0 / (rank + 1.0).log(2)
    if name == "rbp":
        return lambda rank: (1.0 - p) * pl.lit(p).pow(rank - 1.0)
    if name == "inverse_rank":
        return lambda rank: 1.0 / rank
    if name == "average_rank":
        return lambda rank: rank
    one = 1.0 if k is None or name == "hits" else 1.0 / k
    return lambda rank: rank * 0.0 + one


def _refused(measure: str, name: str) -> ValueError:
    known = ", ".join(ADDITIVE)
    try:
        resolve_name(name)
    except ValueError:
        return ValueError(
            f"unknown measure {measure!r}; those that add up over documents are {known}"
        )
    return ValueError(
        f"{measure!r} does not add up over documents: what one document is worth "
        "depends on the relevance of the others, which clicks do not show; use one of "
        f"{known}, such as dcg@10"
    )
