"""How frames are evaluated: lazily, in one pass, and always to the same numbers."""

from __future__ import annotations

import gc
import weakref
from functools import cache, partial
from itertools import product
from math import inf, log2

import numpy as np
import polars as pl
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal
from slow import ENGINES, slow
from vocabularies import METRICS

import polars_rank as pr
from polars_rank._engine import opening
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.metric.registry import value

TREC = pr.CONVENTIONS["trec_eval"]
TWO = ["doc_desc", "expected"]
TIES = [*TWO, "doc_asc", "order", "optimistic", "pessimistic"]
VARIANTS = ["ndcg(ideal=retrieved)", "err(max_grade=query)", "nerr(max_grade=query)"]
ALL = [*METRICS, *VARIANTS, "ndcg@3", "ap@3", "spearman@3", "hinge@3", "listmle@3"]
SOME = ["ndcg", "ap@3", "err", "spearman", "hinge"]


def made(n: int = 40, docs: int = 9) -> pl.DataFrame:
    """Ties, negative grades, unjudged documents; with attributes of the queries."""
    draw, query = np.random.default_rng(n), np.repeat(np.arange(n), docs)
    ids = {"query_id": query, "doc_id": np.tile(np.arange(docs), n)}
    about = {"country": query % 3, "traffic": query % 5 + 1.0, "unused": 0}
    score = np.round(draw.normal(size=n * docs) * 2) / 2
    label = pl.when(pl.col("doc_id") % 4 > 0).then(draw.integers(-1, 5, n * docs))
    return pl.DataFrame({**ids, "score": score, **about}).with_columns(label=label)


LOG = made()
QRELS = LOG.drop("score").drop_nulls()
RUN = LOG.drop("label").filter((pl.col("doc_id") + pl.col("query_id")) % 5 > 0)
QUERIES = LOG.select("query_id", "country", "traffic").unique()
FRAMES = pytest.mark.parametrize(
    ("frame", "options"), [(LOG, {}), (RUN, {"qrels": QRELS})], ids=["log", "run"]
)


def ranked(labels: list, **columns) -> pl.DataFrame:
    """One list in rank order, its documents called a, b, c ..."""
    n = len(labels)
    ids = {"query_id": 1, "doc_id": list("abcdefgh"[:n]), "score": range(n, 0, -1)}
    return pl.DataFrame({**ids, "label": labels, **columns}, strict=False)


def one(frame: pl.DataFrame, measure: str = "rr", **options) -> float:
    choice = TREC.replace(**options.pop("choice", {}))
    return pr.per_query(frame, measure, convention=choice, **options)[measure].item()


def possible(ties: str, measures: list[str] = ALL) -> list[str]:
    """The measures that have a closed form for the rule."""
    closed = [m for m in measures if pr.Measure.parse(m).definition.tie_mean]
    return closed if ties == "expected" else measures


def bits(frame: pl.DataFrame) -> list[bytes]:
    return [column.to_numpy().tobytes() for column in frame]


@pytest.mark.parametrize(
    ("options", "n"),
    [({}, 4), ({"doc": None}, 3), ({"by": "country"}, 5), ({"weight": "traffic"}, 5)],
)
def test_schemas_are_read_first_then_needed_columns_once(tmp_path, collect, options, n):
    options = options | {"layout": "any"}  # "auto" may read twice
    reads, path = [], tmp_path / "log.parquet"

    def scan(frame):
        def source(columns, *_):
            reads.append(len(columns or frame.columns))
            yield frame.select(columns or frame.columns)

        return register_io_source(source, schema=frame.schema)

    collect(pr.evaluate(scan(LOG), SOME, **options))
    assert reads == [n]
    LOG.write_parquet(path)
    narrow = pl.scan_parquet(path).cast({"query_id": pl.Int32})
    plan = pr.evaluate(narrow, SOME, **options)
    assert plan.explain().count(f"PROJECT {n}/7 COLUMNS") == 1
    path.unlink()
    with pytest.raises(FileNotFoundError):
        collect(plan)
    both = dict(qrels=scan(QRELS), queries=scan(QUERIES), layout="any")
    collect(pr.evaluate(scan(RUN), "rr", **both))
    assert sorted(reads[1:]) == [1, 3, 3]


