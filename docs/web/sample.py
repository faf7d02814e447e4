"""One list that every page uses, and what the library says about it."""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache
from typing import Any

import polars as pl

import polars_rank as pr
from polars_rank.metrics import METRICS, Metric

LIST = """>>> import polars as pl
>>> import polars_rank as pr
>>> run = pl.DataFrame(
...     {"query_id": 1, "doc_id": list("abcde"), "score": [5.0, 4.0, 3.0, 3.0, 1.0]}
... )
>>> qrels = pl.DataFrame(
...     {"query_id": 1, "doc_id": list("abdef"), "label": [3, 0, 2, 1, 1]}
... )
"""
IN_WORDS = """Five documents were retrieved. `c` and `d` have the same score, `c` was
not judged, and `f`, which is relevant, was not retrieved."""
SUBTOPICS = """>>> import polars as pl
>>> import polars_rank as pr
>>> run = pl.DataFrame(
...     {"query_id": 1, "doc_id": list("abcd"), "score": [4, 3, 2, 1]}
... )
>>> qrels = pl.DataFrame(
...     {
...         "query_id": 1,
...         "subtopic": ["x", "x", "x", "y", "y"],
...         "doc_id": ["a", "b", "d", "b", "e"],
...         "label": 1,
...     }
... )
"""
SUBTOPICS_IN_WORDS = """Four documents were retrieved. `a`, `b` and `d` serve subtopic
x, `b` and `e` subtopic y; `e` was not retrieved."""
SHOP = """>>> import polars as pl
>>> import polars_rank as pr
>>> run = pl.DataFrame(
...     {"user": [1, 1, 1, 2, 2], "item": list("acdab"), "score": [3, 2, 1, 2, 1]}
... )
>>> qrels = pl.DataFrame({"user": [1, 1, 2], "item": list("cea"), "label": 1})
>>> history = pl.DataFrame({"user": [3, 3, 4, 4, 1], "item": list("abaca")})
>>> items = pl.DataFrame({"item": list("abcde"), "category": list("xxyyz")})
>>> items = items.with_columns(protected=pl.col("category") == "y")
>>> frames = {"qrels": qrels, "history": history, "items": items}
>>> shop = {"query": "user", "doc": "item", **frames}
"""
SHOP_IN_WORDS = """Two users got lists of three and two items. Of the catalog's five
items, three users of the history know `a`, one each `b` and `c`, and nobody `d` and
`e`; user 1 has seen `a`. Items of the category y are a protected group."""
WORDS = {  # about the frames of the example, by the vocabulary of a measure
    "ranking": IN_WORDS,
    "subtopics": SUBTOPICS_IN_WORDS,
    "recommendations": SHOP_IN_WORDS,
    "catalog": SHOP_IN_WORDS,
    "totals": SHOP_IN_WORDS,
}
GIVEN = {"rnd": "(step=2)"}  # its own steps are longer than the lists
PLACES = 10  # ranks that one relevant document takes in turn


@cache
def frames(listed: str) -> dict[str, Any]:
    """The frames that the lines of a listing make."""
    names: dict[str, Any] = {}
    exec("\n".join(line[4:] for line in listed.splitlines()), names)
    return names


def value(measure: str, **choices: Any) -> float | str | None:
    """The value on the list; the words of the error if it is refused."""
    made = frames(LIST)
    qrels = choices.pop("qrels", made["qrels"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = pr.evaluate(made["run"], measure, qrels=qrels, **choices)
        except (ValueError, pr.DataError):
            return "an error"
    return found.item(0, 1)


def nothing_relevant() -> pl.DataFrame:
    """Judgments of the list in which no document is relevant."""
    return frames(LIST)["qrels"].with_columns(label=pl.lit(0))


def one_more_query() -> pl.DataFrame:
    """Judgments of the list and of a query that the run lacks."""
    qrels = frames(LIST)["qrels"]
    return pl.concat([qrels, qrels.with_columns(pl.col("query_id") + 1)])


def session(metric: Metric) -> str:
    """Lines that compute the value, and what they print."""
    if metric.vocabulary == "subtopics":
        return run_lines(SUBTOPICS, [call(metric.name, ', subtopic="subtopic"')])
    of_lists = metric.vocabulary in ("recommendations", "catalog", "totals")
    texts = [metric.name + GIVEN.get(metric.name, "")]
    if metric.cutoff in metric.parameters and of_lists:
        texts.append(f"{texts[0]}@2")
    if of_lists:
        calls = [f'pr.evaluate(run, "{text}", **shop).item(0, 1)' for text in texts]
        return run_lines(SHOP, calls)
    if metric.cutoff in metric.parameters:
        texts.append(f"{metric.name}@3")
    return run_lines(LIST, [call(text) for text in texts])


def call(measure: str, more: str = "") -> str:
    """A call that gives one value."""
    return f'pr.evaluate(run, "{measure}", qrels=qrels{more}).item(0, 1)'


def run_lines(listed: str, calls: list[str]) -> str:
    """A session of calls after a listing."""
    made, text = frames(listed), listed
    for line in calls:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(line, dict(made))
        text += f">>> {line}\n" + ("" if found is None else f"{found!r}\n")
    return f"```pycon\n{text}```"


@cache
def on_its_way_down() -> dict[str, list[float]]:
    """Values while the only relevant document, of grade 4, moves from rank 1 to 10."""
    ranks = range(1, PLACES + 1)
    rows = [(place, rank) for place in ranks for rank in ranks]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    run = run.with_columns(score=PLACES + 1.0 - pl.col("doc_id"))
    label = pl.when(pl.col("query_id") == pl.col("doc_id")).then(4).otherwise(0)
    qrels = run.select("query_id", "doc_id", label=label)
    measures = [m.name for m in METRICS.values() if m.vocabulary == "ranking"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pr.per_query(run, measures, qrels=qrels).sort("query_id")
    return {name: found[name].to_list() for name in measures}
