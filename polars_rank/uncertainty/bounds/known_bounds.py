"""The measures whose bounds are known; others are refused, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.measures.measure import Custom, Measures, parse_measures
from polars_rank.uncertainty.bounds.limits import Asked

# These ask whether somebody judged a document, not how.
ABOUT_JUDGING = frozenset(("judged", "unjudged", "rbp_residual"))


def with_known_bounds(
    measures: Measures, convention: Convention, ways: Sequence[str], *, scored: bool
) -> list[Asked]:
    """Return measures and arguments; refuse one whose bounds are not known.

    ``ways`` are what varies, ``"ties"`` and ``"labels"``. A log with ranks is not
    ``scored``.
    """
    if convention.on_duplicate == "keep_rank":
        msg = (
            "on_duplicate='keep_rank' leaves copies in the list that no label and no "
            "order of ties concerns: bounds are not known; choose on_duplicate='best'"
        )
        raise ValueError(msg)
    asked = []
    for measure in parse_measures(measures):
        if isinstance(measure, Custom):
            msg = f"{measure.name!r} is your own measure: its bounds are not known"
            raise ValueError(msg)
        metric = measure.definition
        if metric.vocabulary != "ranking":
            msg = (
                f"bounds of {measure.name}, a measure of {metric.vocabulary}, are not "
                "known"
            )
            raise ValueError(msg)
        if metric.uses_scores and not scored:
            msg = f"{measure.name} looks at the scores themselves: it cannot use rank="
            raise ValueError(msg)
        arguments = complete_arguments(metric, measure.arguments, convention=convention)
        policy = convention.no_relevant_of(metric.name, measure.no_relevant)
        asked.append(Asked(measure, arguments, policy))
        if "labels" not in ways:
            continue
        if metric.name in ABOUT_JUDGING:
            msg = (
                f"{measure.name} is about who was judged, not about labels: it has no "
                "bounds over them"
            )
            raise ValueError(msg)
        if metric.needs_relevant and policy not in ("zero", "one"):
            msg = (
                f"{measure.name} has no value where nothing is relevant "
                f"(no_relevant={policy!r}), so labels would change which queries are "
                "in the mean; choose no_relevant='zero' or 'one'"
            )
            raise ValueError(msg)
    if "labels" in ways:
        if convention.unjudged == "drop":
            msg = (
                "unjudged='drop' takes unjudged documents out, so they have no labels "
                "to vary; choose unjudged='nonrelevant'"
            )
            raise ValueError(msg)
        if convention.ties == "expected" and "ties" not in ways:
            msg = (
                "bounds over labels need an order, not the mean over tied orders: "
                "choose another rule with ties=, or over=('ties', 'labels')"
            )
            raise ValueError(msg)
    return asked