@FRAMES
def test_schema_order_and_kind_of_the_result(frame, options, collect):
    keys = ["country", "query_id"]
    plan = pr.per_query(frame.lazy(), SOME, query=keys, **options)
    values = collect(plan)
    assert values.schema == plan.collect_schema()
    assert values.columns == [*keys, *SOME]
    assert values.select(keys).rows() == sorted(values.select(keys).rows())
    assert_frame_equal(values, pr.per_query(frame, SOME, query=keys, **options))
    plan = pr.evaluate(frame.lazy(), SOME, by="country", **options)
    assert collect(plan).schema == plan.collect_schema()
    assert collect(plan)["country"].to_list() == [0, 1, 2]
    for given in (frame, frame.lazy()):
        assert type(given.rank_eval.evaluate("rr", **options)) is type(given)


@pytest.mark.parametrize("kind", ["clone", "lazy"])
def test_a_namespace_keeps_no_frame_alive(kind):
    frame = getattr(LOG, kind)()
    frame.rank_eval.per_query("rr")
    alive = weakref.ref(frame)
    gc.disable()
    del frame
    gc.enable()
    assert alive() is None


def test_a_namespace_sees_changes_of_its_frame():
    frame = ranked([0, 1])
    frame.rank_eval.per_query("rr")
    frame[0, "label"] = 1
    assert frame.rank_eval.per_query("rr")["rr"].item() == 1


def test_a_namespace_that_outlives_its_frame_runs_no_plan(monkeypatch):
    """A plan that runs inside the groups of another can run the next group, and so on
    until Python's stack is full."""
    namespace = ranked([0, 1]).rank_eval
    monkeypatch.setattr(pl.LazyFrame, "collect", None)
    assert namespace._frame["label"].to_list() == [0, 1]


@pytest.mark.parametrize("method", ["evaluate", "per_query"])
def test_small_frames_are_not_streamed(method, monkeypatch):
    """Neither by the function nor by the namespace."""
    engines, collect = [], pl.LazyFrame.collect

    def noted(frame, *, engine="auto", **options):
        engines.append(engine)
        return collect(frame, engine=engine, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect", noted)
    asks = [getattr(LOG.rank_eval, method), partial(getattr(pr, method), LOG)]
    for ask in asks:
        ask("rr")
    assert engines == ["in-memory"] * 2
    monkeypatch.setattr(opening, "IN_MEMORY_ROWS", len(LOG) - 1)
    for ask in asks:
        engines.clear()
        ask("rr")
        assert "streaming" in engines


@pytest.mark.slow
def test_inside_the_groups_of_an_aggregation():
    rows = pl.DataFrame({"row": range(2000)}).select(
        group=pl.col("row") // 2,
        query_id=pl.lit(1),
        score=pl.col("row"),
        label=pl.col("row") % 2,
    )

    def evaluated(columns):
        log = columns[0].struct.unnest()
        return log.rank_eval.evaluate("rr")["rr"]

    values = rows.group_by("group").agg(
        rr=pl.map_groups(
            [pl.struct(pl.all())],
            evaluated,
            return_dtype=pl.Float64,
            returns_scalar=True,
        )
    )
    assert values["rr"].to_list() == [1.0] * 1000  # the higher score is relevant


def in_memory(plan: pl.LazyFrame) -> list[str]:
    """Nodes of the physical plan that fall back: they are filled with red."""
    how = {"engine": "streaming", "plan_stage": "physical", "raw_output": True}
    graph = plan.show_graph(**how, show=False).splitlines()
    return [node for node in graph if "0.0 0.3 1.0" in node and node[:6] != "label="]


@pytest.mark.covering(1)
@pytest.mark.parametrize("ties", TIES)
@FRAMES
def test_every_metric_streams(frame, options, ties):
    options = {**options, "convention": TREC.replace(ties=ties)}
    others = [
        pr.measure("ndcg", gain={0: 1, 1: 3}),
        *(pr.measure("ndcg", ideal=ideal) for ideal in ("retrieved", "min_k_n", "k")),
    ]
    # The other rules sort by another column, and nothing else.
    asked_for = [SOME, *others]
    if ties in TWO:  # and each by itself, in one of the two
        alone = possible(ties)[TWO.index(ties) ^ (frame is RUN) :: 2]
        asked_for = [possible(ties), *alone]
    for asked in asked_for:
        plan = pr.evaluate(frame.lazy(), asked, by="country", **options)
        assert in_memory(plan) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ties", "every"), [("doc_desc", 4), slow("doc_desc", 1), slow("expected", 1)]
)
@FRAMES
def test_many_measures_at_once_equal_each_alone(frame, options, ties, every):
    options = {**options, "convention": TREC.replace(ties=ties)}
    once = pr.per_query(frame, possible(ties), **options)
    for name in possible(ties)[2 * (frame is RUN) % every :: every]:
        alone = pr.per_query(frame, name, **options)
        assert bits(alone) == bits(once.select("query_id", name))


