"""Types of the methods; written by ``python docs/make.py``."""

from typing import Literal

import polars as pl

from polars_rank.typing import (
    Column,
    ConventionLike,
    Discount,
    Gain,
    MeasureLike,
    Measures,
    NoRelevant,
    Ties,
)

class ExprRankEval:
    def __init__(self, expr: pl.Expr) -> None: ...
    def cg(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Cumulative gain: the sum of ``gain(label)`` over the first k."""
    def dcg(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        discount: Discount = "log2",
        rel: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Discounted cumulative gain: the sum of ``gain(label) / log2(rank + 1)``."""
    def ndcg(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        discount: Discount = "log2",
        ideal: Literal["judged", "retrieved", "min_k_n", "k"] = "judged",
        rel: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """DCG divided by the ideal DCG, that of the best order of the judged documents."""
    def average_ndcg(
        self,
        score: Column | None = None,
        *,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean of the nDCG at the rank of each document with a positive gain."""
    def r_ndcg(
        self,
        score: Column | None = None,
        *,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean of the nDCG at the ranks where the gain of the ideal order drops."""
    def g_measure(
        self,
        score: Column | None = None,
        *,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Normalized gain G: each gain, discounted by the gain missing so far."""
    def binary_g_measure(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Normalized gain G of binary relevance: a relevant document gains 1."""
    def accuracy(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Whether any of the first k documents is relevant (success, hit rate)."""
    def precision(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["k", "retrieved", "min_k_R"] = "k",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the first k that is relevant; short lists are padded with misses."""
    def recall(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["R", "min_k_R"] = "R",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of all relevant documents that are among the first k."""
    def full_recall(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Whether all relevant documents are among the first k."""
    def f1(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Harmonic mean of precision@k and recall@k."""
    def f_measure(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        x: float = 1.0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Weighted harmonic mean of precision@k and recall@k; x is beta squared."""
    def ap(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["R", "min_k_R", "min_k_R_n", "hits", "k"] = "R",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Average precision: mean of the precision at each relevant document."""
    def rr(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Reciprocal rank of the first relevant document; 0 if it is below rank k."""
    def gm_ap(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Average precision for a geometric mean over queries (GMAP)."""
    def yaap(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Yet another average precision: AP on a logistic scale."""
    def set_ap(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Average precision of an unranked set: precision times recall."""
    def q_measure(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        beta: float = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Q-measure: average precision with the blended ratio in place of precision."""
    def ncu_gu(
        self,
        score: Column | None = None,
        *,
        stop: Gain = "linear",
        beta: float = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Normalized cumulative utility: users stop at relevant documents, by grade."""
    def ncu_rb(
        self,
        score: Column | None = None,
        *,
        gamma: float = 0.95,
        beta: float = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Normalized cumulative utility: users stop at relevant documents, by order."""
    def o_measure(
        self,
        score: Column | None = None,
        *,
        beta: float = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """O-measure: the blended ratio at the first relevant document."""
    def p_measure(
        self,
        score: Column | None = None,
        *,
        beta: float = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """P-measure: the blended ratio at the first of the best documents retrieved."""
    def p_plus(
        self,
        score: Column | None = None,
        *,
        beta: float = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """P+: mean blended ratio of the relevant documents down to the first best one."""
    def sdcg(
        self,
        score: Column | None = None,
        *,
        k: int = 10,
        max_grade: float = 4,
        min_grade: float = 0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Scaled DCG: DCG@k divided by that of k documents of the highest grade."""
    def insq(
        self,
        score: Column | None = None,
        *,
        T: float = 1,
        max_grade: float = 4,
        min_grade: float = 0,
        depth: int = 1000,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Gain per document of a user who aims for gain T and grows less patient (INSQ)."""
    def inst(
        self,
        score: Column | None = None,
        *,
        T: float = 1,
        max_grade: float = 4,
        min_grade: float = 0,
        depth: int = 1000,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Gain per document of a user whose patience falls as she nears gain T (INST)."""
    def nerr8(
        self,
        score: Column | None = None,
        *,
        k: int = 10,
        max_grade: float = 4,
        min_grade: float = 0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Gain per document of a user who stops when satisfied, or at rank k."""
    def nerr9(
        self,
        score: Column | None = None,
        *,
        k: int = 10,
        max_grade: float = 4,
        min_grade: float = 0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """As ``nerr8``, but she also leaves after rank i with probability 1 / (i + 1)."""
    def nerr10(
        self,
        score: Column | None = None,
        *,
        p: float = 0.9,
        max_grade: float = 4,
        min_grade: float = 0,
        depth: int = 1000,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """As ``nerr8`` without k, but she goes on with probability p only."""
    def nerr11(
        self,
        score: Column | None = None,
        *,
        T: float = 1,
        max_grade: float = 4,
        min_grade: float = 0,
        depth: int = 1000,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """As ``nerr8`` without k, but she grows less patient, as in ``insq``."""
    def bpm(
        self,
        score: Column | None = None,
        *,
        k: int = 10,
        T: float = 1,
        max_grade: float = 4,
        min_grade: float = 0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Gain per document of a user who stops once she has gained T or seen k documents."""
    def bpm_dynamic(
        self,
        score: Column | None = None,
        *,
        k: int = 10,
        T: float = 1,
        hb: float = 1,
        hc: float = 0,
        median: float = 0.5,
        max_grade: float = 4,
        min_grade: float = 0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """As ``bpm``, but the gain so far changes the target and how far the user looks."""
    def err(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        max_grade: float | Literal["query"] = 4,
        stop: Literal["exp2", "linear", "grade"] = "exp2",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Expected reciprocal rank: mean of 1 / rank at which the user is satisfied."""
    def nerr(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        max_grade: float | Literal["query"] = 4,
        ideal: Literal["judged", "retrieved"] = "judged",
        stop: Literal["exp2", "linear", "grade"] = "exp2",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """ERR divided by the ERR of the ideal order of the judged documents."""
    def pfound(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        decay: float = 0.85,
        max_grade: float | Literal["query"] = 4,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Probability that the user is satisfied in the first k before she gives up."""
    def first_click(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Rank of the first relevant document: the topmost click."""
    def last_click(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Rank of the last relevant document: the lowest click."""
    def mean_click(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean rank of the relevant documents: the clicks."""
    def mean_rr(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean reciprocal rank of the relevant documents: the clicks."""
    def p_skip(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of nonrelevant documents (skips) down to the last relevant document."""
    def hits(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of relevant documents among the first k."""
    def fall_out(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        catalog: int | None = None,
        undefined: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of all nonrelevant documents that are in the first k; lower is better."""
    def binary_accuracy(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        catalog: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of documents on the right side of the cut: relevant above, others below."""
    def mcc(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        catalog: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Matthews correlation of being relevant and being among the first k."""
    def mean_label(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean label of the judged documents among the first k."""
    def arp(
        self,
        score: Column | None = None,
        *,
        gain: Gain = "linear",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Average relevance position: mean rank, weighted by gain; lower is better."""
    def kendall_distance(
        self,
        score: Column,
        *,
        k: int | None = None,
        penalty: float = 0.5,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Normalized Kendall tau distance: share of pairs on which the orders disagree."""
    def kendall_tau(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        variant: Literal["a", "b", "c"] = "b",
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Kendall's tau: concordant minus discordant pairs, normalized."""
    def tau_ap(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        variant: Literal["a", "b"] = "a",
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """AP correlation: Kendall's tau in which swaps near the top cost more."""
    def weighted_tau(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        weigher: Discount = "position",
        weigh_by: Literal["both", "score", "label"] = "both",
        additive: bool = True,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Kendall's tau-b of pairs weighted by the places of their documents."""
    def spearman(
        self,
        score: Column,
        *,
        k: int | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Spearman's rho: correlation of the ranks by score and by label."""
    def pearson(
        self,
        score: Column,
        *,
        k: int | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Pearson's r: linear correlation of score and label."""
    def num_q(
        self,
        score: Column | None = None,
        *,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of queries: 1 for each, summed."""
    def num_ret(
        self,
        score: Column | None = None,
        *,
        rel: float | None = None,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of retrieved documents, summed over queries; with rel, relevant ones."""
    def num_rel(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of relevant documents, retrieved or not, summed over queries."""
    def num_rel_ret(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of relevant documents that were retrieved, summed over queries."""
    def num_nonrel_judged_ret(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of retrieved documents that were judged not relevant, summed."""
    def utility(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        tp: float = 1.0,
        fp: float = -1.0,
        fn: float = 0.0,
        tn: float = 0.0,
        collection: float = 0,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Utility of the retrieved set: a weighted sum of its contingency table."""
    def bpref(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Binary preference: relevant documents ranked above judged nonrelevant ones."""
    def gm_bpref(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Binary preference for a geometric mean over queries."""
    def inf_ap(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Inferred average precision: AP estimated from a sample of the pool."""
    def judged(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the retrieved documents among the first k that have a label."""
    def unjudged(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the first k that is unjudged; short lists are padded as if judged."""
    def hole(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the first k that has no label; short lists are padded as if labeled."""
    def squared_error(
        self,
        score: Column,
        *,
        k: int | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean squared error of score and label, of judged documents in the first k."""
    def hinge(
        self,
        score: Column,
        *,
        k: int | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean of max(0, 1 - (score_a - score_b)) over pairs with label_a > label_b."""
    def listmle(
        self,
        score: Column,
        *,
        k: int | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Negative log-likelihood of the order by label under the scores (ListMLE)."""
    def rbo(
        self,
        score: Column | None = None,
        *,
        p: float = 0.9,
        estimate: Literal["ext", "min", "max", "res"] = "ext",
        tied: Literal["a", "b", "w"] = "a",
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Rank-biased overlap of the ranking by score and the ranking by label."""
    def compat(
        self,
        score: Column | None = None,
        *,
        p: float = 0.95,
        normalize: bool = True,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Compatibility: rank-biased overlap with the closest ideal ranking."""
    def overlap(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the first k by score that are among the first k by label."""
    def jaccard(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Jaccard similarity of the first k by score and the first k by label."""
    def unexpectedness(
        self,
        score: Column | None = None,
        *,
        k: int = 10,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the first k places without a document that is expected there."""
    def auc(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        max_fpr: float = 1,
        one_class: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Area under the ROC curve: share of pairs with the relevant document higher."""
    def relevant_above(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        one_class: float | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Probability that a relevant document is above a nonrelevant one, by rank."""
    def partial_auc(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rel: float = 1,
        positives: Literal["all", "k"] = "all",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of pairs in order, of relevant and of the first k nonrelevant documents."""
    def pair_accuracy(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        tied_score: float = 0.5,
        weigh: Literal["equally", "by_difference"] = "equally",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Share of the pairs with unequal labels that the scores order correctly."""
    def opa(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Ordered pair accuracy: share of the pairs with unequal labels that are in order."""
    def ranking_loss(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        one_class: float | None = None,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Label ranking loss: share of pairs in which the relevant one is not above."""
    def lrap(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rank: Column | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Label ranking average precision: AP in which tied documents come last."""
    def coverage_error(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        undefined: float | None = None,
        rank: Column | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Number of documents to read down the list to see all relevant ones."""
    def rbp(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        p: float = 0.9,
        gain: Gain = "linear",
        rel: float | None = None,
        scale: float | Literal["max"] = "max",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Rank-biased precision: expected gain per document that the user looks at."""
    def rbp_residual(
        self,
        score: Column | None = None,
        *,
        k: int | None = None,
        p: float = 0.9,
        all_judged: Literal["tail", "zero"] = "tail",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Residual of rank-biased precision: what unjudged documents could add at most."""
    def r_precision(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        multiple: float = 1.0,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """R-precision: precision at rank R, the number of relevant documents."""
    def interpolated_precision(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        recall: float = 0.5,
        rounding: Literal["nearest", "up"] = "nearest",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Highest precision at any rank where recall is at least ``recall``."""
    def eleven_point_ap(
        self,
        score: Column | None = None,
        *,
        rel: float = 1,
        rounding: Literal["nearest", "up"] = "nearest",
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Mean of the interpolated precision at recall 0, 0.1, 0.2 ... 1."""
    def per_query(
        self,
        measures: Measures,
        score: Column | None = None,
        *,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Compute several measures for the query at hand, as one struct."""
    def contribution(
        self,
        measure: MeasureLike,
        score: Column | None = None,
        *,
        rank: Column | None = None,
        doc: Column | None = None,
        ties: Ties | None = None,
        convention: ConventionLike = "trec_eval",
    ) -> pl.Expr:
        """Compute what each document adds to the measure, a value for each row."""

def expr(label: Column) -> ExprRankEval:
    """Return the metrics of a label: ``label.rank_eval``, as type checkers know it."""
