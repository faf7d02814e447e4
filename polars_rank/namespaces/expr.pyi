"""Types of the methods; written by ``python docs/make.py``."""

import polars as pl
from polars_rank.core.parameters import Persistence, Range, Share
from polars_rank.core.ranking import Ideal, NoRelevant, Ties
from polars_rank.core.weights import Discount, Gain
from polars_rank.metrics._rbo import Estimate, Tied
from polars_rank.metrics.blended import Beta
from polars_rank.metrics.cascade import Largest, Stop
from polars_rank.metrics.confusion import Catalog
from polars_rank.metrics.gain import IdealOrder
from polars_rank.metrics.pairwise import Rate
from polars_rank.metrics.persistence import Scale
from polars_rank.metrics.recall_levels import Rounding
from polars_rank.metrics.user_models import Depth, Grade, Least, Target
from polars_rank.namespaces.method import Column, Score
from typing import Annotated, Literal

class ExprRankEval:
    def __init__(self, expr: pl.Expr) -> None: ...
    def cg(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Cumulative gain: the sum of ``gain(label)`` over the first k."""
    def dcg(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        discount: Discount = "log2",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Discounted cumulative gain: the sum of ``gain(label) / log2(rank + 1)``."""
    def ndcg(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        discount: Discount = "log2",
        ideal: IdealOrder = "judged",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """DCG as a share of the best DCG that the judged documents allow."""
    def average_ndcg(
        self,
        score: Score = None,
        *,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Mean of nDCG at the rank of each document with a gain."""
    def r_ndcg(
        self,
        score: Score = None,
        *,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Mean of nDCG at the places where the best order changes to a lower gain."""
    def g_measure(
        self,
        score: Score = None,
        *,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Normalised gain G: each gain, discounted by what is missing so far."""
    def accuracy(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Whether any relevant document stands in the first k (success, hit rate)."""
    def precision(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["k", "retrieved", "min_k_R"] = "k",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Share of the first k that is relevant; short lists are filled with misses."""
    def recall(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["R", "min_k_R"] = "R",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Share of all relevant documents that stand in the first k."""
    def f1(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Harmonic mean of precision@k and recall@k."""
    def f_measure(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        x: Annotated[float, Range(above=0)] = 1.0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Weighted harmonic mean of precision@k and recall@k; x is beta squared."""
    def ap(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["R", "min_k_R", "min_k_R_n", "hits", "k"] = "R",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Average precision: mean of the precision at each relevant document."""
    def rr(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Reciprocal rank of the first relevant document; 0 if it stands below k."""
    def gm_ap(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Average precision for a geometric mean over queries (GMAP)."""
    def yaap(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Yet another average precision: AP on a logistic scale."""
    def set_ap(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Average precision of an unranked set: precision times recall."""
    def q_measure(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        beta: Beta = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Q-measure: average precision with the blended ratio in place of precision."""
    def ncu_gu(
        self,
        score: Score = None,
        *,
        stop: Gain = "linear",
        beta: Beta = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Normalised cumulative utility: users stop at relevant documents, by grade."""
    def ncu_rb(
        self,
        score: Score = None,
        *,
        gamma: Annotated[float, Range(above=0, most=1)] = 0.95,
        beta: Beta = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Normalised cumulative utility: users stop at relevant documents, by order."""
    def o_measure(
        self,
        score: Score = None,
        *,
        beta: Beta = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """O-measure: the blended ratio at the first relevant document."""
    def p_measure(
        self,
        score: Score = None,
        *,
        beta: Beta = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """P-measure: the blended ratio at the first of the best documents retrieved."""
    def p_plus(
        self,
        score: Score = None,
        *,
        beta: Beta = 1,
        gain: Gain = "linear",
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """P+: the mean blended ratio of the relevant documents down to the first best."""
    def sdcg(
        self,
        score: Score = None,
        *,
        k: int = 10,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """DCG@k as a share of k documents of the highest grade of the scale."""
    def insq(
        self,
        score: Score = None,
        *,
        T: Target = 1,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        depth: Depth = 1000,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Gain per document of a user who sets out to gain T and gets less willing."""
    def inst(
        self,
        score: Score = None,
        *,
        T: Target = 1,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        depth: Depth = 1000,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Gain per document of a user who gets less willing as she nears her target T."""
    def nerr8(
        self,
        score: Score = None,
        *,
        k: int = 10,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Gain per document of a user whom only satisfaction or place k stops."""
    def nerr9(
        self,
        score: Score = None,
        *,
        k: int = 10,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """As ``nerr8``, and the user leaves from place i with chance 1 / (i + 1)."""
    def nerr10(
        self,
        score: Score = None,
        *,
        p: Annotated[float, Range(above=0, below=1)] = 0.9,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        depth: Depth = 1000,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """As ``nerr8`` without k, and the user persists with chance p."""
    def nerr11(
        self,
        score: Score = None,
        *,
        T: Target = 1,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        depth: Depth = 1000,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """As ``nerr8`` without k, and the user gets less willing, as in ``insq``."""
    def bpm(
        self,
        score: Score = None,
        *,
        k: int = 10,
        T: Target = 1,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Gain per document of a user who stops once she gained T or saw k documents."""
    def bpm_dynamic(
        self,
        score: Score = None,
        *,
        k: int = 10,
        T: Target = 1,
        hb: Least = 1,
        hc: Least = 0,
        median: Annotated[float, Range(least=0, most=1)] = 0.5,
        max_grade: Grade = 4,
        min_grade: Least = 0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """As ``bpm``, but what the user finds changes what she wants and would pay."""
    def err(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        max_grade: Largest = 4,
        stop: Stop = "exp2",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Expected reciprocal rank: mean of 1 / rank where the user is satisfied."""
    def nerr(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        max_grade: Largest = 4,
        ideal: Ideal = "judged",
        stop: Stop = "exp2",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """ERR as a share of the best ERR that the judged documents allow."""
    def pfound(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        decay: Annotated[float, Range(above=0, most=1)] = 0.85,
        max_grade: Largest = 4,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Chance that the user finds what she needs before she stops or tires."""
    def hits(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Number of relevant documents in the first k."""
    def fall_out(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        catalog: Catalog = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Share of all irrelevant documents that stand in the first k; lower is better."""
    def binary_accuracy(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        catalog: Catalog = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Share of documents put on their side of the cut: relevant above, others below."""
    def mcc(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        catalog: Catalog = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Matthews correlation of being relevant and standing in the first k."""
    def mean_label(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Mean label of the judged documents in the first k."""
    def arp(
        self,
        score: Score = None,
        *,
        gain: Gain = "linear",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Average relevance position: mean rank, weighed by gain; lower is better."""
    def kendall_distance(
        self,
        score: Column,
        *,
        k: int | None = None,
        penalty: float = 0.5,
    ) -> pl.Expr:
        """Normalised Kendall tau distance: share of pairs that the two orders swap."""
    def kendall_tau(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        variant: Literal["a", "b", "c"] = "b",
        rank: Score = None,
    ) -> pl.Expr:
        """Kendall's tau: concordant less discordant pairs of score and label, as a share."""
    def tau_ap(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        variant: Literal["a", "b"] = "a",
        rank: Score = None,
    ) -> pl.Expr:
        """AP correlation: Kendall's tau in which swaps near the top cost more."""
    def weighted_tau(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        weigher: Discount = "position",
        weigh_by: Literal["both", "score", "label"] = "both",
        additive: bool = True,
        rank: Score = None,
    ) -> pl.Expr:
        """Kendall's tau-b of pairs weighed by the places of their documents."""
    def spearman(
        self,
        score: Column,
        *,
        k: int | None = None,
    ) -> pl.Expr:
        """Spearman's rho: correlation of the ranks by score and by label."""
    def pearson(
        self,
        score: Column,
        *,
        k: int | None = None,
    ) -> pl.Expr:
        """Pearson's r: linear correlation of score and label."""
    def num_q(
        self,
        score: Score = None,
        *,
        rank: Score = None,
    ) -> pl.Expr:
        """Number of queries: 1 for each, summed."""
    def num_ret(
        self,
        score: Score = None,
        *,
        rel: float | None = None,
        rank: Score = None,
    ) -> pl.Expr:
        """Number of retrieved documents, or of the relevant ones, summed."""
    def num_rel(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
    ) -> pl.Expr:
        """Number of relevant documents, retrieved or not, summed over queries."""
    def num_nonrel_judged_ret(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
    ) -> pl.Expr:
        """Number of retrieved documents that were judged not relevant, summed."""
    def utility(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        tp: float = 1.0,
        fp: float = -1.0,
        fn: float = 0.0,
        tn: float = 0.0,
        collection: float = 0,
        rank: Score = None,
    ) -> pl.Expr:
        """Worth of the retrieved set: a weight for each cell of its contingency table."""
    def bpref(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Binary preference: relevant documents above judged non-relevant ones."""
    def gm_bpref(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Binary preference for a geometric mean over queries."""
    def inf_ap(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Inferred average precision: AP estimated from a sample of the pool."""
    def judged(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Share of the retrieved documents in the first k that have a label."""
    def unjudged(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Share of the first k that nobody judged; short lists are filled with judged."""
    def squared_error(
        self,
        score: Column,
        *,
        k: int | None = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Mean squared error of score and label over the judged in the first k."""
    def hinge(
        self,
        score: Column,
        *,
        k: int | None = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Mean of max(0, 1 - (score_a - score_b)) over pairs with label_a > label_b."""
    def listmle(
        self,
        score: Column,
        *,
        k: int | None = None,
    ) -> pl.Expr:
        """Negative log-likelihood that the scores draw the documents in label order."""
    def rbo(
        self,
        score: Score = None,
        *,
        p: Persistence = 0.9,
        estimate: Estimate = "ext",
        tied: Tied = "a",
        rank: Score = None,
    ) -> pl.Expr:
        """Rank-biased overlap of the ranking by score and the ranking by label."""
    def compat(
        self,
        score: Score = None,
        *,
        p: Persistence = 0.95,
        normalize: bool = True,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Compatibility: rank-biased overlap with the ideal ranking that comes closest."""
    def overlap(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Share of the first k by score that are among the first k by label."""
    def jaccard(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Jaccard similarity of the first k by score and the first k by label."""
    def auc(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        max_fpr: Rate = 1,
        one_class: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Area under the ROC curve: share of pairs with the relevant document above."""
    def relevant_above(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        one_class: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Chance that a retrieved relevant document stands above one that is not."""
    def partial_auc(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        positives: Literal["all", "k"] = "all",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Share of pairs in order, of the relevant and the first k irrelevant documents."""
    def pair_accuracy(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        tied_score: Share = 0.5,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Share of the pairs of unequal labels that the scores put in order."""
    def opa(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        tied_score: Share = 0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Ordered pair accuracy: as pair_accuracy, weighed by the difference of labels."""
    def ranking_loss(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        one_class: float | None = None,
        rank: Score = None,
    ) -> pl.Expr:
        """Label ranking loss: share of pairs with the irrelevant document not below."""
    def lrap(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Label ranking average precision: AP in which tied documents stand last."""
    def coverage_error(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rank: Score = None,
    ) -> pl.Expr:
        """How far down the list to go to have all relevant documents."""
    def rbp(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        p: Persistence = 0.9,
        gain: Gain = "linear",
        rel: float | None = None,
        scale: Scale = "max",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Rank-biased precision: gain at the rate at which the user finds it."""
    def rbp_residual(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        p: Persistence = 0.9,
        all_judged: Literal["tail", "zero"] = "tail",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """What unjudged documents could still add to rank-biased precision."""
    def r_precision(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        multiple: Annotated[float, Range(above=0)] = 1.0,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """R-precision: precision at place R, the number of relevant documents."""
    def interpolated_precision(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        recall: Share = 0.5,
        rounding: Rounding = "nearest",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Best precision at any place where recall is at least ``recall``."""
    def eleven_point_ap(
        self,
        score: Score = None,
        *,
        rel: float = 1,
        rounding: Rounding = "nearest",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Mean of the interpolated precision at recall 0, 0.1, 0.2 ... 1."""
