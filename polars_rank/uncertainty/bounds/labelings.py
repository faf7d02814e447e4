"""Labelings of the unjudged documents, among which are the best and the worst.

Every scheme is a set of labelings that holds one with the lowest and one with the
highest value of a measure. They are evaluated as queries of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.core.parameters import is_whole
from polars_rank.core.weights import custom_gain
from polars_rank.core.words.ranking import order_by
from polars_rank.measures.measure import Measure

Scheme: TypeAlias = Literal["ends", "scan", "sorted", "every"]

# Why so few suffice, for a fixed number of labeled documents: exchanging the labels of
# two documents so that the better one is higher up never lowers the value (or never
# raises it: arp, fall-out), so grades fall along the ranks; for sums of gain x weight
# that is the rearrangement inequality (Hardy, Littlewood and Polya, 1934, theorem 368).
# Only how many are labeled is open where R or the ideal order grows with them.
# "ends": the value never falls with a label: none of the documents, or all of them,
# have the highest grade. "scan": the first m, or the last m, have it, for some m.
# "sorted": grades fall along the ranks, or rise. Others try every labeling.
SCHEMES: Mapping[str, Scheme] = {
    **dict.fromkeys(
        (
            "accuracy", "hits", "rr", "cg", "dcg", "sdcg", "err", "pfound", "rbp",
            "inst", "insq", "nerr8", "nerr9", "nerr10", "nerr11",
            "mean_label", "precision", "num_rel", "num_ret", "num_q",
            "num_rel_ret",
        ),
        "ends",
    ),
    **dict.fromkeys(
        (
            "recall", "f1", "f_measure", "mcc", "binary_accuracy", "overlap", "jaccard",
            "ap", "gm_ap", "yaap", "r_precision", "interpolated_precision",
            "eleven_point_ap", "bpref", "gm_bpref", "inf_ap", "auc", "relevant_above",
            "partial_auc", "lrap", "arp", "fall_out", "ranking_loss", "coverage_error",
            "utility", "num_nonrel_judged_ret", "set_ap",
        ),
        "scan",
    ),
    **dict.fromkeys(
        (
            "ndcg", "nerr", "o_measure", "r_ndcg",
            "binary_g_measure", "compat", "rbo", "opa", "hinge", "listmle",
        ),
        "sorted",
    ),
}  # fmt: skip
UNLESS: Mapping[str, tuple[str, Any, Scheme]] = {  # with another value of a parameter
    "precision": ("divisor", ("k", "retrieved"), "scan"),
    "rbp": ("scale", float, "sorted"),
    "err": ("max_grade", float, "sorted"),
    "pfound": ("max_grade", float, "sorted"),
}


# Sums of gains by weights of places that no label changes.
ADDITIVE = frozenset(("cg", "dcg", "hits", "sdcg", "insq", "precision", "rbp"))


def is_additive(metric: str, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a value is a sum over documents, whatever the other labels are."""
    fixed = {
        "precision": arguments.get("divisor") == "k" and arguments.get("k") is not None,
        "rbp": arguments.get("scale") != "max",
    }
    gain = arguments.get("gain", "linear")
    return metric in ADDITIVE and fixed.get(metric, True) and isinstance(gain, str)


