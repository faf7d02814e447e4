"""Fusion: every method and norm against plain loops, and what happens to odd rows."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from plain_fusion import (
    LOOPS,
    TRAINED,
    VARIANTS,
    frame,
    fused_by_loops,
    order,
    random_runs,
    trained_by_loops,
)
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank import fusion

UNTRAINED = {name: m for name, m in fusion.METHODS.items() if not m.learns}
OF_SCORES = [name for name, method in UNTRAINED.items() if method.of == "scores"]
OTHERS = [name for name in UNTRAINED if name not in OF_SCORES]
WEIGHTS = {"a": 0.3, "b": 0.0, "c": 1.7}


def lazy(runs):
    return {name: frame(run).lazy() for name, run in runs.items()}


def digits(value):
    """A score as it is returned."""
    return float(f"{value:.13g}")


def write_trec(run, path):
    lines = (f"{q} Q0 {doc} 0 {score!r} x\n" for q, doc, score in run.iter_rows())
    path.write_text("".join(lines))


def close(found, wanted):
    assert len(found) == len(wanted)
    for query, doc, value in found.iter_rows():
        assert value == pytest.approx(wanted[query, doc], rel=1e-12, abs=1e-12), doc


def test_every_method_and_norm_has_a_loop_and_a_definition():
    assert fusion.METHODS.keys() == LOOPS.keys() | TRAINED.keys()
    for name, row in (fusion.METHODS | fusion.NORMS).items():
        assert row.name == name
        assert "Equal to ranx's" in row.function.__doc__ or name == "condorcet"
        assert row.function.__doc__.partition("\n")[0].rstrip(".`")
    for method in fusion.METHODS.values():
        assert "Source: " in method.function.__doc__
        assert all(p.doc.text for p in method.parameters.values())
        assert method.grid.keys() <= method.parameters.keys()
        for name, values in method.grid.items():
            for value in values:
                method.parameters[name].check(value)


@pytest.mark.parametrize("norm", fusion.NORMS)
@pytest.mark.parametrize("method", OF_SCORES)
def test_methods_of_scores(method, norm, collect):
    runs = random_runs(len(method) + 7 * len(norm))
    for parameters in VARIANTS.get(method, [{}]):
        found = collect(fusion.fuse(lazy(runs), method, norm=norm, **parameters))
        close(found, fused_by_loops(runs, method, norm=norm, **parameters))


@pytest.mark.parametrize("method", OTHERS)
def test_methods_of_ranks_and_pairs(method, collect):
    runs = random_runs(len(method))
    for parameters in VARIANTS.get(method, [{}]):
        found = collect(fusion.fuse(lazy(runs), method, **parameters))
        close(found, fused_by_loops(runs, method, **parameters))


@pytest.mark.parametrize(
    "method", [m.name for m in fusion.METHODS.values() if m.weighted]
)
def test_weights(method, collect):
    runs = random_runs(11)
    found = collect(fusion.fuse(lazy(runs), method, weights=WEIGHTS))
    close(found, fused_by_loops(runs, method, weights=[*WEIGHTS.values()]))
    listed = collect(fusion.fuse(lazy(runs), method, weights=[0.3, 0.0, 1.7]))
    assert_frame_equal(found, listed)


@pytest.mark.parametrize("method", TRAINED)
def test_methods_that_learn(method, collect):
    runs = random_runs(21, queries=14, documents=40)
    draw = random.Random(3)
    train = {
        f"q{q}": {f"d{d}": draw.choice([0, 0, 1, 2]) for d in range(0, 40, 2)}
        for q in range(0, 14, 3)
    } | {"q99": {"d1": 1}, "q98": {"d1": 0}}
    qrels = frame(train, score="label")
    for parameters in TRAINED[method]:
        found = collect(fusion.fuse(lazy(runs), method, train=qrels, **parameters))
        close(found, trained_by_loops(runs, method, train, **parameters))


def test_training_stops_at_the_depth():
    """Also below the ranks that any training list has."""
    long = {"q": {f"d{i:04}": 2000.0 - i for i in range(1200)}}
    train = {"t": {"d0001": 1}, "u": {"d0000": 1}}
    short = {"t": {"d0000": 2.0, "d0001": 1.0}, "u": {"d0000": 2.0, "d0001": 1.0}}
    runs = {"a": long | short}
    for method in TRAINED:
        parameters = TRAINED[method][0]
        for depth in (None, 1):
            cut = {
                name: {q: dict(list(docs.items())[:depth]) for q, docs in run.items()}
                for name, run in runs.items()
            }
            found = fusion.fuse(
                {"a": frame(runs["a"])},
                method,
                train=frame(train, score="label"),
                depth=depth,
                **parameters,
            )
            close(found, trained_by_loops(cut, method, train, **parameters))


def number_ids(run):
    return run.with_columns(pl.col("query_id", "doc_id").str.slice(1).cast(pl.Int32))


def test_training_takes_files_and_other_names(tmp_path):
    runs = random_runs(22, runs=2)
    train = {"q1": {"d1": 1}, "q2": {"d2": 1, "d3": 0}}
    wanted = fusion.fuse(lazy(runs), "posfuse", train=train).collect()
    lines = [f"{q} 0 {d} {g}" for q, ds in train.items() for d, g in ds.items()]
    (tmp_path / "train.qrels").write_text("\n".join(lines))
    found = fusion.fuse(lazy(runs), "posfuse", train=tmp_path / "train.qrels")
    assert_frame_equal(found.collect(), wanted)
    numbers = {n: number_ids(frame(run)) for n, run in runs.items()}
    (tmp_path / "numbers.qrels").write_text(
        "\n".join(lines).replace("q", "").replace("d", "")
    )
    found = fusion.fuse(numbers, "posfuse", train=tmp_path / "numbers.qrels")
    assert found["score"].to_list() == wanted["score"].to_list()
    qrels = number_ids(frame(train, score="label")).cast({"query_id": pl.Int16})
    assert_frame_equal(fusion.fuse(numbers, "posfuse", train=qrels), found)
    own = {name: frame(run, "topic", "docno", "sim") for name, run in runs.items()}
    qrels = frame(train, "topic", "docno", "label")
    names = dict(query="topic", doc="docno", score="sim")
    found = fusion.fuse(own, "posfuse", train=qrels, memory_limit="500MB", **names)
    assert_frame_equal(
        found.sort("topic", maintain_order=True),
        wanted.rename({"query_id": "topic", "doc_id": "docno", "score": "sim"}),
    )


def test_names_of_ranx():
    runs = lazy(random_runs(2))
    for name, own, options in (
        ("anz", "mean", {}),
        ("med", "median", {}),
        ("wsum", "sum", {"weights": WEIGHTS}),
        ("wmnz", "mnz", {"weights": WEIGHTS}),
        ("bordafuse", "borda", {}),
        ("w_bordafuse", "borda", {"weights": WEIGHTS}),
        ("w_condorcet", "condorcet", {"weights": WEIGHTS}),
    ):
        left, right = (fusion.fuse(runs, m, **options).collect() for m in (name, own))
        assert_frame_equal(left, right)
    left = fusion.fuse(runs, "sum", norm="min-max-inverted")
    right = fusion.fuse(runs, "sum", norm="min_max_inverted")
    assert_frame_equal(left.collect(), right.collect())


def test_a_norm_for_each_run():
    runs = random_runs(5, runs=2)
    norms = {"a": "zmuv", "b": "none"}
    found = fusion.fuse(lazy(runs), "sum", norm=norms).collect()
    apart = [
        fused_by_loops({name: run}, "sum", norm=norms[name])
        for name, run in runs.items()
    ]
    keys = {*apart[0], *apart[1]}
    close(found, {key: sum(part.get(key, 0) for part in apart) for key in keys})


def test_values_do_not_depend_on_the_order_of_rows():
    """To the last bit: sums go by size within a list, and by run across them."""
    runs = {name: frame(run) for name, run in random_runs(3, queries=20).items()}
    mixed = {n: f.sample(fraction=1, shuffle=True, seed=4) for n, f in runs.items()}
    for method, options in (
        ("sum", {"norm": "zmuv"}),
        ("sum", {"norm": "sum"}),
        ("rrf", {}),
    ):
        left, right = (fusion.fuse(r, method, **options) for r in (runs, mixed))
        assert_frame_equal(left, right, check_exact=True)


def test_rows_are_sorted_by_query_and_best_first():
    found = fusion.fuse(lazy(random_runs(6)), "sum", norm="rank").collect()
    assert found["query_id"].is_sorted()
    for _, rows in found.group_by("query_id"):
        scores = dict(zip(rows["doc_id"], rows["score"], strict=True))
        assert rows["doc_id"].to_list() == order(scores)


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4, 5, 6, 7, 8, 9]])
def test_values_are_rounded_sums(weights):
    """To 13 digits; where a sum is between two of these, it may be either."""
    draw = random.Random(5)
    runs = {
        f"run{i}": {"q": {f"d{d}": draw.random() for d in range(500)}} for i in range(9)
    }
    found = fusion.fuse(lazy(runs), "sum", norm="none", weights=weights).collect()
    for _, doc, value in found.iter_rows():
        terms = (run["q"][doc] for run in runs.values())
        total = math.fsum(w * s for w, s in zip(weights or [1] * 9, terms, strict=True))
        assert value == float(f"{value:.13g}")
        assert value == pytest.approx(total, rel=5.1e-13)


def test_small_differences_of_scores_count():
    run = frame({"q": {"x": 1 + 2e-7, "y": 1 + 1e-7, "z": 1.0}})
    found = fusion.fuse({"a": run}, "sum")["score"].to_list()
    assert found == pytest.approx([1, 0.5, 0], abs=1e-8)


def test_equal_scores_are_ordered_by_id_as_text_the_larger_first():
    run = pl.DataFrame({"query_id": 1, "doc_id": [9, 10, 2], "score": 1.0})
    found = fusion.fuse({"a": run}, "rrf", k=0)
    assert found["doc_id"].to_list() == [9, 2, 10]
    assert found["score"].to_list() == [1, 1 / 2, digits(1 / 3)]
    zeros = run.with_columns(score=pl.Series([0.0, -0.0, -0.0]))
    assert fusion.fuse({"a": zeros}, "rrf", k=0)["doc_id"].to_list() == [9, 2, 10]


def test_depth_cuts_before_the_norm():
    run = frame({"q": {"a": 10.0, "b": 6.0, "c": 2.0}})
    found = fusion.fuse({"a": run}, "sum", depth=2)
    assert found.rows() == [("q", "a", 1.0), ("q", "b", 0.0)]
    assert fusion.fuse({"a": run}, "sum").rows()[1] == ("q", "b", 0.5)


def test_a_list_of_one_and_equal_scores_are_zero():
    """The norm's divisor is at least 1e-9, so nothing is undefined."""
    runs = {"a": frame({"q": {"x": 7.0}}), "b": frame({"q": {"x": 2.0, "y": 2.0}})}
    assert fusion.fuse(runs, "sum").rows() == [("q", "y", 0.0), ("q", "x", 0.0)]


