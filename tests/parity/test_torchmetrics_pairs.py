"""torchmetrics and RePlay: AUC in a cutoff and fall-out; CatBoost: QueryAUC and more.

torchmetrics computes in float32; its order of tied scores is not defined, so lists have
none.
"""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from parity.against import against, both
from parity.compare import remark
from reference import Doc, random_queries

import polars_rank as pr

pytestmark = pytest.mark.parity


def need(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, exc_type=ImportError)


def spread(i: int, n: int) -> float:
    """Scores between 0 and 1, in another order: all else meets a sigmoid first."""
    return (1.0 + (7 * i) % n) / (n + 1)


def judged_only(seed: int, *, tied: bool) -> dict[str, list[Doc]]:
    """Lists of judged documents with scores above 0."""
    queries = {}
    for query, docs in random_queries(seed, 80).items():
        known = [d for d in docs if d.score is not None and d.label is not None]
        if known:
            queries[query] = [
                Doc(d.id, d.score + 9 if tied else spread(i, len(known)), d.label)
                for i, d in enumerate(known)
            ]
            if not tied and len(known) % 7 == 0:
                del queries[query]
    return queries


@pytest.mark.parametrize("k", [None, 3, 10])
@pytest.mark.parametrize("name", ["retrieval_auroc", "retrieval_fall_out"])
def test_torchmetrics(name, k):
    torch = need("torch")
    retrieval = need("torchmetrics.functional.retrieval")

    def theirs(docs):
        scores, labels = both(docs)
        wanted = torch.tensor([int(label >= 1) for label in labels])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = getattr(retrieval, name)
            return float(function(torch.tensor(scores), wanted, top_k=k))

    measure = pr.Measure.parse(name if k is None else f"{name}@{k}")
    queries, tool = judged_only(33, tied=False), "torchmetrics"
    against(tool, measure, queries, theirs, convention=tool, tolerance=1e-6)


@pytest.mark.parametrize(
    "name", ["QueryAUC", "QueryAverage@3", "PairAccuracy", "ERR", "ERR@3", "PFound"]
)
def test_catboost(name):
    """Its own names under its convention; PairAccuracy is given every pair of labels.

    Labels are kept in float32; those of ERR and PFound are probabilities.
    """
    catboost = need("catboost.utils")
    cascade, tied = name.startswith(("ERR", "PFound")), name != "QueryAverage@3"
    text = name.replace("@", ":top=")

    def theirs(docs):
        scores, labels = both(docs)
        more = {}
        if name == "QueryAUC":
            labels = [float(label >= 1) for label in labels]
        if name == "PairAccuracy":
            n = range(len(labels))
            pairs = [(i, j) for i in n for j in n if labels[i] > labels[j]]
            if not pairs or len(pairs) > 2000:
                return None
            more = {"pairs": pairs}
        given = {"group_id": [0] * len(labels), "thread_count": 1}
        return catboost.eval_metric(labels, scores, text, **given, **more)[0]

    queries = judged_only(34, tied=tied)
    if cascade:  # quarters: float32 holds them
        queries = {
            query: [Doc(d.id, d.score, min(max(d.label, 0), 4) / 4) for d in docs]
            for query, docs in queries.items()
        }
    measure = pr.Measure.parse(name)
    against("CatBoost", measure, queries, theirs, convention="catboost")


@pytest.mark.parametrize("k", [3, 10])
def test_replay_counts_lists_of_one_kind(k):
    """Of no relevant document it is 0, of relevant ones alone 1; here undefined."""
    replay, pd = need("replay.metrics"), need("pandas")
    run = [("all", "a", 2.0), ("all", "b", 1.0), ("none", "y", 2.0), ("none", "z", 1.0)]
    rec = pd.DataFrame(run, columns=["query_id", "item_id", "rating"])
    truth = pd.DataFrame(
        [("all", "a"), ("all", "b"), ("none", "a"), ("missing", "a")],
        columns=["query_id", "item_id"],
    )
    (values,) = replay.RocAuc([k], mode=replay.PerUser())(rec, truth).values()
    assert values == {"all": 1.0, "none": 0.0, "missing": 0.0}
    found = pl.DataFrame(run, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = pl.from_pandas(truth).select("query_id", doc_id="item_id", label=1)
    measure = pr.measure("relevant_above", k=k)
    ours = pr.per_query(found, measure, qrels=qrels, missing="zero")
    assert dict(ours.iter_rows()) == {"all": None, "none": None, "missing": None}
    note = "0 where none of the first k is relevant, 1 where all are"
    remark("replay", measure.name, f"{note}: undefined here, one_class= sets a value")


@pytest.mark.parametrize("k", [3, 10])
def test_replay(k):
    """RePlay's AUC of one kind only is 0 or 1; such lists are left out."""
    replay, pd = need("replay.metrics"), need("pandas")

    def theirs(docs):
        found = sorted((d for d in docs if d.score is not None), key=lambda d: -d.score)
        good = [d.id for d in docs if d.label is not None and d.label >= 1]
        kinds = {d.id in good for d in found[:k]}
        if len(kinds) < 2:
            return None
        rec = pd.DataFrame({"query_id": "q", "item_id": [d.id for d in found]})
        rec["rating"] = [d.score for d in found]
        truth = pd.DataFrame({"query_id": "q", "item_id": good})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric = replay.RocAuc([k], mode=replay.PerUser())
            (values,) = metric(rec, truth).values()
        return float(values["q"])

    measure = pr.measure("relevant_above", k=k)
    against("RePlay", measure, random_queries(35, 120), theirs, ties="doc_desc")