@dataclass(frozen=True)
class Documents:
    """Documents of the queries that are judged: retrieved, judged or both.

    ``held`` has the keys, ``doc``, ``score`` (null: not retrieved), ``label`` (null:
    unjudged), ``place`` in rank order, ``j``, 1, 2 ... along the unjudged ones, and
    ``u``, how many of them the query has. ``grades`` are those that they could have.
    """

    held: pl.DataFrame
    keys: list[str]
    grades: list[int]

    @property
    def frame(self) -> pl.LazyFrame:
        """Return the documents as the start of a plan."""
        return self.held.lazy()

    @property
    def unjudged(self) -> int:
        """Return the number of unjudged documents of the query that has most."""
        return int(self.held.select(pl.col("u").max().fill_null(0)).item())

    @property
    def above(self) -> bool:
        """Tell whether judged documents have higher grades than the others can."""
        return bool((self.held["label"] > self.grades[-1]).any())

    @classmethod
    def of(
        cls,
        run: pl.LazyFrame,
        qrels: pl.LazyFrame | None,
        keys: list[str],
        shared: list[str],
        convention: Convention,
        *,
        pool: bool,
        max_unseen: int = 0,
        max_grade: int | None = None,
    ) -> Documents:
        """Join the run and its judgments; ``pool``: with what any system retrieved.

        ``max_unseen`` documents of each query were neither retrieved nor judged.
        """
        grades = grades_of(max_grade, run if qrels is None else qrels)
        run = run.with_row_index("row")  # joins may change the order of tied rows
        if qrels is None:
            asked = run.select(keys).unique(maintain_order=True)
            frame = run
        else:
            asked, frame = _joined(run, qrels, keys, shared, pool=pool)
        if max_unseen:
            names = pl.LazyFrame({"doc": [f"\0{i}" for i in range(max_unseen)]})
            text = pl.col("doc").cast(pl.String)
            unseen = asked.join(names, how="cross")
            frame = pl.concat([frame.with_columns(text), unseen], how="diagonal")
        score = pl.col("score")
        if convention.score_dtype == "float32":
            score = score.cast(pl.Float32)
        by, descending = order_by(
            score,
            label=pl.col("label"),
            doc=pl.col("doc").cast(pl.String),
            ties=convention.ties,
        )
        unjudged = pl.col("label").is_null()
        frame = frame.sort(
            [*by, "row"],
            descending=[*descending, False],
            nulls_last=True,
            maintain_order=True,
        ).with_columns(
            place=pl.int_range(1, pl.len() + 1).over(keys),
            j=unjudged.cast(pl.Int64).cum_sum().over(keys),
            u=unjudged.cast(pl.Int64).sum().over(keys),
        )
        return cls(frame.collect(engine="streaming"), keys, grades)


