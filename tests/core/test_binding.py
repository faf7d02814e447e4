"""Plans of expressions: what they read, and which nodes of the streaming engine run."""

from __future__ import annotations

import polars as pl
import pytest

import polars_rank as pr

LOG = pl.LazyFrame({"query_id": [1, 1], "score": [0.1, 0.2], "label": [0, 1]})
OURS = pl.col("label").rank_eval
FALLBACK = 'fillcolor="0.0 0.3 1.0"'
CONTEXTS = {
    "agg": lambda x: LOG.group_by("query_id").agg(x=x),
    "over": lambda x: LOG.with_columns(x=x.over("query_id")),
    "agg of sorted rows": lambda x: (
        LOG.sort("query_id").group_by("query_id", maintain_order=True).agg(x=x)
    ),
    "select": lambda x: LOG.select(x=x),
}


def streams(plan: pl.LazyFrame) -> bool:
    graph = plan.show_graph(
        engine="streaming", plan_stage="physical", raw_output=True, show=False
    )
    return FALLBACK not in graph


@pytest.mark.parametrize(
    ("context", "flat", "graded"),
    [
        ("agg", False, False),
        ("over", False, False),
        ("agg of sorted rows", True, True),
        ("select", True, False),
    ],
)
def test_which_plans_stream(context, flat, graded):
    plan = CONTEXTS[context]
    for expr in (OURS.precision("score", k=10), OURS.rr("score")):
        assert streams(plan(expr)) == flat
    for expr in (OURS.ndcg("score", k=10), OURS.ap("score")):
        assert streams(plan(expr)) == graded


@pytest.mark.parametrize(
    "expr",
    [
        OURS.ndcg("score", k=7),
        OURS.precision("score", k=7),
        OURS.err("score", k=7),
        OURS.ap("score", k=7),
        OURS.ndcg("score", k=7, gain="exp2"),
    ],
)
def test_a_cutoff_takes_the_first_documents(expr):
    assert "slice(offset=0, length=7)" in LOG.select(expr).explain()


def test_gains_are_computed_of_the_first_documents_only():
    plan = LOG.select(OURS.ndcg("score", k=7, convention="lightgbm")).explain()
    assert plan.count("pow") == 2  # of the list, and of the ideal one


@pytest.mark.parametrize(
    "expr",
    [
        OURS.ndcg("score", k=7, ties="expected"),
        OURS.err("score", k=7, max_grade="query"),
        OURS.ndcg("score", k=7, gain={1: 3}),
        pr.metric_expr(lambda r: r.sum(r.gain() * r.in_top(7)), "label", score="score"),
    ],
)
def test_all_documents_are_read_where_they_can_matter(expr):
    assert "slice(" not in LOG.select(expr).explain()


def test_values_with_a_cutoff_have_the_bits_of_frames():
    lengths = [127, 128, 130, 256, 260]
    rows = pl.concat(
        pl.select(
            query_id=pl.lit(n),
            score=pl.int_range(n) * 7919 % 10007 / 10007,
            label=pl.int_range(n) * 31 % 101 / 25,
        )
        for n in lengths
    )
    measures = ["ndcg@10", "dcg@10", "err@10", "precision@10", "recall@10"]
    frame = pr.per_query(rows, measures, check="off")
    exprs = [
        getattr(OURS, name.partition("@")[0])("score", k=10).alias(name)
        for name in measures
    ]
    found = rows.group_by("query_id").agg(exprs).sort("query_id")
    wanted = frame.select("query_id", *measures).sort("query_id")
    assert found.rows() == wanted.rows()
    for engine in ("in-memory", "streaming"):
        alone = [
            query.lazy().select(exprs).collect(engine=engine).row(0)
            for query in rows.partition_by("query_id")
        ]
        assert alone == wanted.drop("query_id").rows(), engine


def test_what_is_kept_of_equal_calls_is_not_taken_for_others():
    label = pl.col("label")
    rows = LOG.with_columns(other=-pl.col("score"), doc_id=1, grade=2)

    def plan(x: pl.Expr) -> str:
        return rows.select(x).explain(optimized=False)

    calls = [
        lambda: label.rank_eval.ndcg("score", k=5),
        lambda: label.rank_eval.ndcg("score", k=6),
        lambda: label.rank_eval.ndcg("score", k=5, gain="exp2"),
        lambda: label.rank_eval.ndcg("score", k=5, convention="xgboost"),
        lambda: label.rank_eval.ndcg("other", k=5),
        lambda: label.rank_eval.ndcg(pl.col("score") * 2, k=5),
        lambda: label.rank_eval.ndcg("score", k=5, ties="optimistic"),
        lambda: label.rank_eval.ndcg("score", k=5, doc="doc_id"),
        lambda: label.rank_eval.ndcg(rank="score", k=5),
        lambda: (label - 1).rank_eval.ndcg("score", k=5),
        lambda: pl.col("grade").rank_eval.ndcg("score", k=5),
    ]
    first, again = ([plan(call()) for call in calls] for _ in range(2))
    assert first == again
    assert len({*first}) == len(calls)


