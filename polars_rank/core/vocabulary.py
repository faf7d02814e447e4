"""The words of the public interface: every parameter and result column, once.

One word has one meaning everywhere. The help of the command and the page of words in
the documentation are made of this table; a test compares it with all signatures and
with the columns of results.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["COLUMNS", "PARAMETERS", "Kind", "Result", "Word", "kinds"]

Kind: TypeAlias = Literal["file", "column", "choice", "resource", "output", "python"]


class Word(NamedTuple):
    """What a parameter means, in a line.

    ``kind`` is the group of the option in the command: a file (in Python a frame), a
    column, a choice, a resource or an output; ``"python"`` has no option.
    """

    kind: Kind
    about: str


class Result(NamedTuple):
    """What a column of a result holds: its type, and its meaning in a line.

    ``"label"`` is the type of the user's own column.
    """

    dtype: str
    about: str


def kinds(**groups: dict[str, str]) -> dict[str, Word]:
    """Join the words of all groups in one table; a word stands once."""
    found: dict[str, Word] = {}
    for kind, words in groups.items():
        twice = found.keys() & words.keys()
        if twice:
            raise ValueError(f"two meanings of {sorted(twice)}")
        found |= {n: Word(kind, about) for n, about in words.items()}  # type: ignore[arg-type]
    return found


PARAMETERS: dict[str, Word] = kinds(
    file={
        "about_documents": "Attributes of documents: titles and links.",
        "about_queries": "Attributes of queries: what was asked.",
        "after": "Run after the change; or several, by name.",
        "covariates": "Log of the time before the experiment, to reduce the variance "
        "(CUPED): each measure is adjusted by its own value in that time, user by "
        "user.",
        "history": "The interactions that users had before, one row each.",
        "impressions": "One row per impression, with or without results.",
        "items": "The catalog, one row per item, with its features.",
        "model_qrels": "Labels by the model, of all queries.",
        "original": "Values of the experiment that was repeated.",
        "propensities": "Position and propensity (or alpha and beta).",
        "qrels": "The judgments.",
        "qrels_before": "The judgments of the run before, if they have changed since.",
        "queries": "The queries to evaluate, one row per query; it may have the "
        "columns of by and weight.",
        "segments": "Attributes of queries, one row per query, for by, weight and "
        "keep; it does not change which queries are evaluated.",
    },
    column={
        "arm": "Arm of the experiment.",
        "by": "Column with segments, reported one by one and constant within a query "
        "or an impression.",
        "clicked": "Whether it was clicked: true or false, 0 or 1. Default: clicked.",
        "clicked_at": "Time of the click.",
        "cluster": "Column with units that are independent of each other, usually the "
        "user.",
        "count": "For a log of totals: number of impressions; clicked is the number "
        "of clicks.",
        "descending": "Rank high scores first; not so for distances.",
        "doc": "Document id. Default: doc_id.",
        "documents": "Column with the document ids of a query, best first.",
        "dwell": "Seconds that a click lasted.",
        "features": "Columns that make up slices of queries.",
        "flag": "Whether the results answered the query without a click.",
        "impression": "Impression id; several columns may make up the id.",
        "item": "Item id. Default: item_id, unless it is not needed.",
        "keep": "Column to add to the values per query.",
        "label": "Grade of the document; none if every judged document is relevant.",
        "new": "Scores of a new ranking.",
        "of": "Column whose mean is compared between slices.",
        "page": "Number of the page, if positions begin anew on every page.",
        "position": "Place of the document in the list. Default: position.",
        "propensity": "Logged probability that the position is examined.",
        "qrels_doc": "Document id in the judgments, if it has another name there.",
        "qrels_query": "Query id in the judgments, if it has another name there.",
        "query": "Query id; several columns may make up the id. Default: query_id.",
        "randomized": "Whether the list was shuffled.",
        "rank": "Rank of the document, counted from 1, to use instead of a score.",
        "reference_label": "Grade in the judgments that others are compared with.",
        "relevance": "Relevance of the document, for trust and regression_em.",
        "repeat": "Column that distinguishes several runs of a system.",
        "reward": "A model's probability of a click on an examined document, for dr "
        "and dm.",
        "score": "Score of the document.",
        "seen": "Use only rows where this is true.",
        "session": "Session id.",
        "subtopic": "Subtopic of the grade, in the judgments (in TREC text: "
        "iteration).",
        "swap": "Position that a coin could swap with the first one; for fair_pairs: "
        "the position above or below that this document was paired with.",
        "swapped": "Whether the first document and that of the position were swapped.",
        "system": "Column that tells systems apart; several runs go by their tags or "
        "file names.",
        "systems": "Columns of a wide table, one for each system.",
        "test_start": "First time of the test.",
        "team": "Ranker that put the document into an interleaved list.",
        "text": "What a query asked.",
        "time": "Column of time: of the impression, of the interaction, or of the "
        "period.",
        "title": "Title of a document.",
        "url": "Link to a document.",
        "user": "User id.",
        "weight": "Weight of the query or impression.",
        "weight_before": "Weight that a query had before; default: the same.",
        "within": "Compare documents within the values of this column only.",
    },
    choice={
        "adjust": "Add p-values adjusted for the number of comparisons.",
        "alternative": "Direction of the differences that the test looks for.",
        "baseline": "What all others are compared with; default: all pairs of systems.",
        "check": "What to do about bad rows: strict raises an error, warn warns, off "
        "ignores; full looks for all duplicates of a click log, or of negatives.",
        "choices": "Choice to try, such as ties, gain, k; default: all.",
        "clicked_null": "Meaning of null in clicked.",
        "clip": "Lower limit of the propensities.",
        "control": "Arm that the others are compared with.",
        "convention": "Tool whose choices are followed; see: polars-rank conventions.",
        "correction": "Correction of the p-values for the number of tests; default: "
        "holm.",
        "count_queries": "Count distinct queries.",
        "credit": "What a click is worth: clicks, any, first, satisfied, inverse_rank "
        "or a column.",
        "difference": "Difference to detect; the number of queries follows.",
        "effect": "Effect size.",
        "estimator": "How harvest compares positions.",
        "eta": "Strength of the position bias: the propensity is position ** -eta.",
        "every": "Group dates into periods, such as 1w or 1mo.",
        "family": "Tests that are corrected together.",
        "first_position": "0 if positions count from 0.",
        "grades": "Number of grades, with about as many documents in each.",
        "grades_within": "Spread the documents of the log, or those of each query, "
        "evenly over the grades.",
        "honest": "Search slices in one half of the queries, and test them in the "
        "other.",
        "interleaved_share": "Share of lists that are team drafts.",
        "interval": "How intervals are computed.",
        "k": "Length of the list, or cutoff: ranks from 1 to k; of reciprocal rank "
        "fusion, the constant added to the ranks.",
        "level": "Confidence level; 1 - level is the significance level.",
        "lift": "Relative change of relevance in all arms but the first.",
        "margin": "Largest difference that does not matter.",
        "max_documents": "Lowest rank that is shown of a list.",
        "max_features": "How many features a slice combines.",
        "max_grade": "Highest grade of an unjudged document; default: of the "
        "judgments.",
        "max_orders": "Labelings and orders of a query to try, for measures without a "
        "shortcut.",
        "max_queries": "Queries whose lists are shown: those that moved most.",
        "max_rank": "Count documents below this rank as not retrieved.",
        "max_slices": "Largest number of slices that are tested.",
        "max_steps": "Largest number of steps of a fit.",
        "max_unseen": "Documents per query, neither retrieved nor judged, that could "
        "have labels, too.",
        "measure": "Measure, such as ndcg@10; off-policy, one that adds up over "
        "documents, such as dcg@10 or precision@5.",
        "measures": "Measures, such as ndcg@10,ap; or a column of values; see: "
        "polars-rank measures.",
        "method": "Estimator, or method of fusion.",
        "min_clicks": "Documents with fewer have no label.",
        "min_dwell": "Seconds of a satisfied click.",
        "min_impressions": "Documents (of a query) with fewer are left out.",
        "min_queries": "Segments with fewer queries are shown, not tested.",
        "missing": "Value of a judged query that is missing from the run.",
        "n_arms": "Number of arms.",
        "n_bins": "Number of bins of a number, which is cut at its quantiles.",
        "n_docs": "Documents that each query can show.",
        "n_impressions": "Number of impressions.",
        "n_last": "Number of test rows per user.",
        "n_judgments": "Number of documents to judge; None: all.",
        "n_queries": "Number of queries.",
        "n_rankers": "Number of rankers that served lists.",
        "n_resamples": "Number of draws of randomization, permutation and bootstrap.",
        "n_systems": "Number of systems; more than two are planned for a two-way "
        "analysis of variance.",
        "n_users": "Number of users; a tenth of the impressions unless given.",
        "no_click": "Whether impressions without a click are ignored or count as ties.",
        "no_relevant": "Value of a query with nothing relevant.",
        "normalize": "Position whose propensity is 1.",
        "on_duplicate": "What to do about duplicate documents within a query or an "
        "impression.",
        "order": "Order of the systems: the best mean of the first measure first, by "
        "name, or as they are given.",
        "over": "Unknowns to vary: labels (of unjudged documents), ties, or both.",
        "p": "Persistence of rbo: the probability of going on to the next document.",
        "page_size": "Number of positions per page.",
        "paired": "Whether all systems have the same queries; if not, sd is that of "
        "the values of one system, and the analysis is one-way.",
        "pairs": "What to do about queries that some systems lack.",
        "part": "Name of the part, such as its day. Two parts of the same values are "
        "one part, which merge refuses to count twice, unless they have two names.",
        "policy_aware": "Divide by the mean propensity of a document over all "
        "impressions of the query.",
        "power": "Probability of detecting the difference.",
        "prior": "Shrink uncertain estimates towards the mean of the log, or of the "
        "query.",
        "randomized_share": "Share of lists that are shuffled.",
        "rel": "Lowest grade that counts as relevant.",
        "repeats": "Whether conclusions hold for these runs, or for runs of other "
        "seeds, too.",
        "rule": "When to fail: the drop is significant and larger than the margin; it "
        "is not shown to be smaller than the margin; it is larger than the margin.",
        "sampled": "What was drawn at random for people to judge: queries with all "
        "their documents, or single documents, for measures that add up over "
        "documents.",
        "sd": "Standard deviation of the differences.",
        "seed": "Seed of all draws.",
        "sequential": "Use intervals and p-values that hold whenever one looks "
        "(always-valid).",
        "share": "Probability with which a document was drawn; default: the share of "
        "the model's labels that people judged.",
        "shuffled": "Number of positions that were shuffled, from the top; default: "
        "all.",
        "simultaneous": "All intervals of a family hold at once.",
        "stats": "Statistics of each measure: the mean, the number of queries that "
        "have a value (n), their standard deviation (std), the standard error of the "
        "mean (se); median, min, max, quantiles (p10, p99.5), and the mean of the "
        "worst tenth (worst_tenth).",
        "swap_share": "Share of lists that take part in a swap.",
        "test": "Test of the differences.",
        "test_share": "Share of the rows, or of the users, that are the test.",
        "tie": "Differences up to this size are ties.",
        "ties": "Order of documents with equal scores, or of rows at one time.",
        "tol": "Relative change at which a fit ends.",
        "unit": "Independent observation: row, since every part has queries of its "
        "own; or part, a file as a whole, since the same queries come back (ten files "
        "or more); or the name of a segment, such as query_id of moments by query_id.",
        "universe": "Documents that could have labels: those a system retrieved, or "
        "the pool.",
        "unjudged": "What to do with unjudged documents: count them as not relevant, "
        "or drop them.",
        "user_model": "Click model of the users.",
        "user_sd": "Standard deviation of the users' effects on the logit of a click.",
        "weighting": "Weights of documents, for all estimators but poisson.",
        "width": "Expected width of the interval; the number of queries follows.",
        "window": "Periods, up to the present one, that each row sums up; none: all "
        "so far.",
        "zero_method": "What the Wilcoxon test does with differences of 0.",
        "zipf": "Exponent of the Zipf distribution of traffic over queries.",
    },
    resource={
        "layout": "Order of the rows: contiguous by query or impression (verified), "
        "any, or auto to find out.",
        "memory_limit": "Memory limit, e.g. 2GB; rows are spilled to disk.",
        "temp_dir": "Folder for spill files; an interrupted evaluation resumes from "
        "it.",
    },
    output={
        "bounds": "Add bounds over tied orders and unknown labels, of values and of "
        "the differences of systems; not in csv.",
        "per_query": "Print the bounds of every query instead of the mean.",
    },
    python={
        "comparison": "Comparison of the runs that a page is about.",
        "facts": "What a reader of a page should know, by name.",
        "gate": "Verdict on the runs that a page is about.",
        "names": "Names of the two runs.",
        "notes": "Warnings that a page shows.",
        "slices": "Slices that a page shows.",
        "to_judge": "Documents to judge next, offered as a file.",
        "trend": "Means over time that a page shows.",
        "metadata": "Text that is kept in the file.",
        "a": "Parameter a of the scale, for how='linear'.",
        "b": "Parameter b of the scale, for how='linear'.",
        "columns": "Names of the columns of a file without a header.",
        "continuation": "Probability of going on after a click.",
        "credits": "Columns with the credit that a click gives each ranker.",
        "definition": "Definition of the values, unless they are a file that holds it.",
        "depth": "Length of the rankings that probabilistic interleaving drew from; of "
        "the lists that are fused.",
        "eps_minus": "Probability of a click on an examined document that is not "
        "relevant, by position.",
        "eps_plus": "Probability of a click on an examined relevant document, by "
        "position.",
        "examination": "Probability of examining each position.",
        "expected_split": "Planned share of each arm.",
        "floors": "Lowest mean that is allowed, by measure.",
        "folder": "Folder that all workers share.",
        "format": "Format of the file, whatever its name says.",
        "gamma": "Probability of going on unsatisfied; of gmnz, the exponent of the "
        "number of runs.",
        "grid": "Values of parameters to try.",
        "edges": "Where numbers are cut, by feature.",
        "how": "Formula of the scale; how interactions are split.",
        "keep_clusters": "Whether to keep the sums of each cluster, so that a user "
        "who comes back is still one user.",
        "keys": "Columns that identify the same search.",
        "kind": "Whether TREC text is a run or judgments.",
        "labels": "Column with the list of labels.",
        "largest_parts": "Whether to show the largest parts of each difference.",
        "logging": "Policy that served the lists.",
        "map": "What applies a function to each part: the builtin, a pool's, an "
        "engine's.",
        "n_buckets": "Number of buckets.",
        "n_folds": "Number of parts of the queries in a cross-validation.",
        "n_parts": "Number of parts.",
        "n_segments": "Number of segments of a list.",
        "name": "Name of the column of the measure.",
        "norm": "Norm that brings the scores of a list to a scale.",
        "path": "File that the result is written to.",
        "phi": "Probability of going on to the next rank.",
        "progress": "Called with a Progress as buckets are filled and evaluated.",
        "ranks": "Columns with the ranks that each ranker gave the document.",
        "reference": "Judgments or values that others are compared with.",
        "relevant": "Column with the list of relevant document ids.",
        "resume": "Folder that holds results of parts, to go on after an interruption.",
        "retrieved": "Column with the list of retrieved document ids.",
        "scores": "Column with the list of scores.",
        "sigma": "Number added to the number of runs.",
        "split": "Judgments of a data set: test, train or dev.",
        "steps": "Steps of each weight from 0 to 1.",
        "temperature": "Spread of the stochastic policy.",
        "train": "Judgments of the queries that a method learns from.",
        "min_probability": "Probability of the rarest item in one draw, or less.",
        "n_items": "Number of items that a relevant one is ranked among, itself "
        "included.",
        "probability": "Column with the probability of the item in one draw.",
        "replacement": "Whether negatives were drawn with replacement.",
        "tuned_for": "Number of periods at which the sequential interval is narrowest.",
        "unretrieved": "Whether documents that were not retrieved are ranked below "
        "all that were.",
        "w": "Places on either side of a rank.",
        "weights": "Weights of disagreement of Cohen's kappa; weights of fused runs.",
        "whole_clusters": "Whether each cluster lies in one part.",
    },
)

COLUMNS: dict[str, Result] = {
    "above": Result("List(Int64)", "Numbers of negatives above the relevant item."),
    "arm": Result("label", "Arm that is compared with the control."),
    "baseline": Result("String", "System that the other one is compared with."),
    "baseline_label": Result("Float64", "Grade of the document before."),
    "baseline_mean": Result("Float64", "Mean of the baseline."),
    "baseline_share": Result("Float64", "Share of the segment before."),
    "baseline_value": Result("Float64", "Value of the query in the baseline."),
    "baseline_rank": Result(
        "UInt32", "Rank of the document in the baseline; null: not retrieved."
    ),
    "better": Result("String", "System that is better, by the means or by the test."),
    "candidate": Result("String", "Weights or parameters that were tried."),
    "churn": Result("Float64", "Share of the discounted places that changed hands."),
    "choice": Result("String", "Disputed choice that was changed."),
    "click_entropy": Result(
        "Float64", "Entropy of the clicks of a query over documents, in bits."
    ),
    "clicked": Result("Int64", "Impressions with a click."),
    "clicks": Result("Int64", "Number of clicks."),
    "clipped": Result("Float64", "Share of the clicks whose weight was clipped."),
    "clusters": Result("UInt32", "Number of independent units."),
    "clusters_control": Result("UInt32", "Number of independent units in the control."),
    "clusters_treatment": Result(
        "UInt32", "Number of independent units in the other arm."
    ),
    "contribution": Result(
        "Float64", "What the document adds to the value, or to the difference."
    ),
    "control": Result("Float64", "Value in the control."),
    "count": Result("Int64", "Rows, users, items or pairs that break the rule."),
    "converged": Result(
        "Boolean", "Whether the fit ended before its largest number of steps."
    ),
    "counts": Result("List(Int64)", "Number of users with each number above."),
    "crossover": Result(
        "Boolean",
        "Whether the winner changes between this strength and the one before.",
    ),
    "cut": Result("Float64", "Share of the clicks that the cutoff leaves out."),
    "d": Result("Float64", "Sum of the weights."),
    "dd": Result("Float64", "Sum of squares of the weights of units."),
    "definition": Result(
        "String", "What was summed up: measures, convention, judgments, version."
    ),
    "delta_ri": Result("Float64", "Difference of relative improvements."),
    "detectable": Result(
        "Float64", "Difference that would be detected with 80 % power."
    ),
    "df": Result("Float64", "Degrees of freedom."),
    "df_error": Result("Float64", "Degrees of freedom of the residual."),
    "df_system": Result("Float64", "Degrees of freedom of the systems."),
    "difference": Result("Float64", "System minus baseline."),
    "digests": Result("String", "Digests of the parts that are summed up."),
    "documents": Result("UInt32", "Number of documents."),
    "ed": Result("Float64", "Sum of products with the weights."),
    "ee": Result("Float64", "Sum of squares of what units add beyond the mean."),
    "effect": Result("Float64", "Effect size."),
    "effect_lower": Result("Float64", "Lower end of its interval."),
    "effect_ratio": Result(
        "Float64", "Effect of the repeated experiment by that of the original."
    ),
    "effect_upper": Result("Float64", "Upper end of its interval."),
    "effective_clusters": Result(
        "Float64", "Number of equal clusters that would tell as much."
    ),
    "effective_clusters_control": Result(
        "Float64", "Number of equal units that would tell as much, in the control."
    ),
    "effective_clusters_treatment": Result("Float64", "The same in the other arm."),
    "effective_size": Result(
        "Float64", "Number of equally weighted impressions that would tell as much."
    ),
    "entered": Result("UInt32", "Documents that are new among the first k."),
    "estimate": Result("Float64", "Point estimate."),
    "eta": Result("Float64", "Strength of the position bias that is assumed."),
    "exact": Result("Boolean", "Whether the bounds are attained."),
    "examples": Result("List(String)", "Some that break the rule."),
    "f": Result("Float64", "F statistic."),
    "first": Result(
        "Float64",
        "Share of the resamples in which the better system comes first of all.",
    ),
    "floor": Result("Float64", "Lowest mean that is allowed."),
    "fold": Result("UInt32", "Part of the queries, from 1."),
    "gap": Result("Float64", "Mean of the slice less that of the other queries."),
    "group": Result("UInt64", "Group of users that is left out together."),
    "human": Result("Float64", "Mean under the judgments by people alone."),
    "human_lower": Result("Float64", "Lower end of its interval."),
    "human_se": Result(
        "Float64", "Standard error of the mean under the judgments by people."
    ),
    "human_upper": Result("Float64", "Upper end of its interval."),
    "impact": Result("Float64", "Share of the slice in the queries, times its gap."),
    "impressions": Result("Int64", "Number of impressions."),
    "item": Result("String", "What the value is of."),
    "judged": Result("UInt32", "Queries that people judged."),
    "jaccard": Result("Float64", "Common documents by those of either run."),
    "kept": Result("Float64", "Share of the resamples in which the order is kept."),
    "kind": Result(
        "String",
        "How the document moved: entered, left, up, down, same; query: with a query "
        "that has a value in one run only.",
    ),
    "label": Result("Float64", "Grade of the document."),
    "label_effect": Result("Float64", "What the change of labels adds."),
    "labels_lower": Result(
        "Float64", "Least mean over the labels of unjudged documents."
    ),
    "labels_upper": Result(
        "Float64", "Largest mean over the labels of unjudged documents."
    ),
    "largest_weight_share": Result(
        "Float64", "Share of the largest weight in all weights."
    ),
    "left": Result("UInt32", "Documents that are no longer among the first k."),
    "letters": Result(
        "String", "Systems that share a letter do not differ significantly."
    ),
    "losses": Result("UInt32", "Queries that the system loses."),
    "lower": Result("Float64", "Lower end of the interval or of the bounds."),
    "margin": Result("Float64", "Largest drop that does not matter."),
    "max_difference": Result("Float64", "Largest difference of a system."),
    "mde": Result("Float64", "Minimum detectable effect."),
    "mean": Result("Float64", "Mean over queries."),
    "measure": Result("String", "Measure."),
    "message": Result("String", "What is wrong, and the way out."),
    "method": Result("String", "Estimator."),
    "min_difference": Result("Float64", "Least difference of a system."),
    "min_negatives": Result(
        "Int64", "Fewest sampled negatives that tell the ranks that matter."
    ),
    "mix": Result("Float64", "What the changed shares of segments add."),
    "model": Result("Float64", "Mean under the model's labels."),
    "moves": Result("Float64", "Mean change of rank of common documents."),
    "n": Result("UInt32", "Independent units: queries or clusters."),
    "n_significant": Result(
        "UInt32", "Number of swapped pairs that differ significantly in either measure."
    ),
    "naive": Result("Float64", "Mean among the sampled items alone."),
    "negatives": Result(
        "Float64 or List(Int64)", "Number of sampled negatives; of lists, their mean."
    ),
    "new_unjudged": Result("UInt32", "Documents that entered and have no label."),
    "note": Result(
        "String", "Remark, where an assumption fails or a value is missing."
    ),
    "nrmse": Result("Float64", "Root mean square error by the range of the original."),
    "omega_squared": Result(
        "Float64", "Share of the variance that systems explain, corrected for bias."
    ),
    "other": Result("String", "The other system or measure of a pair."),
    "overlap": Result("Float64", "Common documents by those of the longer list."),
    "p_adjusted": Result(
        "Float64 or List(Float64)", "P-values adjusted for the number of tests."
    ),
    "p_value": Result("Float64", "P-value."),
    "pairs": Result("UInt32", "Number of pairs of systems."),
    "part": Result("String", "What the difference is split by."),
    "partial_eta_squared": Result(
        "Float64", "Share of the variance of systems and residual that systems explain."
    ),
    "position": Result("Int64 or Int32", "Position in the list, from 1."),
    "possible": Result("Boolean", "Whether the estimate is possible from this log."),
    "power": Result("Float64", "Probability of detecting the difference."),
    "preference": Result(
        "Float64", "Share of the wins in wins and losses, minus one half."
    ),
    "propensity": Result(
        "Float64", "How likely the position is examined, relative to the first one."
    ),
    "queries": Result(
        "UInt32 or Int64",
        "Number of queries; of a plan, of which there may be more than 2^32, Int64.",
    ),
    "rank_effect": Result("Float64", "What the change of ranks adds."),
    "rbo": Result("Float64", "Rank-biased overlap of the first k."),
    "rank": Result("UInt32", "Rank of the document, from 1; null: not retrieved."),
    "relative": Result(
        "Float64", "Difference by the value of the baseline or control."
    ),
    "relative_lower": Result("Float64", "Lower end of its interval."),
    "relative_upper": Result("Float64", "Upper end of its interval."),
    "relevant_per_impression": Result(
        "Float64", "Estimated relevant documents per impression."
    ),
    "reverses": Result("Boolean", "Whether its label can reverse an order of runs."),
    "rmse": Result("Float64", "Root mean square error."),
    "rows": Result("Int64", "Number of rows."),
    "rule": Result("String", "Rule that rows break."),
    "same_top": Result("Float64", "Whether the first document is the same."),
    "scale": Result("String", "What a value is relative to."),
    "sd": Result("Float64", "Standard deviation of the differences."),
    "score": Result("Float64", "Score of the document."),
    "se": Result("Float64", "Standard error of the estimate."),
    "segment": Result("String", "Segment of queries."),
    "segments": Result("UInt32", "Number of segments."),
    "share": Result("Float64", "Share in the whole."),
    "significant": Result(
        "Boolean", "Whether the adjusted p-value is below 1 - level."
    ),
    "significant_share": Result(
        "Float64", "Share of the pairs that differ significantly."
    ),
    "significant_swaps": Result(
        "List(String)", "Swapped pairs that differ significantly."
    ),
    "size": Result("Float64", "Largest absolute difference."),
    "slice": Result("String", "Features of the slice, with their values."),
    "squares": Result("Float64", "Weighted sum of squares about the mean."),
    "srm_p_value": Result(
        "Float64", "P-value of the sizes of the arms (sample ratio mismatch)."
    ),
    "ss_error": Result("Float64", "Sum of squares of the residual."),
    "ss_query": Result("Float64", "Sum of squares of the queries."),
    "ss_system": Result("Float64", "Sum of squares of the systems."),
    "stake": Result("Float64", "How far a label alone moves the mean or a difference."),
    "statistic": Result("Float64", "Statistic of the test."),
    "steps": Result("Int64", "Steps of the fit."),
    "sufficient": Result("Float64", "Smallest difference that is significant."),
    "support": Result(
        "Int64", "Impressions that tell the position from the reference."
    ),
    "support_share": Result(
        "Float64", "Share of what is estimated that the log supports."
    ),
    "swapped": Result("List(String)", "Pairs of systems in another order."),
    "system": Result("String", "System."),
    "systems": Result("UInt32", "Number of runs that have the document."),
    "tau": Result("Float64", "Kendall's tau of two orders."),
    "tau_ap": Result("Float64", "AP correlation of two orders."),
    "team": Result("label", "Ranker of an interleaved list."),
    "team_a": Result("label", "First of two rankers."),
    "team_b": Result("label", "Second of two rankers."),
    "ties": Result("UInt32", "Queries in which neither side wins."),
    "ties_lower": Result("Float64", "Least mean over orders of tied documents."),
    "ties_upper": Result("Float64", "Largest mean over orders of tied documents."),
    "treatment": Result("Float64", "Value in the other arm."),
    "upper": Result("Float64", "Upper end of the interval or of the bounds."),
    "users": Result("UInt32", "Number of users, each with one list."),
    "value": Result(
        "Float64 or String", "Value of a query or of an item; of a choice, as text."
    ),
    "variance": Result("Float64", "Variance of the residual."),
    "verdict": Result("String", "pass, warn or fail."),
    "w": Result("Float64", "Kendall's coefficient of concordance."),
    "weight": Result("Float64", "Weight of the model."),
    "why": Result("String", "Reason."),
    "wins": Result("UInt32", "Queries that the system wins."),
    "within": Result("Float64", "What changes within segments add."),
    "worse": Result("String", "System whose mean is worse."),
    "worth": Result(
        "Float64", "How many times as many judgments people alone would need."
    ),
    "x": Result("Float64", "Sum of weighted values or differences."),
}