def test_a_query_that_a_run_lacks_is_fused_from_the_others():
    runs = {"a": frame({"q1": {"x": 1.0}}), "b": frame({"q2": {"y": 1.0}})}
    assert fusion.fuse(runs, "rrf").rows() == [
        ("q1", "x", digits(1 / 61)),
        ("q2", "y", digits(1 / 61)),
    ]
    nothing = runs["a"].clear()
    assert fusion.fuse({"a": runs["a"], "b": nothing}, "borda").height == 1
    assert fusion.fuse({"a": nothing, "b": nothing}, "condorcet").height == 0


def test_a_circle_of_majorities_has_one_order():
    """x beats y, y beats z, z beats x: wins and points are equal, ids decide."""
    circle = {"a": "xyz", "b": "yzx", "c": "zxy"}
    runs = {
        name: frame({"q": {doc: 3.0 - i for i, doc in enumerate(docs)}})
        for name, docs in circle.items()
    }
    found = fusion.fuse(runs, "condorcet")
    assert found["doc_id"].to_list() == ["z", "y", "x"]
    assert found["score"].unique().to_list() == [6 / 12]
    back = fusion.fuse(dict(reversed(runs.items())), "condorcet")
    assert_frame_equal(found, back)


def test_weights_that_balance_are_no_majority():
    """0.1 + 0.2 - 0.3 is not 0 in floating point."""
    up, down = {"x": 2.0, "y": 1.0}, {"x": 1.0, "y": 2.0}
    runs = {n: frame({"q": s}) for n, s in {"a": up, "b": up, "c": down}.items()}
    found = fusion.fuse(runs, "condorcet", weights=[0.1, 0.2, 0.3])
    assert all(0 < value < 1 for value in found["score"])