def test_functions_of_the_user_are_called_anew_each_time():
    factor = [1]
    rows = LOG.collect()

    def value() -> float:
        formula = pr.metric_expr(mine, "label", score="score")
        gain = OURS.dcg("score", k=1, gain=twofold)
        return rows.select(formula.alias("formula"), gain.alias("gain")).row(0)

    def mine(r):
        return r.sum(r.gain()) * factor[0]

    def twofold(grade):
        return grade * factor[0]

    assert value() == (1.0, 1.0)
    factor[0] = 2
    assert value() == (2.0, 2.0)


@pytest.mark.parametrize("name", ["ndcg", "precision", "ap", "rr", "err"])
@pytest.mark.parametrize("label", [1, 0.5])
def test_a_label_of_all_documents_is_as_long_as_they_are(name, label):
    """A literal: flat, it would be a single document."""
    rows = pl.DataFrame({"score": [0.3, 0.2, 0.1], "label": [label] * 3})
    measure, literal = (
        getattr(one.rank_eval, name)("score")
        for one in (pl.col("label"), pl.lit(label))
    )
    assert rows.select(x=measure).item() == rows.select(x=literal).item()


def test_a_name_is_read_as_the_column_itself():
    by_name = pr.metric_expr(lambda r: r.hits_at(2), "label", score="score")
    by_column = pr.metric_expr(lambda r: r.hits_at(2), pl.col("label"), score="score")
    assert str(by_name) == str(by_column)
    assert "cs.by_name" not in str(by_name)


@pytest.mark.parametrize("name", ["*", "^sc.*$", "^", "score*", "$"])
def test_a_name_is_never_a_pattern(name):
    log = LOG.rename({"score": name}).with_columns(score_of_old=1.0, scale=2.0)
    found = log.select(x=OURS.rr(name)).collect()
    assert found.item() == LOG.select(x=OURS.rr("score")).collect().item() == 1.0
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        LOG.select(x=OURS.rr(name)).collect()


NUMBERS = [2, 0, 1, 0]
NUMERIC = [pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.Decimal(10, 2)]
EACH_PATH = {  # in place, in a struct, in a list, several, and of no plain column
    "precision": OURS.precision("score", k=2),
    "f1": OURS.f1("score", k=2),
    "ap": OURS.ap("score"),
    "ndcg": OURS.ndcg("score", k=2),
    "several": OURS.per_query(["rr", "ap"], "score"),
    "computed": (pl.col("label") * 1).rank_eval.precision("score", k=2),
    "ranked": OURS.precision(rank="score", k=2),
}


@pytest.mark.parametrize("path", EACH_PATH)
@pytest.mark.parametrize(
    ("column", "dtype"),
    [("label", dtype) for dtype in (*NUMERIC, pl.Boolean, pl.Null)]
    + [("score", dtype) for dtype in NUMERIC],
    ids=str,
)
def test_numbers_of_any_type_give_the_values_of_floats(path, column, dtype):
    rows = pl.DataFrame({"label": NUMBERS, "score": [4, 3, 2, 1]})
    if dtype == pl.Null:
        rows = rows.with_columns(pl.lit(None).alias(column))
    if dtype == pl.Boolean:
        rows = rows.with_columns(pl.col(column) > 1)
    given = rows.with_columns(pl.col(column).cast(dtype)).select(EACH_PATH[path])
    wanted = rows.with_columns(pl.col(column).cast(pl.Float64)).select(EACH_PATH[path])
    assert given.equals(wanted)


@pytest.mark.parametrize("path", EACH_PATH)
@pytest.mark.parametrize("column", ["label", "score"])
def test_text_is_not_read_as_numbers(path, column):
    """As a cast would read it."""
    rows = pl.LazyFrame({"label": NUMBERS, "score": [4, 3, 2, 1]})
    text = rows.with_columns(pl.col(column).cast(pl.String))
    expr = EACH_PATH[path]
    for plan in (text.select(expr), text.group_by(pl.lit(1)).agg(x=expr)):
        with pytest.raises(pl.exceptions.PolarsError, match=r"str|String"):
            plan.collect()


@pytest.mark.parametrize(
    "expr",
    [
        *(OURS.precision("score", k=3), OURS.recall("score", k=3), OURS.ap("score")),
        *(OURS.dcg("score", k=3), OURS.err("score", k=3), OURS.rr("score")),
    ],
)
def test_what_is_named_once_is_computed_in_place(expr):
    plan = LOG.select(expr).explain(optimized=False)
    assert plan.count("sort_by") == 1
    assert "with_fields" not in plan


def test_a_list_of_each_order_unless_a_sum_reads_both():
    apart = OURS.per_query(["ndcg@3", "ap"], "score")
    joint = OURS.average_ndcg("score")
    apart, joint = (LOG.select(e).explain(optimized=False) for e in (apart, joint))
    assert (apart.count(".implode()"), joint.count(".implode()")) == (2, 1)
    assert "slice(offset=0, length=3)" in apart


def test_a_column_may_be_called_like_the_mark_of_a_list():
    rows = LOG.rename({"label": "in ideal order"}).collect()
    label = pl.col("in ideal order").rank_eval
    for name in ("precision", "ap", "ndcg"):
        found = rows.select(getattr(label, name)("score")).item()
        assert found == LOG.collect().select(getattr(OURS, name)("score")).item()
