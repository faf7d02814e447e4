"""Warnings about doubtful results, although no row breaks a rule.

The facts are a few sums over the queries, of the whole or of all parts together, so the
warnings are the same on one machine and on many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from polars_rank._engine.checks.enforce import warn
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.rules import (
    NO_COMMON_DOC,
    NO_COMMON_QUERY,
    NO_QUERY_FOUND,
    Rule,
)
from polars_rank.measures.measure import Custom, Measure, reads_labels

Found: TypeAlias = Mapping[str, Any]
Refuse: TypeAlias = Callable[[Rule], None]

NO_ROWS = "the frame has no rows, so no query is evaluated"
NO_JUDGMENTS = "the judgments have no rows, so no query is evaluated"
IS_NULL = (
    "is null in every row: without grades nothing is relevant; name the column of "
    "grades with label="
)
JUDGED_SIDE = "rows in the run and no judgments"
MISSING = {"zero": "counts as 0", "skip": "is left out"}


class About(Protocol):
    """The evaluation that the facts are about."""

    @property
    def measures(self) -> Sequence[Measure | Custom]:
        """The measures."""

    @property
    def convention(self) -> Convention:
        """The choices."""

    @property
    def missing_given(self) -> bool:
        """Whether the user has chosen the value of a missing query."""

    @property
    def no_relevant_given(self) -> bool:
        """Whether the user has chosen the value of a query with nothing relevant."""

    @property
    def rel_given(self) -> bool:
        """Whether the user has chosen the lowest relevant grade."""


def assess_judgments(
    about: About,
    found: Found,
    *,
    asked: bool,
    label: Callable[[], str],
    refuse: Refuse,
    strangers: Callable[[], bool],
) -> None:
    """Judge a run and its judgments: ids that never match, missing queries, grades.

    ``asked`` says whether the queries to evaluate are given, ``strangers`` whether no
    document of the run is judged; ``label`` names the column of grades.
    """
    missing = found["judged"] - found["common"]
    if not found["judged"]:
        if found["rows"]:
            warn(f"{label()} of the judgments {IS_NULL}")
    elif not found["common"]:
        refuse(NO_COMMON_QUERY)
    elif not found["matched"] and strangers():
        refuse(NO_COMMON_DOC)
    if found["judged"] and not asked:
        _warn_of_unjudged(about, found)
    if missing and not about.missing_given and not asked:
        _warn_of_missing(about, missing, found["judged"])
    assess_scale(about, found)


def assess_unmatched(about: About, count: Callable[[], int]) -> None:
    """Tell of queries of the run alone where the judgments may be another run."""
    compared = (
        m.name
        for m in about.measures
        if isinstance(m, Measure) and m.definition.of_two_rankings
    )
    name = next(compared, None)
    if name is not None and (alone := count()):
        one = alone == 1
        warn(
            f"{alone} {'query of the run has' if one else 'queries of the run have'} "
            f"no judgment and {'is' if one else 'are'} left out, although {name} "
            "compares two rankings: if the judgments are another run, name the queries "
            "to compare with queries= (those that either lacks have nothing in common)"
        )


def assess_queries(about: About, found: Found, *, side: str, refuse: Refuse) -> None:
    """Judge the requested queries: those that have no rows on a ``side``."""
    count, policy = found["missing"], about.convention.missing
    _warn_of_unjudged(about, found)
    if count and count == found["queries"]:
        refuse(NO_QUERY_FOUND)
    elif count and policy in MISSING and not about.missing_given:
        warn(
            f"{count} of the {found['queries']} queries in queries= "
            + ("has" if count == 1 else "have")
            + f" no {side}: such a query {_outcome(about)}; if that is intended, say "
            f'missing="{policy}"; a frame that only describes queries is segments='
        )


def assess_segments(found: Found, *, refuse: Refuse) -> None:
    """Judge segments: whether they describe any query."""
    if found["queries"] and not found["known"]:
        refuse(NO_QUERY_FOUND)


def assess_labels(
    about: About,
    found: Found,
    *,
    label: Callable[[], str],
    unlabeled: Callable[[], bool],
    needs_rows: bool,
) -> None:
    """Judge a log: whether it has rows, and labels."""
    if not found["queries"]:
        if needs_rows:
            warn(NO_ROWS)
    elif not reads_labels(about.measures):
        return
    elif found["highest"] is None and unlabeled():
        warn(f"{label()} of the frame {IS_NULL}")
    else:
        _warn_of_unjudged(about, found)
    assess_scale(about, found)


def assess_scale(about: About, found: Found) -> None:
    """Judge labels: whether they reach the ``rel`` of a measure.

    Labels between 0 and 1 are doubtful, too, if ``rel`` is 1 by default.
    """
    highest = found["highest"]
    fractions = 0 if about.rel_given else found.get("fractions") or 0
    if highest is None or highest <= 0:
        return
    for m in about.measures:
        if not isinstance(m, Measure):
            continue
        name = m.definition.named("rel")
        if name is None:
            continue
        choices = about.convention
        given = complete_arguments(m.definition, m.arguments, convention=choices)
        if highest < given[name]:
            warn(
                f"no document is relevant to {m}: the largest label is "
                f"{highest:g}, but relevant means at least {given[name]:g}; set "
                "rel= to a lower grade, or rescale the labels"
            )
            return
        if fractions and given[name] == 1 and name not in m.arguments:
            warn(
                f"{fractions} "
                + ("label lies" if fractions == 1 else "labels lie")
                + f" between 0 and 1, which {m} counts as not relevant; if labels are "
                "probabilities, set rel= to the lowest one that is relevant, or to 1 "
                "if this is intended"
            )
            return


def _outcome(about: About) -> str:
    """Say what becomes of a missing query."""
    policy = about.convention.missing
    measures = (m for m in about.measures if isinstance(m, Measure))
    if policy == "zero" and any(m.definition.zero is None for m in measures):
        unless = "unless a measure is undefined without documents"
        return f"{MISSING[policy]}, {unless}: then it has no value"
    return MISSING[policy]


def _warn_of_missing(about: About, missing: int, judged: int) -> None:
    policy = about.convention.missing
    if policy not in MISSING:
        return
    warn(
        f"{missing} of {judged} judged queries "
        + ("is" if missing == 1 else "are")
        + f" missing from the run: by the convention such a query {_outcome(about)}; "
        f'if that is intended, say missing="{policy}"'
    )


def _warn_of_unjudged(about: About, found: Found) -> None:
    count, policy = found.get("unjudged"), about.convention.no_relevant
    if count and not about.no_relevant_given:
        warn(
            f"{count} "
            + ("query has" if count == 1 else "queries have")
            + " no judgment: no label is known, so nothing is relevant and "
            f'no_relevant= decides; if that is intended, say no_relevant="{policy}"; '
            "to leave such queries out, drop their rows"
        )
