"""A simulation: queries, rankings, and labels by people and by a biased model."""

from __future__ import annotations

import numpy as np
import polars as pl

import polars_rank as pr

DOCS = 10
TOP = 2


def judges(
    *,
    seed: int,
    queries: int = 200,
    judged: int = 40,
    repetitions: int = 1,
    noise: float | None = 0.3,
    bias: float = 0.5,
    sampled: str = "queries",
    share: float = 0.2,
    truth: str | None = None,
):
    """Run, judgments by people, labels by the model (and the true mean of a measure).

    Grades 0 to 2 follow how easy the query is. The ranker sees them through noise.
    The model replaces a share ``noise`` of them by chance, and raises a share ``bias``
    of the others by 1; ``noise=None``: labels that know nothing of the grades.
    People judge the first ``judged`` queries, or each document with chance ``share``.
    """
    rng = np.random.default_rng(seed)
    shape = (repetitions, queries, DOCS)
    easy = rng.beta(1.5, 3.0, shape[:2])[..., None]
    grade = rng.binomial(TOP, easy, shape)
    score = grade + rng.normal(0, 1.5, shape)
    chance = rng.binomial(TOP, 0.4, shape)
    if noise is None:
        model = chance
    else:
        model = np.where(rng.random(shape) < noise, chance, grade)
        model = np.minimum(TOP, model + (rng.random(shape) < bias))
    ids = [a.ravel() for a in np.indices(shape)]
    rows = pl.DataFrame(
        {
            "system": ids[0],
            "query_id": ids[1],
            "doc_id": [f"d{i}" for i in ids[2]],
            "score": score.ravel(),
            "grade": grade.ravel(),
            "model": model.ravel(),
            "drawn": rng.random(shape).ravel() < share,
        }
    )
    if sampled == "queries":
        rows = rows.with_columns(drawn=pl.col("query_id") < judged)
    if repetitions == 1:
        rows = rows.drop("system")
    keys = [c for c in ("system", "query_id", "doc_id") if c in rows.columns]
    run = rows.select(*keys, "score")
    human = rows.filter("drawn").select(*keys, label="grade")
    labels = rows.select(*keys, label="model")
    if truth is None:
        return run, human, labels
    # The mean over all queries of all repetitions: its error is a hundredth of theirs.
    query = ["system", "query_id"]
    known = rows.select(*keys, "score", label="grade")
    return run, human, labels, pr.evaluate(known, truth, query=query)[truth].item()


def coverage(*, measure: str = "ndcg@5", level: float = 0.95, **options):
    """Share of intervals that hold the truth, with and without the model; widths.

    The last number is the mean width with the model, as a share of that without.
    """
    run, human, model, truth = judges(truth=measure, **options)
    found = pr.estimate(
        run, measure, qrels=human, model_qrels=model, system="system", level=level,
        sampled=options.get("sampled", "queries"),
    )  # fmt: skip
    held = [
        ((found[low] <= truth) & (truth <= found[high])).mean()
        for low, high in (("lower", "upper"), ("human_lower", "human_upper"))
    ]
    width = (found["upper"] - found["lower"]).mean()
    return *held, width / (found["human_upper"] - found["human_lower"]).mean()
