"""A tool whose convention has a name, and what several tools begin with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from polars_rank.conventions.convention import Convention


class Tool(NamedTuple):
    """A tool whose convention has a name.

    Attributes
    ----------
    name
        Its name in tables.
    convention
        Its choices.
    follows
        The convention in a sentence.
    equal
        Metrics that a parity test compares with the tool, and the tool's name for each.
    lists
        The same of measures of lists and of the catalog.
    besides
        What the tool does that no choice says, and how its values can exceed 1.
    """

    name: str
    convention: Convention
    follows: str
    equal: Mapping[str, str]
    besides: str = ""
    lists: Mapping[str, str] = MappingProxyType({})

    @property
    def compared(self) -> Mapping[str, str]:
        """All metrics that a parity test compares, and the tool's name for each."""
        return {**self.equal, **self.lists}


TREC = Convention(
    name="trec_eval",
    ties="doc_desc",
    score_dtype="given",
    missing="zero",
    no_relevant="zero",
    unjudged="nonrelevant",
    on_duplicate="error",
    judgments="judged",
    negative_grade="zero",
    rel=1,
    gain="linear",
    discount="log2",
    ideal="judged",
    max_grade=4,
    precision_divisor="k",
    recall_divisor="R",
    ap_divisor="R",
)
# Tools that rank rows with labels: there are no judgments beside the rows.
ROWS = TREC.replace(ties="order", judgments="retrieved", missing="skip")
# Recommenders: the relevant items of a user are listed, the others are unknown.
ITEMS = TREC.replace(ties="order", gain="binary", no_relevant="skip")
ANY_GRADE = math.nextafter(0, 1)  # relevant above 0
ZERO, ONE, SKIP = ({"no_relevant": n} for n in ("zero", "one", "skip"))
