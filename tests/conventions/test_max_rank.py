"""``max_rank=``: what stands below counts as judged, but not as retrieved."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from reference import Doc, order, random_queries
from test_reference import compare, frames, loops
from vocabularies import METRICS

import polars_rank as pr

TREC = pr.CONVENTIONS["trec_eval"]


def cut(docs: list[Doc], depth: int, *, condense: bool) -> list[Doc]:
    """Documents below the depth lose their score; then the unjudged may go."""
    kept = {d.id for d in order(docs, "doc_desc")[:depth]}
    docs = [d if d.id in kept else dataclasses.replace(d, score=None) for d in docs]
    if not condense:
        return docs
    return [
        d
        if d.label is not None and d.label >= 0
        else dataclasses.replace(d, score=None)
        for d in docs
    ]


def untied(docs: list[Doc]) -> list[Doc]:
    """The same order with distinct scores, which is all that ranks can tell."""
    places = {d.id: i for i, d in enumerate(order(docs, "doc_desc"))}
    return [
        d if d.score is None else dataclasses.replace(d, score=-float(places[d.id]))
        for d in docs
    ]


@pytest.mark.covering(1, rest=2)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("layout", ["any", "contiguous"])
@pytest.mark.parametrize("unjudged", ["nonrelevant", "drop"])
@pytest.mark.parametrize("form", ["score", "rank", "log"])
def test_documents_below_are_not_retrieved(form, unjudged, layout, engine):
    queries = {
        q: [d for d in docs if d.score is not None or form != "log"]
        for q, docs in random_queries(11, 25).items()
        if any(d.label is not None for d in docs)
    }
    queries = {q: docs for q, docs in queries.items() if docs}
    if form != "log":  # its loops take half of the time
        del queries["many_documents"]
    if form == "rank":
        queries = {q: untied(docs) for q, docs in queries.items()}
    run, qrels = frames(queries)
    run = run.drop_nulls()
    place = pl.struct("score", "doc_id").rank("ordinal", descending=True)
    options: dict = {"qrels": qrels.drop_nulls()}
    if form == "rank":
        run = run.with_columns(place=place.over("query_id").cast(pl.Int64))
        options["rank"] = "place"
        run = run.drop("score")
    if form == "log":
        run = run.join(qrels, on=["query_id", "doc_id"], how="left")
        options = {}
    measures = [n for n, m in METRICS.items() if form != "rank" or not m.uses_scores]
    measures = measures[engine == "streaming" :: 2]
    found = pr.per_query(
        run.sort("query_id", maintain_order=True).lazy(),
        measures,
        max_rank=4,
        layout=layout,
        convention=TREC.replace(unjudged=unjudged),
        **{n: v.lazy() if n == "qrels" else v for n, v in options.items()},
    )
    condense = unjudged == "drop"
    docs = {q: cut(ds, 4, condense=condense) for q, ds in queries.items()}
    compare(
        found.collect(engine=engine),
        {
            q: {name: loops(name, ds, {}, "doc_desc") for name in measures}
            for q, ds in docs.items()
        },
    )


LOG = pl.DataFrame({"query_id": [1, 1, 1], "score": [3, 2, 1], "label": [0, 0, 1]})


def test_nothing_is_below_a_low_enough_max_rank():
    assert pr.per_query(LOG, ["rr", "num_ret"], max_rank=3).row(0) == (1, 1 / 3, 3.0)
    assert pr.per_query(LOG, ["rr", "num_ret"], max_rank=2).row(0) == (1, 0.0, 2.0)
    assert pr.evaluate(LOG, ["rr", "num_rel"], max_rank=2).row(0) == (1, 0.0, 1.0)


@pytest.mark.parametrize("layout", ["any", "contiguous", "auto"])
def test_the_last_known_rank_counts(layout):
    """Where few rows are needed, those of known rank are not sorted."""
    log = LOG.with_columns(place=pl.Series([1, 2, 3]), doc_id=pl.Series(list("abc")))
    run, qrels = log.drop("label", "score").lazy(), log.drop("score", "place").lazy()
    for frame, options in ((log.lazy(), {}), (run, {"qrels": qrels})):
        for max_rank, wanted in ((3, 1 / 3), (2, 0.0)):
            options |= {"rank": "place", "layout": layout, "max_rank": max_rank}
            assert pr.per_query(frame, "rr", **options).collect()["rr"].item() == wanted


@pytest.mark.parametrize("max_rank", [0, -1, 2.0, True, "10"])
def test_a_max_rank_is_a_whole_number(max_rank):
    with pytest.raises(
        ValueError, match="max_rank must be a whole number of at least 1"
    ):
        pr.per_query(LOG, "rr", max_rank=max_rank)


def test_expected_ties_have_no_max_rank():
    with pytest.raises(ValueError, match="max_rank= has no mean over the orders"):
        pr.per_query(LOG, "rr", max_rank=2, convention=TREC.replace(ties="expected"))
