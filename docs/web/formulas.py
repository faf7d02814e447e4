r"""The formula of every measure in TeX, and what its symbols are.

The words are those of the docstrings. ``$...$`` in a description is a formula, too.
"""

from __future__ import annotations

SYMBOLS = {  # a short name: how it is written, and what it is
    "a": (r"\alpha", "probability that a relevant document leaves nothing to want"),
    "a'": (r"\alpha", "part of the past in the smoothed list"),
    "ab": (r"(a, b)", "a pair of documents that have a score and a label"),
    "A": (
        r"A_d",
        r"agreement at depth $d$: $X_d / d$; extrapolated below the end of the lists",
    ),
    "b": (r"\beta", "weight of the gains"),
    "beta": (r"\beta", "how much more recall weighs than precision"),
    "b'": (r"\beta", "persistence: probability of going on to the next rank"),
    "BR": (
        r"B_i",
        r"blended ratio at rank $i$: $(h_i + \beta G_i) / (i + \beta G^*_i)$",
    ),
    "c": (r"c_i", "1 if the document at rank $i$ is relevant, else 0"),
    "C": ("C", "pairs in the same order by score and by label"),
    "D": ("D", "pairs in opposite orders by score and by label"),
    "D'": ("D", "depth: the length of the longer of both"),
    "E": ("E", "pairs that are tied by score or by label, but not by both"),
    "eps": (r"\epsilon", "$10^{-5}$"),
    "disc": (
        r"d(i)",
        r"discount of rank $i$: $\log_2(i + 1)$ unless chosen otherwise",
    ),
    "f": ("f", "rank of the first relevant document"),
    "F": ("F", "relevant documents among the first $k$"),
    "g": (r"g_i", "gain of the document at rank $i$"),
    "g*": (r"g^*_i", "gain of the document at rank $i$ of the ideal order"),
    "gs": (
        r"g_i",
        "scaled gain at rank $i$: (grade - min_grade) / (max_grade - min_grade)",
    ),
    "G": (r"G_i", r"gain down to rank $i$: $g_1 + \dots + g_i$"),
    "G*": (r"G^*_i", "gain of the first $i$ documents of the ideal order"),
    "gam": (r"\gamma", "share of users who read on after a relevant document"),
    "h": (r"h_i", r"relevant documents among the first $i$: $c_1 + \dots + c_i$"),
    "h+": (r"h_n", "those of them that were retrieved"),
    "hb": (
        r"h_b, h_c",
        "how much surplus gain raises the target, and the cutoff: hb and hc",
    ),
    "i1": (r"i_{sj}", "rank of the $j$-th relevant document of subtopic $s$"),
    "k": ("k", "cutoff; without one, the number of retrieved documents"),
    "k+": ("k", "cutoff; without one, no document is too far down"),
    "k-": ("k", "cutoff; without one, $n - h_n$"),
    "K": ("K", "depth: the parameter depth"),
    "l": (r"\ell_i", "label at rank $i$"),
    "last": ("f'", "rank of the last relevant document"),
    "L": ("L", "the first $k$ documents by score"),
    "L'": ("L'", "the first $k$ documents by label, equal ones by rank"),
    "n": ("n", "number of documents in the list"),
    "n'": ("n", "number of documents that have a score and a label"),
    "n12": ("n_1, n_2", "pairs that are tied by score, and by label"),
    "N": (
        "N",
        "number of documents that were judged not relevant; without any, nothing is "
        "subtracted",
    ),
    "p": ("p", "persistence: probability of going on to the next rank"),
    "P": ("P", "precision"),
    "pool": (
        r"m_i",
        "documents above rank $i$ that are in the pool: those with a grade, even a "
        "negative one",
    ),
    "order": (r"\pi(i)", "the document at place $i$ by label, equal labels by rank"),
    "q": (r"q_i", "probability that the document at rank $i$ satisfies the user"),
    "q*": (r"q^*_i", "the same in the ideal order"),
    "Rec": ("Q", "recall"),
    "R": ("R", "number of relevant documents, retrieved or not"),
    "R+": ("R", "number of documents with a positive gain, retrieved or not"),
    "Rs": (r"R_s", "number of relevant documents of subtopic $s$"),
    "reln": (
        r"\mathrm{rel}_i, \mathrm{nonrel}_i",
        "documents of the pool above rank $i$ that are relevant, and that were judged "
        "not relevant",
    ),
    "s": (r"s_i", "score at rank $i$"),
    "stop": (
        r"\mathrm{stop}_i",
        r"weight of the grade at rank $i$; $\mathrm{stop}^*_j$ is that of the $j$-th "
        "of all relevant documents",
    ),
    "S": ("S", "number of subtopics that have a relevant document"),
    "H": ("H", "items with which the user interacted, of the history"),
    "I": ("I", "number of items in the catalog"),
    "Lk": ("L", "the first $k$ items of the user's list"),
    "m": ("m(i)", "number of interactions with item $i$, of the history"),
    "m1": ("m(i)", "number of interactions with item $i$, at least 1"),
    "M": ("M", "number of interactions of the history"),
    "p(j)": (
        r"p_{(j)}",
        "shares of the items in all recommendations, from the smallest; those never "
        "recommended have 0",
    ),
    "pi": ("p(i)", "share of item $i$ in all recommendations"),
    "sim": (r"\sigma(i, j)", "similarity of two items by the feature"),
    "dist": (r"\delta(i, j)", "distance of two items by the feature"),
    "pg": ("p_g", "share of the user's interactions with items of category $g$"),
    "qg": ("q_g", "share of category $g$ among the first $k$ items"),
    "eg": ("e_g", r"share of group $g$ in the discounts $1 / \log_2(r(i) + 1)$"),
    "tg": ("t_g", "share of the items of the catalog that are in group $g$"),
    "GH": ("G, H", "items of the protected group, and all others"),
    "gi": ("g(i)", "grade of item $i$ if it is positive, else 0"),
    "ei": ("e(i)", "$p^{r(i) - 1}$ for the first $k$ items of the list, else 0"),
    "ti": (
        "t(i)",
        "exposure due to item $i$ of the catalog: of the $m$ relevant items, the mean "
        "of $p^0 \\dots p^{m - 1}$; of the others, that of the places below (those "
        "below the cutoff count as 0)",
    ),
    "Si": ("S_i", "items of the protected group among the first $i$"),
    "Z": ("Z", "the larger of the sums with all of the group first, and last"),
    "ranki": ("r(i)", "rank of item $i$ in the list"),
    "reli": (r"c(i)", "1 if item $i$ is relevant, else 0"),
    "popi": (
        "q(i)",
        "rank of item $i$ by its interactions; equal numbers share one, without gaps; "
        "$I + 1$ for an item that the history lacks",
    ),
    "tail": (
        "T",
        "the long tail: all but the most popular items, which together have the share "
        "head of the interactions",
    ),
    "AT": ("A, T", "the most popular items, and the others: the long tail"),
    "Ru": ("R", "relevant items of the user, in the list or not"),
    "users": ("u(i)", "number of users who interacted with item $i$, at least 1"),
    "users0": ("u(i)", "number of users who interacted with item $i$"),
    "U": ("U", "number of users of the history"),
    "V": ("V", "the first $k$ items of all lists that have items"),
    "table": (
        r"T_+, F_+, F_-, T_-",
        "judged documents that are relevant and in the first $k$, not relevant and in "
        "it, relevant and not in it, neither",
    ),
    "table'": (
        r"T_+, F_+, F_-, T_-",
        "documents that are relevant and retrieved, not relevant (or unjudged) and "
        "retrieved, relevant and not retrieved, neither",
    ),
    "T": ("T", "gain that the user aims for"),
    "u": (
        r"u_i",
        "1 if the document at rank $i$ has no label or a negative one, else 0",
    ),
    "u'": (r"u_i", "1 if the document at rank $i$ has no label, else 0"),
    "v": (r"v_i", "1 if the document at rank $i$ is judged, else 0"),
    "v0": (
        r"v_i",
        "1 if the document at rank $i$ is judged, else 0; one of a negative grade is "
        "not",
    ),
    "w'": (
        "w_a",
        "1 / place of document $a$; with the places by score and with those by label, "
        "and the mean of both values is taken",
    ),
    "w": (r"W_i", "probability that the user looks at rank $i$; $W_1 = 1$"),
    "X": (r"X_d", "documents that the first $d$ of both rankings have in common"),
    "X*": (r"X^*_d", "the same of the ideal ranking with itself"),
}
USER = r"\frac{\sum_i W_i g_i}{\sum_i W_i}, \qquad "
GREEDY = r"value of the greedy ideal order"
TAU = "C D n' n12"
PAIR = r"\frac{1}{|P|} \sum_{(a, b) \in P} "

