"""The measures whose bounds are known; others are refused, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.measures.measure import Custom, Measure, Measures, parse_measures
from polars_rank.robustness.limits import Asked

__all__ = ["with_known_bounds"]

# Exchanging two tied neighbours so that the better one comes first never lowers these
# (or never raises them: arp): all permutations of random lists agree.
SWAP = frozenset(
    (
        "accuracy", "precision", "recall", "f1", "f_measure", "rr", "ap", "gm_ap",
        "yaap", "cg", "dcg", "ndcg", "err", "nerr", "pfound", "rbp", "sdcg", "insq",
        "inst", "nerr8", "nerr9", "nerr10", "nerr11", "q_measure", "ncu_rb",
        "o_measure", "r_precision", "interpolated_precision", "eleven_point_ap",
        "bpref", "gm_bpref", "inf_ap", "hits", "compat", "partial_auc", "average_ndcg",
        "r_ndcg", "binary_g_measure", "arp",
    )
)  # fmt: skip
# These ask whether somebody judged a document, not how.
ABOUT_JUDGING = frozenset(("judged", "unjudged", "rbp_residual"))


def with_known_bounds(
    measures: Measures, convention: Convention, ways: Sequence[str], *, scored: bool
) -> list[Asked]:
    """The measures and their arguments; an error for one whose bounds are not known.

    ``ways`` are what varies, ``"ties"`` and ``"labels"``. A log with ranks is not
    ``scored``.
    """
    asked = []
    for measure in parse_measures(measures):
        if isinstance(measure, Custom):
            msg = f"nothing is known of the measure {measure.name!r}: it has no bounds"
            raise ValueError(msg)
        metric = measure.definition
        if metric.vocabulary == "subtopics":
            msg = f"bounds of {measure.name}, a measure of subtopics, are not known"
            raise ValueError(msg)
        if metric.uses_scores and not scored:
            msg = f"{measure.name} looks at the scores themselves: it cannot use rank="
            raise ValueError(msg)
        arguments = complete_arguments(metric, measure.arguments, convention=convention)
        policy = convention.no_relevant_of(metric.name, measure.no_relevant)
        asked.append(Asked(measure, arguments, policy))
        if "ties" in ways:
            _require_swap(measure, arguments, judged="labels" in ways)
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


def _require_swap(
    measure: Measure, arguments: Mapping[str, Any], *, judged: bool
) -> None:
    """Refuse where the order by labels is not known to be best; ``judged``: all are."""
    metric = measure.definition
    if not metric.tie_sensitive:
        return
    why = ""
    if metric.name in SWAP and arguments.get("divisor") != "hits":
        rel = arguments.get("rel")
        if not isinstance(arguments.get("gain", "linear"), str):
            why = " of this gain"
        elif rel is not None and rel <= 0 and not judged:
            why = f" with rel={rel}, where a label of 0 is better than none"
        else:
            return
    msg = (
        f"the best order of tied documents is not known for {measure.name}{why}; ask "
        "for over='labels', or break the ties"
    )
    raise ValueError(msg)