def test_distances():
    near = frame({"q": {"x": 0.1, "y": 0.5, "z": 0.9}})
    other = frame({"q": {"x": 1.0, "y": 3.0}})
    runs = {"dense": near, "bm25": other}
    found = fusion.fuse(runs, "rrf", descending={"dense": False, "bm25": True})
    both = digits(1 / 61 + 1 / 62)
    wanted = {"x": both, "y": both, "z": digits(1 / 63)}
    assert dict(found.select("doc_id", "score").iter_rows()) == wanted
    left = fusion.fuse({"dense": near}, "sum", descending=False)
    right = fusion.fuse({"dense": near}, "sum", norm="min_max_inverted")
    assert_frame_equal(left, right, abs_tol=1e-15)


def test_known_ranks():
    runs = {
        "a": pl.DataFrame(
            {"query_id": [1] * 3, "doc_id": ["x", "y", "z"], "rank": [2, 1, None]}
        ),
        "b": pl.DataFrame({"query_id": [1], "doc_id": ["z"], "rank": [7]}),
    }
    found = fusion.fuse(runs, "rrf", rank="rank")
    wanted = {"y": 1 / 61, "x": 1 / 62, "z": 1 / 67}
    assert found.rows() == [(1, doc, digits(score)) for doc, score in wanted.items()]
    scaled = fusion.fuse({"a": runs["a"]}, "sum", norm="rank", rank="rank")
    assert scaled["score"].to_list() == [1.0, 0.5]
    with pytest.raises(ValueError, match="'sum' combines scores, and rank= has none"):
        fusion.fuse(runs, "sum", rank="rank")