def _joined(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    keys: list[str],
    shared: list[str],
    *,
    pool: bool,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return the queries that are judged, and their documents."""
    on = [*shared, "doc"]
    asked = qrels.select(shared).unique(maintain_order=True)
    if others := [k for k in keys if k not in shared]:
        systems = run.select(others).unique(maintain_order=True)
        asked = systems.join(asked, how="cross")
    known = run.join(asked, on=keys, how="semi")
    if pool:
        every = known.select(on).unique(maintain_order=True)
        known = asked.join(every, on=shared, maintain_order="left_right").join(
            known, on=[*keys, "doc"], how="left", maintain_order="left"
        )
    known = known.join(qrels, on=on, how="left", maintain_order="left")
    missed = asked.join(qrels, on=shared, maintain_order="left").join(
        known, on=[*keys, "doc"], how="anti"
    )
    missed = missed.with_columns(
        score=pl.lit(None, known.collect_schema()["score"]),
        row=pl.lit(None, pl.get_index_type()),
    )
    columns = [*keys, "doc", "score", "label", "row"]
    return asked, pl.concat([known.select(columns), missed.select(columns)])


def grades_of(max_grade: int | None, judged: pl.LazyFrame) -> list[int]:
    """Return the grades above 0; ``None`` means up to the largest of ``judged``."""
    if max_grade is None:
        largest = judged.select(pl.col("label").max()).collect().item()
        max_grade = 1 if largest is None else max(1, int(largest))
    if not is_whole(max_grade) or max_grade < 1:
        msg = f"max_grade must be a whole number of at least 1, not {max_grade!r}"
        raise ValueError(msg)
    return list(range(1, int(max_grade) + 1))


def scheme_of(
    measure: Measure,
    arguments: Mapping[str, Any],
    grades: Sequence[float],
    *,
    moved: bool = False,
    above: bool = False,
    best_alone: bool = False,
) -> Scheme:
    """Return the smallest set of labelings that is known to suffice for the measure.

    ``moved``: whether labels decide the order of tied documents. ``above``: whether
    judged documents have higher grades. ``best_alone``: whether a query counts as 1
    where nothing is relevant, so that one label can lower its value.
    """
    scheme = SCHEMES.get(measure.metric, "every")
    if measure.metric in UNLESS:
        name, usual, other = UNLESS[measure.metric]
        value = arguments[name]
        held = value in usual if isinstance(usual, tuple) else value != "max"
        if not held or value == "query":
            scheme = other
    if scheme == "ends" and best_alone:
        scheme = "sorted"
    if not _gains_rise(arguments, grades) or (moved and scheme != "ends"):
        return "every"
    if scheme == "sorted" and above:
        return "every"
    if scheme == "sorted" and (len(grades) == 1 or arguments.get("gain") == "binary"):
        return "scan" if measure.metric not in ("hinge", "listmle") else scheme
    return scheme


def _gains_rise(arguments: Mapping[str, Any], grades: Sequence[float]) -> bool:
    gain = arguments.get("gain", "linear")
    if isinstance(gain, str):
        return True
    grade = pl.Series("grade", [0, *grades], pl.Float64).to_frame()
    gains = grade.select(custom_gain(gain)(pl.col("grade")).cast(pl.Float64))
    return bool(gains.to_series().is_sorted())


def size_of(scheme: Scheme, unjudged: int, grades: int) -> int:
    """Count the labelings of one query that the scheme tries."""
    if scheme == "ends":
        return 2
    if scheme == "every":
        return int((grades + 1) ** unjudged)
    # Grades that never rise along u ranks: multisets of u grades out of grades + 1.
    return 2 * comb(unjudged + (1 if scheme == "scan" else grades), unjudged)


def labelings(
    documents: Documents, scheme: Scheme
) -> tuple[pl.LazyFrame, list[str], pl.Expr]:
    """Return all labelings of the scheme.

    Returns
    -------
    One row per query and labeling, the columns that tell labelings apart, and the
    label of an unjudged document under one.
    """
    rows = documents.frame.select(*documents.keys, "u").unique(
        documents.keys, maintain_order=True
    )
    u, j = pl.col("u"), pl.col("j")
    levels = [0, *documents.grades]
    if scheme == "every":
        base = pl.lit(len(levels), pl.Int64)
        # Digit j of the number m0, in that base, is the label of document j.
        rows = rows.with_columns(m0=pl.int_ranges(0, base.pow(u))).explode("m0")
        digit = (pl.col("m0") // base.pow((j - 1).clip(0))) % base
        label = digit.replace_strict(
            dict(enumerate(levels)), return_dtype=pl.Float64, default=None
        )
        return rows.drop("u"), ["m0"], label
    if scheme != "sorted":
        levels = [0, levels[-1]]
    steps = [float(b - a) for a, b in pairwise(levels)]
    names, most = [f"m{i}" for i in range(len(steps))], u
    for name in names:
        counts = pl.int_ranges(0, most + 1)
        if scheme == "ends":
            counts = pl.concat_list(pl.lit(0, pl.Int64), most).list.unique()
        rows = rows.with_columns(counts.alias(name)).explode(name)
        most = pl.col(name)
    # m0 documents have the lowest grade or more, m1 <= m0 the next or more ...,
    # counted from the first unjudged document; turned: from the last, for the lowest.
    turns = [False] if scheme == "ends" else [False, True]
    rows = rows.with_columns(turned=pl.lit(pl.Series([turns]))).explode("turned")
    rows = rows.filter(~pl.col("turned") | (u > 1))
    reached = pl.when("turned").then(u + 1 - j).otherwise(j)
    label = pl.sum_horizontal(
        pl.when(reached <= pl.col(name)).then(step).otherwise(0.0)
        for name, step in zip(names, steps, strict=True)
    )
    return rows.drop("u"), [*names, "turned"], label


def labeled(
    documents: Documents, scheme: Scheme
) -> tuple[pl.LazyFrame, pl.LazyFrame, list[str]]:
    """Return a run and judgments with a query per labeling, and their query columns."""
    rows, names, label = labelings(documents, scheme)
    every = documents.frame.join(
        rows, on=documents.keys, maintain_order="left_right"
    ).with_columns(label=pl.coalesce(pl.col("label").cast(pl.Float64), label))
    keys = [*documents.keys, *names]
    run = every.filter(pl.col("score").is_not_null()).select(*keys, "doc", "score")
    return run, every.select(*keys, "doc", "label"), keys
