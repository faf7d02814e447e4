"""An evaluation in parts: the same bits and the same errors as of the whole."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import random
import re
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor

import polars as pl
import pytest
from pieces import InPieces, Pieces
from slow import slow

import polars_rank as pr
import polars_rank.parts.exchange as buckets_module
from polars_rank.parts import Part, bucketed, cut, evaluate_parts, files

MEASURES = ["ndcg@10", "ap", "rr", "num_rel", "gm_ap", "precision@3"]
SEED = 7


def rows(queries: int = 60, seed: int = SEED) -> pl.DataFrame:
    rng = random.Random(seed)
    table = [
        {
            "query_id": q,
            "doc_id": f"d{d}",
            "score": rng.choice([0.1, 0.2, rng.random()]),
            "label": rng.choice([0, 0, 0, 1, 2]),
            "country": ["DE", "FR", None][q % 3],
            "traffic": 0.1 + q % 7,
        }
        for q in range(queries)
        for d in range(rng.randint(1, 12))
    ]
    return pl.DataFrame(table)


def split(frame: pl.DataFrame, parts: int, seed: int) -> list[pl.DataFrame]:
    """Whole queries, thrown into parts."""
    rng = random.Random(seed)
    part = {q: rng.randrange(parts) for q in frame["query_id"].unique()}
    number = frame["query_id"].replace_strict(part)
    return [frame.filter(number == i) for i in range(parts)]


def bits(frame: pl.DataFrame) -> list[tuple]:
    return [
        tuple(v.hex() if isinstance(v, float) else v for v in row)
        for row in frame.rows()
    ]


RUN_AND_JUDGMENTS = (
    rows(9).drop("label"),
    rows(9).select("query_id", "doc_id", "label"),
)
OPTIONS = [
    {},
    {"by": "country"},
    {"weight": "traffic"},
    {"by": ["country"], "weight": "traffic"},
    {"convention": "lenskit"},
    {"convention": pr.CONVENTIONS["trec_eval"].replace(no_relevant="null")},
    {"convention": pr.CONVENTIONS["trec_eval"].replace(no_relevant="skip")},
    {"layout": "any"},
    {"max_rank": 2},
]


# What segments and weights do apart, both do together.
@pytest.mark.parametrize(
    "options", [OPTIONS[0], *map(slow, OPTIONS[1:3]), *OPTIONS[3:]], ids=str
)
def test_any_split_has_the_bits_of_the_whole(options):
    log = rows()
    evaluation = pr.Evaluation(MEASURES, **options)
    whole = bits(pr.evaluate(log.lazy(), MEASURES, **options).collect())
    for parts, seed in ((1, 0), (4, 1)):
        partials = [evaluation.partial(p) for p in split(log, parts, seed) if len(p)]
        random.Random(seed).shuffle(partials)
        assert bits(evaluation.merge(partials)) == whole
        if parts == 1:
            continue
        tree = evaluation.add([evaluation.add(partials[:2]), *partials[2:]])
        assert bits(evaluation.merge(tree)) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "by"),
    [("zero", "country"), ("skip", None), slow("zero", None), slow("skip", "country")],
)
def test_judgments_go_with_their_queries_or_are_broadcast(missing, by):
    """Two queries of the judgments are in no part of the run."""
    log = rows()
    run = log.drop("label").filter(~pl.col("query_id").is_in([3, 44]))
    qrels = log.select("query_id", "doc_id", "label")
    options = {"by": by, "missing": missing}
    whole = bits(
        pr.evaluate(run.lazy(), MEASURES, qrels=qrels.lazy(), **options).collect()
    )
    evaluation = pr.Evaluation(MEASURES, **options)
    together = [
        evaluation.partial(
            run.filter(pl.col("query_id").is_in(ids)),
            qrels=qrels.filter(pl.col("query_id").is_in(ids)),
        )
        for ids in (range(20), range(20, 41), range(41, 60))
    ]
    assert bits(evaluation.merge(together)) == whole
    broadcast = [
        evaluation.partial(part, qrels=qrels, broadcast=True)
        for part in split(run, 4, 5)
    ]
    assert bits(evaluation.merge(broadcast, qrels=qrels)) == whole
    chosen = qrels.select("query_id").unique().filter(pl.col("query_id") % 2 == 0)
    whole = pr.evaluate(
        run.lazy(), MEASURES, qrels=qrels.lazy(), queries=chosen.lazy(), **options
    )
    broadcast = [
        evaluation.partial(part, qrels=qrels, queries=chosen, broadcast=True)
        for part in split(run, 4, 6)
    ]
    merged = evaluation.merge(broadcast, qrels=qrels, queries=chosen)
    assert bits(merged) == bits(whole.collect())


EXPRESSIONS = {
    "query": pl.col("query_id") * 10,
    "doc": pl.format("d_{}", "doc_id").alias("doc"),
    "score": pl.col("score").round(1),
    "label": (pl.col("label") > 1).cast(pl.Int8).alias("relevant"),
    "by": ["country", (pl.col("traffic") > 3).alias("busy")],
    "weight": pl.col("traffic").sqrt(),
}


@pytest.mark.slow
def test_expressions_have_the_bits_of_the_whole():
    log = rows()
    copy = pickle.loads(pickle.dumps(pr.Evaluation(MEASURES, **EXPRESSIONS)))
    whole = pr.evaluate(log.lazy(), MEASURES, **EXPRESSIONS).collect()
    assert len(whole) > 4
    partials = [copy.partial(part) for part in split(log, 4, 1)]
    merged = copy.merge(partials)
    assert merged.columns == whole.columns
    assert bits(merged) == bits(whole)
    cuts = evaluate_parts(cut(log.lazy(), 7), MEASURES, **EXPRESSIONS)
    assert bits(cuts) == bits(whole)


@pytest.mark.covering(1)
@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("computed", [False, True])
def test_judgments_with_other_names_have_the_bits_of_the_whole(missing, computed):
    """Two queries of the judgments are in no part of the run."""
    log = rows()
    run = log.drop("label").filter(~pl.col("query_id").is_in([3, 44]))
    qrels = log.select(topic="query_id", passage="doc_id", grade="label")
    named = {"qrels_query": "topic", "qrels_doc": "passage", "label": "grade"}
    options = named | {"missing": missing, "by": "country"}
    if computed:
        qrels = qrels.with_columns(
            topic=pl.col("topic") * 10, passage=pl.format("d_{}", "passage")
        )
        options = {**EXPRESSIONS, **options, "label": pl.col("grade").clip(0, 1)}
        options |= {"by": [(pl.col("query_id") % 2).alias("odd"), "query_id"]}
    options["weight"] = "traffic" if missing == "skip" else None
    evaluation = pr.Evaluation(MEASURES, **options)
    whole = pr.evaluate(run.lazy(), MEASURES, qrels=qrels.lazy(), **options).collect()
    parts = [
        evaluation.partial(part, qrels=qrels, broadcast=True)
        for part in split(run, 4, 5)
    ]
    assert bits(evaluation.merge(parts, qrels=qrels)) == bits(whole)
    together = qrels.filter(pl.col("topic") < 0)
    nothing = evaluation.partial(run.clear(), qrels=together)
    assert bits(evaluation.merge([evaluation.partial(run, qrels=qrels), nothing])) == (
        bits(whole)
    )


def test_queries_asked_for_are_computed_as_those_of_the_run():
    """Segments and weights come from them, for queries that no part has, too."""
    log = rows()
    run = log.select("query_id", "doc_id", "score").filter(pl.col("query_id") != 44)
    qrels = log.select(topic=pl.col("query_id") * 10, doc_id="doc_id", label="label")
    asked = log.select("query_id", "country", "traffic").unique()
    asked = asked.filter(pl.col("query_id") % 2 == 0)
    options = {n: EXPRESSIONS[n] for n in ("query", "by", "weight")}
    options["qrels_query"] = "topic"
    given = {"qrels": qrels, "queries": asked}
    evaluation = pr.Evaluation(MEASURES, missing="zero", **options)
    whole = pr.evaluate(run, MEASURES, missing="zero", **given, **options)
    parts = [
        evaluation.partial(part, broadcast=True, **given) for part in split(run, 3, 5)
    ]
    assert bits(evaluation.merge(parts, **given)) == bits(whole)


def test_other_expressions_are_other_definitions():
    log = rows(4)
    evaluations = [
        pr.Evaluation("ap", **options)
        for options in (
            {},
            {"score": pl.col("score") + 1},
            {"score": pl.col("score") + 2},
            {"score": pl.lit(pl.Series([1, 2]))},
            {"score": pl.lit(pl.Series([1, 3]))},  # looks like the one before
            {"by": [pl.col("country")]},
            {"by": [pl.col("country").str.to_lowercase()]},
        )
    ]
    assert len({e.definition for e in evaluations}) == len(evaluations)
    copy = pickle.loads(pickle.dumps(evaluations[1]))
    assert copy.definition == evaluations[1].definition
    assert 'score=[(col("score")) + (dyn int: 1)]' in repr(copy)
    with pytest.raises(pr.DataError, match=r"score is .*dyn int: 2.* there and .*1"):
        evaluations[1].merge(evaluations[2].partial(log))


def test_expressions_that_do_not_pickle():
    lock = threading.Lock()

    def held(values):
        with lock:
            return values

    score = pl.col("score").map_batches(held)
    with pytest.raises(TypeError, match=r"score=.* cannot be pickled.*Python function"):
        pr.Evaluation("ap", score=score)
    with pytest.raises(TypeError, match=r"by=.* cannot be pickled"):
        pr.Evaluation("ap", by=["country", score])


@pytest.mark.parametrize(
    "options", [{"query": pl.col("query_id") * 2}, {"qrels_query": "topic"}], ids=list
)
def test_engines_bring_rows_together_by_named_columns(options):
    with pytest.raises(TypeError, match=f"leave {next(iter(options))}= out"):
        InPieces().evaluate(Pieces([rows(2)]), "ap", **options)


def test_a_segment_whose_queries_are_all_skipped_is_no_row():
    log = rows(9)
    run = log.select("query_id", "doc_id", "score").filter(pl.col("query_id") % 3 != 1)
    qrels = log.select("query_id", "doc_id", "label", "country")
    options = {"by": "country", "missing": "skip"}
    evaluation = pr.Evaluation("ap", **options)
    merged = evaluation.merge(evaluation.partial(run, qrels=qrels))
    assert merged["country"].to_list() == [None, "DE"]
    assert bits(merged) == bits(pr.evaluate(run, "ap", qrels=qrels, **options))


def test_a_query_in_two_parts_is_an_error():
    log = rows(10)
    evaluation = pr.Evaluation("ap")
    halves = [log.gather_every(2), log.gather_every(2, 1)]
    with pytest.raises(pr.DataError, match="more than one part") as caught:
        evaluation.merge([evaluation.partial(half, keys=True) for half in halves])
    assert caught.value.rule == "query_in_two_parts"


@pytest.mark.parametrize("check", ["strict", "warn", "off"])
def test_errors_are_those_of_the_whole(check):
    """A NaN score in two parts, told once with the total."""
    nan = pl.when(pl.col("query_id").is_in([5, 50]) & (pl.col("doc_id") == "d0"))
    log = rows().with_columns(score=nan.then(float("nan")).otherwise("score"))
    evaluation = pr.Evaluation(MEASURES, check=check)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        whole = _outcome(
            lambda: pr.evaluate(log.lazy(), MEASURES, check=check).collect()
        )
        told = [str(w.message) for w in heard]
        heard.clear()
        partials = [evaluation.partial(part) for part in split(log, 4, 1)]
        assert not heard
        merged = _outcome(lambda: evaluation.merge(partials))
        assert [_counted(str(w.message)) for w in heard] == list(map(_counted, told))
    assert merged == whole


def _outcome(call):
    try:
        return bits(call())
    except pr.DataError as error:
        return error.rule, error.count, _counted(str(error))


def _counted(message: str) -> str:
    return re.sub(r", e\.g\. in query .*", "", message)


def test_an_example_that_is_no_text():
    log = rows(3).with_columns(
        query_id=pl.Series([b"\xff\x00"]).append(pl.Series([b"a"] * (len(rows(3)) - 1)))
    )
    log = log.with_columns(score=pl.when(pl.col("query_id") == b"a").then("score"))
    evaluation = pr.Evaluation("ap")
    with pytest.raises(pr.DataError, match=r"scores are null.*in query 'ff00'"):
        evaluation.merge(evaluation.partial(log))


@pytest.mark.slow
def test_broadcast_judgments_have_ids_of_another_type():
    log = rows(6).with_columns(pl.format("q{}", "query_id").alias("query_id"))
    run, qrels = log.drop("label"), log.select("query_id", "doc_id", "label")
    run = run.filter(pl.col("query_id") != "q5")
    evaluation = pr.Evaluation("ap", missing="zero")
    whole = bits(pr.evaluate(run, "ap", qrels=qrels, missing="zero"))
    types = [pl.String, pl.Categorical, pl.Enum([f"q{i}" for i in range(6)])]
    for own, other in itertools.permutations(types, 2):
        judged = qrels.cast({"query_id": other})
        parts = [
            evaluation.partial(part, qrels=judged, broadcast=True)
            for part in split(run.cast({"query_id": own}), 2, 0)
        ]
        assert bits(evaluation.merge(parts, qrels=judged)) == whole
    numbered = qrels.with_columns(query_id=pl.col("query_id").str.slice(1).cast(int))
    with pytest.raises(TypeError, match="String in the run but Int64 in the judgments"):
        evaluation.partial(run, qrels=numbered, broadcast=True)


def test_no_judged_query_in_any_part():
    log = rows(6)
    run, qrels = log.drop("label"), log.with_columns(query_id=pl.col("query_id") + 100)
    for missing in ("zero", "skip"):
        convention = pr.CONVENTIONS["trec_eval"].replace(missing=missing)
        evaluation = pr.Evaluation("ap", convention=convention)
        partials = [
            evaluation.partial(part, qrels=qrels, broadcast=True)
            for part in split(run, 2, 0)
        ]
        with pytest.raises(pr.DataError, match="no judged query is in the run") as e:
            evaluation.merge(partials, qrels=qrels)
        assert e.value.rule == "no_common_query"


@pytest.mark.slow
def test_warnings_are_those_of_the_whole():
    """Queries missing from the run, and labels below ``rel``: told once, by merge."""
    log = rows(12)
    run, qrels = log.drop("label"), log.select("query_id", "doc_id", "label")
    run = run.filter(pl.col("query_id") % 4 > 0)
    for labels in (qrels, qrels.with_columns(pl.col("label") / 10)):
        evaluation = pr.Evaluation(["ap", "ndcg"])
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            pr.evaluate(run, ["ap", "ndcg"], qrels=labels)
            told = [(w.category, str(w.message)) for w in heard]
            heard.clear()
            partials = [
                evaluation.partial(part, qrels=labels, broadcast=True)
                for part in split(run, 3, 0)
            ]
            assert not heard
            evaluation.merge(partials, qrels=labels)
            assert sorted((w.category.__name__, str(w.message)) for w in heard) == (
                sorted((c.__name__, m) for c, m in told)
            )
            assert told


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_queries_asked_for_that_nobody_judged(missing):
    """They were left out of the mean of the parts, however missing queries count."""
    run, qrels = RUN_AND_JUDGMENTS
    asked = pl.DataFrame({"query_id": [1, 5, 70]})
    given = {"qrels": qrels, "queries": asked}
    single = bits(pr.evaluate(run, "ap", missing=missing, **given))
    assert single[0][0] == {"zero": 3, "skip": 2}[missing]
    evaluation = pr.Evaluation("ap", missing=missing)
    assert bits(evaluation.merge(evaluation.partial(run, **given))) == single
    parts = [evaluation.partial(p, **given, broadcast=True) for p in split(run, 3, 0)]
    assert bits(evaluation.merge(parts, **given)) == single


def test_judgments_without_rows():
    run, qrels = rows(3).drop("label"), rows(3).clear()
    evaluation = pr.Evaluation("ap")
    empty = evaluation.partial(run, qrels=qrels)
    with pytest.warns(pr.DataWarning, match="the judgments have no rows"):
        nothing = pr.evaluate(run, "ap", qrels=qrels)
    with pytest.warns(pr.DataWarning, match="the judgments have no rows"):
        assert bits(evaluation.merge([empty, empty])) == bits(nothing)


def test_a_part_may_lack_what_the_whole_has():
    """A part where no judged query is in the run is no error."""
    log = rows(6)
    run, qrels = log.drop("label"), log.select("query_id", "doc_id", "label")
    evaluation = pr.Evaluation("ap")
    first = pl.col("query_id") < 3
    partials = [
        evaluation.partial(run.filter(first), qrels=qrels.filter(first)),
        evaluation.partial(run.filter(first).clear(), qrels=qrels.filter(~first)),
    ]
    whole = pr.evaluate(run.filter(first), "ap", qrels=qrels)
    assert bits(evaluation.merge(partials)) == bits(whole)


def test_parts_without_rows():
    """They add nothing; and a whole without rows has no segments."""
    log = rows(6)
    for by in (None, "country"):
        evaluation = pr.Evaluation(MEASURES, by=by)
        empty = evaluation.partial(log.clear())
        merged = evaluation.merge([empty, evaluation.partial(log), empty])
        assert bits(merged) == bits(pr.evaluate(log, MEASURES, by=by))
        with pytest.warns(pr.DataWarning, match="the frame has no rows"):
            nothing = pr.evaluate(log.clear(), MEASURES, by=by)
        with pytest.warns(pr.DataWarning, match="the frame has no rows"):
            assert bits(evaluation.merge([empty, empty])) == bits(nothing)


def test_it_travels():
    log = rows(9)
    evaluation = pr.Evaluation(MEASURES, by="country", convention="xgboost")
    copy = pickle.loads(pickle.dumps(evaluation))
    assert copy.definition == evaluation.definition
    assert repr(copy) == repr(evaluation)
    partial = copy.partial(log)
    crossed = pl.DataFrame(partial.to_arrow())
    assert bits(evaluation.merge(crossed)) == bits(evaluation.merge(partial))
    assert len(pickle.dumps(evaluation)) < 5000


def hits(r):
    return r.hits_at(3)


def test_equal_evaluations_are_equal():
    for measures, options in (
        (MEASURES, {"by": "country"}),
        ([pr.measure("ndcg", gain="exp2") @ 5, {"hits": hits}], {"rel": 2}),
        ("ap", EXPRESSIONS),
    ):
        evaluation = pr.Evaluation(measures, **options)
        copy = pickle.loads(pickle.dumps(evaluation))
        assert evaluation == copy
        assert {evaluation, copy} == {evaluation}
        assert evaluation != pr.Evaluation(measures, **options, max_rank=5)
        assert evaluation != pr.Evaluation("rr", **options)
    functions = [pr.Evaluation({"hits": lambda r: r.hits_at(3)}) for _ in range(2)]
    assert functions[0] != functions[1]
    assert pr.Evaluation("ap") != "ap"


def test_partials_of_another_evaluation_are_refused():
    log = rows(4)
    other = pr.Evaluation("ap", max_rank=3).partial(log)
    evaluation = pr.Evaluation("ap")
    with pytest.raises(pr.DataError, match=r"2 does not .* max_rank is 3 there and No"):
        evaluation.merge([evaluation.partial(log), other])
    with pytest.raises(ValueError, match="no partials given"):
        evaluation.merge([])


def test_arguments_are_checked_at_once():
    with pytest.raises(TypeError, match=r"no wieght; did you mean 'weight'\?"):
        pr.Evaluation("ap", wieght="traffic")
    with pytest.raises(TypeError, match=r"no segment; did you mean 'segments'\?"):
        pr.Evaluation("ap", segment="country")
    with pytest.raises(TypeError, match="no qrels: give it to partial"):
        pr.Evaluation("ap", qrels=pl.DataFrame())
    with pytest.raises(ValueError, match="unknown measure"):
        pr.Evaluation("appp")


def test_the_columns_that_are_read():
    evaluation = pr.Evaluation("ap", by="country", weight="traffic", query=["day", "q"])
    assert evaluation.columns() == {
        "log": ("day", "q", "doc_id", "score", "label", "traffic", "country"),
        "run": ("day", "q", "doc_id", "score", "traffic", "country"),
        "qrels": ("day", "q", "doc_id", "label", "traffic", "country"),
    }
    evaluation = pr.Evaluation(
        "ap", score=pl.col("a") + pl.col("b"), qrels_query="topic", qrels_doc="passage"
    )
    assert evaluation.columns() == {
        "log": ("query_id", "doc_id", "a", "b", "label"),
        "run": ("query_id", "doc_id", "a", "b"),
        "qrels": ("topic", "passage", "label"),
    }


def test_values_per_query_of_a_part():
    log = rows(8)
    evaluation = pr.Evaluation(["ap", {"n": lambda r: r.rank.len()}], by="country")
    parts = [evaluation.per_query(part).collect() for part in split(log, 3, 0)]
    values = pl.concat(parts).sort("query_id")
    assert values.equals(pr.per_query(log, ["ap", {"n": lambda r: r.rank.len()}]))


# -- parts, and any map


@pytest.mark.parametrize("parts", [2, 7, slow(1000)])
def test_rows_cut_anywhere_have_the_bits_of_the_whole(parts):
    log = rows(9).lazy()
    whole = bits(pr.evaluate(log, MEASURES, by="country").collect())
    assert bits(evaluate_parts(cut(log, parts), MEASURES, by="country")) == whole


@pytest.mark.slow
def test_rows_cut_with_judgments_of_the_whole():
    log = rows(12)
    run, qrels = log.drop("label"), log.select("query_id", "doc_id", "label")
    run = run.filter(pl.col("query_id") != 11)
    whole = bits(pr.evaluate(run.lazy(), MEASURES, qrels=qrels.lazy()).collect())
    for parts in (1, 20):
        means = evaluate_parts(cut(run.lazy(), parts), MEASURES, qrels=qrels)
        assert bits(means) == whole


def test_a_false_claim_of_contiguous_rows_is_an_error():
    log = rows(30).sample(fraction=1, shuffle=True, seed=1)
    with pytest.raises(pr.DataError, match="more than one part"):
        evaluate_parts(cut(log.lazy(), 4), "ap")


@pytest.mark.slow
def test_processes_give_the_bits_of_one(tmp_path):
    """Files, read by two processes."""
    log = rows(60)
    for i, part in enumerate(split(log, 5, 3)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))
    whole = bits(pr.evaluate(pl.scan_parquet(paths), MEASURES).collect())
    assert bits(evaluate_parts(files(paths), MEASURES)) == whole
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert bits(evaluate_parts(files(paths), MEASURES, map=pool.map)) == whole
    twice = [*files(paths), Part(log.filter(pl.col("query_id") == 0))]
    with pytest.raises(pr.DataError, match="more than one part"):
        evaluate_parts(twice, MEASURES)


def test_no_parts():
    with pytest.raises(ValueError, match="parts must be a whole number"):
        cut(rows(3).lazy(), 0)
    with pytest.raises(ValueError, match="no partials given"):
        evaluate_parts([], "ap")


def test_values_of_a_part_that_lacks_what_the_whole_has():
    """No judged query of a part need be in the run, nor need a part have a warning."""
    log = rows(6)
    run, qrels = log.drop("label"), log.select("query_id", "doc_id", "label")
    evaluation = pr.Evaluation("ap")
    first = pl.col("query_id") < 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = [
            evaluation.per_query(run.filter(first), qrels=qrels.filter(first)),
            evaluation.per_query(run.clear(), qrels=qrels.filter(~first)),
        ]
        values = pl.concat(parts).collect()
    whole = pr.per_query(run.filter(first), "ap", qrels=qrels)
    assert values.sort("query_id").equals(whole)


# -- rows in any order, through a shared folder


def thrown(frame: pl.DataFrame, folder, name: str, files: int = 5) -> list:
    """The rows in files, in any order."""
    mixed = frame.sample(fraction=1, shuffle=True, seed=4)
    paths = [folder / f"{name}{i}.parquet" for i in range(files)]
    for i, path in enumerate(paths):
        mixed[i::files].write_parquet(path)
    return paths


def test_buckets_of_a_shared_folder_have_the_bits_of_the_whole(tmp_path):
    log = rows(40)
    run, qrels = log.drop("label"), log.select("query_id", "doc_id", "label")
    run = run.filter(pl.col("query_id") != 11)
    options = {"missing": "zero", "by": "country"}
    whole = bits(
        pr.evaluate(run.lazy(), MEASURES, qrels=qrels.lazy(), **options).collect()
    )
    parts = bucketed(
        thrown(run, tmp_path, "run"),
        3,
        tmp_path / "shared",
        qrels=thrown(qrels, tmp_path, "qrels", 2),
    )
    assert len(parts) == 3
    assert bits(evaluate_parts(parts, MEASURES, **options)) == whole
    held = [
        set(p.frame.collect()["query_id"]) | set(p.qrels.collect()["query_id"])
        for p in parts
    ]
    assert sum(map(len, held)) == len(set.union(*held)) == 40


class Died(BaseException):
    pass


def test_a_shuffle_goes_on_where_it_died(tmp_path, monkeypatch):
    """Tasks that have ended are not done again; what a dead one left is not read."""
    log = rows(40)
    paths = thrown(log, tmp_path, "log")
    whole = bits(pr.evaluate(log.lazy(), MEASURES).collect())
    shared, filled = tmp_path / "shared", []

    def dies_at_the_third(function, tasks):
        for i, task in enumerate(tasks):
            if i == 2:
                raise Died
            yield function(task)

    with pytest.raises(Died):
        bucketed(paths, 4, shared, map=dies_at_the_third)
    torn = shared / "run-2" / ("0" * 32) / "torn" / "0" / "bucket=1"
    torn.mkdir(parents=True)
    log.write_parquet(torn / "left.parquet")
    real = buckets_module.fill

    def counted(frame, *arguments, **keywords):
        filled.append(frame)
        return real(frame, *arguments, **keywords)

    monkeypatch.setattr(buckets_module, "fill", counted)
    assert bits(evaluate_parts(bucketed(paths, 4, shared), MEASURES)) == whole
    assert len(filled) == 3
    assert len(bucketed(paths, 3, shared)) == 3  # another number: all anew
    assert len(filled) == 3 + len(paths)
    filled.clear()
    log[:3].write_parquet(paths[0])  # a file that has changed is read again
    bucketed(paths, 4, shared)
    assert len(filled) == 1


def test_parts_that_were_evaluated_are_not_evaluated_again(tmp_path):
    log = rows(40).lazy()
    path = tmp_path / "log.parquet"
    log.sink_parquet(path)
    whole = bits(pr.evaluate(log, MEASURES).collect())
    parts, results = cut(pl.scan_parquet(path), 4), tmp_path / "results"

    def dies(function, several):
        for i, part in enumerate(several):
            if i == 3:
                raise Died
            yield function(part)

    with pytest.raises(Died):
        evaluate_parts(parts, MEASURES, map=dies, resume=results)
    assert len(list(results.iterdir())) == 3
    stamps = {p: p.stat().st_mtime_ns for p in results.iterdir()}
    assert bits(evaluate_parts(parts, MEASURES, resume=results)) == whole
    assert len(list(results.iterdir())) == 5  # one of the queries that were cut
    assert all(p.stat().st_mtime_ns == stamp for p, stamp in stamps.items())
    other = evaluate_parts(parts, "rr", resume=results)  # not the results of others
    assert other.columns == ["queries", "rr"]


def test_results_of_other_functions_are_not_taken(tmp_path):
    log = rows(4)
    log.write_parquet(tmp_path / "log.parquet")
    parts = [Part(pl.scan_parquet(tmp_path / "log.parquet"))]
    least, most = {"m": lambda r: r.rank.min()}, {"m": lambda r: r.rank.max()}
    for own in (least, most):
        found = evaluate_parts(parts, own, resume=tmp_path / "results")
        assert found.equals(pr.evaluate(log, own))


def test_buckets_that_cannot_be(tmp_path):
    log = rows(4)
    for wrong in (0, 2.5, True, "3"):
        told = f"n_buckets must be a whole number from 1 .* not {wrong!r}"
        with pytest.raises(ValueError, match=told):
            bucketed([log], wrong, tmp_path)
    with pytest.raises(TypeError, match="several types, Int64, Int32: cast it"):
        bucketed(
            [log, log.with_columns(pl.col("query_id").cast(pl.Int32))], 2, tmp_path
        )
    with pytest.raises(ValueError, match="give at least one frame"):
        bucketed([], 2, tmp_path)

    def elsewhere(function, tasks):
        done = list(map(function, tasks))
        return [done[0], *(found._replace(polars="1.0.0") for found in done[1:])]

    with pytest.raises(ValueError, match=r"several versions of Polars, 1\.0\.0, "):
        bucketed([log, log], 2, tmp_path, map=elsewhere)


@pytest.mark.slow
@pytest.mark.parametrize(
    "where", ["judgments", "segments", *map(slow, ("run", "queries"))]
)
def test_missing_queries_have_the_segments_and_weights_of_the_whole(where):
    """Queries 3 and 44 are in no part of the run."""
    log = rows()
    absent = pl.col("query_id").is_in([3, 44])
    about = log.select("query_id", "country", "traffic").unique()
    run, qrels = log.filter(~absent).drop("label"), log.drop("score")
    if where != "run":
        run = run.drop("country", "traffic")
    if where != "judgments":
        qrels = qrels.drop("country", "traffic")
    given = {"qrels": qrels}
    if where in ("segments", "queries"):
        given[where] = about
    options = {"by": ["country", "query_id"], "weight": "traffic"}
    if where == "run":  # it gives missing queries no weight, which is an error
        del options["weight"]
    whole = pr.evaluate(run, MEASURES, **given, **options, missing="zero")
    evaluation = pr.Evaluation(MEASURES, **options, missing="zero")
    parts = [
        evaluation.partial(part, **given, broadcast=True) for part in split(run, 3, 5)
    ]
    assert bits(evaluation.merge(parts, **given)) == bits(whole)
    assert bits(
        evaluate_parts(cut(run.lazy(), 3), MEASURES, **given, **options, missing="zero")
    ) == bits(whole)
    if where == "segments":
        with pytest.raises(ValueError, match="give it to merge, too"):
            evaluation.merge(parts, qrels=qrels)


def test_parts_that_find_segments_in_different_frames_say_so():
    log = rows()
    qrels = log.drop("score")
    evaluation = pr.Evaluation("ap", by="country", missing="zero")
    one, two = (log.filter(pl.col("query_id") % 3 == i).drop("label") for i in (0, 1))
    parts = [
        evaluation.partial(one, qrels=qrels, broadcast=True),
        evaluation.partial(two.drop("country"), qrels=qrels, broadcast=True),
    ]
    with pytest.raises(ValueError, match="segments or weights in different frames"):
        evaluation.merge(parts, qrels=qrels)