def test_lists_have_the_ranks_of_their_places():
    runs = {"a": {1: list("xy")}, "b": {1: list("yzx")}}
    found = fusion.fuse(runs, "rrf")
    wanted = {"x": 1 / 61 + 1 / 63, "y": 1 / 62 + 1 / 61, "z": 1 / 62}
    wanted = {doc: digits(score) for doc, score in wanted.items()}
    assert dict(found.select("doc_id", "score").iter_rows()) == wanted
    with pytest.raises(ValueError, match="'sum' combines scores, and rank= has none"):
        fusion.fuse(runs, "sum")
    with pytest.raises(ValueError, match="run 'a' has ranks and no scores, as lists"):
        fusion.fuse({"c": {1: {"x": 0.5}}, **runs}, "rrf")
    copies = {"a": {1: list("xxyxz")}}
    best = fusion.fuse(copies, "rrf", on_duplicate="best")
    assert best.equals(fusion.fuse({"a": {1: list("xyz")}}, "rrf"))


def test_columns_of_the_user_and_several_keys(collect):
    runs = random_runs(8, runs=2)
    frames = {}
    for name, run in runs.items():
        own = frame(run, "topic", "docno", "sim")
        both = [own.with_columns(day=pl.lit(day), value0=1) for day in (1, 2)]
        frames[name] = pl.concat(both).lazy()
    names = dict(query=["day", "topic"], doc="docno", score="sim")
    found = collect(fusion.fuse(frames, "mnz", **names))
    assert found.columns == ["day", "topic", "docno", "sim"]
    for day in (1, 2):
        close(found.filter(day=day).drop("day"), fused_by_loops(runs, "mnz"))


