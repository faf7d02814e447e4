"""What no row tells, of data in parts: the same values, errors and warnings."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from test_evaluation_in_parts import bits, rows, split

import polars_rank as pr

LOG = rows(9).drop("country", "traffic")
RUN, QRELS = LOG.drop("label"), LOG.drop("score")
NO_QUERY = pl.DataFrame({"query_id": [100, 101], "team": ["a", "b"]})
FIRST_WORDS = 28  # of a message: a part names no examples of the whole


def labeled(frame: pl.DataFrame, label: pl.Expr) -> dict[str, pl.DataFrame]:
    return {"frame": frame.with_columns(label=label)}


def judged(run: pl.DataFrame = RUN, qrels: pl.DataFrame = QRELS, **others):
    return {"frame": run, "qrels": qrels, **others}


def asked(*ids: int) -> pl.DataFrame:
    return pl.DataFrame({"query_id": ids}, schema={"query_id": pl.Int64})


GRADE = pl.col("label") / 2
NULL = pl.lit(None, pl.Int64)
CASES = {
    "labels between 0 and 1": labeled(LOG, GRADE),
    "judgments between 0 and 1": judged(qrels=QRELS.with_columns(label=GRADE)),
    "labels below rel": labeled(LOG, pl.col("label") / 10),
    "no label": labeled(LOG, NULL),
    "no label in some parts": labeled(LOG, pl.when(query_id=3).then("label")),
    "no label in the judgments": judged(qrels=QRELS.with_columns(label=NULL)),
    "no rows": {"frame": LOG.clear()},
    "no judgments": judged(qrels=QRELS.clear()),
    "no run": judged(RUN.clear()),
    "other queries": judged(RUN.with_columns(pl.col("query_id") + 100)),
    "other documents": judged(RUN.with_columns(doc_id="x" + pl.col("doc_id"))),
    "missing queries": judged(RUN.filter(pl.col("query_id") > 4)),
    "a query without judgments": judged(queries=asked(1, 100)),
    "a query that is missing": judged(RUN.filter(pl.col("query_id") != 1))
    | {"queries": asked(1, 2)},
    "a query without rows": {"frame": LOG, "queries": asked(1, 100)},
    "unknown queries": {"frame": LOG, "queries": NO_QUERY},
    "unknown judged queries": judged(queries=NO_QUERY),
    "unknown segments": {"frame": LOG, "segments": NO_QUERY},
}


def outcome(call) -> tuple[object, list[str]]:
    """The bits, or the rule that is broken; the first words of warnings."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            value: object = bits(call())
        except pr.DataError as error:
            value = error.rule
    return value, [str(w.message)[:FIRST_WORDS] for w in heard]


@pytest.mark.covering(1, rest=2)
@pytest.mark.parametrize("missing", [None, "zero", "skip"])
@pytest.mark.parametrize("check", ["strict", "warn", "off"])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_parts_have_the_outcome_of_the_whole(name, parts, check, missing):
    frames = CASES[name]
    options = {"check": check, "missing": missing}
    if "segments" in frames:
        options["by"] = "team"
    single = outcome(lambda: pr.evaluate(measures=["rr", "ap"], **frames, **options))
    evaluation = pr.Evaluation(["rr", "ap"], **options)

    def merged() -> pl.DataFrame:
        ids = {q: q % parts for q in range(200)}
        pieces = [
            {
                side: frame.filter(pl.col("query_id").replace_strict(ids) == i)
                for side, frame in frames.items()
            }
            for i in range(parts)
        ]
        return evaluation.merge([evaluation.partial(**piece) for piece in pieces])

    assert outcome(merged) == single


@pytest.mark.covering(1)
@pytest.mark.parametrize("check", ["strict", "warn"])
@pytest.mark.parametrize("name", [n for n, c in CASES.items() if "qrels" in c])
def test_broadcast_judgments_have_the_outcome_of_the_whole(name, check):
    frames = dict(CASES[name])
    single = outcome(lambda: pr.evaluate(measures="rr", check=check, **frames))
    evaluation = pr.Evaluation("rr", check=check)
    run = frames.pop("frame")

    def merged() -> pl.DataFrame:
        partials = [
            evaluation.partial(part, **frames, broadcast=True)
            for part in split(run, 2, 0) or [run]
        ]
        return evaluation.merge(partials, **frames)

    if run.is_empty():
        return
    assert outcome(merged) == single


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
@pytest.mark.parametrize("name", CASES)
def test_each_warning_of_a_plan_comes_once(name, layout):
    frames = {side: frame.lazy() for side, frame in CASES[name].items()}
    options = {"check": "warn", "layout": layout}
    if "segments" in frames:
        options["by"] = "team"
    _, told = outcome(lambda: pr.evaluate(measures="rr", **frames, **options).collect())
    assert len(told) == len(set(told))
