"""Lists of ids, as libraries for language models take them: copies, empty, short."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TypeAlias

import polars as pl
from parity.compare import distance, own_name
from parity.random_runs import Ranked
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

Lists: TypeAlias = dict[str, list[str]]  # query -> ids in rank order
Theirs: TypeAlias = Callable[[list[str], dict[str, float], int | None], float | None]


def id_lists(
    seed: int,
    *,
    copies: bool = False,
    empty: bool = False,
    nothing_relevant: bool = True,
    queries: int = 100,
) -> tuple[Lists, Ranked]:
    """Lists, and grades from 0 to 3: more retrieved than relevant, and fewer."""
    draw = random.Random(seed)
    lists: Lists = {}
    qrels: Ranked = {}
    for number in range(queries):
        query = str(number)
        pool = [f"d{i}" for i in range(draw.choice([4, 8, 30]))]
        length = draw.randint(0 if empty else 1, 12)
        drawn = draw.choices(pool, k=length) if copies else draw.sample(pool, len(pool))
        lists[query] = drawn[:length]
        judged = draw.sample(pool, draw.randint(1, len(pool)))[: draw.randint(1, 6)]
        qrels[query] = {d: draw.choice([0, 1, 1, 2, 3]) for d in judged}
        if nothing_relevant and number % 9 == 4 and lists[query]:
            qrels[query] = dict.fromkeys(judged, 0)
        elif max(qrels[query].values()) == 0:
            qrels[query][judged[0]] = 1
    return lists, qrels


def compare_lists(
    convention: str | pr.Convention,
    metric: str,
    theirs: Theirs,
    data: Iterable[tuple[Lists, Ranked]],
    *,
    cutoffs: Iterable[int | None] = (1, 3, 10),
    tolerance: float = 1e-12,
    note: str = "",
    **params: object,
) -> None:
    """Fail at the first list that differs by more than the tolerance; then record."""
    if isinstance(convention, str):
        convention = pr.CONVENTIONS[convention]
    own = own_name(convention, metric)
    worst, cases = 0.0, 0
    for lists, qrels in data:
        for k in cutoffs:
            cut = {} if k is None else {"k": k}
            measure = pr.measure(own.metric, **own.arguments | cut | params)
            found = values_of(lists, qrels, measure, convention)
            for query, grades in qrels.items():
                wanted = theirs(lists[query], grades, k)
                far = distance(found.get(query), wanted)
                where = measure.name, lists[query], grades
                assert far <= tolerance, (*where, found.get(query), wanted)
                worst, cases = max(worst, far), cases + 1
    assert cases >= 50
    record(TOOLS[convention.name.rstrip("*")].name, metric, worst, cases, note)


def values_of(
    lists: Lists, qrels: Ranked, measure: pr.Measure, convention: pr.Convention
) -> dict[str, float | None]:
    """Values of our own by query; an empty list is a query that the run lacks."""
    run = [(q, d, float(-i)) for q, ids in lists.items() for i, d in enumerate(ids)]
    judged = [(q, d, float(g)) for q, own in qrels.items() for d, g in own.items()]
    names = {"query_id": pl.String, "doc_id": pl.String}
    found = pr.per_query(
        pl.DataFrame(run, names | {"score": pl.Float64}, orient="row"),
        measure,
        qrels=pl.DataFrame(judged, names | {"label": pl.Float64}, orient="row"),
        convention=convention,
    )
    return dict(found.iter_rows())


def liked(grades: dict[str, float]) -> list[str]:
    """The ids of grade above 0."""
    return [d for d, grade in grades.items() if grade > 0]