def test_expressions_as_columns():
    run = pl.DataFrame({"q": ["x", "x"], "d": [1, 2], "distance": [0.1, 0.2]})
    names = dict(query=pl.col("q").str.to_uppercase().alias("Q"), doc=pl.col("d"))
    score = (-pl.col("distance")).alias("near")
    found = fusion.fuse({"a": run}, "sum", score=score, **names)
    assert found.rows() == [("X", 1, 1.0), ("X", 2, 0.0)]
    assert found.columns == ["Q", "d", "near"]
    place = pl.col("d").alias("place")
    assert fusion.fuse({"a": run}, k=0, rank=place, **names).rows()[0][2] == 1


def test_ids_get_one_type():
    runs = {
        "a": pl.DataFrame({"query_id": [1], "doc_id": [3], "score": [1]}),
        "b": pl.DataFrame({"query_id": [1], "doc_id": [3], "score": [0.5]}).cast(
            {"query_id": pl.Int32, "doc_id": pl.UInt8}
        ),
    }
    assert fusion.fuse(runs, "rrf").rows() == [(1, 3, digits(2 / 61))]
    words = {**runs, "c": frame({"1": {"3": 1.0}})}
    with pytest.raises(TypeError, match=r"in run 'a' but String in run 'c'.*cast one"):
        fusion.fuse(words, "rrf")


def test_lazy_runs_are_not_read():
    broken = pl.LazyFrame(
        {"query_id": [1], "doc_id": [1], "score": [1.0]}
    ).with_columns(score=pl.col("score").map_batches(lambda s: 1 / 0, pl.Float64))
    found = fusion.fuse({"a": broken, "b": broken.collect_schema().to_frame()}, "sum")
    assert found.collect_schema()["score"] == pl.Float64
    with pytest.raises(ZeroDivisionError):
        found.collect()


def test_files_dictionaries_and_other_libraries(tmp_path):
    runs = random_runs(9, runs=2)
    own = {name: frame(run) for name, run in runs.items()}
    wanted = fusion.fuse(own, "rrf")
    own["a"].write_parquet(tmp_path / "a.parquet")
    write_trec(own["b"], tmp_path / "b.run")
    paths = {"a": tmp_path / "a.parquet", "b": tmp_path / "b.run"}
    assert_frame_equal(fusion.fuse(paths, "rrf"), wanted)
    assert_frame_equal(fusion.fuse(runs, "rrf"), wanted)
    arrow = {name: run.to_arrow() for name, run in own.items()}
    assert_frame_equal(fusion.fuse(arrow, "rrf"), wanted)


def test_text_files_have_ids_of_any_type(tmp_path):
    numbers = pl.DataFrame({"query_id": [1], "doc_id": [7], "score": [1.0]})
    write_trec(numbers, tmp_path / "c.run")
    runs = {"a": numbers, "b": numbers, "c": tmp_path / "c.run"}
    assert fusion.fuse(runs, "rrf").rows() == [("1", "7", digits(3 / 61))]


@pytest.mark.parametrize("method", ["rrf", "borda", "condorcet"])
def test_streams_are_read_once(method):
    runs = {name: frame(run) for name, run in random_runs(13).items()}

    def streams():
        return {
            n: pl.scan_arrow_c_stream(f.to_arrow().to_reader()) for n, f in runs.items()
        }

    wanted = fusion.fuse(runs, method)
    assert_frame_equal(fusion.fuse(streams(), method).collect(), wanted)
    limited = fusion.fuse(streams(), method, memory_limit="500MB").collect()
    assert_frame_equal(limited.sort("query_id", maintain_order=True), wanted)
    with pytest.raises(pr.DataError, match="can be read only once; write it to a file"):
        fusion.fuse(streams(), "posfuse", train=frame({"q1": {"d1": 1}}, score="label"))
    with pytest.raises(pr.DataError, match="can be read only once"):
        fusion.fuse(streams()["a"].with_columns(system=pl.lit("a")), method)


