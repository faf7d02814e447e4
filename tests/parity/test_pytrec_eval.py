"""pytrec_eval-terrier, which runs trec_eval 9.0.8: levels of recall rounded up."""

from __future__ import annotations

import random

import polars as pl
import pytest
from parity.record import record

import polars_rank as pr

pytrec_eval = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.parity

LEVELS = [f"iprec_at_recall_{i / 10:.2f}" for i in range(11)]
MULTIPLES = [f"Rprec_mult_{i / 5:.2f}" for i in range(1, 11)]
CUT = [f"{m}_{k}" for m in ("P", "recall", "map_cut", "ndcg_cut") for k in (1, 5, 30)]
CUT += [f"{m}_{k}" for m in ("relative_P", "success") for k in (1, 5, 30)]
COUNTS = ["num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"]
SETS = ["set_P", "set_recall", "set_relative_P", "set_F", "set_map", "utility"]
OTHERS = ["map", "gm_map", "Rprec", "bpref", "gm_bpref", "recip_rank", "infAP"]
GRADED = ["ndcg", "ndcg_rel", "Rndcg", "G"]
NAMES = [*COUNTS, *OTHERS, "11pt_avg", "binG", *SETS, *GRADED]
NAMES += [*CUT, *LEVELS, *MULTIPLES]


def data(seed: int) -> tuple[dict, dict]:
    """Run and judgments: ties, unjudged documents, missing queries, negative grades.

    The tool may crash on a query of negative grades only: each has a document of 0.
    """
    rng = random.Random(seed)
    run, qrels = {}, {}
    for q in map(str, range(60)):
        pool = [f"d{n}" for n in rng.sample(range(300), rng.randint(2, 60))]
        grades = [0, 0, 0, 1, 1, 2, 3, -1, -2] if seed % 2 else [0, 0, 0, 1, 1, 2, 3]
        judged = {d: rng.choice(grades) for d in pool if rng.random() < 0.7}
        if q == "4":
            judged = dict.fromkeys(judged, 0)
        digits = rng.choice([0, 1, 6])
        found = pool[: rng.randint(1, len(pool))] + [f"x{i}" for i in range(q == "5")]
        qrels[q] = judged | {"none": 0}
        if q != "7":
            run[q] = {d: round(rng.gauss(0, 1), digits) for d in found}
    run["101"] = {"d0": 1.0}
    return run, qrels


def table(given: dict, value: str) -> pl.DataFrame:
    rows = [(q, d, v) for q, inner in given.items() for d, v in inner.items()]
    return pl.DataFrame(rows, ["query_id", "doc_id", value], orient="row")


@pytest.mark.parametrize("name", NAMES)
def test_every_query(name):
    text = name if name in (*OTHERS, *SETS, *COUNTS, "set_map", "11pt_avg") else None
    family, _, suffix = name.rpartition("_")
    text = f"{family}.{suffix}" if text is None and suffix[0].isdigit() else name
    worst, cases, wrong = 0.0, 0, []
    for seed, rel, unjudged in [
        (1, 1, "nonrelevant"), (2, 2, "nonrelevant"), (3, 1, "drop"), (4, 1, "drop")
    ]:  # fmt: skip
        run, qrels = data(seed)
        theirs = pytrec_eval.RelevanceEvaluator(
            qrels, {text}, relevance_level=rel, judged_docs_only_flag=unjudged == "drop"
        ).evaluate(run)
        convention = pr.CONVENTIONS["trec_eval_9"]
        if (rel, unjudged) != (1, "nonrelevant"):
            convention = convention.replace(rel=rel, unjudged=unjudged)
        ours = pr.per_query(
            table(run, "score"),
            name,
            qrels=table(qrels, "label"),
            convention=convention,
        )
        assert set(ours["query_id"]) == theirs.keys()
        for query, found in ours.iter_rows():
            wanted = theirs[query][name]
            if unjudged == "drop" and wanted != wanted:
                wanted = 0.0  # nothing is left: it divides 0 by 0
            if name == "Rndcg" and wanted == 0 and len(run[query]) == 1:
                continue  # at times: of a list of one it reads what was never written
            off = abs(found - wanted) / max(1.0, abs(wanted))
            worst, cases = max(worst, off), cases + 1
            if not off <= 1e-12:
                wrong.append((seed, query, found, wanted))
    record("pytrec_eval", name, worst, cases)
    assert not wrong, wrong[:5]


def test_every_measure_is_compared():
    """All that the tool offers, but two that are words: runid and relstring."""
    offered = set(pytrec_eval.supported_measures)
    families = {name.rpartition("_")[0] for name in NAMES} | set(NAMES)
    assert offered - families == {"runid", "relstring"}
