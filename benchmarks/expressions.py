"""Expressions of measures against plans that were written by hand, and polars_ds.

``python benchmarks/expressions.py [--rounds 5] [--only ndcg@10 ...]`` computes each
measure in ``agg``, ``over`` and ``select`` on both engines, in turns with a plan of
Polars for this measure alone, which makes the same checks, and with the nDCG of
polars_ds, if that is installed. CPU time, the least of the rounds: the table has the
multiples of the plan by hand. All must find the same values. In ``select``, all rows
are one query. ``--five``: five measures in one ``agg``, each by itself, as one
expression and by hand, against the dearest of them. ``--frames``: ``evaluate`` of small
frames, planned anew each time, against the mean of the plan by hand.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

import polars_rank as pr

try:
    import polars_ds
except ImportError:
    polars_ds = None

SHAPES = ((50, 1_000), (1_000, 100), (20_000, 100), (100_000, 10))
SMALL = ((10, 20), (50, 1_000), (1_000, 100))
CALLS = 20  # of a round: one takes milliseconds
ENGINES = ("in-memory", "streaming")
FIVE = ("ndcg@10", "ap", "rr", "precision@10", "recall@100")
OURS = pl.col("label").rank_eval
LABEL, SCORE = pl.col("label"), pl.col("score")
GRADE = pl.when(LABEL > 0).then(LABEL).otherwise(0).cast(pl.Float64)
RELEVANT = (LABEL >= 1).fill_null(value=False)
R = RELEVANT.sum()


# -- by hand: one sort for each measure, and only as many documents as needed


def ordered(column: pl.Expr) -> pl.Expr:
    return column.sort_by(
        "score", descending=True, nulls_last=True, maintain_order=True
    )


def along(rows: pl.Expr, f: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    return rows.implode().list.eval(f(pl.element())).list.first()


def ranks(column: pl.Expr) -> pl.Expr:
    return pl.int_ranges(1, column.len() + 1).explode().cast(pl.Float64)


def dcg(grade: pl.Expr) -> pl.Expr:
    return (grade * (1.0 / (ranks(grade) + 1.0).log(2.0))).sum()


def err(grade: pl.Expr) -> pl.Expr:
    stop = (pl.lit(2.0).pow(grade) - 1.0) / 2.0**4
    reached = (1.0 - stop).cum_prod().shift(1, fill_value=1.0)
    return (reached * stop * (1.0 / ranks(grade))).sum()


def rbp(grade: pl.Expr) -> pl.Expr:
    return (grade * ((1.0 - 0.9) * pl.lit(0.9).pow(ranks(grade) - 1.0))).sum()


def precisions(places: pl.Expr) -> pl.Expr:
    """Of the places of relevant documents, which count from 0."""
    return (ranks(places) / (places + 1.0)).sum()


def ndcg(depth: int | None) -> pl.Expr:
    found, best = ordered(GRADE), GRADE.sort(descending=True)
    if depth is not None:
        found, best = found.head(depth), best.head(depth)
    return pl.when(R > 0).then(along(found, dcg) / along(best, dcg)).fill_null(0.0)


BY_HAND = {
    "ndcg@10": ndcg(10),
    "ndcg": ndcg(None),
    "dcg@10": along(ordered(GRADE).head(10), dcg),
    "ap": pl.when(R > 0)
    .then(along(ordered(RELEVANT).arg_true(), precisions) / R)
    .otherwise(0.0),
    "rr": (1.0 / (ordered(RELEVANT).index_of(element=True) + 1.0)).fill_null(0.0),
    "precision@10": ordered(RELEVANT).head(10).sum() * 1.0 / 10,
    "recall@100": pl.when(R > 0)
    .then(ordered(RELEVANT).head(100).sum() / R)
    .otherwise(0),
    "err@10": along(ordered(GRADE).head(10), err),
    "rbp": pl.when(R > 0).then(along(ordered(GRADE), rbp) / GRADE.max()).otherwise(0.0),
}
EXPRESSIONS = {
    "ndcg@10": OURS.ndcg("score", k=10),
    "ndcg": OURS.ndcg("score"),
    "dcg@10": OURS.dcg("score", k=10),
    "ap": OURS.ap("score"),
    "rr": OURS.rr("score"),
    "precision@10": OURS.precision("score", k=10),
    "recall@100": OURS.recall("score", k=100),
    "err@10": OURS.err("score", k=10),
    "rbp": OURS.rbp("score"),
}


def with_checks(value: pl.Expr, name: str) -> pl.Expr:
    """The value, and what has to be 0 for it to count.

    ``first`` tells Polars that it is one value: else the struct costs up to three times
    the measure in ``agg``.
    """
    counts = [
        SCORE.is_nan().sum().alias("nan"),
        SCORE.null_count().alias("null"),
        (~LABEL.cast(pl.Float64).is_finite()).sum().alias("infinite"),
    ]
    if name.startswith("err"):
        counts += [
            (LABEL > 1023).sum().alias("overflow"),
            (LABEL > 4).sum().alias("top"),
        ]
    return pl.struct(value.cast(pl.Float64).first().alias("value"), *counts)


# -- measurement


def log(queries: int, documents: int) -> pl.DataFrame:
    rng, rows = np.random.default_rng(1), queries * documents
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), documents),
            "score": rng.random(rows),
            "label": rng.integers(0, 3, rows),
        }
    )


CONTEXTS: dict[str, Callable[[pl.LazyFrame, pl.Expr], pl.LazyFrame]] = {
    "agg": lambda rows, x: rows.group_by("query_id", maintain_order=True).agg(x=x),
    "over": lambda rows, x: rows.select("query_id", x=x.over("query_id")),
    "select": lambda rows, x: rows.select(x=x),
}


def least(rounds: int, calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """CPU seconds of each call, in turns; the least of the rounds, after one more."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            begun = time.process_time()
            call()
            if turn:
                taken[name].append(time.process_time() - begun)
    return {name: min(seconds) for name, seconds in taken.items()}