@pytest.mark.parametrize("ties", ["expected", slow("doc_desc")])
@FRAMES
def test_measures_of_your_own_equal_the_built_in(frame, options, ties):
    def own(metric):
        return lambda r: value(metric, r, complete_arguments(metric), "zero")

    names = possible(ties, list(METRICS))
    options = {**options, "convention": TREC.replace(ties=ties)}
    mine = pr.per_query(frame, {n: own(METRICS[n]) for n in names}, **options)
    built_in = pr.per_query(frame, names, **options)
    assert_frame_equal(mine, built_in, abs_tol=1e-15, rel_tol=1e-12)


@pytest.mark.covering(1)
@FRAMES
@pytest.mark.parametrize("engine", ENGINES)
def test_order_parts_and_engine_change_no_bit(frame, options, engine, tmp_path):
    log = made(200, 8) if frame is LOG else RUN
    asked = ALL if engine == "in-memory" else ALL[frame is RUN :: 2]
    whole = bits(pr.per_query(log, asked, **options))
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=3)
    for i in range(7):
        shuffled[i::7].write_parquet(tmp_path / f"{i}.parquet")
    parts = pl.scan_parquet(tmp_path / "*.parquet")
    values = pr.per_query(parts, asked, **options).collect(engine=engine)
    assert bits(values) == whole


@pytest.mark.parametrize("n", [1, 5, 50])
def test_three_of_five_is_three_fifths_to_the_last_bit(n, collect):
    """Polars multiplies by 1/5 where it divides many values by one literal."""
    lists = made(n, 5).with_columns(label=pl.col("doc_id").is_between(1, 3))
    values = collect(pr.per_query(lists.lazy(), "precision@5"))
    assert set(values["precision@5"]) == {3 / 5}


@pytest.mark.parametrize("engine", ENGINES)
@FRAMES
def test_no_false_sorted_flag_leaves(frame, options, engine):
    options = {**options, "query": ["country", "query_id"]}
    plan = pr.per_query(frame.lazy().reverse(), SOME, **options)
    values = plan.collect(engine=engine)
    for column in values:
        fresh = pl.Series(column.to_list(), dtype=column.dtype)
        for flag, down in (("SORTED_ASC", False), ("SORTED_DESC", True)):
            assert fresh.is_sorted(descending=down) or not column.flags[flag]


SYSTEMS = {"s0": RUN, "s1": RUN.with_columns(score=-pl.col("score")), "s2": RUN[200:]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "engine"),
    [
        (pr.per_query, "streaming"),
        slow(pr.per_query, "in-memory"),
        slow(pr.evaluate, "streaming"),
        slow(pr.evaluate, "in-memory"),
    ],
)
def test_several_systems_in_one_pass(function, engine):
    run = pl.concat(f.with_columns(system=pl.lit(s)) for s, f in SYSTEMS.items())
    options = {"query": ["system", "query_id"], "qrels": QRELS}
    options |= {"by": "system"} if function is pr.evaluate else {}
    asked = ALL[::3]
    together = function(run.lazy(), asked, **options).collect(engine=engine)
    assert together["system"].unique().sort().to_list() == list(SYSTEMS)
    for system, frame in SYSTEMS.items():
        alone = function(frame, asked, qrels=QRELS)
        assert_frame_equal(together.filter(system=system).drop("system"), alone)


