"""The rules for data: their names, and the messages if they are broken.

A rule is counted as an expression of a plan (:class:`Violation`) and enforced when the
plan runs, by :class:`~polars_rank.exceptions.DataError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl


class Rule(NamedTuple):
    """A rule about data.

    Attributes
    ----------
    name
        Identifies the rule for programs: ``DataError.rule``.
    message
        What is wrong, and the way out.
    always
        Whether breaking it is an error whatever ``check=`` says, since the user asked
        for the rule.
    side
        The frame whose rows break it, where there are two: ``"run"`` or
        ``"judgments"``.
    column
        The column that breaks it, where the message does not say.
    of_query
        Whether queries break it, which then are examples.
    """

    name: str
    message: str
    always: bool = False
    side: str = ""
    column: str = ""
    of_query: bool = True

    @property
    def told(self) -> str:
        """The message, with the side that it is about."""
        column = f"column {self.column!r}: " if self.column else ""
        return (f"{self.side}: " if self.side else "") + column + self.message


@dataclass(frozen=True, eq=False)
class Violation:
    """How often a rule is broken, counted within a query."""

    rule: Rule
    count: pl.Expr


NAN_SCORE = Rule(
    "nan_score",
    "NaN scores cannot be ranked; drop these rows or give them a score, e.g. with "
    "pl.col('score').fill_nan(...)",
)
NULL_SCORE = Rule(
    "null_score",
    "scores are null (pandas and Dask write NaN for it); drop these rows: documents "
    "that were not retrieved are taken from the judgments (qrels=)",
)
INVALID_RANK = Rule(
    "invalid_rank",
    "ranks that are not whole numbers of at least 1; rank= counts from 1 (null: not "
    "retrieved)",
)
DUPLICATE_RANK = Rule(
    "duplicate_rank",
    "duplicate ranks within a query; give every document a rank of its own",
)
INFINITE_GRADE = Rule(
    "infinite_grade",
    "grades that are NaN or infinite; give a finite number, or null for unjudged",
)
NEGATIVE_GRADE = Rule(
    "negative_grade",
    "negative grades, which the convention refuses; raise them to 0, or choose a "
    "convention that counts them as not relevant, such as 'trec_eval'",
    always=True,
)
GAIN_OVERFLOW = Rule(
    "gain_overflow",
    "a grade above 1023: 2^grade overflows; rescale the grades, or use a measure with "
    'gain="linear"',
)
NEGATIVE_GAIN = Rule(
    "negative_gain",
    "gains below 0 (or NaN), with which the ideal order would leave documents out; "
    "give gains of at least 0",
)
NULL_DOC = Rule(
    "null_doc", "document ids are null; drop these rows or give them a document id"
)
DUPLICATE_DOC = Rule(
    "duplicate_doc",
    "duplicate documents within a query; add a forgotten column to query= (the system, "
    'the day), drop the copies, keep the best of each with on_duplicate="best", or all '
    'ranks with on_duplicate="keep_rank"',
)
NULL_SUBTOPIC = Rule(
    "null_subtopic",
    "subtopics are null; drop these judgments or give them a subtopic",
)
NULL_QUERY = Rule(
    "null_query", "query ids are null; drop these rows or give them a query id"
)
DUPLICATE_QUERY = Rule(
    "duplicate_query", "queries= has more than one row per query; keep one of each"
)
DUPLICATE_SEGMENT = Rule(
    "duplicate_segment", "segments= has more than one row per query; keep one of each"
)
MISSING_QUERY = Rule(
    "missing_query",
    'judged queries are missing from the run; evaluate them as 0 with missing="zero" '
    'or leave them out with missing="skip"',
    always=True,
)
NO_COMMON_QUERY = Rule(
    "no_common_query",
    "no judged query is in the run: the run {run}, the judgments "
    "{qrels}; check query= and the spelling of the ids",
)
NO_COMMON_DOC = Rule(
    "no_common_doc",
    "no judged document was retrieved by any query: the run {run}, "
    "the judgments {qrels}; check doc= and the spelling of the ids (prefixes, blanks, "
    "leading zeros)",
)
VARYING_SEGMENT = Rule(
    "varying_segment",
    "a by=, weight= or keep= column varies within a query; make it constant, give one "
    "row per query in segments=, or add the column to query=",
)
INVALID_WEIGHT = Rule(
    "invalid_weight",
    "weights that are null, negative or not finite; give each query a weight",
)
NOT_CONTIGUOUS = Rule(
    "not_contiguous",
    "the rows of a query are not contiguous, as layout='contiguous' claims; use "
    "layout='any' (or 'auto'), or sort the rows by query",
    always=True,
)
NO_QUERY_FOUND = Rule(
    "no_query_found",
    "none of the queries evaluated is in {where}=: it has queries like {known}, "
    "{side} queries like {found}; ids must be equal, including prefixes and blanks",
    always=True,
)
READ_ONCE = Rule(
    "read_once",
    "the rows have to be read again, but this frame can be read only once; write them "
    "to a file first, e.g. with sink_parquet, or try layout='any' or memory_limit=: "
    "with one of these the rows are read once",
    always=True,
)
DUPLICATE_PREFERENCE = Rule(
    "duplicate_preference",
    "duplicate documents in the run or within a group of judgments; drop the copies",
)


# -- recommendations

NULL_INTERACTION = Rule(
    "null_interaction",
    "history= has null users or items; drop these rows",
    of_query=False,
)
EMPTY_HISTORY = Rule(
    "empty_history",
    "history= has no rows, so that every item would be cold; give the interactions "
    "that the recommender learned from",
    of_query=False,
)
NO_COMMON_ITEM = Rule(
    "no_common_item",
    "{measures}: no item of {where} is in history=: ids there are like {listed}, those "
    "of history= like {known}; check doc= and the spelling of the ids (prefixes, "
    "blanks, leading zeros)",
)
NULL_ITEM = Rule("null_item", "items= has null ids; drop these rows", of_query=False)
DUPLICATE_ITEM = Rule(
    "duplicate_item",
    "items= has more than one row per item; keep one of each",
    of_query=False,
)
UNKNOWN_ITEM = Rule(
    "unknown_item",
    "recommended items are not in items=; add them to it, or drop them from the lists",
)
UNKNOWN_RELEVANT = Rule(
    "unknown_relevant",
    "relevant items are not in items=; add them to it, or drop these judgments",
)
ITEM_WITHOUT_HISTORY = Rule(
    "item_without_history",
    "recommended items are not in history=, whose items are the catalog where there is "
    "no items=; give the whole catalog with items=",
)
RELEVANT_WITHOUT_HISTORY = Rule(
    "relevant_without_history",
    "relevant items are not in history=, whose items are the catalog where there is no "
    "items=; give the whole catalog with items=, or drop these judgments",
)
NULL_FEATURE = Rule(
    "null_feature",
    "the feature of a recommended (or relevant) item is null in items=; fill it, "
    "e.g. with a category of its own, or leave out such items",
)
ODD_VECTOR = Rule(
    "odd_vector",
    "the vector of a recommended item in items= has a number that is null, NaN or "
    "infinite; mend it, or leave out such items",
)


# -- fusion

NULL_FUSED_SCORE = Rule(
    "null_fused_score",
    "scores are null; drop these rows: a document that a run did not retrieve has no "
    "row there",
)
INFINITE_SCORE = Rule(
    "infinite_score",
    "infinite scores, which no norm can bring to a scale; give finite ones, or use a "
    'method of ranks, such as "rrf", or norm="rank"',
)
READ_TWICE = Rule(
    "read_twice",
    "runs in one frame, and those that a method learns from, are read twice, but this "
    "frame can be read only once; write it to a file first, e.g. with sink_parquet",
    always=True,
)
NEGATIVE_SCORE = Rule(
    "negative_score",
    'negative scores, which norm="max" cannot bring to a scale; use norm="min_max", or '
    '"zmuv"',
)

# -- click logs

NULL_IMPRESSION = Rule(
    "null_impression",
    "impression ids are null; drop these rows or give them an impression id",
)
INVALID_POSITION = Rule(
    "invalid_position",
    "positions that are null or before the first; they count from 1: give "
    "first_position=0 if yours count from 0",
)
DUPLICATE_POSITION = Rule(
    "duplicate_position",
    "duplicate positions within an impression; if positions begin anew on each page, "
    "name the page with page= and page_size=, or add it to impression=; number the "
    "slots of a grid or carousel row by row",
)
DUPLICATE_SHOWN = Rule(
    "duplicate_shown",
    "duplicate documents within an impression; merge their rows with "
    'on_duplicate="first", or drop the copies',
)
INVALID_CLICK = Rule(
    "invalid_click",
    "clicked is neither 0 nor 1; turn numbers of clicks into pl.col(...) > 0, and "
    'count null as 0 with clicked_null="zero"; a log of totals needs count=',
)
INVALID_DWELL = Rule(
    "invalid_dwell",
    "dwell times that are negative or not finite; set unknown ones to null",
)
CLICK_BEFORE_IMPRESSION = Rule(
    "click_before_impression",
    "clicks before their impression; correct the clocks, or set such times to null",
)
INVALID_PROPENSITY = Rule(
    "invalid_propensity",
    "propensities that are null, 0 or less, or above 1; they are probabilities that a "
    "position is examined (relative ones, which can exceed 1, go in propensities=)",
)
INVALID_RELEVANCE = Rule(
    "invalid_relevance",
    "relevance or rewards below 0, above 1 or NaN; they are probabilities of a click "
    "on an examined document (null: not known)",
)
INVALID_NEW_SCORE = Rule(
    "invalid_new_score",
    "scores of the new ranking that are null or NaN; score every shown document, or "
    "give the ranking as a frame of queries and documents",
)
NO_PROPENSITY = Rule(
    "no_propensity",
    "positions of the log without a propensity; estimate one, give one, or leave out "
    "these positions",
)
EARLY_PROPENSITY = Rule(
    "early_propensity",
    "propensities of positions below 1; they count from 1 here, whatever the log does "
    "(first_position=): add 1 to the column position",
    always=True,
)
UNUSABLE_PROPENSITY = Rule(
    "unusable_propensity",
    "propensities (or alpha) that are not above 0, or not finite; estimate or smooth "
    "them first",
    always=True,
)
DUPLICATE_PROPENSITY = Rule(
    "duplicate_propensity",
    "positions that have several propensities; if they depend on a column, such as the "
    "device, name it with by=, or filter the log and the propensities by it",
    always=True,
)
INVALID_CREDIT = Rule(
    "invalid_credit",
    "credits that are NaN or infinite, or ranks below 1; null is a document that the "
    "ranker does not have",
)
NO_SUPPORT = Rule(
    "no_support",
    "no document of the ranking {name!r} was logged for its query; check the ids of "
    "queries and documents",
    always=True,
)
NOTHING_SHUFFLED = Rule(
    "nothing_shuffled",
    "no impression is marked as shuffled or swapped; name the column that marks them",
    always=True,
)
NOT_NEIGHBORS = Rule(
    "not_neighbors",
    "swap of FairPairs must be the position above or below, in both rows of the "
    "pair; leave it null for documents that were in no pair",
)
ONE_HALF = Rule(
    "one_half",
    "all impressions of a pair of positions were swapped, or none was; mark all that "
    "took part, whether the coin swapped them or not",
    always=True,
)
NULL_CLUSTER = Rule(
    "null_cluster",
    "cluster= is null, and unknown users are not one user; give each such impression a "
    "cluster of its own, made of its id, or drop it",
)
NULL_SESSION = Rule(
    "null_session",
    "session ids are null, and searches of unknown sessions are not one session; give "
    "each such impression a session of its own, made of its id, or drop it",
)
NULL_ARM = Rule("null_arm", "arms are null; drop these impressions or give them an arm")
TWO_VALUES = Rule(
    "two_values",
    "a query, user, arm, by= or weight= column varies within an impression; make it "
    "constant, or add the column to impression=",
)
TWO_ARMS = Rule(
    "two_arms",
    "clusters (users) are in more than one arm; drop them, or correct their arm",
    always=True,
)
ARMS_MISSING = Rule(
    "arms_missing",
    "a comparison needs the control {control!r} and another arm; the arms of the log "
    "are: {arms}; name the control with control=",
    always=True,
)
ONE_TEAM = Rule(
    "one_team",
    "interleaving needs two teams; those of the log are: {teams}; name their column "
    "with team=",
    always=True,
)
NOT_INTERLEAVED = Rule(
    "not_interleaved",
    "no list has documents of two teams, so nothing was interleaved: column {column!r} "
    "must vary within an impression; name that of the teams with team=",
    always=True,
)
UNKNOWN_IMPRESSION = Rule(
    "unknown_impression",
    "impressions of the log are missing from impressions=; it has one row for each "
    "impression, with or without results",
)
DUPLICATE_IMPRESSION = Rule(
    "duplicate_impression",
    "impressions= has more than one row per impression; keep one of each",
)


def undefined(metric: str) -> Rule:
    """Return the rule of ``no_relevant="error"``: every query needs a value."""
    return Rule(
        "undefined",
        f"{metric} is undefined if nothing is relevant; choose a value with "
        'no_relevant="zero", "one", "skip" or "null"',
        always=True,
    )