def test_one_frame_with_a_column_of_systems():
    runs = random_runs(10)
    apart = {name: frame(run) for name, run in runs.items()}
    stacked = pl.concat(
        [run.with_columns(system=pl.lit(name)) for name, run in apart.items()]
    )
    wanted = fusion.fuse(apart, "sum", weights=WEIGHTS)
    assert_frame_equal(fusion.fuse(stacked, "sum", weights=WEIGHTS), wanted)
    found = fusion.fuse(stacked.lazy(), "rrf")
    assert_frame_equal(found.collect(), fusion.fuse(apart, "rrf"))
    left = stacked.rank_eval.fuse("sum", weights=WEIGHTS)
    assert_frame_equal(left, wanted)
    assert_frame_equal(stacked.lazy().rank_eval.fuse().collect(), found.collect())
    with pytest.raises(ValueError, match="weights lacks run 'c'"):
        fusion.fuse(stacked, "sum", weights={"a": 1, "b": 1})
    numbers = stacked.with_columns(
        pl.col("system").replace_strict({"a": 1, "b": 2, "c": 3})
    )
    assert_frame_equal(fusion.fuse(numbers, "rrf"), fusion.fuse(apart, "rrf"))
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="give runs by name"):
        fusion.fuse(apart["a"], "rrf")
    with pytest.raises(ValueError, match="'system' of the runs is null"):
        fusion.fuse(stacked.with_columns(system=None), "rrf")


@pytest.mark.parametrize("method", ["sum", "borda", "condorcet"])
def test_memory_limit(method):
    runs = lazy(random_runs(12, queries=30))
    whole = fusion.fuse(runs, method).collect()
    parts = fusion.fuse(runs, method, memory_limit="500MB").collect()
    assert_frame_equal(parts.sort("query_id", maintain_order=True), whole)


ODD = {
    "null_fused_score": {"score": None},
    "nan_score": {"score": math.nan},
    "infinite_score": {"score": math.inf},
    "null_doc": {"doc_id": None},
    "null_query": {"query_id": None},
    "duplicate_doc": {"doc_id": "x", "score": 0.5},
}


@pytest.mark.parametrize("rule", ODD)
def test_bad_rows_are_errors_that_name_the_run(rule, collect):
    good = pl.DataFrame({"query_id": ["q"], "doc_id": ["x"], "score": [1.0]})
    odd = {"query_id": "q", "doc_id": "y", "score": 2.0} | ODD[rule]
    bad = pl.concat([good, pl.DataFrame([odd], schema=good.schema)])
    found = fusion.fuse({"good": good.lazy(), "bad": bad.lazy()}, "sum")
    with pytest.raises(pr.DataError, match="run 'bad': ") as caught:
        collect(found)
    assert caught.value.rule == rule
    assert caught.value.count == 1
    if rule != "null_query":
        assert caught.value.examples == ["q"] or caught.value.examples == ("q",)


def test_rules_that_depend_on_the_recipe():
    run = frame({"q": {"x": -math.inf, "y": -1.0}})
    assert fusion.fuse({"a": run}, "rrf")["doc_id"].to_list() == ["y", "x"]
    assert fusion.fuse({"a": run}, "sum", norm="rank")["score"].to_list() == [1, 0.5]
    with pytest.raises(pr.DataError, match=r"negative scores.*norm=\"max\""):
        fusion.fuse({"a": frame({"q": {"x": -1.0}})}, "sum", norm="max")
    ranks = pl.DataFrame({"query_id": 1, "doc_id": ["x", "y"], "rank": [1, 1]})
    with pytest.raises(pr.DataError, match="run 'a': duplicate ranks"):
        fusion.fuse({"a": ranks}, "rrf", rank="rank")
    with pytest.raises(pr.DataError, match="run 'a': ranks that are not whole"):
        fusion.fuse({"a": ranks.with_columns(rank=pl.Series([0, 1]))}, rank="rank")


def test_duplicates_keep_their_best_score():
    run = pl.DataFrame(
        {"query_id": 1, "doc_id": ["x", "y", "x"], "score": [1.0, 2.0, 3.0]}
    )
    found = fusion.fuse({"a": run}, "rrf", on_duplicate="best")
    assert found["doc_id"].to_list() == ["x", "y"]


def test_a_warning_instead():
    run = frame({"q": {"x": math.nan, "y": 1.0}})
    with pytest.warns(pr.DataWarning, match="run 'a': NaN scores"):
        fusion.fuse({"a": run}, "rrf", check="warn")
    assert fusion.fuse({"a": run}, "rrf", check="off").height == 2