@pytest.mark.parametrize("where", ["log", "queries"])
def test_segments_equal_filters_and_weights_numpy(where, collect):
    log, options = LOG, {}
    if where == "queries":
        log, options = LOG.drop("country", "traffic"), {"queries": QUERIES}
    parts = collect(pr.evaluate(log.lazy(), SOME, by="country", **options))
    for part in parts.partition_by("country"):
        inside = LOG.filter(country=part["country"].item())
        assert_frame_equal(part.drop("country"), pr.evaluate(inside, SOME))
    means = collect(pr.evaluate(log.lazy(), SOME, weight="traffic", **options))
    each = pr.per_query(LOG, SOME).join(QUERIES, on="query_id")
    for name in SOME:
        known = each.drop_nulls(name)
        wanted = np.average(known[name].to_numpy(), weights=known["traffic"].to_numpy())
        assert means[name].item() == pytest.approx(wanted, rel=1e-12)


def test_queries_fix_which_queries_are_evaluated(collect):
    asked = pl.DataFrame({"query_id": [77, 3, 5]})
    own = pr.per_query(LOG.filter(pl.col("query_id").is_in([3, 5])), ["rr", "hinge"])
    plan = pr.per_query(LOG.lazy(), ["rr", "hinge"], queries=asked, missing="zero")
    assert collect(plan).rows() == [*own.rows(), (77, 0.0, None)]
    lost = QRELS.with_columns(query_id=pl.col("query_id").replace(3, 77))
    values = pr.per_query(RUN, "rr", qrels=lost, queries=asked[:1])  # judged, not run
    assert values.rows() == [(77, 0.0)]


@pytest.mark.parametrize("argument", ["queries", "segments"])
@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["q1"], "a list of ids"),
        ((1, 2), "a tuple of ids"),
        ({3}, "a set of ids"),
        ([], "an empty list"),
        ({}, "an empty dict"),
    ],
)
def test_ids_alone_are_no_frame(argument, given, what):
    told = f"{argument}= is a frame with a row per query, not {what}; give pl.DataFrame"
    with pytest.raises(TypeError, match=told):
        pr.evaluate(LOG, "rr", **{argument: given})


ODD = ["*", "^x$", "query", "key0", "label", "place", "row", "term0", "m0", "fault0"]


ODD += ["retrieved", "rank", "doc", "by0", ""]


@cache
def usual_names() -> list[pl.DataFrame]:
    options = {"by": "country", "weight": "traffic"}
    qrels = [{}, {"qrels": QRELS}]
    return [
        pr.evaluate(frame, "ap", **given, **options)
        for frame, given in zip([LOG, RUN], qrels, strict=True)
    ]


@pytest.mark.parametrize("first", range(len(ODD)))
def test_columns_may_have_any_name(first):
    """Each of these names in each role."""
    roles = "query_id", "doc_id", "score", "label", "country", "traffic"
    arguments = "query", "doc", "score", "label", "by", "weight"
    frames = [LOG, RUN.drop(roles[4:]), QRELS, QUERIES]
    wanted, paired = usual_names()
    odd = ODD[first:] + ODD[:first]
    names = dict(zip(roles, odd, strict=False))
    log, run, qrels, queries = (f.rename(names, strict=False) for f in frames)
    options = dict(zip(arguments, names.values(), strict=True))
    by = {"country": names["country"]}
    assert_frame_equal(pr.evaluate(log, "ap", **options), wanted.rename(by))
    options |= {"qrels": qrels, "queries": queries}
    assert_frame_equal(pr.evaluate(run, "ap", **options), paired.rename(by))


