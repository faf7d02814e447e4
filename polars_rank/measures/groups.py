"""Names for several measures: trec_eval's groups, and families."""

from __future__ import annotations

import re
from functools import lru_cache

from polars_rank.core.metric.registry import METRICS

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_SUCCESS = (1, 5, 10)
_UNJUDGED = (5, 10, 20)


def _at(name: str, places: tuple[int, ...] = _CUTOFFS) -> list[str]:
    return [f"{name}_{k}" for k in places]


_LEVELS = [f"iprec_at_recall_{level / 10:.2f}" for level in range(11)]
_OFFICIAL = [
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    "recip_rank",
    *_LEVELS,
    *_at("P"),
]
_ALL_TREC = [
    *_OFFICIAL,
    *_at("recall"),
    *("infAP", "gm_bpref"),
    *(f"Rprec_mult_{share / 10:.2f}" for share in range(2, 21, 2)),
    *("utility", "11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg"),
    *_at("ndcg_cut"),
    *_at("map_cut"),
    *_at("relative_P"),
    *_at("success", _SUCCESS),
    *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    *("num_nonrel_judged_ret", "rbp", "rbp_resid"),
    *_at("unj", _UNJUDGED),
]
GROUPS = {"official": _OFFICIAL, "all_trec": _ALL_TREC}
# Only trec_eval has these names: without a cutoff they are all that it prints for them.
PREFIXES = (
    *("P", "relative_P", "ndcg_cut", "map_cut", "unj"),
    *("iprec_at_recall", "Rprec_mult"),
)
_WITH_CUTOFFS = (*PREFIXES, "recall", "success")
CUTOFF = r"\d+(?:\.\d+)?"
LIST = re.compile(rf"(?P<name>[A-Za-z]\w*?)[._](?P<cutoffs>{CUTOFF}(?:,{CUTOFF})+)")


@lru_cache(maxsize=256)
def expand(text: str) -> list[str]:
    """Return the measures of a group, or the text itself if it names no group.

    ``official`` and ``all_trec`` are trec_eval's, as are ``P``, ``ndcg_cut`` ... for
    all of its cutoffs, and ``P.5,10`` for some; the name of a family means its
    measures, without a cutoff, unless a measure has that name.
    """
    if text in GROUPS:
        return GROUPS[text]
    if text in PREFIXES:
        return [name for name in _ALL_TREC if re.fullmatch(rf"{text}_[\d.]+", name)]
    if (several := LIST.fullmatch(text)) and several["name"] in _WITH_CUTOFFS:
        return [f"{several['name']}_{k}" for k in several["cutoffs"].split(",")]
    if text in METRICS:
        return [text]
    family = [
        m.name
        for m in METRICS.values()
        if m.family == text and m.vocabulary == "ranking"
    ]
    return family or [text]