ONE = {"a": pl.DataFrame({"query_id": [1], "doc_id": ["x"], "score": [1.0]})}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "rff"}, ValueError, "no method 'rff'; did you mean 'rrf'"),
        ({"method": "sum", "norm": "minmax"}, ValueError, "norm must be one of none"),
        ({"method": "rrf", "norm": "sum"}, ValueError, "'rrf' uses ranks alone"),
        ({"method": "isr", "weights": [1]}, ValueError, "'isr' has no weights"),
        ({"method": "wsum"}, ValueError, "'wsum' needs weights"),
        ({"method": "gmnz"}, TypeError, "needs gamma=, exponent of the number"),
        ({"method": "sum", "k": 3}, TypeError, "takes no k; k is of rrf"),
        ({"normalize": "sum"}, TypeError, "takes no normalize; did you mean 'norm'"),
        ({"method": "rrf", "k": -1}, ValueError, "k must be a number of at least 0"),
        ({"method": "rbc", "phi": 1}, ValueError, "phi must be a number above 0 and"),
        ({"weights": {"b": 1}}, ValueError, "weights lacks run 'a'"),
        ({"weights": {"a": 1, "b": 1}}, ValueError, "names 'b', which is no run"),
        ({"weights": [1, 2]}, ValueError, "one number for each of the 1 runs"),
        ({"weights": 3}, ValueError, "one number for each of the 1 runs"),
        ({"weights": [-1]}, ValueError, "weight of run 'a' must be a number of"),
        ({"weights": [0]}, ValueError, "all weights are 0"),
        ({"depth": 0}, ValueError, "depth must be a whole number of at least 1"),
        ({"check": "no"}, ValueError, "check must be one of strict"),
        ({"descending": {"b": True}}, ValueError, "descending lacks run 'a'"),
        ({"score": "query_id"}, ValueError, "query and score are both column"),
        ({"doc": None}, ValueError, "doc must name the column"),
        ({"score": "points"}, pl.exceptions.ColumnNotFoundError, "not in run 'a'"),
        (
            {"method": "sum", "norm": "min_max_inverted", "depth": 3},
            ValueError,
            "give descending=False instead",
        ),
        (
            {"method": "sum", "norm": "min_max_inverted", "descending": False},
            ValueError,
            "and so does descending=False, which goes with norm='min_max'",
        ),
        ({"method": "posfuse"}, ValueError, "'posfuse' learns: give train="),
        ({"train": ONE["a"]}, ValueError, "'rrf' learns nothing from train="),
        (
            {"method": "posfuse", "train": ONE["a"]},
            pl.exceptions.ColumnNotFoundError,
            "label column 'label' is not in the judgments",
        ),
        ({"temp_dir": "/tmp"}, ValueError, "give memory_limit too"),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        fusion.fuse(ONE, **options)


def test_runs_that_are_none():
    with pytest.raises(ValueError, match="runs is empty; give runs by name"):
        fusion.fuse({})
    with pytest.raises(TypeError, match="runs go by text, not 1"):
        fusion.fuse({1: ONE["a"]})
    with pytest.raises(TypeError, match="run 'a' must be a frame"):
        fusion.fuse({"a": 3})


def test_the_result_is_a_run_like_any_other():
    qrels = frame({"q": {"x": 1.0, "y": 0.0}}, score="label")
    runs = {"a": frame({"q": {"x": 1.0, "y": 2.0}}), "b": frame({"q": {"x": 9.0}})}
    fused = fusion.fuse(runs, "sum", norm="none")
    assert pr.evaluate(fused, "rr", qrels=qrels)["rr"].item() == 1.0
    assert pr.evaluate(runs["a"], "rr", qrels=qrels)["rr"].item() == 0.5
    compared = pr.compare({**runs, "fused": fused}, ["rr"], qrels=qrels)
    assert compared.means["system"].to_list() == ["a", "b", "fused"]
    values = pr.per_query(fused, "rr", qrels=qrels)
    assert pr.gate(values, "rr", baseline=values).verdict