@pytest.mark.parametrize("odd", ["*", "^x$", "^.*$"])
def test_columns_of_expressions_may_have_any_name(odd):
    score, doc = {"score": odd, "doc": "doc_id"}, {"score": "score", "doc": odd}
    for roles, column in ((score, "score"), (doc, "doc_id")):
        log = LOG.with_columns(x=pl.col("score").reverse()).rename({column: odd})
        each = pl.col("label").rank_eval.ap(**roles).alias("ap")
        values = log.group_by("query_id", maintain_order=True).agg(each)
        assert_frame_equal(values, pr.per_query(LOG, "ap"))


TEXT = [pl.String, pl.Categorical, pl.Enum(list("abc")), pl.Enum(list("zcba"))]
WHOLE = [pl.Int64, pl.Int32, pl.UInt8, pl.UInt64]


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("left", "right"), [*product(TEXT, TEXT), *product(WHOLE, WHOLE)]
)
def test_ids_of_one_kind_are_compared(left, right):
    numbers = pl.col("doc_id").replace_strict({"a": 7, "b": 8, "c": 9})
    ids = pl.col("doc_id") if left in TEXT else numbers
    log = ranked([0, None, 1])
    qrels = log.drop("score").with_columns(ids.cast(right)).drop_nulls()
    run = log.drop("label").with_columns(ids.cast(left))
    for ties in ("doc_desc", "order"):
        assert one(run, "ap", qrels=qrels, choice={"ties": ties}) == 1 / 3
    swapped = {"query": "doc_id", "doc": "query_id", "qrels": qrels}
    assert sorted(pr.per_query(run, "ap", **swapped)["ap"]) == [0, 1]


def test_ids_beyond_63_bits_are_themselves(collect):
    """No signed integer of 64 bits holds the second query of the run."""
    ids = {"query_id": [1, 2**64 - 1], "doc_id": "a"}
    run = pl.LazyFrame({**ids, "score": 1.0}, schema_overrides={"query_id": pl.UInt64})
    qrels = pl.LazyFrame({"query_id": [1, -1], "doc_id": "a", "label": 1})
    found = collect(pr.per_query(run, "rr", qrels=qrels))
    assert found.rows() == [(-1, 0.0), (1, 1.0)]


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
@pytest.mark.parametrize("ties", TIES)
def test_both_zeros_are_one_score(zeros, ties):
    """Only document b is relevant."""
    rr = dict(zip(TIES, [1, 3 / 4, 1 / 2, 1 / 2, 1, 1 / 2], strict=True))[ties]
    log = ranked([0, 1], score=zeros)
    assert one(log, choice={"ties": ties}) == rr
    qrels = log.drop("score")
    assert one(log.drop("label"), qrels=qrels, choice={"ties": ties}) == rr
    each = pl.col("label").rank_eval.rr("score", doc="doc_id", ties=ties)
    assert log.select(each).item() == rr


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
@FRAMES
def test_rules_by_grade_do_not_read_the_order_of_rows(frame, options, ties):
    mixed = [*ALL, "judged@3", "unjudged@3", "mean_label@3", "fall_out@3"]
    first, then = (
        pr.per_query(rows, mixed, ties=ties, **options)
        for rows in (frame, frame.sample(fraction=1.0, shuffle=True, seed=1))
    )
    assert bits(first.fill_null(-1)) == bits(then.fill_null(-1))


@pytest.mark.parametrize(
    ("ties", "judged", "ndcg"), [("optimistic", 1, 1), ("pessimistic", 0, 0)]
)
def test_the_unjudged_are_below_every_grade(ties, judged, ndcg):
    """Even where a grade of 0 gains something."""
    graded = pr.measure("ndcg", k=1, gain={0: 1, 1: 3}, name="ndcg")
    for labels in ([None, 0, -1], [-1, None, 0], [0, -1, None]):
        log = ranked(labels, score=1)
        found = pr.per_query(log, ["judged@1", graded], ties=ties)
        assert found.row(0)[1:] == (judged, ndcg)


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Int32, pl.Int8, pl.UInt8, pl.UInt64])
def test_score_types_change_no_value(dtype):
    typed = ranked([0, 2, 1, 1], score=pl.Series([100.1, 77.7, 27, 1]).cast(dtype))
    asked = [m for m in ALL if pr.Measure.parse(m).definition.uses_scores]
    asked = list(dict.fromkeys([*asked, *SOME]))
    wide = pr.per_query(typed.cast({"score": pl.Float64}), asked)
    assert_frame_equal(pr.per_query(typed, asked), wide, rel_tol=1e-12)