def contenders(name: str) -> dict[str, pl.Expr]:
    found = {"ours": EXPRESSIONS[name], "by hand": with_checks(BY_HAND[name], name)}
    if polars_ds is not None and name == "ndcg@10":
        found["polars_ds"] = polars_ds.query_ndcg_score(
            "label", "score", k=10, ignore_ties=True
        )
    return found


def require_equal(values: dict[str, pl.Series], name: str) -> None:
    ours, hand = values["ours"], values["by hand"].struct.unnest()
    assert not hand.drop("value").sum_horizontal().sum()
    apart = (ours - hand["value"]).abs().max()
    assert apart is not None
    assert apart < 1e-12, (name, apart)
    if "polars_ds" in values:
        other = values["polars_ds"].fill_nan(0.0).fill_null(0.0)
        assert math.isclose(ours.mean(), other.mean(), rel_tol=1e-9)


def compare(name: str, rows: pl.LazyFrame, context: str, rounds: int) -> list[str]:
    cells = []
    for engine in ENGINES:
        plans = {
            who: CONTEXTS[context](rows, expr) for who, expr in contenders(name).items()
        }
        values = {who: p.collect(engine=engine)["x"] for who, p in plans.items()}
        require_equal(values, name)
        seconds = least(
            rounds,
            {w: partial(p.collect, engine=engine) for w, p in plans.items()},
        )
        cell = f"{seconds['ours'] / seconds['by hand']:.2f}"
        if "polars_ds" in seconds:
            cell += f" (polars_ds {seconds['polars_ds'] / seconds['by hand']:.2f})"
        cells.append(cell)
    return cells