FORMULAS = {  # TeX, and the symbols in it
    # gain
    "cg": (r"\sum_{i=1}^{k} g_i", "g k"),
    "dcg": (r"\sum_{i=1}^{k} \frac{g_i}{d(i)}", "g disc k"),
    "ndcg": (
        r"\frac{\sum_{i=1}^{k} g_i / d(i)}{\sum_{i=1}^{k} g^*_i / d(i)}",
        "g g* disc k+",
    ),
    "average_ndcg": (
        r"\frac{1}{R} \left( \sum_{i \,:\, g_i > 0} \mathrm{ndcg@}i"
        r" + (R - h_n) \, \mathrm{ndcg} \right)",
        "g R+ h+ n",
    ),
    "r_ndcg": (
        r"\frac{1}{|E|} \sum_{i \in E} \mathrm{ndcg@}i, \qquad"
        r" E = \{ i : g^*_i > g^*_{i + 1} \text{ or } i = n > R + 1 \}",
        "g* n R+",
    ),
    "g_measure": (
        r"\frac{1}{\sum_i g^*_i} \sum_i"
        r" \frac{g_i}{\log_2(2 + G^*_i + \max(0, i - R) - G_i)}",
        "g g* G G* R+",
    ),
    "binary_g_measure": (
        r"\frac{1}{R} \sum_{i=1}^{n} \frac{c_i}{\log_2(2 + i - h_i)}",
        "c h n R",
    ),
    # binary
    "accuracy": (r"[\, h_k > 0 \,]", "h k"),
    "precision": (r"\frac{h_k}{k}", "h k"),
    "recall": (r"\frac{h_k}{R}", "h k R"),
    "full_recall": (r"[\, h_k = R \,]", "h k R"),
    "f1": (r"\frac{2 h_k}{k + R}", "h k R"),
    "f_measure": (
        r"\frac{(x + 1) \, h_k}{k + x R}, \qquad x = \beta^2",
        "h k R beta",
    ),
    "ap": (r"\frac{1}{R} \sum_{i=1}^{k} c_i \, \frac{h_i}{i}", "c h k R"),
    "rr": (r"\frac{1}{f} \quad \text{if } f \le k, \text{ else } 0", "f k"),
    "gm_ap": (
        r"\log \max\left(\mathrm{ap}, 10^{-5}\right)",
        "",
    ),
    "yaap": (
        r"\log \frac{1 + x}{1 + R - x}, \qquad x = \sum_{i=1}^{n} c_i \frac{h_i}{i}",
        "c h n R",
    ),
    "set_ap": (r"P \, Q = \frac{h_n}{n} \cdot \frac{h_n}{R}", "P Rec h n R"),
    # blended
    "q_measure": (
        r"\frac{1}{\min(k, R)} \sum_{i=1}^{k} c_i B_i",
        "BR c h G G* b k+ R",
    ),
    "ncu_gu": (
        r"\frac{\sum_i c_i \, \mathrm{stop}_i \, B_i}"
        r"{\sum_{j=1}^{R} \mathrm{stop}^*_j}",
        "BR c h G G* b stop R",
    ),
    "ncu_rb": (
        r"\frac{\sum_i c_i \, \gamma^{h_i - 1} B_i}{\sum_{j=1}^{R} \gamma^{j - 1}}",
        "BR c h G G* gam b R",
    ),
    "o_measure": (
        r"B_f, \text{ or } 0 \text{ if nothing relevant is retrieved}",
        "BR h G G* b f",
    ),
    "p_measure": (
        r"B_m, \qquad m = \min \{ i : g_i = \max_j g_j \}",
        "BR h g G G* b",
    ),
    "p_plus": (
        r"\frac{1}{h_m} \sum_{i=1}^{m} c_i B_i, \qquad"
        r" m = \min \{ i : g_i = \max_j g_j \}, \qquad"
        r" 0 \text{ if nothing relevant is retrieved}",
        "BR c h g G G* b",
    ),
    # user models
    "sdcg": (
        r"\frac{\sum_{i=1}^{k} g_i / \log_2(i + 1)}{\sum_{i=1}^{k} 1 / \log_2(i + 1)}",
        "gs k",
    ),
    "insq": (
        USER + r"W_i = \left(\frac{2T}{i + 2T - 1}\right)^2, \; i \le K",
        "gs w T K",
    ),
    "inst": (
        USER + r"\frac{W_{i+1}}{W_i} = \left(\frac{i + 2T - G_i - 1}"
        r"{i + 2T - G_i}\right)^2, \; i < K",
        "gs G w T K",
    ),
    "nerr8": (USER + r"W_{i+1} = W_i (1 - g_i), \; i < k", "gs w k"),
    "nerr9": (USER + r"W_{i+1} = W_i (1 - g_i) \frac{i}{i + 1}, \; i < k", "gs w k"),
    "nerr10": (USER + r"W_{i+1} = W_i (1 - g_i) \, p, \; i < K", "gs w p K"),
    "nerr11": (
        USER + r"W_{i+1} = W_i (1 - g_i) \left(\frac{i + 2T - 1}{i + 2T}\right)^2,"
        r" \; i < K",
        "gs w T K",
    ),
    "bpm": (
        r"\frac{G_m}{m}, \qquad m = \min \{ i : G_i \ge T \text{ or } i = k \}",
        "gs G T k",
    ),
    "bpm_dynamic": (
        r"\frac{G_m}{m}, \qquad m = \min \{ i : G_i \ge T + h_b \delta_i"
        r" \text{ or } i \ge k + h_c \delta_i \}, \qquad"
        r" \delta_i = \sum_{j < i} (g_j - \mathrm{median})",
        "gs G T hb k",
    ),
    # cascade
    "err": (
        r"\sum_{i=1}^{k} \frac{q_i}{i} \prod_{j < i} (1 - q_j), \qquad"
        r" q_i = \frac{2^{\ell_i} - 1}{2^{\mathrm{max\_grade}}}",
        "q l k",
    ),
    "nerr": (
        r"\frac{\sum_{i=1}^{k} \frac{q_i}{i} \prod_{j < i} (1 - q_j)}"
        r"{\sum_{i=1}^{k} \frac{q^*_i}{i} \prod_{j < i} (1 - q^*_j)}",
        "q q* k+",
    ),
    "pfound": (
        r"\sum_{i=1}^{k} \mathrm{decay}^{\, i - 1} q_i \prod_{j < i} (1 - q_j), \qquad"
        r" q_i = \frac{\ell_i}{\mathrm{max\_grade}}",
        "q l k",
    ),
    # clicks
    "first_click": (r"\min \{ i : c_i = 1 \}", "c"),
    "last_click": (r"\max \{ i : c_i = 1 \}", "c"),
    "mean_click": (r"\frac{\sum_i c_i \, i}{\sum_i c_i}", "c"),
    "mean_rr": (r"\frac{\sum_i c_i / i}{\sum_i c_i}", "c"),
    "p_skip": (r"\frac{f' - h_{f'}}{f'}", "last h"),
    # confusion
    "hits": (r"h_k = \sum_{i=1}^{k} c_i", "c h k"),
    "fall_out": (r"\frac{F_+}{F_+ + T_-}", "table"),
    "binary_accuracy": (r"\frac{T_+ + T_-}{T_+ + F_+ + F_- + T_-}", "table"),
    "mcc": (
        r"\frac{T_+ T_- - F_+ F_-}"
        r"{\sqrt{(T_+ + F_+)(T_+ + F_-)(T_- + F_+)(T_- + F_-)}}",
        "table",
    ),
    "mean_label": (r"\frac{\sum_{i=1}^{k} v_i \, \ell_i}{\sum_{i=1}^{k} v_i}", "v l k"),
    "arp": (r"\frac{\sum_i g_i \, i}{\sum_i g_i}", "g"),
    # correlation
    "kendall_distance": (
        r"\frac{D + \mathrm{penalty} \, E}{n (n - 1) / 2}",
        "D E n'",
    ),
    "kendall_tau": (
        r"\frac{C - D}{\sqrt{(n_0 - n_1)(n_0 - n_2)}}, \qquad n_0 = \frac{n(n - 1)}{2}",
        TAU,
    ),
    "tau_ap": (
        r"\frac{2}{n - 1} \sum_{i=2}^{n} \frac{C(i)}{i - 1} - 1, \qquad"
        r" C(i) = \sum_{j < i} \left( [\ell_j > \ell_i]"
        r" + \tfrac{1}{2} [\ell_j = \ell_i] \right)",
        "l n'",
    ),
    "weighted_tau": (
        r"\frac{\sum_{(a, b)} (w_a + w_b) \, \mathrm{sgn}(s_a - s_b) \,"
        r" \mathrm{sgn}(\ell_a - \ell_b)}"
        r"{\sqrt{\sum_{(a, b)} (w_a + w_b) \, \mathrm{sgn}^2(s_a - s_b)}"
        r" \sqrt{\sum_{(a, b)} (w_a + w_b) \, \mathrm{sgn}^2(\ell_a - \ell_b)}}",
        "ab w' s l",
    ),
    "spearman": (
        r"\frac{\sum_i (r_i - \bar r)(t_i - \bar t)}"
        r"{\sqrt{\sum_i (r_i - \bar r)^2 \sum_i (t_i - \bar t)^2}}, \qquad"
        r" r_i = \mathrm{rank}(s_i), \; t_i = \mathrm{rank}(\ell_i)",
        "s l",
    ),
    "pearson": (
        r"\frac{\sum_i (s_i - \bar s)(\ell_i - \bar \ell)}"
        r"{\sqrt{\sum_i (s_i - \bar s)^2 \sum_i (\ell_i - \bar \ell)^2}}",
        "s l",
    ),
    # counts, of one query; they are summed over queries
    "num_q": (r"1", ""),
    "num_ret": (r"n", "n"),
    "num_rel": (r"R", "R"),
    "num_rel_ret": (r"h_n = \sum_{i=1}^{n} c_i", "c h n"),
    "num_nonrel_judged_ret": (r"\sum_{i=1}^{n} v_i (1 - c_i)", "v0 c n"),
    "utility": (
        r"\mathrm{tp} \, T_+ + \mathrm{fp} \, F_+ + \mathrm{fn} \, F_-"
        r" + \mathrm{tn} \, T_-",
        "table'",
    ),
    # incomplete
    "bpref": (
        r"\frac{1}{R} \sum_{i=1}^{n} c_i"
        r" \left(1 - \frac{\min(m_i, R)}{\min(N, R)}\right), \qquad"
        r" m_i = \sum_{j < i} v_j (1 - c_j)",
        "c v0 n N R",
    ),
    "gm_bpref": (r"\log \max\left(\mathrm{bpref}, 10^{-5}\right)", ""),
    "inf_ap": (
        r"\frac{1}{R} \sum_{i=1}^{n} c_i \, \frac{1 + m_i \, p_i}{i}, \qquad"
        r" p_i = \frac{\mathrm{rel}_i + \epsilon}"
        r"{\mathrm{rel}_i + \mathrm{nonrel}_i + 2 \epsilon}",
        "c n pool reln eps R",
    ),
    "judged": (r"\frac{1}{\min(k, n)} \sum_{i=1}^{k} v_i", "v k n"),
    "unjudged": (r"\frac{1}{k} \sum_{i=1}^{k} u_i", "u k"),
    "hole": (r"\frac{1}{k} \sum_{i=1}^{k} u_i", "u' k"),
    # losses
    "squared_error": (
        r"\frac{\sum_{i=1}^{k} v_i (s_i - \ell_i)^2}{\sum_{i=1}^{k} v_i}",
        "v s l k",
    ),
    "hinge": (
        PAIR + r"\max(0, 1 - (s_a - s_b)), \qquad P = \{ (a, b) : \ell_a > \ell_b \}",
        "ab s l",
    ),
    "listmle": (
        r"\sum_{i=1}^{\min(k, n)} \left( \log \sum_{j=i}^{n} e^{s_{\pi(j)}}"
        r" - s_{\pi(i)} \right), \qquad"
        r" \ell_{\pi(1)} \ge \ell_{\pi(2)} \ge \dots",
        "s l order k+ n'",
    ),
    # overlap
    "rbo": (r"\frac{1 - p}{p} \sum_{d=1}^{\infty} p^d A_d", "A X p"),
    "compat": (
        r"\frac{\sum_{d=1}^{D} p^{d - 1} X_d / d}"
        r"{\sum_{d=1}^{D} p^{d - 1} X^*_d / d}",
        "X X* D' p",
    ),
    "overlap": (r"\frac{|L \cap L'|}{\max(|L|, |L'|)}", "L L' k"),
    "jaccard": (r"\frac{|L \cap L'|}{|L \cup L'|}", "L L' k"),
    "unexpectedness": (r"1 - \frac{|L \cap L'|}{k}", "L L' k"),
    # pairs
    "auc": (
        PAIR + r"\left( [s_a > s_b] + \tfrac{1}{2} [s_a = s_b] \right), \qquad"
        r" P = \{ (a, b) : c_a = 1, c_b = 0 \}",
        "ab s c",
    ),
    "relevant_above": (
        r"1 - \frac{\sum_{i=1}^{k} c_i (i - h_i)}{F (\min(k, n) - F)}",
        "c h k n F",
    ),
    "partial_auc": (
        r"\frac{1}{k R} \sum_{i=1}^{n} c_i \max(0, k - (i - h_i))",
        "c h k- n R",
    ),
    "pair_accuracy": (
        PAIR + r"\left( [s_a > s_b] + \mathrm{tied\_score} \, [s_a = s_b] \right),"
        r" \qquad P = \{ (a, b) : \ell_a > \ell_b \}",
        "ab s l",
    ),
    "opa": (
        PAIR + r"[s_a > s_b], \qquad P = \{ (a, b) : \ell_a > \ell_b \}",
        "ab s l",
    ),
    "ranking_loss": (
        PAIR + r"[s_a \le s_b], \qquad P = \{ (a, b) : c_a = 1, c_b = 0 \}",
        "ab s c",
    ),
    "lrap": (
        r"\frac{1}{h_n} \sum_{i=1}^{n} c_i \, \frac{|\{ j : c_j = 1, s_j \ge s_i \}|}"
        r"{|\{ j : v_j = 1, s_j \ge s_i \}|}",
        "c v h s n",
    ),
    "coverage_error": (
        r"|\{ j : v_j = 1, s_j \ge \min_{i \,:\, c_i = 1} s_i \}|",
        "c v s",
    ),
    # persistence
    "rbp": (r"(1 - p) \sum_{i=1}^{k} p^{i - 1} \frac{g_i}{\mathrm{scale}}", "g p k"),
    "rbp_residual": (
        r"(1 - p) \sum_{i=1}^{k} p^{i - 1} u_i + p^{\min(k, n)}",
        "u p k n",
    ),
    # levels of recall
    "r_precision": (r"\frac{h_R}{R}", "h R"),
    "interpolated_precision": (
        r"\max \left\{ \frac{h_i}{i} : h_i \ge \mathrm{round}(\mathrm{recall} \cdot R)"
        r" \right\}",
        "h R",
    ),
    "eleven_point_ap": (
        r"\frac{1}{11} \sum_{j=0}^{10} \max"
        r" \left\{ \frac{h_i}{i} : h_i \ge \mathrm{round}(\tfrac{j}{10} R)"
        r" \right\}",
        "h R",
    ),
    # subtopics
    "alpha_dcg": (
        r"\frac{\sum_{s} \sum_{j \,:\, i_{sj} \le k}"
        r" (1 - \alpha)^{j - 1} / \log_2(i_{sj} + 1)}"
        r"{S \sum_{i=1}^{k} (1 - \alpha)^{i - 1} / \log_2(i + 1)}",
        "i1 a k S",
    ),
    "alpha_ndcg": (
        rf"\frac{{\mathrm{{alpha\_dcg}}}}{{\text{{{GREEDY}}}}}",
        "",
    ),
    "err_ia": (
        r"\frac{\sum_{s} \sum_{j \,:\, i_{sj} \le k}"
        r" (1 - \alpha)^{j - 1} / i_{sj}}"
        r"{S \sum_{i=1}^{k} (1 - \alpha)^{i - 1} / i}",
        "i1 a k S",
    ),
    "nerr_ia": (rf"\frac{{\mathrm{{err\_ia}}}}{{\text{{{GREEDY}}}}}", ""),
    "nrbp": (
        r"\frac{1 - (1 - \alpha) \beta}{S} \sum_{s} \sum_{j}"
        r" (1 - \alpha)^{j - 1} \beta^{\, i_{sj} - 1}",
        "i1 a b' S",
    ),
    "nnrbp": (rf"\frac{{\mathrm{{nrbp}}}}{{\text{{{GREEDY}}}}}", ""),
    "p_ia": (
        r"\frac{1}{S} \sum_{s} \frac{|\{ j : i_{sj} \le k \}|}{k}",
        "i1 k S",
    ),
    "ap_ia": (
        r"\frac{1}{S} \sum_{s} \frac{1}{R_s} \sum_{j \,:\, i_{sj} \le k}"
        r" \frac{j}{i_{sj}}",
        "i1 k S Rs",
    ),
    "st_recall": (
        r"\frac{|\{ s : i_{s1} \le k \}|}{S}",
        "i1 k S",
    ),
    # recommendation
    "novelty": (
        r"\frac{1}{|L|} \sum_{i \in L} -\log_2 \frac{u(i)}{U}",
        "Lk users U",
    ),
    "surprisal": (
        r"\frac{1}{k} \sum_{i \in L} \frac{\log_2 (U / u(i))}{\log_2 U}",
        "Lk k users U",
    ),
    "mean_popularity": (r"\frac{1}{|L|} \sum_{i \in L} m(i)", "Lk m"),
    "tail_share": (r"\frac{|L \cap T|}{|L|}", "Lk tail"),
    "tail_items": (r"|L \cap T|", "Lk tail"),
    "unseen": (r"\frac{|L \setminus H|}{|L|}", "Lk H"),
    "epc": (
        r"\frac{\sum_{i \in L} c(i) \, (1 - u(i) / U) / \log_2(r(i) + 1)}"
        r"{\sum_{i \in L} 1 / \log_2(r(i) + 1)}",
        "Lk reli users0 U ranki",
    ),
    "efd": (
        r"\frac{\sum_{i \in L} -c(i) \log_2(m(i) / M) / \log_2(r(i) + 1)}"
        r"{\sum_{i \in L} 1 / \log_2(r(i) + 1)}",
        "Lk reli m1 M ranki",
    ),
    "serendipity": (
        r"\frac{1}{|L|} \sum_{i \in L} c(i) \max\left(\frac{q(i) - r(i)}{I}, 0\right)",
        "Lk reli ranki popi I",
    ),
    "content_serendipity": (
        r"\frac{1}{|L|} \sum_{i \in L} c(i) \left(1 - \frac{1}{|H|}"
        r" \sum_{j \in H} \sigma(i, j)\right)",
        "Lk reli H sim",
    ),
    "ild": (
        r"\frac{2}{|L| (|L| - 1)} \sum_{i < j} \delta(i, j), \qquad i, j \in L",
        "Lk dist",
    ),
    "miscalibration": (
        r"\sum_g p_g \log \frac{p_g}{(1 - \alpha) q_g + \alpha p_g}",
        "pg qg a'",
    ),
    "awrf": (
        r"1 - \tfrac{1}{2} \sum_g \left( e_g \log_2 \frac{2 e_g}{e_g + t_g}"
        r" + t_g \log_2 \frac{2 t_g}{e_g + t_g} \right)",
        "eg tg",
    ),
    "category_diversity": (
        r"\frac{|\{ \text{categories of } i : i \in L \}|}{k}",
        "Lk k",
    ),
    "user_coverage": (r"[\, |L| \ge \mathrm{least} \,]", "Lk"),
    # fairness
    "pop_rsp": (
        r"\frac{|c_A - c_T|}{c_A + c_T}, \qquad"
        r" c_G = \frac{\sum_u |L \cap G|}{\sum_u |G \setminus H|}",
        "AT Lk H",
    ),
    "pop_reo": (
        r"\frac{|c_A - c_T|}{c_A + c_T}, \qquad"
        r" c_G = \frac{\sum_u |L \cap R \cap G|}{\sum_u |(R \cap G) \setminus H|}",
        "AT Lk Ru H",
    ),
    "treatment_ratio": (
        r"\frac{E_G / M_G}{E_H / M_H}, \qquad E_G = \sum_u \sum_{i \in L \cap G}"
        r" \frac{1}{\log_2(r(i) + 1)}, \qquad M_G = \sum_u \sum_{i \in G} g(i)",
        "GH Lk ranki gi",
    ),
    "impact_ratio": (
        r"\frac{E_G / M_G}{E_H / M_H}, \qquad E_G = \sum_u \sum_{i \in L \cap G}"
        r" \frac{g(i)}{\log_2(r(i) + 1)}, \qquad M_G = \sum_u \sum_{i \in G} g(i)",
        "GH Lk ranki gi",
    ),
    "exposure_loss": (r"\sum_i (e(i) - t(i))^2", "ei ti"),
    "exposure_disparity": (r"\sum_i e(i)^2", "ei"),
    "exposure_relevance": (r"\sum_i e(i) \, t(i)", "ei ti"),
    "rnd": (
        r"\frac{1}{Z} \sum_{i = \mathrm{step}, 2 \, \mathrm{step} \dots}"
        r" \frac{1}{\log_2 i} \left| \frac{S_i}{i} - \frac{S_n}{n} \right|",
        "Si Z n",
    ),
    # catalog
    "coverage": (r"\frac{|\bigcup_V L|}{I}", "V Lk I"),
    "gini": (r"\frac{\sum_{j=1}^{I} (2 j - I - 1) \, p_{(j)}}{I - 1}", "p(j) I"),
    "entropy": (r"-\sum_i p(i) \log_2 p(i)", "pi"),
    "effective_items": (r"2^{\mathrm{entropy}}", ""),
    "personalization": (
        r"1 - \frac{1}{|V| (|V| - 1)} \sum_{L \ne L'} \frac{|L \cap L'|}"
        r"{\sqrt{|L| |L'|}}",
        "V",
    ),
}