HALF, NEAR = ranked([0.5, 1]), ranked([0, 1], score=[1 + 1e-9, 1.0])
DROP, SINGLE = {"unjudged": "drop"}, {"score_dtype": "float32"}
LOST = {
    "qrels": ranked([1], doc_id="lost"),
    "choice": {"missing": "error"},
    "check": "off",
}


@pytest.mark.parametrize(
    ("frame", "measure", "options", "wanted"),
    [
        (ranked([0, 0, 1], score=[-inf, 0.0, inf]), "rr", {}, 1),
        (ranked([None, 1]), "rr", {}, 1 / 2),
        (ranked([None, 1]), "kendall_distance", {}, None),
        (HALF, "ap", {}, 1 / 2),
        (HALF.cast({"label": pl.Decimal(4, 2)}), "ap", {}, 1 / 2),
        (HALF, "dcg", {}, 0.5 + 1 / log2(3)),
        (ranked([0, 1]), "precision@4", {}, 1 / 4),
        (ranked([0, 1, 1], at=[3, 2, None]), "ap", {"rank": "at"}, 1 / 2 / 2),
        (ranked([1, 1], at=[1, None]), "set_relative_P", {"rank": "at"}, 1),
        (NEAR, "rr", {}, 1 / 2),
        (NEAR, "rr", {"choice": SINGLE}, 1),
        (ranked([None, 1]), "rr", {"choice": DROP}, 1),
        (ranked([None]), "rr", {"choice": DROP}, 0),
        (ranked([0], at=[2]), "rr", {**LOST, "rank": "at"}, 0),  # it was retrieved
        (ranked([0]), "rr", {**LOST, "choice": DROP | LOST["choice"]}, 0),
        (ranked([None, 1], at=[1, 2]), "rr", {"choice": DROP, "rank": "at"}, 1),
        (ranked([2]), "dcg", {"choice": {"gain": "exp2"}}, 3),
        (ranked([2]), "dcg(gain=linear)", {"choice": {"gain": "exp2"}}, 2),
    ],
)
def test_values(frame, measure, options, wanted):
    assert one(frame, measure, **options) == pytest.approx(wanted)


MEANS = [({"missing": "skip"}, (2, 1 / 2)), ({"no_relevant": "one"}, (3, 2 / 3))]
MEANS += [({"no_relevant": "skip"}, (3, 1 / 2)), ({"no_relevant": "null"}, (3, None))]


@pytest.mark.parametrize(("choice", "wanted"), [*MEANS, ({}, (3, 1 / 3))])
def test_means_of_queries_without_answer(choice, wanted, collect):
    """One query is answered, one is not in the run, and one has nothing relevant."""
    qrels = pl.DataFrame({"query_id": [1, 2, 3], "doc_id": "a", "label": [1, 1, 0]})
    run = qrels.select("query_id", "doc_id", score=1.0).remove(query_id=2)
    options = {"qrels": qrels, "convention": TREC.replace(**choice)}
    assert collect(pr.evaluate(run.lazy(), "rr", **options)).row(0) == wanted


def test_queries_without_the_system_serve_all(collect):
    run = pl.concat(f.with_columns(system=pl.lit(s)) for s, f in SYSTEMS.items())
    options = {"query": ["system", "query_id"], "qrels": QRELS}
    parts = QUERIES.filter(pl.col("query_id") > 20).drop("country")
    parts = parts.with_columns(half=pl.col("query_id") % 2)
    by = ["system", "half"]
    together = pr.evaluate(run.lazy(), "ap", queries=parts, by=by, **options)
    for (system, half), part in collect(together).group_by(by):
        frame, asked = SYSTEMS[system], parts.filter(half=half)
        alone = pr.evaluate(frame, "ap", qrels=QRELS, queries=asked)
        assert_frame_equal(part.drop(by), alone)