def five_by_hand(grouped: pl.LazyGroupBy) -> pl.LazyFrame:
    """Five measures of grades that are sorted once, with the checks.

    An expression that names the sorted grades twice would sort them twice: they are
    lists of a first step.
    """
    lists = grouped.agg(
        ordered(GRADE).alias("found"),
        GRADE.top_k(10).sort(descending=True).alias("best"),
        R.alias("relevant"),
        SCORE.is_nan().sum().alias("nan"),
        SCORE.null_count().alias("null"),
        (~LABEL.cast(pl.Float64).is_finite()).sum().alias("infinite"),
    )
    grade, found, relevant = pl.element(), pl.col("found").list, pl.col("relevant")
    best = pl.col("best").list.eval(dcg(grade)).list.first()
    some, rows = relevant > 0, pl.exclude("found", "best", "relevant")
    values = {
        "ndcg@10": found.eval(dcg(grade.head(10))).list.first() / best,
        "ap": found.eval(precisions((grade >= 1).arg_true())).list.first() / relevant,
        "rr": 1.0 / (found.eval((grade >= 1).index_of(True)).list.first() + 1.0),
        "precision@10": found.head(10).list.eval((grade >= 1).sum()).list.first() / 10,
        "recall@100": found.head(100).list.eval((grade >= 1).sum()).list.first()
        / relevant,
    }
    return lists.select(
        rows,
        **{name: pl.when(some).then(v).otherwise(0.0) for name, v in values.items()},
    )


def five(rows: pl.LazyFrame, rounds: int) -> list[str]:
    """Multiples of the dearest of five measures, in the order of the docstring."""
    grouped = rows.group_by("query_id")
    plans = {name: grouped.agg(EXPRESSIONS[name]) for name in FIVE}
    together = {
        "each": grouped.agg(EXPRESSIONS[name].alias(name) for name in FIVE),
        "one": grouped.agg(pl.col("label").rank_eval.per_query([*FIVE], "score")),
        "by hand": five_by_hand(grouped),
    }
    values = [plan.collect().sort("query_id") for plan in together.values()]
    for other in (values[1].unnest("label"), values[2]):
        apart = (values[0].select(FIVE) - other.select(FIVE)).select(pl.all().abs())
        assert apart.max_horizontal().max() < 1e-12
    seconds = least(rounds, {n: p.collect for n, p in (plans | together).items()})
    dearest = max(seconds[name] for name in FIVE)
    return [f"{name} {seconds[name] / dearest:.2f}" for name in together]


def frames(name: str, rows: pl.DataFrame, rounds: int) -> str:
    """Milliseconds of a call, and multiples of the plan by hand."""

    def by_hand() -> pl.DataFrame:
        checked = with_checks(BY_HAND[name], name)
        values = rows.group_by("query_id").agg(x=checked).unnest("x")
        return values.select(
            pl.col("value").mean(), pl.exclude("value", "query_id").sum()
        )

    def ours() -> pl.DataFrame:
        return pr.evaluate(rows, name)

    assert math.isclose(ours()[name].item(), by_hand()["value"].item(), rel_tol=1e-12)
    calls = {"ours": ours, "by hand": by_hand}
    many = {who: partial(_often, call) for who, call in calls.items()}
    seconds = least(rounds, many)
    own = f"{1000 * seconds['ours'] / CALLS:.1f} ms"
    return f"{own}, {seconds['ours'] / seconds['by hand']:.2f}"


def _often(call: Callable[[], object]) -> None:
    for _ in range(CALLS):
        call()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", nargs="+", choices=list(BY_HAND), default=list(BY_HAND)
    )
    parser.add_argument(
        "--contexts", nargs="+", choices=list(CONTEXTS), default=CONTEXTS
    )
    parser.add_argument("--five", action="store_true")
    parser.add_argument("--frames", action="store_true")
    given = parser.parse_args()
    if given.frames:
        for shape in SMALL:
            cells = (frames(name, log(*shape), given.rounds) for name in given.only)
            print(*shape, *(f"| {cell}" for cell in cells), flush=True)
        return
    if given.five:
        for shape in SHAPES:
            print(*shape, *five(log(*shape).lazy(), given.rounds), flush=True)
        return
    heads = [f"{queries:,} x {documents:,}" for queries, documents in SHAPES]
    print(f"| measure, in-memory / streaming | {' | '.join(heads)} |")
    print("|---|" + "---:|" * len(heads))
    for context in given.contexts:
        for name in given.only:
            cells = (
                " / ".join(compare(name, log(*shape).lazy(), context, given.rounds))
                for shape in SHAPES
            )
            print(f"| {name}, `{context}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
